"""What stands around a dictionary entry: the contexts that a large program repeats very often."""

from __future__ import annotations

import functools
import re

from sdybridge.modules.mlir.lexer import TRIVIA, back_over_trivia, items, matching_bracket, next_code

_LONGEST_TAIL = 2000  # characters behind a value that are looked at as its context
_LISTS_OF_VALUES = ("arg_attrs", "res_attrs", 'arg_attrs"', 'res_attrs"')
_LIST_OF_VALUES = re.compile(rf'(?:arg|res)_attrs"?{TRIVIA}={TRIVIA}\[')


RESULT_LINE = re.compile(
    r'[ \t]*+%[\w$.\-]++ = (?!sdy\.|\w++\.custom_call)[^"/\\{}\n]*+'
    r'(?<![=,\[(<>] )(?<= )\{(?:[^"/\\{}\n]*+(?<=, ))?+\Z'
)
"""Pattern of a line up to a key in the dictionary of an operation with one result; not of every operation."""


class PlainLines:
    """Answers where code is plain to see, for offsets that only grow.

    Every line starts outside strings and comments. So an offset with neither escapes nor slashes before it on
    its line is code if the number of quotes before it is even.
    """

    __slots__ = ("_end", "_escape", "_slash", "_special", "_text")

    def __init__(self, text: str, end: int) -> None:
        self._text = text
        self._end = end
        self._special = self._escape = self._slash = -1  # the first ones from where was last asked about

    def start(self, at: int, done: int) -> int:
        """From where on there are no escapes and no comments, if `at` is plainly code; otherwise -1.

        Args:
            at: The offset.
            done: An offset before it, outside strings and comments.
        """
        text = self._text
        clear = text.rfind("\n", done, at) + 1 or done
        special = self._special
        if special < clear:
            if 0 <= self._escape < clear or special < 0:
                self._escape = text.find("\\", clear)
            if 0 <= self._slash < clear or special < 0:
                self._slash = text.find("/", clear)
            escape, slash, end = self._escape, self._slash, self._end
            self._special = special = min(escape if escape >= 0 else end, slash if slash >= 0 else end)
        return clear if special > at and not text.count('"', clear, at) & 1 else -1


def type_before(text: str, brace: int, floor: int) -> str:
    """What stands before a dictionary, back to a space: the type of the value, if that has no space in it.

    >>> type_before("f(%a: tensor<8xf32> {", 20, 0)
    'tensor<8xf32>'
    """
    start = text.rfind(" ", floor, brace - 1) + 1
    return text[start + (text[start] == "(") : brace - 1] if start else ""


def rest_of_line(text: str, at: int) -> str:
    r"""What follows on the line, up to a location: the rest of the dictionary, and the types.

    >>> rest_of_line("abs %a {b = c} : tensor<8xf32> loc(#l)\n", 13)
    '} : tensor<8xf32>'
    """
    line_end = text.find("\n", at, at + _LONGEST_TAIL)
    if line_end < 0:
        return ""
    location = text.find(" loc(", at, line_end)
    return text[at : location if location >= 0 else line_end]


def is_nested(text: str, brace: int) -> bool:
    """Whether the dictionary at `brace` is a value, or part of one, of an entry of another dictionary.

    >>> texts = "abs %a {b}", "a = {b}", "a = [{b}]", "arg_attrs = [{b}]"
    >>> [is_nested(text, text.index("{")) for text in texts]
    [False, True, True, False]
    """
    end = back_over_trivia(text, brace)
    before = text[end - 1 : end]
    if before == "[":
        return not _of_values(text, end - 1)
    return before == "=" or (before == "," and brace not in _dictionaries_of_values(text))


def may_be_value(text: str, brace: int) -> bool:
    """Whether the dictionary may annotate an argument or result of a type that `value_type` cannot read."""
    end = back_over_trivia(text, brace)
    before = text[end - 1 : end]
    return before in {"[", ","} or (before == ">" and text[back_over_trivia(text, end - 1) - 1] != "}")


def _of_values(text: str, bracket: int) -> bool:
    """Whether the list at `bracket` is that of a function's arguments or results in the generic form."""
    equals = back_over_trivia(text, bracket)
    end = back_over_trivia(text, equals - 1) if text.endswith("=", 0, equals) else 0
    return text.endswith(_LISTS_OF_VALUES, 0, end)


@functools.lru_cache(maxsize=1)
def _dictionaries_of_values(text: str) -> frozenset[int]:
    """Where the dictionaries of arguments and results open in the generic form."""
    found: set[int] = set()
    code = 0
    for hit in _LIST_OF_VALUES.finditer(text):
        if hit.start() >= code:
            code = next_code(text, code, hit.start())
            if code == hit.start():
                code = matching_bracket(text, hit.end() - 1)
                found.update(item.start for item in items(text, hit.end(), code - 1))
    return frozenset(found)
