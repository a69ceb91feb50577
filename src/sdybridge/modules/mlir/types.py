"""Shapes of MLIR types, read off their text."""

from __future__ import annotations

import functools
import re

from sdybridge.modules.mlir.lexer import STRING, items, matching_bracket

_SHAPED = re.compile(r"\s*(?:tensor|memref|vector)\s*<\s*")
_MESH_TENSOR = re.compile(rf"\s*!mpmd\.mesh_tensor\s*<\s*{STRING}\s*,\s*(?=tensor\s*<)")
_UNRANKED = re.compile(r"\*\s*x")
_DIM = re.compile(r"(?:(\?)|([0-9]++)|\[\s*[0-9]++\s*\])\s*x\s*")
_TUPLE = re.compile(r"\s*tuple\s*<")

_MOST = (1 << 63) - 1
_MOST_DIGITS = 19

Shape = tuple[int | None, ...]
"""Sizes of a tensor's dimensions; None for a dynamic one."""


def is_shaped(text: str) -> bool:
    """Whether the type is a tensor, memref or vector, ranked or not, or a tensor on a mesh of MPMD's.

    >>> is_shaped("tensor<*xf32>"), is_shaped("!stablehlo.token"), is_shaped("i32")
    (True, False, False)
    """
    return _SHAPED.match(text) is not None or _MESH_TENSOR.match(text) is not None


@functools.lru_cache(maxsize=4096)
def shape_of(text: str) -> Shape | None:
    """The shape of a ranked tensor, memref or vector; None for other types, and for sizes that MLIR refuses.

    >>> shape_of("tensor<2x?xcomplex<f32>>"), shape_of("tensor<f32>"), shape_of("tensor<*xf32>")
    ((2, None), (), None)
    >>> shape_of('!mpmd.mesh_tensor<"m", tensor<4x8xf32>>')
    (4, 8)
    """
    text = _without_mesh(text)
    head = _SHAPED.match(text)
    if not head or _UNRANKED.match(text, head.end()):
        return None
    sizes = [found.group(2) for found in _dims(text, head.end())]
    if any(size and len(size) > _MOST_DIGITS for size in sizes):
        return None
    shape = tuple(int(size) if size else None for size in sizes)
    return None if any(size and size > _MOST for size in shape) else shape


def rank_of(text: str) -> int | None:
    """The number of dimensions of a ranked tensor, memref or vector; None for any other type.

    >>> rank_of("tensor<2x3xf32>"), rank_of("i32")
    (2, None)
    """
    shape = shape_of(text)
    return None if shape is None else len(shape)


def element_of(text: str) -> str:
    """What a shaped type holds: its text without the dimensions.

    >>> element_of("tensor<2x3xf32, #e>")
    'f32, #e'
    """
    text = _without_mesh(text)
    head = _SHAPED.match(text)
    if not head:
        return text
    pos = head.end()
    for found in _dims(text, pos):
        pos = found.end()
    return text[pos:].rstrip().removesuffix(">").rstrip()


def with_shape(text: str, shape: Shape) -> str:
    """The shaped type `text` with other dimensions.

    >>> with_shape("tensor<2x3xf32>", (1, None))
    'tensor<1x?xf32>'
    """
    dims = "".join("?x" if size is None else f"{size}x" for size in shape)
    return f"{text[: text.index('<')].strip()}<{dims}{element_of(text)}>"


def tuple_elements(text: str) -> list[str] | None:
    """The element types of a tuple; None for any other type.

    >>> tuple_elements("tuple<tensor<2xf32>, i32>"), tuple_elements("tuple<>"), tuple_elements("i32")
    (['tensor<2xf32>', 'i32'], [], None)
    """
    head = _TUPLE.match(text)
    if not head:
        return None
    end = matching_bracket(text, head.end() - 1)
    return [text[span.start : span.end] for span in items(text, head.end(), end - 1)]


def _without_mesh(text: str) -> str:
    """The tensor type in a type of MPMD's, which says on which mesh it lies; any other type as it is."""
    found = _MESH_TENSOR.match(text)
    return text[found.end() : matching_bracket(text, text.index("<", found.end()))] if found else text


def _dims(text: str, pos: int) -> list[re.Match[str]]:
    dims = []
    while found := _DIM.match(text, pos):
        dims.append(found)
        pos = found.end()
    return dims
