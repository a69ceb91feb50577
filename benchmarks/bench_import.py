"""What `import sdybridge` costs, and what else it loads."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from benchmarks.fresh import alternate_processes, cost_cpu, cost_wall, run_python
from benchmarks.table import AtMost, Row, Table, Unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.effort import Effort

GOAL = AtMost(0.040)
ANSWER = AtMost(0.100)
_SHARDING = ('[{"y"}, {}]', "--mesh", "x=2,y=4")
ASKED = {
    "convert": ("convert", *_SHARDING),
    "explain": ("explain", *_SHARDING, "--shape", "f32[64,128]"),
    "draw": ("draw", *_SHARDING),
    "--help": ("--help",),
}
"""What the command is asked, by the name of what it does."""

_LOADED = """
import sys
before = set(sys.modules)
import {module}
new = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(new - set(sys.stdlib_module_names) - {{"{module}"}}))
"""


def run(effort: Effort) -> Iterator[Table]:
    """Fresh interpreters that import, less fresh interpreters that do nothing."""
    ours, theirs, nothing = alternate_processes(
        [["-c", statement] for statement in ("import sdybridge", "import jax", "pass")], 2 * effort.processes
    )
    loaded = third_party("sdybridge")
    rows = [
        Row("import, CPU time", cost_cpu(ours, nothing), cost_cpu(theirs, nothing), goal=GOAL),
        Row("import, wall clock", cost_wall(ours, nothing), cost_wall(theirs, nothing)),
        Row("third-party packages", len(loaded), len(third_party("jax")), Unit.COUNT, AtMost(0)),
    ]
    yield Table("Import; cold", "JAX", rows, f"loaded: {', '.join(loaded)}" if loaded else "")
    jax = median(run.cpu for run in theirs)
    answers = alternate_processes([["-m", "sdybridge", *ASKED[name]] for name in ASKED], effort.processes)
    yield Table(
        "One answer of the command; cold",
        "import jax",
        [
            Row(f"sdybridge {name}, CPU time", median(run.cpu for run in runs), jax, goal=ANSWER)
            for name, runs in zip(ASKED, answers, strict=True)
        ],
        "the start of Python included",
    )


def third_party(module: str) -> list[str]:
    """The packages that an import loads, without the standard library and itself."""
    return run_python("-c", _LOADED.format(module=module)).output.split()
