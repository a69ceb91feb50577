from __future__ import annotations

import pytest
from tests.unit.hlo.notation import build_grid

from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.hlo import IotaTileAssignment
from sdybridge.hlo.primes import prime_factors

UNEQUAL = "reshape_dims and transpose_perm need one entry per dimension of the count each"
HUGE = IotaTileAssignment([2**20, 2**20], [2**10, 2**20, 2**10], [2, 0, 1])


def iota(text: str) -> IotaTileAssignment:
    grid = build_grid(text).iota_form
    assert grid is not None
    return grid


@pytest.mark.parametrize(
    ("sizes", "perm", "canonical"),
    [
        ((3, 4, 5), (0, 1, 2), "[60]<=[60]"),
        ((3, 4, 5), (1, 2, 0), "[60]<=[3,20]T(1,0)"),
        ((3, 4, 5), (2, 1, 0), "[60]<=[3,4,5]T(2,1,0)"),
        ((2, 2, 3, 5), (2, 3, 0, 1), "[60]<=[4,15]T(1,0)"),
        ((1, 3, 1, 4, 1, 5), (4, 3, 2, 5, 1, 0), "[60]<=[3,20]T(1,0)"),
        ((60, 1), (1, 0), "[60]<=[60]"),
        ((60,), (0,), "[60]<=[60]"),
    ],
)
def test_canonical_order(sizes: tuple[int, ...], perm: tuple[int, ...], canonical: str) -> None:
    assert str(IotaTileAssignment([60], sizes, perm)) == f"devices={canonical}"


def test_only_size_1_dims_leave_one() -> None:
    grid = IotaTileAssignment([1, 1], [1, 1, 1], [2, 1, 0])
    assert (grid.reshape_dims, grid.transpose_perm) == ((1,), (0,))


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("[2,2]<=[2,2]T(1,0)", [0, 2, 1, 3]),
        ("[2,3]<=[3,2]T(1,0)", [0, 2, 4, 1, 3, 5]),
        ("[6]<=[2,3]T(1,0)", [0, 3, 1, 4, 2, 5]),
        ("[4,4,1]<=[4,2,2]T(1,0,2)", [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]),
        ("[12]<=[2,3,2]T(2,0,1)", [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]),
        ("[4,2,2]<=[2,8]T(1,0)", [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]),
        ("[1]<=[1]", [0]),
    ],
)
def test_device_order(text: str, devices: list[int]) -> None:
    assert iota(text).to_array().ravel().tolist() == devices


def test_huge_grids_answer_without_a_list() -> None:
    assert HUGE.num_elements == 2**40
    device = HUGE.value_at([3, 5])
    assert device == (3 * 2**20 + 5) * 2**10  # the minor 10 bits of the device vary slowest
    assert HUGE.index_for(device) == (3, 5)


def test_largest_grid() -> None:
    grid = IotaTileAssignment([2**63 - 1])
    assert grid.value_at([2**63 - 2]) == 2**63 - 2


@pytest.mark.parametrize(
    ("text", "perm", "expected"),
    [
        pytest.param("[2,1,4]<=[8]", [1, 0, 2], "[1,2,4]<=[8]", id="moves only a dim of size 1"),
        pytest.param("[2,4]<=[4,2]T(1,0)", [0, 1], "[2,4]<=[4,2]T(1,0)", id="moves nothing"),
        pytest.param("[2,4]<=[8]", [1, 0], "[4,2]<=[2,4]T(1,0)", id="plain iota"),
        pytest.param("[2,4]<=[4,2]T(1,0)", [1, 0], "[4,2]<=[8]", id="one reshape dim per dim"),
        pytest.param("[6,35]<=[7,10,3]T(2,1,0)", [1, 0], "[35,6]<=[7,2,5,3]T(2,0,3,1)", id="cut at primes"),
        pytest.param("[4,5,24]<=[15,4,8]T(1,0,2)", [0, 2, 1], "[4,24,5]<=[5,3,4,8]T(2,1,3,0)", id="swapped"),
    ],
)
def test_transpose(text: str, perm: list[int], expected: str) -> None:
    grid = iota(text)
    transposed = grid.transpose(perm)
    assert transposed is not None
    assert (transposed.to_array() == grid.to_array().transpose(perm)).all()
    assert str(transposed) == f"devices={expected}"


@pytest.mark.parametrize("text", ["[2,3]<=[2,3]T(1,0)", "[6,2]<=[3,4]T(1,0)"])
def test_transpose_that_no_cut_expresses(text: str) -> None:
    assert iota(text).transpose([1, 0]) is None


