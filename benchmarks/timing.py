"""Tasks of one process, timed in turns, so that a slow moment of the machine hits all of them."""

from __future__ import annotations

import contextlib
import gc
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def alternate(tasks: Sequence[Callable[[int], object]], rounds: int) -> list[list[float]]:
    """The seconds of each task in each round, the tasks taking turns: A B A B.

    Each task gets the number of the round. Round 0 warms up and does not count. The garbage collector runs
    before each task and rests during it, for all tasks alike; results are freed after the clock has stopped.

    >>> [times, _] = alternate([lambda k: print("A", k), lambda k: print("B", k)], rounds=1)
    A 0
    B 0
    A 1
    B 1
    >>> len(times)
    1
    """
    seconds: list[list[float]] = [[] for _ in tasks]
    for k in range(rounds + 1):
        for task, times in zip(tasks, seconds, strict=True):
            with _collector_at_rest():
                start = perf_counter()
                result = task(k)
                elapsed = perf_counter() - start
            del result
            if k > 0:
                times.append(elapsed)
    return seconds


@contextlib.contextmanager
def _collector_at_rest() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
