"""SB1xx: what no program may say, because it means nothing or XLA stops at it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.bridge import resolve_mesh
from sdybridge.bridge.device_map import device_ids
from sdybridge.checks.program import Place, Problem
from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding, OpShardingType
from sdybridge.modules.annotations import CARRIER
from sdybridge.modules.verify.checker import count
from sdybridge.sdy import TensorShardingAttr, verify_sharding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sdybridge.checks.program import Program
    from sdybridge.modules.annotations import Annotation

_CODES: Mapping[str, str] = {
    **dict.fromkeys(("unknown-mesh",), "SB102"),
    **dict.fromkeys(("unknown-axis", "unknown-manual-axis"), "SB103"),
    **dict.fromkeys(
        (
            "rank-mismatch", "maximal-rank", "no-results-rank", "non-shaped-rank", "unranked-type",
            "sharding-rank", "collective-rank",
        ),
        "SB104",
    ),
    **dict.fromkeys(
        ("sharding-count", "tuple-size", "sharding-kind", "sharding-tuple", "region-arguments", "flat-tuple"),
        "SB105",
    ),
    **dict.fromkeys(
        ("device-count", "device-id", "device-permutation", "grid-size", "iota-size", "single-device-tiling"),
        "SB106",
    ),
    **dict.fromkeys(
        ("duplicate-axis", "whole-and-part", "sub-axis-overlap", "collective-overlap", "move-overlap"),
        "SB107",
    ),
    "axis-is-manual": "SB108",
    **dict.fromkeys(("manual-divisibility", "manual-shape", "region-type"), "SB109"),
    **dict.fromkeys(
        (
            "barrier-direction", "edge-single-use", "edge-producer", "edge-shape", "collective-operand",
            "collective-mesh", "collective-empty", "collective-axis", "collective-result", "collective-size",
            "collective-order", "unreduced-result", "move-range", "move-order", "manual-axis-order",
            "manual-mesh", "mesh-placement", "symbol-redefinition", "module-attribute-name",
        ),
        "SB110",
    ),
}  # fmt: skip
"""The codes of the rules that errors name; all others are SB101."""

_HELP: Mapping[str, str] = {"SB103": "`sdybridge rename-axes` gives axes new names, everywhere in a program"}
"""What to do where the error does not say."""

_OTHER_COUNT = re.compile(r"has \d+ devices?, but")
"""What all errors about a grid or mesh that counts other devices than it has say, also those of parsers."""


def code_of(error: SdyBridgeError) -> str:
    """The code of the rule that an error is about.

    >>> code_of(VerificationError("", rule="unknown-axis")), code_of(SdyBridgeError(""))
    ('SB103', 'SB101')
    """
    if isinstance(error, VerificationError):
        return _CODES.get(error.rule, "SB101")
    return "SB106" if _OTHER_COUNT.search(error.message) else "SB101"


def as_problem(error: SdyBridgeError) -> Problem:
    """What an error says, as a problem."""
    code = code_of(error)
    return Problem(code, error.message, Place(error.span, ""), error.notes, error.help or _HELP.get(code))


def check(program: Program) -> Iterator[Problem]:
    """What is wrong with single shardings, and with those that only make no sense where they stand."""
    for error in program.errors:
        yield as_problem(error)
    seen: set[tuple[object, ...]] = set()
    good: set[tuple[object, ...]] = set()
    for one in program.annotations:
        key = one.carrier, id(one.sharding), one.mesh, one.shape, one.manual_axes
        problem = None if key in good else _misfit(program, one)
        if problem is None:
            good.add(key)
        elif (problem.place.key, problem.message) not in seen:
            seen.add((problem.place.key, problem.message))
            yield problem


def _misfit(program: Program, one: Annotation) -> Problem | None:
    """What is wrong with an HLO sharding, or a carrier, where it stands; Shardy's own are verified."""
    try:
        if isinstance(one.sharding, HloSharding):
            _verify_hlo(one.sharding, one, program.num_partitions)
        elif one.carrier == CARRIER and isinstance(one.sharding, TensorShardingAttr):
            mesh = one.mesh or resolve_mesh(one.sharding, program.meshes)
            rank = len(one.shape.dims) if one.shape and not mesh.is_maximal else None
            verify_sharding(one.sharding, mesh, rank=rank, manual_axes=one.manual_axes)
    except SdyBridgeError as error:
        code = code_of(error)
        help_ = error.help or _HELP.get(code)
        notes = (*error.notes, f"on {one.name} ({one.opcode}, {one.shape or 'no tensor'})")
        if code == "SB102":
            kept = ", ".join(f"@{name}" for name in program.meshes) or "none"
            notes = (f"on {one.name}", f"the meshes in the frontend attribute xla.sdy.meshes: {kept}")
            help_ = (
                f"put it back into the module's frontend attributes: xla.sdy.meshes = "
                f"{{{one.sharding.mesh_or_ref} = #sdy.mesh<[..]>}}"  # type: ignore[union-attr]
            )
        return Problem(code, error.message, program.place(one), notes, help_)
    return None


def _verify_device_list(sharding: HloSharding) -> None:
    """That each device is listed once.

    Raises:
        VerificationError: One is negative, or listed twice.
    """
    grid = sharding.v3_to_v2_sharding()
    if grid.type is OpShardingType.OTHER and not grid.tile_assignment.is_iota:
        device_ids(grid)


def _verify_hlo(sharding: HloSharding, one: Annotation, partitions: int | None) -> None:
    """The rules of an HLO sharding on one value.

    Raises:
        VerificationError: It has another rank, or devices that the program does not have.
    """
    if sharding.type is OpShardingType.OTHER and one.shape is not None:
        rank = len(one.shape.dims)
        if sharding.data_rank != rank and one.shape.element_type not in ("token", "opaque"):
            raise VerificationError(
                f"the grid tiles {sharding.data_rank} dimensions, but the tensor has rank {rank}",
                rule="sharding-rank",
                help=f"give it {count(rank, 'dimension')} before those of replicas and subgroups",
            )
        _verify_device_list(sharding)
    if partitions is None or partitions < 2:
        return
    if sharding.type is OpShardingType.OTHER and sharding.num_devices > partitions:
        raise VerificationError(
            f"the grid has {sharding.num_devices} devices, but the program has {partitions} partitions",
            rule="device-count",
        )
    device = sharding.unique_device
    if device is not None and device >= partitions:
        raise VerificationError(
            f"device {device} does not exist: the program has {partitions} partitions, from 0",
            rule="device-id",
        )
