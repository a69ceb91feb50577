"""Frontend attributes in HLO protos: a map of strings, whose entries keep their places."""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import TYPE_CHECKING

from sdybridge.modules.hlo_proto.wire import BYTES, Field, message_field, read_fields
from sdybridge.source import utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sdybridge.modules.hlo_proto.wire import Edit

_MAP, _KEY, _VALUE = 1, 1, 2


def _entries(data: bytes, at: int, end: int, where: str) -> Iterator[tuple[Field, str, str]]:
    for entry in read_fields(data, at, end, where):
        if entry.number == _MAP and entry.wire_type == BYTES:
            parts = {_KEY: "", _VALUE: ""}
            for part in read_fields(data, entry.value, entry.end, where):
                parts[part.number] = data[part.value : part.end].decode("utf-8", "surrogateescape")
            yield entry, parts[_KEY], parts[_VALUE]


@functools.lru_cache(maxsize=4096)  # a program repeats few of them very often
def read_map(data: bytes) -> Mapping[str, str]:
    """The attributes in the bytes of a `FrontendAttributes`.

    Raises:
        ProtoError: The bytes are no map of strings.
    """
    return MappingProxyType(
        {key: value for _, key, value in _entries(data, 0, len(data), "frontend_attributes")}
    )


def check_map(data: bytes, field: Field, where: str) -> None:
    """Raise what is wrong with the attributes in `field`, with its place.

    Raises:
        ProtoError: The bytes are no map of strings.
    """
    list(_entries(data, field.value, field.end, where))


def map_edits(data: bytes, field: Field, changes: Mapping[str, str | None], where: str) -> Iterator[Edit]:
    """The edits inside of `field` that set attributes, or (None) remove them."""
    entries = list(_entries(data, field.value, field.end, where))
    for entry, key, value in entries:
        if key in changes and changes[key] != value:
            new = changes[key]
            yield entry.start, entry.end, b"" if new is None else map_entry(key, new)
    present = {key for _, key, _ in entries}
    for key, new in sorted(changes.items()):
        if new is not None and key not in present:
            at = next((entry.start for entry, other, _ in entries if other > key), field.end)
            yield at, at, map_entry(key, new)


def map_entry(key: str, value: str) -> bytes:
    """One entry of the map."""
    return message_field(_MAP, message_field(_KEY, utf8(key)) + message_field(_VALUE, utf8(value)))
