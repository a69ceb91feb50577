"""Random sets of shardings: our meshes and imports are the real XLA's; where XLA aborts, ours are right."""

from __future__ import annotations

import itertools
import math
import random
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.differential.oracle.imports import HloCase, Imported, import_modules
from tests.differential.oracle.isolation import Crash
from tests.unit.bridge.same_placement import assert_same_placement

from sdybridge.bridge import convert_to_hlo_sharding, infer_mesh
from sdybridge.hlo import HloSharding, OpShardingType, TileAssignment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.bridge.inferred_meshes import InferredMeshes
    from sdybridge.sdy import TensorShardingAttr

    Case = tuple[HloSharding, HloCase]

MODULES_PER_SEED = 40
CASES_PER_MODULE = 12
ABORTS = 120

MANUAL, REPLICATED, UNREDUCED = OpShardingType.MANUAL, OpShardingType.REPLICATED, OpShardingType.UNREDUCED
TYPES = ((), (), (REPLICATED,), (REPLICATED,), (MANUAL,), (MANUAL, REPLICATED), (UNREDUCED,))
SIMPLE = (HloSharding.replicate(), HloSharding.manual(), HloSharding.unknown())


@pytest.mark.parametrize("seed", [1, 2])
def test_fixed_seeds(seed: int) -> None:
    compare(seed)


def test_fresh_seed(fresh_seed: int) -> None:
    compare(fresh_seed)


def compare(seed: int) -> None:
    rng = random.Random(seed)
    modules = [random_module(rng) for _ in range(MODULES_PER_SEED)]
    theirs = import_modules([[case for _, case in module] for module in modules])
    compared = 0
    for module, answer in zip(modules, theirs, strict=True):
        context = f"seed {seed}: {[case.text for _, case in module]}\n{answer}"
        assert isinstance(answer, Imported), context
        inferred = infer_mesh([sharding for sharding, _ in module])
        assert {name: mesh.stripped for name, mesh in inferred.meshes.items()} == answer.meshes, context
        assert list(inferred.meshes) == list(answer.meshes), context
        for (sharding, case), text in zip(module, answer.shardings, strict=True):
            imported = inferred.convert(sharding, rank=case.rank, open_dims=case.is_open)
            if text is None:  # XLA's front end removes what says nothing
                assert not sharding.is_tiled, context
                continue
            assert_exported_alike(sharding, imported, inferred)
            ours = re.sub(r", unreduced=\{.*\}", "", imported.stripped)  # which this XLA drops
            assert ours == text, context
            compared += 1
    assert compared >= 300


def random_module(rng: random.Random) -> list[Case]:
    """Shardings that share a refinement: the axes of each are axes of one list, or several that merge."""
    axes = random_axes(rng)
    return [random_case(rng, axes) for _ in range(CASES_PER_MODULE)]


def random_axes(rng: random.Random) -> list[int]:
    axes: list[int] = []
    for _ in range(rng.randrange(1, 7)):
        axes.append(
            rng.choice([size for size in (2, 2, 2, 3, 4, 5, 6) if size * math.prod(axes) <= 256] or [1])
        )
    return axes


def random_case(rng: random.Random, axes: Sequence[int]) -> Case:
    is_open = rng.random() < 0.3
    kind = rng.random()
    if kind < 0.1:
        return as_case(rng.choice(SIMPLE), rng.randrange(4), is_open)
    if kind < 0.15:
        return as_case(HloSharding.assign_device(rng.randrange(math.prod(axes))), 2, is_open)
    sharding = random_grid(rng, axes)
    rank = sharding.data_rank if sharding.is_tiled else 2
    if sharding.is_unreduced:  # XLA aborts
        return random_case(rng, axes)
    return as_case(sharding, rank, is_open)


def as_case(sharding: HloSharding, rank: int, is_open: bool = False) -> Case:
    return sharding, HloCase(str(sharding), rank, is_open)


def random_grid(rng: random.Random, axes: Sequence[int]) -> HloSharding:
    """Neighbouring axes merged at random, permuted, and cut into tile dims."""
    borders = sorted(rng.sample(range(1, len(axes)), rng.randrange(len(axes)))) if len(axes) > 1 else []
    cuts = itertools.pairwise([0, *borders, len(axes)])
    sizes = [math.prod(axes[start:end]) for start, end in cuts]
    perm = rng.sample(range(len(sizes)), len(sizes))
    types = rng.choice(TYPES)
    rank = rng.randrange(1, 4)
    ends = sorted(rng.choices(range(len(sizes) + 1), k=rank + len(types) - 1))
    groups = itertools.pairwise([0, *ends, len(sizes)])
    dims = [math.prod(sizes[k] for k in perm[start:end]) for start, end in groups]
    return HloSharding.iota_tile(dims, sizes, perm, types)


def test_where_xla_aborts() -> None:
    rng = random.Random(0)
    modules = [fatal_module(rng, k) for k in range(ABORTS)]
    theirs = import_modules([[as_case(s, rank_of(s))[1] for s in module] for module in modules])
    aborted = 0
    for module, answer in zip(modules, theirs, strict=True):
        aborted += isinstance(answer, Crash)
        inferred = infer_mesh(module, num_devices=module[-1].num_devices)
        for sharding in module:
            imported = inferred.convert(sharding, rank=rank_of(sharding))
            assert_exported_alike(sharding, imported, inferred)
    assert aborted >= 100


def assert_exported_alike(
    sharding: HloSharding, imported: TensorShardingAttr, inferred: InferredMeshes
) -> None:
    """The import, and the export of it, must put every device on the tile and in the groups it was in."""
    mesh, manual = inferred.mesh(sharding), inferred.manual_axes(sharding)
    again = convert_to_hlo_sharding(imported, mesh, manual_axes=manual)
    if sharding.is_single_device:
        assert again == sharding
    else:
        assert_same_placement(sharding, imported, mesh, manual)
        assert_same_placement(again, imported, mesh, manual)


def rank_of(sharding: HloSharding) -> int:
    return sharding.data_rank if sharding.is_tiled else 2


def fatal_module(rng: random.Random, k: int) -> list[HloSharding]:
    """Shardings that XLA's import aborts on, of one kind after the other."""
    axes = [2, *random_axes(rng)]
    count = math.prod(axes)
    plain = HloSharding.iota_tile([count])
    kind = k % 5
    if kind == 0:  # devices in any order
        return [listed(np.array(rng.sample(range(count), count)), rng, axes), plain]
    if kind == 1:  # an iota as a list
        order = np.arange(4 * count).reshape(2, 2, count).transpose(1, 0, 2).ravel()
        return [listed(order, rng, [2, 2, *axes])]
    if kind == 2:  # tile dims that do not line up
        a, b = rng.sample((2, 3, 5, 7), 2)
        return [HloSharding.iota_tile([a, b, 2], [a, b, 2], [1, 0, 2])]
    if kind == 3:  # no common refinement
        a, b = rng.sample((2, 3, 5, 7), 2)
        return [HloSharding.iota_tile([a, b]), HloSharding.iota_tile([b, a])]
    return [HloSharding.unreduced(), plain]


def listed(
    order: np.ndarray[tuple[int], np.dtype[np.int64]], rng: random.Random, axes: list[int]
) -> HloSharding:
    dims = [math.prod(axes[:1]), math.prod(axes[1:])]
    grid = TileAssignment.from_array(order.reshape(dims))
    return HloSharding.partial_tile(grid) if rng.random() < 0.3 and dims[1] > 1 else HloSharding.tile(grid)
