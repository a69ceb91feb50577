"""Conversion of objects that were converted before, beside JAX's cache."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from jax._src.named_sharding import named_sharding_to_xla_hlo_sharding

from benchmarks.shardings import make_cases, random_sizes
from benchmarks.table import AtMost, Row, Table
from benchmarks.timing import alternate
from sdybridge import TensorShardingAttr, convert_to_hlo_sharding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.effort import Effort

GOAL = AtMost(300e-9)


def run(effort: Effort) -> Iterator[Table]:
    """One object again and again, and many in turn."""
    rows = [_row(f"{count} in turn" if count > 1 else "one object", count, effort) for count in (1, 100)]
    yield Table("One conversion, repeated inputs", "JAX cached", rows, "per call, with the loop around it")


def _row(what: str, count: int, effort: Effort) -> Row:
    cases = make_cases(random_sizes(2000, 4), most=count)
    mesh = cases.mesh
    known = [TensorShardingAttr.from_string(text) for text in cases.texts()]
    named = cases.named_shardings()
    turns = range(max(1, effort.calls // count))

    def ours(_: int) -> None:
        for _ in turns:
            for sharding in known:
                convert_to_hlo_sharding(sharding, mesh)

    def theirs(_: int) -> None:
        for _ in turns:
            for sharding, rank in named:
                named_sharding_to_xla_hlo_sharding(sharding, rank)

    our_times, their_times = alternate([ours, theirs], effort.rounds)
    calls = len(turns) * count
    return Row(what, median(our_times.cpu) / calls, median(their_times.cpu) / calls, goal=GOAL)
