"""Results of operations with several, of which other values take the place while a text is written."""

from __future__ import annotations

import bisect
import functools
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from sdybridge.modules.export.called_functions import Innermost
from sdybridge.modules.mlir.lexer import code_until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.modules.mlir.computations import Computation

_NUMBER = re.compile(r"#(\d++)")
_GROUP = re.compile(r":[ \t]*+\d++[ \t]*+=(?!=)")
_LONGEST_NAME = 1000


class ResultGroups:
    """Where a program names several results of an operation by one name.

    Args:
        text: The program.
        spans: The text but for what is repeated in it.
        computations: Its computations; the names in one are not seen outside of it.
    """

    def __init__(
        self, text: str, spans: Sequence[tuple[int, int]], computations: Sequence[Computation]
    ) -> None:
        self._text = text
        self._spans = spans
        self._computations = computations

    def next_definition(self, name: str, computation: Computation | None, at: int) -> int:
        """Where the name is defined next from `at` on, in a computation or outside of all."""
        starts = self._starts.get((computation, name), ())
        i = bisect.bisect_left(starts, at)
        return starts[i] if i < len(starts) else len(self._text)

    @functools.cached_property
    def _starts(self) -> dict[tuple[Computation | None, str], list[int]]:
        """Where each name is defined, in each computation and outside of all."""
        text, inside = self._text, Innermost(self._computations)
        found: dict[tuple[Computation | None, str], list[int]] = defaultdict(list)
        for first, last in self._spans:
            for hit in _GROUP.finditer(text, first, last):
                start = text.rfind("%", max(0, hit.start() - _LONGEST_NAME), hit.start())
                if start >= 0:
                    found[inside.at(start), text[start : hit.start()].rstrip()].append(start)
        return found


class RenamedResults:
    """The results that are renamed in one part of a program: a computation, or what is in none.

    A name stands for the same results until it is defined anew. So nothing needs to be known of regions.
    """

    def __init__(self, computation: Computation | None) -> None:
        self._computation = computation
        self._new: dict[tuple[str, int], tuple[str, int]] = {}  # and up to where it holds

    def __bool__(self) -> bool:
        return bool(self._new)

    def add(self, name: str, number: int, new: str, at: int, groups: ResultGroups) -> None:
        """From the offset `at` of the program on, let `new` take the place of a result."""
        self._new[name, number] = new, groups.next_definition(name, self._computation, at)

    def clear(self) -> None:
        """Nothing that follows uses any of them."""
        self._new.clear()

    def apply(self, text: str, start: int, *, is_new: bool) -> str:
        """The text with the new names.

        Args:
            text: A part of the program from `start` on, which is code.
            start: Its place.
            is_new: Whether it was made to stand there.
        """
        pieces: list[str] = []
        last = 0
        known = self._new
        sign = text.find("#")
        while sign >= 0:
            number = _NUMBER.match(text, sign)
            first = text.rfind("%", max(0, sign - _LONGEST_NAME), sign) if number else -1
            found = known.get((text[first:sign], int(number[1][:9]))) if number and first >= 0 else None
            if number and found and (start if is_new else start + first) < found[1] and _is_code(text, first):
                pieces += (text[last:first], found[0])
                last = number.end()
            sign = text.find("#", sign + 1)
        return "".join([*pieces, text[last:]]) if pieces else text


def _is_code(text: str, at: int) -> bool:
    """Whether the offset stands in no string and no comment; the text starts as code."""
    line = text.rfind("\n", 0, at) + 1
    is_plain = text.find('"', line, at) < 0 and text.find("/", line, at) < 0
    return is_plain or code_until(text, line, at) == at
