"""The scripts in a real gdb and lldb, on a C++ program with variables of MLIR's and Shardy's types."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.unit.storage.debuggers import run_gdb, run_lldb

from sdybridge.sdy import parse_attribute
from sdybridge.storage import CURRENT, NEWER, write_attribute
from sdybridge.storage.debugger import is_handle, is_storage
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

BASE = 0x2000_0000_0000
DIMENSION = '{"x", "y":(1)2, ?}p1'
SHARDING = f'#sdy.sharding<@mesh, [{DIMENSION}, {{}}], replicated={{"z"}}, unreduced={{"w"}}>'
SOURCE = Path(__file__).with_name("holder.cpp")

VARIABLES = {
    "sharding": SHARDING,
    "attribute": "@mesh",
    "null": "<<NULL ATTRIBUTE>>",
    "symbol": "@mesh",
    "name": '"mesh"',
    "first": f"#sdy<dimension_sharding{DIMENSION}>",
}
"""The variables of the program and what they show."""

PRINTED = {
    "sharding": SHARDING,
    "storage": SHARDING,
    "*storage": SHARDING,
    "mesh": "@mesh",
    "first": f"#sdy<dimension_sharding{DIMENSION}>",
    f"{BASE:#x}": SHARDING,
    f"*(void **)({BASE:#x} + 8)": "@mesh",
}
"""Expressions and what `sdy-print` prints for them."""

REFUSED = {
    "": "usage: sdy-print ADDRESS",
    "0": "the pointer is null",
    f"{BASE:#x} + 4": "it is no multiple of 8",
    f"{BASE:#x} + 8": "is no record of a class",
    "8": "cannot read 8 bytes at 0x8",
    "nosuch": "nosuch",
    "1 +": "expr",
}
"""Expressions that are refused, and what the message holds."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the program on an image."""
    if not shutil.which("g++"):
        pytest.skip("NOT TESTED: there is no g++ to build the program with")
    folder = tmp_path_factory.mktemp("holder")
    command = ["g++", "-std=c++17", "-g", "-O0", "-o", str(folder / "holder"), str(SOURCE)]
    subprocess.run(command, check=True)
    (folder / "image").write_bytes(write_attribute(parse_attribute(SHARDING), base=BASE).data)
    return [str(folder / "holder"), str(folder / "image"), hex(BASE)]


def test_compiled_structs_find_the_fields(program: list[str]) -> None:
    """The compiler lays the C++ structs out as the tables say."""
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout == "mesh 0; x y:(1)2; 0 1;; 1 -7; z; w;\n"


def test_gdb_shows_variables(program: list[str]) -> None:
    shown = run_gdb(
        ["break here", f"run {' '.join(program[1:])}", "up", "info args", "info locals"], program[0]
    )
    lines = shown.splitlines()
    for name, text in VARIABLES.items():
        assert f"{name} = {text}" in lines
    assert f"storage = {SHARDING}" in lines
    assert f"mesh = @{BASE + 8:#x}: @mesh" in lines
    assert "other = {<mlir::Attribute> = @mesh, <No data fields>}" in lines, "other classes stay as they are"
    assert any(line.startswith("wrong = <cannot read 8 bytes at 0x8") for line in lines)


def test_sdy_print_in_gdb(program: list[str]) -> None:
    asked = [*PRINTED, *REFUSED]
    commands = [command for expression in asked for command in ("echo >>>", f"sdy-print {expression}")]
    more = ["echo >>>", "print $sdy(first)", "echo >>>", "print $sdy(8)", "echo >>>", "info pretty-printer"]
    shown = run_gdb(["break here", f"run {' '.join(program[1:])}", "up", *commands, *more], program[0])
    _, *answers = shown.split(">>>")
    for (expression, text), answer in zip(PRINTED.items(), answers, strict=False):
        assert answer == f"{text}\n", expression
    for (expression, text), answer in zip(REFUSED.items(), answers[len(PRINTED) :], strict=False):
        assert text in answer, expression
    assert "Python Exception" not in shown
    assert "Traceback" not in shown
    escaped = VARIABLES["first"].replace('"', '\\"')
    assert answers[len(asked)] == f'$1 = "{escaped}"\n'
    assert answers[len(asked) + 1].startswith('$2 = "<cannot read 8 bytes at 0x8')
    assert "\n  sdybridge\n" in answers[len(asked) + 2]


def test_lldb_shows_variables(program: list[str]) -> None:
    commands = [
        "breakpoint set -n here",
        f"run {' '.join(program[1:])}",
        "up",
        "frame variable",
        "p *storage",
    ]
    shown = run_lldb(commands, program[0])
    for name, text in VARIABLES.items():
        assert f") {name} = {text}\n" in shown
    assert f") storage = {BASE:#018x} {SHARDING}\n" in shown
    assert f"(mlir::sdy::detail::TensorShardingAttrStorage) $0 = {SHARDING}\n" in shown
    assert ") wrong = <cannot read 8 bytes at 0x8" in shown


def test_sdy_print_in_lldb(program: list[str]) -> None:
    commands = [f"sdy-print {expression}" for expression in PRINTED]
    start = ["breakpoint set -n here", f"run {' '.join(program[1:])}", "up"]
    shown = run_lldb([*start, *commands], program[0])
    for expression, text in PRINTED.items():
        assert f"(lldb) sdy-print {expression}\n{text}\n" in shown
    for expression, text in list(REFUSED.items())[1:3]:  # a batch ends at its first error
        assert text in run_lldb([*start, f"sdy-print {expression}"], program[0])


@pytest.mark.parametrize("run", [run_gdb, run_lldb], ids=["gdb", "lldb"])
def test_another_build(run: Callable[..., str], program: list[str], tmp_path: Path) -> None:
    """Layouts without a reduction operator do not show it."""
    text = '#sdy.sharding<@mesh, [{"x"}], unreduced=max{"y"}>'
    attr = parse_attribute(text, target=Target.NEWER)
    (tmp_path / "image").write_bytes(write_attribute(attr, base=BASE, build=NEWER).data)
    start = ["breakpoint set -n here" if run is run_lldb else "break here", f"run {tmp_path}/image {BASE:#x}"]
    shows = f"sdy-print {BASE:#x}"
    shown = run([*start, "sdy-build", shows, "sdy-build newer", shows, "sdy-build other"], program[0])
    answers = [line for line in shown.splitlines() if line.startswith(("#sdy", "current: ", "newer: "))]
    about = [f"{build.name}: {build.about}" for build in (CURRENT, NEWER)]
    assert answers == [about[0], text.replace("max", ""), about[1], text]
    assert "there is no build 'other'; the builds are current, newer" in shown


@pytest.mark.parametrize(
    ("name", "handle", "storage"),
    [
        ("mlir::Attribute", True, False),
        ("mlir::StringAttr", True, False),
        ("mlir::FlatSymbolRefAttr", True, False),
        ("mlir::sdy::TensorShardingPerValueAttr", True, False),
        ("mlir::AttributeStorage", False, True),
        ("mlir::sdy::detail::AxisRefAttrStorage", False, True),
        ("mlir::detail::StringAttrStorage", False, True),
        ("mlir::IntegerAttr", False, False),
        ("mlir::sdy::MeshOp", False, False),
        ("my::mlir::Attribute", False, False),
        ("mlir::sdy::detail::MeshAttrStorageX", False, False),
        ("MeshAttr", False, False),
    ],
)
def test_which_types_are_shown(name: str, handle: bool, storage: bool) -> None:
    assert (is_handle(name), is_storage(name)) == (handle, storage)
