"""A mesh with its devices listed in random order: read it, export a sharding on it, print that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import programs
from benchmarks.fresh import alternate_processes, median_figures
from benchmarks.table import AtMost, Row, Table, Unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.effort import Effort

GOAL = AtMost(1.0)
"""For a mesh of 2**20 devices."""
_NOTE = "jaxlib reads both notations; JAX exports, from finished objects; our export loads NumPy"


def run(effort: Effort) -> Iterator[Table]:
    """Each step once in fresh processes; JAX has a step for each of ours.

    Raises:
        ValueError: JAX prints another sharding.
    """
    file = programs.explicit_mesh(effort.mesh_bits)
    ours, theirs = alternate_processes(
        [[f"-mbenchmarks.children.{child}", str(file)] for child in ("explicit_mesh", "jax_explicit_mesh")],
        effort.processes,
    )
    our, their = median_figures(ours), median_figures(theirs)
    if our["checksum"] != their["checksum"]:
        raise ValueError("JAX prints another sharding on the explicit mesh")
    size = file.stat().st_size
    title = f"Explicit mesh of {1 << effort.mesh_bits} devices, {Unit.BYTES.show(size)} of text; cold"
    steps = [
        Row("read the mesh", our["parse"], their["parse"]),
        Row("export a sharding", our["export"], their["export"]),
        Row("print it", our["print"], their["print"]),
        Row("total", our["total"], their["total"], goal=GOAL),
        Row("total, wall clock", our["total_wall"], their["total_wall"]),
        Row("total against jaxlib reading the result", our["total"], their["read_back"]),
    ]
    yield Table(
        title,
        "jaxlib, JAX",
        steps,
        "jaxlib reads both notations; JAX exports, from finished objects; our export loads NumPy",
    )
    peak = Row("growth of the process", our["peak"], their["peak"], Unit.BYTES)
    yield Table(f"{title}, peak memory", "jaxlib, JAX", [peak])
