"""Python callbacks with one result: XLA wants them to return a tuple of one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.modules.dictionary import find_entry
from sdybridge.modules.lexer import SUFFIX_ID, matching_bracket, skip_trivia
from sdybridge.modules.signature import TYPE
from sdybridge.modules.splice import splice

if TYPE_CHECKING:
    from sdybridge.modules.splice import Edit

_CALL = re.compile(
    rf"^(?P<indent>[ \t]*+)(?P<result>%{SUFFIX_ID}) = stablehlo\.custom_call "
    r"@xla_(?:ffi_)?python_[cg]pu_callback(?=\()",
    re.MULTILINE,
)
_RESULT = re.compile(rf" : \((?:{TYPE}(?:, {TYPE})*+)?\) -> (?P<type>(?!tuple<){TYPE})(?=[ \t\n])")


def retuple_callbacks(text: str) -> str:
    """Make each Python callback with one result that is used return a tuple, and unpack it behind.

    Args:
        text: A program whose shardings are converted already.

    Source: `stablehlo_round_trip/export_callback_custom_calls.cc` in xla's `service/spmd/shardy`.
    """
    if "stablehlo.custom_call" not in text or "pu_callback" not in text:
        return text
    edits: list[Edit] = []
    for hit in _CALL.finditer(text):
        brace = skip_trivia(text, matching_bracket(text, hit.end()))
        if not text.startswith("{", brace):
            continue
        types = _RESULT.match(text, matching_bracket(text, brace))
        if not types or not _is_used(text, hit["result"], types.end()):
            continue
        result, of_type = hit["result"], types["type"]
        packed = _fresh(text, len(edits))
        line_end = text.find("\n", types.end())
        sharding = find_entry(text, brace, "mhlo.sharding")
        attributes = f" {{{text[sharding.span.start : sharding.span.end]}}}" if sharding else ""
        unpack = f"{result} = stablehlo.get_tuple_element {packed}[0]{attributes}"
        edits += [
            (hit.start("result"), hit.end("result"), packed),
            (types.start("type"), types.end("type"), f"tuple<{of_type}>"),
            (line_end, line_end, f"\n{hit['indent']}{unpack} : (tuple<{of_type}>) -> {of_type}"),
        ]
    return splice(text, edits)


def _is_used(text: str, value: str, start: int) -> bool:
    """Whether `value` stands again between `start` and the next function."""
    end = text.find("func.func", start)
    uses = re.compile(rf"{re.escape(value)}(?![\w$.\-])")
    return uses.search(text, start, len(text) if end < 0 else end) is not None


def _fresh(text: str, number: int) -> str:
    """A value name that `text` does not have, different for each `number`."""
    name = f"%callback_{number}"
    while name in text:
        name += "_"
    return name
