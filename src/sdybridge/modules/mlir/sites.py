"""Where Shardy stands in MLIR text: dictionary keys, operations and attributes, outside strings and comments.

The scanner jumps from one `sdy.` to the next with a literal search, and only reads what lies between two
of them on the same line: strings cannot cross a line end, so every line starts outside of one.
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.modules.mlir.lexer import STRING, code_until, skip_trivia, string_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class SiteKind(enum.Enum):
    """How a Shardy name is used."""

    KEY = "key"
    OPERATION = "operation"
    GENERIC_OPERATION = "generic operation"
    ATTRIBUTE = "attribute"


class Site(NamedTuple):
    """One use of a Shardy name.

    Attributes:
        kind: How it is used.
        name: The full name: `sdy.sharding`, `xla.sdy.manual_axes`, `sdy.mesh`.
        start: Offset of its first character; of the quote before it for a generic operation, of the `#`
            for an attribute.
        end: Offset past the name and its quote; for a key, that of its value.
        value: For a key, the text of its value if that is a sharding as the printer writes them;
            otherwise None, and a parser has to read it.
    """

    kind: SiteKind
    name: str
    start: int
    end: int
    value: str | None


SHARDING_BODY = r'<[^<>"\\/]*+(?:"[^"\\\n<>]*+"[^<>"\\/]*+)*+>'
"""Pattern of a sharding's body as the printer writes it, without inlined meshes, escapes and comments."""

_RULE = r"#sdy\.op_sharding_rule<(?:[^\"<>\n\-]++|->|-)*+>(?<!custom>)"

NAME = re.compile(
    rf"(?P<name>sdy\.[\w.$\-]++)"
    rf"(?:(?P<equals>\s*+=\s*+)(?:(?P<value>#sdy\.sharding{SHARDING_BODY})"
    rf"|(?P<values>#sdy\.sharding_per_value<\[{SHARDING_BODY}(?:, {SHARDING_BODY})*+\]>)"
    rf"(?:, sdy\.sharding_rule = {_RULE})?"
    rf"|(?P<rule>{_RULE})|#sdy\.)?"
    rf"| (?P<operand>%[\w$.#\-]++) (?P<sharding>{SHARDING_BODY})"
    rf"(?: \{{sdy\.sharding_rule = {_RULE}\}})? : (?P<type>tensor<[^\n<>]*+>)(?=[ \n]))?"
)
"""Pattern of a Shardy name, and behind it what the printer most often writes there."""

RULE_ENTRY = re.compile(rf", sdy\.sharding_rule = {_RULE}")
"""Pattern of the entry that often follows a list of shardings in the output of Shardy's passes."""

RULE_DICTIONARY = re.compile(rf" \{{(?<![s=] \{{)sdy\.sharding_rule = {_RULE}\}}")
"""Pattern of a dictionary with nothing else, not behind `attributes` or `=`."""

MESH_NAME = re.compile(r"(?P<name>sdy\.mesh)(?![\w.$\-])(?P<equals>\s*+=\s*+)?(?P<value>)(?P<values>)")
"""Pattern for `find_sites` that finds mesh operations (and mesh attributes) only."""

COMPUTATION_NAME = re.compile(
    r"(?P<name>sdy\.(?:manual|named)_computation)(?![\w.$\-])(?P<equals>)(?P<value>)(?P<values>)"
)
"""Pattern for `find_sites` that finds manual and named computations only."""

HLO_NAME = re.compile(
    r'(?P<name>mhlo\.sharding)(?![\w.$\-])(?: = (?P<value>"[^"\\\n]*+"))?+(?P<equals>)(?P<values>)'
)
"""Pattern of the key of HLO shardings, and behind it the string that the printer most often writes there."""

_KEY_PREFIXES = ("sdy.", "xla.sdy.", "mhlo.")
_BEFORE_NAME = frozenset(" \t\r\n{}()[]<>,=")
# Code has no backslash outside of strings, so text that starts inside a string never matches by mistake.
_FLAT = rf'(?:[^"/\\()\[\]{{}}<>]++|{STRING})*+'
_GROUP = rf"\({_FLAT}\)|\[{_FLAT}\]|\{{{_FLAT}\}}|<{_FLAT}(?:\[{_FLAT}\]{_FLAT})?>"
_BALANCED = re.compile(rf'(?:[^"/\\()\[\]{{}}<>]++|{STRING}|{_GROUP})*+')


