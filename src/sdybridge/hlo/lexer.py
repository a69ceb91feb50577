"""HLO's tokens, read one at a time from a place in a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError
from sdybridge.hlo.checks import INT64_MAX
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.source import Source

# The name of the group that matches is the kind of the token.
_TOKEN = re.compile(
    r"""
    (?: [ \t\r\n]++ | //[^\r\n\0]*+ | /\*(?:[^*\0]++|\*(?!/))*+\*/ )*+
    (?:
      (?P<attribute> [A-Za-z_][A-Za-z0-9_.-]*+=)      # directly before its value's '='
    | (?P<name>      [A-Za-z_][A-Za-z0-9_.-]*+:)
    | (?P<word>      [A-Za-z_][A-Za-z0-9_.-]*+)
    | (?P<number>    -?[0-9]++(?:\.|[eE][+-]?[0-9]|x[0-9]|_-?[0-9])[0-9A-Za-z_.]*+)  # 1.5, 1e3, 2x2
    | (?P<integer>   -?[0-9]++)
    | (?P<string>    "(?:[^"\\]|\\.)*+" | '(?:[^'\\]|\\.)*+')
    | (?P<mark>      <= | -> | [=,:{}\[\]()])
    | (?P<end>       \Z)
    | (?P<bad>       [^\0])
    | (?P<nul>       \0)
    )
    """,
    re.VERBOSE,
)
_LAST_TOKEN = re.compile(r"""[A-Za-z0-9_.-]+=?$|<=$|("[^"\n]*"|'[^'\n]*')$|\S$""")
_SHOWN = 40
_MAX_DIGITS = 20  # of any 64-bit number; longer ones are not even converted


class Lexer:
    """A place in a text, with readers that move it past one token.

    White space and comments are skipped before a token, never after, so that `pos` is the end of the
    last token. A `take_x` gives None or False and stays when there is no `x`; an `expect_x` raises.

    Source: xla's `hlo/parser/hlo_lexer.cc`.
    """

    __slots__ = ("_match", "pos", "source", "text")

    def __init__(self, source: Source, pos: int = 0) -> None:
        self.source = source
        self.text = source.text
        self.pos = pos
        self._match = _TOKEN.match(self.text, pos)

    def _look(self) -> re.Match[str]:
        """The next token; it is looked at once, however often it is asked for."""
        match = self._match
        if match is None or match.pos != self.pos:
            self._match = match = _TOKEN.match(self.text, self.pos)
        return match  # type: ignore[return-value]  # matches always

    @property
    def kind(self) -> str:
        """What comes next: `attribute` (with its `=`), `word`, `integer`, `string`, `mark`, `end`, ..."""
        return self._look().lastgroup  # type: ignore[return-value]  # one group matches always

    @property
    def lexeme(self) -> str:
        """The text of the next token."""
        match = self._look()
        return match[match.lastindex or 0]

    @property
    def start(self) -> int:
        """Where the next token starts."""
        match = self._look()
        return match.start(match.lastindex or 0)

    def advance(self) -> None:
        """Moves past the next token."""
        self.pos = self._look().end()

    def at(self, token: str) -> bool:
        """Whether this mark or word comes next."""
        return self.lexeme == token

    def take(self, token: str) -> bool:
        """Whether this mark or word came next."""
        if self.lexeme != token:
            return False
        self.advance()
        return True

    def expect(self, mark: str, help: str | None = None) -> None:  # noqa: A002
        """Moves past `mark`."""
        if not self.take(mark):
            raise self.expected(f"'{mark}'", help)

    def expect_integer(self, what: str) -> int:
        """A number of 64 bits. Like XLA, this reads those from 2**63 on as negative ones."""
        if self.kind != "integer":
            raise self.expected(what, self._integer_help())
        value = _value(self.lexeme)
        if value is None:
            raise self.error(f"{what} does not fit 64 bits", notes=[f"the largest is {INT64_MAX}"])
        self.advance()
        return value

    def _integer_help(self) -> str | None:
        lexeme = self.lexeme
        if lexeme == "+":
            return "drop the '+'"
        if lexeme in ("]", "}", ")") and self.text[self.pos - 1] == ",":
            return "remove the ','"
        if self.kind != "number":
            return None
        if re.fullmatch(r"[0-9]+(x[0-9]+)+", lexeme):
            return f"write {_cut(lexeme.replace('x', ','))}"
        whole = re.fullmatch(r"(-?[0-9]+)\.0*", lexeme)
        return f"write {_cut(whole[1])}" if whole else None

    def expect_string(self, what: str) -> str:
        """The text that a quoted string stands for; bytes that are not UTF-8 become lone surrogates."""
        if self.kind != "string":
            raise self._no_string(what)
        start, body = self.start, self.lexeme[1:-1]
        try:
            raw = body.encode()
        except UnicodeEncodeError as error:
            at = start + 1 + error.start
            raise self.error("a lone surrogate is no character of a text", at, at + 1) from None
        if "\\" in body:
            raw = self._unescaped(raw, body, start + 1)
        self.advance()
        return raw.decode("utf-8", "surrogateescape")

    def _unescaped(self, raw: bytes, body: str, start: int) -> bytes:
        bad = next((found for found in _ESCAPES.finditer(body) if _unescape(found[0].encode()) is None), None)
        if bad is not None:
            raise self.error(
                f"{_cut(bad[0])} is no escape for a byte or a character",
                start + bad.start(),
                start + bad.end(),
                notes=[r"the escapes are those of C, such as \", \n, \351, \xe9 and \u00e9"],
                help=r"write \\ for a backslash",
            )
        return _BYTE_ESCAPES.sub(lambda found: _unescape(found[0]) or b"", raw)

    def _no_string(self, what: str) -> ParseError:
        if self.lexeme in ('"', "'"):
            start = self.start
            line_end = self.text.find("\n", start)
            end = len(self.text) if line_end < 0 else line_end
            return self.error(
                f"the string of the {what} is not closed", start, end, help=f"add a {self.lexeme}"
            )
        if self.kind in ("word", "integer"):
            return self.expected(f"the {what} in quotes", f'write "{_cut(self.lexeme)}"')
        return self.expected(f"the {what} in quotes")

    def found(self) -> str:
        """What comes next, for an error message."""
        kind = self.kind
        if kind == "end":
            return "the end of the text"
        if kind == "nul":
            return "a NUL character"
        shown = _cut(self.lexeme)
        return shown if kind == "string" else f"'{shown}'"

    def after(self) -> str:
        """What the next token comes after, for an error message."""
        last = _LAST_TOKEN.search(self.text[max(0, self.pos - _SHOWN) : self.pos])
        if not last:
            return ""
        return f" after {last[0]}" if last[1] else f" after '{last[0]}'"

    def expected(self, what: str, help: str | None = None) -> ParseError:  # noqa: A002
        """The error that `what` should come next, at what does."""
        if self.lexeme == "/" and self.text.startswith("/*", self.start):
            return self.error("the comment is not closed", self.start, self.start + 2, help="add a '*/'")
        return self.error(f"expected {what}{self.after()}, found {self.found()}", help=help)

    def error(
        self,
        message: str,
        start: int | None = None,
        end: int | None = None,
        *,
        notes: Sequence[str] = (),
        help: str | None = None,  # noqa: A002
    ) -> ParseError:
        """An error at the given range, or at the next token."""
        if start is None:
            start, end = self.start, self._look().end()
        span = Span(start, start if end is None else end)
        return ParseError(message, source=self.source, span=span, notes=notes, help=help)


