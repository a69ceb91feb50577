"""What a brace in a pretty form opens: operations, attributes, or a parameter of the operation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import BARE_ID, STRING, matching_bracket, skip_trivia
from sdybridge.source import Span

if TYPE_CHECKING:
    from sdybridge.modules.mlir.operations import Operation

_NAME = re.compile(BARE_ID)
_STRING = re.compile(STRING)
_WORD_BEFORE = re.compile(r"[%@#!^]?[A-Za-z0-9_$.\-]++\Z")
_BRACES_ARE_REGIONS = frozenset(("module", "builtin.module", "func.func"))
_AXES_FIRST = frozenset(("sdy.all_reduce", "sdy.replicated_to_unreduced"))
_TERMINATOR = re.compile(r"(?:return|yield|terminator|unreachable)\Z")


def word_before(text: str, operation: Operation, last: int) -> str:
    """The value, symbol, number or word of the operation that ends at `last`; empty for anything else."""
    found = _WORD_BEFORE.search(text, max(operation.name_end, last - 200), last)
    return found.group() if found else ""


def is_region(text: str, operation: Operation, pos: int, last: int) -> bool:
    """Whether the brace at `pos` holds operations, rather than attributes; `last` ends what is before it."""
    if text[last - 1] == "=" or text.startswith("attributes", last - len("attributes")):
        return False
    if _is_axis_list(text, operation, pos):
        return False
    after = skip_trivia(text, pos + 1)
    prefers_region = operation.name in _BRACES_ARE_REGIONS or _follows_keyword(text, operation, last)
    if text.startswith("}", after):
        return prefers_region
    if quoted := _STRING.match(text, after):
        return text.startswith("(", skip_trivia(text, quoted.end()))
    found = _NAME.match(text, after)
    if not found:
        return text.startswith(("%", "^"), after)
    following = skip_trivia(text, found.end())
    if text.startswith(("=", ","), following):
        return False
    return not text.startswith("}", following) or prefers_region or bool(_TERMINATOR.search(found.group()))


def pass_attributes(text: str, operation: Operation, pos: int, last: int) -> int:
    """The offset past a brace that holds no operations; keeps its place if it is a dictionary."""
    end = matching_bracket(text, pos)
    inner = text[skip_trivia(text, pos + 1)]
    is_parameter = text[last - 1] == "=" or _is_axis_list(text, operation, pos)
    if not is_parameter and (inner in '}"_' or inner.isalpha()):
        operation.dictionaries.append(Span(pos, end))
    return end


def _is_axis_list(text: str, operation: Operation, pos: int) -> bool:
    """Whether the brace at `pos` is the axes of `sdy.all_reduce {"x"} %0`."""
    return operation.name in _AXES_FIRST and "%" not in text[operation.name_end : pos]


def _follows_keyword(text: str, operation: Operation, last: int) -> bool:
    """Whether a bare word such as `cond`, `do` or `else` stands before `last`."""
    if last == operation.name_end or (operation.signature and operation.signature.end == last):
        return False
    return word_before(text, operation, last)[:1].isalpha()
