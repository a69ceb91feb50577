"""Which devices stand where in a grid, without an array where none is needed."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from sdybridge.bridge.grid_axes import subgroup_types
from sdybridge.hlo import OpShardingType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdybridge.hlo import HloSharding, TileAssignment

MOST_LISTED = 4096
"""The most devices that a view lists one by one."""


def devices_of(tiles: TileAssignment) -> list[int]:
    """All devices of a grid, row-major; only for at most `MOST_LISTED`.

    >>> from sdybridge.hlo import TileAssignment
    >>> devices_of(TileAssignment.iota([4, 2], [2, 4], [1, 0]))
    [0, 4, 1, 5, 2, 6, 3, 7]
    """
    iota = tiles.iota_form
    if iota is None:
        flat: list[int] = tiles.array.reshape(-1).tolist()
        return flat
    strides = [math.prod(iota.reshape_dims[i + 1 :]) for i in range(len(iota.reshape_dims))]
    steps = [
        range(0, iota.reshape_dims[source] * strides[source], strides[source])
        for source in iota.transpose_perm
    ]
    return [sum(at) for at in itertools.product(*steps)]


def group_dim(hlo: HloSharding, kind: OpShardingType) -> int | None:
    """Which dim of the grid holds the groups of a kind; None if there are none."""
    types = subgroup_types(hlo)
    return hlo.data_rank + types.index(kind) if kind in types else None


def groups_along(tiles: TileAssignment, dim: int) -> Iterator[tuple[int, ...]]:
    """The devices that differ only in one coordinate of a grid, group by group, row-major in the others."""
    dims = tiles.dims
    inner = math.prod(dims[dim + 1 :])
    size = dims[dim]
    small = tiles.num_elements <= MOST_LISTED
    devices: Sequence[int] = devices_of(tiles) if small else ()
    for outer in range(math.prod(dims[:dim])):
        for offset in range(inner):
            start = outer * size * inner + offset
            positions = range(start, start + size * inner, inner)
            if small:
                yield tuple([devices[at] for at in positions])
            else:
                yield tuple([tiles._device_at(at) for at in positions[:MOST_LISTED]])


def shards_by_device(hlo: HloSharding, num_devices: int | None) -> dict[int, tuple[int, ...]] | None:
    """The coordinates of the tile that each device holds; None where that is not known, or they are many.

    Args:
        hlo: The sharding of one tensor.
        num_devices: How many devices there are, for shardings that do not say.
    """
    if hlo.type is OpShardingType.MAXIMAL:
        device = hlo.unique_device
        return None if device is None else {device: ()}
    if hlo.type is OpShardingType.REPLICATED:
        if num_devices is None or num_devices > MOST_LISTED:
            return None
        return dict.fromkeys(range(num_devices), ())
    if hlo.type is not OpShardingType.OTHER or hlo.num_devices > MOST_LISTED:
        return None
    tiles = hlo.tile_assignment
    rank = hlo.data_rank
    indices = itertools.product(*[range(size) for size in tiles.dims])
    return {device: index[:rank] for device, index in zip(devices_of(tiles), indices, strict=True)}


def holders(hlo: HloSharding, num_devices: int | None) -> dict[tuple[int, ...], list[int]] | None:
    """The devices that hold each tile, by its coordinates; None where `shards_by_device` is.

    >>> from sdybridge.hlo import HloSharding
    >>> holders(HloSharding.from_string("{devices=[2,2]<=[4] last_tile_dim_replicate}"), None)
    {(0,): [0, 1], (1,): [2, 3]}
    """
    held = shards_by_device(hlo, num_devices)
    if held is None:
        return None
    found: dict[tuple[int, ...], list[int]] = {}
    for device, index in held.items():
        found.setdefault(index, []).append(device)
    return found
