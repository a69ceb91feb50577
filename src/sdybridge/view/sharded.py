"""Shardings put on meshes: what every view starts from."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge import (
    convert_to_hlo_sharding,
    convert_to_sdy_sharding,
    get_manual_axes,
    infer_mesh,
    resolve_mesh,
)
from sdybridge.bridge.named_import import own_mesh, tensor_rank
from sdybridge.bridge.notations import Notation
from sdybridge.errors import ConversionError, SdyBridgeError, VerificationError
from sdybridge.hlo import OpShardingType
from sdybridge.sdy import MeshAttr, TensorShardingAttr, locate
from sdybridge.source import Source, Span
from sdybridge.target import Target
from sdybridge.view.reading import completed, relocated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.bridge import InferredMeshes
    from sdybridge.hlo import HloSharding
    from sdybridge.view.reading import Known, Parsed
    from sdybridge.view.tensor_type import TensorType


class MeshOrigin(enum.Enum):
    """Where the mesh of an explanation comes from."""

    GIVEN = "given"
    INLINE = "inline"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True)
class Sharded:
    """The sharding of one tensor, in both notations as far as they can say it.

    Attributes:
        text: The sharding as it was given.
        notation: What that is.
        hlo: The device grid.
        sdy: The axes; None where no mesh is known, or the rank is not, or no axes of the mesh make the grid.
        mesh: The mesh of `sdy`, or the mesh that was given.
        mesh_origin: Where the mesh comes from; None without one.
        manual_axes: The axes that are manual here.
        tensor: The tensor, if it is known.
        misfit: Why there is no `sdy` on the mesh that was given.
        target: Whose conventions `hlo` follows.
    """

    text: str
    notation: Notation
    hlo: HloSharding
    sdy: TensorShardingAttr | None = None
    mesh: MeshAttr | None = None
    mesh_origin: MeshOrigin | None = None
    manual_axes: tuple[str, ...] = ()
    tensor: TensorType | None = None
    misfit: SdyBridgeError | None = None
    target: Target = Target.CURRENT


def place(
    parsed: Sequence[Parsed],
    known: Known,
    *,
    tensor: TensorType | None = None,
    tensors: Sequence[TensorType | None] = (),
    manual_axes: Sequence[str] = (),
    axis_names: Sequence[str] = (),
    target: Target = Target.CURRENT,
) -> list[list[Sharded]]:
    """Put shardings on meshes: those that name one on that, device grids on one that is given or inferred.

    Args:
        parsed: The shardings. Those that need a mesh inferred get one in common, where there is one.
        known: The meshes that are known.
        tensor: The tensor that each of them is of.
        tensors: One for each element of a tuple, instead.
        manual_axes: Axes that are manual where the Shardy shardings stand.
        axis_names: Names for the axes of an inferred mesh.
        target: Whose conventions to follow.

    Raises:
        SdyBridgeError: A sharding is not valid on its mesh, or not on the tensor.
    """
    from_sdy = [_place_sdy(one, known, tensor, tensors, manual_axes, target) for one in parsed]
    leaves = [leaf for one in parsed if one.hlo for leaf in _leaves(one.hlo)]
    meshes = [sharded.mesh for placed in from_sdy for sharded in placed if sharded.mesh]
    meshes += [mesh for leaf in leaves if (mesh := own_mesh(leaf)) is not None]
    with_axes = [mesh for mesh in meshes if mesh.axes]
    if known is None and with_axes:
        known = with_axes[0]
    leaves = [leaf for leaf in leaves if leaf.named_sharding is None]
    inferred = _inferred(leaves, known, axis_names)
    ranks = _ranks(parsed)  # some shardings do not say it
    placed = []
    for one, done in zip(parsed, from_sdy, strict=True):
        if one.hlo is None:
            placed.append(done)
            continue
        found = _leaves(one.hlo)
        of_leaf = tensors if len(tensors) == len(found) else [tensor] * len(found)
        placed.append([
            _place_hlo(one, leaf, known, inferred, kind, rank, target)
            for leaf, kind, rank in zip(found, of_leaf, ranks, strict=False)
        ])  # fmt: skip
    return placed


def _ranks(parsed: Sequence[Parsed]) -> list[int | None]:
    """The rank of each tensor that the shardings are of, so far as one of them says it."""
    ranks: list[int | None] = []
    for one in parsed:
        found: list[int | None] = [sharding.rank or None for sharding in one.sdy]
        if one.hlo is not None:
            tiled = OpShardingType.OTHER
            found += [leaf.data_rank if leaf.type is tiled else None for leaf in _leaves(one.hlo)]
        ranks = [a or b for a, b in itertools.zip_longest(ranks, found)]
    return ranks


def _leaves(hlo: HloSharding) -> list[HloSharding]:
    """The shardings of the tensors in a tuple, in pre-order; of one tensor, that."""
    if not hlo.is_tuple:
        return [hlo]
    return [leaf for element in hlo.tuple_elements for leaf in _leaves(element)]


def _place_sdy(
    one: Parsed,
    known: Known,
    tensor: TensorType | None,
    tensors: Sequence[TensorType | None],
    manual_axes: Sequence[str],
    target: Target,
) -> list[Sharded]:
    placed = []
    for i, sharding in enumerate(one.sdy):
        of_value = tensors[i] if len(tensors) == len(one.sdy) else tensor
        try:
            mesh = resolve_mesh(sharding, known)
            _check_tensor(sharding.rank, of_value, f"{sharding.stripped}")
            hlo = convert_to_hlo_sharding(sharding, mesh, manual_axes=manual_axes, target=target)
            hlo = hlo.v3_to_v2_sharding()  # where the target has named meshes
        except SdyBridgeError as error:
            raise _explained(error, one, sharding, known, target) from None
        inline = isinstance(sharding.mesh_or_ref, MeshAttr)
        origin = MeshOrigin.INLINE if inline else MeshOrigin.GIVEN
        text = one.source.text.strip() if len(one.sdy) == 1 else sharding.stripped
        manual = tuple(manual_axes)
        placed.append(
            Sharded(text, one.notation, hlo, sharding, mesh, origin, manual, of_value, target=target)
        )
    return placed


def _explained(
    error: SdyBridgeError, one: Parsed, sharding: TensorShardingAttr, known: Known, target: Target
) -> SdyBridgeError:
    """The error with a place in the text that was given, and what to do about an unknown mesh."""
    if isinstance(error, VerificationError) and error.rule == "unknown-mesh":
        name = f"@{sharding.mesh_or_ref}=" if isinstance(known, Mapping) and known else ""
        error.help = f"give it with --mesh, such as --mesh {name}x=2,y=4"
    source = one.source
    if error.source is not None:
        return error
    if isinstance(error, VerificationError) and one.notation is Notation.SDY and len(one.sdy) == 1:
        text, shift = completed(source.text, known)
        return relocated(locate(error, Source(text), 0, TensorShardingAttr, target=target), source, shift)
    return error.located(source, Span(0, max(1, len(source.text))))


def _check_tensor(rank: int, tensor: TensorType | None, what: str) -> None:
    if tensor is not None and tensor.rank != rank:
        raise VerificationError(
            f"{what} is for tensors of rank {rank}, not of rank {tensor.rank}",
            rule="rank-mismatch",
            path=("dim_shardings",),
            notes=[f"the tensor is {tensor}"],
        )


def _inferred(
    leaves: Sequence[HloSharding], known: Known, axis_names: Sequence[str]
) -> InferredMeshes | None:
    """The meshes of the device grids; None where one of them is on no mesh at all."""
    if not leaves:
        return None
    try:
        return infer_mesh(leaves, mesh=known, axis_names=axis_names)
    except SdyBridgeError:
        return None


def _place_hlo(
    one: Parsed,
    leaf: HloSharding,
    known: Known,
    inferred: InferredMeshes | None,
    tensor: TensorType | None,
    fallback_rank: int | None,
    target: Target,
) -> Sharded:
    text = one.source.text.strip() if not (one.hlo and one.hlo.is_tuple) else leaf.to_string()
    if leaf.named_sharding is not None:
        return _place_named(one, leaf, text, tensor, fallback_rank, target)
    if leaf.type is OpShardingType.OTHER:
        try:
            _check_tensor(leaf.data_rank, tensor, str(leaf))
        except VerificationError as error:
            raise error.located(one.source, Span(0, max(1, len(one.source.text)))) from None
    rank = fallback_rank if tensor is None else tensor.rank
    if leaf.type is OpShardingType.OTHER:
        rank = leaf.data_rank
    mesh, origin = _mesh_for(leaf, known, inferred)
    if mesh is None or leaf.type is OpShardingType.TUPLE:
        return Sharded(text, one.notation, leaf, tensor=tensor)
    name = (
        next((key for key, value in known.items() if value is mesh), None)
        if isinstance(known, Mapping)
        else None
    )
    try:
        manual = get_manual_axes(leaf, mesh)
        if rank is None and leaf.type is not OpShardingType.MAXIMAL:
            return Sharded(text, one.notation, leaf, None, mesh, origin, manual, tensor)
        sdy = convert_to_sdy_sharding(leaf, mesh, rank=rank, mesh_name=name or "mesh", target=target)
    except (ConversionError, VerificationError) as error:
        return Sharded(text, one.notation, leaf, None, mesh, origin, (), tensor, error)
    if leaf.type is OpShardingType.MAXIMAL:
        mesh = MeshAttr.maximal(leaf.tile_assignment.value_at((0,)))
    return Sharded(text, one.notation, leaf, sdy, mesh, origin, manual, tensor)


def _place_named(
    one: Parsed, leaf: HloSharding, text: str, tensor: TensorType | None, rank: int | None, target: Target
) -> Sharded:
    """A sharding that brings its mesh."""
    if tensor is not None:
        rank = tensor.rank
    try:
        grid = leaf.v3_to_v2_sharding()
        mesh = own_mesh(leaf)
        rank = tensor_rank(leaf) or rank
        if rank is not None:
            _check_tensor(rank, tensor, str(leaf))
        manual = get_manual_axes(leaf)
        sdy = None
        if rank is not None or leaf.is_single_device:
            sdy = convert_to_sdy_sharding(leaf, mesh, rank=rank, target=target)
    except SdyBridgeError as error:
        raise error.located(one.source, Span(0, max(1, len(one.source.text)))) from None
    if leaf.is_single_device:
        mesh = MeshAttr.maximal(grid.tile_assignment.value_at((0,)))
    if mesh is None or mesh.is_empty:
        return Sharded(text, Notation.HLO_NAMED, grid, sdy, None, None, manual, tensor)
    return Sharded(text, Notation.HLO_NAMED, grid, sdy, mesh, MeshOrigin.INLINE, manual, tensor)


def _mesh_for(
    leaf: HloSharding, known: Known, inferred: InferredMeshes | None
) -> tuple[MeshAttr | None, MeshOrigin | None]:
    """A known mesh if there are any, even one that the sharding does not fit on; or else an inferred one."""
    given = [known] if isinstance(known, MeshAttr) else list((known or {}).values())
    mesh = None
    if inferred is not None:
        try:
            mesh = inferred.mesh(leaf)
        except SdyBridgeError:
            mesh = None
    if given:
        return (mesh if mesh in given or leaf.is_single_device else given[0]), MeshOrigin.GIVEN
    if mesh is None or mesh.is_empty:
        return None, None
    return mesh, MeshOrigin.INFERRED
