"""Small ELF core dumps."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAGE = 4096
_HEADER = "<4sBBBBB7xHHIQQQIHHHHHH"


def core_of(
    segments: Sequence[tuple[int, bytes]],
    files: Sequence[tuple[int, int, int, str]] = (),
    *,
    kind: int = 4,
    bits: int = 2,
    order: int = 1,
) -> bytes:
    """A core dump.

    Args:
        segments: Addresses, and the bytes that are there.
        files: What is mapped from files: address, size, offset in the file in pages, path.
        kind: 4 for a core dump.
        bits: 2 for 64 bits.
        order: 1 for little-endian.
    """
    note = _file_note(files)
    count = len(segments) + 1
    offset = 64 + 56 * count
    headers = [_segment(4, offset, 0, len(note), len(note))]
    offset += len(note)
    for address, data in segments:
        headers.append(_segment(1, offset, address, len(data), len(data) + _PAGE))  # with a page not dumped
        offset += len(data)
    header = struct.pack(
        _HEADER, b"\x7fELF", bits, order, 1, 0, 0, kind, 62, 1, 0, 64, 0, 0, 64, 56, count, 0, 0, 0
    )
    return b"".join([header, *headers, note, *[data for _, data in segments]])


def _segment(kind: int, offset: int, address: int, in_file: int, in_memory: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, 6, offset, address, 0, in_file, in_memory, 1)


def _file_note(files: Sequence[tuple[int, int, int, str]]) -> bytes:
    entries = b"".join(struct.pack("<QQQ", address, address + size, page) for address, size, page, _ in files)
    names = b"".join(name.encode() + b"\0" for *_, name in files)
    described = struct.pack("<QQ", len(files), _PAGE) + entries + names
    return (
        struct.pack("<III8s", 5, len(described), 0x46494C45, b"CORE") + described + bytes(-len(described) % 4)
    )
