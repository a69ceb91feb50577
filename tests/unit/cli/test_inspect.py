"""`sdybridge inspect`: the tables, the JSON, several files, and programs with errors."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from jaxlib import _hlo

from sdybridge.cli import cli
from sdybridge.cli.tables import aligned
from sdybridge.modules import export_module

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

PROGRAM = """\
module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<64x32xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, \
%arg1: tensor<i32>) -> (tensor<64x32xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", ?}]>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"y", ?}]> : tensor<64x32xbf16>
    return %0 : tensor<64x32xbf16>
  }
}
"""
TABLES = """\
step.mlir: MLIR text, module jit_f, 8 partitions

Meshes
  @mesh  <["x"=2, "y"=4]>  8 devices

Values with a sharding
  3  sdy.sharding

Distinct shardings
  count  sharding                 devices  axes  per device  largest
      2  <@mesh, [{}, {"y", ?}]>        8  y        2.0 KiB  result 0 bf16[64,32], line 3
      1  <@mesh, [{"x"}, {"y"}]>        8  x, y       512 B  %arg0 bf16[64,32], line 3

Inputs: 2 values, at least 512 B per device
  name   global       local       per device  sharding
  %arg0  bf16[64,32]  bf16[32,8]       512 B  <@mesh, [{"x"}, {"y"}]>
  %arg1  s32[]        -                    -  -

Outputs: 1 value, 1.0 KiB per device
  name      global       local       per device  sharding
  result 0  bf16[64,32]  bf16[64,8]     1.0 KiB  <@mesh, [{}, {"y", ?}]>

"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "step.mlir"
    file.write_text(PROGRAM)
    return file


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["inspect", *arguments], input=given)


@pytest.mark.usefixtures("program")
def test_tables() -> None:
    result = run("step.mlir")
    assert result.exit_code == 0
    assert result.stdout == TABLES


def test_no_sum_of_sizes_that_are_not_known() -> None:
    text = "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n  return %a : tensor<8xf32>\n}\n"
    lines = run("-", given=text).stdout.splitlines()
    assert "Inputs: 1 value" in lines
    assert "Outputs: 1 value" in lines


