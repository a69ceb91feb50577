"""The summaries of conversions: a line for each function, and warnings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from sdybridge.cli import cli

if TYPE_CHECKING:
    from click.testing import Result

MESH = 'sdy.mesh @mesh = <["x"=2]>\n'
MIXED = (
    MESH
    + """\
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
  return
}
"""
)


def run(*arguments: str, given: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "-"], input=given, prog_name="sdybridge")


def program(functions: int) -> str:
    """A program whose k-th function has k shardings."""
    argument = 'tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}'
    return MESH + "".join(
        f"func.func @f{k}({', '.join([f'%a{i}: {argument}' for i in range(k)])}) {{ return }}\n"
        for k in range(1, functions + 1)
    )


def table(result: Result) -> list[str]:
    """The lines of the summary from the head of the table on."""
    lines: list[str] = result.stderr.splitlines()
    start = next((i for i, line in enumerate(lines) if line.split()[:1] == ["function"]), len(lines))
    return lines[start:]


def test_one_function_needs_no_table() -> None:
    assert table(run("export", given=program(1))) == []
    assert table(run("export", "--all", given=program(1))) == [
        "  function  sites  operations  kept  lost at",
        "  f1            1           0     0  axis-names 1, openness 1",
    ]


def test_a_few_functions() -> None:
    program_of_two = program(2) + MIXED.removeprefix(MESH)
    assert table(run("export", given=program_of_two)) == [
        "  function  sites  operations  kept  lost at",
        "  f2            2           0     0  axis-names 2, openness 2",
        "  f1            1           0     0  axis-names 1, openness 1",
        "  main          1           0     1  axis-names 1",
    ]
    assert table(run("import", given=program_of_two)) == [
        "  function  sites  operations  kept  lost at",
        "  main          1           1     1  chosen-openness 1",
        "  f1            0           0     1  -",
        "  f2            0           0     2  -",
    ]


@pytest.mark.parametrize("functions", [11, 200])
def test_many_functions(functions: int) -> None:
    lines = table(run("export", given=program(functions)))
    assert [line.split()[0] for line in lines[1:-1]] == [f"f{functions - k}" for k in range(10)]
    assert lines[-1] == f"  ... and {functions - 10} more; --all lists them"
    assert len({line.index("  axis-names") for line in lines[1:-1]}) == 1
    assert len(table(run("export", "-a", given=program(functions)))) == functions + 1


def test_hlo_has_computations() -> None:
    text = """\
HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=2]>}}

f {
  ROOT p = f32[8] parameter(0), sharding={devices=[2]<=[2]}
}

ENTRY main {
  a = f32[8] parameter(0), frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"x\\"}]>"}
  ROOT b = f32[8] call(a), to_apply=f
}
"""
    assert table(run("export", given=text)) == [
        "  function  sites  operations  kept  lost at",
        "  main          1           0     0  axis-names 1",
        "  f             0           0     1  -",
    ]


@pytest.mark.parametrize("command", ["export", "import"])
def test_warnings(command: str) -> None:
    result = run(command, given=MIXED)
    assert result.exit_code == 0
    assert result.stderr.startswith(
        "<stdin>:3:61: warning: GSPMD and Shardy annotations are mixed: XLA will use GSPMD\n"
    )
    assert "help: `sdybridge import` makes all of them Shardy shardings" in result.stderr
    (warning,) = json.loads(run(command, "--json", given=MIXED).stderr)["warnings"]
    assert {**warning, "notes": warning["notes"][2:]} == {
        "rule": "mixed-annotations",
        "message": "GSPMD and Shardy annotations are mixed: XLA will use GSPMD",
        "at": "3:61",
        "notes": ["they turn Shardy off: line 3", "Shardy shardings: line 2"],
        "help": "`sdybridge import` makes all of them Shardy shardings, `sdybridge export` HLO shardings",
    }
    assert run(command, "-q", given=MIXED).stderr == ""
