"""Edits to a text, applied in one pass: every byte outside of them is kept."""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import back_over_trivia, matching_bracket, skip_trivia

if TYPE_CHECKING:
    from collections.abc import Iterable


_REST_OF_LINE = re.compile(r"[ \t\r]*+(?:\n|\Z)")

Edit = tuple[int, int, str]
"""Replace `text[start:end]` by a new text, as `(start, end, new)`; `start == end` inserts."""


def splice(text: str, edits: Iterable[Edit]) -> str:
    """`text` with all `edits` applied; they may come in any order but must not overlap.

    >>> splice("a b c", [(4, 5, "z"), (0, 1, "x")])
    'x b z'
    """
    pieces: list[str] = []
    last = 0
    for start, end, new in sorted(edits):
        pieces += (text[last:start], new)
        last = end
    pieces.append(text[last:])
    return "".join(pieces)


class Origins:
    """Where in a text before some edits that stood what is at an offset of the text after them.

    >>> text, edits = "a b c", [(4, 5, "z"), (0, 1, "xyz")]
    >>> origin = Origins(edits)
    >>> splice(text, edits), [origin(offset) for offset in (1, 4, 6)]
    ('xyz b z', [0, 2, 4])
    """

    def __init__(self, edits: Iterable[Edit]) -> None:
        self._starts: list[int] = []  # of each edit, in the new text
        self._edits = sorted(edits)
        shift = 0  # what is to be added to an offset of the new text
        for start, end, new in self._edits:
            self._starts.append(start - shift)
            shift += end - start - len(new)

    def __call__(self, offset: int) -> int:
        """The offset in the text before; of something new, where its edit starts."""
        at = bisect.bisect_right(self._starts, offset) - 1
        if at < 0:
            return offset
        start, end, new = self._edits[at]
        behind = offset - self._starts[at] - len(new)
        return start if behind < 0 else end + behind


def removal(text: str, start: int, end: int, floor: int = 0) -> tuple[int, int]:
    """The range to delete so that the entry at `text[start:end]` is gone, with its comma.

    The last entry takes the braces with it, the space before them, and the word `attributes`. Nothing
    before `floor` is taken.

    >>> text = "op %a {x = 1, y = 2} : T"
    >>> [text[slice(*removal(text, start, start + 5))] for start in (7, 14)]
    ['x = 1, ', ', y = 2']
    >>> removal("op %a {x = 1} : T", 7, 12)
    (5, 13)
    """
    after = skip_trivia(text, end)
    before = back_over_trivia(text, start, floor)
    if before > floor and text[before - 1] == ",":
        return before - 1, end
    if text.startswith(",", after):
        return start, skip_trivia(text, after + 1)
    if before > floor and text[before - 1] == "{" and text.startswith("}", after):
        opened = back_over_trivia(text, before - 1, floor)
        if text.endswith("attributes", floor, opened):
            opened = back_over_trivia(text, opened - len("attributes"), floor)
        return opened, after + 1
    return start, end


def statement(text: str, start: int, end: int) -> tuple[int, int]:
    r"""The range to delete so that the operation at `text[start:end]` is gone, with its location and line.

    >>> statement("a\n  op %x loc(#l)\n  b", 4, 9)
    (2, 18)
    """
    return whole_line(text, start, location_end(text, end))


def location_end(text: str, at: int) -> int:
    r"""The offset past the location behind the operation that ends at `at`; `at` if it has none.

    >>> location_end("op // c\n loc (#l)", 2)
    17
    """
    word = skip_trivia(text, at)
    if not text.startswith("loc", word):
        return at
    bracket = skip_trivia(text, word + len("loc"))
    return matching_bracket(text, bracket) if text.startswith("(", bracket) else at


def whole_line(text: str, start: int, end: int) -> tuple[int, int]:
    """The range of `text[start:end]` with its line, if nothing else is on that."""
    line = start
    while line > 0 and text[line - 1] in " \t":
        line -= 1
    rest = _REST_OF_LINE.match(text, end)
    if rest is None or (line > 0 and text[line - 1] != "\n"):
        return start, end
    return line, rest.end()
