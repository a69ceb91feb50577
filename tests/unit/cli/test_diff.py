"""The command `diff`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.unit.checks.test_compare_programs import GSPMD, HLO, SHARDY, as_proto

from sdybridge.cli import cli
from sdybridge.errors import SdyBridgeError

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def run(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["diff", *arguments], input=given, prog_name="sdybridge")


def test_two_shardings_that_differ() -> None:
    result = run(
        '[{}, {"model"}]', "{devices=[1,4,2]<=[8] last_tile_dim_replicate}", "--mesh", "batch=2,model=4"
    )
    assert result.exit_code == 1
    assert result.stdout == (
        "different\n"
        '  A: <@mesh, [{}, {"model"}]>  {devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}\n'
        "  B: {devices=[1,4,2]<=[8] last_tile_dim_replicate}\n"
        "  6 of 8 devices hold another part: 1-6\n"
        "  all of them need elements that they did not hold\n"
    )


@pytest.mark.parametrize(
    ("a", "b", "options", "code", "said"),
    [
        ('[{"x"}]', '[{"x"}]', [], 0, "the same\n"),
        ('[{"x"}]', '[{"x", ?}]', [], 0, "the same meaning: they differ in form only\n"),
        ('[{"x"}]', '[{"x", ?}]', ["--exact"], 1, "the same meaning: they differ in form only\n"),
        ('[{"x"}]', "{devices=[2]1,0}", [], 1, "different\n"),
        ("{replicated}", "[{}]", [], 0, "the same meaning"),
        ("{devices=[2]<=[2]}", "08031a010222020100", [], 1, "different"),
    ],
)
def test_exit_codes(a: str, b: str, options: list[str], code: int, said: str) -> None:
    result = run(a, b, "--mesh", "x=2", *options)
    assert (result.exit_code, result.stdout[: len(said)]) == (code, said)


def test_shapes() -> None:
    result = run('[{"x":(1)2}]', "{devices=[4]<=[4]}", "--mesh", "x=4", "--shape", "126")
    assert "     dimension 0 of 126: 63, 63\n" in result.stdout
    assert "     dimension 0 of 126: 32, 32, 32, 30\n" in result.stdout
    assert "  1 needs elements that it did not hold: 1\n" in result.stdout


@pytest.mark.parametrize(
    ("given", "options", "code", "said"),
    [
        ("P('x')", ["--mesh", "x=2"], 0, "notation: Shardy in A, HLO in B"),
        ("P('x')", ["--mesh", "@m=x=2", "--shape", "f32[7]"], 0, "dimension 0 of 7: 4, 3"),
        ("PartitionSpec(None)", ["--mesh", "x=2"], 1, "dimension 0: one piece in A, 2 parts in B"),
    ],
)
def test_partition_specs(given: str, options: list[str], code: int, said: str) -> None:
    result = run(given, "{devices=[2]<=[2]}", *options)
    assert result.exit_code == code, result.output
    assert said in result.output


@pytest.mark.parametrize(("given", "options"), [("P('z')", ["--mesh", "x=2"]), ("P('x')", []), ("P(", [])])
def test_invalid_partition_specs(given: str, options: list[str]) -> None:
    error = run(given, "{devices=[2]<=[2]}", *options).exception
    assert isinstance(error, SdyBridgeError)
    assert "base64" not in str(error)


def test_manual_axes() -> None:
    arguments = ('[{"y"}]', "{devices=[4,2]<=[2,4]T(1,0) last_tile_dims={manual}}", "--mesh", "x=2,y=4")
    assert run(*arguments, "--manual-axes", "x").exit_code == 0
    assert run(*arguments).exit_code == 1


def test_json() -> None:
    report = json.loads(run("{devices=[2]<=[2]}", "{devices=[2]1,0}", "--json").stdout)
    assert report == {
        "a": "{devices=[2]<=[2]}", "b": "{devices=[2]1,0}", "verdict": "different", "equal": False,
        "differences": [], "devices": 2, "changed": [0, 1], "receiving": [0, 1],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (['[{"x"}]', '[{"x"}]', "--shape", "8xa"], "'8xa' is no shape"),
        (['[{"x"}]', '[{"x"}]', "--shape", "f32[?]"], "'f32[?]' is no shape"),
        (["-", "-"], "standard input can be given once only"),
        ([__file__, "{replicated}"], "is a file, and '{replicated}' is none"),
    ],
)
def test_usage(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_tuple_and_a_grid_of_another_rank() -> None:
    error = run("{{replicated}, {manual}}", "{devices=[8]<=[8]}", "--shape", "8x8").exception
    assert "tiles tensors of rank 1, not of rank 2" in str(error)


def test_an_invalid_sharding() -> None:
    result = run('[{"q"}]', "{replicated}", "--mesh", "x=2")
    assert isinstance(result.exception, SdyBridgeError)
    assert str(result.exception).startswith('<A>:1:3: error: the mesh has no axis named "q"\n[{"q"}]\n  ^~~')


class TestPrograms:
    @pytest.fixture
    def files(self, tmp_path: Path) -> dict[str, str]:
        programs: dict[str, str | bytes] = {
            "shardy.mlir": SHARDY,
            "gspmd.mlir": GSPMD,
            "hlo.txt": HLO,
            "hlo.pb": as_proto(HLO),
        }
        programs["other.mlir"] = SHARDY.replace('<@mesh, [{}, {"y"}]>', '<@mesh, [{"y", ?}, {}]>')
        for name, data in programs.items():
            (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return {name: str(tmp_path / name) for name in programs}

    @pytest.mark.parametrize("other", ["gspmd.mlir", "hlo.txt", "hlo.pb"])
    def test_twins(self, files: dict[str, str], other: str) -> None:
        result = run(files["shardy.mlir"], files[other])
        assert result.stdout == "4 values with a sharding: 4 the same meaning\n"
        assert result.exit_code == 0
        assert run("-", files[other], given=SHARDY).exit_code == 0
        assert run(files["shardy.mlir"], files[other], "--exact").exit_code == 1

    def test_differences(self, files: dict[str, str]) -> None:
        result = run(files["shardy.mlir"], files["other.mlir"])
        assert result.exit_code == 1
        a, b = files["shardy.mlir"], files["other.mlir"]
        assert result.stdout.splitlines() == [
            "%0 (sdy.sharding_constraint, f32[8,8]): different",
            f'  {a}, line 3  <@mesh, [{{}}, {{"y"}}]>',
            f'  {b}, line 3   <@mesh, [{{"y", ?}}, {{}}]>',
            "  dimension 0: one piece in A, 4 parts in B",
            "  dimension 1: 4 parts in A, one piece in B",
            "  8 of 8 devices hold another part: 0-7",
            "  all of them need elements that they did not hold",
            "",
            "4 values with a sharding: 3 the same, 1 different",
        ]

    def test_values_of_one_program(self, files: dict[str, str], tmp_path: Path) -> None:
        less = tmp_path / "less.mlir"
        less.write_text(SHARDY.replace(' {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}', ""))
        result = run(files["shardy.mlir"], str(less))
        assert result.exit_code == 1
        assert "%a (argument, f32[8,8]): in one program only" in result.stdout
        assert f"3 the same, 1 in {files['shardy.mlir']} only" in result.stdout
        assert run(files["shardy.mlir"], str(less), "--common").exit_code == 0

    def test_json(self, files: dict[str, str]) -> None:
        report = json.loads(run(files["shardy.mlir"], files["other.mlir"], "--json").stdout)
        assert report["counts"] == {"same": 3, "different": 1}
        (value,) = [one for one in report["values"] if one["verdict"] == "different"]
        assert value["a"] == {
            "name": "%0", "opcode": "sdy.sharding_constraint", "shape": "f32[8,8]", "place": "line 3",
            "sharding": '<@mesh, [{}, {"y"}]>',
        }  # fmt: skip
        assert value["changed"] == list(range(8))

    def test_many(self, tmp_path: Path) -> None:
        for name, axis in (("a", "x"), ("b", "y")):
            lines = "".join(
                f'  %{i} = sdy.reshard %a <@m, [{{"{axis}"}}]> : tensor<8xf32>\n' for i in range(30)
            )
            head = 'sdy.mesh @m = <["x"=2, "y"=2]>\nfunc.func @main(%a: tensor<8xf32>) {\n'
            text = f"{head}{lines}  return\n}}\n"
            (tmp_path / name).write_text(text)
        few = run(str(tmp_path / "a"), str(tmp_path / "b")).stdout
        assert "... and 10 more (--all)" in few
        assert run(str(tmp_path / "a"), str(tmp_path / "b"), "--all").stdout.count(": different") == 30
