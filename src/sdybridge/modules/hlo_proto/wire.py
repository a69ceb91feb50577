"""The wire format of protobuf: the fields of a message with their places in the bytes.

A message that is parsed and serialised again does not keep the order of its unknown fields. So programs are
not parsed: the bytes are walked, and only those that change are written anew.
"""

from __future__ import annotations

import functools
import operator
import sys
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.errors import ProtoError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = 0, 1, 2, 3, 4, 5

_MOST_GROUPS = 100
_MOST_BYTES = 10  # of a varint

Edit = tuple[int, int, bytes]
"""Replace `data[start:end]` by new bytes; `start == end` inserts."""


class Field(NamedTuple):
    """One field of a message.

    Attributes:
        number: Its number.
        wire_type: Its wire type.
        start: Where its tag starts.
        value: Where its value starts, behind its length if it has one.
        end: Where its value ends.
    """

    number: int
    wire_type: int
    start: int
    value: int
    end: int


def read_fields(data: bytes, at: int, end: int, where: str, most: int = sys.maxsize) -> list[Field]:
    r"""The fields of the message in `data[at:end]`.

    Args:
        data: The bytes.
        at: Where the message starts.
        end: Where it ends.
        where: What errors call the message.
        most: How many fields to read.

    Raises:
        ProtoError: The bytes are no message, or end within a field.

    >>> read_fields(b"\x08\x05\x12\x01a", 0, 5, "message")[1]
    Field(number=2, wire_type=2, start=2, value=4, end=5)
    """
    fields: list[Field] = []
    new, append = tuple.__new__, fields.append  # twice as fast as Field(..)
    while at < end and most:
        most -= 1
        start = at
        tag = data[at]
        at += 1
        if tag >= 0x80:
            if at < end and data[at] < 0x80:
                tag += (data[at] << 7) - 0x80
                at += 1
            else:
                tag, at = read_varint(data, start, end, where)
        wire_type = tag & 7
        if wire_type == BYTES:
            size = data[at] if at < end else 0x80
            value = at + 1
            if size >= 0x80:
                size, value = read_varint(data, at, end, where)
            at = value + size
        elif wire_type == VARINT:
            value = at
            if at < end and data[at] < 0x80:
                at += 1
            else:
                _, at = read_varint(data, at, end, where)
        else:
            value = at
            at = _end_of_other(data, start, value, end, where)
        if at > end:
            raise truncated(f"{where}: field {tag >> 3}", start, at - end)
        if tag < 8:
            raise ProtoError(f"{where}: no field has the number 0", notes=[_at(start)])
        append(new(Field, (tag >> 3, wire_type, start, value, at)))
    return fields


def find_field(data: bytes, at: int, end: int, where: str, least: int) -> int:
    r"""Where the first field of the message starts whose number is at least `least`; otherwise where it ends.

    Raises:
        ProtoError: The bytes before are no fields, or end within one.

    >>> find_field(b"\x08\x05\x12\x01a", 0, 5, "message", 2)
    2
    """
    least <<= 3
    start = at
    while at < end:
        start = at
        tag, value = data[at], at + 1
        if tag >= 0x80:
            if value < end and data[value] < 0x80:
                tag += (data[value] << 7) - 0x80
                value += 1
            else:
                tag, value = read_varint(data, at, end, where)
        if tag >= least:
            return at
        size = data[value] if value < end else 0x80
        if tag & 7 == BYTES and size < 0x80:
            at = value + 1 + size
        elif tag & 7 == VARINT and size < 0x80:
            at = value + 1
        else:
            at = read_fields(data, at, end, where, 1)[0].end
    if at > end:
        raise truncated(f"{where}: a field", start, at - end)
    return end


def read_holder(
    data: bytes, at: int, end: int, where: str, number: int, wanted: Sequence[bytes]
) -> tuple[list[Field], list[tuple[int, Field]]]:
    r"""The fields of a message that holds many others in its field `number`, which is less than 16.

    Args:
        data: The bytes.
        at: Where the message starts.
        end: Where it ends.
        where: What errors call the message.
        number: The field that holds the others.
        wanted: Of these, only those are read whose bytes hold one of these texts.

    Returns:
        Its other fields; and the messages in it that are wanted, each with its index among all of them.

    Raises:
        ProtoError: The bytes are no message, or end within a field.

    >>> others, found = read_holder(b"\x12\x01a\x12\x01b\x08\x05", 0, 8, "message", 2, [b"b"])
    >>> len(others), found
    (1, [(1, Field(number=2, wire_type=2, start=3, value=5, end=6))])
    """
    others: list[Field] = []
    found: list[tuple[int, Field]] = []
    far = end + 1
    hit = min([data.find(one, at, end) % far for one in wanted], default=far)
    tag = number << 3 | BYTES
    index = 0
    while at < end:
        if data[at] != tag:
            others += read_fields(data, at, end, where, 1)
            at = others[-1].end
            continue
        start = at
        value = at + 2
        size = data[at + 1] if at + 1 < end else 0x80
        if size >= 0x80:
            if value < end and data[value] < 0x80:
                size += (data[value] << 7) - 0x80
                value += 1
            else:
                size, value = read_varint(data, at + 1, end, where)
        at = value + size
        if at > end:
            raise truncated(f"{where}: field {number}", start, at - end)
        if hit < at:
            if hit < value:
                hit = min([data.find(one, value, end) % far for one in wanted])
            if hit < at:
                found.append((index, tuple.__new__(Field, (number, BYTES, start, value, at))))
        index += 1
    return others, found


