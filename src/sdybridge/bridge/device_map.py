"""Which part of a tensor each device holds, as arrays: what two shardings are compared by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError, VerificationError
from sdybridge.hlo import MAX_MATERIALIZED_DEVICES, HloSharding, OpShardingType
from sdybridge.hlo.checks import cropped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.int64]

_GROUPS = (OpShardingType.MANUAL, OpShardingType.UNREDUCED)
_OTHER = OpShardingType.OTHER


@dataclass(frozen=True, slots=True)
class DeviceMap:
    """Where a sharding puts a tensor.

    Attributes:
        counts: Into how many parts each dimension is cut; None if the rank does not matter, as all of the
            tensor is everywhere or nowhere.
        tiles: For each device and dimension, which part it holds; none of those for `counts` None.
        holds: Whether each device holds anything at all.
        groups: For each device its manual and its unreduced group, numbered by their first device.
        kind: What the sharding is, if that is all it says: unknown.
    """

    counts: tuple[int, ...] | None
    tiles: Array
    holds: NDArray[np.bool_]
    groups: Mapping[OpShardingType, Array]
    kind: OpShardingType | None = None

    @property
    def devices(self) -> int:
        """The number of devices."""
        return len(self.holds)


def devices_of(grid: HloSharding) -> int | None:
    """How many devices a sharding is about; None if it fits any number."""
    return grid.num_devices if is_grid(grid) else None


def is_grid(grid: HloSharding) -> bool:
    """Whether it tells devices apart by a grid. XLA reads a grid of one device as replicated."""
    return grid.type is _OTHER and grid.num_devices > 1


def device_ids(grid: HloSharding) -> Array:
    """The ids of the devices that a grid is about, in ascending order.

    Raises:
        ConversionError: There are too many to look at each.
        VerificationError: One is negative, or stands in the grid twice.
    """
    import numpy as np

    count = grid.num_devices
    if count > MAX_MATERIALIZED_DEVICES:
        raise ConversionError(f"{count} devices are too many to compare them one by one")
    if grid.tile_assignment.is_iota:
        return np.arange(count)
    ids: Array = np.sort(grid.tile_assignment.array.reshape(-1))
    wrong = ids[:1] if ids[0] < 0 else ids[1:][ids[1:] == ids[:-1]]
    if len(wrong):
        what = "is negative" if wrong[0] < 0 else "is listed more than once"
        raise VerificationError(f"device {wrong[0]} {what} in {cropped(grid)}", rule="device-id")
    return ids


def device_map(grid: HloSharding, ids: Array) -> DeviceMap:
    """The map of a sharding over a device grid.

    Args:
        grid: The sharding of one tensor.
        ids: All devices, in ascending order; a grid is about these.
    """
    import numpy as np

    devices = len(ids)
    nothing = np.zeros(devices, dtype=np.int64)
    groups = dict.fromkeys(_GROUPS, nothing)
    holds = np.ones(devices, dtype=bool)
    if not is_grid(grid):
        if grid.type in _GROUPS:
            groups[grid.type] = np.arange(devices)
        if grid.type is OpShardingType.MAXIMAL:
            holds = ids == grid.unique_device
        unknown = grid.type if grid.type is OpShardingType.UNKNOWN else None
        return DeviceMap(None, np.zeros((devices, 0), dtype=np.int64), holds, groups, unknown)
    array = grid.tile_assignment.array
    rank = grid.data_rank
    position = np.empty(devices, dtype=np.int64)
    position[np.searchsorted(ids, array.reshape(-1))] = np.arange(devices)
    index = np.unravel_index(position, array.shape)
    types = grid.subgroup_types or (OpShardingType.REPLICATED,) * grid.replicate_on_last_tile_dim
    for kind in _GROUPS:
        number = nothing
        for coordinate, size, type_ in zip(index[rank:], array.shape[rank:], types, strict=True):
            number = number * size + coordinate if type_ is kind else number
        groups[kind] = _numbered(number)
    counts = array.shape[:rank]
    tiles = np.stack(index[:rank], axis=1) if rank else np.zeros((devices, 0), dtype=np.int64)
    return DeviceMap(counts if math.prod(counts) > 1 else None, tiles, holds, groups)


def _numbered(groups: Array) -> Array:
    """The same groups, each with the number of its first device."""
    import numpy as np

    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    numbered: Array = first[inverse]
    return numbered


def bounds(found: DeviceMap, shape: Sequence[int], whole: Sequence[int]) -> tuple[Array, Array]:
    """For each device and dimension where its part starts and ends, in elements.

    Args:
        found: The map.
        shape: The sizes of the tensor.
        whole: How long one part is in each dimension.
    """
    import numpy as np

    sizes = np.asarray(shape, dtype=np.int64)
    if found.counts is None:
        low = np.zeros((found.devices, len(sizes)), dtype=np.int64)
        high = np.broadcast_to(sizes, low.shape).copy()
    else:
        length = np.asarray(whole, dtype=np.int64)
        low = np.minimum(found.tiles * length, sizes)
        high = np.minimum(low + length, sizes)
    high[~found.holds] = low[~found.holds]
    return low, high


def same_placement(a: HloSharding, b: HloSharding) -> bool:
    """Whether two shardings put the same part of any tensor on each device.

    >>> grids = "devices=[2,2]<=[4]", "devices=[2,2]1,0,3,2"
    >>> same_placement(*[HloSharding.from_string(f"{{{grid} last_tile_dim_replicate}}") for grid in grids])
    True

    Raises:
        ConversionError: There are too many devices to look at each.
        VerificationError: A device is negative, or stands in a grid twice.
    """
    a, b = a.v3_to_v2_sharding(), b.v3_to_v2_sharding()
    if a.is_tuple or b.is_tuple:
        first, second = (one.tuple_elements if one.is_tuple else (one,) for one in (a, b))
        return len(first) == len(second) and all(map(same_placement, first, second))
    if len({devices_of(a), devices_of(b)} - {None}) > 1:
        return False
    if a == b:
        return True
    grids = [device_ids(one) for one in (a, b) if is_grid(one)]
    if not grids:
        return _whole(a) == _whole(b)
    ids = grids[0]
    return bool((ids == grids[-1]).all()) and _same_maps(device_map(a, ids), device_map(b, ids))


def _whole(sharding: HloSharding) -> tuple[OpShardingType, int | None]:
    """What a sharding without a grid says."""
    is_one = sharding.type is _OTHER
    return OpShardingType.REPLICATED if is_one else sharding.type, sharding.unique_device


def _same_maps(a: DeviceMap, b: DeviceMap) -> bool:
    ranks = {len(one.counts) for one in (a, b) if one.counts is not None}
    if len(ranks) > 1 or a.kind is not b.kind or (a.holds != b.holds).any():
        return False
    rank = max(ranks, default=0)
    counts = [one.counts or (1,) * rank for one in (a, b)]
    if counts[0] != counts[1] or any((a.groups[kind] != b.groups[kind]).any() for kind in _GROUPS):
        return False
    return a.counts is None or bool((a.tiles == b.tiles)[a.holds].all())
