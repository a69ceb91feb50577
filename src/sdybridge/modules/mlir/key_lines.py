"""The lines of a large text that hold a key: few of them, repeated very often up to the names of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import holds
from sdybridge.modules.progress import REPORT_EVERY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BLOCK = REPORT_EVERY  # characters that are cut at once


class KeyLines:
    r"""Cuts a text at a key and gives for each: where it is, and what stands on its line.

    Each comes as `(at, before, start, rest)`: `before[start:]` is the line up to the key, `rest` is what
    follows that on the line, up to a location. Who reads them moves `done`; what lies before it is passed
    over.

    Args:
        text: The text.
        key: The key with the start of its value, as it is mostly written.
        name: What stands in the text wherever the key does, however it is written.
        end: Where to stop.
        progress: Called now and then with the number of characters that are done.

    Attributes:
        done: An offset outside strings and comments before which everything is done.
        others: Whether the text up to here has the name apart from the key.

    >>> [(at, line[start:], rest) for at, line, start, rest in KeyLines("a k=1 b\n\nc k=2\n", "k=", "k", 15)]
    [(2, 'a ', '1 b'), (11, 'c ', '2')]
    """

    __slots__ = ("_end", "_key", "_name", "_progress", "_text", "done", "others")

    def __init__(
        self, text: str, key: str, name: str, end: int, progress: Callable[[int], None] | None = None
    ) -> None:
        self._text = text
        self._key = key
        self._name = name
        self._end = end
        self._progress = progress
        self.done = 0
        self.others = False

    def __iter__(self) -> Iterator[tuple[int, str, int, str]]:
        width = len(self._key)
        for first, last in self._blocks():
            parts = iter(self._parts(first, last))
            before = next(parts)
            following = first + len(before)  # where the next key stands
            for part in parts:
                at, following = following, following + width + len(part)
                if at < self.done:
                    if self.done + width > last:
                        break  # as behind a signature
                else:
                    end = part.find("\n")
                    if end < 0:
                        end = len(part)
                    location = part.find(" loc(", 0, end)
                    yield at, before, before.rfind("\n") + 1, part[: end if location < 0 else location]
                before = part

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """The text in blocks of whole lines, without those that are done meanwhile."""
        last = 0
        while last < self._end:
            first = last
            last = self._text.find("\n", first + _BLOCK, self._end) + 1 or self._end
            if self._progress and self.done:
                self._progress(self.done)
            if self.done < last:
                yield first, last

    def _parts(self, first: int, last: int) -> list[str]:
        """A block, cut at the key."""
        parts = self._text[first:last].rsplit(self._key)
        self.others = self.others or holds("\n".join(parts), self._name)
        return parts
