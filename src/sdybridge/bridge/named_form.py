"""The named form of a sharding over a device grid: on a mesh that is made for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.bridge.grid_axes import GridAxes, find_grid_axes, subgroup_types
from sdybridge.bridge.import_errors import check_is_hlo
from sdybridge.bridge.local_mesh import local_mesh
from sdybridge.bridge.named_export import export_named
from sdybridge.errors import ConversionError
from sdybridge.hlo import DimensionSharding, HloSharding, Mesh, NamedSharding, OpShardingType
from sdybridge.hlo.checks import cropped
from sdybridge.sdy import DimensionShardingAttr, MeshAttr, MeshAxisAttr, TensorShardingAttr

if TYPE_CHECKING:
    from sdybridge.bridge.positions import Types

_KEPT = frozenset({OpShardingType.MANUAL, OpShardingType.UNREDUCED, OpShardingType.REPLICATED})


def to_v3_sharding(hlo_sharding: HloSharding) -> HloSharding:
    """The same placement of the devices over a named mesh, whose axes are called `axis_0`, `axis_1`, ...

    The axes are the fewest that make up the grid, in device order; dimensions are closed, and replication is
    not spelled out. A tuple's elements are converted; what is named already stays as it is.

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
    sizes, devices = local_mesh(hlo_sharding._tiles, types)
    if not sizes:  # one device
        return HloSharding.named(NamedSharding(Mesh.empty(), [DimensionSharding()] * hlo_sharding.data_rank))
    axes = [MeshAxisAttr(f"axis_{i}", size) for i, size in enumerate(sizes)]
    mesh = MeshAttr(axes, () if devices is None else devices.tolist())
    found = find_grid_axes(hlo_sharding._tiles, types, mesh)
    if not isinstance(found, GridAxes):  # a mesh of the grid's own axes has them
        raise ConversionError(f"no mesh has the devices in the order of {cropped(hlo_sharding)}")
    dims = [DimensionShardingAttr(refs) for refs in found.dims]
    return export_named(TensorShardingAttr(mesh, dims, (), found.unreduced), mesh, found.manual)
