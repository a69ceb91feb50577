"""Export: a Shardy sharding (named axes) to an HLO sharding (a device grid).

The change of basis, on the mesh x=2, y=4 and the sharding `[{"y"}, {}]`:

1. Tile dims: per tensor dimension the product of the sizes of its axes: `[4, 1]`.
2. Axes that no dimension claims replicate; they form one last tile dim: `[4, 1, 2]`.
3. Reshape dims: the mesh's axes in device order: `[2, 4]`.
4. Transpose: which of them come first in the tile dims, `y` then the unclaimed `x`: `T(1,0)`.

Together: `{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}`.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from sdybridge.bridge.coexistence import grid_by_coordinates
from sdybridge.bridge.named_export import export_named
from sdybridge.bridge.ordered_axes import full_axes, get_ordered_axis_refs
from sdybridge.errors import ConversionError, VerificationError
from sdybridge.hlo import HloSharding, OpShardingType, ReductionOp, TileAssignment
from sdybridge.hlo.checks import MAX_ARRAY_RANK, cropped
from sdybridge.sdy import AxisRefAttr, MeshAttr, TensorShardingAttr, verify_sharding
from sdybridge.sdy.printer import symbol
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    MeshSource = MeshAttr | Mapping[str, MeshAttr] | Callable[[TensorShardingAttr], MeshAttr]


def convert_to_hlo_sharding(
    sharding: TensorShardingAttr,
    mesh: MeshSource | None = None,
    *,
    manual_axes: Sequence[str] = (),
    target: Target = Target.CURRENT,
) -> HloSharding:
    """Convert a Shardy sharding to the HLO sharding that XLA's export makes of it.

    Args:
        sharding: The sharding of one tensor of rank r: `dim_shardings[i]` lays out dimension i.
        mesh: The mesh that the sharding names: one mesh, a mapping from mesh names to meshes, or a
            function of the sharding. Not needed when the sharding holds its mesh inline.
        manual_axes: Full mesh axes that an enclosing manual computation binds. They become a trailing
            `manual` tile dimension.
        target: Whose conventions to follow; see `Target`.

    Returns:
        The HLO sharding. For `Target.NAMED` it is over the same mesh. Else it is over a device grid, whose
        first r tile dims count the shards along each tensor dimension; trailing ones hold the manual,
        unreduced and replicated devices, in this order.

    Raises:
        VerificationError: The sharding is not valid on the mesh, or the mesh is not known.
        ConversionError: No HLO sharding places the devices as the sharding says.

    Example:
        >>> from sdybridge.sdy import MeshAttr, TensorShardingAttr
        >>> mesh = MeshAttr.from_string('<["x"=2, "y"=4]>')
        >>> sharding = TensorShardingAttr.from_string('<@mesh, [{"y"}, {}]>')
        >>> print(convert_to_hlo_sharding(sharding, mesh))
        {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}

    Source: `convertToHloSharding` in xla's
    `service/spmd/shardy/stablehlo_round_trip/export_shardings.cc`.
    """
    if type(sharding) is not TensorShardingAttr:
        raise TypeError(f"expected a TensorShardingAttr, not a {type(sharding).__name__}")
    if type(target) is not Target:
        target = Target(target)
    if manual_axes and isinstance(manual_axes, str):
        raise TypeError(f"manual_axes is a list of names, not the string {manual_axes!r}")
    if type(mesh) is not MeshAttr or type(sharding.mesh_or_ref) is MeshAttr:
        mesh = resolve_mesh(sharding, mesh)
    return _convert(sharding, mesh, tuple(manual_axes), target)


def resolve_mesh(sharding: TensorShardingAttr, mesh: MeshSource | None) -> MeshAttr:
    """The mesh that `sharding` is on: its inline one, or the one that its name stands for.

    Raises:
        VerificationError: The name is not among the known meshes (rule `unknown-mesh`).

    Example:
        >>> from sdybridge.sdy import MeshAttr, TensorShardingAttr
        >>> meshes = {"mesh": MeshAttr.from_sizes({"x": 2})}
        >>> print(resolve_mesh(TensorShardingAttr.from_string('<@mesh, [{"x"}]>'), meshes))
        #sdy.mesh<["x"=2]>
    """
    if isinstance(mesh, str):
        raise TypeError("expected a MeshAttr, not its text: use MeshAttr.from_string")
    name = sharding.mesh_or_ref
    if isinstance(name, MeshAttr):
        return name
    if isinstance(mesh, MeshAttr):
        return mesh
    if mesh is None:
        found = None
        known: list[str] = []
    elif callable(mesh):
        found = mesh(sharding)
        known = []
    else:
        found = mesh.get(name)
        known = [symbol(m) for m in mesh]
    if isinstance(found, MeshAttr):
        return found
    raise VerificationError(
        f"unknown mesh {symbol(name)}",
        rule="unknown-mesh",
        path=("mesh_or_ref",),
        notes=[f"known meshes: {', '.join(known)}"] if known else (),
        help=None
        if known
        else f"pass the mesh that {symbol(name)} stands for, or write it inline: <mesh<[...]>, ...>",
    )


def verify_for_export(
    sharding: TensorShardingAttr,
    mesh: MeshAttr,
    *,
    rank: int | None = None,
    manual_axes: Sequence[str] = (),
) -> None:
    """Check a sharding as `verify_sharding` does, but for single devices as XLA's export does.

    Shardy's propagation may leave dimensions, without axes, in a sharding on a maximal mesh. The verifier
    forbids them; the export only looks at the device.

    Raises:
        VerificationError: As `verify_sharding`.

    Example:
        >>> from sdybridge.sdy import MeshAttr, TensorShardingAttr
        >>> sharding = TensorShardingAttr.from_string('<@mesh, [{"x"}]>')
        >>> verify_for_export(sharding, MeshAttr.from_sizes({"x": 2}), rank=1)
    """
    if mesh.is_maximal and sharding.empty_axes:
        return
    verify_sharding(sharding, mesh, rank=rank, manual_axes=manual_axes)


_MOST_DEVICES = (1 << 63) - 1
_REPLICATED = [OpShardingType.REPLICATED]


@functools.lru_cache(maxsize=1 << 16)
def _convert(
    sharding: TensorShardingAttr, mesh: MeshAttr, manual_axes: tuple[str, ...], target: Target
) -> HloSharding:
    if not mesh.axes:
        verify_for_export(sharding, mesh)
        if target is Target.NAMED:
            return export_named(sharding, mesh, ())
        if mesh.device_ids:
            return HloSharding.assign_device(mesh.device_ids[0])
        return HloSharding.replicate()
    if mesh.total_size > _MOST_DEVICES:
        raise ConversionError(
            f"the mesh has {mesh.total_size} devices, more than the {_MOST_DEVICES} that 64 bits can number",
            notes=[f"sharding: {sharding}", f"mesh: {mesh}"],
        )
    manual = _manual_refs(manual_axes, mesh)
    verify_sharding(sharding, mesh, manual_axes=manual_axes)
    if target is Target.NAMED:
        return export_named(sharding, mesh, manual)
    if len(manual) == len(mesh.axes):
        return HloSharding.manual()
    return _with_reduction_op(_tiled(sharding, mesh, manual, target), sharding, target)


def _check_array_rank(rank: int, sharding: TensorShardingAttr, mesh: MeshAttr) -> None:
    if rank > MAX_ARRAY_RANK:
        raise ConversionError(
            f"a grid with listed devices has at most {MAX_ARRAY_RANK} dimensions, this one {rank}",
            notes=[f"sharding: {cropped(sharding)}", f"mesh: {cropped(mesh)}"],
        )


def _tiled(
    sharding: TensorShardingAttr, mesh: MeshAttr, manual: tuple[AxisRefAttr, ...], target: Target
) -> HloSharding:
    """The grid of a valid sharding on a mesh with axes, of which not all are manual."""
    unreduced = () if target is Target.CLASSIC else sharding.unreduced_axes

    claimed: list[AxisRefAttr] = []
    tile_dims: list[int] = []
    types: list[OpShardingType] = []
    whole = True
    for dim in sharding.dim_shardings:
        size, whole_axes = _extent(dim.axes, mesh)
        claimed += dim.axes
        tile_dims.append(size)
        whole &= whole_axes
    for axes, subgroup_type in ((manual, OpShardingType.MANUAL), (unreduced, OpShardingType.UNREDUCED)):
        if axes:
            size, whole_axes = _extent(axes, mesh)
            claimed += axes
            tile_dims.append(size)
            types.append(subgroup_type)
            whole &= whole_axes

    ordered, reshape_dims = full_axes(mesh)
    if not whole:
        ordered = get_ordered_axis_refs(sharding, mesh)
        reshape_dims = tuple([ref.get_size(mesh) for ref in ordered])
        if math.prod(reshape_dims) != mesh.total_size:  # some cut does not divide the next
            grid = grid_by_coordinates(sharding, mesh, claimed, tile_dims)
            return HloSharding.subgroup(grid, [*types, OpShardingType.REPLICATED])
    position = dict(zip(ordered, range(len(ordered)), strict=True))
    perm = [position.pop(ref) for ref in claimed]
    perm += position.values()  # what nobody claimed replicates, in mesh order

    tiles = math.prod(tile_dims)
    replicas = mesh.total_size // tiles
    if replicas > 1:
        tile_dims.append(replicas)
        types.append(OpShardingType.REPLICATED)
    if mesh.device_ids:
        import numpy as np

        _check_array_rank(max(len(tile_dims), len(reshape_dims)), sharding, mesh)
        devices = np.asarray(mesh.device_ids, dtype=np.int64).reshape(reshape_dims)
        grid = TileAssignment.from_array(devices.transpose(perm).reshape(tile_dims))
        return HloSharding.subgroup(grid, types)
    grid = TileAssignment._from_known_iota(tuple(tile_dims), reshape_dims, tuple(perm))
    if types != _REPLICATED:
        return HloSharding.subgroup(grid, types)
    if tiles == 1:
        return HloSharding.replicate()
    # Replicas are in mesh order already, so there is nothing to sort.
    return HloSharding._make(OpShardingType.OTHER, grid, replicate_on_last_tile_dim=True)


def _with_reduction_op(hlo: HloSharding, sharding: TensorShardingAttr, target: Target) -> HloSharding:
    """Newer releases keep how the unreduced values combine."""
    if target is not Target.NEWER or not sharding.unreduced_axes:
        return hlo
    return hlo.with_reduction_op(ReductionOp[sharding.reduction_op.name])


def _manual_refs(manual_axes: tuple[str, ...], mesh: MeshAttr) -> tuple[AxisRefAttr, ...]:
    """The manual axes as full refs, each once; `manual_axes` may repeat a name."""
    if not manual_axes:
        return ()
    for name in manual_axes:
        mesh.axis_size(name)  # raises where the mesh has no such axis
    return tuple(AxisRefAttr(name) for name in dict.fromkeys(manual_axes))


@functools.lru_cache(maxsize=4096)
def _extent(axes: tuple[AxisRefAttr, ...], mesh: MeshAttr) -> tuple[int, bool]:
    """The product of the sizes of `axes`, 1 for none, and whether all of them are whole axes."""
    return math.prod([ref.get_size(mesh) for ref in axes]), all(ref.sub_axis_info is None for ref in axes)
