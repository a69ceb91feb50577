"""Runs the benchmarks and prints their tables: `python -m benchmarks [NAME ...] [--quick] [--json FILE]`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from benchmarks.effort import FULL, QUICK, Effort

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.table import Table

NAMES = (
    "module",
    "check",
    "hlo",
    "conversion",
    "repeated",
    "iota",
    "mesh",
    "device_list",
    "import",
    "hostile",
)
_ABOUT = """\
Medians; a ratio above 1 is in favour of sdybridge. Tasks take turns; the garbage collector is off in timed
parts, except in fresh processes. Times are CPU time of all threads unless a row says wall clock: on a busy
machine the wall clock flatters whatever is short, so goals are judged by CPU time."""


def tables(name: str, effort: Effort) -> Iterator[Table]:
    """The tables of one benchmark, each as soon as it is measured."""
    found: Iterator[Table] = importlib.import_module(f"benchmarks.bench_{name}").run(effort)
    return found


def environment() -> dict[str, str]:
    """What the figures depend on besides the code."""
    return {
        "python": platform.python_version(),
        "jax": version("jax"),
        "jaxlib": version("jaxlib"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; always 0 when everything could be measured, goals met or not."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure beside jaxlib and JAX."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which ones: {', '.join(NAMES)} (default: all)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small inputs and few rounds: does it work at all?"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file, too")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no benchmark named {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")

    about = environment()
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    print(_ABOUT)
    measured = []
    for name in options.names or NAMES:
        for table in tables(name, QUICK if options.quick else FULL):
            print(f"\n{table}", flush=True)
            measured.append({"benchmark": name, **table.as_json()})
    if options.json:
        report = {"environment": about, "quick": options.quick, "tables": measured}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
