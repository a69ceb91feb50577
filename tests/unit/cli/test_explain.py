"""`sdybridge explain`: shardings, messages, lines and values of programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.unit.modules.test_hlo_proto import ONE

from sdybridge.cli import cli
from sdybridge.errors import SdyBridgeError

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

OLD = (
    "2025-04-14 17:55:24.09: E xla/service/spmd/spmd_partitioner.cc:621] [spmd] Involuntary full "
    "rematerialization. The compiler was not able to go from sharding {devices=[2,1,4]<=[4,2]T(1,0)} to "
    "{devices=[1,8,1]<=[8]} without doing a full rematerialization of the tensor for HLO operation: "
    "%copy = f32[8,16,4]{2,1,0} copy(%add), sharding={devices=[2,1,4]<=[4,2]T(1,0)}. You probably want to "
    "enrich the sharding annotations to prevent this from happening.\n"
)
NEW = (
    "W0101 spmd_partitioner.cc:700] [SPMD] Involuntary full rematerialization. The compiler cannot go from "
    "sharding {maximal device=0} to {devices=[4,1]<=[4]} efficiently for HLO operation %gte = "
    "f32[8,8]{1,0:T(8,128)} get-tuple-element(%t). As the last resort, SPMD will replicate the tensor.\n"
)
PROGRAM = """\
module @jit_f {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.abs %arg0 : tensor<8x4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"y"}]> : tensor<8x4xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}, {"y"}]>] \
out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x4xf32>) {
      %3 = sdy.sharding_constraint %arg1 <@mesh, [{}, {"y"}]> : tensor<4x4xf32>
      sdy.return %3 : tensor<4x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return
  }
}
"""
HLO = """\
HloModule jit_f, num_partitions=8

