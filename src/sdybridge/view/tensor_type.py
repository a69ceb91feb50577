"""The type of a tensor, as XLA, MLIR and people write it: its shape, and what an element is."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sdybridge.errors import ParseError
from sdybridge.source import Source, Span

_ELEMENT = r"[A-Za-z!][\w.!<>:,\- ]*"
_XLA = re.compile(r"\s*([A-Za-z]\w*)\s*\[([^\]]*)\]\s*(?:\{[^}]*\})?\s*")
_MLIR = re.compile(
    rf"\s*(?:tensor|memref|vector)\s*<\s*((?:(?:\d+|\?)\s*x\s*)*)({_ELEMENT}?)\s*(?:,\s*[#\[].*)?>\s*"
)
_BARE = re.compile(r"\s*[\[(]?\s*((?:(?:\d+|\?)\s*[,x]\s*)*(?:\d+|\?)?)\s*,?\s*[\])]?\s*")
_COMPLEX = re.compile(r"complex<(.*)>\Z")
_QUANTIZED = re.compile(r"!quant\.\w+<\s*([a-z]+\d+)")
_BITS = re.compile(r"(?:bf|tf|f|s|u|i|si|ui|c)(\d+)")
_WHOLE_BYTES = {"pred": 8, "i1": 8, "token": 0, "none": 0}
_MOST_DIGITS = 18
_MOST_ELEMENTS = 2**63 - 1  # XLA counts in 64 bits


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor's shape and element type.

    Attributes:
        shape: The sizes; None for a dynamic one.
        element: The element type as written, such as `f32` or `complex<f32>`; empty if it is not known.

    >>> TensorType.from_string("f32[64,128]{1,0}") == TensorType.from_string("tensor<64x128xf32>")
    True
    >>> print(TensorType.from_string("64,128"))
    [64,128]
    """

    shape: tuple[int | None, ...]
    element: str = ""

    @classmethod
    def from_string(cls, text: str, *, name: str = "<shape>") -> TensorType:
        """The type that a text spells: `f32[64,128]`, `tensor<64x128xf32>`, or just `64,128`.

        Raises:
            ParseError: It spells none.

        Example:
            >>> TensorType.from_string("tensor<64x128xbf16>")
            TensorType(shape=(64, 128), element='bf16')
        """
        for pattern in (_XLA, _MLIR, _BARE):
            found = pattern.fullmatch(text)
            if found is None:
                continue
            sizes, element = (found[2], found[1]) if pattern is _XLA else (found[1], "")
            if pattern is _MLIR:
                element = found[2].strip()
            shape = _sizes(sizes)
            if shape is not None:
                return cls(shape, element)
        raise ParseError(
            "this is no type of a tensor",
            source=Source(text, name),
            span=Span(0, max(1, len(text))),
            help="write f32[64,128], tensor<64x128xf32>, or 64,128",
        )

    def __str__(self) -> str:
        sizes = ",".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.element}[{sizes}]"

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every size is known."""
        return None not in self.shape

    @property
    def element_bits(self) -> int | None:
        """The bits that an element takes in memory; None if that is not known.

        >>> [TensorType((), name).element_bits for name in ("f32", "bf16", "pred", "s4", "f8E4M3FN", "")]
        [32, 16, 8, 4, 8, None]
        """
        return element_bits(self.element)

    @property
    def bytes(self) -> int | None:
        """The bytes that the tensor takes; None if they are not known, or too many for XLA to count.

        >>> TensorType.from_string("s4[3]").bytes
        2
        """
        return self.bytes_of(self.shape)

    def bytes_of(self, shape: tuple[int | None, ...]) -> int | None:
        """The bytes that a tensor of these elements and another shape takes.

        >>> TensorType.from_string("bf16[64,128]").bytes_of((16, 128))
        4096
        """
        bits, elements = self.element_bits, count_elements(shape)
        return None if bits is None or elements is None else -(-elements * bits // 8)

    def with_shape(self, shape: tuple[int | None, ...]) -> TensorType:
        """A tensor of the same elements.

        >>> str(TensorType.from_string("bf16[64,128]").with_shape((16, 128)))
        'bf16[16,128]'
        """
        return TensorType(shape, self.element)


def count_elements(shape: tuple[int | None, ...]) -> int | None:
    """The number of elements; None if a size is not known, or XLA could not count them.

    >>> count_elements((8, 3)), count_elements((8, None)), count_elements((2**40, 2**40))
    (24, None, None)
    """
    sizes = [size for size in shape if size is not None]
    count = math.prod(sizes)
    return count if len(sizes) == len(shape) and count <= _MOST_ELEMENTS else None


def element_bits(element: str) -> int | None:
    """The bits of one element: booleans take a byte, 4-bit numbers half of one."""
    if element in _WHOLE_BYTES:
        return _WHOLE_BYTES[element]
    inner = _COMPLEX.match(element)
    if inner:
        bits = element_bits(inner[1].strip())
        return None if bits is None else 2 * bits
    quantized = _QUANTIZED.match(element)
    found = _BITS.match(quantized[1] if quantized else element)
    return int(found[1][:4]) if found else None


def _sizes(text: str) -> tuple[int | None, ...] | None:
    """The sizes with commas or `x` between them, those of XLA's bounded dimensions (`<=8`) included."""
    parts = [part.strip().removeprefix("<=") for part in re.split(r"[,x]", text)]
    if parts and not parts[-1]:
        parts.pop()
    if not all(part == "?" or (part.isdecimal() and len(part) <= _MOST_DIGITS) for part in parts):
        return None
    return tuple(None if part == "?" else int(part) for part in parts)


def show_bytes(count: int) -> str:
    """A number of bytes for people: exact where short, else in binary units.

    >>> show_bytes(1), show_bytes(640), show_bytes(32768), show_bytes(3 << 29)
    ('1 byte', '640 bytes', '32 KiB', '1.5 GiB')
    """
    if count < 1024:
        return f"{count} byte{'' if count == 1 else 's'}"
    size = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        size /= 1024
        if size < 1024 or unit == "PiB":
            break
    text = f"{size:.1f}".removesuffix(".0")
    return f"{text} {unit}"
