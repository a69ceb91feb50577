"""Whole programs, beside what any tool over MLIR's objects must do at least: read and print."""

from __future__ import annotations

import tracemalloc
from statistics import median
from typing import TYPE_CHECKING

import sdybridge
from benchmarks import programs
from benchmarks.fresh import alternate_processes, cost_cpu, cost_wall, median_figures
from benchmarks.jaxlib_modules import make_context, parse_and_print
from benchmarks.table import AtMost, Ratio, Row, Table, Unit
from benchmarks.timing import alternate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.effort import Effort

SPEED = Ratio(25)
IMPORT_SPEED = Ratio(15)
MANUAL_SPEED = Ratio(10)
MEMORY = AtMost(4)


def run(effort: Effort) -> Iterator[Table]:
    """The program as JAX lowers it, the way back, with manual computations, and after propagation."""
    step = programs.training_step(effort.layers)
    text = step.read_text(encoding="utf-8")
    exported = sdybridge.export_module(text)
    title = f"Whole program as JAX lowers it: {Unit.BYTES.show(len(text))}, {exported.sites} shardings"
    rows = warm(sdybridge.export_module, text, effort, goal=SPEED)
    yield Table(f"{title}; warm", "parse+print", rows, "jaxlib converts nothing here")
    yield from _fresh(title, step, text, effort)
    title = f"The same program imported again: {Unit.BYTES.show(len(exported.text))}"
    rows = warm(sdybridge.import_module, exported.text, effort, goal=IMPORT_SPEED)
    yield Table(f"{title}; warm", "parse+print", rows, "the mesh is inferred; jaxlib converts nothing here")
    text = programs.manual_step(max(1, effort.layers // 2)).read_text(encoding="utf-8")
    count = sdybridge.export_module(text).operations["sdy.manual_computation"]
    title = f"Whole program with {count} manual computations: {Unit.BYTES.show(len(text))}"
    rows = warm(sdybridge.export_module, text, effort, goal=MANUAL_SPEED)
    yield Table(
        f"{title}; warm", "parse+print", rows, "each becomes a function; jaxlib converts nothing here"
    )
    if effort.propagated_layers:
        text = programs.propagated_step(effort.propagated_layers).read_text(encoding="utf-8")
        sites = sdybridge.export_module(text).sites
        title = f"Whole program after propagation: {Unit.BYTES.show(len(text))}, {sites} shardings"
        yield Table(f"{title}; warm", "parse+print", warm(sdybridge.export_module, text, effort))
        exported = sdybridge.export_module(text)
        title = f"The same program imported again: {Unit.BYTES.show(len(exported.text))}, {sites} shardings"
        yield Table(f"{title}; warm", "parse+print", warm(sdybridge.import_module, exported.text, effort))


def warm(
    convert: Callable[[str], object], text: str, effort: Effort, *, goal: Ratio | None = None
) -> list[Row]:
    """Both in one process, in turns."""
    with make_context():
        ours, theirs = alternate([lambda _: convert(text), lambda _: parse_and_print(text)], effort.rounds)
    size = len(text)
    return [
        Row("CPU time, median", median(ours.cpu), median(theirs.cpu), goal=goal),
        Row("CPU time, best", min(ours.cpu), min(theirs.cpu)),
        Row("rate, CPU time", size / median(ours.cpu), size / median(theirs.cpu), Unit.BYTES_PER_SECOND),
        Row("wall clock, median", median(ours.wall), median(theirs.wall)),
        Row("wall clock over CPU time", ours.stretch, theirs.stretch, Unit.MULTIPLE),
    ]


def _fresh(title: str, step: Path, text: str, effort: Effort) -> Iterator[Table]:
    """Each in processes of its own, in turns."""
    ours, theirs, nothing = alternate_processes(
        [
            ["-m", "benchmarks.children.export_module", str(step)],
            ["-m", "benchmarks.children.parse_and_print", str(step)],
            ["-c", "pass"],
        ],
        effort.processes,
    )
    our, their = median_figures(ours), median_figures(theirs)
    cold = [
        Row("first call, CPU time", our["call"], their["call"]),
        Row("first call, wall clock", our["call_wall"], their["call_wall"]),
        Row("import, read, first call, CPU time", cost_cpu(ours, nothing), cost_cpu(theirs, nothing)),
        Row("import, read, first call, wall clock", cost_wall(ours, nothing), cost_wall(theirs, nothing)),
    ]
    yield Table(f"{title}; cold", "parse+print", cold, "fresh processes, less the start of Python")

    size = len(text)
    memory = [
        Row("growth of the process, x text", our["peak"] / size, their["peak"] / size, Unit.MULTIPLE, MEMORY),
        Row("Python's own allocations, x text", _traced_peak(text) / size, unit=Unit.MULTIPLE, goal=MEMORY),
    ]
    yield Table(f"{title}; peak memory", "parse+print", memory, "beyond the imports and the text itself")


def _traced_peak(text: str) -> int:
    tracemalloc.start()
    sdybridge.export_module(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
