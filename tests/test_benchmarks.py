"""Every benchmark runs on a tiny input; how fast is for `make bench` to say."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks import __main__ as command
from benchmarks import bench_conversion, bench_import, shardings, table, timing
from benchmarks.effort import FULL, QUICK, Effort
from benchmarks.fresh import run_python
from benchmarks.shardings import Cases, Piece, arrangements, make_cases, random_sizes
from benchmarks.table import AtMost, Ratio, Row, Table, Unit

from sdybridge import TensorShardingAttr, verify_sharding

if TYPE_CHECKING:
    from types import ModuleType

TINY = Effort(
    layers=1, propagated_layers=1, rounds=1, inputs=20, calls=200, processes=1, mesh_bits=6, hlo_size=1
)


@pytest.mark.parametrize("name", command.NAMES)
def test_benchmark_measures(name: str) -> None:
    tables = list(command.tables(name, TINY))
    is_alone = name == "hostile"  # how our own time grows
    assert any(row.other is not None for shown in tables for row in shown.rows) is not is_alone
    for shown in tables:
        assert len(str(shown).splitlines()) == 2 + len(shown.rows) + bool(shown.note)


def test_every_file_has_a_name() -> None:
    files = Path(command.__file__).parent.glob("bench_*.py")
    assert {file.stem.removeprefix("bench_") for file in files} == set(command.NAMES)


@pytest.mark.parametrize("module", [shardings, table, timing])
def test_docstrings(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


class TestCommand:
    def test_writes_json(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(command, "QUICK", TINY)
        assert command.main(["repeated", "--quick", "--json", str(tmp_path / "figures.json")]) == 0
        report = json.loads((tmp_path / "figures.json").read_text())
        assert [t["benchmark"] for t in report["tables"]] == ["repeated"]
        assert set(report["environment"]) == {"python", "jax", "jaxlib", "machine"}
        assert report["tables"][0]["title"] in capsys.readouterr().out

    def test_unknown_name(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            command.main(["nothing"])
        assert "no benchmark named nothing" in capsys.readouterr().err

    def test_failed_process(self) -> None:
        with pytest.raises(RuntimeError, match="ModuleNotFoundError"):
            run_python("-c", "import no_such_module")


class TestCases:
    @pytest.mark.parametrize("effort", [FULL, QUICK], ids=["full", "quick"])
    @pytest.mark.parametrize("cut", [(), ("data_7", "fsdp_7")], ids=["whole", "parts"])
    def test_are_distinct_and_valid(self, effort: Effort, cut: tuple[str, ...]) -> None:
        cases = make_cases(random_sizes(7, 4, least=4), cut=cut, most=effort.inputs)
        texts = cases.texts()
        assert len(set(texts)) == len(texts) == len(cases.named_shardings())
        for text in texts[:200]:
            verify_sharding(TensorShardingAttr.from_string(text), cases.mesh)
            assert (":(" in text) == bool(cut)

    def test_count(self) -> None:
        """n! / (n-k)! orders of k of n axes, each cut in every way into r dimensions."""
        pieces = [Piece(axis, 1, 2, is_part=False) for axis in "abcd"]
        assert sum(1 for _ in arrangements(pieces, 2)) == 4 * 2 + 12 * 3 + 24 * 4

    def test_differing_conversions_are_noticed(self) -> None:
        with pytest.raises(ValueError, match=r"for us and .* for JAX"):
            bench_conversion.check_equal(["a"], ["{replicated}"], ["{manual}"])

    def test_rounds_share_no_axis(self) -> None:
        first, second = (make_cases(random_sizes(k, 3), most=50) for k in (0, 1))
        assert not names(first) & names(second)


class TestTable:
    @pytest.mark.parametrize(
        ("row", "holds"),
        [
            (Row("", 1.0), None),
            (Row("", 1.0, goal=AtMost(1.0)), True),
            (Row("", 1.1, goal=AtMost(1.0)), False),
            (Row("", 1.0, 25.0, goal=Ratio(25)), True),
            (Row("", 1.0, 24.0, goal=Ratio(25)), False),
            (Row("", 50.0, 2.0, Unit.BYTES_PER_SECOND, Ratio(25)), True),
            (Row("", 1.0, goal=Ratio(25)), False),
        ],
    )
    def test_goal(self, row: Row, holds: bool | None) -> None:
        assert row.holds is holds

    def test_text(self) -> None:
        rows = [Row("first call", 0.0123, 0.5, goal=Ratio(25)), Row("peak", 2e6, None, Unit.BYTES)]
        assert str(Table("Title; cold", "jaxlib", rows, "a note")).splitlines() == [
            "Title; cold",
            "  measure     sdybridge  jaxlib  ratio    goal  holds",
            "  first call    12.3 ms  500 ms  40.7x  >= 25x    yes",
            "  peak          2.00 MB       -      -",
            "  a note",
        ]


def test_third_party_packages_are_found() -> None:
    assert "numpy" in bench_import.third_party("jax")


def names(cases: Cases) -> set[str]:
    return set(cases.mesh.axis_names)
