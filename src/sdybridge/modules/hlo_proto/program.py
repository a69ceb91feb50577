"""HLO protos: the places in them that carry shardings, found without parsing the rest.

The bytes may be an `HloModuleProto`, an `HloProto` or an `HloSnapshot` around one.
"""

from __future__ import annotations

import codecs
import functools
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.errors import ProtoError, SdyBridgeError
from sdybridge.hlo import HloSharding
from sdybridge.modules.carriers import Quoting, read_carrier
from sdybridge.modules.hlo_program import PARTITIONED, SHARDY, HloProgram
from sdybridge.modules.hlo_proto.edit import edited
from sdybridge.modules.hlo_proto.frontend_attributes import read_map
from sdybridge.modules.hlo_proto.message import instruction_parser
from sdybridge.modules.hlo_proto.site import FieldSite, InstructionSite
from sdybridge.modules.hlo_proto.wire import (
    BYTES,
    VARINT,
    Field,
    read_fields,
    read_holder,
    read_varint,
    truncated,
    varint,
)
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.hlo_program import Edit, HloSite

NAME, ENTRY_NAME, COMPUTATIONS, ENTRY_ID = 1, 2, 3, 6
OUTPUT_SHARDING, PARAMETERS_SHARDINGS = 12, 14
DEVICE_ASSIGNMENT, FRONTEND_ATTRIBUTES = 15, 19
_INSTRUCTIONS, _ID, _ROOT_ID = 2, 5, 6
_COMPUTATION_COUNT = 2  # of the device assignment
_SHARDING_TAG = b"\xc2\x02"
_ID_TAG = b"\x98\x02"
_CARRIER = SHARDY.encode()
_MODULE_STARTS = (b"\x0a", b"\x12", b"\x1a")  # the tags of its first fields, which start no name
_WRAPPERS = ("hlo_module", "hlo.hlo_module")


class Computation(NamedTuple):
    """One computation.

    Attributes:
        field: The field that holds it.
        name: Its name.
        is_entry: Whether the program starts there.
        root_id: The id of the instruction whose value it has.
        instructions: The instructions that may be wanted, and the index of each among all of them.
        path: The way to it, for errors.
    """

    field: Field
    name: str
    is_entry: bool
    root_id: int
    instructions: list[tuple[int, Field]]
    path: str


