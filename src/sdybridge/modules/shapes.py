"""Shapes of HLO values: the element types and dimensions of the tensors in them."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from sdybridge.hlo.element_types import bytes_of

_LAYOUT = re.compile(r"\{[^{}]*+\}|/\*[^*]*+\*/")
_TENSOR = re.compile(r"([a-zA-Z]\w*+)\s*+\[([^\[\]]*+)\]")


class TensorShape(NamedTuple):
    """The shape of one tensor, token or opaque value.

    Attributes:
        element_type: XLA's name of it: `f32`, `token`.
        dims: The size of each dimension; of a dynamic one its bound, or -1 where it has none.
    """

    element_type: str
    dims: tuple[int, ...]

    @property
    def bytes(self) -> int | None:
        """What the tensor takes; None if that is not known, or too much for XLA to count."""
        return bytes_of(self.element_type, self.dims)

    def __str__(self) -> str:
        return f"{self.element_type}[{','.join('?' if d < 0 else str(d) for d in self.dims)}]"


@functools.lru_cache(maxsize=4096)
def parse_shape(text: str) -> tuple[TensorShape, ...]:
    """The tensors of a shape, those of nested tuples in pre-order; layouts do not count.

    >>> [str(leaf) for leaf in parse_shape("(f32[8,<=4]{1,0:T(8,128)}, (s32[], token[]))")]
    ['f32[8,4]', 's32[]', 'token[]']
    """
    return tuple([TensorShape(name, _dims(dims)) for name, dims in _TENSOR.findall(_LAYOUT.sub("", text))])


def _dims(text: str) -> tuple[int, ...]:
    parts = [part.strip().removeprefix("<=") for part in text.split(",") if part.strip()]
    return tuple([int(part) if part.isdecimal() and len(part) < 20 else -1 for part in parts])
