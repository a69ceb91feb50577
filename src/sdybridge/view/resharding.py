"""What moves when a tensor goes from one sharding to another."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.bridge import convert_to_sdy_sharding, get_manual_axes
from sdybridge.bridge.grid_axes import subgroup_types
from sdybridge.errors import SdyBridgeError
from sdybridge.hlo import OpShardingType
from sdybridge.hlo.element_types import count_elements
from sdybridge.view.collectives import Collective, plan
from sdybridge.view.devices import devices_of, group_dim, shards_by_device
from sdybridge.view.notebook import ShownAsText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdybridge.hlo import HloSharding
    from sdybridge.sdy import MeshAttr, TensorShardingAttr
    from sdybridge.view.dimensions import Dimension
    from sdybridge.view.explanation import Explanation
    from sdybridge.view.sharded import Sharded
    from sdybridge.view.tensor_type import TensorType


class Region(NamedTuple):
    """What one device holds.

    Attributes:
        intervals: The first index and the one behind the last, per dimension.
        inner: Its place among manual and unreduced devices.
    """

    intervals: tuple[tuple[int, int], ...]
    inner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DimensionChange:
    """How the cutting of one dimension changes.

    Attributes:
        before: The axes before; None if they are not known.
        after: The axes after.
        shards_before: Into how many shards it is cut before.
        shards_after: And after.
        gained: The axes that are new to it.
        lost: The axes that it no longer has.
    """

    before: tuple[str, ...] | None
    after: tuple[str, ...] | None
    shards_before: int
    shards_after: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resharding(ShownAsText):
    """What moves between two shardings of one tensor.

    `str(resharding)` is the text, `resharding.to_dict()` the JSON, whose keys are stable.

    Attributes:
        before: The first sharding.
        after: The second one.
        dimensions: What changes in each dimension; empty where the ranks are not known, or where one of the
            two says nothing about dimensions.
        is_same: Whether every device holds the same part before and after; None if that is not known.
        moving: The devices that hold another part after than before; None as above.
        steps: Collectives that do it; None where that is not known.
        is_fallback: Whether no axes have both shardings, so that the steps gather the whole tensor.
        received: What each device receives at least, in elements: the most and the sum over all devices.
            None if the shape or the devices are not known, or values are still to be combined.
        differences: What differs in form and not in what the devices hold, such as openness.

    >>> from sdybridge import explain
    >>> moves = explain("P('x', None)", "P(None, 'x')", mesh={"x": 2}, shape="f32[8,8]")
    >>> [step.kind for step in moves.steps], moves.moving
    (['all-to-all'], (0, 1))
    """

    before: Explanation
    after: Explanation
    dimensions: tuple[DimensionChange, ...]
    is_same: bool | None
    moving: tuple[int, ...] | None
    steps: tuple[Collective, ...] | None
    is_fallback: bool
    received: tuple[int, int] | None
    differences: tuple[str, ...]

    @property
    def tensor(self) -> TensorType | None:
        """The tensor, if it is known."""
        return self.before.tensor

    def local(self, shards: tuple[int, ...]) -> TensorType | None:
        """The buffer on each device when the dimensions are cut into so many shards.

        >>> from sdybridge import explain
        >>> moves = explain("P('x')", "P()", mesh={"x": 2}, shape="f32[8]")
        >>> str(moves.local((4,)))
        'f32[2]'
        """
        tensor = self.tensor
        if tensor is None or len(shards) != tensor.rank:
            return None
        sizes = [None if n is None else -(-n // count) for n, count in zip(tensor.shape, shards, strict=True)]
        return tensor.with_shape(tuple(sizes))

    def __str__(self) -> str:
        from sdybridge.view.resharding_text import resharding_text

        return resharding_text(self)

    def to_dict(self) -> dict[str, object]:
        """The facts as JSON values.

        >>> from sdybridge import explain
        >>> explain("P('x')", "P()", mesh={"x": 2}).to_dict()["is_same"]
        """
        from sdybridge.view.resharding_json import resharding_dict

        return resharding_dict(self)


class Reshardings(ShownAsText, tuple[Resharding, ...]):
    """What moves between two tuples, element by element.

    >>> from sdybridge import explain
    >>> [one.is_same for one in explain("{{devices=[2]<=[2]}}", "{{replicated}}")]
    [False]
    """

    __slots__ = ()

    def __str__(self) -> str:
        texts = [f"element {i}\n{element}" for i, element in enumerate(self)]
        return "\n\n".join(texts) or "the tuples are empty"

    def to_dict(self) -> dict[str, object]:
        """The facts as JSON values.

        >>> from sdybridge import explain
        >>> explain("{{devices=[2]<=[2]}}", "{{replicated}}").to_dict()["type"]
        'tuple'
        """
        return {"type": "tuple", "elements": [element.to_dict() for element in self]}


def resharding_of(before: Explanation, after: Explanation) -> Resharding:
    """What moves between two explained shardings of tensors of one shape."""
    moving = _moving(before, after)
    is_same = None if moving is None else not moving
    if is_same is None and before.sharded.hlo == after.sharded.hlo:
        is_same = True
    steps, is_fallback = _steps(before, after, is_same)
    return Resharding(
        before=before,
        after=after,
        dimensions=_changes(before, after),
        is_same=is_same,
        moving=moving,
        steps=steps,
        is_fallback=is_fallback,
        received=_received(before, after),
        differences=_differences(before, after),
    )


def _changes(before: Explanation, after: Explanation) -> tuple[DimensionChange, ...]:
    if len(before.dimensions) != len(after.dimensions):
        return ()
    if before.kind != after.kind and {before.kind, after.kind} & {"manual", "unknown"}:
        return ()
    if not _same_axes(before, after):  # names that mean something else on the other mesh
        pairs = zip(before.dimensions, after.dimensions, strict=True)
        return tuple([DimensionChange(None, None, a.shards, b.shards, (), ()) for a, b in pairs])
    changes = []
    for a, b in zip(before.dimensions, after.dimensions, strict=True):
        gained = tuple([axis for axis in b.axes or () if axis not in (a.axes or ())])
        lost = tuple([axis for axis in a.axes or () if axis not in (b.axes or ())])
        changes.append(DimensionChange(a.axes, b.axes, a.shards, b.shards, gained, lost))
    return tuple(changes)


def _same_axes(before: Explanation, after: Explanation) -> bool:
    meshes = [mesh for mesh in (before.mesh, after.mesh) if mesh is not None and mesh.axes]
    return len(meshes) < 2 or meshes[0].axes == meshes[1].axes


def _count(before: Explanation, after: Explanation) -> int | None:
    known = [count for count in (before.num_devices, after.num_devices) if count is not None]
    return max(known) if known else None


def _regions(explanation: Explanation, count: int | None) -> dict[int, Region] | None:
    """What each device holds.

    Where the shape is not known, an interval is the number of a shard, and of how many.
    """
    hlo = explanation.sharded.hlo
    held = shards_by_device(hlo, count)
    if held is None:
        return None
    dims = explanation.dimensions
    inner = _inner_groups(hlo)
    regions = {}
    for device, index in held.items():
        at = index or (0,) * len(dims)
        intervals = tuple([_interval(i, dim) for i, dim in zip(at, dims, strict=True)])
        if explanation.tensor is not None and any(low == high for low, high in intervals):
            intervals = ((0, 0),) * len(dims)  # nothing is nothing, wherever it would be
        regions[device] = Region(intervals, inner.get(device, ()))
    return regions


def _interval(index: int, dim: Dimension) -> tuple[int, int]:
    length = dim.shard_size
    if dim.size is None or length is None:
        return index, dim.shards
    return min(index * length, dim.size), min((index + 1) * length, dim.size)


def _inner_groups(hlo: HloSharding) -> dict[int, tuple[int, ...]]:
    """Each device's place among manual and unreduced devices."""
    if hlo.type is not OpShardingType.OTHER:
        return {}
    kinds = (OpShardingType.MANUAL, OpShardingType.UNREDUCED)
    dims = [dim for dim in (group_dim(hlo, kind) for kind in kinds) if dim is not None]
    if not dims:
        return {}
    tiles = hlo.tile_assignment
    indices = itertools.product(*[range(size) for size in tiles.dims])
    return {
        device: tuple([index[dim] for dim in dims])
        for device, index in zip(devices_of(tiles), indices, strict=True)
    }