class HloProto(HloProgram):
    """An HLO program as a proto.

    Args:
        data: The bytes.
        file: What errors call them.
    """

    has_header = True

    def __init__(self, data: bytes, file: str = "<bytes>") -> None:
        self.data = data
        self.file = file
        self.parsed: dict[bytes, HloSharding] = {}  # each distinct sharding is parsed once
        self.shapes: dict[bytes, str] = {}  # each distinct shape is read once, too
        self._latest: Computation | None = None
        self.parse_instruction, self.decode_error = instruction_parser()
        self._written: dict[int, tuple[HloSharding, bytes]] = {}
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise ProtoError("the file is text in UTF-16", help="save it as UTF-8, without a byte order mark")
        if data[:1] not in (b"", *_MODULE_STARTS):
            raise ProtoError("this is a binary file, and no HLO proto", notes=["at byte 0"])
        self.wrappers, at, end = self._unwrapped()
        self.path = "hlo_module"
        self.fields = read_fields(data, at, end, self.path)
        self.start, self.end = at, end
        if data and not any(self._is_computation(field) for field in self.fields):
            raise ProtoError("this is a proto of another kind: it has no computations")

    def _is_computation(self, field: Field) -> bool:
        """Whether it is as one starts: with its name, or an instruction."""
        return field.number == COMPUTATIONS and self.data[field.value : field.value + 1] in (b"\x0a", b"\x12")

    def _unwrapped(self) -> tuple[list[Field], int, int]:
        """The fields around the module, outermost first, and where the module starts and ends."""
        data, at, end = self.data, 0, len(self.data)
        found: list[Field] = []
        while len(found) < len(_WRAPPERS) and data[at : at + 1] == b"\x0a":
            size, value = read_varint(data, at + 1, end, "the proto")
            if data[value : value + 1] not in _MODULE_STARTS:
                break
            if value + size > end:
                raise truncated(_WRAPPERS[len(found)], at, value + size - end)
            found.append(Field(1, BYTES, at, value, value + size))
            at, end = value, value + size
        return found, at, end

    def placed(self, error: SdyBridgeError, path: str, at: int, what: str) -> SdyBridgeError:
        """The error, with the way to the part of the program that it is about."""
        error.message = f"{path}: {error.message}"
        error.source, error.span = Source("", self.file), None
        error.notes = (*error.notes, f"at byte {at}, on {what}" if what else f"at byte {at}")
        return error

    def parse_sharding(self, payload: bytes, path: str, at: int) -> HloSharding:
        """The sharding that the bytes of the field `path` say, which is at byte `at`.

        Raises:
            ProtoError: They are no sharding.
        """
        known = self.parsed.get(payload)
        if known is None:
            try:
                known = self.parsed[payload] = HloSharding.from_proto(payload, target=Target.CURRENT)
            except SdyBridgeError as error:
                raise self.placed(error, path, at, "") from None
        return known

    def proto_bytes(self, sharding: HloSharding, target: Target) -> bytes:
        """The bytes of a new sharding."""
        known = self._written.get(id(sharding))  # equal ones may be written in several ways
        if known is None:
            known = sharding, sharding.to_proto_bytes(target=target)
            self._written[id(sharding)] = known
        return known[1]

    @functools.cached_property
    def name(self) -> str:
        """The name of the module."""
        return next((self._text(field) for field in self.fields if field.number == NAME), "")

    def _text(self, field: Field) -> str:
        return self.data[field.value : field.end].decode("utf-8", "surrogateescape")

    @functools.cached_property
    def num_partitions(self) -> int | None:
        """The number of partitions in the device assignment."""
        field = next((field for field in self.fields if field.number == DEVICE_ASSIGNMENT), None)
        if field is None or field.wire_type != BYTES:
            return None
        fields = read_fields(self.data, field.value, field.end, f"{self.path}.device_assignment")
        return self._number(fields, _COMPUTATION_COUNT) or None

    @functools.cached_property
    def is_partitioned(self) -> bool:
        """Whether the name of the entry computation is that of a partitioned one."""
        name = next((self._text(field) for field in self.fields if field.number == ENTRY_NAME), "")
        return name.endswith(PARTITIONED)

    @functools.cached_property
    def frontend_attributes(self) -> Mapping[str, str]:
        """The frontend attributes of the module."""
        field = next((field for field in self.fields if field.number == FRONTEND_ATTRIBUTES), None)
        data = self.data[field.value : field.end] if field else b""
        return read_map(data)

    def carrier(self, key: str) -> Carrier | None:
        """The Shardy attribute of the module under `key`."""
        return self.carrier_in(self.frontend_attributes, key, self.path)

    def carrier_in(self, attributes: Mapping[str, str], key: str, path: str) -> Carrier | None:
        """The Shardy attribute under `key` among the frontend attributes of what is at `path`."""
        value = attributes.get(key)
        if value is None:
            return None
        source = Source(value, f"{self.file}: {path}.frontend_attributes[{key!r}]")
        return read_carrier(key, source, Span(0, len(value)), Quoting.PLAIN)

    def locate(self, error: SdyBridgeError) -> SdyBridgeError:
        """The error, with the way to the module."""
        return self.placed(error, self.path, self.start, "")

    def computations(self, wanted: Sequence[bytes] = (_SHARDING_TAG, _CARRIER)) -> Iterator[Computation]:
        """Every computation, in the order of the bytes, and its instructions that hold one of these bytes."""
        entry_id = self._number(self.fields, ENTRY_ID)
        held = [field for field in self.fields if field.number == COMPUTATIONS and field.wire_type == BYTES]
        for index, field in enumerate(held):
            path = f"{self.path}.computations[{index}]"
            fields, found = read_holder(self.data, field.value, field.end, path, _INSTRUCTIONS, wanted)
            name = next((self._text(one) for one in fields if one.number == NAME), "")
            is_entry = self._number(fields, _ID) == entry_id
            self._latest = Computation(field, name, is_entry, self._number(fields, _ROOT_ID), found, path)
            yield self._latest

    def _number(self, fields: list[Field], number: int) -> int:
        for field in fields:
            if field.number == number and field.wire_type == VARINT:
                return read_varint(self.data, field.value, field.end, self.path)[0]
        return 0

    def sites(self) -> Iterator[InstructionSite | FieldSite]:
        """Every place that carries a sharding of either kind: the instructions, then fields of the module."""
        for computation in self.computations():
            for index, field in computation.instructions:
                site = InstructionSite(self, computation, index, field)
                if site.is_carrier:
                    yield site
        yield from self._field_sites()

    def _field_sites(self) -> Iterator[FieldSite]:
        count = 0
        for field in self.fields:
            if field.number == OUTPUT_SHARDING and field.wire_type == BYTES:
                yield FieldSite(self, "spmd_output_sharding", field)
            elif field.number == PARAMETERS_SHARDINGS and field.wire_type == BYTES:
                yield FieldSite(self, f"spmd_parameters_shardings[{count}]", field)
                count += 1

    def root(self, computation: str) -> HloSite | None:
        """The instruction that the computation calls its root."""
        within = self._named(computation)
        if within is None:
            return None
        found = self._instructions(within, _ID_TAG + varint(within.root_id))
        return next((site for site in found if site.is_root), None) or next(
            (site for site in self._instructions(within, b"") if site.is_root), None
        )

    def instructions(self, computation: str) -> Iterator[InstructionSite]:
        """Every instruction of the computation of that name, in the order of the bytes."""
        within = self._named(computation)
        return iter(()) if within is None else self._instructions(within, b"")

    def _named(self, computation: str) -> Computation | None:
        latest = self._latest
        if latest and latest.name == computation:
            return latest
        return next((one for one in self.computations() if one.name == computation), None)

    def _instructions(self, within: Computation, wanted: bytes) -> Iterator[InstructionSite]:
        """The instructions of a computation whose bytes hold some."""
        field = within.field
        _, found = read_holder(self.data, field.value, field.end, within.path, _INSTRUCTIONS, [wanted])
        return (InstructionSite(self, within, index, one) for index, one in found)

    def _entry(self, wanted: bytes) -> Iterator[InstructionSite]:
        """The instructions of the entry computation whose bytes hold some."""
        for computation in self.computations([]):
            if computation.is_entry:
                yield from self._instructions(computation, wanted)

    def inputs(self) -> list[HloSite]:
        """The parameters of the entry computation, by number."""
        found = [site for site in self._entry(b"parameter") if site.opcode == "parameter"]
        return sorted(found, key=lambda site: site.parameter_number or 0)

    def output(self) -> HloSite | None:
        """The root of the entry computation."""
        return next((site for site in self._entry(b"") if site.is_root), None)

    def edited(
        self,
        edit: Callable[[HloSite], Edit | None],
        attributes: Mapping[str, str | None] | None = None,
        *,
        target: Target = Target.CURRENT,
        more: Callable[[], Iterable[HloSite]] = tuple,
    ) -> bytes:
        """The bytes with edits; every other byte stays."""
        return edited(self, edit, {} if attributes is None else attributes, target, more)
