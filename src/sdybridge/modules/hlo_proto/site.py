"""One place in an HLO proto that carries shardings; what is not asked for is not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import ProtoError
from sdybridge.modules.hlo_program import SHARDY, HloSite
from sdybridge.modules.hlo_proto.frontend_attributes import read_map
from sdybridge.modules.hlo_proto.shape import shape_text
from sdybridge.modules.hlo_proto.wire import BYTES, VARINT, Field, read_fields, read_varint
from sdybridge.modules.shapes import parse_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdybridge.errors import SdyBridgeError
    from sdybridge.hlo import HloSharding
    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.hlo_proto.program import Computation, HloProto
    from sdybridge.modules.shapes import TensorShape

NAME, OPCODE, SHAPE, PARAMETER_NUMBER, TUPLE_INDEX = 1, 2, 3, 9, 13
TARGET, ID, SHARDING, FRONTEND_ATTRIBUTES = 28, 35, 40, 68


class InstructionSite(HloSite):
    """One instruction of an HLO proto.

    Attributes:
        field: The field that holds it.
        fields: Its own fields, by number; of repeated ones the last.
        within: The computation that it is in.
    """

    __slots__ = ("_index", "_program", "field", "fields", "within")

    def __init__(self, program: HloProto, within: Computation, index: int, field: Field) -> None:
        self._program = program
        self._index = index
        self.within = within
        self.field = field
        fields = read_fields(program.data, field.value, field.end, self.path)
        self.fields = {one.number: one for one in fields}
        if len(self.fields) < len(fields):
            self._check_single(fields)
        self.computation = within.name
        self.is_entry = within.is_entry

    def _check_single(self, fields: list[Field]) -> None:
        """Protobuf merges messages that stand several times in one field; nobody writes them so."""
        for number, name in ((SHARDING, "sharding"), (FRONTEND_ATTRIBUTES, "frontend_attributes")):
            found = [one for one in fields if one.number == number]
            if len(found) > 1:
                raise ProtoError(f"{self.path}: a second {name}", notes=[f"at byte {found[1].start}"])

    @property
    def path(self) -> str:
        """The way to it, for errors."""
        return f"{self.within.path}.instructions[{self._index}]"

    def _text(self, number: int) -> str:
        field = self.fields.get(number)
        if not field or field.wire_type != BYTES:
            return ""
        return self._program.data[field.value : field.end].decode("utf-8", "surrogateescape")

    def _number(self, number: int) -> int:
        field = self.fields.get(number)
        if not field or field.wire_type != VARINT:
            return 0
        return read_varint(self._program.data, field.value, field.end, self.path)[0]

    @property
    def name(self) -> str:  # type: ignore[override]  # read when it is asked for
        """Its name."""
        return self._text(NAME)

    @property
    def id(self) -> int:
        """What its users call it."""
        return self._number(ID)

    @property
    def opcode(self) -> str:
        """What the instruction does."""
        return self._text(OPCODE)

    @property
    def is_root(self) -> bool:
        """Whether its value is that of the computation."""
        return self.id == self.within.root_id

    @property
    def shape(self) -> str:
        """Its shape as text, without layouts."""
        field = self.fields.get(SHAPE)
        if not field or field.wire_type != BYTES:
            return ""
        return shape_text(self._program.data, field.value, field.end, f"{self.path}.shape")

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
        """Which parameter of the computation it is."""
        return self._number(PARAMETER_NUMBER) if self.opcode == "parameter" else None

    @property
    def tuple_index(self) -> int | None:
        """Which element of a tuple a `get-tuple-element` takes."""
        return self._number(TUPLE_INDEX) if self.opcode == "get-tuple-element" else None

    @property
    def target(self) -> str:
        """What a `custom-call` calls."""
        return self._text(TARGET)

    @property
    def has_sharding(self) -> bool:
        """Whether it has an HLO sharding."""
        return SHARDING in self.fields

    @property
    def sharding(self) -> HloSharding | None:
        """Its HLO sharding."""
        field = self.fields.get(SHARDING)
        return self._program.sharding(field, f"{self.path}.sharding") if field else None

    @property
    def is_carrier(self) -> bool:
        """Whether it has a sharding of either kind."""
        return self.has_sharding or any(key.startswith(SHARDY) for key in self.frontend_attributes)

    @property
    def frontend_attributes(self) -> Mapping[str, str]:
        """Its frontend attributes."""
        field = self.fields.get(FRONTEND_ATTRIBUTES)
        return read_map(self._program.data, field, f"{self.path}.frontend_attributes")

    @property
    def offset(self) -> int:
        """Where it starts in the bytes."""
        return self.field.start

    def carrier(self, key: str) -> Carrier | None:
        """The Shardy attribute under `key`."""
        return self._program.carrier_in(self.frontend_attributes, key, self.path)

    def locate(self, error: SdyBridgeError) -> SdyBridgeError:
        """The error, with the way to the sharding."""
        place = self.fields.get(SHARDING) or self.field
        what = f"{self.name} in {self.computation}"
        return self._program.placed(error, f"{self.path}.sharding", place.start, what)


class FieldSite(HloSite):
    """One sharding among the fields of the module: of the partitioned program's parameters or result."""

    __slots__ = ("_program", "field")

    def __init__(self, program: HloProto, name: str, field: Field) -> None:
        self._program = program
        self.field = field
        self.name = name
        self.computation = ""
        self.is_entry = False

    opcode = shape = target = ""
    is_root = is_tuple = False
    tensors = parameter_number = tuple_index = None
    has_sharding = True

    @property
    def sharding(self) -> HloSharding | None:
        """The sharding."""
        return self._program.sharding(self.field, self._path)

    @property
    def frontend_attributes(self) -> Mapping[str, str]:
        """None at all."""
        return {}

    @property
    def offset(self) -> int:
        """Where it starts in the bytes."""
        return self.field.start

    @property
    def _path(self) -> str:
        return f"{self._program.path}.{self.name}"

    def carrier(self, key: str) -> Carrier | None:  # noqa: ARG002
        """None at all."""
        return None

    def locate(self, error: SdyBridgeError) -> SdyBridgeError:
        """The error, with the way to the sharding."""
        return self._program.placed(error, self._path, self.field.start, "")
