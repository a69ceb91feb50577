"""Seeded random attributes of every kind, as free as their classes allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sdybridge.sdy import (
    AllToAllParamAttr,
    AllToAllParamListAttr,
    Attribute,
    AxisRefAttr,
    AxisRefListAttr,
    DimensionShardingAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    MeshAxisAttr,
    SubAxisInfoAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

_NAMES = (
    "x",
    "y",
    "z",
    "data",
    "_axis_0",
    "a.b$c",
    "",
    " ",
    'q"\\',
    "line\n",
    "nul\0nul",
    "é",
    "日本",
    "\udcff",
)
_NUMBERS = (0, 1, 2, 3, 4, 8, 12, 512, -1, -5, 2**31, 2**62, 2**63 - 1, -(2**63))


def random_attribute(rng: random.Random) -> Attribute:
    """An attribute of any kind, as free as its class allows."""
    return rng.choice(_KINDS)(rng)


def _name(rng: random.Random) -> str:
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(20)).decode("utf-8", "surrogateescape")
    return rng.choice(_NAMES)


def _number(rng: random.Random) -> int:
    return rng.choice((rng.choice(_NUMBERS), rng.randrange(-(2**63), 2**63)))


def _several(rng: random.Random, kind: Callable[[random.Random], Any], most: int = 3) -> Sequence[Any]:
    return [kind(rng) for _ in range(rng.randrange(most + 1))]


def _axis(rng: random.Random) -> MeshAxisAttr:
    return MeshAxisAttr(_name(rng), max(1, abs(_number(rng)) % 2**63))


def _mesh(rng: random.Random) -> MeshAttr:
    if rng.random() < 0.2:
        return MeshAttr((), [rng.randrange(2**63)] if rng.random() < 0.7 else ())
    sizes = {name: rng.randrange(1, 5) for name in {_name(rng) for _ in range(rng.randrange(1, 4))}}
    mesh = MeshAttr.from_sizes(sizes)
    ids = list(range(mesh.total_size))
    rng.shuffle(ids)
    return MeshAttr(mesh.axes, ids if rng.random() < 0.5 else ())


def _part(rng: random.Random) -> SubAxisInfoAttr:
    return SubAxisInfoAttr(_number(rng), _number(rng))


def _ref(rng: random.Random) -> AxisRefAttr:
    return AxisRefAttr(_name(rng), _part(rng) if rng.random() < 0.5 else None)


def _dimension(rng: random.Random) -> DimensionShardingAttr:
    priority = None if rng.random() < 0.5 else rng.choice((0, 1, 7, 2**63 - 1))
    return DimensionShardingAttr(_several(rng, _ref), rng.random() < 0.5, priority)


def _sharding(rng: random.Random) -> TensorShardingAttr:
    mesh = _mesh(rng) if rng.random() < 0.3 else _name(rng) or "mesh"
    return TensorShardingAttr(mesh, _several(rng, _dimension, 5), _several(rng, _ref), _several(rng, _ref))


def _ref_list(rng: random.Random) -> AxisRefListAttr:
    return AxisRefListAttr(_several(rng, _ref))


def _move(rng: random.Random) -> AllToAllParamAttr:
    return AllToAllParamAttr(
        [_ref(rng), *_several(rng, _ref, 2)], abs(_number(rng)) % 9, abs(_number(rng)) % 9
    )


_KINDS: Sequence[Callable[[random.Random], Attribute]] = (
    _axis,
    _mesh,
    _part,
    _ref,
    _dimension,
    _sharding,
    _sharding,
    lambda rng: TensorShardingPerValueAttr(_several(rng, _sharding)),
    lambda rng: ManualAxesAttr(_several(rng, _name)),
    _ref_list,
    lambda rng: ListOfAxisRefListsAttr(_several(rng, _ref_list)),
    _move,
    lambda rng: AllToAllParamListAttr(_several(rng, _move)),
)