def _moving(before: Explanation, after: Explanation) -> tuple[int, ...] | None:
    """The devices that hold another part after than before."""
    count = _count(before, after)
    a, b = _regions(before, count), _regions(after, count)
    if a is None or b is None or len(before.dimensions) != len(after.dimensions):
        return None
    return tuple(sorted(device for device in {*a, *b} if a.get(device) != b.get(device)))


def _received(before: Explanation, after: Explanation) -> tuple[int, int] | None:
    """What the devices have to receive: what they are to hold and do not."""
    tensor = before.tensor
    combines = before.sharded.hlo.has_unreduced or after.sharded.hlo.has_unreduced
    if tensor is None or count_elements(tensor.shape) is None or combines:
        return None
    count = _count(before, after)
    a, b = _regions(before, count), _regions(after, count)
    if a is None or b is None or len(before.dimensions) != len(after.dimensions):
        return None
    most = total = 0
    for device, new in b.items():
        old = a.get(device)
        missing = _volume(new.intervals)
        if old is not None:
            missing -= _volume([
                (max(low, old_low), min(high, old_high))
                for (low, high), (old_low, old_high) in zip(new.intervals, old.intervals, strict=True)
            ])  # fmt: skip
        most = max(most, missing)
        total += missing
    return most, total


def _volume(intervals: Iterable[tuple[int, int]]) -> int:
    return math.prod(max(0, high - low) for low, high in intervals)


