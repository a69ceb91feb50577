"""The device grid of a named sharding.

On the mesh a=2, b=4 and the sharding `[{'b'}, {}]`: each axis, cut where the sharding cuts it, is a dimension
of the mesh's own grid `[2,4]`. The axes that the sharding uses go first, in the order in which it does, then
the others, in which the tensor is replicated: `[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate`.

Source: `HloSharding::V3ToV2Sharding` in xla's `hlo/ir/hlo_sharding.cc`.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from sdybridge.hlo.axis_ref import AxisRef, SubAxis
from sdybridge.hlo.kinds import OpShardingType
from sdybridge.hlo.sharding import HloSharding
from sdybridge.hlo.tile_assignment import TileAssignment

if TYPE_CHECKING:
    from sdybridge.hlo.named_sharding import NamedSharding
    from sdybridge.hlo.sharding_queries import ShardingQueries


def grid_form(sharding: ShardingQueries) -> HloSharding:
    """See `HloSharding.v3_to_v2_sharding`; the answer is kept."""
    if sharding._kind is OpShardingType.TUPLE:
        return HloSharding._make_tuple(tuple(map(grid_form, sharding._tuple_elements)))
    if sharding._named is None:
        return sharding  # type: ignore[return-value]  # all of them are
    if sharding._grid is None:
        grid = _grid(sharding._named).with_metadata(sharding._metadata)
        sharding._grid = grid.with_reduction_op(sharding._reduction_op)
    return sharding._grid


def _grid(sharding: NamedSharding) -> HloSharding:
    """The sharding over a device grid that places the devices alike."""
    mesh = sharding.mesh
    if sharding.is_replicated:
        return HloSharding.replicate()
    if mesh.device_id is not None:
        return HloSharding.assign_device(mesh.device_id)
    used = [axis for dim in sharding.dim_shardings for axis in dim.axes]
    dims = [*sharding.dimensions]
    types = []
    for axes, type_ in (
        (sharding.manual_axes, OpShardingType.MANUAL),
        (sharding.unreduced_axes, OpShardingType.UNREDUCED),
    ):
        if axes:
            used += axes
            dims.append(math.prod([axis.size(mesh) for axis in axes]))
            types.append(type_)
    pieces = _pieces(sharding)
    position = {axis: i for i, axis in enumerate(pieces)}
    perm = [position.pop(axis) for axis in used]
    replicas = math.prod([axis.size(mesh) for axis in position])
    perm += position.values()
    if replicas > 1:
        dims.append(replicas)
        types.append(OpShardingType.REPLICATED)
    sizes = tuple([axis.size(mesh) for axis in pieces])
    if mesh.has_simple_order:
        grid = TileAssignment._from_known_iota(tuple(dims), sizes, tuple(perm))
    else:
        grid = mesh.device_assignment._reshape(sizes)._transpose(tuple(perm))._reshape(tuple(dims))
    return HloSharding.subgroup(grid, types)


def _pieces(sharding: NamedSharding) -> list[AxisRef]:
    """All axes of the mesh in order, each cut at the ends of every part that is used."""
    cuts: dict[int, set[int]] = {}
    for axes in (
        *[dim.axes for dim in sharding.dim_shardings],
        sharding.replicated_axes,
        sharding.unreduced_axes,
        sharding.manual_axes,
    ):
        for axis in axes:
            sub = axis.sub_axis_info
            if sub is not None:
                cuts.setdefault(axis.mesh_axis_index, {1}).update((sub.pre_size, sub.next_pre_size))
    pieces = []
    for index, size in enumerate(sharding.mesh.axis_sizes):
        if index not in cuts:
            pieces.append(AxisRef(index))
            continue
        borders = sorted(cuts[index] | {size})
        pieces += [AxisRef(index, SubAxis(low, high // low)) for low, high in itertools.pairwise(borders)]
    return pieces
