"""Seeded random meshes and shardings, valid by construction.

Every axis is left whole or cut along a chain of divisors; the pieces go to dimensions, to the replicated or
unreduced list, or nowhere. So no two pieces overlap, and any two of one axis can coexist.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from typing import TYPE_CHECKING

from tests.differential.oracle.shardings import Case, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_DEVICES = 1024
MAX_DEVICES_IN_ORDER = 1 << 24
FEATURES = frozenset({
    "one axis", "five or more axes", "prime axis", "size-1 axis", "odd name", "device ids", "large mesh",
    "maximal mesh", "empty mesh", "one device", "rank 0", "rank 5", "whole axis", "sub-axis",
    "two sub-axes in one dimension", "one axis over several lists", "several axes in one dimension",
    "minor before major", "open", "priority", "replicated", "replicated sub-axis", "unreduced",
    "unreduced sub-axis", "manual", "all manual", "manual and sub-axis", "untouched axis",
})  # fmt: skip
"""Everything that `random_samples` is meant to hit often."""

_PLAIN_NAMES = (
    "x",
    "y",
    "z",
    "data",
    "fsdp",
    "tensor",
    "model",
    "expert",
    "stage",
    "_axis_0",
    "a10",
    "a9",
    "B",
)
_ODD_NAMES = (
    "",
    " ",
    "a b",
    'q"q',
    "back\\slash",
    "x:(1)2",
    "p1",
    "?",
    "}",
    "]>",
    "//",
    "line\nline",
    "0",
    "@m",
)
# XLA's front end aborts on names that are not ASCII, so there are none.
_SIZES = (1, 2, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 11, 12, 13, 16, 18, 24, 27, 30, 32, 36, 60, 64, 128)


@dataclasses.dataclass(frozen=True)
class Sample:
    """A case, and which of `FEATURES` it has."""

    case: Case
    features: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Axis:
    """A mesh axis."""

    name: str
    size: int


@dataclasses.dataclass(frozen=True, order=True)
class Ref:
    """An axis, by its position in the mesh, or a piece of it; sorted in mesh order."""

    position: int
    pre_size: int
    size: int

    def text(self, axes: Sequence[Axis]) -> str:
        axis = axes[self.position]
        piece = "" if self.size == axis.size else f":({self.pre_size}){self.size}"
        return quote(axis.name) + piece

    def merges_with(self, other: Ref) -> bool:
        """Whether `other` continues this piece; such neighbours may not stand in one list."""
        return self.position == other.position and self.pre_size * self.size == other.pre_size


def random_samples(seed: int, count: int) -> list[Sample]:
    """`count` cases; the same ones for the same seed, in any process."""
    rng = random.Random(seed)
    return [random_sample(rng) for _ in range(count)]


def random_sample(rng: random.Random) -> Sample:
    """One mesh and one sharding on it."""
    kind = rng.choices(("axes", "maximal", "empty", "one device"), weights=(92, 2, 2, 4))[0]
    if kind == "maximal":
        rank = rng.randrange(6)
        case = Case(f"#sdy.mesh<[], device_ids=[{rng.choice((0, 1, 5, 1023, 123456))}]>", "[]", rank)
        return Sample(case, frozenset({"maximal mesh"}))
    axes = random_axes(rng, kind)
    device_ids = random_device_ids(rng, axes) if kind == "axes" else None
    features = {f"{kind} mesh" if kind == "empty" else kind} & FEATURES | _mesh_features(axes, device_ids)
    manual = _random_manual_axes(rng, axes, features)
    refs = [ref for ref in _random_refs(rng, axes) if ref.position not in manual]
    body, rank = _random_body(rng, axes, refs, allow_unreduced=not manual, features=features)
    case = Case(mesh_text(axes, device_ids), body, rank, tuple(axes[k].name for k in manual))
    return Sample(case, frozenset(features))


def random_axes(rng: random.Random, kind: str = "axes") -> list[Axis]:
    """Up to six axes with distinct names."""
    if kind == "empty":
        return []
    count = rng.choices(range(1, 7), weights=(18, 25, 25, 16, 9, 7))[0]
    names = [rng.choice(_ODD_NAMES if rng.random() < 0.12 else _PLAIN_NAMES) for _ in range(30)]
    names = list(dict.fromkeys(names))[:count]
    if kind == "one device":
        return [Axis(name, 1) for name in names]
    limit = MAX_DEVICES_IN_ORDER if rng.random() < 0.05 else MAX_DEVICES
    axes = []
    for name in names:
        size = rng.choice([size for size in _SIZES if size <= limit] or [1])
        limit //= size
        axes.append(Axis(name, size))
    rng.shuffle(axes)
    return axes


def random_device_ids(rng: random.Random, axes: Sequence[Axis]) -> list[int] | None:
    """Mostly `None` (devices in order), else a permutation: reversed, transposed or random."""
    total = math.prod(axis.size for axis in axes)
    if total > MAX_DEVICES or rng.random() < 0.75:
        return None
    ids = list(range(total))
    how = rng.randrange(3)
    if how == 0:
        return ids[::-1]
    if how == 1:
        step = rng.choice([d for d in range(1, total + 1) if total % d == 0])
        return [i for start in range(step) for i in ids[start::step]]
    rng.shuffle(ids)
    return ids


def mesh_text(axes: Sequence[Axis], device_ids: Sequence[int] | None = None) -> str:
    """The mesh attribute."""
    inner = ", ".join(f"{quote(axis.name)}={axis.size}" for axis in axes)
    ids = f", device_ids=[{', '.join(map(str, device_ids))}]" if device_ids is not None else ""
    return f"#sdy.mesh<[{inner}]{ids}>"


def random_body(rng: random.Random, axes: Sequence[Axis], rank: int) -> str:
    """A sharding of a given rank on a mesh, as what follows the mesh in the attribute."""
    return _random_body(rng, axes, _random_refs(rng, axes), allow_unreduced=False, features=set(), rank=rank)[
        0
    ]


def _mesh_features(axes: Sequence[Axis], device_ids: Sequence[int] | None) -> set[str]:
    sizes = [axis.size for axis in axes]
    named = {
        "one axis": len(axes) == 1,
        "five or more axes": len(axes) >= 5,
        "prime axis": any(size in (3, 5, 7, 11, 13) for size in sizes),
        "size-1 axis": 1 in sizes,
        "odd name": any(axis.name in _ODD_NAMES for axis in axes),
        "device ids": device_ids is not None,
        "large mesh": math.prod(sizes) > MAX_DEVICES,
    }
    return {name for name, holds in named.items() if holds}


def _random_manual_axes(rng: random.Random, axes: Sequence[Axis], features: set[str]) -> list[int]:
    """Positions of the manual axes, in any order (nested computations add theirs at the end)."""
    if not axes or rng.random() < 0.75:
        return []
    count = len(axes) if rng.random() < 0.1 else rng.randrange(len(axes))
    if count:
        features.add("all manual" if count == len(axes) else "manual")
    return rng.sample(range(len(axes)), count)


def _random_refs(rng: random.Random, axes: Sequence[Axis]) -> list[Ref]:
    """Whole axes and pieces that can stand together, in mesh order; some axes are left out."""
    refs = []
    for position, axis in enumerate(axes):
        if rng.random() < 0.15:
            continue
        cuts = _random_cuts(rng, axis.size) if rng.random() < 0.5 else [1, axis.size]
        pieces = [Ref(position, low, high // low) for low, high in itertools.pairwise(cuts)]
        refs += [piece for piece in pieces if len(pieces) == 1 or rng.random() < 0.8]
    return refs


def _random_cuts(rng: random.Random, size: int) -> list[int]:
    """An ascending chain of divisors from 1 to `size`, each dividing the next."""
    cuts = [1]
    while cuts[-1] < size:
        rest = size // cuts[-1]
        cuts.append(cuts[-1] * rng.choice([d for d in range(2, rest + 1) if rest % d == 0]))
    return cuts if size > 1 else [1, 1]


def _random_body(
    rng: random.Random,
    axes: Sequence[Axis],
    refs: Sequence[Ref],
    *,
    allow_unreduced: bool,
    features: set[str],
    rank: int | None = None,
) -> tuple[str, int]:
    rank = rng.choices(range(6), weights=(6, 20, 30, 22, 14, 8))[0] if rank is None else rank
    places = [
        *range(rank),
        *range(rank),
        *range(rank),
        "replicated",
        *(["unreduced"] * allow_unreduced),
        "none",
    ]
    lists: dict[int | str, list[Ref]] = {place: [] for place in places}
    for ref in refs:
        lists[rng.choice(places)].append(ref)
    for place in range(rank):
        rng.shuffle(lists[place])
    lists = {place: _without_mergeable(found) for place, found in lists.items() if place != "none"}
    dims = [_dimension(rng, axes, lists[place], features) for place in range(rank)]
    named = [
        f", {name}={{{', '.join(ref.text(axes) for ref in lists[name])}}}"
        for name in ("replicated", "unreduced")
        if lists.get(name)
    ]
    features |= _body_features(axes, lists, rank, features)
    return f"[{', '.join(dims)}]{''.join(named)}", rank


def _without_mergeable(refs: Sequence[Ref]) -> list[Ref]:
    kept: list[Ref] = []
    for ref in refs:
        if not (kept and kept[-1].merges_with(ref)):
            kept.append(ref)
    return kept


def _dimension(rng: random.Random, axes: Sequence[Axis], refs: Sequence[Ref], features: set[str]) -> str:
    parts = [ref.text(axes) for ref in refs]
    if rng.random() < 0.25:
        parts.append("?")
        features.add("open")
    if parts and rng.random() < 0.15:
        features.add("priority")
        return f"{{{', '.join(parts)}}}p{rng.choice((0, 1, 2, 17))}"
    return f"{{{', '.join(parts)}}}"


def _body_features(
    axes: Sequence[Axis], lists: dict[int | str, list[Ref]], rank: int, features: set[str]
) -> set[str]:
    is_piece = {ref: ref.size != axes[ref.position].size for refs in lists.values() for ref in refs}
    dims = [lists[place] for place in range(rank)]
    replicated, unreduced = lists["replicated"], lists.get("unreduced", [])
    holders: dict[int, set[int | str]] = {}
    for place, refs in lists.items():
        for ref in refs:
            holders.setdefault(ref.position, set()).add(place)
    pieces_by_dim = [[ref.position for ref in refs if is_piece[ref]] for refs in dims]
    named = {
        "rank 0": rank == 0,
        "rank 5": rank == 5,
        "whole axis": not all(is_piece.values()),
        "sub-axis": any(is_piece.values()),
        "two sub-axes in one dimension": any(len(set(p)) < len(p) for p in pieces_by_dim),
        "one axis over several lists": any(len(places) > 1 for places in holders.values()),
        "several axes in one dimension": any(len(refs) > 1 for refs in dims),
        "minor before major": any(refs != sorted(refs) for refs in dims),
        "replicated": bool(replicated),
        "replicated sub-axis": any(is_piece[ref] for ref in replicated),
        "unreduced": bool(unreduced),
        "unreduced sub-axis": any(is_piece[ref] for ref in unreduced),
        "manual and sub-axis": "manual" in features and any(is_piece.values()),
        "untouched axis": len(holders) < len(axes),
    }
    return {name for name, holds in named.items() if holds}
