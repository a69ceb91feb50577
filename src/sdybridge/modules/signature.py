"""The types around an attribute dictionary: what it annotates, read from the text next to it.

These readers recognise what the printer writes and answer None for anything else, so that a check on types
is skipped rather than wrong.
"""

from __future__ import annotations

import re

from sdybridge.modules.lexer import describe, matching_bracket, parse_error, skip_trivia

_SHAPED = r"(?:tensor|memref|vector)<[^<>\n]*+(?:<[^<>\n]*+(?:<[^<>\n]*+>[^<>\n]*+)*+>[^<>\n]*+)*+>"
_OTHER = r"(?:![\w.]++|[su]?i\d++|bf16|f\d\w*+|index|none)(?:<[^<>\n]*+>)?+"
_TUPLE = rf"tuple<(?:{_SHAPED}|{_OTHER}|, )*+>"
TYPE = rf"(?:{_SHAPED}|{_TUPLE}|{_OTHER})"
"""Pattern of a type as the printer writes it."""

_TYPES = rf"{TYPE}(?:, {TYPE})*+"
_SIGNATURE = re.compile(
    rf" ?: (?:\((?:{_TYPES})?\) -> (?:(?P<result>{TYPE})|\((?P<results>(?:{_TYPES})?)\))|(?P<plain>{_TYPES}))"
    r"(?= loc\(|[ \t]*+(?:\r?\n|$|\}|//))"
)
_ONE_TYPE = re.compile(TYPE)
_DIMENSIONS = re.compile(r"(?:tuple<)?(?:tensor|memref|vector)<(?:(?:\d++|\?|\[\d++\])x)*+(?![*?])(?!.*>, )")
_LONGEST_VALUE_TYPE = 400
_MOST_SPACES_IN_TYPE = 8


def value_type(text: str, brace: int) -> str | None:
    """The type of the argument or result whose dictionary opens at `brace`; None for any other dictionary.

    >>> value_type("func.func @f(%a: tensor<8xf32> {", 31)
    'tensor<8xf32>'
    >>> value_type("%0 = stablehlo.abs %a {", 22) is None
    True
    """
    end = brace
    while end > 0 and text[end - 1] in " \t\r\n":
        end -= 1
    start = end
    for _ in range(_MOST_SPACES_IN_TYPE):
        start = text.rfind(" ", max(0, start - _LONGEST_VALUE_TYPE), start - 1) + 1 if start > 1 else 0
        for first in (start, text.rfind("(", start, end) + 1):
            if first >= start and _ONE_TYPE.fullmatch(text, first, end):
                return text[first:end]
        if start == 0 or text[end - 1] != ">":
            return None
    return None


def result_types(text: str, brace: int) -> tuple[tuple[str, ...], bool] | None:
    r"""The types behind the operation dictionary that opens at `brace`, and whether they are the results.

    Behind an arrow stand the results. Without one, an operation lists the types that its own syntax needs:
    those of all results, or one that they share, or the result's type last.

    >>> result_types("{} : (tensor<8xf32>) -> (tensor<8xf32>, i32)\n", 0)
    (('tensor<8xf32>', 'i32'), True)
    >>> result_types("{} : tensor<i1>, tensor<8xf32>\n", 0)
    (('tensor<i1>', 'tensor<8xf32>'), False)
    >>> result_types("{} dense<1.0> : tensor<8xf32>\n", 0) is None
    True
    """
    found = _SIGNATURE.match(text, matching_bracket(text, brace))
    if not found:
        return None
    if found["plain"]:
        return tuple(_ONE_TYPE.findall(found["plain"])), False
    return tuple(_ONE_TYPE.findall(found["result"] or found["results"])), True


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

    Values that are no tensors, and the results of operations without any (`none`), take rank 0.

    >>> sharding_rank("tensor<2x?xcomplex<f32>>"), sharding_rank("tuple<tensor<2xf32>>"), sharding_rank("i32")
    (2, 1, 0)
    """
    if value is None:
        return None
    found = _DIMENSIONS.match(value)
    if found:
        return found[0].count("x")
    return None if "<" in value else 0
