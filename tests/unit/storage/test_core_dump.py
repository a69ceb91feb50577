"""Core dumps, and what they leave to the files that were mapped."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.unit.storage.cores import core_of

from sdybridge.errors import StorageError
from sdybridge.sdy import parse_attribute
from sdybridge.storage import CoreMemory, read_attribute, write_attribute

if TYPE_CHECKING:
    from pathlib import Path

ATTR = parse_attribute('#sdy.sharding<@mesh, [{"x", "y":(1)2, ?}p1]>')
IMAGE = write_attribute(ATTR, base=0x7F00_0000_1000)
SPLIT = IMAGE.records - IMAGE.base


def test_all_in_one_segment(tmp_path: Path) -> None:
    (tmp_path / "core").write_bytes(core_of([(IMAGE.base, IMAGE.data)]))
    with CoreMemory(tmp_path / "core") as memory:
        assert read_attribute(memory, IMAGE.base) is ATTR
        with pytest.raises(StorageError, match="core has nothing there"):
            memory.read(IMAGE.base + len(IMAGE.data), 1)  # of the segment, but not dumped


def test_pieces_that_meet(tmp_path: Path) -> None:
    """One read may need several segments, which need not be in order."""
    pieces = [(IMAGE.base + at, IMAGE.data[at : at + 20]) for at in range(0, len(IMAGE.data), 20)]
    (tmp_path / "core").write_bytes(core_of(pieces[::-1]))
    with CoreMemory(tmp_path / "core") as memory:
        assert read_attribute(memory, IMAGE.base) is ATTR


def mapped_core(tmp_path: Path, library: str) -> CoreMemory:
    """A dump whose records are in the second page of a file, on another machine under that path."""
    mapped = (IMAGE.base + SPLIT, len(IMAGE.data) - SPLIT, 1, library)
    (tmp_path / "core").write_bytes(core_of([(IMAGE.base, IMAGE.data[:SPLIT])], [mapped]))
    return CoreMemory(tmp_path / "core", sysroot=tmp_path / "there")


def test_what_the_dump_leaves_to_libraries(tmp_path: Path) -> None:
    library = tmp_path / "there" / "lib" / "compiler.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(bytes(4096) + IMAGE.data[SPLIT:])
    with mapped_core(tmp_path, "/lib/compiler.so") as memory:
        assert read_attribute(memory, IMAGE.base) is ATTR


def test_a_library_that_is_not_here(tmp_path: Path) -> None:
    with mapped_core(tmp_path, "/lib/compiler.so") as memory, pytest.raises(StorageError) as raised:
        read_attribute(memory, IMAGE.base)
    error = raised.value
    assert "is no record of a class" in error.message
    assert "it was mapped from /lib/compiler.so, which is not here" in error.notes[0]
    assert error.help == "copy the file from where the process ran, and say where it is with `sysroot`"


def test_a_library_that_is_too_short(tmp_path: Path) -> None:
    library = tmp_path / "there" / "compiler.so"
    library.parent.mkdir()
    library.write_bytes(bytes(4096))
    with mapped_core(tmp_path, "/compiler.so") as memory, pytest.raises(StorageError):
        read_attribute(memory, IMAGE.base)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is no ELF file"),
        (b"\x7fELF", "is no ELF file"),
        (b"text\n" * 100, "is no ELF file"),
        (core_of([], kind=3), "is an ELF file, but no core dump"),
        (core_of([])[:100], "is no ELF file"),
    ],
    ids=["empty", "cut", "text", "library", "half"],
)
def test_other_files(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(StorageError, match=message):
        CoreMemory(tmp_path / "file")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot read .*missing: No such file"):
        CoreMemory(tmp_path / "missing")
    with pytest.raises(StorageError, match=r"cannot read .*: Is a directory"):
        CoreMemory(tmp_path)


def test_without_pyelftools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "elftools.elf.elffile", None)
    with pytest.raises(StorageError, match="pyelftools, which is not installed") as raised:
        CoreMemory(tmp_path / "core")
    assert raised.value.help == "pip install 'sdybridge[debug]'"
