"""Values of which another one takes the place."""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.modules.mlir.lexer import STRING, SUFFIX_ID, code_until, places
from sdybridge.modules.mlir.regions import Regions
from sdybridge.modules.splice import splice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.modules.splice import Edit

_NUMBER = re.compile(r"#(\d++)")
_GROUP = re.compile(r":[ \t]*+\d++[ \t]*+=(?!=)")
_USE = re.compile(rf"(%{SUFFIX_ID})(?:#(\d++))?|{STRING}|//[^\n]*+")
_LONGEST_NAME = 1000


class Renamed(NamedTuple):
    """A value that another one replaces from some place on.

    Attributes:
        start: From where on in the text; the region around it is the extent.
        name: Its name, with the `%`.
        number: Which of the values under this name; -1 for a name of one value.
        new: The value in its place, with its number if it has one.
    """

    start: int
    name: str
    number: int
    new: str


def rename(text: str, renamed: Sequence[Renamed]) -> str:
    """`text` with every use of those values replaced.

    >>> rename("{ a %0 } b %0", [Renamed(1, "%0", -1, "%x")])
    '{ a %x } b %0'
    >>> rename("a %0#1 %0:2 = b %0#1", [Renamed(0, "%0", 1, "%x")])
    'a %x %0:2 = b %0#1'
    """
    return splice(text, rename_edits(text, renamed))


def rename_edits(text: str, renamed: Sequence[Renamed]) -> list[Edit]:
    """What `rename` changes.

    >>> rename_edits("{ a %0 } b %0", [Renamed(1, "%0", -1, "%x")])
    [(4, 6, '%x')]
    """
    if not renamed:
        return []
    if all(one.number >= 0 for one in renamed):
        return _Renaming(text, renamed, _ends_of_groups(text, renamed)).of_groups()
    regions = Regions(text)
    ends = [end if (end := regions.end(one.start)) >= 0 else len(text) for one in sorted(renamed)]
    return _Renaming(text, renamed, ends).of_all()


def _ends_of_groups(text: str, renamed: Sequence[Renamed]) -> list[int]:
    """Up to where each of several values under one name is known: where the name is defined anew."""
    defined: dict[str, list[int]] = {}
    for hit in _GROUP.finditer(text, min(one.start for one in renamed)):
        start = text.rfind("%", max(0, hit.start() - _LONGEST_NAME), hit.start())
        if start >= 0:
            defined.setdefault(text[start : hit.start()].rstrip(), []).append(start)
    ends = []
    for one in sorted(renamed):
        starts = defined.get(one.name, [])
        i = bisect.bisect_left(starts, one.start)
        ends.append(starts[i] if i < len(starts) else len(text))
    return ends


class _Renaming:
    def __init__(self, text: str, renamed: Sequence[Renamed], ends: Sequence[int]) -> None:
        self.text = text
        self.by_name: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
        for (start, name, number, new), end in zip(sorted(renamed), ends, strict=True):
            value, _, digits = new.partition("#")
            taken = self.now(value, int(digits or 0), start) or new
            self.by_name.setdefault((name, max(number, 0)), []).append((start, end, taken))

    def now(self, name: str, number: int, at: int) -> str | None:
        """What stands for a value at the offset `at`; None if that is the value itself."""
        spans = self.by_name.get((name, number))
        if not spans:
            return None
        i = bisect.bisect_right(spans, at, key=lambda span: span[0]) - 1 if len(spans) > 1 else 0
        return spans[i][2] if i >= 0 and spans[i][0] <= at < spans[i][1] else None

    def of_groups(self) -> list[Edit]:
        """The edits where all values are among several under one name: their uses have a number sign."""
        text, match, known = self.text, _NUMBER.match, self.by_name
        edits: list[Edit] = []
        first = min(spans[0][0] for spans in known.values())
        for end in places(text, "#", [(first, len(text))]):
            number = match(text, end)
            start = text.rfind("%", max(0, end - _LONGEST_NAME), end) if number else -1
            if number and start >= 0 and (value := (text[start:end], int(number[1][:9]))) in known:
                new = self.now(*value, end)
                if new and _is_code(text, start):
                    edits.append((start, number.end(), new))
        return edits

    def of_all(self) -> list[Edit]:
        edits = []
        for hit in _USE.finditer(self.text):
            new = hit[1] and self.now(hit[1], int((hit[2] or "0")[:9]), hit.start())
            if new:
                edits.append((*hit.span(), new))
        return edits


def _is_code(text: str, at: int) -> bool:
    """Whether the offset stands in no string and no comment."""
    line = text.rfind("\n", 0, at) + 1
    is_plain = text.find('"', line, at) < 0 and text.find("/", line, at) < 0
    return is_plain or code_until(text, line, at) == at