def _value(digits: str) -> int | None:
    """The number, unless it does not fit; without converting millions of digits."""
    is_negative = digits[0] == "-"
    magnitude = digits.lstrip("-").lstrip("0")
    if len(magnitude) > _MAX_DIGITS:
        return None
    value = int(magnitude or "0")
    if is_negative:
        return -value if value <= INT64_MAX + 1 else None
    if value > 2 * INT64_MAX + 1:
        return None
    return value if value <= INT64_MAX else value - 2 * (INT64_MAX + 1)


_SIMPLE_ESCAPES = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
    b"\\": b"\\",
    b"?": b"?",
    b"'": b"'",
    b'"': b'"',
}
_ESCAPE = r"\\(?:[0-7]{1,3}|[xX][0-9A-Fa-f]*+|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[\s\S])"
_ESCAPES = re.compile(_ESCAPE)
_BYTE_ESCAPES = re.compile(_ESCAPE.encode())


def _unescape(escape: bytes) -> bytes | None:
    """The bytes that one escape stands for; None for one that C does not know."""
    letter, digits = escape[1:2], escape[2:]
    if letter in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[letter]
    if letter.isdigit():
        value = int(escape[1:], 8) if letter < b"8" else 256
    elif not digits or letter not in b"xXuU":
        return None
    else:
        value = int(digits.lstrip(b"0")[:9] or b"0", 16)
    if letter in b"uU":
        is_character = value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF
        return chr(value).encode() if is_character else None
    return bytes([value]) if value <= 0xFF else None


def _cut(lexeme: str) -> str:
    return lexeme if len(lexeme) <= _SHOWN else f"{lexeme[:_SHOWN]}..."
