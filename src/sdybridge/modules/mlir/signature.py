"""The types around an attribute dictionary: what it annotates, read from the text next to it.

These readers recognise what the printer writes and answer None for anything else, so that a check on types
is skipped rather than wrong.
"""

from __future__ import annotations

import re

from sdybridge.modules.mlir.lexer import (
    SUFFIX_ID,
    TRIVIA,
    back_over_trivia,
    describe,
    matching_bracket,
    parse_error,
    skip_trivia,
)
from sdybridge.modules.mlir.types import tuple_elements

_SHAPED = r"(?:tensor|memref|vector)<[^<>\n]*+(?:<[^<>\n]*+(?:<[^<>\n]*+>[^<>\n]*+)*+>[^<>\n]*+)*+>"
_OTHER = r"(?:![\w.]++|[su]?i\d++|bf16|f\d\w*+|index|none)(?:<[^<>\n]*+>)?+"
_TUPLE = rf"tuple<(?:{_SHAPED}|{_OTHER}|, )*+>"
TYPE = rf"(?:{_SHAPED}|{_TUPLE}|{_OTHER})"
"""Pattern of a type as the printer writes it."""

_TYPES = rf"{TYPE}(?:, {TYPE})*+"
_SIGNATURE = re.compile(
    rf" ?: (?:(?:\((?:{_TYPES})?\)|{_TYPES}) -> (?:(?P<result>{TYPE})|\((?P<results>(?:{_TYPES})?)\))"
    rf"|(?P<plain>{_TYPES}))"
    rf"(?= loc\(|[ \t]*+(?:\r?\n|$|\}}|//))(?!{TRIVIA}(?:,|->))"
)
_ALL_TYPES = re.compile(_TYPES)
_CONSTANT = re.compile(r" dense(?:_resource)?+(?=<)")
_OPERANDS = re.compile(rf" %{SUFFIX_ID}(?:#\d++)?+(?:, %{SUFFIX_ID}(?:#\d++)?+)*+")
_ONE_TYPE = re.compile(TYPE)
_DIMENSIONS = re.compile(r"(?:tensor|memref|vector)<((?:(?:\d++|\?|\[\d++\])x)*+)(?![*?])")
_BARE_TYPE = re.compile(r"!\w++\.[\w.$\-]++|[su]?i\d++|bf16|t?f\d\w*+|index|none")
_SPACE = re.compile(r"[ \t\r\n]++|//[^\n]*+")
_LAST_WORD = re.compile(r"(?<=[\s(,:])[!\w.]++\Z")
_LONGEST_VALUE_TYPE = 400
_MOST_SPACES_IN_TYPE = 8


def value_type(text: str, brace: int) -> str | None:
    """The type of the argument or result whose dictionary opens at `brace`; None for any other dictionary.

    >>> value_type("func.func @f(%a: tensor<8xf32> {", 31)
    'tensor<8xf32>'
    >>> value_type("%0 = stablehlo.abs %a {", 22) is None
    True
    """
    start = end = back_over_trivia(text, brace)
    for _ in range(_MOST_SPACES_IN_TYPE):
        start = text.rfind(" ", max(0, start - _LONGEST_VALUE_TYPE), start - 1) + 1 if start > 1 else 0
        for first in (start, text.rfind("(", start, end) + 1):
            if first >= start and _ONE_TYPE.fullmatch(text, first, end):
                return text[first:end]
        if text[end - 1] != ">":
            break
        if start == 0:
            return None
    word = _LAST_WORD.search(text, max(0, end - _LONGEST_VALUE_TYPE), end)
    return word[0] if word and _ONE_TYPE.fullmatch(word[0]) else None


def result_types(text: str, brace: int) -> tuple[tuple[str, ...], bool] | None:
    r"""The types next to the operation dictionary that opens at `brace`, and whether they are the results'.

    Behind an arrow stand the results. Without one, an operation lists the types that its own syntax needs:
    those of all results, or one that they share, or the result's type last. A constant and a barrier have
    more between the dictionary and the types, and those of a loop stand before it.

    >>> result_types("{} : (tensor<8xf32>) -> (tensor<8xf32>, i32)\n", 0)
    (('tensor<8xf32>', 'i32'), True)
    >>> result_types("{} : tensor<i1>, tensor<8xf32>\n", 0)
    (('tensor<i1>', 'tensor<8xf32>'), False)
    >>> result_types("{} dense<1.0> : tensor<8xf32>\n", 0)
    (('tensor<8xf32>',), True)
    >>> result_types("{} #other : tensor<8xf32>\n", 0) is None
    True
    """
    end = matching_bracket(text, brace)
    found = _SIGNATURE.match(text, end)
    if found and not found["plain"]:
        return tuple(_ONE_TYPE.findall(found["result"] or found["results"])), True
    if found:
        return tuple(_ONE_TYPE.findall(found["plain"])), False
    types = _types_of_loop(text, brace) or _types_behind_operands(text, end)
    return (tuple(_ONE_TYPE.findall(types)), True) if types else None


def _types_of_loop(text: str, brace: int) -> str | None:
    """The types in `while(...) : T, U attributes {`."""
    if not text.endswith(" attributes ", 0, brace):
        return None
    line = text.rfind("\n", 0, brace) + 1
    start = text.rfind(") : ", line, brace)
    if start < 0 or text.find("while(", line, start) < 0:
        return None
    types = _ALL_TYPES.fullmatch(text, start + len(") : "), brace - len(" attributes "))
    return types[0] if types else None


def _types_behind_operands(text: str, at: int) -> str | None:
    """The types in `{...} dense<...> : T` and `{...} %a, %b : T, U`, whose dictionary ends at `at`."""
    constant = _CONSTANT.match(text, at)
    if constant:
        at = matching_bracket(text, constant.end())
    else:
        operands = _OPERANDS.match(text, at)
        if not operands:
            return None
        at = operands.end()
    found = _SIGNATURE.match(text, at)
    return found["plain"] if found else None


def results_of_generic(text: str, at: int) -> int:
    """Where the result types start in `<{...}> {...} : (...) -> ...`, which starts at `at`.

    Raises:
        ParseError: It is something else.

    >>> results_of_generic("{a = 1} : (i32) -> i64", 0)
    19
    """
    while text.startswith(("<", "{"), at):
        at = skip_trivia(text, matching_bracket(text, at))
    if not text.startswith(":", at):
        raise parse_error(text, at, f"expected ':' and the types, found {describe(text, at)}")
    arrow = skip_trivia(text, matching_bracket(text, skip_trivia(text, at + 1)))
    if not text.startswith("->", arrow):
        raise parse_error(text, arrow, f"expected '->' and the result types, found {describe(text, arrow)}")
    return skip_trivia(text, arrow + 2)


def sharding_rank(value: str | None) -> int | None:
    """The number of dimensions that a sharding of a value of this type has; None if that is not known.

    Values that are no tensors, and the results of operations without any (`none`), take rank 0. The type may
    be spaced in any way; that of an alias is not known.

    >>> sharding_rank("tensor<2x?xcomplex<f32>>"), sharding_rank("tuple<tensor<2xf32>>"), sharding_rank("i32")
    (2, 1, 0)
    """
    if value is None:
        return None
    compact = _SPACE.sub("", value)
    elements = tuple_elements(compact)
    if elements is not None:
        return sharding_rank(elements[0]) if len(elements) == 1 and "tuple" not in compact[1:] else None
    found = _DIMENSIONS.match(compact)
    if found:
        return found[1].count("x")
    return 0 if _BARE_TYPE.fullmatch(compact) else None
