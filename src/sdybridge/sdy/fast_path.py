"""Canonical sharding text without the grammar: cut at separators, each piece looked up.

A piece is entered only when it is canonical text of one whole dimension or axis list. Names in such text hold
neither quotes nor backslashes, so a text that is made of such pieces and the separators between them has no
other reading: a separator inside a name would leave pieces with unbalanced quotes, which are never entered.
"""

from __future__ import annotations

import re

from sdybridge.sdy.axis_ref import AxisRefAttr
from sdybridge.sdy.dimension import DimensionShardingAttr
from sdybridge.sdy.fields import INT64_MAX
from sdybridge.sdy.sharding import TensorShardingAttr, TensorShardingPerValueAttr

_NAME = r'"[ !#-\[\]-~]*"'
_INT = r"(?:0|[1-9][0-9]{0,18})"
_REF = rf"{_NAME}(?::\({_INT}\){_INT})?"
_REFS = re.compile(rf"{_REF}(?:, {_REF})*\}}")
_DIMENSION = re.compile(rf"(?:\?|(?:{_REF}(?:, {_REF})*(?P<open>, \?)?)?)\}}(?:p(?P<priority>{_INT}))?")
_EACH_REF = re.compile(rf'"([^"]*)"(?::\(({_INT})\)({_INT}))?')
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_IN_TEXT = re.compile(
    r'<@[A-Za-z_][A-Za-z0-9_$.]*, \[(?:[^]"\n]|"[^"\\\n]*")*\]'
    r'(?:, (?:replicated|unreduced)=\{(?:[^}"\n]|"[^"\\\n]*")*\})*>'
)

_FULL = "#sdy.sharding"
_FULL_PER_VALUE = "#sdy.sharding_per_value"

# Both caches only save time, so they are emptied when full; a dict's own operations are atomic.
_MAX_CACHED = 1 << 14
_dimensions: dict[str, DimensionShardingAttr] = {}
_ref_lists: dict[str, tuple[AxisRefAttr, ...]] = {}


def sharding(text: str) -> TensorShardingAttr | None:
    """The sharding, in full or stripped form, or None when the text is not canonical."""
    if text.startswith("<@"):
        return _between_angles(text[1:-1]) if text.endswith(">") else None
    if text.startswith("#sdy.sharding<@") and text.endswith(">"):
        return _between_angles(text[14:-1])
    return None


def per_value(text: str) -> TensorShardingPerValueAttr | None:
    """The shardings, in full, stripped or in-op form, or None when the text is not canonical."""
    body = text.removeprefix(_FULL_PER_VALUE)
    if body.startswith("<[<") and body.endswith(">]>"):
        body = body[3:-3]
    elif body is text and body.startswith("[<") and body.endswith(">]"):
        body = body[2:-2]
    else:
        return None
    shardings = []
    for piece in body.split(">, <"):
        found = _between_angles(piece)
        if found is None:
            return None
        shardings.append(found)
    return TensorShardingPerValueAttr(tuple(shardings))


def sharding_at(text: str, pos: int) -> tuple[TensorShardingAttr, int] | None:
    """The sharding that starts at `pos` of a larger text, and its end."""
    start = pos + len(_FULL) if text.startswith(_FULL, pos) else pos
    extent = _IN_TEXT.match(text, start)
    found = None if extent is None else _between_angles(text[start + 1 : extent.end() - 1])
    return None if extent is None or found is None else (found, extent.end())


def _between_angles(text: str) -> TensorShardingAttr | None:
    """`@mesh, [{"x"}, {}], replicated={"y"}`."""
    mesh, _, rest = text.partition(", [")
    name = mesh[1:]
    if not mesh.startswith("@") or not ((name.isidentifier() and name.isascii()) or _SYMBOL.fullmatch(name)):
        return None
    replicated = unreduced = ()
    if rest[-1:] != "]":
        rest, _, named = rest.partition("], ")
        lists = _named(named)
        if lists is None:
            return None
        replicated, unreduced = lists
        rest += "]"
    if rest == "]":
        return TensorShardingAttr(name, (), replicated, unreduced)
    if rest[:1] != "{":
        return None
    dims = []
    for piece in rest[1:-1].split(", {"):
        dim = _dimensions.get(piece) or _dimension(piece)
        if dim is None:
            return None
        dims.append(dim)
    return TensorShardingAttr(name, tuple(dims), replicated, unreduced)


def _named(text: str) -> tuple[tuple[AxisRefAttr, ...], tuple[AxisRefAttr, ...]] | None:
    """`replicated={"y"}, unreduced={"z"}`."""
    if text.startswith("unreduced={"):
        unreduced = _refs(text[11:])
        return None if unreduced is None else ((), unreduced)
    if not text.startswith("replicated={"):
        return None
    first, both, second = text[12:].partition("}, unreduced={")
    replicated = _refs(f"{first}}}" if both else first)
    unreduced = _refs(second) if both else ()
    return None if replicated is None or unreduced is None else (replicated, unreduced)


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
