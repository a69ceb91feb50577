"""The command `check`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from jaxlib import _hlo

from sdybridge.checks import CHECKS
from sdybridge.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

BAD = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<7x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{"y"}, {}]> : tensor<7x8xf32>
  return
}
"""
GOOD = BAD.replace('"y"', '"x"').replace("7x8", "8x8")
UNEVEN = GOOD.replace("8x8", "7x8")
HLO = "HloModule m\n\nENTRY main {\n  ROOT a = f32[8] parameter(0), sharding={devices=[2,1]<=[2]}\n}\n"


def run(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["check", *arguments], input=given, prog_name="sdybridge")


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.mlir"
    path.write_text(BAD)
    return str(path)


def test_findings_and_summary(bad: str) -> None:
    result = run(bad)
    assert result.exit_code == 1
    assert result.stdout == (
        f"{bad}:2:53: info[SB401]: parts of different sizes in %a (f32[7,8])\n"
        'func.func @main(%a: tensor<7x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {\n'
        "                                                    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "note: dimension 0 of 7 in 2 parts: 4, 3\n"
        "note: every device allocates f32[4,8]\n\n"
        f'{bad}:3:45: error[SB103]: the mesh has no axis named "y"\n'
        '  %0 = sdy.sharding_constraint %a <@mesh, [{"y"}, {}]> : tensor<7x8xf32>\n'
        "                                            ^~~\n"
        'note: its axes are "x"\n'
        "note: in sdy.sharding_constraint at 3:3\n"
        "help: `sdybridge rename-axes` gives axes new names, everywhere in a program\n\n"
        "1 error, 1 info in 1 of 1 file\n"
        "  SB103  error  unknown-axis  1\n"
        "  SB401  info   uneven-parts  1\n"
        "For more about a rule: sdybridge check --explain SB103\n"
    )


def test_nothing(tmp_path: Path) -> None:
    (tmp_path / "good.mlir").write_text(GOOD)
    result = run(str(tmp_path / "good.mlir"), "-", given=GOOD)
    assert (result.exit_code, result.stdout) == (0, "Nothing found in 2 files.\n")


@pytest.mark.parametrize(
    ("options", "code"),
    [([], 0), (["--fail-on", "info"], 1), (["--fail-on", "error"], 0), (["--ignore", "SB4"], 0)],
)
def test_exit_codes(options: list[str], code: int) -> None:
    assert run("-", *options, given=UNEVEN).exit_code == code
    assert run("-", *options, given=BAD).exit_code == 1
    assert run("-", *options, "--fail-on", "never", given=BAD).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing argument 'FILES...'"),
        (["-", "--select", "E501"], "no rule has the code E501"),
        (["-", "--replicated-bytes", "big"], "'big' is no size"),
        (["--explain", "SB999"], "no rule has the code SB999"),
        (["nothing.mlir"], "does not exist"),
    ],
)
def test_usage(arguments: list[str], message: str) -> None:
    result = run(*arguments, given=GOOD)
    assert result.exit_code == 2
    assert message in result.stderr


def test_many_of_one_rule() -> None:
    lines = "".join(
        f'  %{i} = sdy.reshard %a <@mesh, [{{"q{i}"}}, {{}}]> : tensor<7x8xf32>\n' for i in range(30)
    )
    text = BAD.replace("  return", f"{lines}  return")
    few, every = run("-", given=text).stdout, run("-", "--all", given=text).stdout
    assert few.count("error[SB103]") == 10
    assert "SB103  error  unknown-axis  31  21 of them not shown (--all)" in few
    assert every.count("error[SB103]") == 31
    assert "not shown" not in every


@pytest.mark.parametrize("size", ["448", "0.4375KiB", "448B"])
def test_sizes(size: str) -> None:
    text = GOOD.replace('[{"x"}, {}]>}', "[{}, {}]>}").replace("8x8", "14x8")
    assert "SB403" in run("-", "--replicated-bytes", size, given=text).stdout
    assert "SB403" not in run("-", "--replicated-bytes", "1k", given=text).stdout


