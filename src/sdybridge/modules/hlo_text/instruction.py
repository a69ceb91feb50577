"""One instruction of HLO text: its parts, and its attributes with their places."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.hlo.lexer import Lexer
from sdybridge.modules.carriers import Quoting, write_string
from sdybridge.modules.hlo_text.tokens import (
    TRIVIA,
    dictionary_end,
    error,
    group_end,
    shown,
    skip_trivia,
    string_end,
    value_end,
)
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.source import Source

HEAD = re.compile(rf"(?P<root>ROOT\b{TRIVIA})?+%?+(?P<name>[\w.\-]++){TRIVIA}={TRIVIA}", re.DOTALL)
"""What an instruction starts with: `ROOT %name = `."""

_TYPE = re.compile(r"[a-zA-Z]\w*+\s*+\[[^\[\]]*+\]")
_BUFFER = re.compile(r"b\s*+(?=\()")
_OPCODE = re.compile(rf"{TRIVIA}([a-zA-Z][\w\-]*+){TRIVIA}(?=\()", re.DOTALL)
_NAME = re.compile(r"([A-Za-z_][\w.\-]*+)=")
LAST = (
    "sharding",
    "frontend_attributes",
    "control-predecessors",
    "statistics",
    "origin",
    "metadata",
    "backend_config",
)
"""The attributes that XLA prints last, in its order."""


class Head(NamedTuple):
    """The parts of an instruction in front of its operands.

    Attributes:
        name: Its name, without the `%`.
        is_root: Whether `ROOT` marks it.
        shape_start: Where its shape starts.
        shape_end: Where that ends; at its start if it is left out.
        opcode: What it does.
        operands: Where the bracket of the operands opens.
    """

    name: str
    is_root: bool
    shape_start: int
    shape_end: int
    opcode: str
    operands: int


class HloAttribute(NamedTuple):
    """One attribute `name=value`.

    Attributes:
        name: Its name.
        comma: Where the comma before it stands.
        start: Where its name starts.
        value: Where its value stands.
    """

    name: str
    comma: int
    start: int
    value: Span


class Entry(NamedTuple):
    """One entry of `frontend_attributes={...}`: its key, where it starts, and where its value stands."""

    key: str
    start: int
    value: Span


def read_head(source: Source, at: int) -> Head:
    """The head of the instruction at `at`.

    Raises:
        ParseError: There is no instruction.
    """
    text = source.text
    first = skip_trivia(text, at)
    found = HEAD.match(text, first)
    if not found:
        raise error(
            source,
            first,
            f"expected an instruction `name = shape opcode(..)`, found {shown(text, first)}",
            help="take the line out if something was left out here" if text.startswith("..", first) else None,
        )
    start = end = found.end()
    call = _OPCODE.match(text, start)
    if not call or call[1] == "b":  # else the shape is left out
        end = _shape_end(source, start)
        call = _OPCODE.match(text, end)
        if not call:
            place = skip_trivia(text, end)
            raise error(source, place, f"expected an opcode and its operands, found {shown(text, place)}")
    return Head(found["name"], found["root"] is not None, start, end, call[1], call.end())


def _shape_end(source: Source, at: int) -> int:
    text = source.text
    buffer = _BUFFER.match(text, at)
    at = buffer.end() if buffer else at
    if text.startswith("(", at):
        return group_end(source, at)
    tensor = _TYPE.match(text, at)
    if not tensor:
        raise error(source, at, f"expected the shape of the instruction, found {shown(text, at)}")
    layout = skip_trivia(text, tensor.end())
    return group_end(source, layout) if text.startswith("{", layout) else tensor.end()


def read_attributes(source: Source, at: int) -> tuple[list[HloAttribute], int]:
    """The attributes that follow `at`, each behind a comma, and where the last one ends.

    Raises:
        ParseError: One has no value, or a string or bracket in it is never closed.
    """
    text, end = source.text, at
    attributes: list[HloAttribute] = []
    while True:
        comma = skip_trivia(text, end)
        if not text.startswith(",", comma):
            return attributes, end
        start = skip_trivia(text, comma + 1)
        name = _NAME.match(text, start)
        if not name:
            raise error(source, start, f"expected an attribute `name=value`, found {shown(text, start)}")
        value = skip_trivia(text, name.end())
        end = _value_end(source, name[1], value)
        attributes.append(HloAttribute(name[1], comma, start, Span(value, end)))


def _value_end(source: Source, name: str, at: int) -> int:
    if not source.text.startswith("{", at):
        return value_end(source, at)
    if name == "backend_config":
        return dictionary_end(source, at)
    return read_entries(source, at)[1] if name == "frontend_attributes" else group_end(source, at)


def read_entries(source: Source, at: int) -> tuple[list[Entry], int]:
    """The entries of the `{...}` of `frontend_attributes` at `at`, and where it ends.

    Raises:
        ParseError: It is malformed.
    """
    text = source.text
    entries: list[Entry] = []
    end = skip_trivia(text, at + 1)
    while not text.startswith("}", end):
        if entries:
            if not text.startswith(",", end):
                raise error(source, end, f"expected ',' or '}}' behind an entry, found {shown(text, end)}")
            end = skip_trivia(text, end + 1)
        key = _NAME.match(text, end)
        if not key:
            raise error(source, end, f"expected an entry `key=value`, found {shown(text, end)}")
        start = skip_trivia(text, key.end())
        if text.startswith("{", start):
            last = dictionary_end(source, start)
        elif text.startswith(('"', "'"), start):
            last = string_end(source, start)
        else:
            raise error(
                source,
                start,
                f"expected a string or a dictionary, found {shown(text, start)}",
                help=f'write `{key[1]}=".."`',
            )
        entries.append(Entry(key[1], end, Span(start, last)))
        end = skip_trivia(text, last)
    return entries, end + 1


def decode(source: Source, value: Span) -> str:
    """What the value of an entry stands for.

    Raises:
        ParseError: It has an unknown escape.
    """
    text = source.text
    if text.startswith("{", value.start):
        return text[value.start : value.end]
    return Lexer(source, value.start).expect_string("a value")


def place_of(name: str, attributes: Sequence[HloAttribute], end: int) -> int:
    """Where XLA prints the attribute `name` among others, which end at `end`."""
    behind = LAST[LAST.index(name) + 1 :]
    return next((one.comma for one in attributes if one.name in behind), end)


def with_entries(source: Source, at: int, changes: Mapping[str, str | None]) -> str:
    """The text of the dictionary at `at` with some entries changed, added, or (None) removed.

    Keys that are added come in the order of keys; the others keep their place and their text.

    >>> from sdybridge.source import Source
    >>> with_entries(Source('{a="1", c="3"}'), 0, {"b": "2", "c": None})
    '{a="1", b="2"}'
    """
    text = source.text
    entries, _ = read_entries(source, at)
    separator = text[entries[0].value.end : entries[1].start] if len(entries) > 1 else ","
    kept: list[tuple[str, str]] = []
    for entry in entries:
        value = changes.get(entry.key, "")
        if entry.key not in changes:
            kept.append((entry.key, text[entry.start : entry.value.end]))
        elif value is not None:
            kept.append((entry.key, text[entry.start : entry.value.start] + write_string(value, Quoting.HLO)))
    present = {entry.key for entry in entries}
    for key, value in changes.items():
        if key not in present and value is not None:
            before = next((i for i, (other, _) in enumerate(kept) if other > key), len(kept))
            kept.insert(before, (key, f"{key}={write_string(value, Quoting.HLO)}"))
    return f"{{{separator.join(entry for _, entry in kept)}}}" if kept else ""
