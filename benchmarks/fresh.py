"""Fresh processes, timed from outside, with the figures that they print."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Installed packages have their bytecode; a checkout gets it from the first round, if that may write it.
_ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {
    "JAX_PLATFORMS": "cpu"
}

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Run:
    """One process.

    Attributes:
        wall: Seconds from its start to its end.
        cpu: Seconds of CPU time in it.
        output: What it printed.
    """

    wall: float
    cpu: float
    output: str


def run_python(*arguments: str) -> Run:
    """One run of this interpreter.

    Raises:
        RuntimeError: The process failed; the message is the end of its standard error.
    """
    start, cpu = perf_counter(), _children_cpu()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=_ENVIRONMENT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    wall, cpu = perf_counter() - start, _children_cpu() - cpu
    if done.returncode:
        raise RuntimeError(f"python {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return Run(wall, cpu, done.stdout)


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def alternate_processes(commands: Sequence[Sequence[str]], rounds: int) -> list[list[Run]]:
    """The runs of each command in each round, taking turns; a first round warms the disk and is dropped."""
    runs: list[list[Run]] = [[] for _ in commands]
    for k in range(rounds + 1):
        for command, done in zip(commands, runs, strict=True):
            run = run_python(*command)
            if k > 0:
                done.append(run)
    return runs


def median_figures(runs: Sequence[Run]) -> dict[str, float]:
    """The medians of what children printed (see `benchmarks.children.figures`)."""
    printed: list[dict[str, float]] = [json.loads(run.output) for run in runs]
    return {key: median(figures[key] for figures in printed) for key in printed[0]}


def cost_cpu(runs: Sequence[Run], nothing: Sequence[Run]) -> float:
    """The median CPU time of processes, less that of the ones beside them that did nothing."""
    return median(run.cpu - base.cpu for run, base in zip(runs, nothing, strict=True))


def cost_wall(runs: Sequence[Run], nothing: Sequence[Run]) -> float:
    """The same by the wall clock."""
    return median(run.wall - base.wall for run, base in zip(runs, nothing, strict=True))
