"""Which device holds which tile, from first principles, to compare an exported sharding with.

A device's coordinate along an axis is a digit of its position in the mesh; along a sub-axis it is a quotient
and a remainder of that; its tile is the number that the coordinates of the axes spell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sdybridge.hlo import OpShardingType
from sdybridge.sdy import AxisRefAttr

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sdybridge.hlo import HloSharding
    from sdybridge.sdy import MeshAttr, TensorShardingAttr


def tiles_by_position(refs: Iterable[AxisRefAttr], mesh: MeshAttr) -> NDArray[np.int64]:
    """For each position in the mesh, the tile that `refs` give to the device there."""
    sizes = [axis.size for axis in mesh.axes]
    coordinates = np.unravel_index(np.arange(mesh.total_size), sizes)
    tile = np.zeros(mesh.total_size, dtype=np.int64)
    for ref in refs:
        axis = [axis.name for axis in mesh.axes].index(ref.name)
        coordinate, size = coordinates[axis], sizes[axis]
        if ref.sub_axis_info is not None:
            pre_size, size = ref.sub_axis_info.pre_size, ref.sub_axis_info.size
            coordinate = coordinate // (sizes[axis] // (pre_size * size)) % size
        tile = tile * size + coordinate
    return tile


def assert_places(
    hlo: HloSharding, sharding: TensorShardingAttr, mesh: MeshAttr, manual_axes: Sequence[str] = ()
) -> None:
    """`hlo` puts every device of `mesh` where `sharding` says, and replicas stand in ascending order."""
    context = f"{sharding} on {mesh}, manual {list(manual_axes)}: {hlo}"
    dims = [tiles_by_position(dim.axes, mesh) for dim in sharding.dim_shardings]
    manual = tiles_by_position(map(AxisRefAttr, dict.fromkeys(manual_axes)), mesh)
    unreduced = tiles_by_position(sharding.unreduced_axes, mesh)
    groups = {OpShardingType.MANUAL: manual, OpShardingType.UNREDUCED: unreduced}
    whole = [OpShardingType.REPLICATED, OpShardingType.MANUAL, OpShardingType.UNREDUCED]
    if hlo.type in whole:  # one tile along every dimension, one group along all others
        assert not any(tile.any() for tile in dims), context
        sizes = {kind: len(np.unique(tile)) for kind, tile in groups.items()}
        sizes[OpShardingType.REPLICATED] = mesh.total_size // math.prod(sizes.values())
        assert [kind for kind in whole if sizes[kind] > 1] in ([hlo.type], []), context
        return
    types = [OpShardingType.REPLICATED] if hlo.replicate_on_last_tile_dim else list(hlo.subgroup_types)
    grid = hlo.tile_assignment.array
    assert grid.ndim == sharding.rank + len(types), context
    assert [dim.get_sharded_size(mesh) for dim in sharding.dim_shardings] == list(grid.shape[: sharding.rank])
    ids = np.asarray(mesh.device_ids or range(mesh.total_size))
    position = np.argsort(ids)[grid]  # the mesh position of the device in each place of the grid
    index = np.indices(grid.shape)
    for d, tile in enumerate(dims):
        assert np.array_equal(tile[position], index[d]), context
    for kind, tile in groups.items():
        where = index[sharding.rank + types.index(kind)] if kind in types else np.zeros_like(position)
        assert np.array_equal(tile[position], where), context
    if OpShardingType.REPLICATED in types:
        last = np.moveaxis(grid, sharding.rank + types.index(OpShardingType.REPLICATED), -1)
        assert (np.diff(last) > 0).all(), context
