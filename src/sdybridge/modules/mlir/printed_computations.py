"""Computations as MLIR prints them: a large program repeats few, and only the names of values differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import SYMBOL
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LONGEST = 1 << 17  # characters of a computation that is compared with others
_VALUE = re.compile(r"(%[\w$.\-]++)")
_TOKEN = re.compile(rf"%[\w$.\-]++|{SYMBOL}")


@dataclass(frozen=True, slots=True)
class PrintedComputation:
    """Where a computation seems to be, judged by line breaks and white space alone.

    Attributes:
        start: Where its results start.
        end: Where its line ends.
        body: Its region, with the braces.
        key: What two texts share that differ in the names of values only.
        values: The names, each once, in the order of the text.
    """

    start: int
    end: int
    body: Span
    key: object
    values: tuple[str, ...]


def printed_computation(text: str, name: int) -> PrintedComputation | None:
    """The computation whose name starts at `name`; None if it is not written over lines as MLIR does."""
    line = text.rfind("\n", 0, name) + 1
    head = text.find("\n", name)
    if head < 0 or text[head - 1] != "{":
        return None
    start = line
    while text[start] == " ":
        start += 1
    close = text.find(f"\n{text[line:start]}}} : ", head, name + _LONGEST)
    end = text.find("\n", close + 1)
    if close < 0 or not 0 < end < name + _LONGEST:
        return None
    parts = _VALUE.split(text[start:end])
    numbers: dict[str, int] = {}
    pattern = tuple([numbers.setdefault(value, len(numbers)) for value in parts[1::2]])
    body = Span(head - 1, close + start - line + 2)
    return PrintedComputation(start, end, body, (tuple(parts[::2]), pattern), tuple(numbers))


class Template:
    """A text in which some names are put anew each time.

    Args:
        text: The text, with the names of the first time.
        names: For each name that changes, the number of what takes its place.
    """

    def __init__(self, text: str, names: Mapping[str, int]) -> None:
        self._parts: list[str] = []
        self._numbers: list[int] = []
        last = 0
        for hit in _TOKEN.finditer(text):
            if hit[0] in names:
                self._parts += (text[last : hit.start()], "")
                self._numbers.append(names[hit[0]])
                last = hit.end()
        self._parts.append(text[last:])

    def fill(self, values: Sequence[str]) -> str:
        """The text with these names, by their numbers."""
        parts = self._parts.copy()
        parts[1::2] = [values[number] for number in self._numbers]
        return "".join(parts)
