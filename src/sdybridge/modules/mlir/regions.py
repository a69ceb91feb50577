"""Where the region around a place in the text ends."""

from __future__ import annotations

from sdybridge.modules.mlir.enclosing import Enclosing
from sdybridge.modules.mlir.lexer import matching_bracket


class Regions:
    """Answers where the region around an offset ends, for offsets that only grow.

    >>> Regions("f { a { b } c }").end(12)
    15
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._enclosing = Enclosing(text)
        self._last = 0
        self._ends: dict[int, int] = {}  # by the brace; many offsets are in one region

    def end(self, at: int) -> int:
        """Where the innermost region around `at` ends; -1 if there is none."""
        brace = self._enclosing.bracket(at, self._last)
        self._last = at
        if brace < 0 or self._text[brace] != "{":
            return -1
        if brace not in self._ends:
            self._ends[brace] = matching_bracket(self._text, brace)
        return self._ends[brace]
