"""Laws of reshardings: the collectives, carried out on real arrays, give every device its new part."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdybridge import explain
from sdybridge.sdy import AxisRefAttr, MeshAttr, TensorShardingAttr
from sdybridge.view import Resharding
from sdybridge.view.collectives import plan

from .strategies import shardings_on, small_meshes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sdybridge.view.collectives import Collective

    Array = NDArray[np.int64]
    Locals = dict[int, Array]

_READ = AxisRefAttr.from_string


@st.composite
def pairs(draw: st.DrawFn) -> tuple[MeshAttr, TensorShardingAttr, TensorShardingAttr]:
    """Two shardings of tensors of one rank on one mesh."""
    mesh = draw(small_meshes(max_devices=24))
    before = draw(shardings_on(mesh))
    after = draw(shardings_on(mesh, rank=before.rank))
    return mesh, before, after


class Machine:
    """The devices of a mesh, each with an array; `axes` are refs as text, major to minor."""

    def __init__(self, mesh: MeshAttr) -> None:
        self.mesh = mesh
        self.sizes = [axis.size for axis in mesh.axes]
        self.devices = range(mesh.total_size)
        self.at = list(itertools.product(*map(range, self.sizes)))

    def place(self, axes: Sequence[str], device: int) -> tuple[int, int]:
        """The device's place along some axes, and how many places there are."""
        place, count = 0, 1
        for text in axes:
            ref = _READ(text)
            size = ref.get_size(self.mesh)
            behind = 1
            if ref.sub_axis_info is not None:
                behind = self.mesh.axis_size(ref.name) // ref.sub_axis_info.next_pre_size
            coordinate = self.at[device][self.mesh.axis_index(ref.name)]
            place = place * size + coordinate // behind % size
            count *= size
        return place, count

    def groups(self, axes: Sequence[str]) -> list[list[int]]:
        """The devices that differ along the axes only, in the order of their places."""
        found: dict[tuple[object, ...], list[int]] = {}
        for device in self.devices:
            found.setdefault(self._others(axes, device), []).append(device)
        return [sorted(group, key=lambda device: self.place(axes, device)) for group in found.values()]

    def _others(self, axes: Sequence[str], device: int) -> tuple[object, ...]:
        """Where a device is apart from the axes: its coordinates with the digits along them taken out."""
        rest: list[int] = list(self.at[device])
        for text in axes:
            ref = _READ(text)
            index = self.mesh.axis_index(ref.name)
            behind = 1
            if ref.sub_axis_info is not None:
                behind = self.mesh.axis_size(ref.name) // ref.sub_axis_info.next_pre_size
            rest[index] -= self.at[device][index] // behind % ref.get_size(self.mesh) * behind
        return tuple(rest)

    def cut(self, tensor: Array, dims: Sequence[Sequence[str]]) -> Locals:
        """The part of each device."""
        found = {}
        for device in self.devices:
            part = tensor
            for dim, axes in enumerate(dims):
                place, count = self.place(axes, device)
                part = np.split(part, count, dim)[place]
            found[device] = part
        return found

    def run(self, step: Collective, have: Locals) -> Locals:
        """What each device has after a collective that moves whole values."""
        new: Locals = {}
        for group in self.groups(step.axes):
            n = len(group)
            assert n == step.group_size
            for i, device in enumerate(group):
                if step.kind == "slice":
                    new[device] = np.split(have[device], n, step.to_dim or 0)[i]
                elif step.kind == "all-gather":
                    new[device] = np.concatenate([have[one] for one in group], step.from_dim or 0)
                else:
                    assert step.kind == "all-to-all"
                    by_source = sorted(group, key=lambda one: self.place(step.axes[::-1], one))
                    parts = [np.split(have[one], n, step.to_dim or 0)[i] for one in by_source]
                    new[device] = np.concatenate(parts, step.from_dim or 0)
        return new


def axes_of(sharding: TensorShardingAttr) -> list[list[str]]:
    return [[ref.stripped for ref in dim.axes] for dim in sharding.dim_shardings]


@given(pairs())
def test_the_steps_lead_there(case: tuple[MeshAttr, TensorShardingAttr, TensorShardingAttr]) -> None:
    mesh, before, after = case
    if not mesh.axes or before.unreduced_axes or after.unreduced_axes:
        return
    steps = plan(before, after, mesh)
    if steps is None:
        return
    machine = Machine(mesh)
    # Every step cuts a dimension by axes that it has before or after, so this divides evenly.
    shape = [
        a.get_sharded_size(mesh) * b.get_sharded_size(mesh)
        for a, b in zip(before.dim_shardings, after.dim_shardings, strict=True)
    ]
    tensor = np.arange(math.prod(shape)).reshape(shape)
    have = machine.cut(tensor, axes_of(before))
    for step in steps:
        assert step.dims is not None
        new = machine.cut(tensor, step.dims)
        if step.kind == "collective-permute":
            old = {part.tobytes() for part in have.values()}
            assert all(part.shape == have[device].shape for device, part in new.items())
            assert {part.tobytes() for part in new.values()} <= old
            have = new
            continue
        have = machine.run(step, have)
        assert all(np.array_equal(have[device], part) for device, part in new.items()), step
    end = machine.cut(tensor, axes_of(after))
    assert all(np.array_equal(have[device], part) for device, part in end.items())


@given(pairs(), st.data())
def test_what_moves(
    case: tuple[MeshAttr, TensorShardingAttr, TensorShardingAttr], data: st.DataObject
) -> None:
    """The devices that move, and what they receive, counted element by element."""
    mesh, before, after = case
    if before.unreduced_axes or after.unreduced_axes:
        return
    shape = data.draw(st.lists(st.integers(1, 6), min_size=before.rank, max_size=before.rank))
    found = explain(before, after, mesh=mesh, shape=shape)
    assert isinstance(found, Resharding)
    old, new = elements(before, mesh, shape), elements(after, mesh, shape)
    places = {device: number for number, device in enumerate(mesh.device_ids or range(mesh.total_size))}
    moving = [device for device, number in sorted(places.items()) if old[number] != new[number]]
    assert found.moving == tuple(moving)
    assert found.is_same is (not moving)
    missing = [len(mine - had) for mine, had in zip(new, old, strict=True)]
    assert found.received == (max(missing), sum(missing))
    assert str(found)


def elements(
    sharding: TensorShardingAttr, mesh: MeshAttr, shape: Sequence[int]
) -> list[set[tuple[int, ...]]]:
    """The indices of the elements that each device holds, by its place on the mesh."""
    machine = Machine(mesh)
    held = []
    for device in machine.devices:
        ranges = []
        for size, axes in zip(shape, axes_of(sharding), strict=True):
            place, count = machine.place(axes, device)
            length = -(-size // count)
            ranges.append(range(min(place * length, size), min((place + 1) * length, size)))
        held.append(set(itertools.product(*ranges)))
    return held
