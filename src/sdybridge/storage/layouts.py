"""Storage layouts as data: one table per struct, one set of tables per build."""

from __future__ import annotations

import dataclasses
import enum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(enum.Enum):
    """What a field holds: the C++ type, and its width in bytes without padding.

    >>> Kind.INT64.value
    ('int64_t', 8)
    """

    ABSTRACT = ("AbstractAttribute *", 8)
    ATTRIBUTE = ("AttributeStorage *", 8)
    OPTIONAL_ATTRIBUTE = ("AttributeStorage *, or null", 8)
    ATTRIBUTES = ("ArrayRef<Attribute>", 16)
    INT64S = ("ArrayRef<int64_t>", 16)
    BYTES = ("StringRef", 16)
    OPTIONAL_INT64 = ("optional<int64_t>", 9)
    INT64 = ("int64_t", 8)
    INT32 = ("int32_t", 4)
    INT16 = ("int16_t", 2)
    BOOL = ("bool", 1)
    BITS = ("bits of one byte", 1)
    REDUCTION_OP = ("enum, int32_t", 4)
    POINTER = ("pointer", 8)
    VECTOR = ("std::vector", 24)

    @property
    def c_type(self) -> str:
        """The C++ type, shortened."""
        return self.value[0]

    @property
    def width(self) -> int:
        """The number of bytes that mean something."""
        return self.value[1]


