"""Which part of a tensor each device holds.

Along a dimension of size D in t tiles, a tile is ceil(D / t) long, and tile k starts at k times that. Where
the tiles reach past D the last ones are shorter, or empty; the buffers on the devices keep the full length.

Source: `HloSharding::TileShape`, `TileOffsetForDevice` and `TileLimitForDevice` in xla's
`hlo/ir/hlo_sharding.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo.checks import as_int, as_ints, cropped, shortened
from sdybridge.hlo.kinds import OpShardingType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.hlo.sharding_queries import ShardingQueries

_WHOLE = (OpShardingType.REPLICATED, OpShardingType.MAXIMAL)


def tile_shape(sharding: ShardingQueries, shape: Sequence[int]) -> tuple[int, ...]:
    """See `HloSharding.tile_shape`."""
    sizes = as_shape(shape)
    sharding = sharding._on_grid()
    if sharding._kind is OpShardingType.TUPLE and sharding.is_tiled:
        raise VerificationError(
            f"the elements of {cropped(sharding)} have tile shapes of their own",
            rule="leaf-sharding",
            help="ask each of its tuple_elements",
        )
    if sharding._kind is not OpShardingType.OTHER:
        return sizes
    rank = sharding.data_rank
    return (*map(_tile_length, sizes, sharding._tiles._dims[:rank]), *sizes[rank:])


def tile_index(sharding: ShardingQueries, device: int) -> tuple[int, ...]:
    """See `HloSharding.tile_index_for_device`."""
    sharding = sharding._on_grid()
    rank = sharding.data_rank  # raises unless there are tiles
    return sharding._tiles.index_for(device)[:rank]


def tile_bounds(
    sharding: ShardingQueries, shape: Sequence[int], device: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The first index of the part of a tensor of `shape` that `device` holds, and the one past the last.

    See `HloSharding.tile_offset_for_device` and `tile_limit_for_device`.
    """
    sizes = as_shape(shape)
    as_int(device, "device")
    sharding = sharding._on_grid()
    if sharding._kind in _WHOLE:
        return (0,) * len(sizes), sizes
    if sharding._kind is not OpShardingType.OTHER:
        raise VerificationError(
            f"{cropped(sharding)} does not say which part of a tensor a device holds", rule="tiled-sharding"
        )
    if sharding.data_rank != len(sizes):
        raise VerificationError(
            f"{cropped(sharding)} tiles tensors of rank {sharding.data_rank}, not of rank {len(sizes)} "
            f"(shape {shortened(sizes)})",
            rule="sharding-rank",
        )
    index = tile_index(sharding, device)
    lengths = list(map(_tile_length, sizes, sharding._tiles._dims))
    return (
        tuple([min(k * n, size) for k, n, size in zip(index, lengths, sizes, strict=True)]),
        tuple([min((k + 1) * n, size) for k, n, size in zip(index, lengths, sizes, strict=True)]),
    )


def as_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """A tensor's shape, checked: sizes count elements and may be 0."""
    sizes = as_ints(shape, "shape")
    if any(size < 0 for size in sizes):
        raise VerificationError(f"a shape has sizes of 0 and more, got {shortened(sizes)}", rule="shape")
    return sizes


def _tile_length(size: int, tiles: int) -> int:
    return -(-size // tiles)
