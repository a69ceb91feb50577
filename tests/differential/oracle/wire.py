"""Reads just enough protobuf wire format to take raw field bytes out of a serialized `HloModuleProto`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field number and value of each field, in the order of the bytes.

    Length-delimited and fixed-width values come as the bytes that stand in the message.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire_type == BYTES:
            size, at = _varint(message, at)
        else:
            size = {FIXED64: 8, FIXED32: 4}[wire_type]
        yield number, message[at : at + size]
        at += size


def submessages(message: bytes, number: int) -> list[bytes]:
    """The raw bytes of every occurrence of one length-delimited field."""
    return [value for field, value in fields(message) if field == number and isinstance(value, bytes)]


def string_map(message: bytes, number: int) -> dict[str, str]:
    """A `map<string, string>` field as a dict."""
    entries = [dict(fields(entry)) for entry in submessages(message, number)]
    return {text(entry.get(1, b"")): text(entry.get(2, b"")) for entry in entries}


def text(value: int | bytes) -> str:
    if isinstance(value, int):
        raise TypeError("expected a string field, found a varint")
    return value.decode()


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
