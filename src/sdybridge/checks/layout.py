"""SB4xx: layouts that are valid, and probably not what anybody wants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sdybridge.checks.program import Problem
from sdybridge.errors import SdyBridgeError
from sdybridge.hlo import HloSharding, OpShardingType
from sdybridge.hlo.element_types import size_text
from sdybridge.modules.annotations import Annotation, shard_counts
from sdybridge.sdy import TensorShardingAttr, verify_sharding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdybridge.checks.program import Program

_OTHER = OpShardingType.OTHER
_MOST_PARTS = 12
_NOT_SUMMED = frozenset(("constant", "iota", "create_token", "rng", "rng_bit_generator", "partition_id"))
_EVERY_DEVICE = 0  # as a number of devices: all that there are


def check(program: Program) -> Iterator[Problem]:
    """All rules about single annotations, and unsharded results."""
    seen: set[tuple[object, ...]] = set()
    good: set[tuple[object, ...]] = set()
    for one in program.annotations:
        key = id(one.sharding), one.mesh, one.shape, one.manual_axes, one.opcode
        if key in good:
            continue
        # Of invalid shardings, which are reported, nothing else is said.
        problems = [rule(program, one) for rule in _RULES] if _is_valid(one) else []
        if not any(problems):
            good.add(key)
        for problem in filter(None, problems):
            if (problem.code, problem.place.key, problem.message) not in seen:
                seen.add((problem.code, problem.place.key, problem.message))
                yield problem
    yield from _unsharded(program)


def _is_valid(one: Annotation) -> bool:
    if not isinstance(one.sharding, TensorShardingAttr) or one.mesh is None:
        return True
    try:
        verify_sharding(one.sharding, one.mesh)
    except SdyBridgeError:
        return False
    return True


def _unsharded(program: Program) -> Iterator[Problem]:
    """The results without a sharding whose values have one: one problem for all."""
    found = [one for one in program.unsharded_results() if not _is_replicated(one[2])]
    if not found:
        return
    name, place, value = found[0]
    yield Problem(
        "SB406",
        f"{name} has no sharding, and its value {value.name} has {value.sharding}",
        place,
        (
            f"so have {len(found) - 1} other results" if len(found) > 1 else "",
            "XLA replicates results without a sharding, unless its caller lets propagation shard them",
        ),
        "give each result the sharding of its value",
    )


def parts_of(one: Annotation) -> tuple[int, ...] | None:
    """Into how many parts each dimension of a value is cut; None if that cannot be told."""
    if one.shape is None or min(one.shape.dims, default=0) < 0:
        return None
    if isinstance(one.sharding, HloSharding):
        grid = one.sharding.v3_to_v2_sharding()
        if grid.type is not _OTHER or grid.data_rank != len(one.shape.dims):
            return None
        return tuple(grid.tile_assignment.dims[: grid.data_rank])
    if one.sharding is None or one.mesh is None or one.sharding.rank != len(one.shape.dims):
        return None
    return shard_counts(one.sharding, one.mesh)


def part_sizes(size: int, parts: int) -> str:
    """How long each part of a dimension is, in words.

    >>> part_sizes(126, 4), part_sizes(17, 8), part_sizes(1000, 96)
    ('32, 32, 32, 30', '3, 3, 3, 3, 3, 2, 0, 0', '90 of 11, 1 of 10, 5 of 0')
    """
    length = -(-size // parts)
    full = size // length if length else 0
    rest = size - full * length
    empty = parts - full - bool(rest)
    if parts <= _MOST_PARTS:
        return ", ".join(map(str, [length] * full + [rest] * bool(rest) + [0] * empty))
    groups = ((full, length), (int(bool(rest)), rest), (empty, 0))
    return ", ".join(f"{count} of {each}" for count, each in groups if count)


def _uneven(program: Program, one: Annotation) -> Problem | None:
    parts = parts_of(one)
    if parts is None or one.shape is None:
        return None
    words = []
    empty = False
    for i, (size, count) in enumerate(zip(one.shape.dims, parts, strict=True)):
        if count > 1 and size % count:
            words.append(f"dimension {i} of {size} in {count} parts: {part_sizes(size, count)}")
            empty = empty or -(-size // count) * (count - 1) >= size
    if not words:
        return None
    what = "devices without any element" if empty else "parts of different sizes"
    return Problem(
        "SB402" if empty else "SB401",
        f"{what} in {one.name} ({one.shape})",
        program.place(one),
        (*words, f"every device allocates {one.local_shape}" if one.local_shape else ""),
        "cut it into parts that divide the size, or pad the tensor" if empty else None,
    )


def _replicated(program: Program, one: Annotation) -> Problem | None:
    size = one.shape.bytes if one.shape else None
    if size is None or size < program.options.replicated_bytes or not _is_replicated(one):
        return None
    devices = one.devices or program.num_partitions
    if devices is not None and devices < 2:
        return None
    on = f"each of {devices} devices" if devices else "each device"
    total = f", {size_text(size * devices)} in all" if devices else ""
    return Problem(
        "SB403",
        f"{one.name} ({one.shape}) takes {size_text(size)} on {on}{total}",
        program.place(one),
        (f"tensors from {size_text(program.options.replicated_bytes)} on are reported",),
        "shard it along an axis, or leave a dimension open (`?`) for propagation",
    )


def _is_replicated(one: Annotation) -> bool:
    if isinstance(one.sharding, HloSharding):
        return one.sharding.v3_to_v2_sharding().type is OpShardingType.REPLICATED
    if one.sharding is None or one.mesh is None or one.mesh.is_maximal or one.mesh.total_size < 2:
        return False
    free = [axis for axis in one.mesh.axes if axis.size > 1 and axis.name not in one.manual_axes]
    sharding = one.sharding
    return (
        bool(free)
        and sharding.is_fully_replicated
        and sharding.is_fully_closed
        and not sharding.unreduced_axes
    )


def _unreduced(program: Program, one: Annotation) -> Problem | None:
    ways = _unreduced_ways(one)
    if ways is None:
        return None
    if ways == 1:
        message = f"{one.name} is unreduced along axes of one device"
        notes: tuple[str, ...] = ("there is nothing to reduce",)
    elif one.opcode.rpartition(".")[2].replace("-", "_") in _NOT_SUMMED:
        message = f"{one.name} comes from {one.opcode} and is unreduced"
        devices = f"{ways} devices" if ways else "all devices"
        notes = (
            f"an unreduced value is the sum of what {devices} hold",
            "this operation sums nothing, so the reduction makes it as many times larger",
        )
    else:
        return None
    return Problem("SB404", message, program.place(one), notes, "remove the unreduced axes")


def _unreduced_ways(one: Annotation) -> int | None:
    """Over how many devices a value is to be reduced; None if it is reduced."""
    sharding = one.sharding
    if isinstance(sharding, TensorShardingAttr):
        if not sharding.unreduced_axes or one.mesh is None:
            return None
        sizes = {axis.name: axis.size for axis in one.mesh.axes}
        return math.prod(
            ref.sub_axis_info.size if ref.sub_axis_info else sizes.get(ref.name, 1)
            for ref in sharding.unreduced_axes
        )
    if sharding is None or not sharding.has_unreduced or sharding.is_tuple:
        return None
    grid = sharding.v3_to_v2_sharding()
    if grid.type is not _OTHER:
        return _EVERY_DEVICE
    rank = grid.data_rank
    return math.prod(
        size
        for size, type_ in zip(grid.tile_assignment.dims[rank:], grid.subgroup_types, strict=True)
        if type_ is OpShardingType.UNREDUCED
    )


def _reduction(program: Program, one: Annotation) -> Problem | None:
    sharding = one.sharding
    operator = "" if sharding is None else _operator(sharding)
    if sharding is None or not operator:
        return None
    reduces = sharding.unreduced_axes if isinstance(sharding, TensorShardingAttr) else sharding.has_unreduced
    if reduces:
        return None
    return Problem(
        "SB405",
        f"the sharding of {one.name} has the reduction {operator}, and nothing to reduce",
        program.place(one),
        ("only unreduced values are reduced; the devices hold the same parts without it",),
        "remove the reduction, or say along which axes the value is unreduced",
    )


def _operator(sharding: TensorShardingAttr | HloSharding) -> str:
    """The reduction of a sharding if it has one other than a sum, or says so in metadata; else empty."""
    if sharding.reduction_op.name != "SUM":  # each notation has its own enum
        return sharding.reduction_op.name.lower()
    metadata = () if isinstance(sharding, TensorShardingAttr) else sharding.metadata
    return next((one.op_name.lower() for one in metadata if one.op_type == "sdy::reduction_op"), "")


def _part_of_axis(program: Program, one: Annotation) -> Problem | None:
    sharding, mesh = one.sharding, one.mesh
    if not isinstance(sharding, TensorShardingAttr) or mesh is None:
        return None
    used: dict[str, int] = {}
    for ref in sharding.axis_refs:
        if ref.sub_axis_info:
            used[ref.name] = used.get(ref.name, 1) * ref.sub_axis_info.size
    for axis in mesh.axes:
        ways = used.get(axis.name, axis.size)
        if ways < axis.size:
            return Problem(
                "SB407",
                f'{one.name} is split {ways} ways by "{axis.name}", which has {axis.size}',
                program.place(one),
                (f"{axis.size // ways} devices along it hold the same part",),
                "propagation takes a part where the whole axis does not divide the size",
            )
    return None


_RULES: tuple[Callable[[Program, Annotation], Problem | None], ...] = (
    _uneven,
    _replicated,
    _unreduced,
    _reduction,
    _part_of_axis,
)
