"""Reads an image as the accessors of the C++ classes do: each is a load or two at a fixed offset.

The offsets are written out once more here, so that the tables are checked and not just used.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from sdybridge.sdy import Attribute, MeshAttr

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdybridge.storage import BytesMemory


class Accessors:
    """The accessors of all classes on one image.

    Anything but an attribute gives an exception of any kind: nothing is checked but what has to be.
    """

    def __init__(self, image: BytesMemory) -> None:
        self.base, self.data = image.base, image.data

    def load(self, address: int, form: str = "<Q") -> int:
        if not self.base <= address < self.base + len(self.data):
            raise IndexError(address)
        found: int = struct.unpack_from(form, self.data, address - self.base)[0]
        return found

    def array(self, address: int, form: str = "<Q") -> list[int]:
        """An `ArrayRef`: a pointer, and a length right after it."""
        start, length = self.load(address), self.load(address + 8)
        if length == 0:
            return []
        width = struct.calcsize(form)
        if length > len(self.data) or start % width:
            raise IndexError(start, length)
        return [self.load(start + width * i, form) for i in range(length)]

    def string(self, address: int) -> str:
        return bytes(self.array(address, "<B")).decode("utf-8", "surrogateescape")

    def flag(self, address: int) -> bool:
        return {0: False, 1: True}[self.load(address, "<B")]

    def class_name(self, address: int) -> str:
        if address % 8:
            raise ValueError(address)
        return self.string(self.load(address) + 0x90)

    def read(self, address: int, *classes: str) -> Any:
        """All that an attribute holds, as nested tuples."""
        name = self.class_name(address)
        if name not in classes and classes:
            raise TypeError(name)
        return (name, *_FIELDS[name](self, address))

    def list(self, address: int, *classes: str) -> tuple[Any, ...]:
        return tuple([self.read(element, *classes) for element in self.array(address)])

    def get_axis_size(self, mesh: int, name: str) -> int:
        """`MeshAttr::getAxisSize`."""
        for axis in self.array(mesh + 0x08):
            if self.string(axis + 0x08) == name:
                return self.load(axis + 0x18, "<q")
        raise LookupError(name)

    def get_size(self, ref: int, mesh: int) -> int:
        """`AxisRefAttr::getSize`."""
        info = self.load(ref + 0x18)
        return self.load(info + 0x10, "<q") if info else self.get_axis_size(mesh, self.string(ref + 0x08))

    def is_maximal(self, mesh: int) -> bool:
        """`MeshAttr::isMaximal`."""
        return self.load(mesh + 0x10) == 0 and self.load(mesh + 0x20) == 1

    def get_maximal_device_id(self, mesh: int) -> int:
        """`MeshAttr::getMaximalDeviceId`."""
        return self.load(self.load(mesh + 0x18), "<q")

    def get_priority(self, dimension: int) -> tuple[int, int]:
        """`DimensionShardingAttr::getPriority`: two words, the second of which is engaged in its low byte."""
        return self.load(dimension + 0x20, "<q"), self.load(dimension + 0x28, "<B")


def _mesh(a: Accessors, p: int) -> tuple[Any, ...]:
    axes, ids = a.list(p + 0x08, "sdy.mesh_axis"), tuple(a.array(p + 0x18, "<q"))
    return axes, () if axes and ids == tuple(range(len(ids))) else ids


def _dimension(a: Accessors, p: int) -> tuple[Any, ...]:
    axes, is_closed = a.list(p + 0x08, "sdy.axis_ref"), a.flag(p + 0x18)
    return axes, is_closed, a.load(p + 0x20, "<q") if a.flag(p + 0x28) else None


def _ref(a: Accessors, p: int) -> tuple[Any, ...]:
    info = a.load(p + 0x18)
    return a.string(p + 0x08), a.read(info, "sdy.sub_axis_info") if info else None


def _sharding(a: Accessors, p: int) -> tuple[Any, ...]:
    return (
        a.read(a.load(p + 0x08), "builtin.symbol_ref", "sdy.mesh"),
        a.list(p + 0x10, "sdy.dimension_sharding"),
        a.list(p + 0x20, "sdy.axis_ref"),
        a.list(p + 0x30, "sdy.axis_ref"),
    )


def _symbol(a: Accessors, p: int) -> tuple[Any, ...]:
    if a.array(p + 0x10):
        raise ValueError("nested")
    return (a.read(a.load(p + 0x08), "builtin.string")[1],)


_FIELDS: dict[str, Callable[[Accessors, int], tuple[Any, ...]]] = {
    "sdy.mesh_axis": lambda a, p: (a.string(p + 0x08), a.load(p + 0x18, "<q")),
    "sdy.mesh": _mesh,
    "sdy.sub_axis_info": lambda a, p: (a.load(p + 0x08, "<q"), a.load(p + 0x10, "<q")),
    "sdy.axis_ref": _ref,
    "sdy.dimension_sharding": _dimension,
    "sdy.sharding": _sharding,
    "sdy.sharding_per_value": lambda a, p: (a.list(p + 0x08, "sdy.sharding"),),
    "sdy.manual_axes": lambda a, p: (tuple(text[1] for text in a.list(p + 0x08, "builtin.string")),),
    "sdy.axis_ref_list": lambda a, p: (a.list(p + 0x08, "sdy.axis_ref"),),
    "sdy.list_of_axis_ref_lists": lambda a, p: (a.list(p + 0x08, "sdy.axis_ref_list"),),
    "sdy.all_to_all_param": lambda a, p: (
        a.list(p + 0x08, "sdy.axis_ref"),
        a.load(p + 0x18, "<q"),
        a.load(p + 0x20, "<q"),
    ),
    "sdy.all_to_all_param_list": lambda a, p: (a.list(p + 0x08, "sdy.all_to_all_param"),),
    "builtin.string": lambda a, p: (a.string(p + 0x10),),
    "builtin.symbol_ref": _symbol,
}


def as_tuples(value: Any) -> Any:
    """An attribute as the nested tuples that `Accessors.read` gives."""
    if isinstance(value, tuple):
        return tuple(map(as_tuples, value))
    if not isinstance(value, Attribute):
        return value
    fields = [as_tuples(getattr(value, field)) for field in value.__match_args__ if field != "reduction_op"]
    if value.mnemonic == "sharding" and not isinstance(value.mesh_or_ref, MeshAttr):  # type: ignore[attr-defined]
        fields[0] = ("builtin.symbol_ref", fields[0])
    return (f"sdy.{value.mnemonic}", *fields)
