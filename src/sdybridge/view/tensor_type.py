"""The type of a tensor, as XLA, MLIR and people write it: its shape, and what an element is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sdybridge.errors import ParseError
from sdybridge.hlo.element_types import bytes_of, element_bits
from sdybridge.source import Source, Span

_ELEMENT = r"[A-Za-z!][\w.!<>:,\- ]*"
_XLA = re.compile(r"\s*([A-Za-z]\w*)\s*\[([^\]]*)\]\s*(?:\{[^}]*\})?\s*")
_MLIR = re.compile(
    rf"\s*(?:tensor|memref|vector)\s*<\s*((?:(?:\d+|\?)\s*x\s*)*)({_ELEMENT}?)\s*(?:,\s*[#\[].*)?>\s*"
)
_BARE = re.compile(r"\s*[\[(]?\s*((?:(?:\d+|\?)\s*[,x]\s*)*(?:\d+|\?)?)\s*,?\s*[\])]?\s*")
_MOST_DIGITS = 18


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
        return bytes_of(self.element, shape)

    def with_shape(self, shape: tuple[int | None, ...]) -> TensorType:
        """A tensor of the same elements.

        >>> str(TensorType.from_string("bf16[64,128]").with_shape((16, 128)))
        'bf16[16,128]'
        """
        return TensorType(shape, self.element)


def _sizes(text: str) -> tuple[int | None, ...] | None:
    """The sizes with commas or `x` between them, those of XLA's bounded dimensions (`<=8`) included."""
    parts = [part.strip().removeprefix("<=") for part in re.split(r"[,x]", text)]
    if parts and not parts[-1]:
        parts.pop()
    if not all(part == "?" or (part.isdecimal() and len(part) <= _MOST_DIGITS) for part in parts):
        return None
    return tuple(None if part == "?" else int(part) for part in parts)
