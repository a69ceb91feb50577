"""One instruction of HLO text that carries shardings; what is not asked for is not read."""

from __future__ import annotations

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
    from sdybridge.modules.hlo_text.program import Computation, HloText
    from sdybridge.modules.shapes import TensorShape

_UNKNOWN = -2
_OPERAND = re.compile(r"([A-Za-z_][\w.\-]*)\s*(?:,|\Z)")


class TextSite(HloSite):
    """One instruction of HLO text."""

    __slots__ = ("_attributes", "_entries", "_head", "_program", "_sharding_at", "start")

    def __init__(
        self,
        program: HloText,
        name: str,
        start: int,
        computation: Computation,
        sharding_at: int = _UNKNOWN,
    ) -> None:
        self._program = program
        self.name = name
        self.computation = computation.name
        self.is_entry = computation.is_entry
        self.start = start
        self._sharding_at = sharding_at  # where its value is; -1 for none
        self._head: Head | None = None
        self._entries: dict[str, Span] | None = None
        self._attributes: tuple[list[HloAttribute], int] | None = None

    def keep(self, head: Head, attributes: list[HloAttribute], end: int) -> None:
        """Note what was read already."""
        self._head = head
        self._attributes = attributes, end

    @property
    def head(self) -> Head:
        """What stands in front of its operands."""
        if self._head is None:
            self._head = read_head(self._program.source, self.start)
        return self._head

    @property
    def attributes(self) -> tuple[list[HloAttribute], int]:
        """Its attributes, and where they end."""
        if self._attributes is None:
            source = self._program.source
            self._attributes = read_attributes(source, group_end(source, self.head.operands))
        return self._attributes

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

    @property
    def offset(self) -> int:
        """Where the instruction starts in the text."""
        return skip_trivia(self._program.text, self.start)

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
        number = text[start + 1 : group_end(self._program.source, start) - 1].strip()
        return int(number) if number.isdecimal() and len(number) < 19 else None

    @property
    def tuple_index(self) -> int | None:
        """The `index` of a `get-tuple-element`."""
        value = self._text_of("index") if self.opcode == "get-tuple-element" else ""
        return int(value) if value.isdecimal() and len(value) < 19 else None

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

    def _text_of(self, name: str) -> str:
        found = self.attribute(name)
        return self._program.text[found.value.start : found.value.end] if found else ""

    @property
    def sharding_at(self) -> int:
        """Where the value of its sharding stands; -1 if it has none."""
        if self._sharding_at == _UNKNOWN:
            found = self.attribute("sharding")
            self._sharding_at = found.value.start if found else -1
        return self._sharding_at

    @property
    def has_sharding(self) -> bool:
        """Whether it has an HLO sharding."""
        return self.sharding_at >= 0

    @property
    def key(self) -> tuple[str, str] | None:
        """Its shape, and its shardings as written; None if the instruction is not as XLA prints it.

        Instructions with one key differ in their names, operands and metadata only.
        """
        text, start = self._program.text, self.start
        if self._attributes is not None:
            return None
        end = text.find("\n", start)
        at = text.find("frontend_attributes=", start, end) if self._sharding_at < 0 else self._sharding_at
        metadata = text.find(", metadata=", at, end)
        until = end if metadata < 0 else metadata
        parts = text.count("frontend_attributes=", start, end)
        if at < 0 or parts != text.count("frontend_attributes=", at, until):
            return None
        head = self.head
        return text[head.shape_start : head.shape_end], text[at:until]

    @property
    def has_carriers(self) -> bool:
        """Whether Shardy's attributes are among its frontend attributes."""
        if self._text_from_start.find(SHARDY) < 0:
            return False
        return any(key.startswith(SHARDY) for key in self.entries)

    @property
    def _text_from_start(self) -> str:
        """The instruction; where its attributes are not read yet, it is one line."""
        text = self._program.text
        end = self._attributes[1] if self._attributes else text.find("\n", self.start)
        return text[self.start : end if end >= 0 else len(text)]

    @property
    def is_carrier(self) -> bool:
        """Whether it has a sharding of either kind."""
        return self.sharding_at >= 0 or self.has_carriers

    @property
    def sharding(self) -> HloSharding | None:
        """Its HLO sharding."""
        if self.sharding_at < 0:
            return None
        return self._program.sharding(self.sharding_at)

    @property
    def entries(self) -> dict[str, Span]:
        """Where the value of each of its frontend attributes stands."""
        if self._entries is None:
            found = self.attribute("frontend_attributes")
            entries = read_entries(self._program.source, found.value.start)[0] if found else ()
            self._entries = {entry.key: entry.value for entry in entries}
        return self._entries

    @property
    def frontend_attributes(self) -> Mapping[str, str]:
        """Its frontend attributes."""
        return {key: self._program.decoded(value) for key, value in self.entries.items()}

    def carrier(self, key: str) -> Carrier | None:
        """The Shardy attribute under `key`."""
        value = self.entries.get(key)
        return self._program.carrier_at(key, value) if value else None

    def locate(self, error: SdyBridgeError) -> SdyBridgeError:
        """The error, placed at the sharding, or else at the instruction."""
        source = self._program.source
        if source.text.startswith("{", max(self.sharding_at, 0)):
            return error.located(source, Span(self.sharding_at, group_end(source, self.sharding_at)))
        return error.located(source, Span(self.offset, self.head.operands))
