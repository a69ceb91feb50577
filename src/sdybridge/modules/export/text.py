"""The text that an export writes: parts of the old one, new text, and new names of values."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.modules.export.renamed_results import RenamedResults
from sdybridge.modules.mlir.lexer import holds
from sdybridge.modules.mlir.renaming import Renamed, rename

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.modules.export.renamed_results import ResultGroups
    from sdybridge.modules.mlir.computations import Computation


class Part(NamedTuple):
    """What is written of one part of the old text, and the values that others replace in it."""

    pieces: list[str]
    end: int
    renamed: list[tuple[int, str, str]]
    results: RenamedResults


class ExportedText:
    """The new text so far; everything is added in the order of the old one.

    Attributes:
        pieces: The new text of the part that is under way.
        end: Where in the old text ends what they stand for.
        distinct_text: The old text, maybe without what it repeats word by word.
        groups: Where the old text names several results by one name, once there are functions.
        names: How many names were made for values.
    """

    def __init__(self, text: str) -> None:
        self.pieces: list[str] = []
        self.end = 0
        self.distinct_text = text
        self.groups: ResultGroups | None = None
        self.names = 0
        self._text = text
        self._renamed: list[
            tuple[int, str, str]
        ] = []  # the number of pieces before, a value, and the new one
        self._results = RenamedResults(None)
        self._stem = "manual_"

    def old(self, end: int) -> str:
        """The old text up to `end`, with new names."""
        old = self._text[self.end : end]
        return self._results.apply(old, self.end, is_new=False) if self._results and "#" in old else old

    def renamed(self, new: str, at: int) -> str:
        """New text that stands at `at`, with new names."""
        return self._results.apply(new, at, is_new=True) if self._results and "#" in new else new

    def replace(self, start: int, end: int, new: str) -> None:
        """Let `new` take the place of `text[start:end]`, which must lie behind all replaced before."""
        self.pieces += (self.old(start), self.renamed(new, start))
        self.end = end

    def append(self, new: str, renamed: Sequence[tuple[str, int, str]] = ()) -> None:
        """Write new text; from there on, others take the place of the values `renamed`."""
        self.pieces.append(self.renamed(new, self.end))
        self.rename(renamed)

    def rename(self, renamed: Sequence[tuple[str, int, str]]) -> None:
        """From here on, let others take the place of some values: by name, and number under it or -1."""
        for name, number, value in renamed:
            new = self.renamed(value, self.end)
            if number >= 0 and self.groups:
                self._results.add(name, number, new, self.end, self.groups)
            else:
                self._renamed.append((len(self.pieces), name, new))

    def settle(self, end: int) -> None:
        """Write the old text up to `end`, behind which nothing uses the results before it."""
        self.replace(end, end, "")
        self._results.clear()

    def begin(self, start: int, computation: Computation | None = None) -> Part:
        """Write what follows from `start` on apart from the rest; return what was under way.

        Args:
            start: Where it starts.
            computation: The computation that it is the body of.
        """
        part = Part(self.pieces, self.end, self._renamed, self._results)
        self.pieces, self.end, self._renamed = [], start, []
        self._results = RenamedResults(computation)
        return part

    def finish(self, end: int, part: Part) -> str:
        """The new text of the part that ends at `end`; go on with what was under way before it."""
        new = self.join(end)
        self.pieces, self.end, self._renamed, self._results = part
        return new

    def join(self, end: int) -> str:
        """The new text of the part that is under way, up to `end` of the old one."""
        new = "".join([*self.pieces, self.old(end)])
        if not self._renamed:
            return new
        starts = [0, *itertools.accumulate(map(len, self.pieces))]
        return rename(new, [Renamed(starts[piece], name, value) for piece, name, value in self._renamed])

    def fresh(self, count: int = 1) -> list[str]:
        """So many names of values that the old text does not have."""
        if not self.names:
            while holds(self.distinct_text, f"%{self._stem}"):
                self._stem += "_"
        self.names += count
        return self.names_since(self.names - count)

    def names_since(self, count: int) -> list[str]:
        """The names that were made since there were so many."""
        return [f"%{self._stem}{number}" for number in range(count, self.names)]
