"""From an attribute to an image of its storage."""

from __future__ import annotations

import dataclasses
import struct
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sdybridge.errors import StorageError
from sdybridge.sdy import Attribute, ReductionOp
from sdybridge.sdy.printer import quote, symbol
from sdybridge.storage.layouts import CURRENT, Kind
from sdybridge.storage.memory import BytesMemory
from sdybridge.storage.reader import REDUCTION_OPS, size_of

if TYPE_CHECKING:
    from sdybridge.storage.layouts import Build, Field, Layout

_STRING, _SYMBOL = "builtin.string", "builtin.symbol_ref"
_WIDEST = 60


class Part(NamedTuple):
    """Some bytes of a block.

    Attributes:
        address: Of the first.
        size: How many, without the padding after them.
        name: The field that they are.
        means: What they stand for.

    >>> from sdybridge.sdy import AxisRefAttr
    >>> from sdybridge.storage import write_attribute
    >>> image = write_attribute(AxisRefAttr("x"), base=0x1000)
    >>> part = image.blocks[0].parts[0]
    >>> hex(part.address), part.size
    ('0x1000', 8)
    """

    address: int
    size: int
    name: str
    means: str


class Block(NamedTuple):
    """What is stored in one piece: a struct, a list, the characters of a name.

    Attributes:
        address: Where it starts.
        title: What it is.
        parts: Its bytes, in order; what is between them is padding.

    >>> from sdybridge.sdy import AxisRefAttr
    >>> from sdybridge.storage import write_attribute
    >>> image = write_attribute(AxisRefAttr("x"), base=0x1000)
    >>> image.blocks[0].title, len(image.blocks[0].parts)
    ('AxisRefAttr "x"', 4)
    """

    address: int
    title: str
    parts: list[Part]


@dataclasses.dataclass(frozen=True, slots=True)
class Image(BytesMemory):
    """The storage of one attribute and of all that it points to. The attribute's own is at `base`.

    Attributes:
        records: Where the records of the classes begin; all before are attributes and what they point to.
        blocks: What is where, in order.

    >>> from sdybridge.sdy import AxisRefAttr
    >>> from sdybridge.storage import write_attribute
    >>> image = write_attribute(AxisRefAttr("x"), base=0x1000)
    >>> hex(image.base), len(image.data), image.blocks[0].title
    ('0x1000', 256, 'AxisRefAttr "x"')
    """

    records: int
    blocks: tuple[Block, ...] = dataclasses.field(repr=False)


def write_attribute(attr: Attribute, *, base: int = 0x10000, build: Build = CURRENT) -> Image:
    r"""The storage of an attribute as MLIR lays it out: the layouts in executable form.

    Every accessor of the C++ classes finds its field where it looks for it. Equal parts are stored once, as
    in an MLIR context. The records have what a reader needs: a dialect, a TypeID and a name. Pointers that
    no reader follows, such as the type of a string, are null, and padding is 0.

    Args:
        attr: What to store.
        base: Where to store it: a multiple of 8.
        build: Whose layouts to write.

    Raises:
        StorageError: There is no such address, or the build has no place for the reduction operator.

    >>> from sdybridge.sdy import SubAxisInfoAttr
    >>> image = write_attribute(SubAxisInfoAttr(2, 4), base=0x1000)
    >>> image.read(image.base + 0x10, 8)  # its size
    b'\x04\x00\x00\x00\x00\x00\x00\x00'

    Source: the `...AttrStorage` structs that mlir-tblgen makes of shardy/dialect/sdy/ir/attrs.td.
    """
    if base % 8 or not 0 < base < 1 << 62:
        raise StorageError(
            f"no attribute can be at {base:#x}: it is a multiple of 8, above 0 and below 2**62"
        )
    writer = _Writer(base, build)
    writer.store(attr, f"sdy.{attr.mnemonic}")
    records = base + len(writer.data)
    writer.store_records()
    return Image(base, bytes(writer.data), records, tuple(writer.blocks))


