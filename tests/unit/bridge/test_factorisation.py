"""Factors of device grids."""

from __future__ import annotations

import itertools
import math

import pytest
from tests.unit.hlo.notation import build, build_grid

from sdybridge.bridge import (
    SubDimInfo,
    analyze_tile_assignment,
    get_axis_sizes,
    shortest_common_factorization,
)
from sdybridge.errors import ConversionError, VerificationError
from sdybridge.hlo import HloSharding, TileAssignment


@pytest.mark.parametrize(
    ("left", "right", "factors"),
    [
        ([8], [4, 2], (4, 2)),
        ([6, 35], [3, 10, 7], (3, 2, 5, 7)),
        ([8, 4], [4, 8], (4, 2, 4)),
        ([2] * 5, [4, 4, 2], (2,) * 5),
        ([6, 1, 4], [2, 6, 2], (2, 3, 2, 2)),
        ([1, 8, 1, 1], [1, 2, 4], (2, 4)),
        ([], [], ()),
        ([1], [1, 1], ()),
        ([2**40], [2**20, 2**20], (2**20, 2**20)),
        ([8, 3], [12, 2], None),
        ([2, 3], [3, 2], None),
        ([8], [4], None),
        ([4], [8], None),
        ([], [2], None),
        ([2, 2], [2], None),
    ],
)
def test_shortest_common_factorization(
    left: list[int], right: list[int], factors: tuple[int, ...] | None
) -> None:
    assert shortest_common_factorization(left, right) == factors
    assert shortest_common_factorization(right, left) == factors


def test_factorization_is_the_chain_of_running_products() -> None:
    """Merged back it gives both lists, and no shorter list does: its borders are theirs."""
    lists = [sizes for n in (12, 16, 24) for sizes in ordered_factorizations(n)]
    found = 0
    for left, right in itertools.product(lists, lists):
        borders = sorted({*running(left), *running(right)})
        is_chain = math.prod(left) == math.prod(right) and all(
            b % a == 0 for a, b in itertools.pairwise(borders)
        )
        factors = shortest_common_factorization(left, right)
        assert (factors is not None) is is_chain
        if factors is not None:
            assert running(factors) == borders
            found += 1
    assert found > len(lists)


def running(sizes: tuple[int, ...]) -> list[int]:
    return list(itertools.accumulate(sizes, lambda a, b: a * b))


def ordered_factorizations(n: int) -> list[tuple[int, ...]]:
    if n == 1:
        return [()]
    return [(d, *rest) for d in range(2, n + 1) if n % d == 0 for rest in ordered_factorizations(n // d)]


@pytest.mark.parametrize("sizes", [[0], [2, -1], [2.0], ["2"], [2**40, 2**40], 5, None])
def test_sizes_are_checked(sizes: list[int]) -> None:
    with pytest.raises(VerificationError):
        shortest_common_factorization(sizes, [2])


@pytest.mark.parametrize(
    ("text", "sizes"),
    [  # as jaxlib 0.10.2 has it
        ("{devices=[2,4]<=[8]}", (2, 4)),
        ("{devices=[8,1]<=[8]}", (8,)),
        ("{devices=[4,2]<=[2,4]T(1,0)}", (2, 4)),
        ("{devices=[6,35]<=[7,10,3]T(2,1,0)}", (7, 2, 5, 3)),
        ("{devices=[4,8]<=[8,4]T(1,0)}", (8, 4)),
        ("{devices=[8,4]<=[8,4]T(1,0)}", (2, 4, 4)),
        ("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", (2, 4)),
        ("{devices=[2,2,2]<=[8] last_tile_dims={manual}}", (2, 2, 2)),
        ("{devices=[2,2]0,1,2,3}", (2, 2)),
        ("{devices=[16]<=[2,2,2,2]T(0,2,1,3)}", (2, 2, 2, 2)),
        ("{devices=[4,4]<=[16]}", (4, 4)),
        ("{devices=[2,2,4]<=[4,4]T(1,0)}", (4, 2, 2)),
        ("{devices=[3,4]<=[12]}", (3, 4)),
        ("{devices=[4,3]<=[3,4]T(1,0)}", (3, 4)),
        ("{devices=[12]<=[3,4]T(1,0)}", (3, 4)),
        ("{devices=[2,6]<=[3,4]T(1,0)}", (3, 2, 2)),
    ],
)
def test_get_axis_sizes(text: str, sizes: tuple[int, ...]) -> None:
    assert get_axis_sizes(build(text)) == sizes


@pytest.mark.parametrize(
    ("text", "sizes"),
    [  # where jaxlib aborts
        ("{devices=[2,2]0,2,1,3}", (2, 2)),
        ("{devices=[4]0,2,1,3}", (2, 2)),
        ("{devices=[2,3]0,2,4,1,3,5}", (3, 2)),
        ("{devices=[8]0,4,1,5,2,6,3,7}", (2, 4)),
        ("{devices=[1,1]<=[1]}", ()),
        ("{devices=[1]0}", ()),
    ],
)
def test_get_axis_sizes_beyond_jaxlib(text: str, sizes: tuple[int, ...]) -> None:
    assert get_axis_sizes(build(text)) == sizes


@pytest.mark.parametrize(
    ("text", "part_of_message"),
    [
        ("{devices=[2,2]3,2,1,0}", "order that no mesh in device order has"),
        ("{devices=[3,2]0,2,4,1,3,5}", "do not line up with the device order's sizes [2, 3]"),
        ("{devices=[2,3]<=[2,3]T(1,0)}", "do not line up with the device order's sizes [3, 2]"),
        ("{devices=[6,2]<=[3,4]T(1,0)}", "tile dims [6, 2] do not line up"),
        ("{devices=[4]4,5,6,7}", "order that no mesh in device order has"),
        ("{replicated}", "{replicated} has no tiles"),
        ("{manual}", "{manual} has no tiles"),
        ("{maximal device=0}", "{maximal device=0} has no tiles"),
        ("{{replicated}}", "{{replicated}} has no tiles"),
    ],
)
def test_get_axis_sizes_explains(text: str, part_of_message: str) -> None:
    with pytest.raises(ConversionError) as caught:
        get_axis_sizes(build(text))
    assert part_of_message in str(caught.value)


def test_get_axis_sizes_wants_a_sharding() -> None:
    with pytest.raises(VerificationError):
        get_axis_sizes("{replicated}")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("grid", "factors"),
    [
        ("[6,35]<=[7,10,3]T(2,1,0)", [(1, 0, 0, 7), (0, 0, 1, 2), (1, 1, 1, 5), (0, 1, 2, 3)]),
        ("[8,1,4]<=[2,2,8]T(1,0,2)", [(0, 1, 0, 2), (0, 2, 1, 2), (0, 0, 2, 2), (2, 0, 2, 4)]),
        ("[2,2]0,2,1,3", [(1, 0, 0, 2), (0, 0, 1, 2)]),
        ("[1,1]<=[1]", []),
    ],
)
def test_analyze_tile_assignment(grid: str, factors: list[tuple[int, ...]]) -> None:
    assert analyze_tile_assignment(build_grid(grid)) == tuple(SubDimInfo(*factor) for factor in factors)


def test_size_does_not_matter() -> None:
    grid = TileAssignment.iota([2**20, 2**20], [2**10, 2**30], [1, 0])
    assert get_axis_sizes(HloSharding.tile(grid)) == (2**10, 2**20, 2**10)
