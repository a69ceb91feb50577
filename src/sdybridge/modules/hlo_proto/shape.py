"""Shapes in HLO protos, as text."""

from __future__ import annotations

from sdybridge.errors import ProtoError
from sdybridge.modules.hlo_proto.wire import BYTES, VARINT, Field, read_fields, read_varint

_ELEMENT_TYPE, _DIMENSIONS, _TUPLE_SHAPES, _IS_DYNAMIC = 2, 3, 4, 6
_MAX_DEPTH = 100
_TUPLE, _BUFFER = 13, 34
_ELEMENT_TYPES = {
    1: "pred", 2: "s8", 3: "s16", 4: "s32", 5: "s64", 6: "u8", 7: "u16", 8: "u32", 9: "u64", 10: "f16",
    11: "f32", 12: "f64", 14: "opaque", 15: "c64", 16: "bf16", 17: "token", 18: "c128", 19: "f8e5m2",
    20: "f8e4m3fn", 21: "s4", 22: "u4", 23: "f8e4m3b11fnuz", 24: "f8e5m2fnuz", 25: "f8e4m3fnuz", 26: "s2",
    27: "u2", 28: "f8e4m3", 29: "f8e3m4", 30: "s1", 31: "u1", 32: "f4e2m1fn", 33: "f8e8m0fnu",
    35: "f6e3m2fn", 36: "f6e2m3fn",
}  # fmt: skip


def shape_text(data: bytes, start: int, end: int, where: str, depth: int = 0) -> str:
    r"""The text of the `ShapeProto` in `data[start:end]`, without layouts.

    Raises:
        ProtoError: The bytes are no shape.

    >>> shape_text(b"\x10\x0b\x1a\x02\x08\x04", 0, 6, "shape")
    'f32[8,4]'
    >>> shape_text(b"\x10\x22\x22\x02\x10\x0b", 0, 6, "shape")
    'b(f32[])'
    """
    if depth > _MAX_DEPTH:
        raise ProtoError(f"{where}: tuples nest more than {_MAX_DEPTH} deep", notes=[f"at byte {start}"])
    element_type = 0
    dims: list[int] = []
    dynamic: list[int] = []
    elements = []
    for field in read_fields(data, start, end, where):
        if field.number == _ELEMENT_TYPE and field.wire_type == VARINT:
            element_type, _ = read_varint(data, field.value, field.end, where)
        elif field.number == _DIMENSIONS:
            dims += numbers(data, field, where)
        elif field.number == _IS_DYNAMIC:
            dynamic += numbers(data, field, where)
        elif field.number == _TUPLE_SHAPES and field.wire_type == BYTES:
            elements.append(shape_text(data, field.value, field.end, where, depth + 1))
    if element_type == _TUPLE:
        return f"({', '.join(elements)})"
    if element_type == _BUFFER:
        return f"b({', '.join(elements)})"
    sizes = [
        ("<=" if i < len(dynamic) and dynamic[i] else "") + (str(size) if size < 1 << 63 else "?")
        for i, size in enumerate(dims)
    ]
    return f"{_ELEMENT_TYPES.get(element_type, f'type{element_type}')}[{','.join(sizes)}]"


def numbers(data: bytes, field: Field, where: str) -> list[int]:
    """The numbers of a repeated field, packed or one of them."""
    found = []
    at = field.value
    while at < field.end:
        number, at = read_varint(data, at, field.end, where)
        found.append(number)
    return found
