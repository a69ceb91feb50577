"""Normal forms of tiled shardings with subgroups, exactly as XLA makes them.

A sharding's trailing grid dimensions may hold devices that do not split the tensor: replicas, or devices that
an outer program handles (manual), and so on. Many grids then mean the same thing; these functions choose
XLA's one, because the text and the bytes of a sharding show which was chosen.

Results are `(type, tiles, replicate on the last dim, types of the last dims)`.

Source: `HloSharding::PartialTile` and `HloSharding::Subgroup` in xla's `hlo/ir/hlo_sharding.cc`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sdybridge.hlo.kinds import OpShardingType
from sdybridge.hlo.tile_assignment import TileAssignment

if TYPE_CHECKING:
    NormalForm = tuple[OpShardingType, TileAssignment, bool, tuple[OpShardingType, ...]]

_MANUAL = OpShardingType.MANUAL
_OTHER = OpShardingType.OTHER
_REPLICATED = OpShardingType.REPLICATED
_UNREDUCED = OpShardingType.UNREDUCED

# Types that a whole sharding can have; any other one stays a subgroup.
_WHOLE = frozenset({_MANUAL, _REPLICATED, _UNREDUCED})

# Replicas come last, where the partitioner looks for them; unknown is a later addition behind them.
_ORDER = (
    OpShardingType.MAXIMAL,
    OpShardingType.TUPLE,
    _OTHER,
    _MANUAL,
    _UNREDUCED,
    _REPLICATED,
    OpShardingType.UNKNOWN,
)


def partial_tile(tiles: TileAssignment) -> NormalForm:
    """The normal form of a grid whose last dimension holds replicas of one tile."""
    dims = tiles._dims
    replicas = dims[-1] if dims else 1
    if len(dims) < 2 or replicas == math.prod(dims):  # nothing is left to split the tensor
        return _REPLICATED, TileAssignment.empty(), False, ()
    if replicas == 1:
        return _OTHER, tiles._reshape(dims[:-1]), False, ()
    return _OTHER, _sorted_replicas(tiles, replicas), True, ()


def _sorted_replicas(tiles: TileAssignment, replicas: int) -> TileAssignment:
    """The grid with every group of replicas in ascending order: their order has no meaning."""
    iota = tiles._iota
    if iota is not None:
        sizes, perm = iota._reshape_dims, iota._transpose_perm
        if sizes[perm[-1]] % replicas == 0:  # each group is a run within one reshape dim: it ascends already
            return tiles
        order = _sorted_tail(sizes, perm, replicas)
        if order is not None:
            return TileAssignment._from_known_iota(iota._dims, *order)
    import numpy as np

    groups = np.sort(tiles.array.reshape(-1, replicas), axis=1)
    return TileAssignment._from_known_array(groups.reshape(tiles._dims))


def _sorted_tail(
    sizes: tuple[int, ...], perm: tuple[int, ...], replicas: int
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Reshape dims and permutation whose last `replicas` devices ascend; None if a cut is not clean.

    >>> _sorted_tail((4, 4), (1, 0), 8)  # the minor half of dim 1 belongs to the replicas
    ((4, 2, 2), (1, 0, 2))
    """
    rest = replicas
    count = 0  # how many entries at the end of perm make up the replicas
    while rest != 1:
        at = perm[len(perm) - 1 - count]
        size = sizes[at]
        count += 1
        if size <= rest:
            if rest % size:
                return None
            rest //= size
            continue
        if size % rest:
            return None
        sizes = (*sizes[:at], size // rest, rest, *sizes[at + 1 :])
        moved = [source + (source > at) for source in perm]
        minor = len(moved) + 1 - count
        moved.insert(minor, at + 1)
        perm = tuple(moved)
        rest = 1
    head = len(perm) - count
    return sizes, perm[:head] + tuple(sorted(perm[head:]))


def subgroup(tiles: TileAssignment, types: tuple[OpShardingType, ...]) -> NormalForm:
    """The normal form of a grid whose last `len(types)` dimensions hold subgroups of these types."""
    if not types:
        return _OTHER, tiles, False, ()
    if types == (_REPLICATED,):  # the most frequent case; the steps below lead to the same
        return partial_tile(tiles)
    dims = tiles._dims
    rank = len(dims) - len(types)
    first = types[0]
    if first in _WHOLE and types.count(first) == len(types) and math.prod(dims[:rank]) == 1:
        return first, TileAssignment.empty(), False, ()
    tiles, types = _merged(tiles, types, rank)

    if types == (_REPLICATED,):
        return partial_tile(tiles)
    if types == (_MANUAL,) and tiles._dims[-1] == tiles.num_elements:
        # What remained after empty subgroups went. XLA has no such rule for unreduced.
        return _MANUAL, TileAssignment.empty(), False, ()
    if types and types[-1] is _REPLICATED:
        return _OTHER, _sorted_replicas(tiles, tiles._dims[-1]), False, types
    return _OTHER, tiles, False, types


def _merged(
    tiles: TileAssignment, types: tuple[OpShardingType, ...], rank: int
) -> tuple[TileAssignment, tuple[OpShardingType, ...]]:
    """One dimension of size 2 or more per type, in XLA's order of types, after the `rank` data dims."""
    dims = tiles._dims
    groups: dict[OpShardingType, list[int]] = {}
    dropped = []  # a subgroup of one device says nothing
    for i, type_ in enumerate(types, start=rank):
        if dims[i] == 1:
            dropped.append(i)
        else:
            groups.setdefault(type_, []).append(i)
    ordered = [type_ for type_ in _ORDER if type_ in groups]
    if types == tuple(ordered):
        return tiles, types
    perm = (*range(rank), *[i for type_ in ordered for i in groups[type_]], *dropped)
    sizes = [math.prod([dims[i] for i in groups[type_]]) for type_ in ordered]
    return tiles._transpose(perm)._reshape((*dims[:rank], *sizes)), tuple(ordered)