def _steps(
    before: Explanation, after: Explanation, is_same: bool | None
) -> tuple[tuple[Collective, ...] | None, bool]:
    """The collectives, and whether they gather everything for want of a better way."""
    if is_same and not before.sharded.hlo.has_unreduced:
        return (), False
    kinds = (before.kind, after.kind)
    if "unknown" in kinds or before.sharded.manual_axes != after.sharded.manual_axes:
        return None, False
    if ("manual" in kinds and kinds[0] != kinds[1]) or not before.dimensions or not after.dimensions:
        return None, False
    shards = tuple([dim.shards for dim in after.dimensions])
    if "maximal" in kinds:
        if before.sharded.hlo.has_unreduced or after.sharded.hlo.has_unreduced:
            return None, False
        size = _count(before, after) or 1
        return (Collective("broadcast", (), None, None, size, shards),), False
    a, b = before.sharded.hlo, after.sharded.hlo
    on_mesh = _on_one_mesh(before, after)
    if on_mesh is None and _same_dims(a, b):
        return (Collective("collective-permute", (), None, None, a.num_devices, shards),), False
    if on_mesh is not None:
        mesh, first, second, permutation = on_mesh
        steps = plan(first, second, mesh, before.sharded.manual_axes)
        if steps is not None:
            return ((*permutation, *steps) if steps or permutation else ()), False
    return _fallback(before, after)


def _fallback(before: Explanation, after: Explanation) -> tuple[tuple[Collective, ...] | None, bool]:
    """Gather everything, and combine what is partial; then cut it, and spread what is to be partial."""
    shards, new_shards = (tuple([dim.shards for dim in one.dimensions]) for one in (before, after))
    partial, new_partial = _partial_values(before), _partial_values(after)
    if partial is None or new_partial is None:
        return None, False
    size = _count(before, after) or 1
    whole = (1,) * len(shards)
    gather = Collective("all-gather", (), None, None, size, whole)
    cut = Collective("slice", (), None, None, size, new_shards)
    if partial == new_partial == 1:
        return (gather, cut), True
    steps = [Collective("all-reduce", (), None, None, partial, shards)] if partial > 1 else []
    steps += [step for step, is_cut in ((gather, shards != whole), (cut, new_shards != whole)) if is_cut]
    if new_partial > 1:
        steps.append(Collective("replicated-to-unreduced", (), None, None, new_partial, new_shards))
    return tuple(steps), gather in steps


