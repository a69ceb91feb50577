"""Values of which another one takes the place."""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.modules.mlir.lexer import STRING, SUFFIX_ID
from sdybridge.modules.mlir.regions import Regions
from sdybridge.modules.splice import splice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.modules.splice import Edit

_USE = re.compile(rf"(%{SUFFIX_ID})(?:#(\d++))?|{STRING}|//[^\n]*+")


class Renamed(NamedTuple):
    """A value that another one replaces from some place on.

    Attributes:
        start: From where on in the text; the region around it is the extent.
        name: Its name, with the `%`.
        new: The value in its place, with its number if it has one.
    """

    start: int
    name: str
    new: str


def rename(text: str, renamed: Sequence[Renamed]) -> str:
    """`text` with every use of those values replaced.

    >>> rename("{ a %0 } b %0", [Renamed(1, "%0", "%x")])
    '{ a %x } b %0'
    """
    return splice(text, rename_edits(text, renamed))


def rename_edits(text: str, renamed: Sequence[Renamed]) -> list[Edit]:
    """What `rename` changes.

    >>> rename_edits("{ a %0 } b %0", [Renamed(1, "%0", "%x")])
    [(4, 6, '%x')]
    """
    if not renamed:
        return []
    names = _Names(text, renamed)
    edits: list[Edit] = []
    for hit in _USE.finditer(text):
        new = hit[1] and int((hit[2] or "0")[:9]) == 0 and names.now(hit[1], hit.start())
        if new:
            edits.append((*hit.span(), new))
    return edits


class _Names:
    """Which value stands for which, and where."""

    def __init__(self, text: str, renamed: Sequence[Renamed]) -> None:
        regions = Regions(text)
        self._spans: dict[str, list[tuple[int, int, str]]] = {}
        for start, name, new in sorted(renamed):
            end = regions.end(start)
            taken = self.now(new, start) or new
            self._spans.setdefault(name, []).append((start, end if end >= 0 else len(text), taken))

    def now(self, name: str, at: int) -> str | None:
        """What stands for a value at the offset `at`; None if that is the value itself."""
        spans = self._spans.get(name)
        if not spans:
            return None
        i = bisect.bisect_right(spans, at, key=lambda span: span[0]) - 1
        return spans[i][2] if i >= 0 and at < spans[i][1] else None