def test_transpose_of_large_primes_is_quick() -> None:
    p, q = 2**31 - 1, 2**31 - 19  # the worst case of the factorisation
    grid = IotaTileAssignment([2, p * q], [p * q, 2], [1, 0]).reshape([2 * p, q])
    transposed = grid.transpose([1, 0])
    assert transposed is not None
    assert transposed.value_at([7, 5]) == grid.value_at([5, 7])


@pytest.mark.parametrize(
    ("n", "factors"),
    [
        (1, ()),
        (97, (97,)),
        (2**62, (2,) * 62),
        (65537**3, (65537,) * 3),
        ((2**31 - 1) ** 2, (2**31 - 1,) * 2),
        ((2**31 - 1) * (2**31 - 19), (2**31 - 19, 2**31 - 1)),
        (2**61 - 1, (2**61 - 1,)),
        (2**63 - 1, (7, 7, 73, 127, 337, 92737, 649657)),
    ],
)
def test_prime_factors(n: int, factors: tuple[int, ...]) -> None:
    assert prime_factors(n) == factors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "dims is empty, but a grid has at least one dimension"),
        (([2, 0],), "dims[1] is 0, but a size counts devices and is at least 1"),
        (([-2, -2], [4], [0]), "dims[0] is -2, but a size counts devices and is at least 1"),
        (([2, 2], [-2, -2], [1, 0]), "reshape_dims[0] is -2, but a size counts devices and is at least 1"),
        (([2**32, 2**32],), "dims multiply to more than 2**63 - 1 devices"),
        (
            ([2**63],),
            "dims[0] must lie in -9223372036854775808..9223372036854775807, got 9223372036854775808",
        ),
        (([2] * 10**6,), "dims multiply to more than 2**63 - 1 devices"),
        (([2.0],), "dims[0] must be an integer, got 2.0 (float)"),
        (([True],), "dims[0] must be an integer, got True (bool)"),
        (("22",), "dims must be a sequence of integers, got '22' (str)"),
        ((4,), "dims must be a sequence of integers, got 4 (int)"),
        (
            ([4], [4], []),
            f"{UNEQUAL}, got [4] and []",
        ),
        (
            ([4], [], [0]),
            f"{UNEQUAL}, got [] and [0]",
        ),
        (
            ([4], [2, 2]),
            f"{UNEQUAL}, got [2,2] and []",
        ),
        (([2, 2], [2, 2], [0, 0]), "transpose_perm must hold each of 0..1 once, got [0,0]"),
        (([2, 2], [2, 2], [1, 2]), "transpose_perm must hold each of 0..1 once, got [1,2]"),
        (([2, 2], [2, 2], [0, -1]), "transpose_perm must hold each of 0..1 once, got [0,-1]"),
        (([4], [4], [3]), "transpose_perm must hold each of 0..0 once, got [3]"),
        (([2, 2], [8], [0]), "a grid of [2,2] has 4 devices, but reshape_dims [8] count 8"),
        (([2, 2], [3], [0]), "a grid of [2,2] has 4 devices, but reshape_dims [3] count 3"),
    ],
)
def test_rejected(arguments: tuple[list[int]], message: str) -> None:
    with pytest.raises(VerificationError) as error:
        IotaTileAssignment(*arguments)
    assert error.value.message == message


@pytest.mark.parametrize("device", [-1, 8, 2**70, 1.0, True, "1"])
def test_unknown_device(device: int) -> None:
    with pytest.raises(VerificationError):
        IotaTileAssignment([2, 4]).index_for(device)


@pytest.mark.parametrize("index", [[0], [0, 4], [-1, 0], [0, 0, 0], [0, 1.0], 3])
def test_index_outside(index: list[int]) -> None:
    with pytest.raises(VerificationError):
        IotaTileAssignment([2, 4]).value_at(index)


@pytest.mark.parametrize("perm", [[0], [0, 0], [0, 2], [1, 0, 2], "10", None])
def test_transpose_rejects_other_than_permutations(perm: list[int]) -> None:
    with pytest.raises(VerificationError):
        IotaTileAssignment([2, 4]).transpose(perm)


def test_reshape_keeps_the_number_of_devices() -> None:
    assert str(IotaTileAssignment([2, 4]).reshape([4, 2])) == "devices=[4,2]<=[8]"
    with pytest.raises(VerificationError, match=r"a grid of \[2,4\] has 8 devices, one of \[3,2\] has 6"):
        IotaTileAssignment([2, 4]).reshape([3, 2])


def test_too_many_devices_to_list() -> None:
    with pytest.raises(SdyBridgeError, match="no more than 268435456 are written out"):
        HUGE.to_array()


def test_immutable() -> None:
    grid = IotaTileAssignment([4])
    with pytest.raises(AttributeError):
        grid.dims = (2, 2)  # type: ignore[misc]
    with pytest.raises(AttributeError):
        grid.name = "x"  # type: ignore[attr-defined]
