"""What jaxlib's own `HloSharding` reads from texts and from protos: its text again, and its bytes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tests.differential.oracle import frontend
from tests.differential.oracle.isolation import Crash, Rejected, run_isolated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_BATCH = 20
_TIMEOUT = 5  # of what usually takes a few milliseconds; some wrong permutations hang XLA


@dataclasses.dataclass(frozen=True)
class Read:
    """A sharding that was read: its text without metadata, and its `OpSharding` bytes."""

    text: str
    proto: bytes


Answer = Read | Rejected | Crash

PREDICATES = ("is_replicated", "is_manual", "is_unreduced", "is_unknown", "is_tiled", "is_maximal")
"""The questions about a sharding's kind that jaxlib answers."""


@dataclasses.dataclass(frozen=True)
class Named:
    """What jaxlib says of a sharding over a named mesh.

    Attributes:
        read: Its text and bytes.
        grid: The text of the device grid that it converts it to.
        predicates: Its answers to `PREDICATES`.
        equals_others: Whether it equals its grid, and each of the next few texts.
    """

    read: Read
    grid: str
    predicates: tuple[bool, ...]
    equals_others: tuple[bool, ...]


def read_texts(texts: Sequence[str], *, python: Path | None = None) -> list[Answer]:
    """jaxlib's answer for every text, in order; `python` may be that of an older release."""
    return _answers(texts_in_one_process, texts, python)


def read_protos(protos: Sequence[bytes], *, python: Path | None = None) -> list[Answer]:
    """jaxlib's answer for every serialised `OpSharding`, in order."""
    return _answers(protos_in_one_process, protos, python)


def texts_in_one_process(texts: Sequence[str]) -> list[Read | Rejected]:
    """Answers without isolation (runs isolated)."""
    from jaxlib import xla_client

    return [_answer(lambda text=text: xla_client.HloSharding.from_string(text)) for text in texts]  # type: ignore[misc]


def protos_in_one_process(protos: Sequence[bytes]) -> list[Read | Rejected]:
    """Answers without isolation (runs isolated)."""
    from jaxlib import xla_client

    answers = []
    for data in protos:
        message = xla_client.OpSharding()
        message.ParseFromString(data)
        answers.append(_answer(lambda message=message: xla_client.HloSharding.from_proto(message)))  # type: ignore[misc]
    return answers


def read_named(texts: Sequence[str]) -> list[Named]:
    """jaxlib's answers for texts of valid shardings."""
    (answers,) = run_isolated(named_in_one_process, [texts], preload=frontend.PRELOAD)
    assert isinstance(answers, list), answers
    return answers


def are_equal(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Whether jaxlib reads two texts as equal shardings, for every pair.

    So are those where it does not even read back as equal what it prints of the first, or of its grid.
    """
    (answers,) = run_isolated(equal_in_one_process, [pairs], preload=frontend.PRELOAD)
    assert isinstance(answers, list), answers
    return answers


def equal_in_one_process(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Answers without isolation (runs isolated)."""
    from jaxlib import xla_client

    read = xla_client.HloSharding.from_string

    def is_equal(one: str, other: str) -> bool:
        sharding = read(one)
        try:
            grid = xla_client.HloSharding.v3_to_v2_sharding(sharding)
            is_kept = all(read(str(own)) == sharding for own in (sharding, grid))
        except Exception:  # noqa: BLE001  (jaxlib's own; it prints grids without dimensions, and does not read them)
            is_kept = False
        return not is_kept or bool(sharding == read(other))

    return [is_equal(*pair) for pair in pairs]


def named_in_one_process(texts: Sequence[str]) -> list[Named]:
    """Answers without isolation (runs isolated)."""
    from jaxlib import xla_client

    shardings = [xla_client.HloSharding.from_string(text) for text in texts]
    answers = []
    for k, sharding in enumerate(shardings):
        grid = xla_client.HloSharding.v3_to_v2_sharding(sharding)
        others = [grid, *shardings[k + 1 : k + 6]]
        answers.append(
            Named(
                Read(str(sharding), sharding.to_proto().SerializeToString()),
                str(grid),
                tuple([getattr(sharding, predicate)() for predicate in PREDICATES]),
                tuple([sharding == other for other in others]),
            )
        )
    return answers


def _answer(read: Callable[[], object]) -> Read | Rejected:
    try:
        sharding = read()
        return Read(str(sharding), sharding.to_proto().SerializeToString())  # type: ignore[attr-defined]
    except Exception as error:  # noqa: BLE001  (jaxlib's exception types differ by release)
        return Rejected(" ".join(str(error).split()))


def _answers(
    read: Callable[[Sequence[str]], list[Read | Rejected]]
    | Callable[[Sequence[bytes]], list[Read | Rejected]],
    items: Sequence[str] | Sequence[bytes],
    python: Path | None,
) -> list[Answer]:
    """Batches share a process; those of a process that died are asked again one by one."""
    starts = range(0, len(items), _BATCH)
    batches = [items[at : at + _BATCH] for at in starts]
    results = run_isolated(read, batches, python=python, preload=frontend.PRELOAD, item_timeout=_TIMEOUT)
    dead = [k for k, result in enumerate(results) if isinstance(result, Crash)]
    singles = [[item] for k in dead for item in batches[k]]
    again = iter(run_isolated(read, singles, python=python, preload=frontend.PRELOAD, item_timeout=_TIMEOUT))
    answers: list[Answer] = []
    for k, result in enumerate(results):
        if k not in dead:
            answers += result
            continue
        alone = [next(again) for _ in batches[k]]
        answers += [answer if isinstance(answer, Crash) else answer[0] for answer in alone]
    return answers
