"""How much memory tensors take, by XLA's names of their element types."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdybridge.modules.shapes import TensorShape

_NAMED = re.compile(r"(?:bf|[fsuc])(\d{1,3})(?:e\d+m\d+\w*)?")
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")
_MOST_ELEMENTS = 2**63 - 1  # XLA counts in 64 bits
_OTHER = {"pred": 8, "token": 0, "opaque": 0}


def element_bits(element_type: str) -> int | None:
    """The bits of one element; None for a type that XLA does not have. XLA packs two 4-bit numbers in a byte.

    >>> [element_bits(name) for name in ("bf16", "pred", "s4", "f8e4m3fn", "c64", "widget")]
    [16, 8, 4, 8, 64, None]
    """
    named = _NAMED.fullmatch(element_type)
    return int(named[1]) if named else _OTHER.get(element_type)


def byte_size(shape: TensorShape) -> int | None:
    """The bytes of a dense tensor; None if they are not known, or too many for XLA to count.

    >>> from sdybridge.modules.shapes import TensorShape
    >>> byte_size(TensorShape("bf16", (8, 128))), byte_size(TensorShape("f32", (-1,)))
    (2048, None)
    """
    bits = element_bits(shape.element_type)
    if bits is None or min(shape.dims, default=0) < 0:
        return None
    elements = math.prod(shape.dims)
    return -(-elements * bits // 8) if elements <= _MOST_ELEMENTS else None


def size_text(size: int | None) -> str:
    """A number of bytes for people, in powers of 1024.

    >>> [size_text(size) for size in (None, 0, 1023, 4096, 5 * 2**20 + 2**19, 3 * 2**40)]
    ['-', '0 B', '1023 B', '4.0 KiB', '5.5 MiB', '3.0 TiB']
    """
    if size is None:
        return "-"
    if size < 1024:
        return f"{size} B"
    power = min((size.bit_length() - 1) // 10, len(_UNITS))
    return f"{size / 1024**power:.1f} {_UNITS[power - 1]}"
