"""Text that is put together from parts of another, and where each place in it comes from."""

from __future__ import annotations

import bisect
import functools
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Part(NamedTuple):
    """A part of the new text.

    Attributes:
        text: The part.
        start: Where it stands in the old text; of something new, what it stands for.
        is_copy: Whether it is the old text from there on, character by character.
    """

    text: str
    start: int
    is_copy: bool = False


Replacement = tuple[int, int, list[Part]]
"""Replace the old text between two offsets by these parts."""


@dataclass(frozen=True)
class MovedText:
    """A text of parts.

    >>> moved = MovedText([Part("(", 3), Part("bc", 1, is_copy=True)])
    >>> moved.text, [moved.origin(at) for at in range(3)]
    ('(bc', [3, 1, 2])
    """

    parts: list[Part]

    @functools.cached_property
    def text(self) -> str:
        """The whole text."""
        return "".join([part.text for part in self.parts])

    @functools.cached_property
    def _starts(self) -> list[int]:
        return [0, *itertools.accumulate(len(part.text) for part in self.parts)]

    def origin(self, at: int) -> int:
        """Where in the old text that stands, or what it stands for, what is at an offset of the new one."""
        if not self.parts:
            return at
        number = min(bisect.bisect_right(self._starts, at), len(self.parts)) - 1
        part = self.parts[number]
        return part.start + (at - self._starts[number] if part.is_copy else 0)

    def span(self, span: Span) -> Span:
        """The same of a span."""
        start = self.origin(span.start)
        end = self.origin(span.end - 1) + 1 if span.end > span.start else start
        return Span(start, max(start, end))


def copied(text: str, start: int, end: int, replacements: Iterable[Replacement] = ()) -> Iterator[Part]:
    """The parts of `text[start:end]` with replacements in it, which are in order."""
    for first, last, parts in replacements:
        if start < first:
            yield Part(text[start:first], start, is_copy=True)
        yield from parts
        start = last
    if start < end:
        yield Part(text[start:end], start, is_copy=True)


def dedented(parts: Iterable[Part], by: int) -> Iterator[Part]:
    """The parts with so much less white space at the start of each line."""
    margin = f"\n{' ' * by}"
    for part in parts:
        at = 0
        while by > 0 and (found := part.text.find(margin, at)) >= 0:
            yield Part(part.text[at : found + 1], part.start + at * part.is_copy, part.is_copy)
            at = found + len(margin)
        if at < len(part.text):
            yield Part(part.text[at:], part.start + at * part.is_copy, part.is_copy)