class Confidence(enum.Enum):
    """How a field's place is known.

    >>> [confidence.name for confidence in Confidence]
    ['LIVE', 'CONFIRMED', 'STRONG', 'SOURCE']
    """

    LIVE = "read from the memory of a running process"
    CONFIRMED = "read from an instruction of neuronx_cc 2.24.5133"
    STRONG = "implied by what calls and is called in neuronx_cc 2.24.5133"
    SOURCE = "upstream's source code on its main branch, not yet seen in a release"


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct.

    Attributes:
        offset: Where it starts, in bytes from the start of the struct.
        name: The argument of the attribute's class that it is, where there is one.
        kind: What it holds.
        targets: What the attributes that it points to may be, as their records name them.
        confidence: How its place is known.
        note: What else there is to know.

    >>> from sdybridge.storage import CURRENT
    >>> field = CURRENT.layouts["sdy.axis_ref"].fields[0]
    >>> field.offset, field.name
    (0, 'abstract')
    """

    offset: int
    name: str
    kind: Kind
    targets: tuple[str, ...] = ()
    confidence: Confidence = Confidence.LIVE
    note: str = ""

    @property
    def width(self) -> int:
        """The number of bytes that mean something; what follows up to the next field is padding."""
        return self.kind.width


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """One struct.

    Attributes:
        cls: The C++ class whose storage it is, such as `MeshAttr`.
        name: What the abstract-attribute record calls it, such as `sdy.mesh`; the C++ name for a struct that
            is no attribute.
        size: Its size in bytes, None where that is not known.
        fields: By offset.
        note: What else there is to know.

    >>> from sdybridge.storage import CURRENT
    >>> layout = CURRENT.layouts["sdy.axis_ref"]
    >>> layout.cls, layout.size
    ('AxisRefAttr', 32)
    """

    cls: str
    name: str
    size: int | None
    fields: tuple[Field, ...]
    note: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Build:
    """The tables of one build of MLIR with Shardy; all are little-endian and of 64 bits.

    Another build is another value of this, made with `dataclasses.replace`; nothing else needs to know it.

    Attributes:
        name: Its key in `BUILDS`.
        about: Which releases it is.
        record: The abstract-attribute record that every storage points to.
        dialect: The dialect that a record points to.
        layouts: The storages by the name that is in the record.

    >>> from sdybridge.storage import CURRENT
    >>> CURRENT.layouts["sdy.axis_ref"].fields[2].offset
    24
    """

    name: str
    about: str
    record: Layout
    dialect: Layout
    layouts: Mapping[str, Layout]


_STRING, _SYMBOL = "builtin.string", "builtin.symbol_ref"
_REF, _REFS, _DIMENSION, _SHARDING = (
    "sdy.axis_ref",
    "sdy.axis_ref_list",
    "sdy.dimension_sharding",
    "sdy.sharding",
)
_PADDING = "one byte; the 7 after it hold anything"


def _storage(cls: str, name: str, size: int, *fields: Field, note: str = "") -> tuple[str, Layout]:
    abstract = Field(0x00, "abstract", Kind.ABSTRACT, note="says what it is: dialect, TypeID, name")
    return name, Layout(cls, name, size, (abstract, *fields), note)


_SHARDING_FIELDS = (
    Field(
        0x08,
        "mesh_or_ref",
        Kind.ATTRIBUTE,
        (_SYMBOL, "sdy.mesh"),
        note="a flat symbol reference, or the mesh itself",
    ),
    Field(0x10, "dim_shardings", Kind.ATTRIBUTES, (_DIMENSION,), note="one per tensor dimension"),
    Field(0x20, "replicated_axes", Kind.ATTRIBUTES, (_REF,)),
    Field(0x30, "unreduced_axes", Kind.ATTRIBUTES, (_REF,)),
)

_LAYOUTS = dict([
    _storage(
        "MeshAxisAttr", "sdy.mesh_axis", 0x20,
        Field(0x08, "name", Kind.BYTES),
        Field(0x18, "size", Kind.INT64),
    ),
    _storage(
        "MeshAttr", "sdy.mesh", 0x28,
        Field(0x08, "axes", Kind.ATTRIBUTES, ("sdy.mesh_axis",), note="major to minor"),
        Field(0x18, "device_ids", Kind.INT64S, note="empty: the devices are in order"),
        note="No axes and one device id: a maximal mesh.",
    ),
    _storage(
        "SubAxisInfoAttr", "sdy.sub_axis_info", 0x18,
        Field(0x08, "pre_size", Kind.INT64),
        Field(0x10, "size", Kind.INT64),
    ),
    _storage(
        "AxisRefAttr", _REF, 0x20,
        Field(0x08, "name", Kind.BYTES),
        Field(0x18, "sub_axis_info", Kind.OPTIONAL_ATTRIBUTE, ("sdy.sub_axis_info",), note="null: all of it"),
    ),
    _storage(
        "DimensionShardingAttr", _DIMENSION, 0x30,
        Field(0x08, "axes", Kind.ATTRIBUTES, (_REF,), note="major to minor"),
        Field(0x18, "is_closed", Kind.BOOL, note=_PADDING),
        Field(0x20, "priority", Kind.OPTIONAL_INT64, note="the value, then if there is one: " + _PADDING),
    ),
    _storage("TensorShardingAttr", _SHARDING, 0x40, *_SHARDING_FIELDS),
    _storage(
        "TensorShardingPerValueAttr", "sdy.sharding_per_value", 0x18,
        Field(0x08, "shardings", Kind.ATTRIBUTES, (_SHARDING,), note="one per value"),
    ),
    _storage("ManualAxesAttr", "sdy.manual_axes", 0x18, Field(0x08, "value", Kind.ATTRIBUTES, (_STRING,))),
    _storage("AxisRefListAttr", _REFS, 0x18, Field(0x08, "value", Kind.ATTRIBUTES, (_REF,))),
    _storage(
        "ListOfAxisRefListsAttr", "sdy.list_of_axis_ref_lists", 0x18,
        Field(0x08, "value", Kind.ATTRIBUTES, (_REFS,)),
    ),
    _storage(
        "AllToAllParamAttr", "sdy.all_to_all_param", 0x28,
        Field(0x08, "axes", Kind.ATTRIBUTES, (_REF,)),
        Field(0x18, "src_dim", Kind.INT64),
        Field(0x20, "tgt_dim", Kind.INT64),
    ),
    _storage(
        "AllToAllParamListAttr", "sdy.all_to_all_param_list", 0x18,
        Field(0x08, "value", Kind.ATTRIBUTES, ("sdy.all_to_all_param",)),
    ),
    _storage(
        "StringAttr", _STRING, 0x28,
        Field(0x08, "type", Kind.POINTER, note="a `Type`: none, as a rule"),
        Field(0x10, "value", Kind.BYTES),
        Field(0x20, "referenced_dialect", Kind.POINTER, note='set for a text such as `"sdy.x"`; else null'),
    ),
    _storage(
        "SymbolRefAttr", _SYMBOL, 0x20,
        Field(0x08, "root_reference", Kind.ATTRIBUTE, (_STRING,)),
        Field(0x10, "nested_references", Kind.ATTRIBUTES, (_SYMBOL,), note="empty: a `FlatSymbolRefAttr`"),
    ),
])  # fmt: skip

CURRENT = Build(
    name="current",
    about="jaxlib 0.6.2 to 0.10.2 and, as far as the reference shows, neuronx_cc 2.24.5133",
    record=Layout(
        "AbstractAttribute",
        "mlir::AbstractAttribute",
        0xA0,
        (
            Field(0x00, "dialect", Kind.POINTER, note="the `Dialect` that owns the class"),
            Field(0x88, "type_id", Kind.POINTER, note="one address per class and process"),
            Field(0x90, "name", Kind.BYTES, note="such as `sdy.mesh`; by this an attribute is recognised"),
        ),
        note="One per class and context. What lies between are traits and functions.",
    ),
    dialect=Layout(
        "Dialect",
        "mlir::Dialect",
        None,
        (Field(0x08, "name", Kind.BYTES, note="`sdy` or `builtin`"),),
    ),
    layouts=MappingProxyType(_LAYOUTS),
)
"""The build that current releases have."""

NEWER = dataclasses.replace(
    CURRENT,
    name="newer",
    about="Shardy's main branch: a sharding has a reduction operator",
    layouts=MappingProxyType(
        _LAYOUTS
        | dict(
            [
                _storage(
                    "TensorShardingAttr",
                    _SHARDING,
                    0x48,
                    *_SHARDING_FIELDS,
                    Field(
                        0x40,
                        "reduction_op",
                        Kind.REDUCTION_OP,
                        confidence=Confidence.SOURCE,
                        note="0 sum, 1 max, 2 min",
                    ),
                )
            ]
        )
    ),
)
"""The build that the development branch has."""

BUILDS: Mapping[str, Build] = MappingProxyType({build.name: build for build in (CURRENT, NEWER)})
"""The builds by name."""