def _end_of_other(data: bytes, start: int, at: int, end: int, where: str) -> int:
    """Where a field ends that is of fixed size, or a group."""
    tag, _ = read_varint(data, start, end, where)
    wire_type = tag & 7
    if wire_type in (FIXED64, FIXED32):
        return at + (8 if wire_type == FIXED64 else 4)
    if wire_type != GROUP:
        raise ProtoError(f"{where}: wire type {wire_type} where a field starts", notes=[_at(start)])
    opened = [tag >> 3]
    while opened:
        inner = at
        tag, at = read_varint(data, at, end, where)
        if tag & 7 == GROUP and len(opened) < _MOST_GROUPS:
            opened.append(tag >> 3)
        elif tag & 7 == END_GROUP and tag >> 3 == opened[-1]:
            opened.pop()
        elif tag & 7 in (VARINT, BYTES):
            size, at = read_varint(data, at, end, where)
            at += size if tag & 7 == BYTES else 0
        elif tag & 7 in (FIXED64, FIXED32):
            at += 8 if tag & 7 == FIXED64 else 4
        else:
            raise ProtoError(f"{where}: a group that does not end, or nests too deep", notes=[_at(inner)])
    return at


def read_varint(data: bytes, at: int, end: int, where: str) -> tuple[int, int]:
    r"""The number of 64 bits that starts at `at`, and where it ends.

    Raises:
        ProtoError: It does not end.

    >>> read_varint(b"\xac\x02", 0, 2, "message")
    (300, 2)
    """
    value = 0
    for i in range(min(_MOST_BYTES, end - at)):
        byte = data[at + i]
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value & (1 << 64) - 1, at + i + 1
    what = "a number of more than 10 bytes" if end - at >= _MOST_BYTES else "the bytes end within a number"
    raise ProtoError(f"{where}: {what}", notes=[_at(at)])


@functools.lru_cache(maxsize=4096)  # lengths repeat
def varint(value: int) -> bytes:
    r"""The bytes of a number that is not negative.

    >>> varint(300)
    b'\xac\x02'
    """
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message_field(number: int, payload: bytes) -> bytes:
    r"""A field that holds a message or a string.

    >>> message_field(40, b"a")
    b'\xc2\x02\x01a'
    """
    return varint(number << 3 | BYTES) + varint(len(payload)) + payload


def with_lengths(data: bytes, chain: Iterable[Field], edits: list[Edit]) -> list[Edit]:
    """The edits, and those that they entail: the lengths of the fields around them, innermost first.

    Args:
        data: The bytes.
        chain: The fields that hold all of the edits, from the innermost to the outermost.
        edits: The edits.
    """
    growth = sum(len(new) - (end - start) for start, end, new in edits)
    for field in chain:
        at = field.start + 1
        if data[field.start] >= 0x80:
            _, at = read_varint(data, field.start, field.value, "")
        length = varint(field.end - field.value + growth)
        edits.append((at, field.value, length))
        growth += len(length) - (field.value - at)
    return edits


def apply(data: bytes, edits: list[Edit]) -> bytes:
    """`data` with all edits, which must not overlap; those at one place stay in their order."""
    pieces: list[bytes] = []
    last = 0
    for start, end, new in sorted(edits, key=operator.itemgetter(0, 1)):
        pieces += (data[last:start], new)
        last = end
    pieces.append(data[last:])
    return b"".join(pieces)


def truncated(what: str, start: int, missing: int) -> ProtoError:
    """The error about something that starts at `start` and lacks `missing` bytes."""
    return ProtoError(
        f"{what} ends {missing} bytes behind what holds it", notes=[_at(start), "was the file cut?"]
    )


def _at(offset: int) -> str:
    return f"at byte {offset}"
