"""What an attribute dictionary is about: a function's argument or result, or an operation's results."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.errors import ParseError
from sdybridge.modules.mlir import result_types as of_operation
from sdybridge.modules.mlir.attributes import find_type_aliases
from sdybridge.modules.mlir.lexer import BARE_ID, SUFFIX_ID, back_over_trivia
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.signature import result_types, value_type
from sdybridge.modules.mlir.sites import is_balanced

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.source import Source

_VALUES = rf"%{SUFFIX_ID}(?::\d++)?+(?:, %{SUFFIX_ID}(?::\d++)?+)*+"
_START = re.compile(rf"[ \t]*+(?:({_VALUES}) = )?+\"?+({BARE_ID})(?=[ \"(])")
_VALUE = re.compile(rf"%{SUFFIX_ID}(?::(\d++))?+")
_MOST_RESULTS = 10_000


class Annotated(NamedTuple):
    """What a dictionary is about.

    Attributes:
        is_value: Whether it is an argument or a result of a function; otherwise an operation.
        types: The type of the value, or those of the operation's results; None for one that is not known.
    """

    is_value: bool
    types: tuple[str | None, ...]


class Dictionaries:
    r"""Answers what a dictionary is about: by the text next to it, or else by reading all operations once.

    >>> from sdybridge.source import Source
    >>> text = "%0:2 = a.b %x {c = 1} : tensor<2xf32>\n"
    >>> Dictionaries(Source(text)).at(text.index("{"))
    Annotated(is_value=False, types=('tensor<2xf32>', 'tensor<2xf32>'))
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def at(self, brace: int) -> Annotated | None:
        """What the dictionary that opens at `brace` is about; None if that cannot be told."""
        found = self._next_to(brace) or self._all.get(brace)
        if found and any(of_type and of_type.startswith("!") for of_type in found.types):
            types = [of_type and self.expanded(of_type) for of_type in found.types]
            return Annotated(found.is_value, tuple(types))
        return found

    def expanded(self, of_type: str) -> str:
        """The type that `of_type` is, or stands for as an alias."""
        return self._type_aliases.get(of_type, of_type) if of_type.startswith("!") else of_type

    def _next_to(self, brace: int) -> Annotated | None:
        """What the text next to the dictionary tells."""
        text = self._source.text
        of_value = value_type(text, brace)
        if of_value is not None:
            return Annotated(True, (of_value,))
        found = result_types(text, brace)
        if found:
            types, all_results = found
            if all_results:
                return Annotated(False, types)
            count = _count_results(text, brace)
            if count is not None and count <= _MOST_RESULTS:
                return Annotated(False, types if len(types) == count else types[-1:] * count)
        return None

    @functools.cached_property
    def _type_aliases(self) -> Mapping[str, str]:
        """The types that `!name = ...` define, by name; none if one of them is malformed."""
        try:
            return find_type_aliases(self._source.text)
        except ParseError:
            return {}

    @functools.cached_property
    def _all(self) -> dict[int, Annotated]:
        """By the offset of its brace, every dictionary; none if the text cannot be read as operations."""
        try:
            tree = parse_operations(self._source)
        except ParseError:
            return {}
        found: dict[int, Annotated] = {}
        for operation in tree.walk():
            types = of_operation.result_types(operation, tree.aliases)
            braces = [*operation.dictionaries, *([operation.properties] if operation.properties else [])]
            if types is not None:
                found.update({span.start: Annotated(False, tuple(types)) for span in braces})
            if operation.full_name.endswith(".func"):
                found.update(_values_of_function(operation))
        return found


def _values_of_function(function: Operation) -> dict[int, Annotated]:
    text = function.source.text
    return {
        value.dictionary.start: Annotated(True, (text[value.type.start : value.type.end],))
        for value in (*function.arguments, *function.function_results)
        if value.dictionary
    }


def _count_results(text: str, brace: int) -> int | None:
    """How many results the operation has that stands first on the dictionary's line; None if none does."""
    line = text.rfind("\n", 0, brace) + 1
    found = _START.match(text, line)
    if not found or not is_balanced(text, found.end(), brace):
        return None
    if text.endswith(("=", ","), 0, back_over_trivia(text, line)):
        return None  # the operation starts before this line
    if not found[1]:
        return 0
    return sum(int(count[:6]) if count else 1 for count in _VALUE.findall(found[1]))