def test_a_compressed_proto(tmp_path: Path) -> None:
    text = "HloModule m\n\nENTRY e {\n  ROOT a = f32[8]{0} parameter(0), sharding={devices=[2]<=[2]}\n}\n"
    whole = gzip.compress(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    file = tmp_path / "m.hlo.pb.gz"
    file.write_bytes(whole)
    assert f"{file}: HLO proto, module m" in run(str(file)).stdout
    for damaged in (whole[:-9], whole[:20] + b"\0\0\0" + whole[23:], b"\x1f\x8b"):
        file.write_bytes(damaged)
        result = run(str(file))
        assert (result.exit_code, result.stderr.partition(":")[2][:32]) == (
            1,
            " error: the gzip file is damaged",
        )


@pytest.mark.usefixtures("program")
def test_json() -> None:
    report = json.loads(run("step.mlir", "--json").stdout)
    assert set(report) == {
        "file", "format", "module", "num_partitions", "is_partitioned", "meshes", "carriers", "shardings",
        "inputs", "outputs",
    }  # fmt: skip
    assert report["carriers"] == {"sdy.sharding": 3}
    first = report["shardings"][0]
    assert (first["count"], first["devices"], first["axes"], first["bytes_per_device"]) == (2, 8, ["y"], 2048)
    assert report["inputs"][0] == {
        "name": "%arg0",
        "in": "main",
        "opcode": "argument",
        "element_type": "bf16",
        "global_shape": [64, 32],
        "local_shape": [32, 8],
        "bytes_per_device": 512,
        "sharding": '<@mesh, [{"x"}, {"y"}]>',
        "at": "3:68",
    }
    assert report["inputs"][1]["sharding"] is None


def test_hlo_shardings_from_standard_input() -> None:
    result = run("-", "--json", given=export_module(PROGRAM).text)
    report = json.loads(result.stdout)
    assert report["file"] == "<stdin>"
    assert report["carriers"] == {"mhlo.sharding": 3}
    assert [use["bytes_per_device"] for use in report["shardings"]] == [2048, 512]
    assert [use["devices"] for use in report["shardings"]] == [8, 8]


HLO = """\
HloModule jit_f, num_partitions=8

ENTRY main {
  a = bf16[64,32]{1,0} parameter(0), sharding={devices=[2,4]<=[8]}
  ROOT b = bf16[64,32]{1,0} copy(a), sharding={mesh['x'=2,'y'=4], [{}, {'y', ?}]}
}
"""
HLO_TABLES = """\
step.txt: HLO text, module jit_f, 8 partitions

Values with a sharding
  2  sharding

Distinct shardings
  count  sharding                             devices  axes  per device  largest
      1  {devices=[2,4]<=[8]}                       8  -          512 B  a bf16[64,32], line 4
      1  {mesh['x'=2,'y'=4], [{}, {'y', ?}]}        8  y        1.0 KiB  b bf16[64,32], line 5

Inputs: 1 value, 512 B per device
  name  global       local       per device  sharding
  a     bf16[64,32]  bf16[32,8]       512 B  {devices=[2,4]<=[8]}

Outputs: 1 value, 1.0 KiB per device
  name  global       local       per device  sharding
  b     bf16[64,32]  bf16[64,8]     1.0 KiB  {mesh['x'=2,'y'=4], [{}, {'y', ?}]}

"""


def test_hlo_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.txt").write_text(HLO)
    assert run("step.txt").stdout == HLO_TABLES


def test_hlo_proto(tmp_path: Path) -> None:
    file = tmp_path / "step.hlo.pb"
    file.write_bytes(_hlo.hlo_module_from_text(HLO).as_serialized_hlo_module_proto())
    report = json.loads(run(str(file), "--json").stdout)
    assert (report["format"], report["module"], report["carriers"]) == ("HLO proto", "jit_f", {"sharding": 2})
    assert [use["sharding"] for use in report["shardings"]] == [
        "{devices=[2,4]<=[8]}",
        "{mesh['x'=2,'y'=4], [{}, {'y', ?}]}",
    ]
    assert [value["local_shape"] for value in report["inputs"]] == [[32, 8]]
    assert int(report["inputs"][0]["at"]) > 0
    table = run(str(file)).stdout
    assert "HLO proto, module jit_f" in table
    assert ", byte " in table


@pytest.mark.usefixtures("program")
def test_several_files_and_one_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.mlir").write_text(PROGRAM.replace('{"x"}', "{x}"))
    result = run("bad.mlir", "step.mlir", "--json")
    assert result.exit_code == 1
    assert [report["file"] for report in json.loads(result.stdout)] == ["step.mlir"]
    assert "bad.mlir:3:" in result.stderr


def test_rows_beyond_the_first(tmp_path: Path) -> None:
    arguments = ", ".join(f"%a{i}: tensor<8xf32>" for i in range(25))
    (tmp_path / "many.mlir").write_text(f"func.func @main({arguments}) {{ return }}")
    few, every = (run(str(tmp_path / "many.mlir"), *option).stdout for option in ([], ["--all"]))
    assert "... 5 more, shown with --all" in few
    assert "%a24" not in few
    assert "%a24" in every


@pytest.mark.parametrize("text", ["", "module {}", "// nothing\n"])
def test_a_program_without_shardings(text: str) -> None:
    result = run("-", given=text)
    assert result.exit_code == 0
    assert result.stdout == "<stdin>: MLIR text\n\n"


def test_control_codes_in_names_do_not_reach_the_terminal() -> None:
    result = run("-", given=PROGRAM.replace('"x"', '"\x1b[31mx"'))
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "\ufffd[31mx" in result.stdout


def test_columns_give_way_on_a_narrow_terminal() -> None:
    rows = [("1", "a" * 50, "end"), ("22", "b", "x")]
    lines = aligned(rows, right=[0], crop=1, width=30)
    assert lines == ["   1  aaaaaaaaaaaaaaaa...  end", "  22  b                    x"]
    assert max(map(len, lines)) == 30


def test_columns_give_way_in_order() -> None:
    rows = [("7", "a sharding of thirty characters", "axes", "largest value")]
    texts = [aligned(rows, crop=1, drop=[2, 3], width=width)[0] for width in (80, 58, 52, 40, 20)]
    assert texts == [
        "  7  a sharding of thirty characters  axes  largest value",
        "  7  a sharding of thirty characters  axes  largest value",
        "  7  a sharding of thirty characters  largest value",
        "  7  a sharding of thirty characters",
        "  7  a sharding o...",
    ]
