"""The commands for people on large programs, beside what any tool over MLIR's objects has to do."""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING

import sdybridge
from benchmarks import programs
from benchmarks.jaxlib_modules import make_context, parse_and_print
from benchmarks.table import AtMost, Row, Table, Unit
from benchmarks.timing import alternate
from sdybridge.modules import inspect_module
from sdybridge.view.report import render_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.effort import Effort

TEN_MEGABYTES = AtMost(0.2)
"""Seconds for the check of a clean program of that size: 50 MB/s."""

WITH_FINDINGS = AtMost(0.5)
INSPECTED = AtMost(0.25)
REPORTED = AtMost(0.5)


def run(effort: Effort) -> Iterator[Table]:
    """The program as JAX lowers it, and as it is after propagation."""
    made = {"as JAX lowers it": programs.training_step(effort.layers)}
    if effort.propagated_layers:
        made["after propagation"] = programs.propagated_step(effort.propagated_layers)
    for what, path in made.items():
        text = path.read_text(encoding="utf-8")
        yield Table(
            f"Check, inspect and report of a program {what}: {Unit.BYTES.show(len(text))}; warm",
            "parse+print",
            _rows(text, effort),
            "jaxlib reads no shardings here",
        )


def _rows(text: str, effort: Effort) -> list[Row]:
    if sdybridge.check_module(text):
        raise ValueError("the program is not clean")
    wrong = _with_mistakes(text)
    tasks: dict[str, tuple[Callable[[], object], AtMost]] = {
        "check": (lambda: sdybridge.check_module(text), TEN_MEGABYTES),
        "check that finds something": (lambda: sdybridge.check_module(wrong), WITH_FINDINGS),
        "inspect": (lambda: inspect_module(text), INSPECTED),
        "report": (lambda: render_report(text), REPORTED),
    }
    with make_context():
        *ours, theirs = alternate(
            [*(_ignoring_rounds(work) for work, _ in tasks.values()), lambda _: parse_and_print(text)],
            effort.rounds,
        )
    size = len(text)
    return [
        row
        for (name, (_, goal)), timed in zip(tasks.items(), ours, strict=True)
        for row in (
            Row(
                f"{name}, CPU time for 10 MB",
                median(timed.cpu) * 1e7 / size,
                median(theirs.cpu) * 1e7 / size,
                goal=goal,
            ),
            Row(
                f"{name}, rate, CPU time",
                size / median(timed.cpu),
                size / median(theirs.cpu),
                Unit.BYTES_PER_SECOND,
            ),
        )
    ]


def _ignoring_rounds(work: Callable[[], object]) -> Callable[[int], object]:
    return lambda _: work()


def _with_mistakes(text: str) -> str:
    """The program with an axis that no mesh has, in three places."""
    places = [found.end() for found in re.finditer(r"<@\w+, \[(?=\{\")", text)]
    for at in [places[len(places) * part // 4] for part in (3, 2, 1)]:
        text = f'{text[:at]}{{"nowhere"}}, {text[at:]}'
    if not sdybridge.check_module(text):
        raise ValueError("the mistakes are not found")
    return text
