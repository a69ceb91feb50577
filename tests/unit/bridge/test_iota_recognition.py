"""Device lists that are iotas in disguise: all of them are found, and nothing else."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

from sdybridge.errors import VerificationError
from sdybridge.hlo import IotaTileAssignment, TileAssignment
from sdybridge.hlo.iota_recognition import first_departure, recognize_iota
from sdybridge.hlo.primes import prime_factors


def iota_orders(n: int) -> set[tuple[int, ...]]:
    """Every order of n devices that a reshape and a transpose of the count give."""
    orders = set()
    for sizes in set(itertools.permutations(prime_factors(n))):
        for perm in itertools.permutations(range(len(sizes))):
            orders.add(tuple(np.arange(n).reshape(sizes).transpose(perm).ravel().tolist()))
    return orders


@pytest.mark.parametrize(
    ("dims", "orders"),
    [
        ((4,), 2),
        ((2, 2), 2),
        ((2, 4), 6),
        ((4, 2), 6),
        ((8,), 6),
        ((2, 2, 2), 6),
        ((4, 4), 24),
        ((2, 2, 4), 24),
        ((2, 1, 3), 3),
        ((6, 6), 110),
        ((4, 1, 8), 120),
        ((1,), 1),
        ((7, 1), 1),
    ],
)
def test_every_iota_is_recognised(dims: tuple[int, ...], orders: int) -> None:
    all_orders = iota_orders(math.prod(dims))
    assert len(all_orders) == orders
    for order in all_orders:
        iota = recognize_iota(np.array(order).reshape(dims))
        assert iota is not None
        assert iota.dims == dims
        assert tuple(iota.to_array().ravel().tolist()) == order


@pytest.mark.parametrize("n", range(1, 9))
def test_nothing_else_is_recognised(n: int) -> None:
    orders = iota_orders(n)
    for order in itertools.permutations(range(n)):
        assert (recognize_iota(order) is not None) is (order in orders)


@pytest.mark.parametrize(
    "devices",
    [
        [4, 5, 6, 7],
        [7, 6, 5, 4, 3, 2, 1, 0],
        [0, 1, 3, 2],
        [0, 1, 2, 4, 3, 5],
        [0, 2, 4, 6],
        [0, 0],
        [0, 1, 1, 2],
        [0, 2, 2, 4],
        [0, -1],
        [-1, 0],
        [1],
        [0, 2**62, 2**62, 2**63 - 1],
    ],
    ids=str,
)
def test_not_an_iota(devices: list[int]) -> None:
    assert recognize_iota(devices) is None


def test_the_result_is_canonical() -> None:
    devices = np.arange(64).reshape(2, 4, 8).transpose(1, 0, 2).reshape(4, 16)
    assert recognize_iota(devices) == IotaTileAssignment((4, 16), (2, 4, 8), (1, 0, 2))


def test_grids_are_accepted() -> None:
    iota = TileAssignment.iota([2**30, 2**10], [2**10, 2**30], [1, 0])
    assert recognize_iota(iota) is iota.iota_form
    assert str(recognize_iota(TileAssignment.from_array([[0, 2], [1, 3]]))) == "devices=[2,2]<=[2,2]T(1,0)"
    assert recognize_iota(TileAssignment.empty()) is None


@pytest.mark.parametrize("devices", [[], 3, [[0, 1], [2]], [0.0, 1.0], "0,1", [0, 2**64]], ids=str)
def test_not_an_array_of_devices(devices: object) -> None:
    with pytest.raises(VerificationError):
        recognize_iota(devices)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("devices", "position"),
    [
        ([3, 2, 1, 0], 0),
        ([0, 1, 3, 2], 3),
        ([0, 1, 2, 4, 3, 5], 4),
        ([0, 2, 1, 4, 3, 5], 3),
        ([0, 4, 1, 5, 2, 6, 7, 3], 6),
    ],
    ids=str,
)
def test_first_departure(devices: list[int], position: int) -> None:
    assert first_departure(np.array(devices)) == position


def million() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Lists of 2**20 devices: an iota of 20 axes, and lists that are none, seen early, late and never."""
    rng = np.random.default_rng(0)
    bits = np.arange(1 << 20).reshape((2,) * 20).transpose(rng.permutation(20)).reshape(1024, 1024)
    early, late = bits.copy(), bits.copy()
    early.flat[[5, 7]] = early.flat[[7, 5]]
    late.flat[[-5, -7]] = late.flat[[-7, -5]]
    return {"iota": bits, "early": early, "late": late, "random": rng.permutation(1 << 20)}


@pytest.mark.parametrize(("name", "devices"), million().items(), ids=million().keys())
def test_a_million_devices(name: str, devices: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
    spent = []
    for _ in range(3):
        start = time.process_time()
        found = recognize_iota(devices)
        spent.append(time.process_time() - start)
    assert (found is not None) is (name == "iota")
    assert min(spent) < 0.2
