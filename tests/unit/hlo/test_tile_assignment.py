from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from tests.unit.hlo.notation import build_grid

from sdybridge import hlo
from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding, IotaTileAssignment, OpShardingType, TileAssignment

HUGE = TileAssignment.iota([2**20, 2**20], [2**20, 2**20], [1, 0])


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("[2,2]<=[4]", "[2,2]0,1,2,3", True),
        ("[2,2]<=[2,2]T(0,1)", "[2,2]<=[4]", True),
        ("[2,2]<=[2,2]T(1,0)", "[2,2]0,2,1,3", True),
        ("[2,2]0,2,1,3", "[2,2]0,2,1,3", True),
        ("[2,2]<=[2,2]T(1,0)", "[2,2]<=[4]", False),
        ("[2,2]<=[4]", "[4,1]<=[4]", False),
        ("[2,2]<=[4]", "[4]0,1,2,3", False),
        ("[2,2]<=[4]", "[2,2]0,1,3,2", False),
        ("[2,4]<=[8]", "[2,4]0,1,2,3,4,5,7,6", False),
        ("[1]<=[1]", "[1]0", True),
        ("[1]<=[1]", "[1]1", False),
    ],
)
def test_equality_is_by_meaning(left: str, right: str, equal: bool) -> None:
    a, b = build_grid(left), build_grid(right)
    assert (a == b) is equal
    assert (b == a) is equal
    if equal:
        assert hash(a) == hash(b)


def test_not_equal_to_other_types() -> None:
    assert TileAssignment.iota([4]) != IotaTileAssignment([4])
    assert TileAssignment.iota([4]) != [0, 1, 2, 3]


def test_huge_grids_compare_and_hash_without_a_list() -> None:
    plain = TileAssignment.iota([2**20, 2**20])
    assert plain != HUGE
    assert hash(plain) != hash(HUGE)
    assert plain.transpose([1, 0]) == HUGE
    assert hash(plain.transpose([1, 0])) == hash(HUGE)


def test_huge_grids_are_not_listed() -> None:
    with pytest.raises(SdyBridgeError, match="no more than 268435456 are written out one by one"):
        _ = HUGE.array
    # 2**20 times 3 cut as 3 times 2**20 has no iota, so this transpose would need a list.
    with pytest.raises(SdyBridgeError, match="no more than"):
        TileAssignment.iota([2**30, 3], [3, 2**30], [1, 0]).reshape([3, 2**30]).transpose([1, 0])


def test_array_is_a_read_only_copy() -> None:
    devices = np.array([[0, 1], [2, 3]])
    grid = TileAssignment.from_array(devices)
    devices[0, 0] = 7
    assert grid.array.tolist() == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="read-only"):
        grid.array[0, 0] = 7
    with pytest.raises(ValueError, match="read-only"):
        TileAssignment.iota([4]).array[0] = 7


def test_explicit_lists_stay_lists() -> None:
    grid = TileAssignment.from_array([0, 1, 2, 3])
    assert not grid.is_iota
    assert grid.iota_form is None
    assert str(grid.reshape([2, 2]).transpose([1, 0])) == "devices=[2,2]0,2,1,3"


@pytest.mark.parametrize("text", ["[2,3]<=[2,3]T(1,0)", "[2,3]0,3,1,4,2,5"])
def test_transpose_without_an_iota_lists(text: str) -> None:
    assert str(build_grid(text).transpose([1, 0])) == "devices=[3,2]0,4,3,2,1,5"


@pytest.mark.parametrize(
    ("text", "device", "index"),
    [("[2,2]<=[2,2]T(1,0)", 1, (1, 0)), ("[2,2]0,2,1,3", 1, (1, 0)), ("[2,2]5,-1,5,9", 5, (0, 0))],
)
def test_index_for(text: str, device: int, index: tuple[int, ...]) -> None:
    grid = build_grid(text)
    assert grid.index_for(device) == index
    assert grid.value_at(index) == device


@pytest.mark.parametrize("text", ["[2,2]<=[4]", "[2,2]0,1,2,3"])
@pytest.mark.parametrize("device", [4, -1, 2**70, 0.0])
def test_unknown_device(text: str, device: int) -> None:
    with pytest.raises(VerificationError):
        build_grid(text).index_for(device)


@pytest.mark.parametrize(
    "devices",
    [
        pytest.param([[0, 1], [2]], id="ragged"),
        pytest.param([], id="empty"),
        pytest.param(3, id="rank 0"),
        pytest.param([0.0, 1.0], id="float"),
        pytest.param([True, False], id="bool"),
        pytest.param("01", id="text"),
        pytest.param([2**63], id="beyond int64"),
        pytest.param([2**70], id="far beyond int64"),
        pytest.param([None], id="object"),
        pytest.param(np.zeros((0, 2), dtype=np.int64), id="no devices"),
    ],
)
def test_rejected_arrays(devices: Any) -> None:
    with pytest.raises(VerificationError) as error:
        TileAssignment.from_array(devices)
    assert error.value.rule == "device-array"


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint64])
def test_any_integer_array(dtype: type) -> None:
    grid = TileAssignment.from_array(np.array([[3, 1], [2, 0]], dtype=dtype).T)
    assert grid.array.dtype == np.int64
    assert str(grid) == "devices=[2,2]3,2,1,0"


GRIDS = [
    TileAssignment.iota([4]),
    TileAssignment.iota([2, 3], [3, 2], [1, 0]),
    TileAssignment.from_array([[3, 1], [2, 0]]),
    TileAssignment.empty(),
    TileAssignment.iota([1]).reshape([]),
    TileAssignment.from_array([5]).reshape([]),
]


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
def test_copies_are_equal(grid: TileAssignment) -> None:
    for again in (copy.deepcopy(grid), pickle.loads(pickle.dumps(grid)), eval(repr(grid), dict(vars(hlo)))):
        assert again == grid
        assert hash(again) == hash(grid)
        assert repr(again) == repr(grid)
        assert not again.array.flags.writeable


def test_grids_of_rank_0_have_one_device() -> None:
    grid = TileAssignment.iota([1]).reshape([])
    assert (grid.num_elements, grid.num_dimensions, grid.value_at([])) == (1, 0, 0)


def test_built_by_classmethods_only() -> None:
    with pytest.raises(TypeError, match=r"TileAssignment\.iota or TileAssignment\.from_array"):
        TileAssignment()


def test_the_empty_grid_has_no_other_shape() -> None:
    assert TileAssignment.empty().array.shape == (0,)
    for dims in ([1], [0, 2]):
        with pytest.raises(VerificationError):
            TileAssignment.empty().reshape(dims)
    with pytest.raises(VerificationError):
        TileAssignment.empty().index_for(0)


def test_errors_stay_short() -> None:
    listed = HloSharding.tile(TileAssignment.from_array(np.arange(100_000).reshape(-1, 2)))
    with pytest.raises(VerificationError) as error:
        listed.validate([4], 2)
    assert len(str(error.value)) < 400
    with pytest.raises(VerificationError) as error:
        HloSharding.subgroup(listed.tile_assignment, [OpShardingType.MANUAL] * 3)
    assert len(str(error.value)) < 400
    with pytest.raises(VerificationError, match="got a huge value"):
        HloSharding.assign_device(10**5000)
