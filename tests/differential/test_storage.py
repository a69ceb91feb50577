"""Attributes that jaxlib's own MLIR bindings build, read from memory: what jaxlib prints."""

from __future__ import annotations

import dataclasses
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner
from tests.differential.live import address_of, build, new_context
from tests.differential.random_attributes import random_attribute
from tests.unit.storage.debuggers import run_gdb, run_lldb

from sdybridge.cli import cli
from sdybridge.errors import StorageError
from sdybridge.storage import CURRENT, CoreMemory, ProcessMemory, find_build, read_attribute, read_value

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
COUNT = 2000
CLASSIC = ROOT / ".venv-classic" / "bin" / "python"

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="this system has no /proc/PID/mem"
)


@needs_proc
@pytest.mark.parametrize("fixed", [True, False])
def test_live_memory(fixed: bool, fresh_seed: int) -> None:
    rng = random.Random(0 if fixed else fresh_seed)
    context = new_context()
    kinds: dict[str, int] = {}
    garbage = 0
    with ProcessMemory() as memory:
        for _ in range(COUNT):
            attr = random_attribute(rng)
            live = build(attr, context)
            found = read_attribute(memory, address_of(live))
            assert str(found) == str(live)
            assert found is attr
            kinds[attr.mnemonic] = kinds.get(attr.mnemonic, 0) + 1
            if attr.mnemonic == "dimension_sharding":
                garbage += any(memory.read(address_of(live) + 0x19, 7))
    assert set(kinds) == {name.removeprefix("sdy.") for name in CURRENT.layouts if name.startswith("sdy.")}
    assert min(kinds.values()) > 50
    assert garbage, "the padding of flags is said to hold anything"


