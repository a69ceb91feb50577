"""One instruction of HLO text that may carry shardings."""

from __future__ import annotations

import abc
import re
from typing import TYPE_CHECKING

from sdybridge.modules.hlo_program import SHARDY, HloSite
from sdybridge.modules.hlo_text.instruction import (
    Head,
    HloAttribute,
    decode,
    read_attributes,
    read_entries,
    read_head,
)
from sdybridge.modules.hlo_text.tokens import error, group_end, skip_trivia
from sdybridge.modules.shapes import parse_shape
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.errors import SdyBridgeError
    from sdybridge.hlo import HloSharding
    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.hlo_text.computations import Computation
    from sdybridge.modules.hlo_text.program import HloText
    from sdybridge.modules.shapes import TensorShape

_OPERAND = re.compile(r"([A-Za-z_][\w.\-]*)\s*(?:,|\Z)")


class TextSite(HloSite):
    """One instruction of HLO text, wherever it stands."""

    __slots__ = ("_program",)

    _program: HloText

    @property
    @abc.abstractmethod
    def head(self) -> Head:
        """What stands in front of its operands."""

    @property
    @abc.abstractmethod
    def attributes(self) -> tuple[list[HloAttribute], int]:
        """Its attributes, and where they end."""

    def attribute(self, name: str) -> HloAttribute | None:
        """The attribute of that name.

        Raises:
            ParseError: There are two.
        """
        found = [one for one in self.attributes[0] if one.name == name]
        if len(found) > 1:
            start = found[1].start
            raise error(
                self._program.source,
                start,
                f"a second attribute {name}",
                end=start + len(name),
                notes=[f"it is on {self.name}"],
                help="keep one of them",
            )
        return found[0] if found else None

    def _text_of(self, name: str) -> str:
        found = self.attribute(name)
        return self._program.text[found.value.start : found.value.end] if found else ""

    @property
    def core(self) -> tuple[int, int] | None:
        """Where its sharding and frontend attributes stand or would stand, if that is in one place."""
        return None

    @property
    def core_attributes(self) -> tuple[list[HloAttribute], int]:
        """What an edit has to know of its attributes: these two, where it goes behind them, and more."""
        return self.attributes

    @property
    def name(self) -> str:  # type: ignore[override]  # read when it is asked for
        """Its name."""
        return self.head.name

    @property
    def opcode(self) -> str:
        """What the instruction does."""
        return self.head.opcode

    @property
    def is_root(self) -> bool:
        """Whether `ROOT` marks it."""
        return self.head.is_root

    @property
    def shape(self) -> str:
        """The text of its shape."""
        head = self.head
        return self._program.text[head.shape_start : head.shape_end].strip()

    @property
    def tensors(self) -> tuple[TensorShape, ...] | None:
        """The tensors in its value."""
        text = self.shape
        return parse_shape(text) if text else None

    @property
    def is_tuple(self) -> bool:
        """Whether its value is a tuple."""
        return self.shape.startswith("(")

    @property
    def parameter_number(self) -> int | None:
        """The operand of a `parameter`."""
        if self.opcode != "parameter":
            return None
        text, start = self._program.text, self.head.operands
        return number(text[start + 1 : group_end(self._program.source, start) - 1])

    @property
    def tuple_index(self) -> int | None:
        """The `index` of a `get-tuple-element`."""
        return number(self._text_of("index")) if self.opcode == "get-tuple-element" else None

    @property
    def target(self) -> str:
        """The `custom_call_target`."""
        found = self.attribute("custom_call_target")
        return decode(self._program.source, found.value) if found else ""

    @property
    def value(self) -> str:
        """Its name."""
        return self.name

    @property
    def operands(self) -> Sequence[str]:
        """The names of its operands."""
        text, start = self._program.text, self.head.operands
        return _OPERAND.findall(text[start + 1 : group_end(self._program.source, start) - 1])

    @property
    def key(self) -> tuple[object, ...]:
        """See `HloSite.key`."""
        return self.shape, self.opcode, self._text_of("sharding"), self._text_of("frontend_attributes")

    @property
    def has_sharding(self) -> bool:
        """Whether it has an HLO sharding."""
        return self.attribute("sharding") is not None

    @property
    def sharding(self) -> HloSharding | None:
        """Its HLO sharding."""
        found = self.attribute("sharding")
        return self._program.sharding(found.value) if found else None

    @property
    def has_carriers(self) -> bool:
        """Whether Shardy's attributes are among its frontend attributes."""
        return any(key.startswith(SHARDY) for key in self._entries)

    @property
    def is_carrier(self) -> bool:
        """Whether it has a sharding of either kind."""
        return self.has_sharding or self.has_carriers

    @property
    def _entries(self) -> dict[str, Span]:
        """Where the value of each of its frontend attributes stands."""
        found = self.attribute("frontend_attributes")
        entries = read_entries(self._program.source, found.value.start)[0] if found else ()
        return {entry.key: entry.value for entry in entries}

    @property
    def frontend_attributes(self) -> Mapping[str, str]:
        """Its frontend attributes."""
        return {key: self._program.decoded(value) for key, value in self._entries.items()}

    def carrier(self, key: str) -> Carrier | None:
        """The Shardy attribute under `key`."""
        value = self._entries.get(key)
        return self._program.carrier_at(key, value) if value else None

    def locate(self, error: SdyBridgeError) -> SdyBridgeError:
        """The error, placed at the sharding, or else at the instruction."""
        source, found = self._program.source, self.attribute("sharding")
        if found and source.text.startswith("{", found.value.start):
            return error.located(source, found.value)
        return error.located(source, Span(self.offset, self.head.operands))


class ReadSite(TextSite):
    """One instruction that is read token by token, when one of its parts is asked for."""

    __slots__ = ("_attributes", "_head", "_start")

    def __init__(self, program: HloText, start: int, computation: Computation) -> None:
        self._program = program
        self.computation = computation.name
        self.is_entry = computation.is_entry
        self._start = start
        self._head: Head | None = None
        self._attributes: tuple[list[HloAttribute], int] | None = None

    @property
    def offset(self) -> int:
        """Where the instruction starts in the text."""
        return skip_trivia(self._program.text, self._start)

    @property
    def head(self) -> Head:
        """What stands in front of its operands."""
        if self._head is None:
            self._head = read_head(self._program.source, self._start)
        return self._head

    @property
    def attributes(self) -> tuple[list[HloAttribute], int]:
        """Its attributes, and where they end."""
        if self._attributes is None:
            source = self._program.source
            self._attributes = read_attributes(source, group_end(source, self.head.operands))
        return self._attributes


class BrokenSite(ReadSite):
    """One instruction that is malformed: what is asked of it raises why."""

    __slots__ = ()

    is_carrier = True

    @property
    def key(self) -> tuple[object, ...]:
        """Its place: it is like no other."""
        return (self._start,)


def number(text: str) -> int | None:
    """The small number that a text is, if it is one."""
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) < 19 else None
