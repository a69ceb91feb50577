"""The commands that import: `import`, `roundtrip`, and `convert` of HLO shardings."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from sdybridge.bridge.notations import Notation, notation_of
from sdybridge.cli import cli
from sdybridge.errors import SdyBridgeError

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

PROGRAM = """\
func.func @main(%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"}) -> (i32 {mhlo.sharding = "{manual}"}) {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{replicated}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1:2 = "stablehlo.if"(%p) ({
    stablehlo.return %0 : tensor<8x8xf32>
  }) {mhlo.sharding = "{replicated}"} : (tensor<i1>) -> (tensor<8x8xf32>, i32)
}
"""  # noqa: E501
IMPORTED = """\
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (i32 {sdy.sharding = #sdy.sharding<@mesh, []>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x8xf32>
  %1:2 = "stablehlo.if"(%p) ({
    stablehlo.return %0 : tensor<8x8xf32>
  }) : (tensor<i1>) -> (tensor<8x8xf32>, i32)
}
"""  # noqa: E501


def run(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=given, prog_name="sdybridge")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "step.hlo.mlir"
    path.write_text(PROGRAM)
    return path


# ---------------------------------------------------------------- import


def test_import(program: Path) -> None:
    result = run("import", str(program), "--axis-names", "x,y")
    assert result.exit_code == 0
    assert result.stdout == IMPORTED
    summary = result.stderr.splitlines()
    assert re.fullmatch(rf"{program}: 3 sites, 3 distinct shardings, 1 mesh, \d+\.\d ms", summary[0])
    assert summary[1:4] == [
        "  rewritten: 1 stablehlo.custom_call @Sharding",
        '  mesh:      @mesh = <["x"=2, "y"=4]>',
        "  removed:   {replicated} from 1 control-flow operation",
    ]
    assert [line.split()[:2] for line in summary[4:]] == [["lost:", "chosen-openness"], ["manual", "at"]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--mesh", "x=2,y=4"], '<@mesh, [{"y"}, {"x"}]>'),
        (["--mesh", "@m=x=2,y=4"], '<@m, [{"y"}, {"x"}]>'),
        (["--mesh", "@m=x=3", "--mesh", "@n=y=8"], '<@n, [{"y":(2)4}, {"y":(1)2}]>'),
        (["--open-dims", "args"], '<@mesh, [{"_axis_1", ?}, {"_axis_0", ?}]>'),
        (["--open-dims", "all"], '<@mesh, [{"_axis_1", ?}, {"_axis_0", ?}]>'),
        (["--open-dims", "results"], '<@mesh, [{"_axis_1"}, {"_axis_0"}]>'),
        (["--open-dims", "args=0"], '<@mesh, [{"_axis_1"}, {"_axis_0"}]>'),
        (["--open-dims", "all", "--open-dims", "args=0"], '<@mesh, [{"_axis_1"}, {"_axis_0"}]>'),
    ],
)
def test_import_options(program: Path, arguments: list[str], expected: str) -> None:
    result = run("import", str(program), "-q", *arguments)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert f"#sdy.sharding{expected}" in result.stdout


def test_import_keeps_added_shardings_if_asked_to(program: Path) -> None:
    result = run("import", str(program), "--no-remove-added-sharding-from-control-flow")
    assert "#sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, []>]>" in result.stdout
    assert "removed" not in result.stderr


def test_import_from_standard_input_to_a_file(tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    result = run("import", "-", "-o", str(output), "--axis-names", "x,y", given=PROGRAM)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr.startswith("<stdin>: ")
    assert output.read_text() == IMPORTED


def test_import_json(program: Path) -> None:
    result = run("import", str(program), "--json")
    summary = json.loads(result.stderr)
    assert summary["sites"] == 3
    assert summary["meshes"] == {"mesh": '<["_axis_0"=2, "_axis_1"=4]>'}
    assert summary["operations"] == {"stablehlo.custom_call @Sharding": 1}
    assert summary["removed_replicated"] == 1
    assert summary["losses"] == {"chosen-openness": 3, "manual": 1}
    assert summary["shardings"][0] == {
        "before": "{devices=[4,2]<=[2,4]T(1,0)}",
        "after": '#sdy.sharding<@mesh, [{"_axis_1"}, {"_axis_0"}]>',
        "count": 1,
        "first": "1:54",
        "losses": [{"kind": "chosen-openness", "detail": "closed"}],
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--open-dims", "some"], "--open-dims some: write args, results or all"),
        (["--open-dims", "args=2"], "--open-dims args=2: write args, results or all"),
        (["--mesh", "x"], "'x' is no mesh"),
        (["--mesh", "x=2", "--mesh", "y=2"], "several meshes need names"),
        (["--mesh", "@m=x=2", "--mesh", "@m=y=2"], "the mesh @m is given twice"),
    ],
)
def test_wrong_usage_of_import(program: Path, arguments: list[str], said: str) -> None:
    result = run("import", str(program), *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_errors_of_import(program: Path, tmp_path: Path) -> None:
    program.write_text(PROGRAM.replace("{manual}", "{manuel}"))
    output = tmp_path / "out.mlir"
    result = run("import", str(program), "-o", str(output))
    assert isinstance(result.exception, SdyBridgeError)
    assert str(result.exception).startswith(f"{program}:1:114: error: ")
    assert not output.exists()


# ---------------------------------------------------------------- roundtrip

SHARDY = """sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"DIM}]>}) {
}
"""


def test_roundtrip_without_differences() -> None:
    result = run("roundtrip", "-", given=SHARDY.replace("DIM", ""))
    assert result.exit_code == 0
    assert re.fullmatch(
        r"<stdin>: 1 site, 1 distinct sharding, none of them different, \d+\.\d ms\n"
        r"  exported again: the same\n",
        result.stdout,
    )


def test_roundtrip_with_differences(tmp_path: Path) -> None:
    output = tmp_path / "imported.mlir"
    result = run("roundtrip", "-", "-o", str(output), given=SHARDY.replace("DIM", ", ?"))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1:] == [
        "  exported again: the same",
        "<stdin>:2:48: at 1 site",
        '  before: <@mesh, [{"x", ?}]>',
        "  hlo:    {devices=[2,4]<=[8] last_tile_dim_replicate}",
        '  after:  <@mesh, [{"x"}]>',
        '  lost:   openness: {"x", ?}',
        "  lost:   chosen-openness: closed",
    ]
    assert output.read_text() == SHARDY.replace("DIM", "")


def test_roundtrip_onto_inferred_meshes() -> None:
    result = run("roundtrip", "-", "--infer-meshes", "--json", given=SHARDY.replace("DIM", ""))
    assert result.exit_code == 1
    compared = json.loads(result.stdout)
    assert compared["is_stable"]
    assert compared["meshes"] == {"mesh": '<["x"=2, "y"=4]>'}
    assert compared["imported_meshes"] == {"mesh": '<["_axis_0"=2, "_axis_1"=4]>'}
    assert compared["shardings"][0]["after"] == '<@mesh, [{"_axis_0"}]>'
    assert not compared["shardings"][0]["is_same"]


def test_quiet_roundtrip() -> None:
    result = run("roundtrip", "-", "-q", given=SHARDY.replace("DIM", ", ?"))
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "")


# ---------------------------------------------------------------- convert

# arguments, and what is written
CONVERSIONS = [
    ("'{devices=[4,2]<=[2,4]T(1,0)}' --mesh x=2,y=4", '#sdy.sharding<@mesh, [{"y"}, {"x"}]>'),
    ("'{devices=[4,2]<=[2,4]T(1,0)}' --mesh @m=x=2,y=4", '#sdy.sharding<@m, [{"y"}, {"x"}]>'),
    (
        "'{devices=[4,2]<=[2,4]T(1,0)}' --axis-names a",
        '#sdy.sharding<mesh<["a"=2, "_axis_1"=4]>, [{"_axis_1"}, {"a"}]>',
    ),
    ("'{devices=[2]<=[2]}' --open", '#sdy.sharding<mesh<["_axis_0"=2]>, [{"_axis_0", ?}]>'),
    ("'{replicated}' --rank 2", "#sdy.sharding<mesh<[]>, [{}, {}]>"),
    ("'{replicated}' --rank 2 --mesh x=4", "#sdy.sharding<@mesh, [{}, {}]>"),
    ("'{maximal device=3}'", "#sdy.sharding<mesh<[], device_ids=[3]>, []>"),
    ("'{maximal device=3}' --mesh x=4", "#sdy.sharding<@maximal_mesh_3, []>"),
    (
        "'{{replicated}, {devices=[2]<=[2]}}' --rank 0,1 --mesh x=2",
        '#sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}]>]>',
    ),
    ("'{}'", "#sdy.sharding_per_value<[]>"),
    ("08031a0202024a0104520100 --mesh x=4", '#sdy.sharding<@mesh, [{"x":(1)2}, {"x":(2)2}]>'),
    ("CAMaAgICSgEEUgEA --to hlo", "{devices=[2,2]<=[4]}"),
    (r"'\08\03\1A\02\02\01\22\02\00\01' --to hlo", "{devices=[2,1]0,1}"),
    ("'{devices=[2,2]<=[1,4]T(1,0)}' --to hlo", "{devices=[2,2]<=[4]}"),
    ("'{devices=[2,2]<=[4]}' --to proto-hex", "08031a0202024a0104520100"),
    ("'[{\"x\"}]' --to sdy", '#sdy.sharding<@mesh, [{"x"}]>'),
]


@pytest.mark.parametrize(("arguments", "expected"), CONVERSIONS)
def test_convert(arguments: str, expected: str) -> None:
    result = run("convert", *shlex.split(arguments), "-q")
    assert result.exit_code == 0
    assert result.stdout == expected + "\n"
    assert result.stderr == ""


def test_converted_back_it_is_the_same() -> None:
    given = "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"
    there = run("convert", given, "-q").stdout.strip()
    assert run("convert", there, "-q").stdout.strip() == given


def test_lines_share_a_mesh() -> None:
    lines = '{devices=[8,1]<=[8]}\n[{"x"}]\n{devices=[2,4]<=[8]}\n'
    result = run("convert", "-", "-q", "--mesh", "x=8", given=lines)
    assert result.stdout.splitlines() == [
        '#sdy.sharding<@mesh, [{"x"}, {}]>',
        "{devices=[8]<=[8]}",
        '#sdy.sharding<@mesh, [{"x":(1)2}, {"x":(2)4}]>',
    ]
    result = run("convert", "-", "-q", given="{devices=[8,1]<=[8]}\n{devices=[2,4]<=[8]}\n")
    assert result.stdout.splitlines() == [
        '#sdy.sharding<mesh<["_axis_0"=2, "_axis_1"=4]>, [{"_axis_0", "_axis_1"}, {}]>',
        '#sdy.sharding<mesh<["_axis_0"=2, "_axis_1"=4]>, [{"_axis_0"}, {"_axis_1"}]>',
    ]


def test_convert_lists_losses_of_the_import() -> None:
    result = run("convert", "{devices=[2,1,4]<=[8] last_tile_dims={manual}}")
    assert [line.partition(" (")[0] for line in result.stderr.splitlines()] == [
        'lost manual: "_axis_1"',
        "chose openness: closed",
    ]


def test_convert_to_json() -> None:
    answer = json.loads(run("convert", "{devices=[2]<=[2]}", "--to", "json").stdout)
    assert answer["sharding"] == '#sdy.sharding<mesh<["_axis_0"=2]>, [{"_axis_0"}]>'
    assert answer["mesh"] == '#sdy.mesh<["_axis_0"=2]>'
    assert answer["hlo"] == "{devices=[2]<=[2]}"
    assert answer["losses"] == [{"kind": "chosen-openness", "path": ["dim_shardings"], "detail": "closed"}]
    answer = json.loads(run("convert", "{{replicated}}", "--rank", "1", "--to", "json").stdout)
    assert answer["sharding"] == ["#sdy.sharding<mesh<[]>, [{}]>"]


@pytest.mark.parametrize(
    ("arguments", "given", "error"),
    [
        (["{devices=[2,2]<=[16]}"], None, "<text>:1:17: error: the grid [2,2] has 4 devices"),
        (["{replicated}"], None, "help: give the number of dimensions of the tensor, such as --rank 2"),
        (["{devices=[8]<=[8]}", "--mesh", "x=4"], None, "the sharding is on 8 devices, the mesh has 4"),
        (["{devices=[2]<=[2]}", "--rank", "2"], None, "tiles tensors of rank 1, not of rank 2"),
        (["replicated"], None, "help: write {replicated}"),
        (["zz~"], None, "note: this was read as a proto"),
        (["{devices=[2]0,0}"], None, "device 0 is listed more than once"),
        (["-"], "{devices=[2]<=[2]}\n{oops}\n", "<stdin>:2:2: error:"),
    ],
)
def test_convert_errors(arguments: list[str], given: str | None, error: str) -> None:
    result = run("convert", *arguments, given=given)
    assert isinstance(result.exception, SdyBridgeError)
    assert error in str(result.exception)
    assert (result.stdout == "") == (given is None)


@pytest.mark.parametrize("rank", ["x", "-1", "1,", "1000"])
def test_bad_ranks(rank: str) -> None:
    assert run("convert", "{replicated}", "--rank", rank).exit_code == 2


def test_ranks_for_another_tuple() -> None:
    result = run("convert", "{{replicated}, {manual}, {unknown}}", "--rank", "1,2")
    assert result.exit_code == 2
    assert "--rank has 2 ranks, and the tuple has 3 elements" in result.stderr


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        (" [{}]", Notation.SDY),
        ("<@m, []>", Notation.SDY),
        ("#sdy.sharding<@m, []>", Notation.SDY),
        ("", Notation.SDY),
        (" {replicated}", Notation.HLO),
        ("/*c*/{manual}", Notation.HLO),
        ("devices=[2]<=[2]", Notation.HLO),
        ("CAMaAgICSgEEUgEA", Notation.PROTO),
        ('"\\08"', Notation.PROTO),
        (" PartitionSpec('x')", Notation.PARTITION_SPEC),
    ],
)
def test_notation(text: str, notation: Notation) -> None:
    assert notation_of(text) is notation


def test_convert_lists_what_all_elements_of_a_tuple_lose_once() -> None:
    result = run("convert", f"{{{', '.join(['{devices=[2,4]<=[8]}'] * 60)}}}")
    assert result.stdout.count('_axis_1"=4') == 60
    assert result.stderr.count("chose openness: closed") == 1


# ---------------------------------------------------------------- carriers


KEPT = """\
module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {}]>}) {
    return
  }
}
"""


def test_carriers_there_and_back(tmp_path: Path) -> None:
    exported = run("export", "-", "--carrier", "sdy", given=KEPT)
    assert exported.exit_code == 0
    assert "lost:" not in exported.stderr
    path = tmp_path / "kept.mlir"
    path.write_text(exported.stdout)
    back = run("import", str(path))
    assert back.stdout == KEPT
    assert "  carriers:  1 sharding put back as they were" in back.stderr.splitlines()
    summary = json.loads(run("import", str(path), "--json").stderr)
    assert (summary["from_carriers"], summary["dropped_without_carrier"], summary["losses"]) == (1, 0, {})


def test_no_carriers() -> None:
    exported = run("export", "-", "--carrier", "sdy", "-q", given=KEPT).stdout
    result = run("import", "-", "--no-carriers", "-q", "--axis-names", "a,b", given=exported)
    assert 'sdy.sharding<@mesh, [{"a"}, {}]>' in result.stdout
    assert "xla.sdy.sharding" in result.stdout
