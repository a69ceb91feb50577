"""One place in an HLO proto that carries shardings; what is not asked for is not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import ProtoError
from sdybridge.modules.hlo_program import SHARDY, HloSite
from sdybridge.modules.hlo_proto.frontend_attributes import check_map, read_map
from sdybridge.modules.hlo_proto.shape import shape_text
from sdybridge.modules.hlo_proto.wire import BYTES, Field, read_fields, read_varint
from sdybridge.modules.shapes import parse_shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.errors import SdyBridgeError
    from sdybridge.hlo import HloSharding
    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.hlo_proto.program import Computation, HloProto
    from sdybridge.modules.shapes import TensorShape

SHARDING, FRONTEND_ATTRIBUTES = 40, 68
_OPERAND_IDS = 36


class InstructionSite(HloSite):
    """One instruction of an HLO proto.

    Attributes:
        field: The field that holds it.
        within: The computation that it is in.
    """

    __slots__ = ("_fields", "_index", "_message", "_program", "field", "within")

    def __init__(self, program: HloProto, within: Computation, index: int, field: Field) -> None:
        self._program = program
        self._index = index
        self._fields: dict[int, Field] | None = None
        self.within = within
        self.field = field
        try:
            self._message = program.parse_instruction(program.data[field.value : field.end])
        except program.decode_error:  # protobuf does not say what is wrong
            raise self._error() from None
        self.computation = within.name
        self.is_entry = within.is_entry

    def _error(self) -> ProtoError:
        """What is wrong with the bytes."""
        try:
            read_fields(self._program.data, self.field.value, self.field.end, self.path)
        except ProtoError as error:
            return error
        return ProtoError(f"{self.path}: the bytes are no instruction", notes=[f"at byte {self.field.start}"])

    @property
    def fields(self) -> dict[int, Field]:
        """Its own fields with their places, by number; of repeated ones the last."""
        if self._fields is None:
            fields = read_fields(self._program.data, self.field.value, self.field.end, self.path)
            self._fields = {one.number: one for one in fields}
            if len(self._fields) < len(fields):
                self._check_single(fields)
        return self._fields

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

    @property
    def name(self) -> str:  # type: ignore[override]  # read when it is asked for
        """Its name."""
        return _text(self._message.name)

    @property
    def id(self) -> int:
        """What its users call it."""
        return int(self._message.id)

    @property
    def opcode(self) -> str:
        """What the instruction does."""
        return _text(self._message.opcode)

    @property
    def is_root(self) -> bool:
        """Whether its value is that of the computation."""
        return self.id == self.within.root_id

    @property
    def shape(self) -> str:
        """Its shape as text, without layouts."""
        data: bytes = self._message.shape
        known = self._program.shapes.get(data)
        if known is None:
            known = shape_text(data, 0, len(data), f"{self.path}.shape") if data else ""
            self._program.shapes[data] = known
        return known

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
        return int(self._message.parameter_number) if self.opcode == "parameter" else None

    @property
    def tuple_index(self) -> int | None:
        """Which element of a tuple a `get-tuple-element` takes."""
        return int(self._message.tuple_index) if self.opcode == "get-tuple-element" else None

    @property
    def target(self) -> str:
        """What a `custom-call` calls."""
        return _text(self._message.custom_call_target)

    @property
    def value(self) -> int:
        """Its id."""
        return self.id

    @property
    def operands(self) -> Sequence[int]:
        """The ids of its operands."""
        field = self.fields.get(_OPERAND_IDS)
        if field is None or field.wire_type != BYTES:
            return ()
        ids, at = [], field.value
        while at < field.end:
            number, at = read_varint(self._program.data, at, field.end, self.path)
            ids.append(number)
        return ids

    @property
    def has_sharding(self) -> bool:
        """Whether it has an HLO sharding."""
        return bool(self._message.HasField("sharding"))

    @property
    def sharding(self) -> HloSharding | None:
        """Its HLO sharding."""
        if not self._message.HasField("sharding"):
            return None
        payload: bytes = self._message.sharding
        known = self._program.parsed.get(payload)
        return (
            self._program.parse_sharding(payload, f"{self.path}.sharding", self.field.start)
            if known is None
            else known
        )

    @property
    def key(self) -> tuple[object, ...]:
        """See `HloSite.key`."""
        one = self._message
        return one.shape, one.opcode, one.HasField("sharding"), one.sharding, one.frontend_attributes

    @property
    def is_carrier(self) -> bool:
        """Whether it has a sharding of either kind."""
        if self._message.HasField("sharding"):
            return True
        return any(key.startswith(SHARDY) for key in self.frontend_attributes)

    @property
    def frontend_attributes(self) -> Mapping[str, str]:
        """Its frontend attributes."""
        try:
            return read_map(self._message.frontend_attributes)
        except ProtoError:
            field = self.fields[FRONTEND_ATTRIBUTES]
            check_map(self._program.data, field, f"{self.path}.frontend_attributes")
            raise

    def has_sharding_of(self, payload: bytes) -> bool:
        """Whether these are the bytes of its sharding."""
        return self.has_sharding and bool(self._message.sharding == payload)

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


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


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
    tensors = parameter_number = tuple_index = value = None
    operands = ()
    has_sharding = True

    @property
    def sharding(self) -> HloSharding | None:
        """The sharding."""
        payload = self._program.data[self.field.value : self.field.end]
        return self._program.parse_sharding(payload, self._path, self.field.start)

    @property
    def key(self) -> tuple[object, ...]:
        """See `HloSite.key`."""
        return (self._program.data[self.field.value : self.field.end],)

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
