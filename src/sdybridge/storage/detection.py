"""Which build an attribute is of, found in its memory."""

from __future__ import annotations

import dataclasses
import struct
from itertools import takewhile
from typing import TYPE_CHECKING

from sdybridge.errors import StorageError
from sdybridge.storage.layouts import CURRENT

if TYPE_CHECKING:
    from sdybridge.storage.layouts import Build
    from sdybridge.storage.memory import Memory

_FARTHEST = 0x200  # where a record may have its name
_LONGEST = 100


def find_build(memory: Memory, address: int, *, build: Build = CURRENT) -> Build:
    """The build that the attribute at an address is of, so far as its record tells.

    The storages are alike in all known compilers, but the record of a class changes with MLIR. If `build`
    is wrong about it, this looks for a place in the record that has the name of a known attribute, of the
    dialect that the record is of. A record ends at the latest where the next one of that dialect begins.

    Args:
        memory: Where to read.
        address: Of the storage of any attribute that `build` has a layout of.
        build: Its layouts, and the record to begin with.

    Returns:
        `build`, with another record if it has to be; `build` itself if there is no such name.

    >>> from sdybridge.sdy import AxisRefAttr
    >>> from sdybridge.storage import write_attribute
    >>> image = write_attribute(AxisRefAttr("x"))
    >>> find_build(image, image.base) is CURRENT
    True
    """
    expected = next(field.offset for field in build.record.fields if field.name == "name")
    try:
        [record] = struct.unpack("<Q", memory.read(address, 8))
        [dialect] = struct.unpack("<Q", memory.read(record, 8))
    except StorageError:
        return build
    prefix = _name_at(memory, dialect + build.dialect.fields[0].offset) + "."
    known = [name for name in build.layouts if name.startswith(prefix)]
    if not known:
        return build
    inside = list(takewhile(lambda at: _word_at(memory, record + at) != dialect, range(8, _FARTHEST, 8)))
    if expected in inside and _name_at(memory, record + expected).startswith(prefix):
        return build
    found = [at for at in inside if _name_at(memory, record + at) in known]
    return _with_name_at(found[0], build) if found else build


def _word_at(memory: Memory, address: int) -> int | None:
    try:
        return int.from_bytes(memory.read(address, 8), "little")
    except StorageError:
        return None


def _name_at(memory: Memory, address: int) -> str:
    """The characters that a pointer and a length describe, if it is a short name; else empty."""
    try:
        start, length = struct.unpack("<QQ", memory.read(address, 16))
        return memory.read(start, length).decode("latin-1") if 0 < length < _LONGEST else ""
    except StorageError:
        return ""


def _with_name_at(offset: int, build: Build) -> Build:
    """The build whose records have the name there. The TypeID is right before it in all known builds."""
    moved = {"name": offset, "type_id": offset - 8}
    fields = [
        dataclasses.replace(field, offset=moved.get(field.name, field.offset))
        for field in build.record.fields
    ]
    record = dataclasses.replace(build.record, size=offset + 16, fields=tuple(fields))
    return dataclasses.replace(build, name=f"{build.name}, name at {offset:#x}", record=record)
