"""Calls of `@Sharding`, GSPMD's way to say how one value is laid out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.dictionary import Entry, read_dictionary
from sdybridge.modules.lexer import SUFFIX_ID, matching_bracket, skip_trivia, unescape
from sdybridge.modules.signature import result_types, signature_end

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPERAND = rf"(?P<operand>%{SUFFIX_ID}(?:#\d++)?)"
_PRETTY = re.compile(rf"(?:stablehlo|mhlo)\.custom_call\s++@Sharding\s*+\(\s*+{_OPERAND}\s*+\)\s*+\Z")
_GENERIC = re.compile(rf'"(?:stablehlo|mhlo)\.custom_call"\s*+\(\s*+{_OPERAND}\s*+\)\s*+')
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


def sharding_call(text: str, brace: int) -> ShardingCall | None:
    """The call whose dictionary opens at `brace`; None if that is another operation.

    >>> text = '%1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{manual}"} : (i32) -> i32'
    >>> call = sharding_call(text, 41)
    >>> call.operand, call.type
    ('%0', 'i32')
    """
    at = text.rfind("custom_call", max(0, brace - _LONGEST_HEAD), brace)
    if at < 0:
        return None
    properties: Sequence[Entry] = ()
    head = _PRETTY.search(text, max(0, at - len("stablehlo.")), brace)
    if head is None:
        head = _generic_head(text, at, brace)
        if head is None:
            return None
        if text.startswith("<{", head.end()):
            properties = read_dictionary(text, head.end() + 1)
    entries = [*properties, *read_dictionary(text, brace)]
    is_generic = text[head.start()] == '"'
    if is_generic and _string(text, entries, "call_target_name") != "Sharding":
        return None
    types = result_types(text, brace)
    end = matching_bracket(text, brace)
    types_end = signature_end(text, end)
    if not types or len(types[0]) != 1 or types_end < 0:
        return None
    config = _UNSPECIFIED.search(_string(text, entries, "backend_config"))
    kept = [
        text[entry.span.start : entry.span.end]
        for entry in entries
        if "." in entry.key and entry.key != "mhlo.sharding"
    ]
    return ShardingCall(
        start=head.start(),
        end=end if is_generic else types_end,
        operand=head["operand"],
        type=types[0][0],
        kept=", ".join(kept),
        open_dims=frozenset(int(dim[:9]) for dim in re.findall(r"\d+", config[1])) if config else frozenset(),
        is_generic=is_generic,
    )


def _generic_head(text: str, at: int, brace: int) -> re.Match[str] | None:
    """The operation's name and operand, if the dictionary at `brace` is its discardable one."""
    head = _GENERIC.match(text, max(0, text.rfind('"', 0, at)))
    if head is None:
        return None
    after = head.end()
    if text.startswith("<{", after):
        after = skip_trivia(text, matching_bracket(text, after))
    return head if after == brace else None


def _string(text: str, entries: Sequence[Entry], key: str) -> str:
    """The string under a key; empty if there is none."""
    for entry in entries:
        if entry.key == key and entry.value and text.startswith('"', entry.value.start):
            return unescape(text[entry.value.start : entry.value.end])
    return ""
