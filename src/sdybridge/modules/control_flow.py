"""Control flow without a sharding: where XLA writes `{replicated}`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.modules.dictionary import find_entry
from sdybridge.modules.lexer import STRING, matching_bracket, skip_trivia
from sdybridge.modules.splice import splice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.modules.splice import Edit

REPLICATED = 'mhlo.sharding = "{replicated}"'

_OPERATION = re.compile(r'stablehlo\.(while|case|if)("?)[ \t]*\(')
_GENERIC = re.compile(r'"stablehlo\.(?:case|if|while)"')
_TO_DICTIONARY = re.compile(rf'(?:[^"{{}}\n/]++|{STRING}|/(?!/))*+')


def add_missing_shardings(text: str) -> tuple[str, int]:
    """Give `{replicated}` to the `while`, `case` and `if` operations of StableHLO without a sharding.

    Args:
        text: A program whose other shardings are converted already.

    Returns:
        The new text, and how many shardings were added.

    Raises:
        ParseError: Brackets of such an operation do not pair up.

    Source: `exportFunc` in xla's `service/spmd/shardy/stablehlo_round_trip/export_shardings.cc`.
    """
    edits: list[Edit] = []
    for kind, generic, operands in _operations(text):
        after = matching_bracket(text, operands)
        at = _after_regions(text, after) if generic else _after_types(text, after)
        keyword = not generic and text.startswith("attributes", at)
        brace = skip_trivia(text, at + len("attributes")) if keyword else at
        if not text.startswith("{", brace) or (kind == "while" and not generic and not keyword):
            while text[at - 1] in " \t\r\n":
                at -= 1
            edits.append((at, at, f" {{{REPLICATED}}}" if generic else f" attributes {{{REPLICATED}}}"))
        elif not find_entry(text, brace, "mhlo.sharding"):
            empty = text.startswith("}", skip_trivia(text, brace + 1))
            edits.append((brace + 1, brace + 1, REPLICATED if empty else f"{REPLICATED}, "))
    return (splice(text, edits), len(edits)) if edits else (text, 0)


def _operations(text: str) -> Iterator[tuple[str, bool, int]]:
    """Each control-flow operation outside strings and comments: kind, generic form or not, its `(`."""
    if "stablehlo.while" not in text and not _GENERIC.search(text):
        return
    for hit in _OPERATION.finditer(text):
        start = hit.start()
        line = text.rfind("\n", 0, start) + 1
        generic = bool(hit[2])
        at = start - 1 if generic else start
        if text.startswith('"', at) == generic and _is_code(text, line, at):
            yield hit[1], generic, hit.end() - 1


def _is_code(text: str, line: int, at: int) -> bool:
    """Whether `at` is outside the strings and comments of its line."""
    pos = line
    while pos < at:
        quote = text.find('"', pos, at)
        comment = text.find("//", pos, at if quote < 0 else quote)
        if comment >= 0:
            return False
        if quote < 0:
            return True
        found = re.compile(STRING).match(text, quote)
        if not found:
            return False
        pos = found.end()
    return pos == at


def _after_regions(text: str, at: int) -> int:
    """Where the dictionary of a generic operation stands: past its properties and its regions."""
    at = skip_trivia(text, at)
    if text.startswith("<", at):
        at = skip_trivia(text, matching_bracket(text, at))
    if text.startswith("(", at):
        at = skip_trivia(text, matching_bracket(text, at))
    return at


def _after_types(text: str, at: int) -> int:
    """Where the dictionary of a pretty `while` stands: past the types of its operands."""
    at = skip_trivia(text, at)
    if not text.startswith(":", at):
        return at
    while at < len(text):
        at = skip_trivia(text, at + 1)
        at = _type_end(text, at)
        after = skip_trivia(text, at)
        if not text.startswith(",", after):
            return after
        at = after
    return at


def _type_end(text: str, at: int) -> int:
    found = re.compile(r"[!\w.$]++").match(text, at)
    at = found.end() if found else at
    return matching_bracket(text, at) if text.startswith("<", at) else at
