"""Frontend attributes: the dictionary of strings among an operation's or a value's attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sdybridge.modules.carriers import Quoting, read_carrier
from sdybridge.modules.mlir.dictionary import read_dictionary
from sdybridge.modules.splice import removal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.mlir.dictionary import Entry
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.splice import Edit
    from sdybridge.source import Source, Span

FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"


class Attributes(NamedTuple):
    """The entries of an attribute dictionary, by key, and those of the frontend attributes in it."""

    span: Span
    entries: Mapping[str, Entry]
    frontend: Mapping[str, Entry]

    def carrier(self, source: Source, key: str) -> Carrier | None:
        """The carrier under `key`, if there is one."""
        entry = self.frontend.get(key)
        if entry is None or entry.value is None:
            return None
        return read_carrier(key, source, entry.value, Quoting.MLIR)


def read_attributes(text: str, span: Span) -> Attributes:
    """The dictionary at `span`.

    Raises:
        ParseError: A dictionary is malformed.
    """
    entries = {entry.key: entry for entry in read_dictionary(text, span.start)}
    frontend = entries.get(FRONTEND_ATTRIBUTES)
    if frontend is None or frontend.value is None or text[frontend.value.start] != "{":
        return Attributes(span, entries, {})
    inner = {entry.key: entry for entry in read_dictionary(text, frontend.value.start)}
    return Attributes(span, entries, inner)


def changed(
    text: str,
    attributes: Attributes,
    changes: Mapping[str, str | None],
    frontend: Mapping[str, str | None],
) -> str:
    """The dictionary with changes to its entries and to those of its frontend attributes; empty if none stay.

    Args:
        text: The program.
        attributes: The dictionary in it.
        changes: The new value under each key; None to remove the entry.
        frontend: The same for the frontend attributes.

    >>> from sdybridge.source import Span
    >>> text = '{a = 1, mhlo.frontend_attributes = {c = "d"}, z}'
    >>> changed(text, read_attributes(text, Span(0, 48)), {"a": None, "sdy.x": "2"}, {"b": '""', "c": None})
    '{mhlo.frontend_attributes = {b = ""}, sdy.x = 2, z}'
    """
    if frontend:
        inner = _with(text, attributes.frontend, frontend)
        changes = {**changes, FRONTEND_ATTRIBUTES: f"{{{', '.join(inner)}}}" if inner else None}
    entries = _with(text, attributes.entries, changes)
    return f"{{{', '.join(entries)}}}" if entries else ""


def insertion(span: Span, entries: Mapping[str, Entry], key: str, value: str) -> Edit:
    """The edit that puts an entry into the dictionary at `span`, where the printer would: sorted by key."""
    old = entries.get(key)
    if old:
        return (old.span.start, old.span.end, f"{key} = {value}")
    for other, entry in entries.items():
        if other > key:
            return (entry.span.start, entry.span.start, f"{key} = {value}, ")
    if entries:
        end = [*entries.values()][-1].span.end
        return (end, end, f", {key} = {value}")
    return (span.start + 1, span.start + 1, f"{key} = {value}")


def replaced(text: str, span: Span, new: str, *, is_listed: bool = False) -> Edit:
    """The edit that puts `new` in the place of a dictionary; an empty one goes if it is not in a list."""
    if new or is_listed:
        return (span.start, span.end, new or "{}")
    return (*removal(text, span.start + 1, span.end - 1), "")


def new_dictionaries(function: Operation, key: str, new: Mapping[int, str]) -> list[Edit]:
    """The edits that give dictionaries to arguments or results of a function that have none.

    Args:
        function: The function.
        key: `arg_attrs` or `res_attrs`, as the generic form calls them.
        new: The dictionaries, by the number of the value.
    """
    if not new:
        return []
    text = function.source.text
    values = function.arguments if key == "arg_attrs" else function.function_results
    if function.is_generic:
        span = function.properties or function.dictionaries[0]
        listed = ", ".join(new.get(index, "{}") for index in range(len(values)))
        return [(span.start + 1, span.start + 1, f"{key} = [{listed}], ")]
    results = function.results_span
    is_bare = key == "res_attrs" and results is not None and text[results.start] != "("
    edits: list[Edit] = []
    for index, dictionary in new.items():
        span = values[index].type
        if is_bare:
            edits.append((span.start, span.end, f"({text[span.start : span.end]} {dictionary})"))
        else:
            edits.append((span.end, span.end, f" {dictionary}"))
    return edits


def _with(text: str, entries: Mapping[str, Entry], changes: Mapping[str, str | None]) -> list[str]:
    """The texts of the entries once these are changed. The printer sorts by key, so new ones go there."""
    new: list[tuple[str, str]] = []
    for key, entry in entries.items():
        if key not in changes:
            new.append((key, text[entry.span.start : entry.span.end]))
        elif changes[key] is not None:
            new.append((key, f"{key} = {changes[key]}"))
    for key, value in sorted(changes.items()):
        if key not in entries and value is not None:
            at = next((i for i, (other, _) in enumerate(new) if other > key), len(new))
            new.insert(at, (key, f"{key} = {value}"))
    return [entry for _, entry in new]
