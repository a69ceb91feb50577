"""Runs of devices as axis refs: which axes of a mesh step through devices a stride apart.

An axis of a mesh is a run of devices: `size` of them, `stride` apart, where the stride is the number of
devices minor to the axis. So is each part of an axis, and so are axes that follow each other. On the mesh
x=2, y=4 the run of 4 devices, 2 apart (0, 2, 4, 6), is x followed by the major half of y.
"""

from __future__ import annotations

import functools
from operator import itemgetter
from typing import TYPE_CHECKING

from sdybridge.sdy import AxisRefAttr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdybridge.bridge.factorisation import Run
    from sdybridge.sdy import MeshAttr

_stride = itemgetter(1)


def refs_of_runs(runs: Iterable[Run], mesh: MeshAttr) -> tuple[AxisRefAttr, ...] | None:
    """The refs that step through the runs, major to minor; None if the mesh has no such axes.

    Whole axes are whole refs, and neighbouring parts of an axis within one run are one ref. Axes of size 1
    step through nothing and are not used.

    Args:
        runs: `(size, stride)` of each run, major to minor, in positions of the mesh; at least 2 long.
        mesh: The mesh.

    Example:
        >>> from sdybridge.sdy import MeshAttr
        >>> mesh = MeshAttr.from_sizes({"x": 2, "y": 4})
        >>> [ref.stripped for ref in refs_of_runs([(4, 2), (2, 1)], mesh)]
        ['"x"', '"y":(1)2', '"y":(2)2']
        >>> refs_of_runs([(2, 3)], mesh) is None
        True
    """
    whole = _whole_axes(mesh)
    refs: list[AxisRefAttr] = []
    for run in runs:
        ref = whole.get(run)
        if ref is not None:
            refs.append(ref)
            continue
        found = _cut(run, mesh)
        if found is None:
            return None
        refs += found
    return tuple(refs)


def merged_runs(runs: Iterable[Run]) -> list[Run]:
    """The runs by descending stride, those that continue each other as one: their order has no meaning.

    >>> merged_runs([(2, 1), (3, 16), (4, 2)])
    [(3, 16), (8, 1)]
    """
    merged: list[Run] = []
    for size, stride in sorted(runs, key=_stride, reverse=True):
        if merged and merged[-1][1] == size * stride:
            size *= merged.pop()[0]
        merged.append((size, stride))
    return merged


@functools.lru_cache(maxsize=1024)
def _whole_axes(mesh: MeshAttr) -> dict[Run, AxisRefAttr]:
    """The axes of size 2 and more by the run that they step through, major to minor."""
    stride = mesh.total_size
    whole = {}
    for axis in mesh.axes:
        stride //= axis.size
        if axis.size > 1:
            whole[axis.size, stride] = AxisRefAttr(axis.name)
    return whole


@functools.lru_cache(maxsize=1 << 14)  # the grids on a mesh are made of few runs
def _cut(run: Run, mesh: MeshAttr) -> tuple[AxisRefAttr, ...] | None:
    """A run that is no whole axis, cut at the borders of all axes that it passes."""
    start = run[1]  # the part of the run that is left steps from `start` up to `end`
    end = run[0] * start
    refs = []
    for (size, low), ref in _whole_axes(mesh).items():
        high = size * low
        if low >= end:
            continue
        bottom = max(start, low)
        if bottom >= end or high < end or end % bottom or bottom % low or high % end:
            return None
        pre_size = high // end
        refs.append(ref if end // bottom == size else AxisRefAttr.sub(ref.name, pre_size, end // bottom))
        end = bottom
        if end == start:
            return tuple(refs)
    return None
