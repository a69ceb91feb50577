"""Which bracket encloses a place in the text."""

from __future__ import annotations

from sdybridge.modules.mlir.lexer import CLOSER, TO_UNPAIRED

_OPENER = {closer: opener for opener, closer in CLOSER.items()}


class Enclosing:
    """Answers which bracket encloses an offset, for offsets that only grow.

    However the brackets nest and however long the lines are, the text is read a fixed number of times in all.

    >>> Enclosing('{a = {b = "}"}, c = 1}').bracket(16)
    0
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._read = 0  # `_opened` are the brackets that are open here
        self._opened: list[int] = []

    def bracket(self, at: int, code: int = 0) -> int:
        """The offset of the innermost bracket that is open at `at`; -1 if none is.

        Args:
            at: An offset in code, not before any asked for earlier.
            code: An offset before it, outside strings and comments, and not before any `at` of earlier.
        """
        text = self._text
        line = text.rfind("\n", code, at) + 1  # it starts outside strings and comments, too
        for start in (line, code) if line else (code,):
            opened = _open_brackets(text, start, at, [])
            if opened:
                return opened[-1]
        self._opened = _open_brackets(text, self._read, at, self._opened)
        self._read = at
        return self._opened[-1] if self._opened else -1

    def depth(self, at: int) -> int:
        """How many brackets are open at `at`, an offset in code, not before any asked for earlier.

        >>> Enclosing("{a = {b = 1}").depth(7)
        2
        """
        self._opened = _open_brackets(self._text, self._read, at, self._opened)
        self._read = at
        return len(self._opened)


def _open_brackets(text: str, start: int, end: int, opened: list[int]) -> list[int]:
    """`opened` after reading `text[start:end]`; a closer without its opener is passed over."""
    pos = start
    while pos < end:
        step = TO_UNPAIRED.match(text, pos, end)
        pos = step.end() if step else pos
        if pos >= end:
            break
        char = text[pos]
        if char in CLOSER:
            opened.append(pos)
        elif char in _OPENER and opened and text[opened[-1]] == _OPENER[char]:
            opened.pop()
        pos += 1
    return opened
