"""Attribute aliases of a program, and where an attribute value ends."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.modules.mlir.lexer import (
    STRING,
    SUFFIX_ID,
    TRIVIA,
    matching_bracket,
    next_code,
    parse_error,
    skip_trivia,
    string_end,
    symbol_end,
    type_end,
)
from sdybridge.modules.splice import splice, whole_line
from sdybridge.source import Span, utf8

if TYPE_CHECKING:
    from collections.abc import Iterator


class Alias(NamedTuple):
    """One definition `#name = value`: the text of its value, and its extent in the program."""

    value: str
    start: int
    end: int


_DEFINITION = re.compile(rf"#([\w$.\-]++){TRIVIA}=(?!=){TRIVIA}")
_TYPE_DEFINITION = re.compile(rf"!({SUFFIX_ID}){TRIVIA}=(?!=){TRIVIA}")
_NAME = re.compile(r"[#!][\w$.\-]++")
_WORD = re.compile(r"[\w$.\-]++")
_ESCAPED = {ord('"'): r"\22", ord("\\"): r"\\"}
_REFERENCE = re.compile(rf"{STRING}|//[^\n]*+|(#[\w$.\-]++)(?!<)")


def find_aliases(text: str) -> Mapping[str, Alias]:
    r"""The attribute aliases that `text` defines, by name.

    >>> find_aliases('#s = #sdy.sharding<@m, [{}]>\nmodule {}')["s"].value
    '#sdy.sharding<@m, [{}]>'
    """
    aliases = {}
    for hit in _definitions(_DEFINITION, text):
        end = attribute_end(text, hit.end())
        aliases[hit[1]] = Alias(text[hit.end() : end], hit.start(), end)
    return aliases


def find_type_aliases(text: str) -> Mapping[str, str]:
    r"""The types that the type aliases of `text` stand for, by name with the `!`.

    >>> find_type_aliases("!t = tensor<8xf32>\n!u = !t\n")["!u"]
    'tensor<8xf32>'
    """
    types: dict[str, str] = {}
    for hit in _definitions(_TYPE_DEFINITION, text):
        of_type = text[hit.end() : type_end(text, hit.end())]
        types["!" + hit[1]] = types.get(of_type, of_type)
    return types


def type_alias_spans(text: str) -> dict[str, Span]:
    r"""Where the types stand that the type aliases of `text` define, by name with the `!`.

    >>> type_alias_spans("!t = i32")
    {'!t': Span(start=5, end=8)}
    """
    if "!" not in text:
        return {}
    return {
        "!" + hit[1]: Span(hit.end(), type_end(text, hit.end()))
        for hit in _definitions(_TYPE_DEFINITION, text)
    }


def alias_starts(text: str) -> list[int]:
    r"""Where the definitions of attribute and type aliases start.

    >>> alias_starts("!t = i32\n#a = 1 : i64")
    [0, 9]
    """
    patterns = (_DEFINITION, _TYPE_DEFINITION)
    return sorted(hit.start() for pattern in patterns for hit in _definitions(pattern, text))


def _definitions(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The definitions of aliases outside strings and comments."""
    code = 0
    for hit in pattern.finditer(text):
        if hit.start() >= code:
            code = next_code(text, code, hit.start())
            if code == hit.start():
                yield hit


class Aliases(Mapping[str, str]):
    """The text of every attribute alias of a program; its lines are only read once an alias is looked up."""

    def __init__(self, text: str) -> None:
        self._text = text

    @functools.cached_property
    def _values(self) -> dict[str, str]:
        return {name: alias.value for name, alias in find_aliases(self._text).items()}

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def expanded(value: str, aliases: Mapping[str, str]) -> str:
    """The attribute that `value` is, or stands for as an alias; an alias that is not known stays.

    >>> expanded("#a", {"a": "#b", "b": "1"})
    '1'
    """
    seen = set()
    # What has parameters is no alias, and need not be looked up.
    while value.startswith("#") and "<" not in value and value[1:] in aliases and value not in seen:
        seen.add(value)
        value = aliases[value[1:]]
    return value


def attribute_end(text: str, at: int) -> int:
    """The offset past the attribute value that starts at `at`: an alias, `#dialect.name<...>`, a string, ...

    >>> attribute_end('#sdy.sharding<@m, [{"x"}]>, b = 1', 0)
    26
    """
    if text.startswith('"', at):
        return string_end(text, at)
    if text.startswith("@", at):
        return symbol_end(text, at)
    if text[at : at + 1] in {"[", "{", "(", "<"}:
        return matching_bracket(text, at)
    found = (_NAME if text.startswith(("#", "!"), at) else _WORD).match(text, at)
    if not found:
        raise parse_error(text, at, "expected an attribute")
    end = found.end()
    after = skip_trivia(text, end) if text.startswith("#sdy", at) else end
    return matching_bracket(text, after) if text.startswith("<", after) else end


def without_unused_aliases(text: str) -> str:
    """`text` without the definitions of Shardy attributes and symbols that nothing refers to any more."""
    used = _references(text)
    aliases = find_aliases(text)
    values = {name: alias.value for name, alias in aliases.items()}
    edits = []
    waiting = list(aliases)
    while waiting:
        name = waiting.pop()
        alias = aliases[name]
        if (
            expanded(alias.value, values).startswith(("#sdy", "@")) and used["#" + name] == 1
        ):  # its definition
            used["#" + name] = 0
            edits.append((*whole_line(text, alias.start, alias.end), ""))
            for reference, count in _references(alias.value).items():
                used[reference] -= count
                if reference[1:] in aliases:
                    waiting.append(reference[1:])
    return splice(text, edits)


def _references(text: str) -> Counter[str]:
    """How often each alias, with its `#`, stands outside strings and comments."""
    return Counter(filter(None, _REFERENCE.findall(text)))


def quote(value: str) -> str:
    r"""`value` as a string literal, escaped as MLIR prints it.

    >>> print(quote('a"b'))
    "a\22b"
    """
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    raw = utf8(value)
    return '"' + "".join(_ESCAPED.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:02X}") for b in raw) + '"'
