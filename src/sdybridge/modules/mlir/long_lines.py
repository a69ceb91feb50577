"""Lines with very many arguments: a large program's signature has thousands that differ in little."""

from __future__ import annotations

import enum
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from sdybridge.modules.mlir.sites import SHARDING_BODY

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

_LONG_LINE = 4096  # characters from which on a line is first tried as a whole


class Notation(enum.Enum):
    """How the arguments of a line are laid out.

    Attributes:
        SDY: With `sdy.sharding`.
        HLO: With `mhlo.sharding`.
    """

    SDY = "sdy."
    HLO = "mhlo.sharding"


_VALUES = {Notation.SDY: r"#sdy\.sharding<[^>]*+>", Notation.HLO: r'"[^"]*+"'}
_KEYS = {Notation.SDY: r"sdy\.sharding", Notation.HLO: r"mhlo\.sharding"}

_PATTERNS = {
    notation: re.compile(
        r"(tensor<[^>]*+> \{)"
        rf'((?:(?!{key} )[\w.]++ = (?:"[^"]*+"|[\w.: \-]++), )*+)'
        rf"{key} = ({_VALUES[notation]})"
    )
    for notation, key in _KEYS.items()
}
"""A tensor type with the brace of its dictionary, what else is in that, and a sharding; in code without
escapes, roughly: what is found is checked once for each distinct one."""

_PLAIN = {
    Notation.SDY: re.compile(rf'tensor<[^<>\n"]*+> \{{#sdy\.sharding{SHARDING_BODY}'),
    Notation.HLO: re.compile(r'tensor<[^<>\n"]*+> \{"[^"]*+"'),
}


class LongLine(NamedTuple):
    """The rest of a line, split at the shardings of its arguments.

    Attributes:
        start: Where it starts.
        end: Where it ends.
        parts: Its text: what no sharding follows, a type with the brace behind it, what else stands in the
            dictionary, a sharding, what no sharding follows, and so on.
        counts: How often each sharding stands on each type.
    """

    start: int
    end: int
    parts: list[str]
    counts: Counter[tuple[str, str]]

    def filled(self, new: Mapping[tuple[str, str], T]) -> list[str | T]:
        """The parts, with something else in the place of the entry with each sharding."""
        parts: list[str | T] = [*self.parts]
        parts[3::4] = map(new.__getitem__, zip(self.parts[1::4], self.parts[3::4], strict=True))
        return parts


class LongLines:
    """Splits lines with many arguments at their shardings; each line is tried once.

    What is done per argument then happens inside C loops over lists.
    """

    __slots__ = ("_notation", "_text", "_tried")

    def __init__(self, text: str, notation: Notation) -> None:
        self._text = text
        self._notation = notation
        self._tried = -1  # where the last line ends that was tried

    def split(self, start: int, at: int, limit: int) -> LongLine | None:
        """The line of `at` from `start`, which is code, on; None if it needs a closer look.

        It does if it is short, ends behind `limit`, or is not written as the printer does.
        """
        text = self._text
        if start < self._tried:
            return None
        end = text.find("\n", at)
        self._tried = end
        if end - at < _LONG_LINE or end > limit:
            return None
        line = text[start:end]
        if "\\" in line or "/" in line:
            return None
        parts = _PATTERNS[self._notation].split(line)
        around, before = "".join(parts[::4]), "".join(parts[2::4])
        key = self._notation.value
        if '"' in around or key in around or key in before or "mhlo.sharding" in before:
            return None
        counts = Counter(zip(parts[1::4], parts[3::4], strict=True))
        if not all(map(_PLAIN[self._notation].fullmatch, map("".join, counts))):
            return None
        return LongLine(start, end, parts, counts)
