"""`diff` of random pairs, against a comparison device by device that starts from the axes and the arrays."""

from __future__ import annotations

import collections
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.differential.random_cases import mesh_text, random_axes, random_body
from tests.unit.bridge.placement import tiles_by_position
from tests.unit.bridge.same_placement import groups, labels_of_hlo, labels_of_sdy

from sdybridge.bridge import convert_to_hlo_sharding, infer_mesh, to_v3_sharding
from sdybridge.checks import Placed, Verdict, compare_shardings
from sdybridge.errors import SdyBridgeError
from sdybridge.hlo import HloSharding, OpShardingType, TileAssignment
from sdybridge.sdy import MeshAttr, TensorShardingAttr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PAIRS = 1000


def random_pair(rng: random.Random) -> tuple[Placed, Placed]:
    """Two shardings of one tensor on the same devices, often equal in meaning, in any two notations."""
    while True:
        axes = random_axes(rng)
        if math.prod(axis.size for axis in axes) <= 256:
            break
    mesh = MeshAttr.from_string(mesh_text(axes))
    if rng.random() < 0.3:
        ids = rng.sample(range(mesh.total_size), mesh.total_size)
        mesh = MeshAttr.from_string(mesh_text(axes, ids))
    rank = rng.randrange(1, 4)
    manual = tuple(axis.name for axis in axes if rng.random() < 0.1)

    def sharding() -> Placed:
        while True:
            found = TensorShardingAttr.from_string(f"<@mesh, {random_body(rng, axes, rank)}>")
            if not any(found.is_bound(name) for name in manual):
                return Placed(found, mesh, manual)

    one = sharding()
    other = one if rng.random() < 0.6 else sharding()
    return rewritten(rng, one), rewritten(rng, other)


def rewritten(rng: random.Random, one: Placed) -> Placed:
    """The same sharding in another form, or nearly the same."""
    assert isinstance(one.sharding, TensorShardingAttr)
    assert one.mesh is not None
    how = rng.randrange(7)
    if how == 0:
        return one
    if how == 1:
        return Placed(one.sharding.open_like, one.mesh, one.manual_axes)
    grid = convert_to_hlo_sharding(one.sharding, one.mesh, manual_axes=one.manual_axes)
    if how == 2 or grid.type is not OpShardingType.OTHER:
        return Placed(grid)
    if how == 3 and not one.manual_axes:
        try:
            inferred = infer_mesh([grid])
            if inferred.mesh(grid).axes:
                return Placed(inferred.convert(grid), inferred.mesh(grid))
        except SdyBridgeError:
            pass
        return Placed(grid)
    if how == 6:
        return Placed(to_v3_sharding(grid))
    ids = grid.tile_assignment.array.copy()
    if how == 4:  # two devices change places
        flat = ids.reshape(-1)
        i, j = rng.randrange(flat.size), rng.randrange(flat.size)
        flat[i], flat[j] = flat[j], flat[i]
    types = grid.subgroup_types or (OpShardingType.REPLICATED,) * grid.replicate_on_last_tile_dim
    return Placed(HloSharding.subgroup(TileAssignment.from_array(ids), types))


def dimensions(one: Placed, devices: int, rank: int) -> list[tuple[int, NDArray[np.int64]]]:
    """For each dimension the number of parts, and which one each device holds."""
    if isinstance(one.sharding, TensorShardingAttr):
        assert one.mesh is not None
        order = list(one.mesh.device_ids) or list(range(devices))
        found = []
        for dim in one.sharding.dim_shardings:
            part = np.empty(devices, dtype=np.int64)
            part[order] = tiles_by_position(dim.axes, one.mesh)
            found.append((dim.get_sharded_size(one.mesh), part))
        return found
    grid = one.sharding.v3_to_v2_sharding()
    if grid.type is not OpShardingType.OTHER or grid.num_devices == 1:
        return [(1, np.zeros(devices, dtype=np.int64))] * rank
    array = grid.tile_assignment.array
    found = []
    for size, coordinates in zip(array.shape, np.indices(array.shape)[:rank], strict=False):
        part = np.empty(devices, dtype=np.int64)
        part[array.reshape(-1)] = coordinates.reshape(-1)
        found.append((size, part))
    return found


def kinds(one: Placed, devices: int) -> list[set[frozenset[int]]]:
    """The sets of devices that are manual, and unreduced, together."""
    if isinstance(one.sharding, TensorShardingAttr):
        assert one.mesh is not None
        labels = labels_of_sdy(one.sharding, one.mesh, one.manual_axes)
    else:
        labels = labels_of_hlo(one.sharding.v3_to_v2_sharding(), devices)
    return [groups(labels, [kind]) for kind in ("manual", "unreduced")]


def moved(a: Placed, b: Placed, devices: int, rank: int) -> list[int]:
    """The devices that hold another part, by exact fractions of the tensor."""
    changed = set()
    both = zip(dimensions(a, devices, rank), dimensions(b, devices, rank), strict=True)
    for (n, before), (m, after) in both:
        for device, (i, j) in enumerate(zip(before.tolist(), after.tolist(), strict=True)):
            if (Fraction(i, n), Fraction(i + 1, n)) != (Fraction(j, m), Fraction(j + 1, m)):
                changed.add(device)
    return sorted(changed)


def check_pairs(seed: int, count: int) -> collections.Counter[Verdict]:
    rng = random.Random(seed)
    verdicts: collections.Counter[Verdict] = collections.Counter()
    for number in range(count):
        a, b = random_pair(rng)
        context = f"seed {seed}, pair {number}: {a} on {a.mesh} and {b} on {b.mesh}"
        found = compare_shardings(a, b)
        devices = max(one.mesh.total_size if one.mesh else one.grid().num_devices for one in (a, b))
        rank = max(_rank(one) for one in (a, b))
        wanted = moved(a, b, devices, rank)
        same = not wanted and kinds(a, devices) == kinds(b, devices)
        counts = [[n for n, _ in dimensions(one, devices, rank)] for one in (a, b)]
        same = same and counts[0] == counts[1]
        assert found.is_equal == same, context
        assert list(found.changed) == wanted, context
        assert set(found.receiving) <= set(found.changed), context
        back = compare_shardings(b, a)
        assert (back.verdict, back.changed) == (found.verdict, found.changed), context
        verdicts[found.verdict] += 1
    return verdicts


def _rank(one: Placed) -> int:
    if isinstance(one.sharding, TensorShardingAttr):
        return one.sharding.rank
    grid = one.grid()
    return grid.data_rank if grid.type is OpShardingType.OTHER else 0


def test_fixed_pairs() -> None:
    verdicts = check_pairs(7, PAIRS)
    assert all(verdicts[verdict] > PAIRS / 20 for verdict in Verdict)


def test_fresh_pairs(fresh_seed: int) -> None:
    check_pairs(fresh_seed, PAIRS)


@pytest.mark.parametrize(
    "text", ["{replicated}", "{maximal device=3}", "{manual}", "{unknown}", "{unreduced}"]
)
def test_kinds_without_a_grid(text: str) -> None:
    """They equal themselves and no other, whatever the number of devices."""
    others: Sequence[str] = ["{replicated}", "{maximal device=1}", "{manual}", "{unknown}", "{unreduced}",
                             "{devices=[2,4]<=[8]}"]  # fmt: skip
    one = Placed(HloSharding.from_string(text))
    assert compare_shardings(one, one).verdict is Verdict.SAME_FORM
    for other in others:
        same = compare_shardings(one, Placed(HloSharding.from_string(other))).is_equal
        assert same is (other == text)
