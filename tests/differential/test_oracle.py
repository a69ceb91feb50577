"""The oracle itself: it answers with XLA's words, and survives what kills XLA."""

from __future__ import annotations

import os

import pytest
from tests.differential.oracle import pipeline
from tests.differential.oracle.isolation import Crash, Rejected, run_isolated
from tests.differential.oracle.shardings import Case, export_cases

MESH = '#sdy.mesh<["x"=4, "y"=2]>'


def test_answers_in_order_whatever_the_neighbours_do() -> None:
    cases = [
        Case(MESH, '[{"y"}, {"x"}]', 2),
        Case(MESH, '[{"x"}], unreduced={"y"}', 1, manual_axes=("y",)),
        Case(MESH, '[{"z"}]', 1),
        Case('#sdy.mesh<["a"=2, "b"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>', '[{"b"}]', 1),
        Case('#sdy.mesh<["a"=8]>', '[{"a"}]', 1, manual_axes=()),
        Case("#sdy.mesh<[], device_ids=[3]>", "[]", 2),
        Case('#sdy.mesh<["x"=1]>', '[{"x"}, {}]', 2),
        Case(MESH, '[{"x"}]', 1, manual_axes=("y",)),
    ]
    answers = export_cases(cases)
    assert [getattr(answer, "text", type(answer)) for answer in answers] == [
        "{devices=[2,4]<=[4,2]T(1,0)}",
        Crash,
        Rejected,
        "{devices=[4,2]3,7,2,6,1,5,0,4 last_tile_dim_replicate}",
        "{devices=[8]<=[8]}",
        "{maximal device=3}",
        "{devices=[1,1]<=[1]}",
        "{devices=[4,2]<=[8] last_tile_dims={manual}}",
    ]
    assert "Only one of unreduced and manual" in str(answers[1])
    assert 'unknown axis name: "z"' in str(answers[2])


def test_pipeline_rejects_what_does_not_parse() -> None:
    assert isinstance(pipeline.export_module("module { func.func @main() { return } "), Rejected)


def test_isolation_reports_what_the_function_does() -> None:
    assert run_isolated(abort_on_odd, [0, 1, 2]) == [0, Crash("killed by signal -6"), 2]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run_isolated(divide_by, [0])


def test_isolation_ends_what_hangs() -> None:
    assert run_isolated(hang, [0], item_timeout=0.5) == [Crash("timeout")]


def abort_on_odd(item: int) -> int:
    if item % 2:
        os.abort()
    return item


def divide_by(item: int) -> float:
    return 1 / item


def hang(item: int) -> None:
    while True:
        pass
