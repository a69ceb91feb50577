"""Random `OpSharding` bytes: we read them as jaxlib does, and write the same bytes again."""

from __future__ import annotations

import re

import pytest
from tests.differential.oracle.hlo_shardings import Answer, Read, read_protos
from tests.differential.random_protos import random_protos
from tests.differential.test_export_classic import PYTHON as CLASSIC_PYTHON

from sdybridge.errors import ProtoError
from sdybridge.hlo import HloSharding
from sdybridge.target import Target

PROTOS_PER_SEED = 1000
STRICTER = {
    "a permutation that is none": r"iota_transpose_perm must hold each of",
    "counts below 1": r"iota_reshape_dims\[\d+\] is -?\d+, but",
    "a grid that overflows": r"more than 2\*\*63 - 1 devices",
    "more types than dimensions": r"types need as many dimensions",
}
"""What jaxlib reads and we refuse, by our message: there its behaviour is undefined."""
CLASSIC_STRICTER = {
    "an iota of no devices": r"tile_assignment_dimensions\[\d+\] is 0, but",
    "a type that came later": r"last_tile_dims\[\d+\]: there is no type 6",
    "an iota of one device with another permutation": r"dimensions are counted, but \d+ are ordered",
}


@pytest.mark.parametrize("seed", [1, 2])
def test_fixed_seeds(seed: int) -> None:
    compare(seed)


def test_fresh_seed(fresh_seed: int) -> None:
    compare(fresh_seed)


def test_the_protos_are_of_both_kinds() -> None:
    read = [isinstance(ours(data), Read) for data in random_protos(1, PROTOS_PER_SEED)]
    assert 0.3 < sum(read) / len(read) < 0.9


@pytest.mark.slow
def test_the_classic_release(fresh_seed: int) -> None:
    protos = random_protos(fresh_seed + 1, PROTOS_PER_SEED)
    answers = read_protos(protos, python=CLASSIC_PYTHON)
    check(
        [
            (data, our, their)
            for data, their in zip(protos, answers, strict=True)
            if not agrees_with_classic(our := ours(data, Target.CLASSIC), their)
        ]
    )


def compare(seed: int) -> None:
    protos = random_protos(seed, PROTOS_PER_SEED)
    answers = read_protos(protos)
    check(
        [
            (data, our, their)
            for data, their in zip(protos, answers, strict=True)
            if not agrees(our := ours(data), their)
        ]
    )


def check(differing: list[tuple[bytes, Read | ProtoError, Answer]]) -> None:
    """Fails with the shortest of the cases."""
    differing.sort(key=lambda case: len(case[0]))
    shown = [f"{data.hex()}\nours:     {our!r}\njaxlib's: {their}" for data, our, their in differing[:5]]
    assert not differing, f"{len(differing)} protos differ, the shortest:\n\n" + "\n\n".join(shown)


def ours(data: bytes, target: Target = Target.CURRENT) -> Read | ProtoError:
    try:
        sharding = HloSharding.from_proto(data, target=target)
    except ProtoError as error:
        return error
    return Read(str(sharding), sharding.to_proto_bytes(target=target))


def agrees(our: Read | ProtoError, their: Answer) -> bool:
    if isinstance(our, Read):
        return our == their
    return not isinstance(their, Read) or refused(our, STRICTER)


def agrees_with_classic(our: Read | ProtoError, their: Answer) -> bool:
    """As `agrees`, but for what it misspells, and the order in which it writes metadata that came later."""
    if isinstance(our, Read):
        return isinstance(their, Read) and our.text == their.text.replace("maximul", "maximal")
    return not isinstance(their, Read) or refused(our, STRICTER | CLASSIC_STRICTER)


def refused(error: ProtoError, reasons: dict[str, str]) -> bool:
    return any(re.search(reason, error.message) for reason in reasons.values())
