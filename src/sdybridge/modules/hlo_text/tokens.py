"""Tokens of HLO text: what may stand between them, strings, and groups in brackets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError
from sdybridge.source import Source, Span, in_quotes

if TYPE_CHECKING:
    from collections.abc import Sequence

STRING = r'(?:"(?:[^"\\]++|\\.)*+"|\'(?:[^\'\\]++|\\.)*+\')'
COMMENT = r"(?:/\*(?:[^*]++|\*(?!/))*+\*/|//[^\n]*+)"
TRIVIA = rf"(?:\s++|{COMMENT})*+"

_TRIVIA = re.compile(TRIVIA, re.DOTALL)
_PLAIN = "[^()\\[\\]{}\"'/]"
_PAIR = rf"\[{_PLAIN}*+\]|\{{{_PLAIN}*+\}}|\({_PLAIN}*+\)"
_TO_BRACKET = re.compile(rf"(?:{_PLAIN}++|{_PAIR}|{STRING}|{COMMENT}|/(?![*/]))*+", re.DOTALL)
_FLAT = re.compile(_PAIR)
_IN_DICTIONARY = re.compile(r'(?:[^{}"]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_STRING = re.compile(STRING, re.DOTALL)
_ATOM = re.compile(r"[^\s,()\[\]{}\"'/]++")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def skip_trivia(text: str, at: int) -> int:
    """The offset behind white space and comments.

    >>> skip_trivia("a /* b */ c", 1)
    10
    """
    return _TRIVIA.match(text, at).end()  # type: ignore[union-attr]  # matches always


def group_end(source: Source, at: int) -> int:
    """The offset past the bracket that pairs with the one at `at`.

    Raises:
        ParseError: There is none, or no bracket at `at`.

    >>> group_end(Source('{{a="}"}, [2]} b'), 0)
    14
    """
    text = source.text
    flat = _FLAT.match(text, at)
    if flat:
        return flat.end()
    if text[at : at + 1] not in ("(", "[", "{"):
        raise error(source, at, f"expected a bracket, found {shown(text, at)}")
    expected: list[str] = []
    opened: list[int] = []
    end = at
    while True:
        bracket = text[end : end + 1]
        if bracket in _CLOSING and bracket:
            expected.append(_CLOSING[bracket])
            opened.append(end)
        elif bracket in {'"', "'"}:
            string_end(source, end)  # raises: it is never closed
        elif not bracket or bracket != expected[-1]:
            place = opened[-1]
            raise error(source, place, f"'{text[place]}' is never closed", end=place + 1)
        else:
            expected.pop()
            opened.pop()
            if not expected:
                return end + 1
        end = _TO_BRACKET.match(text, end + 1).end()  # type: ignore[union-attr]  # matches always


def dictionary_end(source: Source, at: int) -> int:
    r"""The offset past the dictionary at `at`: XLA counts its braces, except in strings with double quotes.

    Raises:
        ParseError: It never ends.

    >>> dictionary_end(Source('{"a}": {b = \'}\'}'), 0)
    16
    """
    text, depth, end = source.text, 0, at
    while True:
        brace = text[end : end + 1]
        if brace not in {"{", "}"}:
            raise error(source, at, "'{' is never closed", end=at + 1)
        depth += 1 if brace == "{" else -1
        end += 1
        if not depth:
            return end
        end = _IN_DICTIONARY.match(text, end).end()  # type: ignore[union-attr]  # matches always


def string_end(source: Source, at: int) -> int:
    """The offset past the string at `at`.

    Raises:
        ParseError: It never ends.
    """
    found = _STRING.match(source.text, at)
    if not found:
        raise error(source, at, "the string is never closed", end=at + 1)
    return found.end()


def value_end(source: Source, at: int) -> int:
    """The offset past the value of an attribute: words, numbers, strings and groups.

    They touch each other, but for groups: `replica_groups=mesh['a'=2] {'a'}`.

    Raises:
        ParseError: There is none, or a string or bracket in it is never closed.

    >>> value_end(Source("calls=f, replica_groups=[2,4]<=[8], x"), 24)
    34
    >>> value_end(Source("replica_groups=mesh['a'=2] {'a'}, x"), 15)
    32
    """
    text, end = source.text, at
    while True:
        atom = _ATOM.match(text, end)
        if atom:
            end = atom.end()
        found = text[end : end + 1]
        if found in _CLOSING and found:
            end = group_end(source, end)
        elif found in {'"', "'"}:
            end = string_end(source, end)
        elif found == "/" and text[end + 1 : end + 2] not in {"/", "*"}:
            end += 1
        elif end == at:
            raise error(source, at, f"expected a value, found {shown(text, at)}")
        elif text.startswith(("(", "[", "{"), group := skip_trivia(text, end)):
            end = group_end(source, group)
        else:
            return end


def shown(text: str, at: int) -> str:
    """What stands at `at`, for a message."""
    word = re.compile(r"[\w.\-]{1,40}|.", re.DOTALL).match(text, at)
    return in_quotes(word[0]) if word else "the end of the text"


def error(
    source: Source,
    at: int,
    message: str,
    *,
    end: int = -1,
    notes: Sequence[str] = (),
    help: str | None = None,  # noqa: A002  (the word that errors use)
) -> ParseError:
    """An error at an offset of the text."""
    return ParseError(message, source=source, span=Span(at, max(end, at)), notes=notes, help=help)
