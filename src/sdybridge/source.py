"""Source text: spans in it, line and column numbers, and the excerpt with a caret that errors show."""

from __future__ import annotations

import bisect
import re
import unicodedata
from dataclasses import dataclass

EXCERPT_WIDTH = 100
"""How many characters of a line excerpts show, unless the caller says otherwise."""

_CONTEXT_BEFORE = 40  # columns kept left of the caret when a long line is cropped


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets `[start, end)` into a text.

    >>> Span(2, 5).shifted(10)
    Span(start=12, end=15)
    """

    start: int
    end: int

    def shifted(self, offset: int) -> Span:
        """The same span in a text that has `offset` more characters in front.

        >>> Span(2, 5).shifted(10)
        Span(start=12, end=15)
        """
        return Span(self.start + offset, self.end + offset)


@dataclass(frozen=True, slots=True, repr=False)
class Source:
    r"""A text and the name it is known by (a file path, `<stdin>`, `<string>`).

    >>> Source("a\nbc", "step.mlir").location(3)
    (2, 2)
    """

    text: str
    name: str = "<string>"

    def __repr__(self) -> str:
        return f"Source(<{len(self.text)} characters>, name={self.name!r})"

    def location(self, offset: int) -> tuple[int, int]:
        r"""Line and column of a character offset, both counted from 1.

        >>> Source("ab\ncd").location(4)
        (2, 2)
        """
        line_start = self.text.rfind("\n", 0, offset) + 1
        return self.text.count("\n", 0, line_start) + 1, offset - line_start + 1

    def lines(self) -> Lines | Source:
        r"""What answers `location` quickly, for many questions.

        >>> Source("a\nbc").lines().location(3)
        (2, 2)
        """
        return Lines(self.text)

    def value_number(self, offset: int, before: int) -> int:  # noqa: ARG002
        """Which argument or result of its function stands at an offset; this text has `before` before it.

        >>> Source("func.func @f(%a: i32)").value_number(13, 0)
        0
        """
        return before

    def excerpt(self, span: Span, width: int = EXCERPT_WIDTH) -> str:
        """The line that `span` starts on, of which `width` characters at most, and under it a caret line.

        >>> print(Source('[{"x"} {?}]').excerpt(Span(7, 8)))
        [{"x"} {?}]
               ^
        """
        line_start = self.text.rfind("\n", 0, span.start) + 1
        line_end = self.text.find("\n", span.start)
        if line_end < 0:
            line_end = len(self.text)
        first, last = _crop(line_start, line_end, span.start, width)
        head = _visible(self.text[first : span.start])
        body = _visible(self.text[span.start : min(span.end, last)])
        tail = _visible(self.text[max(span.start, min(span.end, last)) : last])
        before = "... " if first > line_start else ""
        after = " ..." if last < line_end else ""
        marker = "^" + "~" * (_columns(body) - 1)
        return f"{before}{head}{body}{tail}{after}".rstrip() + f"\n{' ' * _columns(before + head)}{marker}"


class Lines:
    r"""The lines of a text, for many questions about where in it something is.

    >>> Lines("ab\ncd").location(4)
    (2, 2)
    """

    __slots__ = ("_starts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []

    def location(self, offset: int) -> tuple[int, int]:
        r"""Line and column of a character offset, both counted from 1.

        >>> from sdybridge.source import Lines
        >>> Lines("a\nbc").location(3)
        (2, 2)
        """
        if not self._starts:
            self._starts = [0, *(found.end() for found in re.finditer("\n", self._text))]
        line = bisect.bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def utf8(text: str) -> bytes:
    r"""The bytes of a text. Lone surrogates that stand for a byte are that byte; no file can hold others.

    >>> utf8("a\udcff"), utf8("\ud800")
    (b'a\xff', b'\xed\xa0\x80')
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def in_quotes(text: str) -> str:
    r"""A text in quotes, for messages; bytes that are not UTF-8 are shown as bytes.

    >>> print(in_quotes("a"), in_quotes("\0"), in_quotes("\udcff"))
    'a' '\x00' '\xff'
    """
    if text.isprintable():
        return f"'{text}'"
    shown = (f"\\x{ord(c) - 0xDC00:02x}" if "\udc80" <= c <= "\udcff" else repr(c)[1:-1] for c in text)
    return f"'{''.join(shown)}'"


def _crop(line_start: int, line_end: int, at: int, width: int) -> tuple[int, int]:
    """The part of a line to show around offset `at`: all of it when it is short."""
    if line_end - line_start <= width:
        return line_start, line_end
    first = max(line_start, at - min(_CONTEXT_BEFORE, width // 2))
    return first, min(line_end, first + width)


def _visible(text: str) -> str:
    """One printable character per input character, so that the caret stays aligned."""
    return "".join(
        c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def _columns(text: str) -> int:
    """Terminal columns that `text` takes: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
