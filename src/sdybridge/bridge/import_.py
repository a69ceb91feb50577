"""Import: an HLO sharding (a device grid) to a Shardy sharding (named axes).

The inverse of the export, as far as there is one: the grid says which devices hold which tile, not by
which axes. So a mesh is given (or inferred, see `infer_mesh`), and the import finds the axes and sub-axes of
it that place every device as the grid does. What a grid cannot say is chosen: whether dimensions are open,
and whether replication is explicit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.bridge.grid_axes import GridAxes, find_grid_axes, subgroup_types
from sdybridge.bridge.import_errors import (
    check_is_leaf,
    check_mesh,
    check_rank,
    misfit_error,
    single_device,
    unknown_rank,
)
from sdybridge.bridge.named_import import dims_of, manual_axes_of, own_mesh, refs_of
from sdybridge.hlo import OpShardingType
from sdybridge.sdy import AxisRefAttr, DimensionShardingAttr, MeshAttr, ReductionOp, TensorShardingAttr
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdybridge.hlo import HloSharding, NamedSharding

_MANUAL = OpShardingType.MANUAL
_MAXIMAL = OpShardingType.MAXIMAL
_OTHER = OpShardingType.OTHER
_UNKNOWN = OpShardingType.UNKNOWN
_UNREDUCED = OpShardingType.UNREDUCED

_CLOSED = DimensionShardingAttr()
_OPEN = DimensionShardingAttr(is_closed=False)


def convert_to_sdy_sharding(
    hlo_sharding: HloSharding,
    mesh: MeshAttr | None = None,
    *,
    rank: int | None = None,
    mesh_name: str | None = "mesh",
    device_id_to_maximal_mesh_name: Mapping[int, str] | None = None,
    open_dims: bool = False,
    target: Target = Target.CURRENT,
    list_replicated_axes: bool | None = None,
) -> TensorShardingAttr:
    """Convert the HLO sharding of one tensor to a Shardy sharding on `mesh`.

    Exported again on that mesh (with `get_manual_axes` as its manual axes), the result places every device
    on the same tile. The mesh may be coarser or finer than the grid: sub-axes are used where they are needed.

    Args:
        hlo_sharding: The sharding of one tensor, with as many devices as the mesh if it is tiled. A tiling
            of one device reads as replicated. One over a named mesh keeps all that it says.
        mesh: The mesh to use the axes of. A named mesh, if it is another one, is written inline instead.
        rank: The rank of the tensor. Tiled shardings and single devices know it.
        mesh_name: The name that the result refers to `mesh` by; None writes the mesh inline.
        device_id_to_maximal_mesh_name: For a single device, the name of the mesh that stands for it; by
            default `maximal_mesh_N`.
        open_dims: Whether propagation may shard the dimensions further. An unknown sharding is open always,
            a single device never, and a named sharding says itself which dimensions are.
        target: Whose conventions to follow. `CLASSIC` lists the axes of replicated tile dims as
            `replicated={...}`, later ones leave them out; `NEWER` keeps the reduction of unreduced axes.
        list_replicated_axes: Whether to list them, whatever the target does.

    Returns:
        The sharding. Manual groups leave no trace in it.

    Raises:
        ConversionError: No axes of the mesh place the devices as the grid does, the mesh has another number
            of devices, or this is the sharding of a tuple.
        VerificationError: `rank` is not the rank of the grid, or is needed and not given.

    Example:
        >>> from sdybridge.hlo import HloSharding
        >>> from sdybridge.sdy import MeshAttr
        >>> hlo = HloSharding.iota_tile([3, 4], [2, 3, 2], [1, 0, 2])
        >>> print(convert_to_sdy_sharding(hlo, MeshAttr.from_sizes({"data": 2, "model": 6})))
        #sdy.sharding<@mesh, [{"model":(1)3}, {"data", "model":(3)2}]>

    Source: `convertToSdySharding` in xla's
    `service/spmd/shardy/stablehlo_round_trip/stablehlo_import.cc`.
    """
    check_is_leaf(hlo_sharding)
    kind = hlo_sharding._kind
    if kind is _MAXIMAL:
        return _single_device(hlo_sharding, mesh_name, device_id_to_maximal_mesh_name)
    if hlo_sharding._named is not None:
        own = own_mesh(hlo_sharding) or MeshAttr()
        mesh_or_ref = mesh_name if own is mesh and mesh_name is not None else own
        return _named(hlo_sharding, hlo_sharding._named, mesh_or_ref, rank, target)
    mesh = check_mesh(hlo_sharding, mesh)
    mesh_or_ref = mesh if mesh_name is None else mesh_name
    if kind is not _OTHER:
        if rank is None:
            raise unknown_rank(hlo_sharding)
        check_rank(hlo_sharding, rank)
        dims = (_OPEN if open_dims or kind is _UNKNOWN else _CLOSED,) * rank
        unreduced = _all_axes(mesh) if kind is _UNREDUCED else ()
        return TensorShardingAttr(mesh_or_ref, dims, (), unreduced, _reduction_op(hlo_sharding, target))
    if rank is not None:
        check_rank(hlo_sharding, rank)
    axes = axes_of(hlo_sharding, mesh)
    empty = _OPEN if open_dims else _CLOSED
    is_closed = not open_dims
    if list_replicated_axes is None:
        list_replicated_axes = target is Target.CLASSIC
    return TensorShardingAttr(
        mesh_or_ref,
        tuple([DimensionShardingAttr(refs, is_closed) if refs else empty for refs in axes.dims]),
        axes.replicated if list_replicated_axes else (),
        axes.unreduced,
        _reduction_op(hlo_sharding, target),
    )


def _named(
    hlo_sharding: HloSharding,
    named: NamedSharding,
    mesh_or_ref: str | MeshAttr,
    rank: int | None,
    target: Target,
) -> TensorShardingAttr:
    """All that a sharding over a named mesh says."""
    if rank is not None:
        check_rank(hlo_sharding, rank)
    dims = dims_of(named)
    if not dims:
        if rank is None:
            raise unknown_rank(hlo_sharding)
        dims = (_CLOSED,) * rank
    return TensorShardingAttr(
        mesh_or_ref,
        dims,
        refs_of(named.replicated_axes, named.mesh),
        refs_of(named.unreduced_axes, named.mesh),
        _reduction_op(hlo_sharding, target),
    )


def get_manual_axes(hlo_sharding: HloSharding, mesh: MeshAttr | None = None) -> tuple[str, ...]:
    """The axes of `mesh`, in its order, that `hlo_sharding` says are handled by a manual computation.

    They are what `convert_to_hlo_sharding` takes as `manual_axes`. For `{manual}` they are all axes. A
    sharding over a named mesh names its own.

    Raises:
        ConversionError: As `convert_to_sdy_sharding`.

    Example:
        >>> from sdybridge.hlo import HloSharding, OpShardingType
        >>> from sdybridge.sdy import MeshAttr
        >>> hlo = HloSharding.iota_tile([2, 1, 4], subgroup_types=[OpShardingType.MANUAL])
        >>> get_manual_axes(hlo, MeshAttr.from_sizes({"x": 2, "y": 4}))
        ('y',)
    """
    check_is_leaf(hlo_sharding)
    if hlo_sharding._kind is _MAXIMAL:
        return ()
    if hlo_sharding._named is not None:
        return manual_axes_of(hlo_sharding, hlo_sharding._named)
    mesh = check_mesh(hlo_sharding, mesh)
    if hlo_sharding._kind is _MANUAL:
        return mesh.axis_names
    if _MANUAL not in hlo_sharding._subgroup_types:
        return ()
    return tuple([ref.name for ref in axes_of(hlo_sharding, mesh).manual])


def axes_of(hlo_sharding: HloSharding, mesh: MeshAttr) -> GridAxes:
    """The axes of `mesh` that make up a tiled sharding of as many devices, or the error that says why not."""
    types = subgroup_types(hlo_sharding)
    if hlo_sharding._tiles.num_elements == 1:  # XLA reads it as replicated
        return GridAxes(((),) * hlo_sharding.data_rank, (), (), ())
    found = find_grid_axes(hlo_sharding._tiles, types, mesh)
    if isinstance(found, GridAxes):
        return found
    raise misfit_error(hlo_sharding, mesh, found)


def _single_device(
    hlo_sharding: HloSharding, mesh_name: str | None, names: Mapping[int, str] | None
) -> TensorShardingAttr:
    device = single_device(hlo_sharding)
    if mesh_name is None:
        return TensorShardingAttr(MeshAttr.maximal(device))
    name = None if names is None else names.get(device)
    return TensorShardingAttr(maximal_mesh_name(device) if name is None else name)


def maximal_mesh_name(device: int) -> str:
    """What XLA's import calls the mesh that stands for one device."""
    return f"maximal_mesh_{device}"


def _all_axes(mesh: MeshAttr) -> tuple[AxisRefAttr, ...]:
    """The axes of a mesh that hold more than one device, or else just all of them."""
    names = [axis.name for axis in mesh.axes if axis.size > 1] or mesh.axis_names
    return tuple(map(AxisRefAttr, names))


def _reduction_op(hlo_sharding: HloSharding, target: Target) -> ReductionOp:
    return ReductionOp[hlo_sharding._reduction_op.name] if target is Target.NEWER else ReductionOp.SUM
