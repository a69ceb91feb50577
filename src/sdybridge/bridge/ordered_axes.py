"""The device order of a sharding: every mesh axis, cut wherever the sharding cuts it, in mesh order."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

from sdybridge.sdy import AxisRefAttr

if TYPE_CHECKING:
    from sdybridge.sdy import MeshAttr, TensorShardingAttr


def get_ordered_axis_refs(sharding: TensorShardingAttr, mesh: MeshAttr) -> tuple[AxisRefAttr, ...]:
    """The axis refs that tile the whole mesh, major to minor, as finely as `sharding` needs.

    A mesh axis that the dimensions and unreduced axes of `sharding` use whole, or not at all, stays
    one full ref. An axis of which they use sub-axes is cut at the borders of each. Explicitly
    replicated axes cut nothing. The sizes of the result multiply to the size of the mesh.

    Args:
        sharding: A sharding that is valid on `mesh`, and whose sub-axes can coexist.
        mesh: The mesh that `sharding` is on.

    Example:
        >>> from sdybridge.sdy import MeshAttr, TensorShardingAttr
        >>> mesh = MeshAttr.from_string('<["x"=8, "y"=4]>')
        >>> sharding = TensorShardingAttr.from_string('<@mesh, [{"x":(2)2}, {"y"}]>')
        >>> print(*[ref.stripped for ref in get_ordered_axis_refs(sharding, mesh)])
        "x":(1)2 "x":(2)2 "x":(4)2 "y"

    Source: `getOrderedAxisRefs` in shardy's `dialect/sdy/ir/utils.cc`.
    """
    cuts: dict[str, set[int]] = {}
    for axes in (*[dim.axes for dim in sharding.dim_shardings], sharding.unreduced_axes):
        for name, low, high in _cuts(axes):
            cuts.setdefault(name, {1}).update((low, high))
    full, _ = full_axes(mesh)
    if not cuts:
        return full
    ordered: list[AxisRefAttr] = []
    for axis, ref in zip(mesh.axes, full, strict=True):
        if axis.name in cuts:
            ordered += _pieces(axis.name, tuple(sorted(cuts[axis.name] | {axis.size})))
        else:
            ordered.append(ref)
    return tuple(ordered)


# Programs repeat few dimensions and few cuts on few meshes.
@functools.lru_cache(maxsize=4096)
def _cuts(axes: tuple[AxisRefAttr, ...]) -> tuple[tuple[str, int, int], ...]:
    """Where the sub-axes among `axes` start and end: the axis, the pre-size and the next pre-size of each."""
    subs = ((ref.name, ref.sub_axis_info) for ref in axes)
    return tuple((name, sub.pre_size, sub.next_pre_size) for name, sub in subs if sub is not None)


@functools.lru_cache(maxsize=4096)
def _pieces(name: str, borders: tuple[int, ...]) -> tuple[AxisRefAttr, ...]:
    """The sub-axes of one axis between neighbouring borders; the first is 1, the last its size."""
    return tuple(AxisRefAttr.sub(name, low, high // low) for low, high in itertools.pairwise(borders))


@functools.lru_cache(maxsize=1024)
def full_axes(mesh: MeshAttr) -> tuple[tuple[AxisRefAttr, ...], tuple[int, ...]]:
    """One full ref per axis of `mesh`, in mesh order, and their sizes."""
    return tuple(AxisRefAttr(axis.name) for axis in mesh.axes), tuple(axis.size for axis in mesh.axes)
