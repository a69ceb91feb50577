"""Device grids seen from a mesh: where on the mesh each device sits.

A mesh with `device_ids` numbers its devices in another order than its axes do. In terms of positions on the
mesh (row-major over the axes) every mesh is in order, and a grid that fits it is an iota.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError
from sdybridge.hlo import OpShardingType
from sdybridge.hlo.checks import cropped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sdybridge.hlo import TileAssignment
    from sdybridge.sdy import MeshAttr

    Array = NDArray[np.int64]
    Types = tuple[OpShardingType, ...]

MAX_LISTED_DEVICES = 1 << 24
"""The most devices that a conversion lists one by one."""


def listed_devices(tiles: TileAssignment) -> Array:
    """The devices of a grid as an array of its dims; each of `0..n - 1` once.

    Raises:
        ConversionError: They are not these, or too many to list.
    """
    count = tiles.num_elements
    if count > MAX_LISTED_DEVICES:
        raise ConversionError(
            f"{cropped(tiles)} is made of no axes in device order, so it needs a list of all {count} devices",
            notes=[f"at most {MAX_LISTED_DEVICES} devices are listed"],
        )
    devices = tiles.array
    if not tiles.is_iota:
        _check_permutation(devices.reshape(-1), tiles)
    return devices


def positions_on(mesh: MeshAttr, devices: Array) -> Array:
    """The position on the mesh of every device."""
    if not mesh.device_ids:
        return devices
    positions: Array = _position_of_device(mesh)[devices]
    return positions


def sort_groups(positions: Array, types: Types) -> Array:
    """The same groups of devices, with the order inside them normalised where it has no meaning.

    Replicas are free to change places in each group on its own. Manual, unreduced and other groups are lined
    up with each other, tile by tile, so they can only be renumbered all alike.

    Args:
        positions: A grid.
        types: The types of its last dims.

    Returns:
        The grid whose groups ascend, as those of axes do. A grid that is made of axes becomes an iota.
    """
    import numpy as np

    rank = positions.ndim - len(types)
    for dim in range(positions.ndim - 1, rank - 1, -1):
        if types[dim - rank] is OpShardingType.REPLICATED:
            behind = positions.ndim - 1 - dim
            order = positions.reshape(*positions.shape[: dim + 1], -1)[..., 0].argsort(axis=dim)
            order = order.reshape(*order.shape, *(1,) * behind)
            positions = np.take_along_axis(positions, order, axis=dim)
    for dim in range(rank, positions.ndim):
        if types[dim - rank] is not OpShardingType.REPLICATED:
            order = np.moveaxis(positions, dim, -1).reshape(-1, positions.shape[dim])[0].argsort()
            positions = positions.take(order, axis=dim)
    return positions


def _check_permutation(devices: Array, tiles: TileAssignment) -> None:
    import numpy as np

    count = devices.size
    inside = (devices >= 0) & (devices < count)
    seen = np.zeros(count, dtype=bool)
    seen[devices[inside]] = True
    if seen.all():
        return
    if inside.all():
        repeated = int(np.bincount(devices).argmax())
        raise ConversionError(
            f"device {repeated} is listed more than once, so the grid is on no mesh",
            notes=[f"grid: {cropped(tiles)}"],
        )
    raise ConversionError(
        f"device {int(devices[inside.argmin()])} is not on a mesh of {count} devices, which has devices "
        f"0..{count - 1}",
        notes=[f"grid: {cropped(tiles)}"],
    )


@functools.lru_cache(maxsize=32)
def _position_of_device(mesh: MeshAttr) -> Array:
    import numpy as np

    devices = np.asarray(mesh.device_ids, dtype=np.int64)
    positions = np.empty_like(devices)
    positions[devices] = np.arange(devices.size)
    return positions
