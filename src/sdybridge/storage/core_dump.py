"""Core dumps: the memory that a process had when the dump was written."""

from __future__ import annotations

import bisect
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self

from sdybridge.errors import StorageError
from sdybridge.storage.memory import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType


class _Range(NamedTuple):
    """A range of addresses, and the bytes of a file that were there."""

    start: int
    end: int
    offset: int
    path: str


class CoreMemory:
    """The memory in an ELF core dump, as the kernel and gdb's `generate-core-file` write it.

    A dump leaves out what can be read from files: the constants of libraries, among which are the names of
    attribute classes. They are read from the libraries.

    Args:
        path: The dump.
        sysroot: Where the libraries are, if not where they were: a directory in front of their paths.

    Raises:
        StorageError: The file cannot be read, or is no core dump of a 64-bit little-endian machine.
    """

    def __init__(self, path: str | Path, *, sysroot: str | Path = "/") -> None:
        self._path = str(path)
        self._sysroot = Path(sysroot)
        self._files: dict[str, BinaryIO | None] = {}
        try:
            from elftools.elf.elffile import ELFFile
        except ImportError:
            raise StorageError(
                "core dumps are read with pyelftools, which is not installed",
                help="pip install 'sdybridge[debug]'",
            ) from None
        try:
            file = Path(path).open("rb")  # noqa: SIM115  (it is read from until the memory is closed)
        except OSError as error:
            raise StorageError(f"cannot read {self._path}: {error.strerror}") from None
        self._files[self._path] = file
        try:
            elf = ELFFile(file)
            is_core = elf["e_type"] == "ET_CORE" and elf.elfclass == 64 and elf.little_endian
            segments = list(elf.iter_segments()) if is_core else []
            self._ranges = sorted(self._dumped(segments))
            self._mapped = sorted(_mapped_files(segments))
        except Exception as error:  # noqa: BLE001  (pyelftools raises whatever a broken file leads it to)
            self.close()
            raise StorageError(f"{self._path} is no ELF file that can be read: {error}") from None
        if not is_core:
            self.close()
            raise StorageError(
                f"{self._path} is an ELF file, but no core dump of a 64-bit little-endian machine",
                help="write one with `gcore PID`, or with gdb's `generate-core-file`",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the dump and the libraries."""
        for file in self._files.values():
            if file:
                file.close()

    def read(self, address: int, size: int) -> bytes:
        """The bytes from an address on.

        Raises:
            StorageError: Not all of them are in the dump, nor in a library that is there.
        """
        parts = []
        while size:
            part = self._read_range(_find(self._ranges, address), address, size)
            if not part:
                part = self._read_range(_find(self._mapped, address), address, size)
            if not part:
                raise self._missing(address, size)
            parts.append(part)
            address, size = address + len(part), size - len(part)
        return b"".join(parts)

    def _dumped(self, segments: list[Any]) -> Iterator[_Range]:
        for segment in segments:
            if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
                start = segment["p_vaddr"]
                yield _Range(start, start + segment["p_filesz"], segment["p_offset"], self._path)

    def _read_range(self, found: _Range | None, address: int, size: int) -> bytes:
        """As much as the range has of the bytes; none without its file."""
        file = self._file(found.path) if found else None
        if not found or not file:
            return b""
        try:
            file.seek(found.offset + address - found.start)
            return file.read(min(size, found.end - address))
        except (OSError, ValueError, OverflowError):  # an offset that no file has
            return b""

    def _file(self, path: str) -> BinaryIO | None:
        if path not in self._files:
            place = self._sysroot / path.lstrip("/")
            try:
                self._files[path] = place.open("rb") if place.is_file() else None
            except (OSError, ValueError):
                self._files[path] = None
        return self._files[path]

    def _missing(self, address: int, size: int) -> StorageError:
        mapped = _find(self._mapped, address)
        if not mapped:
            return unreadable(address, size, f"{self._path} has nothing there")
        error = unreadable(address, size, f"it was mapped from {mapped.path}, which is not here")
        error.help = "copy the file from where the process ran, and say where it is with `sysroot`"
        return error


def _find(ranges: list[_Range], address: int) -> _Range | None:
    """The range that holds an address."""
    at = bisect.bisect_right(ranges, address, key=lambda found: found.start) - 1
    return ranges[at] if at >= 0 and address < ranges[at].end else None


def _mapped_files(segments: list[Any]) -> Iterator[_Range]:
    """The files that were mapped, from the dump's `NT_FILE` note."""
    for segment in segments:
        if segment["p_type"] != "PT_NOTE":
            continue
        for note in segment.iter_notes():
            if note["n_type"] != "NT_FILE":
                continue
            described = note["n_desc"]
            for entry, name in zip(described["Elf_Nt_File_Entry"], described["filename"], strict=True):
                offset = entry["page_offset"] * described["page_size"]
                yield _Range(
                    entry["vm_start"], entry["vm_end"], offset, name.decode("utf-8", "surrogateescape")
                )
