"""Runs gdb and lldb, where they are installed."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence


def script_of(debugger: str) -> str:
    """The path that `python -m sdybridge.storage.gdb` or `.lldb` prints."""
    done = subprocess.run(
        [sys.executable, "-m", f"sdybridge.storage.{debugger}"], capture_output=True, text=True, check=True
    )
    path = done.stdout.strip()
    assert Path(path).is_file()
    return path


def run_gdb(commands: Sequence[str], *program: str) -> str:
    """What gdb prints for each of the commands, after loading the script; skips where there is no gdb."""
    reason = _gdb_problem()
    if reason:
        pytest.skip(f"NOT TESTED IN GDB: {reason}; `make tools` says how to get it")
    # without its start-up files and the debug information of libraries, which take seconds
    start = ["gdb", "-nx", "-q", "-batch", "-iex", "set auto-solib-add off", "-ix", script_of("gdb")]
    options = ["set disable-randomization off", "set width 0", "set print frame-arguments none"]
    return _run([*start, *_each("-ex", [*options, *commands]), *program])


def run_lldb(commands: Sequence[str], *program: str) -> str:
    """The same for lldb."""
    reason = _lldb_problem()
    if reason:
        pytest.skip(f"NOT TESTED IN LLDB: {reason}; `make tools` says how to get it")
    options = ["settings set target.disable-aslr false", f"command script import {script_of('lldb')}"]
    start = ["lldb", "--no-lldbinit", "--batch", *_each("-o", [*options, *commands])]
    return _run([*start, "--", *program] if program else start, _lldb_modules())


def _each(option: str, commands: Sequence[str]) -> list[str]:
    return [word for command in commands for word in (option, command)]


def _run(arguments: Sequence[str], python_path: str = "") -> str:
    """Standard output and errors; no PYTHONPATH leads to the package: the scripts must find it."""
    done = subprocess.run(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": python_path},
        encoding="utf-8",
        errors="replace",
        timeout=120,
        check=False,
    )
    return done.stdout


@functools.cache
def _gdb_problem() -> str:
    if not shutil.which("gdb"):
        return "gdb is not installed"
    shown = _run(["gdb", "-nx", "-batch", "-ex", "python print(sys.version_info >= (3, 11))"])
    return "" if "True" in shown else f"this gdb has no Python 3.11 or newer: {shown.strip()}"


@functools.cache
def _lldb_problem() -> str:
    if not shutil.which("lldb"):
        return "lldb is not installed"
    command = ["lldb", "--no-lldbinit", "--batch", "-o", "script print(sys.version_info >= (3, 11))"]
    shown = _run(command, _lldb_modules()).splitlines()
    return "" if "True" in shown else f"this lldb has no Python 3.11 or newer that works: {' '.join(shown)}"


def _lldb_modules() -> str:
    """The lldb of Debian 12 looks for its own Python modules where they are not; where they are."""
    found = sorted(Path("/usr/lib").glob("llvm-*/lib/python3*/dist-packages/lldb/embedded_interpreter.py"))
    return str(found[-1].parents[1]) if found else ""
