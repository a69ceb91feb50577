"""Names for the functions that an export adds to a program."""

from __future__ import annotations

import re

from sdybridge.modules.mlir.lexer import STRING, SYMBOL, holds, symbol_name, unescape

_DEFINED = re.compile(
    rf"(?:func\.func|sdy\.mesh|module)\s++(?:(?:public|private|nested)\s++)?({SYMBOL})"
    rf"|sym_name\s*+=\s*+({STRING})"
)
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*+")


class NewSymbols:
    """Makes symbols that a text does not have.

    Attributes:
        made: All of them so far, with their `@`.

    >>> symbols = NewSymbols("func.func @f_0() { return }")
    >>> [symbols.make("f") for _ in range(3)]
    ['@f', '@f_1', '@f_2']
    """

    def __init__(self, text: str) -> None:
        self.made: list[str] = []
        self._text = text
        self._numbers: dict[str, int] = {}
        self._defined: dict[str, frozenset[str]] = {}

    def make(self, stem: str) -> str:
        """The stem as a symbol, with its `@`; where that is taken, with the first number that is free."""
        while True:
            number = self._numbers.get(stem, -1)
            self._numbers[stem] = number + 1
            name = stem if number < 0 else f"{stem}_{number}"
            if name not in self._taken(stem):
                self.made.append(f"@{name}" if _BARE.fullmatch(name) else f'@"{name}"')
                return self.made[-1]

    def _taken(self, stem: str) -> frozenset[str]:
        """The symbols that start like this and are defined already."""
        if stem not in self._defined:
            text = self._text
            found = _DEFINED.finditer(text) if holds(text, stem) else ()
            names = (symbol_name(hit[1]) if hit[1] else unescape(hit[2]) for hit in found)
            self._defined[stem] = frozenset(name for name in names if name.startswith(stem))
        return self._defined[stem]