@needs_proc
def test_other_attributes_in_live_memory() -> None:
    """What jaxlib builds without checks, and attributes of other dialects."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import sdy

    context = new_context()
    with ProcessMemory() as memory:
        for text, value in [
            ("@mesh", "mesh"),
            ('"text"', "text"),
            ('"sdy.text"', "sdy.text"),
            ('"a" : i32', "a"),
        ]:
            assert read_value(memory, address_of(ir.Attribute.parse(text, context))) == value
        for text in (
            "@a::@b",
            "1 : i32",
            "unit",
            "[1]",
            "{}",
            "#sdy.op_sharding_rule<([i])->([i]) {i=2}>",
            "i32",
        ):
            with pytest.raises(StorageError):
                read_value(memory, address_of(ir.Attribute.parse(text, context)))
        with pytest.raises(StorageError, match='axis "x" has size 0'):
            read_attribute(memory, address_of(sdy.MeshAxisAttr.get("x", 0, context)))
        dimension = sdy.DimensionShardingAttr.get([], True, -5, context)
        with pytest.raises(StorageError, match="a priority cannot be negative"):
            read_attribute(memory, address_of(dimension))
        by_text = sdy.TensorShardingAttr.get(ir.StringAttr.get("mesh", context), [], [], [], context)
        with pytest.raises(
            StorageError, match=r"is `builtin\.string`, not `builtin\.symbol_ref` or `sdy\.mesh`"
        ):
            read_attribute(memory, address_of(by_text))


@needs_proc
@pytest.mark.parametrize("offset", [0x40, 0x98, 0x130])
def test_the_record_is_found_in_live_memory(offset: int) -> None:
    """From a build that is wrong about it."""
    *others, name = CURRENT.record.fields
    fields = (*others, dataclasses.replace(name, offset=offset))
    wrong = dataclasses.replace(CURRENT, record=dataclasses.replace(CURRENT.record, fields=fields))
    context = new_context()
    rng = random.Random(0)
    with ProcessMemory() as memory:
        for _ in range(200):
            attr = random_attribute(rng)
            live = build(attr, context)
            found = find_build(memory, address_of(live), build=wrong)
            assert found.record.fields == CURRENT.record.fields
            assert read_attribute(memory, address_of(live), build=found) is attr


@needs_proc
def test_any_address_of_a_process(fresh_seed: int) -> None:
    """A wrong address may hit anything, even an attribute; it never ends this process."""
    rng = random.Random(fresh_seed)
    context = new_context()
    live = [build(random_attribute(rng), context) for _ in range(50)]
    refused = 0
    with ProcessMemory() as memory:
        for _ in range(3000):
            address = address_of(rng.choice(live)) + rng.choice(
                (rng.randrange(-4096, 4096), 8 * rng.randrange(-512, 512))
            )
            try:
                read_value(memory, address)
            except StorageError:
                refused += 1
    assert refused > 1000


class Held(NamedTuple):
    """Another process that holds attributes: their texts by their addresses."""

    pid: int
    attributes: dict[int, str]


@pytest.fixture(scope="module")
def held() -> Iterator[Held]:
    yield from holding(Path(sys.executable), "held", 200)


def holding(python: Path, seed: str, count: int, *, cwd: Path = ROOT, dumps: bool = False) -> Iterator[Held]:
    """Another process, as long as it is needed; it may leave a core dump in its directory."""
    process = subprocess.Popen(
        [python, "-m", "tests.differential.live", seed, str(count), *["dumps"] * dumps],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdin
    assert process.stdout
    with process:
        lines = iter(process.stdout.readline, "\n")
        pairs = [line.rstrip("\n").split(" ", 1) for line in lines]
        yield Held(process.pid, {int(address, 16): text for address, text in pairs})
        process.stdin.close()


@needs_proc
def test_another_process(held: Held) -> None:
    assert len(held.attributes) > 150
    with ProcessMemory(held.pid) as memory:
        for address, text in held.attributes.items():
            assert str(read_attribute(memory, address)) == text


@needs_proc
@pytest.mark.slow
def test_the_older_release() -> None:
    """The storages of jaxlib 0.6.2 are laid out alike."""
    if not CLASSIC.exists():
        pytest.fail(f"{CLASSIC} is missing: run `make test-all`, which creates it")
    for old in holding(CLASSIC, "old", 3000):
        with ProcessMemory(old.pid) as memory:
            for address, text in old.attributes.items():
                assert str(read_attribute(memory, address)) == text
        assert len(old.attributes) > 2000


@needs_proc
def test_the_command_on_another_process(held: Held) -> None:
    addresses = list(held.attributes)[:20]
    result = CliRunner().invoke(cli, ["storage", "read", "--pid", str(held.pid), *map(hex, addresses)])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [held.attributes[address] for address in addresses]


def test_a_core_dump(held: Held, tmp_path: Path) -> None:
    """Made by gdb, as `gcore` makes it, which is a script around these commands."""
    shown = run_gdb([f"attach {held.pid}", f"generate-core-file {tmp_path}/core", "detach"])
    assert f"Saved corefile {tmp_path}/core" in shown
    with CoreMemory(tmp_path / "core") as memory:
        for address, text in held.attributes.items():
            assert str(read_attribute(memory, address)) == text
        with pytest.raises(StorageError):
            read_attribute(memory, 8)
    addresses = list(held.attributes)[:20]
    arguments = ["storage", "read", "--core", str(tmp_path / "core"), *map(hex, addresses)]
    result = CliRunner().invoke(cli, arguments)
    assert result.stdout.splitlines() == [held.attributes[address] for address in addresses]
    first = addresses[0]
    assert (
        held.attributes[first]
        in run_gdb([f"core-file {tmp_path}/core", f"sdy-print {first:#x}"]).splitlines()
    )
    (tmp_path / "core").unlink()  # it is large


@needs_proc
def test_a_core_dump_of_the_kernel(tmp_path: Path) -> None:
    """It leaves out the names of the classes, which are constants of jaxlib's library."""
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if "/" in pattern or "|" in pattern:
        pytest.skip(f"NOT TESTED: this system writes core dumps elsewhere, to {pattern}")
    for process in holding(Path(sys.executable), "dumped", 100, cwd=tmp_path, dumps=True):
        os.kill(process.pid, signal.SIGABRT)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        attributes = process.attributes
    [core] = tmp_path.iterdir()
    with CoreMemory(core) as memory:
        for address, text in attributes.items():
            assert str(read_attribute(memory, address)) == text
    with CoreMemory(core, sysroot=tmp_path) as memory, pytest.raises(StorageError) as raised:
        read_attribute(memory, next(iter(attributes)))
    assert "libjax" in raised.value.notes[0]
    core.unlink()


def test_gdb_on_another_process(held: Held) -> None:
    shown = run_gdb(
        [f"attach {held.pid}", *[f"sdy-print {address:#x}" for address in held.attributes], "detach"]
    )
    lines = [line for line in shown.splitlines() if line.startswith("#sdy")]
    assert lines == list(held.attributes.values())
    first, text = next(iter(held.attributes.items()))
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    asked = [f'printf "<%s>\\n", $sdy({first:#x})', f'print $_streq($sdy({first:#x}), "{quoted}")']
    shown = run_gdb([f"attach {held.pid}", *asked, "detach"])
    assert f"<{text}>\n$1 = 1\n" in shown, "also where gdb copies the text into the process"


def test_lldb_on_another_process(held: Held) -> None:
    some = dict(list(held.attributes.items())[:50])
    commands = [f"sdy-print {address:#x}" for address in some]
    shown = run_lldb([f"process attach -p {held.pid}", *commands, "detach"])
    assert re.findall("^#sdy.*$", shown, re.MULTILINE) == list(some.values())
