"""How two shardings differ in what they say, whether or not they place a tensor alike."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from sdybridge.hlo import HloSharding
from sdybridge.hlo.checks import cropped
from sdybridge.sdy import MeshAttr, TensorShardingAttr
from sdybridge.sdy.printer import symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.checks.reading import Placed
    from sdybridge.sdy import DimensionShardingAttr


def form_differences(a: Placed, b: Placed) -> tuple[str, ...]:
    """In words what the texts of two shardings say differently; nothing if they say the same.

    >>> from sdybridge.checks.reading import Placed
    >>> mesh = MeshAttr.from_sizes({"x": 2})
    >>> texts = '<@mesh, [{"x"}, {}]>', '<@mesh, [{"x"}, {?}]>'
    >>> form_differences(*[Placed(TensorShardingAttr.from_string(text), mesh) for text in texts])
    ('dimension 1: closed in A, open in B',)
    """
    first, second = a.sharding, b.sharding
    if isinstance(first, TensorShardingAttr) and isinstance(second, TensorShardingAttr):
        return (*_meshes(a, b), *_shardy(first, second))
    if isinstance(first, HloSharding) and isinstance(second, HloSharding):
        return tuple(_hlo(first, second)) or tuple(_spelling(a, b))
    names = ["Shardy" if isinstance(one.sharding, TensorShardingAttr) else "HLO" for one in (a, b)]
    return (f"notation: {names[0]} in A, {names[1]} in B",)


def _meshes(a: Placed, b: Placed) -> Iterator[str]:
    names = [_name(one.sharding.mesh_or_ref) for one in (a, b)]  # type: ignore[union-attr]
    if names[0] != names[1]:
        yield f"mesh: {names[0]} in A, {names[1]} in B"
    elif a.mesh and b.mesh and a.mesh is not b.mesh:
        yield f"mesh: {a.mesh.stripped} in A, {b.mesh.stripped} in B"
    if a.manual_axes != b.manual_axes:
        yield f"manual axes: {_list(a.manual_axes)} in A, {_list(b.manual_axes)} in B"


def _shardy(a: TensorShardingAttr, b: TensorShardingAttr) -> Iterator[str]:
    if a.rank != b.rank:
        yield f"rank: {a.rank} in A, {b.rank} in B"
    for i, (one, other) in enumerate(zip_longest(a.dim_shardings, b.dim_shardings)):
        if one and other and one is not other:
            yield from _dimensions(i, one, other)
    for part in ("replicated_axes", "unreduced_axes"):
        one, other = (_list([ref.stripped for ref in getattr(sharding, part)]) for sharding in (a, b))
        if one != other:
            yield f"{part.replace('_', ' ')}: {one} in A, {other} in B"
    if a.reduction_op is not b.reduction_op:
        yield f"reduction: {a.reduction_op.name.lower()} in A, {b.reduction_op.name.lower()} in B"


def _dimensions(i: int, a: DimensionShardingAttr, b: DimensionShardingAttr) -> Iterator[str]:
    if a.axes != b.axes:
        one, other = (_list([ref.stripped for ref in dim.axes]) for dim in (a, b))
        yield f"axes of dimension {i}: {one} in A, {other} in B"
    if a.is_closed != b.is_closed:
        one, other = ("closed" if dim.is_closed else "open" for dim in (a, b))
        yield f"dimension {i}: {one} in A, {other} in B"
    if a.priority != b.priority:
        one, other = ("none" if dim.priority is None else f"p{dim.priority}" for dim in (a, b))
        yield f"priority of dimension {i}: {one} in A, {other} in B"


def _hlo(a: HloSharding, b: HloSharding) -> Iterator[str]:
    texts = [one.to_string(include_metadata=True) for one in (a, b)]
    if texts[0] == texts[1]:
        return
    plain = [str(one) for one in (a, b)]
    if plain[0] != plain[1]:
        yield f"text: {cropped(plain[0])} in A, {cropped(plain[1])} in B"
    else:
        yield "other metadata"
    if a.reduction_op is not b.reduction_op:
        yield f"reduction: {a.reduction_op.name.lower()} in A, {b.reduction_op.name.lower()} in B"


def _spelling(a: Placed, b: Placed) -> Iterator[str]:
    texts = ["".join(one.text.split()) for one in (a, b)]
    if all(texts) and texts[0] != texts[1] and str(a.sharding) == str(b.sharding):
        yield f"they are written differently; XLA reads both as {cropped(a.sharding)}"


def _name(mesh: str | MeshAttr) -> str:
    return mesh.stripped if isinstance(mesh, MeshAttr) else symbol(mesh)


def _list(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(names) or "none"
