"""One instruction of HLO text on a line of its own, as XLA prints it: one match tells all of its parts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError
from sdybridge.modules.hlo_program import SHARDY
from sdybridge.modules.hlo_text.instruction import LAST, Head, HloAttribute, read_attributes
from sdybridge.modules.hlo_text.site import TextSite, number
from sdybridge.modules.hlo_text.tokens import skip_trivia
from sdybridge.source import Span

if TYPE_CHECKING:
    from sdybridge.hlo import HloSharding
    from sdybridge.modules.hlo_text.computations import Computation
    from sdybridge.modules.hlo_text.program import HloText

_STRING = r'"(?:[^"\\\n]++|\\[^\n])*+"'
_INDEX = r"/\*index=\d++\*/"
_FLAT = r"""\{[^{}"'/\\\n]*+\}"""


def _group(opened: str, closed: str, depth: int, other: str) -> str:
    """What matches a group in brackets that nests others of its kind so deep."""
    inside = rf"""[^{opened}{closed}"'/\\\n]++|{other}"""
    group = rf"\{opened}(?:{inside})*+\{closed}"
    for _ in range(depth):
        group = rf"\{opened}(?:{inside}|{group})*+\{closed}"
    return group


_SHAPE = rf"""[a-z]\w*+\[[^\[\]{{}}"'/\\\n]*+\](?:{_FLAT})?+|{_group("(", ")", 2, _INDEX)}"""
_OPERANDS = _group("(", ")", 2, f"{_INDEX}|{_STRING}")
_BRACES = _group("{", "}", 4, _STRING)
_SHARDING = _group("{", "}", 2, rf"{_INDEX}|{_STRING}|'[^'\"{{}}/\\\n]*+'")
_PLAIN = r"""[^()\[\]{}"'/\\\n]*+"""
_VALUE = rf"""(?:[^\s,"'/\\(){{}}\[\]]++|{_STRING}|{_BRACES}|\[{_PLAIN}\]|\({_PLAIN}\))++"""
_NAME = r"[A-Za-z_][\w.\-]*+"

LINE = re.compile(
    rf"[ \t]*+(ROOT )?+%?+([\w.\-]++) = ({_SHAPE}) ([a-z][\w\-]*+)({_OPERANDS})"
    rf"(?:, (?!(?:{'|'.join(LAST)})=){_NAME}={_VALUE})*+"
    rf"((?:, sharding=({_SHARDING}))?+(?:, frontend_attributes=({_BRACES}))?+)"
    rf"(?:, (?:{'|'.join(LAST[2:])})={_VALUE})*+ *+(?=\n\s*+[\w%}}])"
)
"""One instruction, and that another or the end of the computation follows it on the next line."""
_ROOT, _NAMED, _SHAPED, _OPCODE, _CALLED, _CORE, _SHARDED, _ATTRIBUTES = range(1, 9)
KEY = _SHAPED, _OPCODE, _CORE
_TARGET = re.compile(r', custom_call_target="([^"\\]*+)"')
_TUPLE_INDEX = re.compile(r", index=(\d{1,18})(?=[,\s])")


class LineSite(TextSite):
    """One instruction on a line of its own."""

    __slots__ = ("_line",)

    def __init__(self, program: HloText, line: re.Match[str], computation: Computation) -> None:
        self._program = program
        self._line = line
        self.computation = computation.name
        self.is_entry = computation.is_entry

    @property
    def head(self) -> Head:
        """What stands in front of its operands."""
        line = self._line
        shape_start, shape_end = line.span(_SHAPED)
        return Head(self.name, self.is_root, shape_start, shape_end, self.opcode, line.start(_CALLED))

    @property
    def attributes(self) -> tuple[list[HloAttribute], int]:
        """Its attributes, and where they end."""
        return read_attributes(self._program.source, self._line.end(_CALLED))

    @property
    def core(self) -> tuple[int, int]:
        """Where its sharding and frontend attributes stand, or would stand."""
        return self._line.span(_CORE)

    @property
    def core_attributes(self) -> tuple[list[HloAttribute], int]:
        """Its sharding and frontend attributes, and where they end or would stand."""
        line, found = self._line, []
        comma, end = line.span(_CORE)
        for name, group in (("sharding", _SHARDED), ("frontend_attributes", _ATTRIBUTES)):
            if line.start(group) >= 0:
                found.append(HloAttribute(name, comma, comma + len(", "), Span(*line.span(group))))
                comma = line.end(group)
        return found, end

    def attribute(self, name: str) -> HloAttribute | None:
        """The attribute of that name."""
        if name not in {"sharding", "frontend_attributes"}:
            return super().attribute(name)
        return next((one for one in self.core_attributes[0] if one.name == name), None)

    @property
    def key(self) -> tuple[object, ...]:
        """See `HloSite.key`."""
        return self._line.group(*KEY)

    @property
    def name(self) -> str:  # type: ignore[override]  # read when it is asked for
        """Its name."""
        return self._line[_NAMED]

    @property
    def opcode(self) -> str:
        """What the instruction does."""
        return self._line[_OPCODE]

    @property
    def is_root(self) -> bool:
        """Whether `ROOT` marks it."""
        return self._line[_ROOT] is not None

    @property
    def shape(self) -> str:
        """The text of its shape."""
        return self._line[_SHAPED]

    @property
    def offset(self) -> int:
        """Where the instruction starts in the text."""
        return skip_trivia(self._program.text, self._line.start())

    @property
    def target(self) -> str:
        """The `custom_call_target`."""
        line = self._line
        if line[_OPCODE] != "custom-call":
            return ""
        found = _TARGET.match(self._program.text, line.end(_CALLED))
        return found[1] if found else super().target

    @property
    def parameter_number(self) -> int | None:
        """The operand of a `parameter`."""
        return number(self._line[_CALLED][1:-1]) if self._line[_OPCODE] == "parameter" else None

    @property
    def tuple_index(self) -> int | None:
        """The `index` of a `get-tuple-element`."""
        if self._line[_OPCODE] != "get-tuple-element":
            return None
        found = _TUPLE_INDEX.match(self._program.text, self._line.end(_CALLED))
        return int(found[1]) if found else super().tuple_index

    @property
    def is_carrier(self) -> bool:
        """Whether it has a sharding of either kind."""
        try:
            return self._line.start(_SHARDED) >= 0 or self.has_carriers
        except ParseError:
            return True  # who reads it shall see what is wrong

    @property
    def has_sharding(self) -> bool:
        """Whether it has an HLO sharding."""
        return self._line.start(_SHARDED) >= 0

    @property
    def sharding(self) -> HloSharding | None:
        """Its HLO sharding."""
        literal = self._line[_SHARDED]
        if literal is None:
            return None
        known = self._program.parsed.get(literal)
        return self._program.sharding(Span(*self._line.span(_SHARDED))) if known is None else known

    @property
    def has_carriers(self) -> bool:
        """Whether Shardy's attributes are among its frontend attributes."""
        literal = self._line[_ATTRIBUTES]
        if literal is None or SHARDY not in literal:
            return False
        return literal.startswith(SHARDY, 1) or super().has_carriers
