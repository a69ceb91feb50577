"""Two shardings: the same in form, the same in meaning, or which devices move."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge.device_map import DeviceMap, bounds, device_ids, device_map, devices_of, is_grid
from sdybridge.checks.form import form_differences
from sdybridge.errors import VerificationError
from sdybridge.hlo import OpShardingType
from sdybridge.hlo.checks import cropped
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sdybridge.checks.reading import Placed
    from sdybridge.hlo import HloSharding

    Flags = NDArray[np.bool_]

_GROUPS = ((OpShardingType.MANUAL, "manual"), (OpShardingType.UNREDUCED, "unreduced"))


class Verdict(enum.Enum):
    """What two shardings have in common.

    >>> [verdict.value for verdict in Verdict]
    ['same', 'same-meaning', 'different']
    """

    SAME_FORM = "same"
    SAME_MEANING = "same-meaning"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison of two shardings found.

    Attributes:
        verdict: What they have in common.
        differences: How they differ, in words: in form, or in meaning.
        devices: How many devices were compared; 0 where there is nothing to compare device by device.
        changed: The devices that hold another part in the second.
        receiving: Those of them that need elements which they did not hold.

    >>> from sdybridge import compare_shardings, read_sharding
    >>> found = compare_shardings(read_sharding("{devices=[2]<=[2]}"), read_sharding("{devices=[2]1,0}"))
    >>> found.verdict.value, found.changed, found.receiving
    ('different', (0, 1), (0, 1))
    """

    verdict: Verdict
    differences: tuple[str, ...] = ()
    devices: int = 0
    changed: tuple[int, ...] = ()
    receiving: tuple[int, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether both put the same elements on the same devices."""
        return self.verdict is not Verdict.DIFFERENT


def compare_shardings(
    a: Placed, b: Placed, *, shape: Sequence[int] | None = None, target: Target = Target.CURRENT
) -> Comparison:
    """Compare two shardings of one tensor, in any two notations, device by device.

    Args:
        a: The first.
        b: The second.
        shape: The sizes of the tensor. Without them parts are compared as fractions of it.
        target: Whose conventions to follow.

    Raises:
        VerificationError: One is not valid on its mesh, or tiles tensors of another rank than `shape`.
        ConversionError: A Shardy sharding has no device grid, or there are too many devices.

    Example:
        >>> from sdybridge import MeshAttr, read_sharding
        >>> a = read_sharding('[{"x"}, {}]', MeshAttr.from_sizes({"x": 2}))
        >>> compare_shardings(a, read_sharding("{devices=[2,1]<=[2]}")).verdict.value
        'same-meaning'
    """
    grids = a.grid(target), b.grid(target)
    for grid in grids:
        if shape is not None and is_grid(grid) and grid.data_rank != len(shape):
            raise VerificationError(
                f"{cropped(grid)} tiles tensors of rank {grid.data_rank}, not of rank {len(shape)}",
                rule="sharding-rank",
            )
    if any(grid.is_tuple for grid in grids):
        return _compare_tuples(grids, target)
    form = form_differences(a, b)
    meaning = _meaning(*grids, shape)
    if meaning.verdict is Verdict.DIFFERENT:
        return meaning
    return Comparison(Verdict.SAME_MEANING if form else Verdict.SAME_FORM, form, meaning.devices)


def _compare_tuples(grids: tuple[HloSharding, HloSharding], target: Target) -> Comparison:
    from sdybridge.checks.reading import Placed

    first, second = (grid.tuple_elements if grid.is_tuple else (grid,) for grid in grids)
    if len(first) != len(second):
        return Comparison(Verdict.DIFFERENT, (f"elements: {len(first)} in A, {len(second)} in B",))
    verdicts, words = [], []
    for i, (one, other) in enumerate(zip(first, second, strict=True)):
        found = compare_shardings(Placed(one), Placed(other), target=target)
        verdicts.append(found.verdict)
        words += [f"element {i}: {difference}" for difference in found.differences]
        if found.changed:
            words.append(f"element {i}: {len(found.changed)} of {found.devices} devices hold another part")
    worst = max(verdicts, key=list(Verdict).index, default=Verdict.SAME_FORM)
    return Comparison(worst, tuple(words))


def _meaning(a: HloSharding, b: HloSharding, shape: Sequence[int] | None) -> Comparison:
    counts = {devices_of(grid) for grid in (a, b)} - {None}
    if len(counts) > 1:
        return Comparison(
            Verdict.DIFFERENT,
            (f"devices: {devices_of(a)} in A, {devices_of(b)} in B",),
        )
    if a == b:
        return Comparison(Verdict.SAME_FORM, devices=next(iter(counts)) or 0 if counts else 0)
    if not counts:
        words = [] if _where(a) == _where(b) else [f"placement: {_where(a)} in A, {_where(b)} in B"]
        return Comparison(Verdict.DIFFERENT if words else Verdict.SAME_MEANING, tuple(words))
    grids = [device_ids(grid) for grid in (a, b) if is_grid(grid)]
    ids = grids[0]
    if (ids != grids[-1]).any():
        return Comparison(Verdict.DIFFERENT, ("devices: others in B",))
    first, second = device_map(a, ids), device_map(b, ids)
    words = _unlike(first, second)
    if _rank(first) is not None and _rank(second) is not None and _rank(first) != _rank(second):
        return Comparison(Verdict.DIFFERENT, tuple(words), first.devices)
    changed, receiving = (tuple(ids[found].tolist()) for found in _moves(first, second, shape))
    if not words and not changed:
        return Comparison(Verdict.SAME_MEANING, devices=first.devices)
    return Comparison(Verdict.DIFFERENT, tuple(words), first.devices, changed, receiving)


def _where(grid: HloSharding) -> str:
    """In words where a sharding without a grid puts a tensor."""
    if grid.unique_device is not None:
        return f"on device {grid.unique_device} alone"
    return "replicated" if _is_whole(grid) else grid.type.name.lower()


def _is_whole(grid: HloSharding) -> bool:
    """Whether every device holds all of the tensor."""
    return grid.type is OpShardingType.REPLICATED or (
        grid.type is OpShardingType.OTHER and grid.num_devices == 1
    )


def _rank(found: DeviceMap) -> int | None:
    return None if found.counts is None else len(found.counts)


def _unlike(a: DeviceMap, b: DeviceMap) -> list[str]:
    """What differs apart from which device holds which part."""
    words = []
    if a.kind is not b.kind:
        words.append(f"placement: left to XLA in {'A' if a.kind else 'B'} ({{unknown}})")
    if _rank(a) is not None and _rank(b) is not None and _rank(a) != _rank(b):
        return [*words, f"rank: {_rank(a)} in A, {_rank(b)} in B"]
    for i in range(max(len(a.counts or ()), len(b.counts or ()))):
        before, after = (1 if found.counts is None else found.counts[i] for found in (a, b))
        if before != after:
            words.append(f"dimension {i}: {_parts(before)} in A, {_parts(after)} in B")
    for kind, name in _GROUPS:
        before, after = (len(set(found.groups[kind].tolist())) for found in (a, b))
        if before != after:
            words.append(f"{name} groups: {before} in A, {after} in B")
        elif (a.groups[kind] != b.groups[kind]).any():
            words.append(f"{name} groups: of other devices in B")
    return words


def _parts(count: int) -> str:
    return "one piece" if count == 1 else f"{count} parts"


def _moves(a: DeviceMap, b: DeviceMap, shape: Sequence[int] | None) -> tuple[Flags, Flags]:
    """For each device whether it holds another part, and whether it needs more than it held."""
    import numpy as np

    rank = len(a.counts or b.counts or ())
    both = [found.counts or (1,) * rank for found in (a, b)]
    if shape is None:  # fractions of a tensor that both cut evenly
        shape = [math.lcm(*sizes) for sizes in zip(*both, strict=True)]
    rank = len(shape)
    lengths = [
        [-(-size // count) for size, count in zip(shape, counts or (1,) * rank, strict=False)]
        for counts in both
    ]
    (low_a, high_a), (low_b, high_b) = (
        bounds(found, shape, length) for found, length in zip((a, b), lengths, strict=True)
    )
    empty_a = ~a.holds | (low_a >= high_a).any(axis=1)
    empty_b = ~b.holds | (low_b >= high_b).any(axis=1)
    differ = (low_a != low_b).any(axis=1) | (high_a != high_b).any(axis=1)
    changed = np.where(empty_a & empty_b, False, differ | (empty_a != empty_b))
    inside = (low_b >= low_a).all(axis=1) & (high_b <= high_a).all(axis=1) & ~empty_a
    receiving = changed & ~empty_b & ~inside
    return changed, receiving
