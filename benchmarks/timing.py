"""Tasks of one process, timed in turns, by the wall clock and in CPU time.

Turns alone do not make a busy machine fair: a task of a second is interrupted a hundred times while one of
some milliseconds ends before its first interruption, so the wall clock flatters the short one, even at its
best. CPU time, that of all threads, does not count interruptions; on an idle machine the two agree.
"""

from __future__ import annotations

import contextlib
import gc
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass
class Times:
    """The seconds of one task, for each round."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def stretch(self) -> float:
        """The wall clock's time over CPU time: 1 when nothing interrupted the task."""
        return median(self.wall) / median(self.cpu)


def alternate(tasks: Sequence[Callable[[int], object]], rounds: int) -> list[Times]:
    """The times of each task, the tasks taking turns: A B A B.

    Each task gets the number of the round. Round 0 warms up and does not count. The garbage collector runs
    before each task and rests during it, for all tasks alike; results are freed after the clock has stopped.

    >>> [times, _] = alternate([lambda k: print("A", k), lambda k: print("B", k)], rounds=1)
    A 0
    B 0
    A 1
    B 1
    >>> len(times.wall)
    1
    """
    measured = [Times() for _ in tasks]
    for k in range(rounds + 1):
        for task, times in zip(tasks, measured, strict=True):
            with _collector_at_rest():
                wall, cpu = perf_counter(), process_time()
                result = task(k)
                cpu, wall = process_time() - cpu, perf_counter() - wall
            del result
            if k > 0:
                times.wall.append(wall)
                times.cpu.append(cpu)
    return measured


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
