"""Generators of device grids and HLO shardings."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from sdybridge.hlo import (
    HloSharding,
    OpMetadata,
    OpShardingType,
    ReductionOp,
    ShardGroup,
    ShardGroupKind,
    TileAssignment,
)

INT64 = st.integers(-(2**63), 2**63 - 1)
SUBGROUP_TYPES = st.sampled_from(OpShardingType)


@st.composite
def factorizations(draw: st.DrawFn, n: int) -> tuple[int, ...]:
    """Sizes whose product is `n`, some of them 1."""
    sizes: list[int] = []
    while n > 1 and len(sizes) < 5:
        size = draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0]))
        sizes.append(size)
        n //= size
    return tuple(draw(st.permutations([*sizes, n])))


@st.composite
def iota_programs(
    draw: st.DrawFn, max_devices: int = 72
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The dims, reshape dims and permutation of an iota."""
    n = draw(st.integers(1, max_devices))
    dims, sizes = draw(factorizations(n)), draw(factorizations(n))
    return dims, sizes, tuple(draw(st.permutations(range(len(sizes)))))


@st.composite
def tile_assignments(draw: st.DrawFn) -> TileAssignment:
    """Iotas, the same devices as a list, and lists in any order."""
    dims, sizes, perm = draw(iota_programs())
    grid = TileAssignment.iota(dims, sizes, perm)
    form = draw(st.sampled_from(["iota", "list", "any order"]))
    if form == "iota":
        return grid
    if form == "list":
        return TileAssignment.from_array(grid.array)
    return TileAssignment.from_array(np.array(draw(st.permutations(range(math.prod(dims))))).reshape(dims))


TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
INT32 = st.integers(-(2**31), 2**31 - 1)
METADATA = st.builds(
    OpMetadata,
    op_type=TEXTS,
    op_name=TEXTS,
    source_file=TEXTS,
    source_line=INT32,
    source_end_line=INT32,
    source_column=INT32,
    source_end_column=INT32,
    profile_type=st.lists(INT32, max_size=2),
    deduplicated_name=TEXTS,
    scheduling_name=TEXTS,
    stack_frame_id=INT32,
    metadata_payload=TEXTS,
)
SHARD_GROUPS = st.none() | st.builds(ShardGroup, INT64, st.sampled_from(ShardGroupKind))


@st.composite
def tiled_shardings(draw: st.DrawFn) -> HloSharding:
    grid = draw(tile_assignments())
    types = draw(st.lists(SUBGROUP_TYPES, max_size=min(3, grid.num_dimensions)))
    return HloSharding.subgroup(grid, types)


SIMPLE_SHARDINGS = st.sampled_from(
    [HloSharding.replicate(), HloSharding.manual(), HloSharding.unknown(), HloSharding.unreduced()]
)


@st.composite
def leaf_shardings(draw: st.DrawFn) -> HloSharding:
    """Shardings of one tensor, of every kind, with metadata and groups."""
    sharding = draw(tiled_shardings() | SIMPLE_SHARDINGS | st.builds(HloSharding.assign_device, INT64))
    sharding = sharding.with_metadata(draw(st.lists(METADATA, max_size=2)))
    return sharding.with_shard_group(draw(SHARD_GROUPS))


def shardings() -> st.SearchStrategy[HloSharding]:
    """Shardings of one tensor, and of tuples."""
    return leaf_shardings() | st.builds(HloSharding.flat_tuple, st.lists(leaf_shardings(), max_size=7))


REDUCTION_OPS = st.sampled_from(ReductionOp)