class TestFormats:
    def test_json(self, bad: str) -> None:
        result = run(bad, "--format", "json")
        assert result.exit_code == 1
        report = json.loads(result.stdout)
        assert report["counts"] == {"error": 1, "warning": 0, "info": 1}
        assert report["findings"][1] == {
            "file": bad, "line": 3, "column": 45, "end_column": 48, "where": "", "code": "SB103",
            "rule": "unknown-axis", "severity": "error", "message": 'the mesh has no axis named "y"',
            "notes": ['its axes are "x"', "in sdy.sharding_constraint at 3:3"],
            "help": "`sdybridge rename-axes` gives axes new names, everywhere in a program",
        }  # fmt: skip

    def test_github(self) -> None:
        lines = run("-", "--format", "github", given=BAD).stdout.splitlines()
        assert lines[1] == (
            "::error file=<stdin>,line=3,col=45,endColumn=48,title=SB103 unknown-axis::"
            'the mesh has no axis named "y"%0Aits axes are "x"%0Ain sdy.sharding_constraint at 3:3'
            "%0Ahelp: `sdybridge rename-axes` gives axes new names, everywhere in a program"
        )
        assert lines[0].startswith("::notice file=<stdin>,line=2,")

    def test_sarif(self, bad: str) -> None:
        (run_,) = json.loads(run(bad, "--format", "sarif").stdout)["runs"]
        rules = run_["tool"]["driver"]["rules"]
        assert [rule["id"] for rule in rules] == list(CHECKS)
        helps = [rule["help"] for rule in rules]
        assert all(CHECKS[rule["id"]].name in rule["help"]["markdown"] for rule in rules)
        assert not any("](" in one["markdown"] or "`" in one["text"] for one in helps)
        first, second = run_["results"]
        assert (first["level"], second["level"]) == ("note", "error")
        assert rules[second["ruleIndex"]]["id"] == second["ruleId"] == "SB103"
        assert second["locations"] == [
            {"physicalLocation": {
                "artifactLocation": {"uri": bad},
                "region": {"startLine": 3, "startColumn": 45, "endColumn": 48},
            }}
        ]  # fmt: skip

    @pytest.mark.parametrize("form", ["json", "github", "sarif"])
    def test_nothing(self, form: str) -> None:
        result = run("-", "--format", form, given=GOOD)
        assert result.exit_code == 0
        assert "SB1" not in result.stdout or form == "sarif"


def test_hlo_and_protos(tmp_path: Path) -> None:
    proto = tmp_path / "m.pb"
    text = HLO.replace("[2,1]<=[2]", "[8]<=[8]").replace("f32[8]", "f32[4]")
    proto.write_bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    result = run("-", str(proto), given=HLO)
    assert result.exit_code == 1
    assert (
        "<stdin>:4:42: error[SB104]: {devices=[2,1]<=[2]} tiles tensors of rank 2, not of rank 1"
        in result.stdout
    )
    assert f"{proto}: a in main: warning[SB402]: devices without any element in a (f32[4])" in result.stdout


def test_rules_and_explanations() -> None:
    listed = run("--rules").stdout
    assert all(code in listed for code in CHECKS)
    for code, rule in CHECKS.items():
        explained = run("--explain", code.lower()).stdout
        assert rule.summary in explained
        assert rule.bad in explained
        assert rule.good in explained
        assert f"{rule.severity}[{code}]: " in explained
        assert "](" not in explained


@pytest.mark.parametrize("code", CHECKS)
def test_what_pages_show_is_what_the_command_answers(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.mlir").write_text(CHECKS[code].bad)
    block = run("--explain", code).stdout.partition("```console\n$ sdybridge check ")[2].partition("\n```")[0]
    command, _, answer = block.partition("\n")
    assert run(*command.split()).stdout == answer + "\n"
    (tmp_path / "example.mlir").write_text(CHECKS[code].good)
    assert run(*command.split()).stdout == "Nothing found in 1 file.\n"


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "bom.mlir"
    path.write_bytes(b"\xef\xbb\xbfmodule {}")
    result = run(str(path), "-", given=BAD)
    assert result.exit_code == 1
    assert f"{path}:1:1: error[SB100]: the text starts with a byte order mark" in result.stdout
    assert "2 errors, 1 info in 2 of 2 files" in result.stdout
