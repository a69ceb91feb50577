"""The short way from sharding text as XLA prints it to a sharding; None where the grammar must look closer.

What is not canonical, or wrong, is left to the grammar, so nothing here raises.
"""

from __future__ import annotations

import functools
import math
import re

from sdybridge.errors import SdyBridgeError
from sdybridge.hlo import subgroup as normal_forms
from sdybridge.hlo.checks import INT64_MAX, MAX_ARRAY_RANK
from sdybridge.hlo.device_list import to_ids
from sdybridge.hlo.kinds import OpShardingType
from sdybridge.hlo.sharding import HloSharding
from sdybridge.hlo.tile_assignment import TileAssignment
from sdybridge.target import Target

# Lists are short, so that no product or permutation of theirs takes long; ids fit 64 bits.
_LEAF = re.compile(
    r"\{(?:devices=\[([0-9,]{1,200})\]"
    r"(?:<=\[([0-9,]{1,200})\](?:T\(([0-9,]{1,200})\))?|([0-9]{1,18}(?:,[0-9]{1,18})++))"
    r"( last_tile_dim_replicate| last_tile_dims=\{[a-z, ]{1,80}\})?"
    r"|(replicated|manual|unknown|unreduced)|maximal device=([0-9]{1,18}))\}"
)
_SEPARATOR = re.compile(r", (?:/\*index=[0-9]+\*/)?")
_SIMPLE = {
    "replicated": HloSharding.replicate(),
    "manual": HloSharding.manual(),
    "unknown": HloSharding.unknown(),
    "unreduced": HloSharding.unreduced(),
}
_OTHER = OpShardingType.OTHER
_PARTIAL = " last_tile_dim_replicate"
_TYPE_LISTS = {
    f" last_tile_dims={{{', '.join(names)}}}": tuple([OpShardingType[name.upper()] for name in names])
    for names in (
        ("manual",),
        ("unreduced",),
        ("manual", "replicated"),
        ("unreduced", "replicated"),
        ("manual", "unreduced"),
        ("manual", "unreduced", "replicated"),
    )
}


def sharding(text: str, target: Target) -> HloSharding | None:
    """The sharding that all of `text` spells."""
    match = _LEAF.fullmatch(text)
    if match is not None:
        return _leaf(match, target)
    found = _tuple_at(text, 0, target) if text.startswith("{{") else None
    return found[0] if found is not None and found[1] == len(text) else None


def sharding_at(text: str, pos: int, target: Target) -> tuple[HloSharding, int] | None:
    """The sharding that starts at `pos` of a larger text, and its end."""
    return _tuple_at(text, pos, target) if text.startswith("{{", pos) else leaf_at(text, pos, target)


def leaf_at(text: str, pos: int, target: Target) -> tuple[HloSharding, int] | None:
    """The sharding of one tensor that starts at `pos`, and its end."""
    match = _LEAF.match(text, pos)
    found = None if match is None else _leaf(match, target)
    return None if match is None or found is None else (found, match.end())


def _tuple_at(text: str, pos: int, target: Target) -> tuple[HloSharding, int] | None:
    elements = []
    known: dict[str, HloSharding] = {}  # thousands of elements are few shardings
    pos += 1
    while True:
        end = text.find("}", pos) + 1
        leaf = known.get(text[pos:end])
        if leaf is None:
            found = leaf_at(text, pos, target)
            if found is None:
                return None
            leaf = found[0]
            end = found[1]
            known[text[pos:end]] = leaf
        elements.append(leaf)
        pos = end
        if text.startswith("}", pos):
            return HloSharding.flat_tuple(elements), pos + 1
        separator = _SEPARATOR.match(text, pos)
        if separator is None:
            return None
        pos = separator.end()


def _leaf(match: re.Match[str], target: Target) -> HloSharding | None:
    dims, sizes, perm, ids, tail, kind, device = match.groups()
    if kind is not None:
        return None if target is Target.CLASSIC and kind == "unreduced" else _SIMPLE[kind]
    if device is not None:
        return HloSharding.assign_device(int(device))
    try:
        grid = _iota(dims, sizes, perm) if ids is None else _listed(dims, ids)
        if grid is None:
            return None
        if tail is None:
            return HloSharding._make(_OTHER, grid)
        if tail == _PARTIAL:
            return HloSharding._make(*normal_forms.partial_tile(grid))
        types = _TYPE_LISTS.get(tail)
        if types is None or len(types) > len(grid._dims) or target is Target.CLASSIC:
            return None
        return HloSharding._make(*normal_forms.subgroup(grid, types))
    except (ValueError, SdyBridgeError):  # an empty number, or a normal form with too many devices
        return None


def _iota(dims_text: str, sizes_text: str, perm_text: str | None) -> TileAssignment | None:
    dims, total = _shape(dims_text)
    sizes, perm, counted = _order(sizes_text, perm_text)
    return TileAssignment._from_known_iota(dims, sizes, perm) if counted == total else None


def _listed(dims_text: str, ids_text: str) -> TileAssignment | None:
    dims, total = _shape(dims_text)
    ids = to_ids(ids_text)
    if len(ids) != total or len(dims) > MAX_ARRAY_RANK:
        return None
    import numpy as np

    return TileAssignment._from_known_array(np.array(ids, dtype=np.int64).reshape(dims))


# A program has few meshes and few shapes of grids, so the same lists come again and again.
@functools.lru_cache(maxsize=4096)
def _shape(text: str) -> tuple[tuple[int, ...], int]:
    """The dims of a grid, and the number of devices; -1 for one that is wrong."""
    dims = tuple(map(int, text.split(",")))
    total = math.prod(dims)
    return dims, total if 0 < total <= INT64_MAX else -1


@functools.lru_cache(maxsize=4096)
def _order(sizes_text: str, perm_text: str | None) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """The count of an iota, the order of its dimensions, and the number of devices; 0 for a wrong one."""
    sizes = tuple(map(int, sizes_text.split(",")))
    perm = (0,) if perm_text is None else tuple(map(int, perm_text.split(",")))
    has_order = perm_text is None if len(sizes) == 1 else sorted(perm) == list(range(len(sizes)))
    return sizes, perm, math.prod(sizes) if has_order else 0
