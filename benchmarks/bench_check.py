"""The check of clean programs, beside what any tool over MLIR's objects must do at least: read and print."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import sdybridge
from benchmarks import programs
from benchmarks.jaxlib_modules import make_context, parse_and_print
from benchmarks.table import AtMost, Row, Table, Unit
from benchmarks.timing import alternate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.effort import Effort

TEN_MEGABYTES = AtMost(0.2)
"""Seconds for a program of that size: 50 MB/s."""


def run(effort: Effort) -> Iterator[Table]:
    """The program as JAX lowers it, and as it is after propagation."""
    made = {"as JAX lowers it": programs.training_step(effort.layers)}
    if effort.propagated_layers:
        made["after propagation"] = programs.propagated_step(effort.propagated_layers)
    for what, path in made.items():
        text = path.read_text(encoding="utf-8")
        yield Table(
            f"Check of a clean program {what}: {Unit.BYTES.show(len(text))}; warm",
            "parse+print",
            _rows(text, effort),
            "jaxlib checks nothing here",
        )


def _rows(text: str, effort: Effort) -> list[Row]:
    if sdybridge.check_module(text):
        raise ValueError("the program is not clean")
    with make_context():
        ours, theirs = alternate(
            [lambda _: sdybridge.check_module(text), lambda _: parse_and_print(text)], effort.rounds
        )
    size = len(text)
    return [
        Row("CPU time, median", median(ours.cpu), median(theirs.cpu)),
        Row(
            "CPU time for 10 MB",
            median(ours.cpu) * 1e7 / size,
            median(theirs.cpu) * 1e7 / size,
            goal=TEN_MEGABYTES,
        ),
        Row("rate, CPU time", size / median(ours.cpu), size / median(theirs.cpu), Unit.BYTES_PER_SECOND),
    ]
