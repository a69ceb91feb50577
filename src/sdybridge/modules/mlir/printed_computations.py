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
_MOST = 16  # bodies that a new one is compared with
_VALUE = re.compile(r"(%[\w$.\-]++)")
_TOKEN = re.compile(rf"%[\w$.\-]++|{SYMBOL}")


@dataclass(frozen=True, slots=True, eq=False)
class PrintedBody:
    """The body of a computation with its arguments.

    Attributes:
        text: From the arguments up to the types of the computation.
        indent: The white space before the computation.
        number: The same for texts that differ in the names of values only.
        values: The names, each once, in the order of the text.
    """

    text: str
    indent: str
    number: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PrintedComputation:
    """Where a computation seems to be, judged by line breaks and white space alone.

    Attributes:
        start: Where its results start.
        end: Where its line ends.
        span: Its region, with the braces.
        body: Its body; the same object for the same text.
        key: What two computations share that differ in the names of values only.
        values: The names of the results and operands, each once, in the order of the text.
    """

    start: int
    end: int
    span: Span
    body: PrintedBody
    key: object
    values: tuple[str, ...]


class PrintedComputations:
    """Reads the computations of a text that are written over lines as MLIR does.

    MLIR numbers the values of sibling regions alike, so most bodies repeat an earlier one word by word.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._bodies: list[PrintedBody] = []  # newest first
        self._numbers: dict[object, int] = {}

    def at(self, name: int) -> PrintedComputation | None:
        """The computation whose name starts at `name`; None if it is written in another way."""
        text = self._text
        first = max(0, name - _LONGEST)
        line = text.rfind("\n", first, name) + 1
        head = text.find("\n", name, name + _LONGEST)
        if head < 0 or text[head - 1] != "{" or (first and not line):
            return None
        start = line
        while text[start] == " ":
            start += 1
        arguments = text.rfind(" (%", name, head)
        arguments = head - 1 if arguments < 0 else arguments
        body = self._body(arguments, head, text[line:start])
        if body is None:
            return None
        close = arguments + len(body.text)
        end = text.find("\n", close)
        if not 0 < end < name + _LONGEST:
            return None
        values, key = _names(f"{text[start:arguments]}\n{text[close:end]}")
        span = Span(head - 1, close - len(" : "))
        return PrintedComputation(start, end, span, body, (key, body.number), values)

    def _body(self, start: int, head: int, indent: str) -> PrintedBody | None:
        """The body whose arguments start at `start`, and whose first line starts at `head`."""
        text = self._text
        for body in self._bodies:
            if body.indent == indent and text.startswith(body.text, start):
                return body
        close = text.find(f"\n{indent}}} : ", head, head + _LONGEST)
        if close < 0:
            return None
        inside = text[start : close + len(indent) + len("\n} : ")]
        values, key = _names(inside)
        body = PrintedBody(inside, indent, self._numbers.setdefault(key, len(self._numbers)), values)
        self._bodies = [body, *self._bodies[: _MOST - 1]]
        return body


def _names(text: str) -> tuple[tuple[str, ...], object]:
    """The names of values in a text, each once; and the text without them."""
    parts = _VALUE.split(text)
    numbers: dict[str, int] = {}
    pattern = tuple([numbers.setdefault(value, len(numbers)) for value in parts[1::2]])
    return tuple(numbers), (tuple(parts[::2]), pattern)


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
