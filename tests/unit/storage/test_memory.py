"""Images, and the memory of this process and of another."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sdybridge.errors import StorageError
from sdybridge.sdy import parse_attribute
from sdybridge.storage import BytesMemory, ProcessMemory, read_attribute, write_attribute

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="this system has no /proc/PID/mem"
)

HOLDS = """
import ctypes, sys
data = bytes.fromhex(sys.stdin.readline())
here = ctypes.create_string_buffer(data, len(data))
print(ctypes.addressof(here), flush=True)
data = bytes.fromhex(sys.stdin.readline())
ctypes.memmove(here, data, len(data))
print("moved", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("address", "size"), [(0xF, 1), (0x10, 5), (0x14, 1), (0x13, 2), (-1, 1), (1 << 64, 1)]
)
def test_outside_an_image(address: int, size: int) -> None:
    memory = BytesMemory(0x10, b"abcd")
    assert memory.read(0x10, 4) == b"abcd"
    with pytest.raises(
        StorageError, match=r"cannot read \d bytes? at .*: the image is from 0x10 to 0x14"
    ) as raised:
        memory.read(address, size)
    assert raised.value.address == address


@needs_proc
def test_this_process() -> None:
    attr = parse_attribute('#sdy.sharding<@mesh, [{"x", ?}p1]>')
    size = len(write_attribute(attr).data)
    buffer = ctypes.create_string_buffer(size + 8)
    base = ctypes.addressof(buffer) + 7 & ~7
    ctypes.memmove(base, write_attribute(attr, base=base).data, size)
    with ProcessMemory() as memory:
        assert read_attribute(memory, base) is attr
        for address in (0, 8, -8, base + 4, 1 << 47, (1 << 64) - 8, 1 << 64, 1 << 100):
            with pytest.raises(StorageError):
                read_attribute(memory, address)
    with pytest.raises(StorageError):
        memory.read(base, 1)


@needs_proc
def test_another_process() -> None:
    """At first no attribute is at its address, then one that is built for that place."""
    attr = parse_attribute('#sdy.sharding<@mesh, [{"x", ?}p1]>')
    size = len(write_attribute(attr).data)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin
    assert process.stdout
    with process:
        print(bytes(size).hex(), file=process.stdin, flush=True)
        base = int(process.stdout.readline())
        with ProcessMemory(process.pid) as memory:
            with pytest.raises(StorageError):
                read_attribute(memory, base)
            print(write_attribute(attr, base=base).data.hex(), file=process.stdin, flush=True)
            assert process.stdout.readline() == "moved\n"
            assert read_attribute(memory, base) is attr
            process.stdin.close()
            process.wait()
            with pytest.raises(StorageError, match=f"process {process.pid} has"):
                read_attribute(memory, base)


@needs_proc
def test_no_such_process() -> None:
    with pytest.raises(StorageError, match="there is no process 4194305"):
        ProcessMemory(4194305)  # above the largest that Linux gives


def test_a_process_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StorageError, match="the memory of process 1 cannot be opened") as raised:
        ProcessMemory(1)
    assert raised.value.help is not None
    assert "ptrace_scope" in raised.value.help


def test_a_system_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> int:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "open", missing)
    monkeypatch.setattr(os.path, "exists", lambda _: False)
    with pytest.raises(StorageError, match="no /proc/PID/mem; use a core dump"):
        ProcessMemory()
