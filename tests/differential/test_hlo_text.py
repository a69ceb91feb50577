"""Random sharding texts, good and damaged: we read what jaxlib reads, as it does, and nothing else."""

from __future__ import annotations

import re

import pytest
from tests.differential.oracle.hlo_shardings import Answer, Read, read_texts
from tests.differential.oracle.isolation import Rejected
from tests.differential.random_texts import random_texts
from tests.differential.test_export_classic import PYTHON as CLASSIC_PYTHON

from sdybridge.errors import ParseError
from sdybridge.hlo import HloSharding
from sdybridge.target import Target

TEXTS_PER_SEED = 1000
STRICTER = {
    "a count that does not fit the grid": r"has \d+ devices, but \d+ are counted",
    "a list that does not fit the grid": r"has \d+ devices, but \d+ are listed",
    "sizes below 1": r"is at least 1, but",
    "a permutation that is none": r"T\(\.\.\) has a dimension of the count .* twice",
    "a permutation that is too short": r"T\(\.\.\) orders \d+ dimensions",
    "a name that nobody looks at": r"expected the dimensions in brackets, .* found '[\w.-]+='",
    "a grid that overflows": r"more than 2\*\*63 - 1 devices",
    "more types than dimensions": r"types need as many dimensions, the grid",
}
"""What jaxlib reads and we refuse, by our message: main refuses most of it, and the rest has no meaning."""


@pytest.mark.parametrize("seed", [1, 2])
def test_fixed_seeds(seed: int) -> None:
    compare(seed)


def test_fresh_seed(fresh_seed: int) -> None:
    compare(fresh_seed)


def test_the_texts_are_of_both_kinds() -> None:
    read = [isinstance(ours(text), Read) for text in random_texts(1, TEXTS_PER_SEED)]
    assert 0.3 < sum(read) / len(read) < 0.8


@pytest.mark.slow
def test_the_classic_release(fresh_seed: int) -> None:
    texts = [text for text in random_texts(fresh_seed + 1, TEXTS_PER_SEED) if "'" not in text]
    answers = read_texts(texts, python=CLASSIC_PYTHON)
    check(
        [
            (text, our, their)
            for text, their in zip(texts, answers, strict=True)
            if not agrees(our := ours(text, Target.CLASSIC), corrected(their))
        ]
    )


def compare(seed: int) -> None:
    texts = random_texts(seed, TEXTS_PER_SEED)
    answers = read_texts(texts)
    check(
        [
            (text, our, their)
            for text, their in zip(texts, answers, strict=True)
            if not agrees(our := ours(text), their)
        ]
    )


def check(differing: list[tuple[str, Read | ParseError, Answer]]) -> None:
    """Fails with the shortest of the cases."""
    differing.sort(key=lambda case: len(case[0]))
    shown = [f"{text!r}\nours:     {our}\njaxlib's: {their}" for text, our, their in differing[:5]]
    assert not differing, f"{len(differing)} texts differ, the shortest:\n\n" + "\n\n".join(shown)


def corrected(answer: Answer) -> Answer:
    """Without the misspelling of the classic release, which no release reads."""
    return (
        Read(answer.text.replace("maximul", "maximal"), answer.proto) if isinstance(answer, Read) else answer
    )


def ours(text: str, target: Target = Target.CURRENT) -> Read | ParseError:
    try:
        sharding = HloSharding.from_string(text, target=target)
    except ParseError as error:
        return error
    return Read(str(sharding), sharding.to_proto_bytes(target=target))


def agrees(our: Read | ParseError, their: Answer) -> bool:
    if isinstance(our, Read):
        # The grid of a scalar on one device is what XLA itself exports, and then cannot read.
        return our == their or "{devices=[]<=[1]" in our.text
    if isinstance(their, Rejected):
        return our.span is not None
    # What it crashes on is an error here, and so is what has no meaning.
    return not isinstance(their, Read) or any(re.search(known, our.message) for known in STRICTER.values())
