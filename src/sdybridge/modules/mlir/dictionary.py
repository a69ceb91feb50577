"""Attribute dictionaries of module text: keys and values as spans, nothing copied."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import (
    BARE_ID,
    STRING,
    describe,
    items,
    matching_bracket,
    parse_error,
    skip_trivia,
    unescape,
)
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY = re.compile(rf"({BARE_ID})|({STRING})")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a dictionary.

    Attributes:
        key: The name, unquoted.
        span: The whole entry.
        value: The value's span; none for a unit attribute, which is written as its key alone.
    """

    key: str
    span: Span
    value: Span | None


def read_dictionary(text: str, start: int) -> tuple[Entry, ...]:
    """The entries of the dictionary whose `{` stands at `start`, in order.

    Raises:
        ParseError: An entry is not `key` or `key = value`, or a key comes twice.

    >>> [entry.key for entry in read_dictionary('{a = 1, "b c", d.e = {f}}', 0)]
    ['a', 'b c', 'd.e']
    """
    end = matching_bracket(text, start)
    entries = tuple(_entry(text, span) for span in items(text, start + 1, end - 1))
    seen: set[str] = set()
    for entry in entries:
        if entry.key in seen:
            message = f"the dictionary has the key '{entry.key}' twice"
            raise parse_error(text, entry.span.start, message, end=entry.span.end, help="keep one of them")
        seen.add(entry.key)
    return entries


def find_entry(text: str, start: int, key: str) -> Entry | None:
    """The entry under `key` of the dictionary at `start`, or none."""
    return next((entry for entry in read_dictionary(text, start) if entry.key == key), None)


def read_array(text: str, start: int) -> Iterator[Span]:
    """The elements of the array attribute whose `[` stands at `start`."""
    return items(text, start + 1, matching_bracket(text, start) - 1)


def _entry(text: str, span: Span) -> Entry:
    found = _KEY.match(text, span.start)
    if not found:
        raise parse_error(text, span.start, f"expected a key, found {describe(text, span.start)}")
    key = found.group(1) or unescape(found.group(2))
    after = skip_trivia(text, found.end())
    if after >= span.end:
        return Entry(key, span, None)
    if text[after] != "=":
        message = f"expected '=' or ',' after the key '{key}', found {describe(text, after)}"
        raise parse_error(text, after, message)
    value = skip_trivia(text, after + 1)
    if value >= span.end:
        raise parse_error(text, after, f"the key '{key}' has no value after '='")
    return Entry(key, span, Span(value, span.end))
