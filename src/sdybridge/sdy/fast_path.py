"""Canonical sharding text without the grammar: cut at separators, each piece looked up.

A piece is entered only when it is canonical text of one whole dimension or axis list. Names in such text hold
neither quotes nor backslashes, so a text that is made of such pieces and the separators between them has no
other reading: a separator inside a name would leave pieces with unbalanced quotes, which are never entered.
"""

from __future__ import annotations

import re
from typing import TypeVar

from sdybridge.sdy.axis_ref import AxisRefAttr
from sdybridge.sdy.dimension import DimensionShardingAttr
from sdybridge.sdy.fields import INT64_MAX
from sdybridge.sdy.sharding import (
    ReductionOp,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
    trusted_sharding,
)

T = TypeVar("T")

_NAME = r'"[ !#-\[\]-~]*"'
_INT = r"(?:0|[1-9][0-9]{0,18})"
_REF = rf"{_NAME}(?::\({_INT}\){_INT})?"
_REFS = re.compile(rf"{_REF}(?:, {_REF})*\}}")
_DIMENSION = re.compile(rf"(?:\?|(?:{_REF}(?:, {_REF})*(?P<open>, \?)?)?)\}}(?:p(?P<priority>{_INT}))?")
_EACH_REF = re.compile(rf'"([^"]*)"(?::\(({_INT})\)({_INT}))?')
_HEAD = re.compile(r"(?:#sdy\.sharding)?<@([A-Za-z_][A-Za-z0-9_$.]*)")
# It stops at what no canonical text has, so that many broken ones in a row are not read over and over.
_IN_TEXT = re.compile(
    r'(?:#sdy\.sharding)?<@[A-Za-z_][A-Za-z0-9_$.]*+, \[(?:[{}?,:()0-9p ]++|"[^"\\\n]*+")*+\]'
    r'(?:, (?:replicated|unreduced)=\{(?:[,:()0-9 ]++|"[^"\\\n]*+")*+\})*+>'
)

_FULL_PER_VALUE = "#sdy.sharding_per_value"

# The caches only save time, so they are emptied when full; a dict's own operations are atomic.
_MAX_CACHED = 1 << 14
_heads: dict[str, str] = {}
_dimensions: dict[str, DimensionShardingAttr] = {}
_ref_lists: dict[str, tuple[AxisRefAttr, ...]] = {}

_SUM = ReductionOp.SUM


def sharding(text: str) -> TensorShardingAttr | None:
    """The sharding, in full or stripped form, or None when the text is not canonical."""
    head, _, rest = text.partition(", [")
    name = _heads.get(head)
    if name is not None and rest[-2:] == "]>":
        dims = tuple(map(_dimensions.get, rest[1:-2].split(", {")))
        if None not in dims and rest[0] == "{":
            return trusted_sharding((name, dims, (), (), _SUM))  # type: ignore[arg-type]  # no None left
    name = name or _mesh_name(head)
    return None if name is None else _with_new_parts(name, rest)


def per_value(text: str) -> TensorShardingPerValueAttr | None:
    """The shardings, in full, stripped or in-op form, or None when the text is not canonical."""
    body = text.removeprefix(_FULL_PER_VALUE)
    if body.startswith("<[<") and body.endswith(">]>"):
        body = body[2:-2]
    elif body is text and body.startswith("[<") and body.endswith(">]"):
        body = body[1:-1]
    else:
        return None
    shardings = []
    for piece in body[1:-1].split(">, <"):
        found = sharding(f"<{piece}>")
        if found is None:
            return None
        shardings.append(found)
    return TensorShardingPerValueAttr(tuple(shardings))


def sharding_at(text: str, pos: int) -> tuple[TensorShardingAttr, int] | None:
    """The sharding that starts at `pos` of a larger text, and its end."""
    extent = _IN_TEXT.match(text, pos)
    found = None if extent is None else sharding(extent[0])
    return None if extent is None or found is None else (found, extent.end())


def _mesh_name(head: str) -> str | None:
    """The mesh of `#sdy.sharding<@mesh` or `<@mesh`."""
    match = _HEAD.fullmatch(head)
    if match is not None:
        _enter(_heads, head, match[1])
    return match and match[1]


def _with_new_parts(name: str, rest: str) -> TensorShardingAttr | None:
    """The sharding on the mesh `name` that goes on with `{"x"}, {}], replicated={"y"}>`."""
    replicated: tuple[AxisRefAttr, ...] | None = ()
    unreduced: tuple[AxisRefAttr, ...] | None = ()
    if not rest.endswith("]>"):
        rest, _, named = rest.partition("], ")
        replicated, unreduced = _named(named)
        rest += "]>"
    if replicated is None or unreduced is None:
        return None
    if rest == "]>":
        return trusted_sharding((name, (), replicated, unreduced, _SUM))
    if not rest.startswith("{"):
        return None
    dims = []
    for piece in rest[1:-2].split(", {"):
        dim = _dimensions.get(piece) or _dimension(piece)
        if dim is None:
            return None
        dims.append(dim)
    return trusted_sharding((name, tuple(dims), replicated, unreduced, _SUM))


def _named(text: str) -> tuple[tuple[AxisRefAttr, ...] | None, tuple[AxisRefAttr, ...] | None]:
    """The replicated and the unreduced axes of `replicated={"y"}, unreduced={"z"}>`."""
    if not text.endswith("}>"):
        return None, None
    if text.startswith("unreduced={"):
        return (), _refs(text[11:-1])
    if not text.startswith("replicated={"):
        return None, None
    first, both, second = text[12:-2].partition("}, unreduced={")
    return _refs(f"{first}}}"), _refs(f"{second}}}") if both else ()


def _refs(piece: str) -> tuple[AxisRefAttr, ...] | None:
    """The refs of `"x", "y":(1)2}`."""
    refs = _ref_lists.get(piece)
    if refs is None and _REFS.fullmatch(piece):
        refs = _read_refs(piece)
        if refs is not None:
            _enter(_ref_lists, piece, refs)
    return refs


def _dimension(piece: str) -> DimensionShardingAttr | None:
    """The dimension `"x", ?}p1`."""
    match = _DIMENSION.fullmatch(piece)
    if match is None:
        return None
    refs = _read_refs(piece)
    priority = int(match["priority"]) if match["priority"] else None
    if refs is None or (priority or 0) > INT64_MAX:
        return None
    is_closed = not piece.startswith("?") and match["open"] is None
    dim = DimensionShardingAttr(refs, is_closed, priority)
    _enter(_dimensions, piece, dim)
    return dim


def _read_refs(piece: str) -> tuple[AxisRefAttr, ...] | None:
    refs = []
    for name, pre_size, size in _EACH_REF.findall(piece):
        if not size:
            refs.append(AxisRefAttr(name))
        elif int(pre_size) > INT64_MAX or int(size) > INT64_MAX:
            return None
        else:
            refs.append(AxisRefAttr.sub(name, int(pre_size), int(size)))
    return tuple(refs)


def _enter(cache: dict[str, T], piece: str, value: T) -> None:
    if len(cache) >= _MAX_CACHED:
        cache.clear()
    cache[piece] = value
