"""The device grid of sub-axes that cannot be cut from one axis together, found device by device.

On an axis of size 18, `"x":(2)3` and `"x":(9)2` overlap nowhere, but no cutting of 18 into factors holds
both. XLA then builds a grid that misses devices. Where the sub-axes still split the devices evenly, as
these two do, the right grid exists and is listed here; where they do not, there is none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError
from sdybridge.hlo import TileAssignment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.sdy import AxisRefAttr, MeshAttr, TensorShardingAttr

MAX_DEVICES = 1 << 24
"""The most devices that are enumerated one by one."""


def grid_by_coordinates(
    sharding: TensorShardingAttr, mesh: MeshAttr, claimed: Sequence[AxisRefAttr], tile_dims: Sequence[int]
) -> TileAssignment:
    """The grid with `tile_dims` tiles, and the devices of one tile along one more, last dimension.

    Args:
        sharding: The sharding that is converted, for the error.
        mesh: Its mesh; the position of a device is its row-major index over the mesh's axes.
        claimed: The refs that split the tile dims, major to minor, all tile dims together.
        tile_dims: The number of tiles along each dim; the product is that of the refs' sizes.

    Raises:
        ConversionError: Some tiles would get more devices than others, or there are more than
            `MAX_DEVICES` devices.
    """
    total = mesh.total_size
    if total > MAX_DEVICES:
        raise ConversionError(
            f"sub-axes that cannot be cut from one axis together need a list of all {total} devices",
            notes=[f"sharding: {sharding}", f"mesh: {mesh}", f"at most {MAX_DEVICES} devices are listed"],
        )
    import numpy as np

    position = np.arange(total, dtype=np.int64)
    tile = np.zeros(total, dtype=np.int64)
    for ref in claimed:
        size = ref.get_size(mesh)
        tile = tile * size + position // _stride(ref, mesh) % size
    devices_per_tile = np.bincount(tile, minlength=math.prod(tile_dims))
    if devices_per_tile.min() != devices_per_tile.max():
        few, many = int(devices_per_tile.argmin()), int(devices_per_tile.argmax())
        raise ConversionError(
            "the sub-axes split the devices unevenly, so no device grid can express them",
            notes=[
                f"sharding: {sharding}",
                f"mesh: {mesh}",
                f"devices that would hold tile {_index(few, tile_dims)}: {devices_per_tile[few]}",
                f"devices that would hold tile {_index(many, tile_dims)}: {devices_per_tile[many]}",
            ],
            help="cut each axis into a chain of factors: every sub-axis starts at a multiple of "
            "pre-size times size of the one before it",
        )
    devices = np.asarray(mesh.device_ids, dtype=np.int64) if mesh.device_ids else position
    by_tile = devices[np.argsort(tile, kind="stable")]
    return TileAssignment.from_array(by_tile.reshape(*tile_dims, -1))


def _stride(ref: AxisRefAttr, mesh: MeshAttr) -> int:
    """How many positions apart two neighbours along `ref` are."""
    at = mesh.axis_index(ref.name)
    minor = math.prod(axis.size for axis in mesh.axes[at + 1 :])
    sub = ref.sub_axis_info
    return minor if sub is None else minor * (mesh.axes[at].size // sub.next_pre_size)


def _index(tile: int, tile_dims: Sequence[int]) -> list[int]:
    index = []
    for dim in reversed(tile_dims):
        tile, at = divmod(tile, dim)
        index.append(at)
    return index[::-1]
