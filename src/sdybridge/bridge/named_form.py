"""The named form of a sharding over a device grid: on a mesh that is made for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.bridge.grid_axes import GridAxes, find_grid_axes, subgroup_types
from sdybridge.bridge.import_errors import check_is_hlo
from sdybridge.bridge.local_mesh import axis_sizes
from sdybridge.bridge.named_export import export_named
from sdybridge.bridge.positions import listed_devices
from sdybridge.errors import ConversionError
from sdybridge.hlo import DimensionSharding, HloSharding, Mesh, NamedSharding, OpShardingType
from sdybridge.hlo.checks import cropped
from sdybridge.hlo.iota_recognition import recognize_iota
from sdybridge.sdy import AxisRefAttr, DimensionShardingAttr, MeshAttr, MeshAxisAttr, TensorShardingAttr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.bridge.positions import Types
    from sdybridge.hlo import TileAssignment

_KEPT = (OpShardingType.MANUAL, OpShardingType.UNREDUCED, OpShardingType.REPLICATED)


def to_v3_sharding(hlo_sharding: HloSharding) -> HloSharding:
    """The same placement of the devices over a named mesh, whose axes are called `axis_0`, `axis_1`, ...

    The axes are the fewest that make up the grid, in device order, or, where no axes have that, one for each
    dimension. Dimensions are closed, replication is not spelled out, and the devices in a group are in the
    order of the mesh. A tuple's elements are converted; what is named already stays as it is.

    Raises:
        ConversionError: It is manual, unreduced or unknown as a whole, which tells no mesh, or has a shard
            group or a subgroup that named shardings do not know, or a device list that no mesh has.

    Example:
        >>> from sdybridge.hlo import HloSharding
        >>> print(to_v3_sharding(HloSharding.iota_tile([2, 4], [4, 2], [1, 0])))
        {mesh['axis_0'=4,'axis_1'=2], [{'axis_1'}, {'axis_0'}]}

    Source: `HloSharding::ToV3Sharding` in xla's `hlo/ir/hlo_sharding.cc`.
    """
    check_is_hlo(hlo_sharding)
    if hlo_sharding.is_tuple:
        return HloSharding.flat_tuple([to_v3_sharding(element) for element in hlo_sharding.tuple_elements])
    if hlo_sharding.named_sharding is not None:
        return hlo_sharding
    types = subgroup_types(hlo_sharding)
    _check_has_form(hlo_sharding, types)
    named = _named(hlo_sharding, types).with_metadata(hlo_sharding.metadata)
    return named.with_reduction_op(hlo_sharding.reduction_op)


def _check_has_form(hlo_sharding: HloSharding, types: Types) -> None:
    if hlo_sharding.shard_group is not None:
        raise ConversionError(
            f"{cropped(hlo_sharding)} is in a shard group, which named shardings do not have",
            help="remove it: with_shard_group(None)",
        )
    if hlo_sharding.is_manual or hlo_sharding.is_unreduced or hlo_sharding.is_unknown:
        raise ConversionError(
            f"{cropped(hlo_sharding)} does not tell on which mesh it is",
            help="build the named form on its mesh: HloSharding.named(NamedSharding(mesh, ...))",
        )
    other = next((type_ for type_ in types if type_ not in _KEPT), None)
    if other is not None:
        raise ConversionError(
            f"named shardings have no {other.name.lower()} subgroups, as {cropped(hlo_sharding)} has"
        )


def _named(hlo_sharding: HloSharding, types: Types) -> HloSharding:
    if hlo_sharding.is_replicated:
        return HloSharding.named(NamedSharding(Mesh.empty()))
    device = hlo_sharding.unique_device
    if device is not None:
        return HloSharding.named(NamedSharding(Mesh.maximal(device)))
    tiles = hlo_sharding._tiles
    if tiles.num_elements == 1:
        return HloSharding.named(NamedSharding(Mesh.empty(), [DimensionSharding()] * hlo_sharding.data_rank))
    iota = recognize_iota(tiles)
    mesh = _mesh((None if iota is None else axis_sizes(iota)) or ())
    axes = find_grid_axes(tiles, types, mesh) if mesh.axes else None
    if not isinstance(axes, GridAxes):
        axes, mesh = _own_axes(tiles, types)
    dims = [DimensionShardingAttr(refs) for refs in axes.dims]
    return export_named(TensorShardingAttr(mesh, dims, (), axes.unreduced), mesh, axes.manual)


def _own_axes(tiles: TileAssignment, types: Types) -> tuple[GridAxes, MeshAttr]:
    """One axis per dimension of a grid, and the mesh that lists its devices in the order of the grid."""
    devices = listed_devices(tiles).reshape(-1).tolist()
    mesh = _mesh([size for size in tiles.dims if size > 1], devices)
    names = iter(mesh.axis_names)
    refs = [(AxisRefAttr(next(names)),) if size > 1 else () for size in tiles.dims]
    rank = len(refs) - len(types)
    groups = dict(zip(types, refs[rank:], strict=True))
    return GridAxes(tuple(refs[:rank]), *[groups.get(type_, ()) for type_ in _KEPT]), mesh


def _mesh(sizes: Sequence[int], devices: Sequence[int] = ()) -> MeshAttr:
    return MeshAttr([MeshAxisAttr(f"axis_{i}", size) for i, size in enumerate(sizes)], devices)
