"""The mesh that one sharding needs, and no finer one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.bridge.factorisation import grid_runs
from sdybridge.bridge.positions import listed_devices, sort_groups
from sdybridge.hlo.iota_recognition import recognize_array, recognize_iota

if TYPE_CHECKING:
    from sdybridge.bridge.positions import Array, Types
    from sdybridge.hlo import IotaTileAssignment, TileAssignment


def local_mesh(tiles: TileAssignment, types: Types) -> tuple[tuple[int, ...], Array | None]:
    """The sizes of the fewest axes that make up a grid, and the order of devices that they need.

    Args:
        tiles: The grid.
        types: The types of its last dims.

    Returns:
        Sizes, major to minor, all at least 2. The devices in the order of these axes; None stands for the
        order `0, 1, 2, ...`, which is taken wherever the grid allows it.

    Raises:
        ConversionError: The grid needs a list of its devices, and does not hold each of `0..n - 1` once or
            is too long.
    """
    iota = recognize_iota(tiles)
    sizes = None if iota is None else axis_sizes(iota)
    if sizes is not None:
        return sizes, None
    devices = listed_devices(tiles)
    if types:
        devices = sort_groups(devices, types)
        iota = recognize_array(devices)
        sizes = None if iota is None else axis_sizes(iota)
        if sizes is not None:
            return sizes, None
    return tuple([size for size in tiles.dims if size > 1]), devices.reshape(-1)


def axis_sizes(iota: IotaTileAssignment) -> tuple[int, ...] | None:
    """The sizes of the factors of an iota, major to minor; None where it has none."""
    runs = grid_runs(iota._dims, iota._reshape_dims, iota._transpose_perm)
    if isinstance(runs, int):
        return None
    by_stride = sorted([(stride, size) for found in runs for size, stride in found], reverse=True)
    return tuple([size for _, size in by_stride])
