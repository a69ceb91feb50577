"""The command as a process: exit codes, streams, pipes, colours, progress."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "sdybridge"]
SOURCE = Path(__file__).parents[3] / "src"
PLAIN = {**os.environ, "PYTHONPATH": str(SOURCE), "NO_COLOR": "", "TERM": "xterm"}
PROGRAM = 'sdy.mesh @mesh = <["x"=2]>\n%0 = sdy.reshard %a <@mesh, [{"x"}]> : tensor<8xf32>\n'


def run(*arguments: str, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        input=given,
        capture_output=True,
        text=True,
        env={**PLAIN, **environment},
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "given", "code"),
    [
        (["convert", '[{"x"}]', "--mesh", "x=2"], "", 0),
        (["export", "-"], PROGRAM, 0),
        (["export", "-"], "", 0),
        (["--help"], "", 0),
        (["convert", '[{"z"}]', "--mesh", "x=2"], "", 1),
        (["convert", "[{", "--mesh", "x=2"], "", 1),
        (["export", "-"], "sdy.mesh @m = <", 1),
        (["export", "-"], "%0 = sdy.manual_computation(%a) {} : () -> ()", 1),
        (["convert", "[]", "--mesh", "x"], "", 2),
        (["export", "no-such-file"], "", 2),
        (["nothing"], "", 2),
        (["export", "-", "-o", ""], PROGRAM, 2),
        (["export", "-"], "\ufeff" + PROGRAM, 1),
        (["convert", "[{}]", "--mesh", "x=\u0663"], "", 2),
        ([], "", 2),
    ],
)
def test_exit_code(arguments: list[str], given: str, code: int) -> None:
    result = run(*arguments, given=given)
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    assert bool(result.stdout) == (code == 0 and (arguments[0] != "export" or bool(given)))


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "{devices=[2]<=[2]}"],
        ["explain", "{devices=[2]<=[2]}", "--target", "current"],
        ["draw", "{devices=[2]<=[2]}"],
        ["export", "-", "--quiet"],
        ["check", "--rules"],
    ],
)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(arguments: list[str], closed: str) -> None:
    shell = ["sh", "-c", f'"$@" {closed}', "sh", *COMMAND, *arguments]
    result = subprocess.run(shell, input="", capture_output=True, text=True, env=PLAIN, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["convert", "[{}]", "--mesh", "x=2"], ["export", "-"]])
def test_full_output(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = subprocess.run(
            [*COMMAND, *arguments],
            input=PROGRAM,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=PLAIN,
            check=False,
        )
    assert result.returncode == 2
    assert "cannot write to standard output" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_cut_file_is_mentioned() -> None:
    result = run("export", "-", given=PROGRAM + "func.func @f() {\n")
    assert result.returncode == 0
    assert "1 brace without a partner" in result.stderr


def test_errors_are_shown_whole() -> None:
    result = run("export", "-", given=PROGRAM.replace('{"x"}', '{"x" "y"}'))
    assert result.stdout == ""
    assert result.stderr == (
        "<stdin>:2:35: error: expected ',' or '}' after an axis, found \"y\"\n"
        '%0 = sdy.reshard %a <@mesh, [{"x" "y"}]> : tensor<8xf32>\n'
        "                                  ^~~\n"
        'help: write `"x", "y"`\n'
    )


@pytest.mark.parametrize(
    "arguments",
    [["export", "-"], ["convert", '[{"x", ?}]', "--mesh", "x=2"], ["convert", "[{", "--mesh", "x=2"]],
)
def test_no_colours_in_a_pipe(arguments: list[str]) -> None:
    result = run(*arguments, given=PROGRAM)
    assert "\x1b" not in result.stdout + result.stderr


def on_a_terminal(*arguments: str, given: bytes = b"") -> tuple[bytes, bytes]:
    """Standard output, and what a terminal shows of standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs, env=PLAIN
    )
    os.close(theirs)
    out, _ = process.communicate(given)
    shown = b""
    while True:
        try:
            data = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed and everything is read
            break
        if not data:
            break
        shown += data
    os.close(ours)
    return out, shown


def test_colours_on_a_terminal() -> None:
    out, shown = on_a_terminal("convert", '[{"x", ?}]', "--mesh", "x=2")
    assert out == b"{devices=[2]<=[2]}\n"
    assert b"\x1b[33mlost openness:" in shown


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_excerpts_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caret stands under its place: no line is so long that a terminal breaks it."""
    monkeypatch.setitem(PLAIN, "COLUMNS", str(columns))
    text = f"%a = f.g {'x ' * 99}\n{PROGRAM}".replace('{"x"}', '{"nowhere"}').replace("%a ", f"%{'a' * 99} ")
    _, shown = on_a_terminal("export", "-", given=text.encode())
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown.decode()).replace("\r", "").split("\n")
    caret = next(i for i, line in enumerate(lines) if line.strip().startswith("^"))
    assert len(lines[caret - 1]) <= columns
    place = lines[caret].index("^")
    assert lines[caret - 1][place:].startswith('"nowhere"')


def test_no_progress_bar_for_short_work() -> None:
    _, shown = on_a_terminal("export", "-", "-q", given=PROGRAM.encode())
    assert shown == b""


def test_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """It appears on a terminal once the work takes longer than the patience of a reader, and goes again."""
    program = (
        "import sys, sdybridge.cli.terminal as terminal\n"
        "terminal._PATIENCE = 0\n"
        "with terminal.ProgressBar('export', 10) as bar:\n"
        "    for done in range(11):\n"
        "        bar.update(done)\n"
    )
    monkeypatch.setattr(sys.modules[__name__], "COMMAND", [sys.executable, "-c", program])
    _, shown = on_a_terminal()
    assert b"export" in shown
    assert b"100%" in shown
    quiet = run()
    assert quiet.stdout + quiet.stderr == ""
    assert quiet.returncode == 0


def test_broken_pipe(tmp_path: Path) -> None:
    """A reader that stops early, such as `head`, is no reason for a traceback."""
    path = tmp_path / "large.mlir"
    path.write_text(PROGRAM + "// filling\n" * 200_000)
    process = subprocess.Popen(
        [*COMMAND, "export", str(path), "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN
    )
    assert process.stdout is not None
    assert process.stdout.read(10) == b"%0 = mhlo."
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() in (0, 1)


def test_output_to_a_device() -> None:
    result = run("export", "-", "-q", "-o", "/dev/stdout", given=PROGRAM)
    assert result.stdout.startswith("%0 = mhlo.copy %a")


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_any_bytes_in_any_locale(locale: str) -> None:
    for arguments in (["export", "-", "-q"], ["convert", "-", "--mesh", "x=2"]):
        data = PROGRAM.encode() + b"// \xff" if arguments[0] == "export" else b'[{"x"}]\n\xff'
        result = subprocess.run(
            [*COMMAND, *arguments],
            input=data,
            capture_output=True,
            env={**PLAIN, "LC_ALL": locale},
            check=False,
        )
        assert b"Traceback" not in result.stderr
        if arguments[0] == "export":
            assert result.stdout.endswith(b"// \xff")
        else:
            assert result.stdout == b"{devices=[2]<=[2]}\n"
            assert result.returncode == 1
            assert b"<stdin>:2:1: error:" in result.stderr
