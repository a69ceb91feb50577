"""From an address to the attribute whose storage is there."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, NamedTuple, cast

from sdybridge.errors import StorageError, VerificationError
from sdybridge.sdy import (
    AllToAllParamAttr,
    AllToAllParamListAttr,
    Attribute,
    AxisRefAttr,
    AxisRefListAttr,
    DimensionShardingAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    MeshAxisAttr,
    ReductionOp,
    SubAxisInfoAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from sdybridge.storage.layouts import CURRENT, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sdybridge.errors import Path
    from sdybridge.storage.layouts import Build, Field, Layout
    from sdybridge.storage.memory import Memory

CLASSES: dict[str, type[Attribute]] = {
    f"sdy.{cls.mnemonic}": cls
    for cls in (
        MeshAxisAttr,
        MeshAttr,
        SubAxisInfoAttr,
        AxisRefAttr,
        DimensionShardingAttr,
        TensorShardingAttr,
        TensorShardingPerValueAttr,
        ManualAxesAttr,
        AxisRefListAttr,
        ListOfAxisRefListsAttr,
        AllToAllParamAttr,
        AllToAllParamListAttr,
    )
}
"""Shardy's attributes by the names in their records."""

REDUCTION_OPS = (ReductionOp.SUM, ReductionOp.MAX, ReductionOp.MIN)
"""The operators by their numbers."""

MOST_ELEMENTS = 1 << 20
"""The longest list of attributes."""

MOST_BYTES = 1 << 26
"""How large an attribute is, what is pointed to twice counted twice: 8 Mi device ids."""

MOST_CHARACTERS = 1 << 20
"""The longest name, in bytes."""

MOST_LEVELS = 32
"""How deep attributes nest: no Shardy attribute needs more than 6 levels."""

_MOST_TYPE_NAME = 256
_TYPE_NAME = re.compile(rb"\w+(?:\.\w+)+")


class Symbol(str):
    """The name of a symbol reference, without the `@`, which is another attribute than a string.

    >>> from sdybridge.sdy import TensorShardingAttr
    >>> Symbol("mesh") == "mesh"
    True
    """

    __slots__ = ()


def read_attribute(memory: Memory, address: int, *, build: Build = CURRENT) -> Attribute:
    """The Shardy attribute whose storage is at an address.

    What it is follows from its abstract-attribute record. All that it points to is followed, with every
    pointer, length, flag and kind checked.

    Args:
        memory: Where to read.
        address: Of the storage: the one pointer that an `mlir::Attribute` is.
        build: Whose layouts to read by.

    Raises:
        StorageError: No Shardy attribute is there, or a part of it is not one, or it is larger than 64 MiB.

    >>> from sdybridge.storage import write_attribute
    >>> image = write_attribute(AxisRefAttr.sub("x", 1, 2), base=0x7F00)
    >>> print(read_attribute(image, 0x7F00))
    #sdy<axis_ref"x":(1)2>
    >>> read_attribute(image, 0x7F08)
    Traceback (most recent call last):
    sdybridge.errors.StorageError: no attribute is at 0x7f08: the word there, 0x7f20, is no record of a class
    note: a name of 0 bytes

    Source: mlir/IR/AttributeSupport.h, `AbstractAttribute`; section A of the reference.
    """
    return cast("Attribute", _Reader(memory, build).attribute(address, tuple(CLASSES), _nowhere(address)))


def read_value(memory: Memory, address: int, *, build: Build = CURRENT) -> Attribute | str:
    """The Shardy attribute, string or flat symbol reference (a `Symbol`) whose storage is at an address.

    Raises:
        StorageError: Nothing of these is there.

    Example:
        >>> from sdybridge.sdy import AxisRefAttr
        >>> from sdybridge.storage import write_attribute
        >>> image = write_attribute(AxisRefAttr("x"), base=0x1000)
        >>> read_value(image, image.base)
        AxisRefAttr('x')
    """
    every = tuple(build.layouts)
    return cast("Attribute | str", _Reader(memory, build).attribute(address, every, _nowhere(address)))


