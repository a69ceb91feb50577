"""Which collectives lead from one sharding to another on the same axes.

Every axis is cut into the factors that both shardings need. A dimension is then a list of factors, major to
minor, and collectives work on the most minor one of a list: a slice adds one that was free, an all-gather
removes one, an all-to-all moves one to the end of another dimension's list. A collective-permute puts the
factors of a list in another order.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.sdy import AxisRefAttr

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdybridge.sdy import MeshAttr, TensorShardingAttr

Shape = tuple[int | None, ...]


class Factor(NamedTuple):
    """A part of an axis that both shardings take or leave as one.

    Attributes:
        axis: The axis.
        pre_size: How many devices along the axis are major to it.
        size: How many are along it.
    """

    axis: str
    pre_size: int
    size: int


@dataclass(frozen=True, slots=True)
class Collective:
    """One step of a resharding.

    Attributes:
        kind: `all-gather`, `all-to-all`, `slice`, `collective-permute`, `all-reduce`, `reduce-scatter`,
            `replicated-to-unreduced` (one device of each group keeps its values, the others have zeros), or
            `broadcast` from or to a single device.
        axes: The axes that it runs along, major to minor; empty where it runs over all devices. Of an
            all-to-all that is their order in the dimension that gains them, the reverse of that in the other.
        from_dim: The dimension that loses the axes.
        to_dim: The dimension that gains them.
        group_size: How many devices take part in each group.
        shards: Into how many shards each dimension is cut afterwards.
        dims: The axes that each dimension has afterwards; None where they are not known.
    """

    kind: str
    axes: tuple[str, ...]
    from_dim: int | None
    to_dim: int | None
    group_size: int
    shards: tuple[int, ...]
    dims: tuple[tuple[str, ...], ...] | None = None

    def received(self, before: int, after: int) -> int:
        """How much of what is counted (elements or bytes of the shards) each device receives.

        Args:
            before: The amount in the shard on each device before.
            after: The amount after.
        """
        n = self.group_size
        if self.kind in ("slice", "replicated-to-unreduced"):
            return 0
        if self.kind == "all-gather":
            return max(0, after - before)
        if self.kind == "all-to-all":
            return -(-after * (n - 1) // n)
        if self.kind == "all-reduce":
            return -(-2 * before * (n - 1) // n)
        if self.kind == "reduce-scatter":
            return -(-before * (n - 1) // n)
        return after


class _Step(NamedTuple):
    kind: str
    factors: list[Factor]
    from_dim: int | None
    to_dim: int | None
    dims: list[list[Factor]]  # afterwards


@dataclass(slots=True)
class _State:
    """Where every factor is, and the steps so far."""

    dims: list[list[Factor]]
    target: list[list[Factor]]
    free: set[Factor]
    steps: list[_Step] = field(default_factory=list)

    def record(self, kind: str, factor: Factor, from_dim: int | None, to_dim: int | None) -> None:
        """Add a step, or the factor to the last step, if that is of the same kind on the same dimensions."""
        factors = [factor]
        last = self.steps[-1] if self.steps else None
        if last and (last.kind, last.from_dim, last.to_dim) == (kind, from_dim, to_dim):
            factors = [factor, *last.factors] if kind == "all-gather" else [*last.factors, factor]
            self.steps.pop()
        self.steps.append(_Step(kind, factors, from_dim, to_dim, [list(dim) for dim in self.dims]))

    def is_right(self, dim: int) -> bool:
        """Whether what a dimension has is the beginning of what it is to have."""
        return self.dims[dim] == self.target[dim][: len(self.dims[dim])]

    def wanted(self, dim: int) -> Factor | None:
        """The factor that a dimension is to get next; None if it has a wrong one, or all."""
        have = len(self.dims[dim])
        return self.target[dim][have] if self.is_right(dim) and have < len(self.target[dim]) else None


def plan(
    before: TensorShardingAttr, after: TensorShardingAttr, mesh: MeshAttr, manual: Sequence[str] = ()
) -> tuple[Collective, ...] | None:
    """Collectives that lead from one sharding to another; None if no cutting of the axes has both.

    Args:
        before: The sharding that the tensor has.
        after: The one that it gets, of the same rank.
        mesh: The mesh of both.
        manual: Axes that are manual where the tensor is, and take no part.

    >>> from sdybridge.sdy import MeshAttr, TensorShardingAttr
    >>> a, b = '<@m, [{"y"}, {}, {"x"}]>', '<@m, [{}, {"x", "y"}, {}]>'
    >>> a, b = map(TensorShardingAttr.from_string, (a, b))
    >>> for step in plan(a, b, MeshAttr.from_sizes({"x": 4, "y": 2})):
    ...     print(step.kind, *step.axes, step.from_dim, step.to_dim, step.shards)
    all-to-all "x" 2 1 (2, 4, 1)
    all-to-all "y" 0 1 (1, 8, 1)
    """
    factors = _factors((*before.axis_refs, *after.axis_refs), mesh)
    if factors is None:
        return None
    dims = [_split(dim.axes, factors) for dim in before.dim_shardings]
    target = [_split(dim.axes, factors) for dim in after.dim_shardings]
    pending = _split(before.unreduced_axes, factors)
    stays_pending = _split(after.unreduced_axes, factors)
    used = {*itertools.chain(*dims, pending)}
    everything = {
        factor for name in mesh.axis_names if name not in manual for factor in factors.get(name, ())
    }
    state = _State(dims, target, everything - used)
    if not pending and not stays_pending and _sizes(dims) == _sizes(target):
        if dims == target:
            return ()
        moved = {*itertools.chain(*dims), *itertools.chain(*target)}
        in_order = sorted(moved, key=lambda factor: (mesh.axis_index(factor.axis), factor.pre_size))
        return (_collective(_Step("collective-permute", in_order, None, None, target), mesh),)
    _reduce(state, [factor for factor in pending if factor not in stays_pending])
    _move(state)
    for factor in stays_pending:
        if factor not in pending:
            state.record("replicated-to-unreduced", factor, None, None)
    return tuple([_collective(step, mesh) for step in state.steps])


def _reduce(state: _State, pending: list[Factor]) -> None:
    """Combine the unreduced values: scattered at once where the result is to be cut along their axes."""
    for factor in pending:
        dim = next((d for d in range(len(state.dims)) if state.wanted(d) == factor), None)
        if dim is None:
            state.free.add(factor)
            state.record("all-reduce", factor, None, None)
        else:
            state.dims[dim].append(factor)
            state.record("reduce-scatter", factor, None, dim)


def _move(state: _State) -> None:
    permuted = False
    while state.dims != state.target:
        if _slice(state) or _exchange(state) or _gather_unwanted(state):
            permuted = False
        elif not permuted and _reorder(state):
            permuted = True
        else:
            _gather_smallest(state)
            permuted = False


def _slice(state: _State) -> bool:
    for dim in range(len(state.dims)):
        factor = state.wanted(dim)
        if factor is not None and factor in state.free:
            state.free.remove(factor)
            state.dims[dim].append(factor)
            state.record("slice", factor, None, dim)
            return True
    return False


def _exchange(state: _State) -> bool:
    for dim in range(len(state.dims)):
        factor = state.wanted(dim)
        for other, have in enumerate(state.dims):
            if factor is not None and other != dim and have and have[-1] == factor:
                have.pop()
                state.dims[dim].append(factor)
                state.record("all-to-all", factor, other, dim)
                return True
    return False


def _gather_unwanted(state: _State) -> bool:
    wanted = {*itertools.chain(*state.target)}
    for dim, have in enumerate(state.dims):
        if have and not state.is_right(dim) and have[-1] not in wanted:
            _gather(state, dim)
            return True
    return False


def _gather_smallest(state: _State) -> None:
    """Where everything is in the way of something else, remove the least."""
    wrong = [dim for dim in range(len(state.dims)) if not state.is_right(dim)]
    _gather(state, min(wrong, key=lambda dim: (state.dims[dim][-1].size, dim)))


def _gather(state: _State, dim: int) -> None:
    factor = state.dims[dim].pop()
    state.free.add(factor)
    state.record("all-gather", factor, dim, None)


def _reorder(state: _State) -> bool:
    """Bring to the end of each list what can leave it, and to its beginning what is to stay there."""
    wanted_elsewhere = {state.wanted(dim) for dim in range(len(state.dims))}
    kept = {*itertools.chain(*state.target)}
    old = [list(have) for have in state.dims]
    for dim, have in enumerate(state.dims):
        first = list(itertools.takewhile(lambda factor: factor in have, state.target[dim]))  # noqa: B023
        rest = [factor for factor in have if factor not in first]
        rest.sort(key=lambda factor: (factor not in kept, factor in wanted_elsewhere))
        state.dims[dim] = first + rest
    moved = [factor for a, b in zip(old, state.dims, strict=True) if a != b for factor in a]
    if not moved:
        return False
    for factor in moved:
        state.record("collective-permute", factor, None, None)
    return True


def _collective(step: _Step, mesh: MeshAttr) -> Collective:
    # Parts of an axis that change their order have to be told apart.
    one_by_one = [text for factor in step.factors for text in _texts([factor], mesh)]
    return Collective(
        step.kind,
        tuple(one_by_one) if step.kind == "all-to-all" else _texts(step.factors, mesh),
        step.from_dim,
        step.to_dim,
        math.prod(factor.size for factor in step.factors),
        _sizes(step.dims),
        tuple([_texts(dim, mesh) for dim in step.dims]),
    )


def _sizes(dims: Iterable[Sequence[Factor]]) -> tuple[int, ...]:
    return tuple([math.prod(factor.size for factor in dim) for dim in dims])


def _texts(factors: Sequence[Factor], mesh: MeshAttr) -> tuple[str, ...]:
    """The factors as refs to axes, those that follow each other as one."""
    merged: list[Factor] = []
    for factor in factors:
        last = merged[-1] if merged else None
        if last and last.axis == factor.axis and last.pre_size * last.size == factor.pre_size:
            merged[-1] = Factor(last.axis, last.pre_size, last.size * factor.size)
        else:
            merged.append(factor)
    return tuple([
        (
            AxisRefAttr(factor.axis)
            if factor.size == mesh.axis_size(factor.axis)
            else AxisRefAttr.sub(*factor)
        ).stripped
        for factor in merged
    ])  # fmt: skip


def _factors(refs: Iterable[AxisRefAttr], mesh: MeshAttr) -> dict[str, list[Factor]] | None:
    """The factors of every axis, major to minor; None if parts of an axis overlap in a way that has none."""
    borders: dict[str, set[int]] = {axis.name: {1, axis.size} for axis in mesh.axes}
    for ref in refs:
        if ref.sub_axis_info is not None:
            borders[ref.name] |= {ref.sub_axis_info.pre_size, ref.sub_axis_info.next_pre_size}
    factors = {}
    for name, found in borders.items():
        cuts = list(itertools.pairwise(sorted(found)))
        if any(high % low for low, high in cuts):
            return None
        factors[name] = [Factor(name, low, high // low) for low, high in cuts]
    return factors


def _split(refs: Iterable[AxisRefAttr], factors: dict[str, list[Factor]]) -> list[Factor]:
    found = []
    for ref in refs:
        sub = ref.sub_axis_info
        low, high = (1, None) if sub is None else (sub.pre_size, sub.next_pre_size)
        found += [
            factor
            for factor in factors[ref.name]
            if factor.pre_size >= low and (high is None or factor.pre_size < high) and factor.size > 1
        ]
    return found
