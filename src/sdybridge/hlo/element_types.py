"""How much memory tensors take, by XLA's names of their element types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_BITS = re.compile(r"(?:bf|tf|f|s|u|i|si|ui|c)(\d{1,4})")
_COMPLEX = re.compile(r"complex<(.*)>\Z")
_QUANTIZED = re.compile(r"!quant\.\w+<\s*([a-z]+\d+)")
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")
_MOST_ELEMENTS = 2**63 - 1  # XLA counts in 64 bits
_OTHER = {"pred": 8, "i1": 8, "token": 0, "opaque": 0, "none": 0}


def element_bits(element_type: str) -> int | None:
    """The bits of one element, as XLA or MLIR names its type; None for a type that neither has.

    A boolean takes a byte; two 4-bit numbers share one.

    >>> [element_bits(name) for name in ("bf16", "pred", "s4", "f8e4m3fn", "c64", "widget")]
    [16, 8, 4, 8, 64, None]
    >>> [element_bits(name) for name in ("i1", "complex<f32>", "!quant.uniform<i8:f32, 0.5>")]
    [8, 64, 8]
    """
    if element_type in _OTHER:
        return _OTHER[element_type]
    inner = _COMPLEX.match(element_type)
    if inner:
        bits = element_bits(inner[1].strip())
        return None if bits is None else 2 * bits
    quantized = _QUANTIZED.match(element_type)
    found = _BITS.match(quantized[1] if quantized else element_type)
    return int(found[1]) if found else None


def count_elements(sizes: Iterable[int | None]) -> int | None:
    """The number of elements; None if a size is not known (None or negative), or XLA could not count them.

    >>> count_elements((8, 3)), count_elements((8, None)), count_elements((2**40, 2**40))
    (24, None, None)
    """
    count = 1
    for size in sizes:
        if size is None or size < 0:
            return None
        count *= size
    return count if count <= _MOST_ELEMENTS else None


def bytes_of(element_type: str, sizes: Iterable[int | None]) -> int | None:
    """The bytes of a dense tensor; None if they are not known, or too many for XLA to count.

    >>> bytes_of("bf16", (8, 128)), bytes_of("s4", (3,)), bytes_of("f32", (-1,))
    (2048, 2, None)
    """
    bits, elements = element_bits(element_type), count_elements(sizes)
    return None if bits is None or elements is None else -(-elements * bits // 8)


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