ENTRY main {
  %p = f32[8,4]{1,0} parameter(0), sharding={devices=[2,4]<=[8]}
  %q = f32[8,4] parameter(1), frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"x\\"}, {}]>"}
  ROOT %t = (f32[8,4]{1,0}, s32[]) tuple(%p, %c), sharding={{devices=[2,4]<=[8]}, {replicated}}
}
"""


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["explain", *arguments], input=given, prog_name="sdybridge")


def error_of(result: Result) -> str:
    """What `main` shows for an error of the input."""
    assert isinstance(result.exception, SdyBridgeError)
    assert result.stdout == ""
    return str(result.exception)


def facts(*arguments: str, given: str | None = None) -> Any:
    result = run(*arguments, "--json", given=given)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "step.mlir"
    path.write_text(PROGRAM)
    return str(path)


def test_one_sharding() -> None:
    result = run('[{"y"}, {}]', "--mesh", "x=2,y=4", "--shape", "f32[64,128]")
    assert result.exit_code == 0
    assert '64 in 4 shards of 16 by "y"' in result.stdout
    assert "\x1b" not in result.stdout


def test_colours_on_a_terminal() -> None:
    result = CliRunner().invoke(cli, ["explain", "{devices=[2]<=[2]}"], color=True)
    assert "\x1b[36m  dimension 0\x1b[0m" in result.stdout
    assert "\x1b[1m" in result.stdout


def test_a_sharding_on_standard_input() -> None:
    assert run("-", given="{devices=[2,4]<=[8]}\n").stdout == run("{devices=[2,4]<=[8]}").stdout.replace(
        "{devices=[2,4]<=[8]} on", "<stdin>:1:1\n{devices=[2,4]<=[8]} on", 1
    )
    found = facts("-", given="08031a0304010230014a02020452020100")
    assert found[0]["notation"] == "proto"


def test_two_shardings() -> None:
    found = facts("P('x', None)", "P(None, 'x')", "--mesh", "x=4,y=2", "--shape", "bf16[8,16]")
    assert [step["kind"] for step in found["steps"]] == ["all-to-all"]


def test_a_rematerialization_warning() -> None:
    found = facts("-", "--mesh", "x=4,y=2", given=OLD * 3)
    assert len(found) == 1
    assert found[0]["count"] == 3
    assert found[0]["name"] == "%copy"
    assert found[0]["before"]["tensor"]["shape"] == [16, 16, 16]
    assert [one["gained"] for one in found[0]["dimensions"]] == [[], ['"x"', '"y"'], []]
    text = run("-", "--mesh", "x=4,y=2", given=OLD).stdout
    assert "The compiler gathers the whole tensor instead: 16.0 KiB on every device." in text


def test_the_newer_warning_as_an_argument() -> None:
    result = run(NEW)
    assert result.exit_code == 0
    assert "<text>:1:" in result.stdout
    assert "%gte" in result.stdout
    assert "256 B to 64 B" in result.stdout
    assert "The compiler gathers the whole tensor instead: 256 B on every device." in result.stdout


def test_a_log_with_several() -> None:
    found = facts("-", given=f"start\n{OLD}noise {{not a sharding}}\n{NEW}{OLD}")
    assert [(one["line"], one["count"]) for one in found] == [(2, 2), (4, 1)]


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        (3, ['#sdy.sharding<@mesh, [{"x"}, {}]>']),
        (5, ['#sdy.sharding<@mesh, [{}, {"y"}]>']),
        (6, ['#sdy.sharding<@mesh, [{"x"}, {"y"}]>', '#sdy.sharding<@mesh, [{"x"}, {}]>']),
    ],
)
def test_a_line_of_a_program(program: str, line: int, texts: list[str]) -> None:
    found = facts(program, "--at", str(line))
    assert [one["text"] for one in found] == texts
    assert {one["line"] for one in found} == {line}
    assert all(one["tensor"]["shape"] == [8, 4] for one in found)


def test_manual_axes_come_from_the_scope(program: str) -> None:
    (found,) = facts(program, "--at", "7")
    assert found["manual_axes"] == ["x"]
    assert found["hlo"] == "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"
    assert found["mesh_origin"] == "given"


@pytest.mark.parametrize(
    ("name", "lines"),
    [("%arg0", [3]), ("arg0", [3]), ("%1", [5, 6]), ("sdy.sharding_constraint", [5, 7]), ("@main", [3])],
)
def test_a_value_of_a_program(program: str, name: str, lines: list[int]) -> None:
    assert [one["line"] for one in facts(program, "--op", name)] == lines


def test_hlo(tmp_path: Path) -> None:
    path = tmp_path / "step.hlo"
    path.write_text(HLO)
    (found,) = facts(str(path), "--at", "4")
    assert found["shard"] == {"shape": [4, 1], "element": "f32", "bytes": 16}
    (found,) = facts(str(path), "--op", "q", "--mesh", "x=2,y=4")
    assert found["sdy"] == '#sdy.sharding<@mesh, [{"x"}, {}]>'
    found = facts(str(path), "--op", "t")
    assert [(one["name"], one["tensor"]["shape"]) for one in found] == [("t{0}", [8, 4]), ("t{1}", [])]
    assert [one["count"] for one in facts(str(path), "--mesh", "x=2,y=4")] == [2, 1, 1]


def test_a_program_as_a_whole(program: str) -> None:
    found = facts(program)
    assert [(one["name"], one["line"]) for one in found][:2] == [("%arg0", 3), ("%1", 5)]
    assert all(one["tensor"] for one in found)


def test_a_proto(tmp_path: Path) -> None:
    path = tmp_path / "step.pb"
    path.write_bytes(ONE)
    for found in (facts(str(path)), facts(str(path), "--op", "a")):
        assert [(one["name"], one["hlo"], one["tensor"]["shape"]) for one in found] == [
            ("a", "{devices=[2,1]<=[2]}", [8, 4])
        ]
    result = run(str(path), "--at", "1")
    assert result.exit_code == 2
    assert "a proto has no lines" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at", "4"], "line 4 has no sharding"),
        (["--at", "400"], "there is no line 400: the text has 12"),
        (["--op", "%arg9"], "nothing named %arg9 has a sharding"),
    ],
)
def test_nothing_there(program: str, arguments: list[str], message: str) -> None:
    error = error_of(run(program, *arguments))
    assert message in error
    assert "note:" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{replicated}"] * 3, "3 texts are too many"),
        (["{replicated}", "{manual}", "--at", "3"], "look into one program"),
        (["{replicated}", "--at", "3"], "there is no file"),
        (["{replicated}", "--shape", "f32[4"], "is no type of a tensor"),
        (["{replicated}", "--at", "0"], "Invalid value"),
        ([], "Missing argument"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[{"q"}]', "<text>:1:3"),
        ("{devices=[2,2]<=[16]}", "<text>:1:"),
        ("zz", "<text>:1:1"),
        ("", "<text>:1:1"),
    ],
)
def test_errors(text: str, place: str) -> None:
    error = error_of(run(text, "--mesh", "x=2"))
    assert error.startswith(place)
    assert "^" in error


def test_the_second_of_two_is_wrong() -> None:
    assert error_of(run('[{"x"}]', '[{"q"}]', "--mesh", "x=2")).startswith("<second>:1:3")


@pytest.mark.parametrize(
    "text", ["%b = f32[8]{0} copy(%a)\n", "ENTRY e {\n  ROOT a = f32[] parameter(0)\n}\n"]
)
def test_a_program_without_shardings(text: str, tmp_path: Path) -> None:
    file = tmp_path / "m.hlo"
    file.write_text(text)
    result = run(str(file))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"{file}: no shardings\n")


@pytest.mark.parametrize("given", [OLD, NEW])
def test_messages_as_a_terminal_shows_them(given: str) -> None:
    """With codes for colours, and broken into lines where these are full."""
    expected = run("-", given=given).stdout.partition("\n")[2]
    coloured = given.replace("sharding {", "sharding \x1b[1m{\x1b[0;31m").replace("HLO op", "\x1b[KHLO op")
    assert run("-", given=coloured).stdout.partition("\n")[2] == expected
    assert run(coloured).stdout.partition("\n")[2] == expected
    wrapped = given.replace("devices=[", "devices=[\n").replace("[8,", "[8,\n")
    lines = run("-", given=wrapped).stdout.splitlines()
    assert lines[0].endswith(": %copy" if given is OLD else ": %gte")
    assert lines[1].startswith("from  {") and lines[2].startswith("to    {")  # noqa: PT018


def test_a_sharding_with_codes_for_colours() -> None:
    assert run("\x1b[32m{devices=[2]<=[2]}\x1b[0m").output == run("{devices=[2]<=[2]}").output


def test_one_choice(tmp_path: Path) -> None:
    program = tmp_path / "f.mlir"
    program.write_text(PROGRAM)
    result = run(str(program), "--at", "3", "--op", "%arg0")
    assert result.exit_code == 2
    assert "give one of them" in result.output
