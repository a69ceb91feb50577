"""Token-level helpers over MLIR text: trivia, strings, symbols and matching brackets.

Every function takes the whole text and an offset and answers with an offset, so that nothing is copied.
One call of a C-speed regular expression passes over everything between two brackets, and no function
recurses on the nesting depth. The errors carry the bare text as their source; an entry point that knows
the file's name places them there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError
from sdybridge.source import Source, Span, in_quotes, utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    T = TypeVar("T")

STRING = r'"(?:[^"\\\n]++|\\[^\n])*+"'
"""Pattern of a string literal: never over a line end, any escape."""

BARE_ID = r"[A-Za-z_][A-Za-z0-9_$.]*+"
"""Pattern of a keyword, an operation name or a dictionary key."""

SUFFIX_ID = r"(?:[0-9]++|[A-Za-z_$.\-][A-Za-z0-9_$.\-]*+)"
"""Pattern of what follows `%`, `#`, `!` or `^`."""

SYMBOL = rf"@(?:{BARE_ID}|{STRING})"
"""Pattern of a symbol reference, bare or quoted."""

TRIVIA = r"(?:[ \t\r\n]++|//[^\n]*+)*+"
"""Pattern of white space and comments, also of none."""

_PLAIN = r'[^"/()\[\]{}<>\-]++|' + STRING + r"|//[^\n]*+|->|-|/|<="
_FLAT = f"(?:{_PLAIN})*+"
TO_UNPAIRED = re.compile(rf"(?:{_PLAIN}|\({_FLAT}\)|\[{_FLAT}\]|\{{{_FLAT}\}}|<{_FLAT}>)*+")
"""Passes over code up to a bracket that does not open and close a group without groups in it."""

WITH_PARAMETERS = ("tensor", "memref", "vector", "tuple", "complex")
"""The types whose `<` may stand apart from their name."""

CLOSER = {"(": ")", "[": "]", "{": "}", "<": ">"}
"""The bracket that closes each opening one."""

_TOKEN = re.compile(rf"[@%#!^]?(?:{BARE_ID}|[0-9]++)|{STRING}|->")
_TRIVIA = re.compile(TRIVIA)
_CODE = re.compile(rf'(?:[^"/]++|{STRING}|/(?!/))*+')
_TYPE_NAME = re.compile(r"!?[\w.$\-]++")
_STRING = re.compile(STRING)
_SYMBOL = re.compile(SYMBOL)
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{2})|(.))")
_TO_COMMA = re.compile(rf'(?:[^"/()\[\]{{}}<>\-,]++|{STRING}|//[^\n]*+|->|-|/|<=)*+')
_TO_BRACKET = re.compile(_FLAT)
_NAMED_ESCAPES = {"n": b"\n", "t": b"\t", '"': b'"', "\\": b"\\"}


def holds(text: str, part: str) -> bool:
    """Whether `part` is in a long text that most likely does not have it.

    Python searches a long text backwards in a third of the time that it takes forwards.

    >>> holds("a b c", "b c"), holds("a b c", "c b")
    (True, False)
    """
    return text.rfind(part) >= 0


def places(text: str, part: str, spans: Iterable[tuple[int, int]]) -> list[int]:
    """Where a long text has a part that is rare, in these spans of it, which are in order.

    >>> places("a b a b", "b", [(0, 2), (2, 7)])
    [2, 6]
    """
    found: list[int] = []
    for start, end in spans:
        here = []
        at = end
        while (at := text.rfind(part, start, at)) >= 0:
            here.append(at)
        found += reversed(here)
    return found


def skip_trivia(text: str, pos: int) -> int:
    r"""The offset of the first character from `pos` on that is neither white space nor in a `//` comment.

    >>> skip_trivia("  // note\n  x", 0)
    12
    """
    found = _TRIVIA.match(text, pos)
    return found.end() if found else pos


def back_over_trivia(text: str, at: int, floor: int = 0) -> int:
    r"""`at` moved left over white space and comments, not past `floor`, which is code or starts a line.

    >>> back_over_trivia("x // note\n  y", 12)
    1
    """
    while True:
        end = _back_over_space(text, at, floor)
        line_end = text.rfind("\n", end, at)
        if line_end < 0:  # a comment would reach over `at`
            return end
        line = text.rfind("\n", floor, end) + 1 or floor
        if text.find("//", line, end) < 0:
            return end
        comment = code_until(text, line, end)
        if comment == end or not text.startswith("//", comment, end):
            return end
        at = comment


def code_until(text: str, start: int, at: int) -> int:
    """Where the string or comment opens that reaches over `at`; `at` if it is code, as `start` is.

    >>> [code_until('a "b" // c', 0, at) for at in (1, 3, 5, 9)]
    [1, 2, 5, 6]
    """
    code = _CODE.match(text, start, at)
    return code.end() if code else start


def next_code(text: str, start: int, at: int) -> int:
    """`at` if it is code, as `start` is; otherwise the end of the string or comment around it.

    >>> [next_code('a "b" // c', 0, at) for at in (1, 3, 9)]
    [1, 5, 10]
    """
    end = code_until(text, text.rfind("\n", start, at) + 1 or start, at)
    if end == at:
        return at
    string = _STRING.match(text, end)
    if string:
        return string.end()
    line_end = text.find("\n", at)
    return len(text) if line_end < 0 else line_end


def string_end(text: str, pos: int) -> int:
    r"""The offset just past the string literal that opens at `pos`.

    Raises:
        ParseError: There is no string at `pos`, or it does not end on its line.

    >>> string_end(r'"a\"b" c', 0)
    6
    """
    found = _STRING.match(text, pos)
    if found:
        return found.end()
    if not text.startswith('"', pos):
        raise parse_error(text, pos, f"expected a string, found {describe(text, pos)}")
    line_end = text.find("\n", pos)
    end = len(text) if line_end < 0 else line_end
    raise parse_error(text, pos, "the string does not end on its line", end=end, help='close it with `"`')


def symbol_end(text: str, pos: int) -> int:
    """The offset just past the symbol, `@name` or `@"any text"`, at `pos`.

    Raises:
        ParseError: There is no symbol at `pos`.

    >>> symbol_end('@mesh, []', 0)
    5
    """
    found = _SYMBOL.match(text, pos)
    if found:
        return found.end()
    raise parse_error(text, pos, f"expected a symbol such as `@name`, found {describe(text, pos)}")


def matching_bracket(text: str, pos: int) -> int:
    """The offset just past the group that opens at `pos` with one of `( [ { <`.

    Strings, comments, arrows and comparison signs inside do not count as brackets. Linear in the length of
    the group, whatever its depth.

    Raises:
        ParseError: There is no bracket at `pos`, the group does not end, or brackets in it do not pair up.

    >>> matching_bracket('{a = ">", b = <(d0) -> (d0)>} x', 0)
    29
    """
    opener = text[pos : pos + 1]
    if opener not in CLOSER or not opener:
        raise parse_error(text, pos, f"expected an opening bracket, found {describe(text, pos)}")
    expected = [CLOSER[opener]]
    opened = [pos]
    step = TO_UNPAIRED.match
    pos += 1
    while expected:
        run = step(text, pos)
        pos = run.end() if run else pos
        char = text[pos : pos + 1]
        if char == expected[-1]:
            expected.pop()
            opened.pop()
        elif char in CLOSER and char:
            expected.append(CLOSER[char])
            opened.append(pos)
        elif not (char == ">" and text.startswith(">=", pos)):
            raise _unbalanced(text, pos, opened[-1])
        pos += 1
    return pos


def matching_brackets(text: str, starts: Sequence[int]) -> list[int]:
    """The offsets just past the groups that open at `starts`, which ascend; the text is read once.

    Raises:
        ParseError: A group does not end, or brackets do not pair up.

    >>> matching_brackets("{a {b} c {}} {}", [0, 3, 9, 13])
    [12, 6, 11, 15]
    """
    ends: dict[int, int] = {}
    waiting = [*reversed(starts)]
    opened: list[int] = []
    step = TO_UNPAIRED.match
    pos = 0
    while waiting or opened:
        limit = waiting[-1] if waiting else len(text)
        run = step(text, pos, limit) if opened else None
        pos = run.end() if run else pos if opened else limit
        char = text[pos : pos + 1]
        if waiting and pos == limit:
            opened.append(waiting.pop())
        elif char and char == CLOSER[text[opened[-1]]]:
            ends[opened.pop()] = pos + 1
        elif char and char in CLOSER:
            opened.append(pos)
        elif not (char == ">" and text.startswith(">=", pos)):
            raise _unbalanced(text, pos, opened[-1])
        pos += 1
    return [ends[start] for start in starts]


def type_end(text: str, at: int) -> int:
    r"""The offset past the type at `at`, however it is spaced.

    Raises:
        ParseError: There is no type at `at`, or its brackets do not pair up.

    >>> type_end("tensor\n<8xf32> %a", 0), type_end("(i32) -> (f32) {", 0)
    (14, 14)
    """
    while text.startswith("(", at):  # a function; its result may be one again
        end = matching_bracket(text, at)
        arrow = skip_trivia(text, end)
        if not text.startswith("->", arrow):
            return end
        at = skip_trivia(text, arrow + 2)
    found = _TYPE_NAME.match(text, at)
    if not found:
        raise parse_error(text, at, f"expected a type, found {describe(text, at)}")
    after = found.end()
    if found[0] in WITH_PARAMETERS:
        after = skip_trivia(text, after)
    return matching_bracket(text, after) if text.startswith("<", after) else found.end()


def items(text: str, start: int, end: int) -> Iterator[Span]:
    """The comma-separated items of `text[start:end]`, the inside of a group, without trivia around.

    An empty inside has no items; an empty item between two commas is an empty span.

    Raises:
        ParseError: Brackets in the range do not pair up.

    >>> [(s.start, s.end) for s in items("[a, <b, c>]", 1, 10)]
    [(1, 2), (4, 10)]
    """
    first = pos = skip_trivia(text, start)
    if pos >= end:
        return
    while True:
        run = _TO_COMMA.match(text, pos, end)
        pos = run.end() if run else pos
        if pos >= end:
            yield Span(first, back_over_trivia(text, end, first))
            return
        if text[pos] == ",":
            yield Span(first, back_over_trivia(text, pos, first))
            first = pos = min(skip_trivia(text, pos + 1), end)
        elif text[pos] in CLOSER:
            pos = matching_bracket(text, pos)
        elif text.startswith(">=", pos):
            pos += 2
        else:
            raise parse_error(text, pos, f"unexpected {describe(text, pos)}")


def groups(text: str, start: int, end: int) -> Iterator[Span]:
    """The outermost bracket groups in `text[start:end]`, strings and comments passed over.

    Raises:
        ParseError: Brackets in the range do not pair up.

    >>> [(s.start, s.end) for s in groups('f "(" (a, (b)) [c]', 0, 18)]
    [(6, 14), (15, 18)]
    """
    pos = start
    while True:
        run = _TO_BRACKET.match(text, pos, end)
        pos = run.end() if run else pos
        if pos >= end:
            return
        if text[pos] in CLOSER:
            group_end = matching_bracket(text, pos)
            yield Span(pos, group_end)
            pos = group_end
        elif text.startswith(">=", pos):
            pos += 2
        else:
            raise parse_error(text, pos, f"unexpected {describe(text, pos)}")


def unescape(literal: str) -> str:
    r"""The value of a string literal with its quotes; bytes that are not UTF-8 become surrogate escapes.

    >>> unescape(r'"a\22b\0A"')
    'a"b\n'
    """
    inside = literal[1:-1]
    if "\\" not in inside:
        return inside
    parts: list[bytes] = []
    last = 0
    for found in _ESCAPE.finditer(inside):
        parts.append(utf8(inside[last : found.start()]))
        code, char = found.groups()
        parts.append(
            bytes.fromhex(code) if code else _NAMED_ESCAPES.get(char, char.encode("utf-8", "replace"))
        )
        last = found.end()
    parts.append(utf8(inside[last:]))
    return b"".join(parts).decode("utf-8", "surrogateescape")


def symbol_name(symbol: str) -> str:
    r"""The name in a symbol reference, unquoted.

    >>> symbol_name('@mesh'), symbol_name(r'@"my mesh"')
    ('mesh', 'my mesh')
    """
    return unescape(symbol[1:]) if symbol.startswith('@"') else symbol[1:]


def parse_error(
    text: str,
    start: int,
    message: str,
    *,
    end: int | None = None,
    notes: tuple[str, ...] = (),
    help: str | None = None,  # noqa: A002
) -> ParseError:
    """A `ParseError` at `start` of the bare text, about the token there unless `end` says more."""
    span = Span(start, _token_end(text, start) if end is None else end)
    return ParseError(message, source=Source(text), span=span, notes=notes, help=help)


def placed(source: Source, work: Callable[[], T]) -> T:
    """What `work` answers; errors of what reads the bare text get to know its name.

    Raises:
        ParseError: What `work` raises.
    """
    try:
        return work()
    except ParseError as error:
        if error.source is not None and error.span is not None and error.source.text == source.text:
            error.located(source, error.span)
        raise


def describe(text: str, pos: int) -> str:
    """What stands at `pos`, for the "found ..." part of a message.

    >>> describe("a {", 2), describe("a {", 3)
    ("'{'", 'the end of the text')
    """
    if pos >= len(text):
        return "the end of the text"
    token = text[pos : _token_end(text, pos)]
    shown = token if len(token) <= 40 else token[:37] + "..."
    if shown.startswith('"') and shown.isprintable():
        return shown
    return in_quotes(shown)


def _token_end(text: str, pos: int) -> int:
    found = _TOKEN.match(text, pos)
    return found.end() if found else pos + 1


def _back_over_space(text: str, at: int, floor: int) -> int:
    """`at` moved left over white space, not past `floor`."""
    while at > floor and text[at - 1] in " \t\r\n":
        at -= 1
    return at


def _unbalanced(text: str, pos: int, opened: int) -> ParseError:
    opener = text[opened]
    if pos >= len(text):
        return parse_error(
            text, opened, f"'{opener}' is never closed", help=f"close it with `{CLOSER[opener]}`"
        )
    if text[pos] == '"':
        try:
            string_end(text, pos)
        except ParseError as error:
            return error
    line, column = Source(text).location(opened)
    message = f"expected '{CLOSER[opener]}' before {describe(text, pos)}"
    return parse_error(text, pos, message, notes=(f"'{opener}' was opened at {line}:{column}",))
