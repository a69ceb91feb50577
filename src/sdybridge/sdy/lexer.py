"""MLIR's tokens, read one at a time from a place in a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError
from sdybridge.sdy.fields import INT64_MAX, INT64_MIN
from sdybridge.sdy.printer import keyword_or_string, show
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.source import Source

_GAP = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+)*+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[0-9]+(\.[0-9]*(?:[eE][+-]?[0-9]+)?)?")
_STRING = re.compile(r'"((?:[^"\\\n\v\f]|\\(?:["\\nt]|[0-9A-Fa-f]{2}))*+)"')
_STRING_BODY = re.compile(r'(?:[^"\\\n\v\f]|\\(?:["\\nt]|[0-9A-Fa-f]{2}))*+')
_ESCAPE = re.compile(rb"\\(?:([\"\\nt])|([0-9A-Fa-f]{2}))")
_ESCAPED = {b'"': b'"', b"\\": b"\\", b"n": b"\n", b"t": b"\t"}
_HASH = re.compile(r"#([0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*)")
_TOKEN = re.compile(r'"[^"\n]*"?|[@#]?[A-Za-z_][A-Za-z0-9_$.]*|[0-9][A-Za-z0-9_.]*|->|::|.', re.DOTALL)
_LAST_TOKEN = re.compile(r"[A-Za-z0-9_$.]+$|\S$")

_MAX_DIGITS = 20  # of any 64-bit number, in decimal; longer ones are not even converted


class Lexer:
    """A place in a text, with readers that move it past one token.

    White space and comments are skipped before a token, never after, so that `pos` is the end of the
    last token. A `take_x` gives None or False and stays when there is no `x`; an `expect_x` raises.

    Source: mlir/lib/AsmParser/Lexer.cpp.
    """

    __slots__ = ("pos", "source", "text")

    def __init__(self, source: Source, pos: int = 0) -> None:
        self.source = source
        self.text = source.text
        self.pos = pos

    def start(self) -> int:
        """Where the next token starts."""
        return _GAP.match(self.text, self.pos).end()  # type: ignore[union-attr]  # matches always

    def at(self, punctuation: str) -> bool:
        """Whether this comes next."""
        return self.text.startswith(punctuation, self.start())

    def take(self, punctuation: str) -> bool:
        """Whether this came next."""
        start = self.start()
        if not self.text.startswith(punctuation, start):
            return False
        self.pos = start + len(punctuation)
        return True

    def expect(self, punctuation: str, after: str, help: str | None = None) -> None:  # noqa: A002
        """Moves past `punctuation`; `after` names what it has to follow."""
        if not self.take(punctuation):
            raise self.expected(f"'{punctuation}'", after, help)

    def peek_word(self) -> str | None:
        """The bare word that comes next: letters, digits, `_`, `$` and `.`."""
        word = _WORD.match(self.text, self.start())
        return word and word[0]

    def take_word(self) -> str | None:
        """The bare word that came next."""
        return self._take(_WORD, 0)

    def take_hash(self) -> str | None:
        """The name after a `#`, of a dialect, an attribute or an alias."""
        return self._take(_HASH, 1)

    def _take(self, pattern: re.Pattern[str], group: int) -> str | None:
        token = pattern.match(self.text, self.start())
        if token is None:
            return None
        self.pos = token.end()
        return token[group]

    def expect_integer(self, what: str, after: str) -> int:
        """A decimal or hexadecimal number of 64 bits; `true` is -1 and `false` 0, as in MLIR."""
        start = self.start()
        word = self.peek_word()
        if word in ("true", "false"):
            self.take_word()
            return -1 if word == "true" else 0
        negative = self.take("-")
        number = _NUMBER.match(self.text, self.start())
        if number is None:
            raise self.expected(what, after, "drop the '+'" if self.at("+") else None)
        if number[1] is not None:
            raise self.expected(what, after, f"write {number[0].split('.')[0]}")
        self.pos = number.end()
        value = _value(number[0], negative)
        if value is None:
            notes = [f"the largest is {INT64_MAX}"]
            raise self.error(f"{what} does not fit 64 bits", start, self.pos, notes=notes)
        return value

    def expect_string(self, what: str, after: str) -> str:
        """The name that a string literal spells."""
        if not self.at('"'):
            raise self.expected(what, after, self.string_help())
        return self._string(what)

    def expect_symbol(self) -> str:
        """The name after an `@`, which must come next."""
        start = self.start()
        if self.text.startswith('"', start + 1):
            self.pos = start + 1
            return self._string("mesh name")
        name = _WORD.match(self.text, start + 1)
        if name is not None:
            self.pos = name.end()
            return name[0]
        rest = re.match(r"[^\s,<>\[\]{}\"]*", self.text[start + 1 : start + 100])
        bad = rest[0] if rest else ""
        raise self.error(
            "a bare mesh name starts with a letter or '_'",
            start,
            start + 1 + len(bad),
            help=f"write @{keyword_or_string(bad)}" if bad else "write the name after the '@'",
        )

    def _string(self, what: str) -> str:
        start = self.start()
        literal = _STRING.match(self.text, start)
        if literal is None:
            raise self._string_error(start)
        self.pos = literal.end()
        name = literal[1]
        if name.isascii() and "\\" not in name:
            return name
        try:
            raw = name.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise self.error(
                f"the {what} holds a lone surrogate, which no text file can", start, self.pos
            ) from None
        return _ESCAPE.sub(_unescape, raw).decode("utf-8", "surrogateescape")

    def _string_error(self, start: int) -> ParseError:
        stop = _STRING_BODY.match(self.text, start + 1).end()  # type: ignore[union-attr]  # matches always
        if self.text.startswith("\\", stop):
            return self.error(
                f"unknown escape {self.text[stop : stop + 2]} in a string",
                stop,
                min(stop + 2, len(self.text)),
                notes=[r"the escapes are \", \\, \n, \t and two hex digits such as \0A"],
                help=r"write \\ for a backslash",
            )
        return self.error("the string has no closing '\"' on its line", start, stop, help="add a '\"'")

    def string_help(self) -> str | None:
        """How to write what comes next as a string, if it is a word or in single quotes."""
        start = self.start()
        quoted = re.match(r"'([^'\n]*)'", self.text[start : start + 100])
        name = quoted[1] if quoted else self.peek_word()
        return None if name is None else f"write {show(name)}"

    def found(self) -> str:
        """What comes next, for an error message."""
        token = _TOKEN.match(self.text, self.start())
        if token is None:
            return "the end of the text"
        shown = token[0] if len(token[0]) <= 40 else f"{token[0][:40]}..."
        return shown if shown[0] == '"' else f"'{shown}'"

    def after(self) -> str:
        """What the next token comes after, for an error message."""
        token = _LAST_TOKEN.search(self.text[max(0, self.pos - 40) : self.pos])
        return f"'{token[0]}'" if token else "the start"

    def expected(self, what: str, after: str, help: str | None = None) -> ParseError:  # noqa: A002
        """The error that `what` should come next, at what does."""
        if self.at("/*"):
            help = "a comment is written // and goes to the end of its line"  # noqa: A001
        message = f"expected {what} after {after}, found {self.found()}"
        return self.error(message, help=help)

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
            start = self.start()
            token = _TOKEN.match(self.text, start)
            end = token.end() if token else start
        span = Span(start, start if end is None else end)
        return ParseError(message, source=self.source, span=span, notes=notes, help=help)


def _value(digits: str, negative: bool) -> int | None:
    """The number, unless it does not fit; without converting millions of digits."""
    is_hex = digits.startswith("0x")
    significant = digits[2:].lstrip("0") if is_hex else digits.lstrip("0")
    if len(significant) > _MAX_DIGITS:
        return None
    magnitude = int(significant or "0", 16 if is_hex else 10)
    value = -magnitude if negative else magnitude
    return value if INT64_MIN <= value <= INT64_MAX else None


def _unescape(escape: re.Match[bytes]) -> bytes:
    return _ESCAPED[escape[1]] if escape[1] is not None else bytes.fromhex(escape[2].decode())