def _partial_values(explanation: Explanation) -> int | None:
    """On how many devices the values of an element are to be combined; None if that is not known."""
    if explanation.kind == "unreduced":
        return explanation.num_devices
    return next((group.size for group in explanation.groups if group.kind == "unreduced"), 1)


def _same_dims(a: HloSharding, b: HloSharding) -> bool:
    """Whether two grids differ in their devices alone, so that shards only change places."""
    other = OpShardingType.OTHER
    return (
        a.type is b.type is other
        and a.tile_assignment.dims == b.tile_assignment.dims
        and subgroup_types(a) == subgroup_types(b)
        and not a.has_unreduced
    )


def _on_one_mesh(
    before: Explanation, after: Explanation
) -> tuple[MeshAttr, TensorShardingAttr, TensorShardingAttr, tuple[Collective, ...]] | None:
    """Both shardings on the mesh of the first; behind a permutation of all devices where orders differ."""
    a, b = before.sharded, after.sharded
    if a.sdy is None or b.sdy is None:
        return None
    if a.mesh is None or b.mesh is None or a.mesh is b.mesh:
        mesh = a.mesh or b.mesh
        return None if mesh is None else (mesh, a.sdy, b.sdy, ())
    for mesh, kept, other in ((a.mesh, a, b), (b.mesh, b, a)):
        there = _restated(other, mesh)
        if there is not None and kept.sdy is not None and other.manual_axes == kept.manual_axes:
            return (mesh, kept.sdy, there, ()) if kept is a else (mesh, there, kept.sdy, ())
    if a.mesh.axes == b.mesh.axes and a.mesh.axes:
        shards = tuple([dim.shards for dim in before.dimensions])
        permute = Collective("collective-permute", (), None, None, a.mesh.total_size, shards)
        return a.mesh, a.sdy, b.sdy, (permute,)
    return None


def _restated(sharded: Sharded, mesh: MeshAttr) -> TensorShardingAttr | None:
    """The same placement by the axes of another mesh, if they have it."""
    if not mesh.axes or sharded.sdy is None:
        return None
    try:
        if get_manual_axes(sharded.hlo, mesh) != sharded.manual_axes:
            return None
        return convert_to_sdy_sharding(sharded.hlo, mesh, rank=sharded.sdy.rank)
    except SdyBridgeError:
        return None


def _differences(before: Explanation, after: Explanation) -> tuple[str, ...]:
    """What differs in form alone."""
    a, b = before.sharded, after.sharded
    found = []
    for i, (x, y) in enumerate(zip(before.dimensions, after.dimensions, strict=False)):
        if x.is_open is not None and y.is_open is not None and x.is_open != y.is_open:
            found.append(f"dimension {i} {'opens' if y.is_open else 'closes'}")
        if (x.priority or 0) != (y.priority or 0):
            found.append(f"dimension {i}: priority {x.priority or 0} before, {y.priority or 0} after")
    if a.sdy is not None and b.sdy is not None:
        explicit = [" ".join(ref.stripped for ref in one.replicated_axes) or "none" for one in (a.sdy, b.sdy)]
        if explicit[0] != explicit[1]:
            found.append(f"explicitly replicated: {explicit[0]} before, {explicit[1]} after")
    if a.hlo.metadata != b.hlo.metadata:
        found.append("the metadata")
    if a.hlo.shard_group != b.hlo.shard_group:
        found.append("the shard group")
    if a.hlo.tile_assignment.is_iota != b.hlo.tile_assignment.is_iota and a.hlo == b.hlo:
        found.append("one lists its devices, the other counts them")
    return tuple(found)
