"""The command in one process."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import sdybridge
from sdybridge.cli import cli
from sdybridge.errors import SdyBridgeError

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

PROGRAM = """sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) {
  %0 = sdy.reshard %a <@mesh, [{"y"}]> : tensor<8xf32>
  %1 = "stablehlo.if"(%p) ({
    stablehlo.return %0 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
}
"""
EXPORTED = """\
func.func @f(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2,4]<=[8] last_tile_dim_replicate}"}) {
  %0 = mhlo.copy %a {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"} : tensor<8xf32>
  %1 = "stablehlo.if"(%p) ({
    stablehlo.return %0 : tensor<8xf32>
  }) {mhlo.sharding = "{replicated}"} : (tensor<i1>) -> tensor<8xf32>
}
"""


def run(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=given, prog_name="sdybridge")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "step.mlir"
    path.write_text(PROGRAM)
    return path


# ---------------------------------------------------------------- help


@pytest.mark.parametrize("command", [[], ["convert"], ["export"]])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(command: list[str], flag: str) -> None:
    result = run(*command, flag)
    assert result.exit_code == 0
    assert re.search(r"Examples:\n +sdybridge " + "".join(command), result.stdout)
    assert all(len(line) <= 110 for line in result.stdout.splitlines())


def test_help_lists_every_command() -> None:
    listed = re.findall(r"^  ([\w-]+)  +\S.*\.$", run("-h").stdout.partition("Convert:")[2], re.MULTILINE)
    assert listed == cli.list_commands(None)  # type: ignore[arg-type]
    for name in listed:
        assert run(name, "-h").exit_code == 0


@pytest.mark.parametrize(
    "line", re.findall(r"^ +sdybridge (convert .*)$", run("convert", "-h").stdout, re.MULTILINE)
)
def test_examples_of_convert_work(line: str) -> None:
    import shlex

    assert run(*shlex.split(line)).exit_code == 0


def test_version() -> None:
    assert run("--version").stdout == f"sdybridge, version {sdybridge.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["exprt"], "no command `exprt`; did you mean `export`?"),
        (["covnert", "x"], "no command `covnert`; did you mean `convert`?"),
        (["zzz"], "no command `zzz`; commands: convert, export, "),
        (["convert"], "Missing argument 'TEXT'"),
        (["convert", "[]", "--mehs", "x=2"], "--mesh"),
        (["convert", "[]", "--to", "xml"], "'xml' is not one of"),
        (["convert", "[]", "--target", "old"], "'classic', 'current', 'newer'"),
        (["export"], "Missing argument 'FILE'"),
        (["export", "no-such-file.mlir"], "File 'no-such-file.mlir' does not exist"),
        (["export", "."], "File '.' is a directory"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


# ---------------------------------------------------------------- convert

XY = ["--mesh", "x=2,y=4"]


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (['[{"y"}, {}]', *XY], "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"),
        (['  [{"y"}, {}] ', *XY], "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"),
        (['[{"y"}, {}], replicated={"x"}', *XY], "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"),
        (['<@any, [{"x"}]>', *XY], "{devices=[2,4]<=[8] last_tile_dim_replicate}"),
        (['#sdy.sharding<@any, [{"x"}]>', *XY], "{devices=[2,4]<=[8] last_tile_dim_replicate}"),
        (['<mesh<["q"=2]>, [{"q"}]>'], "{devices=[2]<=[2]}"),
        (['[{"x"}]', "--mesh", '<["x"=4], device_ids=[3, 2, 1, 0]>'], "{devices=[4]3,2,1,0}"),
        (['[{"x"}]', "--mesh", '#sdy.mesh<["x"=4]>'], "{devices=[4]<=[4]}"),
        (['[{"a b"}]', "--mesh", ' "a b" = 2 , y=2'], "{devices=[2,2]<=[4] last_tile_dim_replicate}"),
        (['[{"x"}]', "--mesh", "@m=x=2"], "{devices=[2]<=[2]}"),
        (['[{"x"}]', "--mesh", '@"m n"=x=2', "--to", "sdy"], '#sdy.sharding<@"m n", [{"x"}]>'),
        (['<@n, [{"x"}]>', "--mesh", "@m=x=2", "--mesh", "@n=x=4"], "{devices=[4]<=[4]}"),
        (['<@"n o", [{"x"}]>', "--mesh", '@"n o" = <["x"=4]>'], "{devices=[4]<=[4]}"),
        (["[]", "--mesh", "<[], device_ids=[3]>"], "{maximal device=3}"),
        (["[{}]", *XY, "--manual-axes", "x,y"], "{manual}"),
        (['[{"y"}]', *XY, "--manual-axes", " x "], "{devices=[4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"),
        (['[{"x"}], unreduced={"y"}', *XY], "{devices=[2,4]<=[8] last_tile_dims={unreduced}}"),
        (
            ['[{"x"}], unreduced={"y"}', *XY, "--target", "classic"],
            "{devices=[2,4]<=[8] last_tile_dim_replicate}",
        ),
        (
            ['[{"x"}], unreduced=max{"y"}', *XY, "--target", "newer"],
            ("{devices=[2,4]<=[8] last_tile_dims={unreduced} "
            'metadata={op_type="sdy::reduction_op" op_name="MAX"}}'),
        ),
        (['[{"x"}]', "--mesh", "x=2", "--to", "proto-hex"], "08031a01024a0102520100"),
        (['[{"x"}]', "--mesh", "x=2", "--to", "proto-base64"], "CAMaAQJKAQJSAQA="),
        (["[{}]", "--mesh", "x=2", "--to", "proto-hex"], ""),
    ],
)  # fmt: skip
def test_convert(arguments: list[str], out: str) -> None:
    result = run("convert", *arguments)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{out}\n"


def test_convert_lists_losses() -> None:
    result = run("convert", '[{"x", ?}p1]', *XY)
    assert [line.partition(" (")[0] for line in result.stderr.splitlines()] == [
        'lost openness: {"x", ?}p1',
        "lost priority: p1",
        'lost axis-names: "x"',
    ]
    assert run("convert", '[{"x", ?}p1]', *XY, "-q").stderr == ""
    assert run("convert", '[{"x", ?}p1]', *XY, "--to", "json").stderr == ""


def test_convert_to_json() -> None:
    result = run("convert", '[{"x", ?}]', *XY, "--to", "json")
    document = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert document == {
        "sharding": '#sdy.sharding<@mesh, [{"x", ?}]>',
        "mesh": '#sdy.mesh<["x"=2, "y"=4]>',
        "target": "current",
        "hlo": "{devices=[2,4]<=[8] last_tile_dim_replicate}",
        "proto_hex": "08031a02020430014a0108520100",
        "losses": [
            {"kind": "openness", "path": ["dim_shardings", 0], "detail": '{"x", ?}'},
            {"kind": "axis-names", "path": [], "detail": '"x"'},
        ],
    }


def test_convert_lines() -> None:
    result = run("convert", "-", *XY, given='[{"x"}]\r\n\n  <@mesh, [{"y"}]>\n\t\n#sdy.sharding<@m, []>')
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "{devices=[2,4]<=[8] last_tile_dim_replicate}",
        "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
        "{replicated}",
    ]


# arguments, standard input, the error
CONVERT_ERRORS = [
    (
        ['[{"z"}]', *XY],
        None,
        '<text>:1:3: error: the mesh has no axis named "z"\n[{"z"}]\n  ^~~\nnote: its axes are "x", "y"\n',
    ),
    (
        ['[{"x"}'],
        None,
        (
            "<text>:1:7: error: expected ',' or ']' after a dimension sharding, found the end of the text\n"
            '[{"x"}\n      ^\n'
        ),
    ),
    ([""], None, "<text>:1:1: error: expected '<' after the start, found the end of the text\n\n^\n"),
    (
        ['[{"x"}]'],
        None,
        (
            '<text>:1:1: error: unknown mesh @mesh\n[{"x"}]\n^\n'
            "help: give it with --mesh, such as --mesh x=2,y=4\n"
        ),
    ),
    (
        ['<@"a b", []>', "--mesh", "@m=x=2"],
        None,
        (
            '<text>:1:2: error: unknown mesh @"a b"\n<@"a b", []>\n ^~~~~~\nnote: known meshes: @m\n'
            'help: give it with --mesh, such as --mesh @"a b"=x=2,y=4\n'
        ),
    ),
    (
        ["-", *XY],
        '[{"x"}]\n\n   [{"x"} {}]\n[{"y"}]\n',
        (
            "<stdin>:3:11: error: expected ',' or ']' after a dimension sharding, found '{'\n"
            '   [{"x"} {}]\n          ^\nhelp: write `{"x"}, {}`\n'
        ),
    ),
    (
        ["-", *XY],
        '[{"x"}\n<@mesh, []>',
        (
            "<stdin>:1:7: error: expected ',' or ']' after a dimension sharding, found the end of the text\n"
            '[{"x"}\n      ^\n'
        ),
    ),
    (
        ["[{}]", *XY, "--manual-axes", "z"],
        None,
        '<text>:1:1: error: the mesh has no axis named "z"\n[{}]\n^~~~\nnote: its axes are "x", "y"\n',
    ),
]


@pytest.mark.parametrize(("arguments", "given", "error"), CONVERT_ERRORS)
def test_convert_errors(arguments: list[str], given: str | None, error: str) -> None:
    result = run("convert", *arguments, "-q", given=given)
    with pytest.raises(SdyBridgeError) as raised:
        raise result.exception or AssertionError(result.stdout)
    assert f"{raised.value}\n" == error


@pytest.mark.parametrize(
    ("meshes", "said"),
    [
        (["x"], "'x' is no mesh; write x=2,y=4"),
        (["x="], "'x=' is no mesh"),
        (["x=-2"], "'x=-2' is no mesh"),
        (["x=2,"], "'x=2,' is no mesh"),
        (["x=2,x=2"], "'x=2,x=2' is no mesh"),
        ([""], "'' is no mesh"),
        (["x=" + "9" * 5000], "is no mesh"),
        (["x=0"], 'axis "x" has size 0'),
        (["x=99999999999999999999"], "does not fit 64 bits"),
        (['<["x"=2]'], "1:9: error: expected '>'"),
        (['<["x"=2], device_ids=[0, 0]>'], "device id 0 stands twice"),
        (["x=2", "y=2"], "several meshes need names"),
        (["@m=x=2", "y=2"], "several meshes need names"),
        (["@m=x=2", "@m=x=4"], "the mesh @m is given twice"),
    ],
)
def test_bad_meshes(meshes: list[str], said: str) -> None:
    options = [part for mesh in meshes for part in ("--mesh", mesh)]
    result = run("convert", "[]", *options)
    assert result.exit_code == 2
    assert said in result.stderr


# ---------------------------------------------------------------- export


def test_export(program: Path) -> None:
    result = run("export", str(program))
    assert result.exit_code == 0
    assert result.stdout == EXPORTED
    summary = result.stderr.splitlines()
    assert re.fullmatch(rf"{program}: 2 sites, 2 distinct shardings, 1 mesh, \d+\.\d ms", summary[0])
    assert summary[1:] == [
        "  rewritten: 1 sdy.mesh, 1 sdy.reshard",
        "  added:     a replicated sharding on 1 operation",
        (
            "  lost:      openness   at      1: open dimensions (`?`) read as closed: "
            "propagation may no longer shard them"
        ),
        "             axis-names at      2: axis names are gone: only the order of the devices is left",
    ]


def test_export_options(program: Path) -> None:
    assert run("export", str(program), "-q").stderr == ""
    assert "stablehlo.custom_call @Sharding(%a)" in run("export", str(program), "--portable").stdout
    without = run("export", str(program), "--no-add-missing-sharding-to-control-flow")
    assert "{replicated}" not in without.stdout
    assert "added" not in without.stderr


def test_export_from_standard_input() -> None:
    result = run("export", "-", given=PROGRAM)
    assert result.stdout == EXPORTED
    assert result.stderr.startswith("<stdin>: 2 sites")


def test_export_to_a_file(program: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    result = run("export", str(program), "-o", str(output))
    assert result.stdout == ""
    assert output.read_text() == EXPORTED
    assert output.stat().st_mode & 0o777 == program.stat().st_mode & 0o777
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.mlir", "step.mlir"]


def test_export_onto_the_input(program: Path) -> None:
    program.chmod(0o600)
    assert run("export", str(program), "-o", str(program)).exit_code == 0
    assert program.read_text() == EXPORTED
    assert program.stat().st_mode & 0o777 == 0o600


def test_export_through_a_link(program: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.mlir"
    link.symlink_to(program)
    assert run("export", str(program), "-o", str(link)).exit_code == 0
    assert link.is_symlink()
    assert program.read_text() == EXPORTED


def test_a_failure_leaves_the_old_output(program: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    output.write_text("old")
    program.write_text(PROGRAM.replace('"y"}', '"z"}'))
    result = run("export", str(program), "-o", str(output))
    assert isinstance(result.exception, SdyBridgeError)
    assert str(result.exception).startswith(f'{program}:3:33: error: the mesh has no axis named "z"')
    assert output.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.mlir", "step.mlir"]


@pytest.mark.parametrize("output", ["no/such/folder/out.mlir", "."])
def test_an_output_that_cannot_be_written(program: Path, output: str) -> None:
    result = run("export", str(program), "-o", str(program.parent / output))
    assert result.exit_code == 2
    assert "cannot write" in result.stderr
    assert result.stdout == ""


def test_export_json(program: Path) -> None:
    result = run("export", str(program), "--json")
    assert result.stdout == EXPORTED
    document = json.loads(result.stderr)
    assert document.pop("seconds") >= 0
    assert document == {
        "file": str(program),
        "sites": 2,
        "meshes": {"mesh": '<["x"=2, "y"=4]>'},
        "operations": {"sdy.mesh": 1, "sdy.reshard": 1},
        "added_replicated": 1,
        "shardings": [
            {
                "before": '#sdy.sharding<@mesh, [{"x", ?}]>',
                "after": "{devices=[2,4]<=[8] last_tile_dim_replicate}",
                "count": 1,
                "first": "2:48",
                "losses": [
                    {"kind": "openness", "detail": '{"x", ?}'},
                    {"kind": "axis-names", "detail": '"x"'},
                ],
            },
            {
                "before": '#sdy.sharding<@mesh, [{"y"}]>',
                "after": "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
                "count": 1,
                "first": "3:23",
                "losses": [{"kind": "axis-names", "detail": '"y"'}],
            },
        ],
        "losses": {"openness": 1, "axis-names": 2},
        "functions": [
            {"name": "", "sites": 0, "operations": {"sdy.mesh": 1}, "kept": 0, "losses": {}},
            {
                "name": "f",
                "sites": 2,
                "operations": {"sdy.reshard": 1},
                "kept": 0,
                "losses": {"axis-names": 2, "openness": 1},
            },
        ],
        "warnings": [],
    }


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"ML\xefR\x01\x02", "jaxlib cannot read the bytecode"),
        (b"\x7fELF\0\0", "this is a binary file"),
        ("sdy.mesh @m".encode("utf-16"), "the file is text in UTF-16"),
    ],
)
def test_export_of_binary_input(program: Path, data: bytes, said: str) -> None:
    program.write_bytes(data)
    for result in (run("export", str(program)), run("export", "-", given=data)):
        assert isinstance(result.exception, SdyBridgeError)
        assert said in str(result.exception)
        assert result.stdout == ""


def test_bytes_that_are_no_text_survive(program: Path) -> None:
    data = PROGRAM.encode() + b'// \xff\xfe\xc3\x28 "\n'
    program.write_bytes(data)
    assert run("export", str(program), "-q").stdout_bytes == EXPORTED.encode() + b'// \xff\xfe\xc3\x28 "\n'
    assert run("export", "-", "-q", given=data).stdout_bytes.endswith(b'\xc3\x28 "\n')


@pytest.mark.parametrize(
    ("command", "line", "said"),
    [
        (["export", "--carrier", "sdy"], b"\xff", r"expected an operation, found '\xff'"),
        (["inspect"], b"func.func @g(%b: f32 {sdy@b = 1, sdy.sharding = #s})", "found '@b'"),
        (["report"], b"func.func @g(%b: f32 {sdy@b = 1, sdy.sharding = #s})", "found '@b'"),
    ],
)
def test_errors_of_readers_of_everything(command: list[str], line: bytes, said: str, program: Path) -> None:
    program.write_bytes(line + b"\n" + PROGRAM.encode())
    result = run(*command, str(program))
    error = result.stderr or str(result.exception)  # of several files, inspect shows all that can be read
    assert result.exit_code == 1
    assert error.startswith(f"{program}:1:")
    assert said in error


def test_comments_are_not_cut(program: Path) -> None:
    program.write_text(PROGRAM + '// "{\n// was: #sdy.sharding<@mesh, [{"x\n')
    result = run("export", str(program))
    assert result.exit_code == 0
    assert "without a partner" not in result.stderr


# ---------------------------------------------------------------- what cannot be read


@pytest.mark.parametrize("command", ["inspect", "check", "diff", "explain", "draw"])
def test_standard_input_twice(command: str) -> None:
    """The second would be empty, and hide what is found in the first."""
    result = run(command, "-", "-", given=PROGRAM)
    assert result.exit_code == 2
    assert "standard input can be given once only" in result.stderr


@pytest.mark.parametrize("command", ["export", "inspect", "check", "explain"])
def test_a_file_that_cannot_be_read(command: str, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_path: Path) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("pathlib.Path.read_bytes", fail)
    result = run(command, str(program))
    assert result.exit_code == 2
    assert f"cannot read {program}: Input/output error" in result.stderr


@pytest.mark.parametrize("arguments", [["convert"], ["explain"], ["draw"], ["diff", "{replicated}"]])
@pytest.mark.parametrize(
    "name", ["no.mlir", "/no/such", "./step", "../a b.txt", "dumps/module_0001.before.txt"]
)
def test_the_name_of_no_file(arguments: list[str], name: str) -> None:
    result = run(*arguments, name.replace(" ", "_"))
    assert result.exit_code == 2
    assert "is no sharding, nor a file" in result.stderr


@pytest.mark.parametrize("command", ["explain", "draw", "diff"])
def test_a_sharding_too_long_for_a_file_name(command: str) -> None:
    text = '{devices=[2,4]<=[8] metadata={op_name="' + "a" * 300 + '"}}'
    assert run(command, *[text] * (1 + (command == "diff"))).exit_code == 0


def test_convert_a_file(program: Path) -> None:
    result = run("convert", str(program))
    assert result.exit_code == 2
    assert "but a file; `export` and `import` convert programs" in result.stderr


@pytest.mark.parametrize("command", ["explain", "draw"])
@pytest.mark.parametrize("text", [PROGRAM.partition("\n")[2], "\n" + PROGRAM.replace("[{", "[{}, {")])
def test_errors_about_a_sharding_name_the_file(command: str, text: str, program: Path) -> None:
    program.write_text(text)
    error = run(command, str(program)).exception
    assert isinstance(error, SdyBridgeError)
    assert re.match(rf"{re.escape(str(program))}:[13]:\d\d", str(error))


@pytest.mark.parametrize(
    "command", [["inspect"], ["inspect", "--json"], ["explain"], ["explain", "--json"], ["report"]]
)
def test_sizes_that_nobody_can_count(command: list[str], program: Path) -> None:
    rank = 5000
    program.write_text(
        'sdy.mesh @m = <["x"=2]>\n'
        f"func.func @main(%a: tensor<{'8x' * rank}f32> {{sdy.sharding = #sdy.sharding<@m, "
        f'[{{"x"}}{", {}" * (rank - 1)}]>}}) {{\n  return\n}}\n'
    )
    result = run(*command, str(program))
    assert result.exit_code == 0
    assert not result.exception


@pytest.mark.parametrize(
    "arguments", [["inspect"], ["check"], ["explain"], ["diff", "step.mlir"], ["roundtrip"]]
)
def test_names_that_are_no_text(arguments: list[str], program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are not UTF-8 are shown, not raised."""
    monkeypatch.chdir(program.parent)
    program.with_name("bytes.mlir").write_bytes(
        PROGRAM.replace("@f", "@main").encode().replace(b'"x"', b'"x\xff"')
    )
    result = run(*arguments, "bytes.mlir")
    assert isinstance(result.exception, SystemExit | SdyBridgeError | None)
    if arguments == ["inspect"]:
        assert "x\N{REPLACEMENT CHARACTER}" in result.stdout
