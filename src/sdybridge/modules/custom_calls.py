"""Custom calls that XLA's export treats specially once their shardings are converted.

Python callbacks with one result come to return a tuple of one. Calls that stand for `mhlo` operations keep
their sharding among the attributes of that operation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.dictionary import find_entry
from sdybridge.modules.lexer import SUFFIX_ID, matching_bracket, skip_trivia
from sdybridge.modules.signature import TYPE
from sdybridge.modules.splice import removal, splice
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.modules.splice import Edit

_CALLBACKS = frozenset(
    f"xla_{ffi}python_{device}_callback" for ffi in ("", "ffi_") for device in ("cpu", "gpu")
)
_MHLO_OPERATIONS = frozenset({"mhlo.erf", "mhlo.topk"})

_CALL = re.compile(r'stablehlo\.custom_call(?:[ \t]++@(?P<target>[\w.$]++)|")(?=\()')
_BEFORE = re.compile(rf'(?P<indent>[ \t]*+)(?:(?P<result>%{SUFFIX_ID})(?P<several>:\d++)? = )?"?')
_TARGET = re.compile(r'call_target_name = "([^"\\]*+)"')
_TYPES = re.compile(rf" : \((?:{TYPE}(?:, {TYPE})*+)?\) -> (?P<result>(?!tuple<){TYPE})(?=\s|\Z)")


@dataclass(frozen=True, slots=True)
class CustomCall:
    """A custom call as it stands in the text.

    Attributes:
        target: What it calls.
        indent: The white space before it.
        result: The name of its result; None if it has none or several.
        brace: Where its dictionary opens; -1 if it has none.
        end: Behind the dictionary, or the operands without one, where the types follow.
    """

    target: str
    indent: str
    result: Span | None
    brace: int
    end: int


def export_custom_calls(text: str) -> str:
    """`text`, whose shardings are converted, with these custom calls as XLA exports them.

    Source: `export_callback_custom_calls.cc` and `export_shardings.cc` in xla's
    `service/spmd/shardy/stablehlo_round_trip`.
    """
    if "stablehlo.custom_call" not in text:
        return text
    edits: list[Edit] = []
    for call in _custom_calls(text):
        if call.target in _CALLBACKS:
            edits += _retuple(text, call, len(edits))
        elif call.target in _MHLO_OPERATIONS:
            edits += _move_sharding(text, call)
    return splice(text, edits) if edits else text


def _custom_calls(text: str) -> Iterator[CustomCall]:
    """Every custom call that stands first on its line, as the printer writes them."""
    for hit in _CALL.finditer(text):
        line = text.rfind("\n", 0, hit.start()) + 1
        before = _BEFORE.fullmatch(text, line, hit.start())
        if not before:
            continue
        end = matching_bracket(text, hit.end())
        target = hit["target"]
        after = skip_trivia(text, end)
        if text.startswith("<{", after):  # the generic form
            end = matching_bracket(text, after)
            named = _TARGET.search(text, after, end)
            target = named[1] if named else ""
            after = skip_trivia(text, end)
        if target:
            brace = after if text.startswith("{", after) else -1
            result = Span(*before.span("result")) if before["result"] and not before["several"] else None
            end = matching_bracket(text, brace) if brace >= 0 else end
            yield CustomCall(target, before["indent"], result, brace, end)


def _retuple(text: str, call: CustomCall, number: int) -> Iterator[Edit]:
    """Let a callback whose one result is used return a tuple, and unpack it behind."""
    types = _TYPES.match(text, call.end)
    if not types or not call.result or not _is_used(text, call.result, types.end()):
        return
    result, of_type = text[call.result.start : call.result.end], types["result"]
    packed = f"%callback_{number}"
    while packed in text:
        packed += "_"
    sharding = find_entry(text, call.brace, "mhlo.sharding") if call.brace >= 0 else None
    attributes = f" {{{text[sharding.span.start : sharding.span.end]}}}" if sharding else ""
    unpack = f"{result} = stablehlo.get_tuple_element {packed}[0]{attributes}"
    end = types.end()
    if text.startswith(" loc(", end):
        end = matching_bracket(text, end + len(" loc"))
    line_break = "\r\n" if text.startswith("\r\n", end) else "\n"
    yield (call.result.start, call.result.end, packed)
    yield (types.start("result"), types.end("result"), f"tuple<{of_type}>")
    yield (end, end, f"{line_break}{call.indent}{unpack} : (tuple<{of_type}>) -> {of_type}")


def _is_used(text: str, value: Span, start: int) -> bool:
    """Whether the value is named again between `start` and the next function."""
    end = text.find("func.func", start)
    uses = re.compile(rf"{re.escape(text[value.start : value.end])}(?![\w$.\-])")
    return uses.search(text, start, len(text) if end < 0 else end) is not None


def _move_sharding(text: str, call: CustomCall) -> Iterator[Edit]:
    """Move the sharding into the attributes of the operation that the call stands for."""
    sharding = find_entry(text, call.brace, "mhlo.sharding") if call.brace >= 0 else None
    if sharding is None:
        return
    entry = text[sharding.span.start : sharding.span.end]
    attributes = find_entry(text, call.brace, "mhlo.attributes")
    if attributes is None or attributes.value is None:
        yield (sharding.span.start, sharding.span.end, f"mhlo.attributes = {{{entry}}}")
        return
    inside = attributes.value.start + 1
    separator = "" if text.startswith("}", skip_trivia(text, inside)) else ", "
    yield (inside, inside, f"{entry}{separator}")
    yield (*removal(text, sharding.span.start, sharding.span.end, call.brace + 1), "")
