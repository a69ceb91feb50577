"""Attribute aliases of a program, and where an attribute value ends."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.modules.lexer import matching_bracket, parse_error, skip_trivia, string_end, symbol_end
from sdybridge.modules.splice import splice

if TYPE_CHECKING:
    from collections.abc import Iterator


class Alias(NamedTuple):
    """One definition `#name = value`: the text of its value, and its extent in the program."""

    value: str
    start: int
    end: int


_DEFINITION = re.compile(r"^[ \t]*+#([\w$.\-]++)[ \t]*+=[ \t]*+", re.MULTILINE)
_NAME = re.compile(r"[#!][\w$.\-]++")
_WORD = re.compile(r"[\w$.\-]++")
_ESCAPED = {ord('"'): r"\22", ord("\\"): r"\\"}
_REFERENCE = re.compile(r"#[\w$.\-]++(?![\w$.\-<])")


def find_aliases(text: str) -> Mapping[str, Alias]:
    r"""The attribute aliases that `text` defines, by name.

    >>> find_aliases('#s = #sdy.sharding<@m, [{}]>\nmodule {}')["s"].value
    '#sdy.sharding<@m, [{}]>'
    """
    aliases = {}
    for hit in _DEFINITION.finditer(text):
        end = attribute_end(text, hit.end())
        aliases[hit[1]] = Alias(text[hit.end() : end], hit.start(), end)
    return aliases


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
    used = Counter(_REFERENCE.findall(text))
    aliases = find_aliases(text)
    edits = []
    waiting = list(aliases)
    while waiting:
        name = waiting.pop()
        alias = aliases[name]
        if alias.value.startswith(("#sdy", "@")) and used["#" + name] == 1:  # its definition
            used["#" + name] = 0
            edits.append((alias.start, text.find("\n", alias.end) + 1 or len(text), ""))
            for reference in _REFERENCE.findall(alias.value):
                used[reference] -= 1
                if reference[1:] in aliases:
                    waiting.append(reference[1:])
    return splice(text, edits)


def quote(value: str) -> str:
    r"""`value` as a string literal, escaped as MLIR prints it.

    >>> print(quote('a"b'))
    "a\22b"
    """
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    raw = value.encode("utf-8", "surrogateescape")
    return '"' + "".join(_ESCAPED.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:02X}") for b in raw) + '"'
