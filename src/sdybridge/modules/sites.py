"""Where Shardy stands in MLIR text: dictionary keys, operations and attributes, outside strings and comments.

The scanner jumps from one `sdy.` to the next with a literal search, and only reads what lies between two
of them on the same line: strings cannot cross a line end, so every line starts outside of one.
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

from sdybridge.modules.lexer import STRING, skip_trivia, string_end

if TYPE_CHECKING:
    from collections.abc import Iterator


class SiteKind(enum.Enum):
    """How a Shardy name is used."""

    KEY = "key"
    OPERATION = "operation"
    GENERIC_OPERATION = "generic operation"
    ATTRIBUTE = "attribute"


_KEY, _OPERATION, _GENERIC, _ATTRIBUTE = SiteKind  # attribute look-up in an enum is slow

Site = tuple[SiteKind, str, int, int, "str | None"]
"""One use of a Shardy name, as a plain tuple (a large program has very many):

- how it is used,
- the full name: `sdy.sharding`, `xla.sdy.manual_axes`, `sdy.mesh`,
- the offset of its first character; of the quote before it for a generic operation, of the `#` for an
  attribute,
- the offset past the name and its quote; for a key, that of its value,
- for a key, the text of its value if that is a sharding as the printer writes them, without inlined meshes
  and escapes; otherwise None, and a parser has to read it.
"""

SHARDING_BODY = r'<[^<>"\\/]*+(?:"[^"\\\n<>]*+"[^<>"\\/]*+)*+>'
_SHARDING = rf"#sdy\.sharding(?:{SHARDING_BODY}|_per_value<\[{SHARDING_BODY}(?:, {SHARDING_BODY})*+\]>)"
_NAME = re.compile(rf"(sdy\.[\w.$\-]++)(?:(\s*+=\s*+)({_SHARDING})?)?(?:#sdy\.)?")
MESH_NAME = re.compile(r"(sdy\.mesh)(?![\w.$\-])(\s*+=\s*+)?()")
"""Pattern for `find_sites` that finds mesh operations (and mesh attributes) only."""

_CODE = re.compile(rf'(?:[^"/]++|{STRING}|/(?!/))*+')
_BEFORE_NAME = frozenset(["", *" \t\r\n{}()[]<>,="])
_FLAT = re.compile(rf'(?:[^"/()\[\]{{}}<>]++|{STRING})*+')
_UNMATCHED = re.compile(rf'[^"/()\[\]{{}}<>\-]++|{STRING}|//[^\n]*+|->|<=|>=|.', re.DOTALL)
_CLOSERS = {")": "(", "]": "[", "}": "{", ">": "<"}


def find_sites(text: str, pattern: re.Pattern[str] = _NAME) -> Iterator[Site]:
    """Every Shardy name in `text` that is code, in order.

    Args:
        text: A whole MLIR text.
        pattern: What to look for: every name, or `MESH_NAME`.

    Raises:
        ParseError: A string that holds such a name does not end on its line.

    Example:
        >>> [name for _, name, _, _, _ in find_sites('%0 = sdy.reshard %a <@m, [{}]> {b = "sdy.c"}')]
        ['sdy.reshard']
    """
    end = _resource_section(text)
    count = text.count
    code = 0  # an offset before which everything is read, and which is itself outside strings and comments
    special = -1  # the first backslash or slash from `code` on
    for hit in pattern.finditer(text, 0, end):
        start = hit.start()
        if start < code:
            continue
        if special < code:
            special = min(at if (at := text.find(mark, code)) >= 0 else end for mark in "\\/")
        if special < start or count('"', code, start) & 1:
            line = text.rfind("\n", code, start) + 1
            stop = _CODE.match(text, line or code, start).end()  # type: ignore[union-attr]  (always matches)
            if stop < start:  # a string or comment opens at `stop` and reaches over `start`
                code = string_end(text, stop) if text[stop] == '"' else _line_end(text, start)
                if (
                    stop == start - 1
                    and code == hit.end(1) + 1
                    and text.startswith("(", skip_trivia(text, code))
                ):
                    yield _GENERIC, hit[1], stop, code, None
                continue
        code = start
        name, equals, value = hit.groups()
        before = text[start - 1] if start else "\n"
        if before in _BEFORE_NAME:
            if equals:
                yield _KEY, name, start, hit.end(2), value
            else:
                yield _operation_or_key(text, name, start, hit.end(1))
        elif before == "#":
            yield _ATTRIBUTE, name, start - 1, hit.end(1), None
        elif equals and text.startswith("xla.", start - 4) and text[start - 5 : start - 4] in _BEFORE_NAME:
            yield _KEY, "xla." + name, start - 4, hit.end(2), None


def _operation_or_key(text: str, name: str, start: int, end: int) -> Site:
    """The use of a name with no `=` right behind it: a comment may still stand before one."""
    equals = skip_trivia(text, end)
    if text.startswith("=", equals):
        return _KEY, name, start, skip_trivia(text, equals + 1), None
    return _OPERATION, name, start, end, None


def opening_brace(text: str, at: int) -> int:
    """The offset of the bracket that encloses `at`, an offset in code; -1 if there is none.

    >>> opening_brace('{a = {b = "}"}, c = 1}', 16)
    0
    """
    brace = text.rfind("{", 0, at)
    for _ in range(8):  # almost always the nearest brace, or one before a nested dictionary
        if brace < 0:
            break
        if _FLAT.fullmatch(text, brace + 1, at):
            return brace
        between = text[brace:at]
        if not between.count('"') & 1 and '\\"' not in between and "//" not in between:
            opened = _unmatched_opener(text, brace, at)
            if opened >= 0:
                return opened
        brace = text.rfind("{", 0, brace)
    start = at
    while start > 0:  # read ever more lines, each time from a line start
        start = text.rfind("\n", 0, max(0, 2 * start - at - 1)) + 1
        opened = _unmatched_opener(text, start, at)
        if opened >= 0:
            return opened
    return -1


def _unmatched_opener(text: str, start: int, end: int) -> int:
    """The last bracket in `text[start:end]` that does not close there; -1 if all do."""
    opened: list[int] = []
    pos = start
    while pos < end:
        token = _UNMATCHED.match(text, pos, end)
        if token is None:
            break
        char = text[pos]
        if token.end() == pos + 1:
            if char in "([{<":
                opened.append(pos)
            elif char in _CLOSERS and opened and text[opened[-1]] == _CLOSERS[char]:
                opened.pop()
        pos = token.end()
    return opened[-1] if opened else -1


def _resource_section(text: str) -> int:
    """The offset where the trailing `{-# ... #-}` section starts, or the end of the text."""
    at = text.rfind("\n{-#") if text.endswith(("#-}", "#-}\n")) else -1
    return len(text) if at < 0 else at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