class _Writer:
    """Stores attributes one after another, each followed by what it is the first to point to."""

    def __init__(self, base: int, build: Build) -> None:
        self.data = bytearray()
        self.blocks: list[Block] = []
        self._base = base
        self._build = build
        self._stored: dict[tuple[str, object], int] = {}
        self._users: dict[str, list[tuple[Block, Field]]] = {}

    def store(self, value: object, name: str) -> int:
        """Where an attribute of this type is stored, perhaps since earlier."""
        if (name, value) in self._stored:
            return self._stored[name, value]
        layout = self._build.layouts.get(name)
        if layout is None:
            raise StorageError(f"the layouts of `{self._build.name}` have no `{name}`")
        block = self._allocate(size_of(layout), f"{layout.cls} {_shown(value, name)}")
        self._stored[name, value] = block.address
        fields = _fields(value, name)
        _check_places(fields, layout, self._build)
        for field in layout.fields:
            if field.kind is Kind.ABSTRACT:
                self._users.setdefault(name, []).append((block, field))
            elif field.name in fields:
                self._field(block, field, fields[field.name])
            else:
                at = block.address + field.offset
                means = "null" if field.kind is Kind.POINTER else "means nothing"
                self._put(block, at, f"{field.width}s", b"", field.name, means)
        return block.address

    def store_records(self) -> None:
        """The records of the classes, to which everything stored points from now on."""
        dialects: dict[str, int] = {}
        for name, users in self._users.items():
            dialect = name.partition(".")[0]
            if dialect not in dialects:
                dialects[dialect] = self._struct(self._build.dialect, dialect, {"name": dialect})
            type_id = self._allocate(8, f"TypeID of {name}")
            self._word(type_id, type_id.address, "itself", 0, "only its address means something")
            fields = {"dialect": dialects[dialect], "type_id": type_id.address, "name": name}
            record = self._struct(self._build.record, name, fields)
            for block, field in users:
                self._pointer(block, block.address + field.offset, field.name, record, name)
                block.parts.sort()

    def _struct(self, layout: Layout, shown: str, fields: dict[str, object]) -> int:
        """Where a struct that is no attribute is stored."""
        block = self._allocate(size_of(layout), f"{layout.cls} {shown}")
        for field in layout.fields:
            self._field(block, field, fields.get(field.name))
        return block.address

    def _field(self, block: Block, field: Field, value: Any) -> None:
        at = block.address + field.offset
        match field.kind:
            case Kind.ATTRIBUTE | Kind.OPTIONAL_ATTRIBUTE:
                self._attribute(block, at, field.name, value, field.targets)
            case Kind.POINTER:
                self._pointer(block, at, field.name, value)
            case Kind.ATTRIBUTES:
                stored = self._array(block, field, 8 * len(value), len(value))
                for i, element in enumerate(value):
                    self._attribute(stored, stored.address + 8 * i, f"[{i}]", element, field.targets)
            case Kind.INT64S:
                stored = self._array(block, field, 8 * len(value), len(value))
                for i, element in enumerate(value):
                    self._word(stored, stored.address + 8 * i, f"[{i}]", element)
            case Kind.BYTES:
                raw = value.encode("utf-8", "surrogateescape")
                stored = self._array(block, field, len(raw) and len(raw) + 1, len(raw))
                if raw:
                    self._put(stored, stored.address, f"{len(raw) + 1}s", raw, "characters", quote(value))
            case _:
                self._plain(block, at, field, value)

    def _plain(self, block: Block, at: int, field: Field, value: Any) -> None:
        """A field that points to nothing."""
        match field.kind:
            case Kind.OPTIONAL_INT64:
                is_there = value is not None
                means = str(value) if is_there else "means nothing"
                self._word(block, at, field.name, value if is_there else -1, means)
                self._flag(block, at + 8, f"{field.name}, is there", is_there)
            case Kind.BOOL:
                self._flag(block, at, field.name, value)
            case Kind.REDUCTION_OP:
                self._put(block, at, "<I", REDUCTION_OPS.index(value), field.name, value.value)
            case _:
                self._put(block, at, f"{field.width}s", _int_bytes(value, field), field.name, str(value))

    def _array(self, block: Block, field: Field, size: int, length: int) -> Block:
        """A pointer and a length, and the room for what they describe; without any, the pointer is null."""
        at = block.address + field.offset
        stored = self._allocate(size, f"{field.name} of {block.title}") if size else Block(0, "", [])
        self._pointer(block, at, f"{field.name}, pointer", stored.address)
        self._word(block, at + 8, f"{field.name}, length", length)
        return stored

    def _attribute(self, block: Block, at: int, name: str, value: object, targets: tuple[str, ...]) -> None:
        """A pointer to an attribute, and the attribute; texts are the first of the targets."""
        if value is None:
            self._pointer(block, at, name, 0)
            return
        type_name = f"sdy.{value.mnemonic}" if isinstance(value, Attribute) else targets[0]
        self._pointer(block, at, name, self.store(value, type_name), _shown(value, type_name))

    def _allocate(self, size: int, title: str) -> Block:
        """The next bytes, at a multiple of 8."""
        block = Block(self._base + len(self.data), title, [])
        self.data += bytes(-(-size // 8) * 8)
        self.blocks.append(block)
        return block

    def _pointer(self, block: Block, at: int, name: str, address: int, what: str = "") -> None:
        self._word(block, at, name, address, f"-> {address:#x} {what}".rstrip() if address else "null")

    def _word(self, block: Block, at: int, name: str, value: int, means: str = "") -> None:
        self._put(block, at, "<q" if value < 0 else "<Q", value, name, means or str(value))

    def _flag(self, block: Block, at: int, name: str, value: bool) -> None:
        self._put(block, at, "<B", value, name, "true" if value else "false")

    def _put(self, block: Block, at: int, form: str, value: object, name: str, means: str) -> None:
        struct.pack_into(form, self.data, at - self._base, value)
        block.parts.append(Part(at, struct.calcsize(form), name, means))


def _fields(value: object, name: str) -> dict[str, object]:
    """What goes into the fields of a storage, by their names."""
    if name == _STRING:
        return {"value": value}
    if name == _SYMBOL:
        return {"root_reference": value, "nested_references": ()}
    return {field: getattr(value, field) for field in cast("Attribute", value).__match_args__}


def _check_places(fields: dict[str, object], layout: Layout, build: Build) -> None:
    """Refuses what the layout has no field for. Without a reduction operator, a reduction is a sum."""
    places = {field.name for field in layout.fields}
    for name, value in fields.items():
        if name not in places and value is not ReductionOp.SUM:
            raise StorageError(
                f"the layouts of `{build.name}` have no place for {name}, which is {value}",
                struct=layout.cls,
                field=name,
                help="write the layouts of `newer`" if name == "reduction_op" else None,
            )


def _int_bytes(value: int, field: Field) -> bytes:
    try:
        return value.to_bytes(field.width, "little", signed=True)
    except OverflowError:
        raise StorageError(f"{field.name} does not fit {field.width} bytes", field=field.name) from None


def _shown(value: object, name: str) -> str:
    """An attribute in at most 60 characters."""
    if isinstance(value, Attribute):
        text = value.stripped
    else:
        text = symbol(str(value)) if name == _SYMBOL else quote(str(value))
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
