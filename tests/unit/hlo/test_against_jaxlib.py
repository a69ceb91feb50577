"""Random grids, normal forms, transposes and bytes against XLA itself, through jaxlib.

A failed check inside XLA ends the process, so only inputs that it accepts are made here.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from tests.golden.hlo.test_golden import replicate_dims

from sdybridge.hlo import HloSharding, OpShardingType, TileAssignment

xla = pytest.importorskip("jax._src.lib").xla_client

DEVICES = [1, 2, 4, 6, 8, 12, 16, 24, 36, 48, 60, 72, 120, 210]
PREDICATES = ["is_replicated", "is_maximal", "is_manual", "is_unknown", "is_unreduced", "is_tiled"]
NUMBERS = ["num_devices", "num_dimensions", "replicate_on_last_tile_dim"]


def factorize(rng: random.Random, n: int) -> list[int]:
    """A random list of sizes whose product is `n`."""
    sizes = [1] * rng.randint(1, 5)
    prime = 2
    while n > 1:
        while n % prime == 0:
            sizes[rng.randrange(len(sizes))] *= prime
            n //= prime
        prime += 1
    return sizes


def random_pair(rng: random.Random) -> tuple[Any, HloSharding]:
    """One sharding as XLA builds it and as we do."""
    n = rng.choice(DEVICES)
    dims, sizes = factorize(rng, n), factorize(rng, n)
    perm = rng.sample(range(len(sizes)), len(sizes))
    types = rng.choices(
        list(OpShardingType), weights=[4, 1, 1, 1, 4, 1, 3], k=rng.randint(0, min(3, len(dims)))
    )
    theirs = [getattr(xla.OpSharding.Type, type_.name) for type_ in types]
    if rng.random() < 0.7:
        return xla.HloSharding.iota_tile(dims, sizes, perm, theirs), HloSharding.iota_tile(
            dims, sizes, perm, types
        )
    order = (
        np.arange(n).reshape(sizes).transpose(perm)
        if rng.random() < 0.5
        else np.array(rng.sample(range(n), n))
    )
    devices = np.ascontiguousarray(order.reshape(dims), dtype=np.int64)
    return (
        xla.HloSharding.subgroup_with_device_ordering(devices, theirs),
        HloSharding.subgroup(TileAssignment.from_array(devices), types),
    )


@pytest.mark.parametrize("seed", range(8))
def test_normal_forms(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        theirs, ours = random_pair(rng)
        assert str(ours) == str(theirs)
        assert ours.to_proto_bytes() == theirs.to_proto().SerializeToString()
        assert ours.tile_assignment.array.ravel().tolist() == list(theirs.tile_assignment_devices())
        assert [getattr(ours, name) for name in PREDICATES] == [
            getattr(theirs, name)() for name in PREDICATES
        ]
        assert [getattr(ours, name) for name in NUMBERS] == [getattr(theirs, name)() for name in NUMBERS]


def test_dimensions_that_become_replicated() -> None:
    # Transposes by way of subgroups: those of other types keep their dimension, so the move shows.
    rng = random.Random(0)
    for _ in range(200):
        n = rng.choice(DEVICES[3:])
        dims, sizes = factorize(rng, n), factorize(rng, n)
        perm = rng.sample(range(len(sizes)), len(sizes))
        sharding = HloSharding.iota_tile(dims, sizes, perm)
        moved = rng.sample(range(len(dims)), rng.randint(1, len(dims)))
        ours = replicate_dims(sharding, moved)
        if ours.is_replicated:
            continue
        parsed = xla.HloSharding.from_string(str(ours))
        assert str(parsed) == str(ours)
        grouped = ours.tile_assignment.array.reshape(*ours.tile_assignment.dims[: len(dims)], -1)
        given = sharding.tile_assignment.array
        moved_last = given.transpose([i for i in range(len(dims)) if i not in moved] + moved)
        kept = [1 if i in moved else size for i, size in enumerate(dims)]
        expected = moved_last.reshape(*kept, math.prod(dims[i] for i in moved))
        assert (np.sort(grouped, axis=-1) == np.sort(expected, axis=-1)).all()


def test_tuples() -> None:
    rng = random.Random(1)
    pairs = [random_pair(rng) for _ in range(12)]
    shapes = [xla.Shape.array_shape(np.dtype(np.float32), (8,)) for _ in pairs]
    theirs = xla.HloSharding.tuple_sharding(xla.Shape.tuple_shape(shapes), [their for their, _ in pairs])
    ours = HloSharding.flat_tuple([our for _, our in pairs])
    assert str(ours) == str(theirs)
    assert ours.to_proto_bytes() == theirs.to_proto().SerializeToString()
    assert [getattr(ours, name) for name in PREDICATES] == [getattr(theirs, name)() for name in PREDICATES]