class _Place(NamedTuple):
    """What is being read: a field of a struct at an address, and the way there."""

    layout: Layout | None
    field: Field | None
    address: int
    path: Path

    @property
    def targets(self) -> tuple[str, ...]:
        """What the attributes that the field points to may be."""
        return self.field.targets if self.field else ()

    @property
    def width(self) -> int:
        """The number of bytes of the field."""
        return self.field.width if self.field else 0

    def at(self, index: int) -> _Place:
        """An element of the field."""
        return self._replace(path=(*self.path, index))

    def error(self, message: str, *, notes: Sequence[str] = (), help: str | None = None) -> StorageError:  # noqa: A002
        """An error here."""
        name = self.field.name if self.field else ""
        struct_name = self.layout.cls if self.layout else ""
        if struct_name:
            message = f"{struct_name}{name and '.'}{name} at {self.address:#x}: {message}"
        way = [f"reached as {shown_path(self.path)}"] if len(self.path) > 1 else []
        return StorageError(
            message,
            struct=struct_name,
            field=name,
            address=self.address,
            path=self.path,
            notes=[*way, *notes],
            help=help,
        )


def _nowhere(address: int) -> _Place:
    """The place of the attribute that is asked for."""
    return _Place(None, None, address, ())


def shown_path(path: Path) -> str:
    """A way into a value as Python writes it.

    >>> shown_path(("dim_shardings", 1, "axes"))
    'dim_shardings[1].axes'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


class _Reader:
    """Reads one attribute; what it has read is read once, however often it is pointed to."""

    __slots__ = ("_build", "_done", "_memory", "_open", "_size", "_types")

    def __init__(self, memory: Memory, build: Build) -> None:
        self._memory = memory
        self._build = build
        self._size = 0
        self._done: dict[int, tuple[object, int]] = {}
        self._open: set[int] = set()
        self._types: dict[int, str] = {}

    def attribute(self, address: int, targets: tuple[str, ...], place: _Place) -> object:
        """What is at an address, which must be one of the targets."""
        name = self._type_name(address, place)
        layout = self._build.layouts.get(name)
        if layout is None or name not in targets:
            wanted = (
                " or ".join(f"`{one}`" for one in targets) if len(targets) < 3 else "an attribute of Shardy"
            )
            raise place.error(f"at {address:#x} is `{name}`, not {wanted}")
        if address in self._done:
            value, size = self._done[address]
            self._count(size, place)
            return value
        if address in self._open:
            raise place.error(f"{address:#x} leads back to itself")
        if len(self._open) == MOST_LEVELS:
            raise place.error(f"{address:#x} is more than {MOST_LEVELS} levels deep")
        self._open.add(address)
        before = self._size
        here = _Place(layout, None, address, place.path)
        raw = self.read(address, size_of(layout), here)
        values = {
            field.name: _READERS[field.kind](
                self, raw[field.offset :], _Place(layout, field, address, (*place.path, field.name))
            )
            for field in layout.fields
            if field.kind in _READERS
        }
        value = _build_value(name, values, here)
        self._open.remove(address)
        self._done[address] = value, self._size - before
        return value

    def read(self, address: int, size: int, place: _Place) -> bytes:
        """Bytes that belong to a place."""
        self._count(size, place)
        try:
            return self._memory.read(address, size)
        except StorageError as error:
            raise place.error(error.message, help=error.help) from None

    def _count(self, size: int, place: _Place) -> None:
        """Keeps the attribute, and so its text, within the limit, also where little memory spells much."""
        self._size += size
        if self._size > MOST_BYTES:
            raise place.error(f"the attribute is larger than {MOST_BYTES} bytes")

    def _type_name(self, address: int, place: _Place) -> str:
        """What the record calls the attribute at an address."""
        if address == 0:
            raise place.error("the pointer is null")
        if address % 8:
            raise place.error(f"no attribute is at {address:#x}: it is no multiple of 8")
        [record] = struct.unpack("<Q", self.read(address, 8, place))
        if record not in self._types:
            try:
                self._types[record] = self._name_in(record)
            except StorageError as error:
                message = (
                    f"no attribute is at {address:#x}: the word there, {record:#x}, is no record of a class"
                )
                raise place.error(message, notes=[error.message], help=error.help) from None
        return self._types[record]

    def _name_in(self, record: int) -> str:
        """The name in a record."""
        offset = next(field.offset for field in self._build.record.fields if field.name == "name")
        start, length = struct.unpack("<QQ", self._memory.read(record + offset, 16))
        if not 0 < length <= _MOST_TYPE_NAME:
            raise StorageError(f"a name of {length} bytes")
        name = self._memory.read(start, length)
        if not _TYPE_NAME.fullmatch(name):
            raise StorageError(f"a name of {name!r}")
        return name.decode()

    def array(self, raw: bytes, width: int, most: int, place: _Place) -> bytes:
        """The bytes that a pointer and a length describe."""
        start, length = struct.unpack_from("<QQ", raw)
        if length == 0:
            return b""
        if length > most:
            raise place.error(f"the length is {length}, and no more than {most} are read")
        if start == 0:
            raise place.error(f"the pointer is null, but the length is {length}")
        if start % width:
            raise place.error(f"the pointer {start:#x} is no multiple of {width}")
        return self.read(start, length * width, place)


def _attribute(reader: _Reader, raw: bytes, place: _Place) -> object:
    [address] = struct.unpack_from("<Q", raw)
    return reader.attribute(address, place.targets, place)


def _optional_attribute(reader: _Reader, raw: bytes, place: _Place) -> object:
    return _attribute(reader, raw, place) if any(raw[:8]) else None


def _attributes(reader: _Reader, raw: bytes, place: _Place) -> tuple[object, ...]:
    found = reader.array(raw, 8, MOST_ELEMENTS, place)
    addresses = struct.unpack(f"<{len(found) // 8}Q", found)
    return tuple([reader.attribute(at, place.targets, place.at(i)) for i, at in enumerate(addresses)])


def _int64s(reader: _Reader, raw: bytes, place: _Place) -> tuple[int, ...]:
    found = reader.array(raw, 8, MOST_BYTES // 8, place)
    return struct.unpack(f"<{len(found) // 8}q", found)


def _bytes(reader: _Reader, raw: bytes, place: _Place) -> str:
    return reader.array(raw, 1, MOST_CHARACTERS, place).decode("utf-8", "surrogateescape")


def _int(_: _Reader, raw: bytes, place: _Place) -> int:
    return int.from_bytes(raw[: min(8, place.width)], "little", signed=True)


def _bool(_: _Reader, raw: bytes, place: _Place) -> bool:
    if raw[0] > 1:
        raise place.error(f"a flag is 0 or 1, found {raw[0]}")
    return raw[0] == 1


def _optional_int64(reader: _Reader, raw: bytes, place: _Place) -> int | None:
    return _int(reader, raw, place) if _bool(reader, raw[8:], place) else None


def _reduction_op(_: _Reader, raw: bytes, place: _Place) -> ReductionOp:
    number = int.from_bytes(raw[:4], "little")
    if number >= len(REDUCTION_OPS):
        raise place.error(f"a reduction operator is 0, 1 or 2, found {number}")
    return REDUCTION_OPS[number]


_READERS: Mapping[Kind, Callable[[_Reader, bytes, _Place], object]] = {
    Kind.ATTRIBUTE: _attribute,
    Kind.OPTIONAL_ATTRIBUTE: _optional_attribute,
    Kind.ATTRIBUTES: _attributes,
    Kind.INT64S: _int64s,
    Kind.BYTES: _bytes,
    Kind.INT64: _int,
    Kind.INT32: _int,
    Kind.INT16: _int,
    Kind.BOOL: _bool,
    Kind.OPTIONAL_INT64: _optional_int64,
    Kind.REDUCTION_OP: _reduction_op,
}
"""How each kind of field is read; other kinds mean nothing to an attribute."""


def size_of(layout: Layout) -> int:
    """The number of bytes of a storage, whose tables give it."""
    return max([layout.size or 0, *[field.offset + field.width for field in layout.fields]])


def _build_value(name: str, values: dict[str, object], place: _Place) -> object:
    """The value with these fields, checked as its class checks them."""
    if name == "builtin.string":
        return values["value"]
    if name == "builtin.symbol_ref":
        if values["nested_references"]:
            raise place.error("a mesh is named by a flat symbol reference, and this one is nested")
        return Symbol(str(values["root_reference"]))
    cls = CLASSES[name]
    missing = set(cls.__match_args__) - set(values) - {"reduction_op"}
    if missing:
        raise place.error(f"the layout has no field for {', '.join(sorted(missing))}")
    try:
        return cls(**{field: values[field] for field in cls.__match_args__ if field in values})
    except VerificationError as error:
        raise place.error(error.message, notes=error.notes) from None
