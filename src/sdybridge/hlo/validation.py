"""Whether a sharding fits a tensor and a number of devices.

Source: `HloSharding::Validate` in xla's `hlo/ir/hlo_sharding.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import Path, VerificationError
from sdybridge.hlo.checks import as_int, cropped, shortened
from sdybridge.hlo.iota import grid_index
from sdybridge.hlo.kinds import OpShardingType
from sdybridge.hlo.placement import as_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.hlo.sharding_queries import ShardingQueries
    from sdybridge.hlo.tile_assignment import TileAssignment

    Shape = Sequence[int] | Sequence[Sequence[int]]


def validate(sharding: ShardingQueries, shape: Shape, num_devices: int | None) -> None:
    """See `HloSharding.validate`."""
    if num_devices is not None:
        num_devices = as_int(num_devices, "num_devices", low=0)
    try:
        sizes = tuple(shape)
    except TypeError:
        sizes = as_shape(shape)  # type: ignore[arg-type]  # raises the error for it
    is_tuple_shape = any(not hasattr(size, "__index__") for size in sizes)
    if sharding._kind is not OpShardingType.TUPLE:
        if is_tuple_shape:
            raise VerificationError(
                f"{cropped(sharding)} is the sharding of one tensor, but the shape is that of a tuple",
                rule="sharding-tuple",
                help="give one sharding per element: HloSharding.flat_tuple([...])",
            )
        _validate_leaf(sharding, as_shape(sizes), num_devices, ())  # type: ignore[arg-type]
        return
    if sizes and not is_tuple_shape:
        raise VerificationError(
            f"{cropped(sharding)} is the sharding of a tuple, but the shape is that of one tensor",
            rule="sharding-tuple",
        )
    elements = sharding._tuple_elements
    if len(elements) != len(sizes) and not (len(elements) == 1 and not sizes):
        raise VerificationError(
            f"{cropped(sharding)} has {len(elements)} elements, but the tuple has {len(sizes)} tensors",
            rule="sharding-tuple",
        )
    for i, (element, leaf) in enumerate(zip(elements, sizes, strict=False)):
        _validate_leaf(element, as_shape(leaf), num_devices, ("tuple_elements", i))  # type: ignore[arg-type]


def _validate_leaf(sharding: ShardingQueries, shape: tuple[int, ...], count: int | None, path: Path) -> None:
    grid = sharding._on_grid()
    try:
        if sharding._device is not None:
            _check_device(sharding._device, count, path)
        elif grid._kind is OpShardingType.OTHER:
            _check_tiles(grid, shape, count, path)
    except VerificationError as error:
        error.notes = (f"the sharding is {cropped(sharding)}, the shape {shortened(shape)}",)
        raise


def _check_device(device: int, count: int | None, path: Path) -> None:
    if device < 0:
        raise VerificationError(
            f"device {device} is negative; a tensor needs a real device", rule="device-id", path=path
        )
    if count is not None and device >= count:
        raise VerificationError(
            f"device {device} does not exist: there are {count} devices, from 0", rule="device-id", path=path
        )


def _check_tiles(sharding: ShardingQueries, shape: tuple[int, ...], count: int | None, path: Path) -> None:
    tiles = sharding._tiles
    if tiles.num_elements == 1:
        raise VerificationError(
            "a tiling of a single device says neither that the tensor is replicated nor where it is placed",
            rule="single-device-tiling",
            path=path,
            help="use HloSharding.replicate() or HloSharding.assign_device(id)",
        )
    if sharding.data_rank != len(shape):
        raise VerificationError(
            f"the grid tiles {sharding.data_rank} dimensions, but the tensor has rank {len(shape)}",
            rule="sharding-rank",
            path=path,
        )
    if not tiles.is_iota:
        _check_device_list(tiles, count, path)
    if count is not None and count != tiles.num_elements:
        raise VerificationError(
            f"the grid has {tiles.num_elements} devices, but there are {count}",
            rule="device-count",
            path=path,
        )


def _check_device_list(tiles: TileAssignment, count: int | None, path: Path) -> None:
    """Ids in order: the first one that is negative, too large or listed before."""
    import numpy as np

    ids = tiles.array.reshape(-1)
    order = np.argsort(ids, kind="stable")
    repeated = np.zeros(ids.size, dtype=bool)
    repeated[order[1:]] = ids[order[1:]] == ids[order[:-1]]
    bad = repeated | (ids < 0)
    if count is not None:
        bad |= ids >= count
    if not bad.any():
        return
    first = int(bad.argmax())
    path = (*path, "tile_assignment", *grid_index(first, tiles.dims))
    _check_device(int(ids[first]), count, path)
    raise VerificationError(f"device {ids[first]} is listed more than once", rule="device-id", path=path)
