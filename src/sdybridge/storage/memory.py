"""Memory to read from: anything that gives the bytes at an address."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Protocol, Self

from sdybridge.errors import StorageError

if TYPE_CHECKING:
    from types import TracebackType


class Memory(Protocol):
    r"""Memory to read from.

    >>> class Zeros:
    ...     def read(self, address: int, size: int) -> bytes:
    ...         return bytes(size)
    >>> memory: Memory = Zeros()
    >>> memory.read(0x1000, 2)
    b'\x00\x00'
    """

    def read(self, address: int, size: int) -> bytes:
        """The bytes from an address on, all of them.

        Args:
            address: Of the first byte.
            size: How many, at least 1.

        Raises:
            StorageError: Not all of them can be read.
        """
        ...


def unreadable(address: int, size: int, why: str) -> StorageError:
    """The error about bytes that cannot be read."""
    what = "1 byte" if size == 1 else f"{size} bytes"
    return StorageError(f"cannot read {what} at {address:#x}: {why}", address=address)


@dataclasses.dataclass(frozen=True, slots=True)
class BytesMemory:
    """An image of memory.

    Attributes:
        base: The address of its first byte.
        data: What is there; nothing else is mapped.

    >>> BytesMemory(0x1000, b"abcd").read(0x1001, 2)
    b'bc'
    """

    base: int
    data: bytes = dataclasses.field(repr=False)

    def read(self, address: int, size: int) -> bytes:
        """The bytes from an address on.

        Raises:
            StorageError: They are not all in the image.

        Example:
            >>> BytesMemory(0x1000, b"abcdef").read(0x1002, 3)
            b'cde'
        """
        start = address - self.base
        if not 0 <= start <= start + size <= len(self.data):
            end = self.base + len(self.data)
            raise unreadable(address, size, f"the image is from {self.base:#x} to {end:#x}")
        return self.data[start : start + size]


class ProcessMemory:
    """The memory of a process on Linux, which goes on running.

    Args:
        pid: Of the process; None for this one. Another must be one that you may debug.

    Raises:
        StorageError: There is no such process, or it may not be read.

    >>> import ctypes
    >>> here = ctypes.create_string_buffer(b"abcd")
    >>> with ProcessMemory() as memory:
    ...     memory.read(ctypes.addressof(here), 4)
    b'abcd'
    """

    def __init__(self, pid: int | None = None) -> None:
        self._pid = os.getpid() if pid is None else pid
        try:
            self._file = os.open(f"/proc/{self._pid}/mem", os.O_RDONLY)
        except (FileNotFoundError, ProcessLookupError):
            has_proc = os.path.exists("/proc/self/mem")  # noqa: PTH110  (it is asked once, of a fixed path)
            raise StorageError(
                f"there is no process {self._pid}"
                if has_proc
                else "this system has no /proc/PID/mem; use a core dump or a debugger"
            ) from None
        except OSError as error:
            raise StorageError(
                f"the memory of process {self._pid} cannot be opened: {error.strerror}",
                help="run this as its user or as root; kernel.yama.ptrace_scope may have to be 0",
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Reads no more."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def read(self, address: int, size: int) -> bytes:
        """The bytes from an address on.

        Raises:
            StorageError: Not all of them are mapped, or the process has ended.
        """
        if not 0 <= address <= address + size < 1 << 63:  # the kernel's half is never readable
            raise unreadable(address, size, "no process has memory there")
        parts = []
        while size:
            try:
                part = os.pread(self._file, size, address)
            except OSError:
                raise unreadable(address, size, f"process {self._pid} has nothing mapped there") from None
            if not part:
                raise unreadable(address, size, f"process {self._pid} has ended")
            parts.append(part)
            address, size = address + len(part), size - len(part)
        return b"".join(parts)
