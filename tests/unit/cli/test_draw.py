"""`sdybridge draw`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from sdybridge import draw
from sdybridge.cli import cli
from sdybridge.errors import SdyBridgeError

from .test_explain import PROGRAM

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

ROWS = ('[{"y"}, {}]', "--mesh", "x=2,y=4", "--shape", "f32[64,128]")


def run(*arguments: str, given: str | None = None, colour: bool = False) -> Result:
    return CliRunner().invoke(
        cli, ["draw", *arguments], input=given, prog_name="sdybridge", color=colour, env={"COLUMNS": "100"}
    )


def test_one_sharding() -> None:
    result = run(*ROWS)
    assert result.exit_code == 0
    assert result.stdout == f"{draw(ROWS[0], mesh={'x': 2, 'y': 4}, shape='f32[64,128]')}\n"


def test_colours_on_a_terminal() -> None:
    assert "\x1b[48;5;" in run(*ROWS, colour=True).stdout


def test_width_and_ascii() -> None:
    result = run("{devices=[4,32]<=[128]}", "--width", "40", "--height", "12", "--plain")
    assert result.stdout.isascii()
    assert max(map(len, result.stdout.splitlines())) <= 40


def test_svg_and_text_files(tmp_path: Path) -> None:
    svg, text = tmp_path / "rows.SVG", tmp_path / "rows.txt"
    assert run(*ROWS, "-o", str(svg)).output == ""
    ET.fromstring(svg.read_text(encoding="utf-8"))
    assert run(*ROWS, "-o", str(text)).output == ""
    assert text.read_text(encoding="utf-8") == run(*ROWS).stdout


def test_several_share_a_mesh(tmp_path: Path) -> None:
    result = run("{devices=[4,2]<=[8]}", "{devices=[2,4]<=[8]}", "{replicated}", "--axis-names", "a,b,c")
    assert result.stdout.count("on a=2,b=2,c=2 (inferred)") == 3
    path = tmp_path / "all.svg"
    run("{devices=[4,2]<=[8]}", "{devices=[2,4]<=[8]}", "-o", str(path))
    assert path.read_text(encoding="utf-8").count("<svg ") == 3


def test_a_value_of_a_program(tmp_path: Path) -> None:
    path = tmp_path / "step.mlir"
    path.write_text(PROGRAM)
    result = run(str(path), "--op", "%arg0")
    assert "8 in 2 shards of 4" in result.stdout
    assert "manual along" in run(str(path), "--at", "7").stdout


def test_too_many(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("\n".join(f"sharding={{devices=[{n}]<=[{n}]}}" for n in range(2, 20)))
    result = run(str(path))
    assert result.exit_code == 2
    assert "has 18 different shardings; choose with --at LINE or --op NAME" in result.stderr
    assert run(str(path), "--at", "3").exit_code == 0


@pytest.mark.parametrize("text", ["[{", "{devices=[2,2]<=[16]}", "zz"])
def test_errors(text: str) -> None:
    result = run(text, "--mesh", "x=2")
    assert result.exit_code == 1
    assert isinstance(result.exception, SdyBridgeError)
    assert "^" in str(result.exception)