def find_sites(
    text: str, pattern: re.Pattern[str] = NAME, end: int = -1, starts: Iterable[int] | None = None
) -> Iterator[Site]:
    """Every Shardy name in `text` that is code, in order.

    Args:
        text: A whole MLIR text.
        pattern: What to look for: `NAME`, `MESH_NAME` or `HLO_NAME`.
        end: Where to stop; negative for the end of the code.
        starts: Where the pattern may match, in order, if that is known.

    Raises:
        ParseError: A string that holds such a name does not end on its line.

    Example:
        >>> [site.name for site in find_sites('%0 = sdy.reshard %a <@m, [{}]> {b = "sdy.c"}')]
        ['sdy.reshard']
    """
    end = code_end(text) if end < 0 else end
    hits: Iterable[re.Match[str] | None] = pattern.finditer(text, 0, end)
    if starts is not None:
        hits = (pattern.match(text, start, end) for start in starts)
    code = 0
    for hit in hits:
        if hit and hit.start() >= code:
            site, code = read_site(text, hit, code)
            if site:
                yield site


def read_site(text: str, hit: re.Match[str], code: int) -> tuple[Site | None, int]:
    """The use of the name that `NAME` matched, None if it is no code or part of another name.

    Args:
        text: The whole text.
        hit: The match; or one of `HLO_NAME` or `MESH_NAME`.
        code: An offset before it, outside strings and comments.

    Returns:
        The use, and an offset outside strings and comments up to which nothing more of it is to be read.
    """
    start, end = hit.span("name")
    line = text.rfind("\n", code, start) + 1
    stop = code_until(text, line or code, start)
    if stop < start:  # a string or comment opens at `stop` and reaches over `start`
        if text[stop] != '"':
            return None, _line_end(text, start)
        code = string_end(text, stop)
        return _quoted(text, stop, code), code
    before = text[start - 1] if start else "\n"
    if before == "#":
        return Site(SiteKind.ATTRIBUTE, hit["name"], start - 1, end, None), end
    if before in _BEFORE_NAME:
        name = hit["name"]
    elif text.startswith("xla.", start - 4) and (start == 4 or text[start - 5] in _BEFORE_NAME):
        start -= 4
        name = "xla." + hit["name"]
    else:
        return None, end
    equals = skip_trivia(text, end)
    if text.startswith("=", equals):
        value = hit["value"] or hit["values"] or None
        return Site(SiteKind.KEY, name, start, skip_trivia(text, equals + 1), value), end
    if text[equals : equals + 1] in {",", "}"} and name != "sdy.return":
        return None, end  # a unit attribute
    return Site(SiteKind.OPERATION, name, start, end, None), end


def _quoted(text: str, start: int, end: int) -> Site | None:
    """The use of the string at `text[start:end]`: the name of a generic operation, or a quoted key."""
    name = text[start + 1 : end - 1]
    after = skip_trivia(text, end)
    if name.startswith("sdy.") and text.startswith("(", after):
        return Site(SiteKind.GENERIC_OPERATION, name, start, end, None)
    if name.startswith(_KEY_PREFIXES) and text.startswith("=", after):
        return Site(SiteKind.KEY, name, start, skip_trivia(text, after + 1), None)
    return None


def near_brace(text: str, at: int, floor: int) -> int:
    """The brace that encloses `at`, if it stands behind `floor` and with little in between; otherwise -1.

    There must be no escapes and no comments between `floor` and `at`.

    >>> near_brace('{a = {b = "}"}, c = 1}', 16, 0)
    0
    """
    brace = at
    for _ in range(3):  # almost always the nearest brace, or the one before a nested dictionary
        brace = text.rfind("{", floor, brace)
        if brace < 0 or is_balanced(text, brace + 1, at):
            return brace
    return -1


def is_balanced(text: str, start: int, end: int) -> bool:
    """Whether brackets pair up in `text[start:end]`, which starts as code and has few nested ones.

    There must be no comments in it; False if there are escapes.

    >>> is_balanced('f(a, "(") {', 0, 10), is_balanced("f(a", 0, 3)
    (True, False)
    """
    return _BALANCED.fullmatch(text, start, end) is not None


def code_end(text: str) -> int:
    """The offset where the trailing `{-# ... #-}` section starts, or the end of the text."""
    at = text.rfind("\n{-#") if text.endswith(("#-}", "#-}\n")) else -1
    return len(text) if at < 0 else at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
