"""Calls of `@Sharding`, GSPMD's way to lay out one value, and calls that hold a sharding further inside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.export.custom_calls import (
    MHLO_OPERATIONS,
    CustomCall,
    call_result_types,
    read_custom_call,
)
from sdybridge.modules.mlir.dictionary import find_entry, read_dictionary
from sdybridge.modules.mlir.lexer import code_until, items, unescape
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.modules.mlir.dictionary import Entry

_PREFIXES = ("stablehlo.", "mhlo.")
_LONGEST_HEAD = 2000
_UNSPECIFIED = re.compile(r"unspecified_dims\s*=\s*\[([\d,\s]*)\]")


@dataclass(frozen=True, slots=True)
class ShardingCall:
    """A call of `@Sharding` on one value.

    Attributes:
        start: Where the name of the operation starts.
        end: Where the types end; in the generic form, where they start.
        operand: The value.
        type: Its type.
        kept: The entries to keep, as text: those that are no property of the call.
        open_dims: The dimensions that the call leaves to propagation.
        is_generic: Whether it is in the generic form.
    """

    start: int
    end: int
    operand: str
    type: str
    kept: str
    open_dims: frozenset[int]
    is_generic: bool


def sharding_call(text: str, brace: int, aliases: Mapping[str, str]) -> ShardingCall | None:
    """The call whose dictionary opens at `brace`; None if that is another operation.

    >>> text = '%1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{manual}"} : (i32) -> i32'
    >>> call = sharding_call(text, 41, {})
    >>> call.operand, call.type
    ('%0', 'i32')
    """
    call = call_before(text, brace, aliases)
    if call is None or call.target != "Sharding" or call.brace != brace:
        return None
    operands = [*items(text, call.operands.start + 1, call.operands.end - 1)]
    signature = call_result_types(text, call)
    if signature is None or len(signature[0]) != 1 or len(operands) != 1:
        return None
    (of_type,), end = signature
    is_generic = text[call.name.start] == '"'
    properties = read_dictionary(text, call.properties) if call.properties >= 0 else ()
    entries = [*properties, *read_dictionary(text, brace)]
    config = _UNSPECIFIED.search(_string(text, entries, "backend_config"))
    kept = [
        text[entry.span.start : entry.span.end]
        for entry in entries
        if "." in entry.key and entry.key != "mhlo.sharding"
    ]
    return ShardingCall(
        start=call.name.start,
        end=call.end if is_generic else end,
        operand=text[operands[0].start : operands[0].end],
        type=text[of_type.start : of_type.end],
        kept=", ".join(kept),
        open_dims=frozenset(int(dim[:9]) for dim in re.findall(r"\d+", config[1])) if config else frozenset(),
        is_generic=is_generic,
    )


def outer_dictionary(text: str, brace: int, aliases: Mapping[str, str]) -> int:
    """Where the dictionary of a call opens whose `mhlo.attributes` open at `brace`; -1 if they are no such.

    XLA's export puts the sharding there for calls that stand for some operations of `mhlo`.

    >>> outer_dictionary("stablehlo.custom_call @mhlo.erf(%a) {mhlo.attributes = {}}", 55, {})
    36
    """
    call = call_before(text, brace, aliases)
    if call is None or call.target not in MHLO_OPERATIONS or not 0 <= call.brace < brace:
        return -1
    attributes = find_entry(text, call.brace, "mhlo.attributes")
    return call.brace if attributes and attributes.value and attributes.value.start == brace else -1


def call_before(text: str, at: int, aliases: Mapping[str, str]) -> CustomCall | None:
    """The custom call whose name is the nearest before `at`, if it is near."""
    low = max(0, at - _LONGEST_HEAD)
    found = at
    while (found := text.rfind("custom_call", low, found)) >= 0:
        prefix = next((one for one in _PREFIXES if text.endswith(one, 0, found)), None)
        if prefix is None:
            continue
        start, end = found - len(prefix), found + len("custom_call")
        if text.startswith('"', end) and text.startswith('"', start - 1):
            start, end = start - 1, end + 1
        if code_until(text, text.rfind("\n", 0, start) + 1, start) == start:
            return read_custom_call(text, Span(start, end), aliases)
    return None


def _string(text: str, entries: Sequence[Entry], key: str) -> str:
    """The string under a key; empty if there is none."""
    for entry in entries:
        if entry.key == key and entry.value and text.startswith('"', entry.value.start):
            return unescape(text[entry.value.start : entry.value.end])
    return ""
