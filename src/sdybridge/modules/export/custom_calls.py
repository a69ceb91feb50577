"""Custom calls that XLA's export treats specially once their shardings are converted.

Python callbacks with one result come to return a tuple of one. Calls that stand for `mhlo` operations keep
their sharding among the attributes of that operation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError
from sdybridge.modules.mlir.attributes import Aliases, expanded, find_type_aliases
from sdybridge.modules.mlir.dictionary import find_entry, read_dictionary
from sdybridge.modules.mlir.lexer import (
    SUFFIX_ID,
    TRIVIA,
    back_over_trivia,
    items,
    matching_bracket,
    next_code,
    skip_trivia,
    symbol_end,
    symbol_name,
    type_end,
    unescape,
)
from sdybridge.modules.mlir.regions import Regions
from sdybridge.modules.splice import location_end, removal, splice
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sdybridge.modules.splice import Edit

_CALLBACKS = frozenset(
    f"xla_{ffi}python_{device}_callback" for ffi in ("", "ffi_") for device in ("cpu", "gpu")
)
MHLO_OPERATIONS = frozenset({"mhlo.erf", "mhlo.topk"})
"""The targets whose sharding is among the attributes of the operation that the call stands for."""

_SPECIAL = _CALLBACKS | MHLO_OPERATIONS
_OTHERS = re.compile(r"stablehlo\.custom_call @(?!xla_|mhlo\.)[\w$.]++\(")

_CALL = re.compile(r"stablehlo\.custom_call(?![\w.$])(?: @(?P<target>[\w.$]++)(?=\())?+")
_RESULT = re.compile(rf"(%{SUFFIX_ID})(?:{TRIVIA}:{TRIVIA}(\d++))?+")
_FUNCTION = re.compile(r"func\.func(?![\w.$])")
_LONGEST_RESULT = 1000  # characters of a result's name


@dataclass(frozen=True, slots=True)
class CustomCall:
    """A custom call as it stands in the text.

    Attributes:
        target: What it calls.
        name: Where its name stands, with the quotes.
        operands: The parentheses with its operands.
        properties: Where its properties open; -1 if it has none.
        brace: Where its dictionary opens; -1 if it has none.
        end: Behind the dictionary, or what stands before it, where the types follow.
    """

    target: str
    name: Span
    operands: Span
    properties: int
    brace: int
    end: int


def export_custom_calls(text: str, *, retuple: bool = True) -> str:
    """`text`, whose shardings are converted, with these custom calls as XLA exports them.

    Args:
        text: The program.
        retuple: Whether Python callbacks come to return tuples.

    Raises:
        ParseError: Brackets of such a call do not pair up.
        ConversionError: The text does not tell what such a call returns, or its attributes.

    Source: `export_callback_custom_calls.cc` and `export_shardings.cc` in xla's
    `service/spmd/shardy/stablehlo_round_trip`.
    """
    aliases = Aliases(text)
    regions = Regions(text)
    edits: list[Edit] = []
    for call in _custom_calls(text, aliases):
        if call.target in _CALLBACKS:
            edits += _retuple(text, call, len(edits), regions) if retuple else ()
        else:
            edits += _move_sharding(text, call, aliases)
    return splice(text, edits) if edits else text


def may_have_special_calls(text: str) -> bool:
    """Whether a call may have one of these targets; most large programs only have others, plainly written."""
    if "\\" in text:
        return "stablehlo.custom_call" in text
    at = len(text)
    while (at := text.rfind("stablehlo.custom_call", 0, at)) >= 0:
        if not _OTHERS.match(text, at):
            return True
    return False


def _custom_calls(text: str, aliases: Mapping[str, str]) -> Iterator[CustomCall]:
    """Every custom call of these targets outside strings and comments."""
    code = 0
    for hit in _CALL.finditer(text):
        if hit["target"] and hit["target"] not in _SPECIAL:
            continue
        generic = text.startswith('"', hit.end()) and text.startswith('"', hit.start() - 1)
        start, end = hit.start() - generic, hit.start() + len("stablehlo.custom_call") + generic
        if start < code:
            continue
        code = next_code(text, code, start)
        if code > start:
            continue
        call = read_custom_call(text, Span(start, end), aliases)
        if call and call.target in _SPECIAL:
            yield call


def read_custom_call(text: str, name: Span, aliases: Mapping[str, str]) -> CustomCall | None:
    """The call whose name, with the quotes of the generic form, stands there; None if it is none."""
    is_generic = text[name.start] == '"'
    at = skip_trivia(text, name.end)
    target = ""
    if text.startswith("@", at) and not is_generic:
        end = symbol_end(text, at)
        target = symbol_name(text[at:end])
        at = skip_trivia(text, end)
    if not text.startswith("(", at):
        return None
    end = matching_bracket(text, at)
    operands = Span(at, end)
    at = skip_trivia(text, end)
    properties = brace = -1
    if is_generic and text.startswith("<", at):
        properties = skip_trivia(text, at + 1)
        end = matching_bracket(text, at)
        at = skip_trivia(text, end)
    if text.startswith("{", at):
        brace = at
        end = matching_bracket(text, at)
    if is_generic:
        braces = [one for one in (properties, brace) if one >= 0]
        target = next(filter(None, (_target(text, one, aliases) for one in braces)), "")
    return CustomCall(target, name, operands, properties, brace, end) if target else None


def call_result_types(text: str, call: CustomCall) -> tuple[tuple[Span, ...], int] | None:
    """The result types of a call, and where its signature ends; None if the text does not tell."""
    colon = skip_trivia(text, call.end)
    operands = skip_trivia(text, colon + 1)
    if not text.startswith(":", colon) or not text.startswith("(", operands):
        return None
    arrow = skip_trivia(text, matching_bracket(text, operands))
    if not text.startswith("->", arrow):
        return None
    start = skip_trivia(text, arrow + 2)
    if text.startswith("(", start):
        end = matching_bracket(text, start)
        return tuple(items(text, start + 1, end - 1)), end
    end = type_end(text, start)
    return (Span(start, end),), end


def _target(text: str, brace: int, aliases: Mapping[str, str]) -> str:
    """The target that the dictionary at `brace` names; empty if it names none."""
    entry = find_entry(text, brace, "call_target_name")
    if not entry or not entry.value:
        return ""
    value = expanded(text[entry.value.start : entry.value.end], aliases)
    return unescape(value) if value.startswith('"') else ""


def _retuple(text: str, call: CustomCall, number: int, regions: Regions) -> Iterator[Edit]:
    """Let a callback whose one result is used return a tuple, and unpack it behind."""
    result = _result(text, call)
    signature = _result_type(text, call) if result else None
    if not result or not signature or not _is_used(text, result, signature[0], regions):
        return
    types, end = signature
    value, of_type = text[result.start : result.end], text[types.start : types.end]
    packed = f"%callback_{number}"
    while packed in text:
        packed += "_"
    sharding = find_entry(text, call.brace, "mhlo.sharding") if call.brace >= 0 else None
    attributes = f" {{{text[sharding.span.start : sharding.span.end]}}}" if sharding else ""
    unpack = f"{value} = stablehlo.get_tuple_element {packed}[0]{attributes}"
    end = location_end(text, end)
    line_break = "\r\n" if text.startswith("\r\n", end) else "\n"
    indent = _indent(text, result.start)
    yield (result.start, result.end, packed)
    yield (types.start, types.end, f"tuple<{of_type}>")
    yield (end, end, f"{line_break}{indent}{unpack} : (tuple<{of_type}>) -> {of_type}")


def _result(text: str, call: CustomCall) -> Span | None:
    """The name of the one result of the call; None if it has none or several.

    Raises:
        ConversionError: The text does not tell.
    """
    equals = back_over_trivia(text, call.name.start)
    if not text.endswith("=", 0, equals):
        return None
    end = back_over_trivia(text, equals - 1)
    start = text.rfind("%", max(0, end - _LONGEST_RESULT), end)
    found = _RESULT.fullmatch(text, start, end) if start >= 0 else None
    if not found:
        raise _unclear(text, call, "its result")
    if found[2] and found[2].lstrip("0") != "1":
        return None
    before = back_over_trivia(text, start)
    if text.endswith(",", 0, before):
        return None
    return Span(*found.span(1))


def _result_type(text: str, call: CustomCall) -> tuple[Span, int] | None:
    """The type of the one result, and where the types end; None if there are several, or it is a tuple.

    Raises:
        ConversionError: The text does not tell.
    """
    signature = call_result_types(text, call)
    if signature is None:
        raise _unclear(text, call, "its types")
    types, end = signature
    if len(types) != 1:
        return None
    of_type = text[types[0].start : types[0].end]
    if of_type.startswith("!"):
        of_type = find_type_aliases(text).get(of_type, of_type)
    return None if of_type.startswith("tuple") else (types[0], end)


def _indent(text: str, start: int) -> str:
    """The white space before an operation that stands first on its line."""
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    return before if before.isspace() else ""


def _is_used(text: str, value: Span, types: Span, regions: Regions) -> bool:
    """Whether the value is named again in the region around it, or before the next function."""
    code = types.end
    end = regions.end(value.start)
    if end < 0:
        end = next(_in_code(_FUNCTION, text, code, len(text)), len(text))
    use = re.compile(rf"{re.escape(text[value.start : value.end])}(?![\w$.\-])")
    return next(_in_code(use, text, code, end), None) is not None


def _in_code(pattern: re.Pattern[str], text: str, code: int, end: int) -> Iterator[int]:
    """Where the pattern matches in `text[code:end]` outside strings and comments."""
    for hit in pattern.finditer(text, code, end):
        if hit.start() >= code:
            code = next_code(text, code, hit.start())
            if code == hit.start():
                yield code


def _move_sharding(text: str, call: CustomCall, aliases: Mapping[str, str]) -> Iterator[Edit]:
    """Move the sharding into the attributes of the operation that the call stands for.

    Raises:
        ConversionError: The attributes are no dictionary.
    """
    entries = {entry.key: entry for entry in read_dictionary(text, call.brace)} if call.brace >= 0 else {}
    sharding = entries.get("mhlo.sharding") or entries.get("sdy.sharding")
    if sharding is None:
        return
    entry = text[sharding.span.start : sharding.span.end]
    attributes = entries.get("mhlo.attributes")
    if attributes is None or attributes.value is None:
        yield (sharding.span.start, sharding.span.end, f"mhlo.attributes = {{{entry}}}")
        return
    start, end = attributes.value.start, attributes.value.end
    value = expanded(text[start:end], aliases)
    if not value.startswith("{"):
        raise _unclear(text, call, "its `mhlo.attributes`")
    separator = "" if value.startswith("}", skip_trivia(value, 1)) else ", "
    if text.startswith("{", start):
        yield (start + 1, start + 1, f"{entry}{separator}")
    else:  # an alias, which others may share
        yield (start, end, f"{{{entry}{separator}{value[1:]}")
    yield (*removal(text, sharding.span.start, sharding.span.end, call.brace + 1), "")


def _unclear(text: str, call: CustomCall, what: str) -> ConversionError:
    return ConversionError(
        f"the call of {call.target} is written in a way that does not tell {what}",
        source=Source(text),
        span=call.name,
        help="write it as `%0 = stablehlo.custom_call @target(%a) {...} : (T) -> T`",
    )
