"""What is answered without click is what click's command prints, and the rest is left to that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from sdybridge.cli import cli
from sdybridge.cli.at_once import answer

if TYPE_CHECKING:
    from pathlib import Path

GRID = "{devices=[4,2]<=[8]}"
ANSWERED = (
    [GRID],
    [GRID, "--shape", "f32[64,128]"],
    [GRID, "{replicated}", "--shape", "bf16[8,8]"],
    ['[{"x"}, {}]', "--mesh", "x=2,y=4"],
    ["--mesh", "@m=x=2,y=4", '<@m, [{"x"}, {"y"}]>', "--shape", "64,64"],
    ["P('x', None)", "P(None, 'x')", "--mesh", "x=4,y=2", "--shape", "bf16[8,16]"],
    ["{mesh['x'=2], [{'x'}]}"],
    ["{{replicated}, {devices=[2]<=[2]}}"],
)
LEFT_TO_CLICK: tuple[list[str], ...] = (
    [],
    ["-"],
    ["--help"],
    [GRID, "--json"],
    [GRID, GRID, GRID],
    [GRID, "--mesh", "x=2", "--mesh", "y=4"],
    [GRID, "--mesh", "x"],
    [GRID, "--mesh"],
    [GRID, "--shape", "what"],
    ["{devices=[4,2]<=[9]}"],
    ['[{"z"}]', "--mesh", "x=2"],
    ["{replicated} to sharding {devices=[2]<=[2]}"],
    ["08031a0202024a0104520100"],
    ["step.mlir"],
)


@pytest.mark.parametrize("arguments", ANSWERED, ids=" ".join)
def test_answers(arguments: list[str]) -> None:
    text = answer(["explain", *arguments])
    assert text is not None
    assert f"{text}\n" == CliRunner().invoke(cli, ["explain", *arguments]).output


@pytest.mark.parametrize("arguments", LEFT_TO_CLICK, ids=" ".join)
def test_no_answers(arguments: list[str]) -> None:
    assert answer(["explain", *arguments]) is None
    assert answer(arguments) is None


def test_files_are_read_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / GRID).write_text("{replicated}")
    assert answer(["explain", GRID]) is None
    assert answer(["explain", "{a\0b}"]) is None
