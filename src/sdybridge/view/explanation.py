"""What a sharding means, as facts: the data that texts, JSON and reports are made from."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge.grid_axes import GridAxes, find_grid_axes, subgroup_types
from sdybridge.hlo import OpShardingType
from sdybridge.view.devices import MOST_LISTED, group_dim, groups_along, holders, shards_by_device
from sdybridge.view.dimensions import Dimension
from sdybridge.view.forms import forms_of
from sdybridge.view.notebook import ShownAsText
from sdybridge.view.remarks import remarks_on
from sdybridge.view.steps import steps_of

if TYPE_CHECKING:
    from sdybridge.sdy import MeshAttr
    from sdybridge.view.forms import Form
    from sdybridge.view.remarks import Remark
    from sdybridge.view.sharded import Sharded
    from sdybridge.view.steps import Steps
    from sdybridge.view.tensor_type import TensorType

_KINDS = (OpShardingType.MANUAL, OpShardingType.UNREDUCED, OpShardingType.REPLICATED)


@dataclass(frozen=True, slots=True)
class Group:
    """Devices that a grid puts together without splitting the tensor over them.

    Attributes:
        kind: `manual`, `unreduced` or `replicated`.
        axes: The axes that run through a group; None if they are not known.
        size: How many devices are in each group.
        count: How many groups there are.
        devices: The groups; only the first ones where there are many devices.
    """

    kind: str
    axes: tuple[str, ...] | None
    size: int
    count: int
    devices: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a tensor, and who holds it.

    Attributes:
        index: Which shard it is along each dimension.
        start: Its first index along each dimension; None if the shape is not known.
        limit: The index behind its last; equal to `start` along a dimension where it is empty.
        devices: The devices that hold it.
    """

    index: tuple[int, ...]
    start: tuple[int, ...] | None
    limit: tuple[int, ...] | None
    devices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Explanation(ShownAsText):
    """What the sharding of one tensor means.

    `str(explanation)` is the text, `explanation.to_dict()` the JSON, whose keys are stable.

    Attributes:
        sharded: The sharding, in both notations.
        kind: `tiled`, `replicated`, `maximal` (one device), `manual`, `unknown` or `unreduced`.
        num_devices: How many devices there are; None if that is not known.
        num_shards: Into how many different parts the tensor is cut.
        dimensions: One per dimension of the tensor; empty where the rank is not known.
        groups: Manual, unreduced and replicated devices, in this order.
        shard: The buffer on each device; None if the shape is not known.
        shards: Every shard; None where there are more than `MOST_LISTED` devices, or none are known.
        empty_devices: The devices whose shard is empty, the first `MOST_LISTED`.
        num_empty_devices: How many these are in all.
        steps: From axes to grid; None where there is nothing to show.
        forms: The sharding in every notation.
        remarks: What is worth a second look.

    >>> from sdybridge import explain
    >>> found = explain("P('x', None)", mesh={"x": 2, "y": 2}, shape="f32[8,8]")
    >>> found.kind, found.num_shards, found.copies, str(found.shard)
    ('tiled', 2, 2, 'f32[4,8]')
    """

    sharded: Sharded
    kind: str
    num_devices: int | None
    num_shards: int
    dimensions: tuple[Dimension, ...]
    groups: tuple[Group, ...]
    shard: TensorType | None
    shards: tuple[Shard, ...] | None
    empty_devices: tuple[int, ...]
    num_empty_devices: int
    steps: Steps | None
    forms: tuple[Form, ...]
    remarks: tuple[Remark, ...]

    @property
    def mesh(self) -> MeshAttr | None:
        """The mesh, if one is known."""
        return self.sharded.mesh

    @property
    def tensor(self) -> TensorType | None:
        """The tensor, if it is known."""
        return self.sharded.tensor

    @property
    def copies(self) -> int:
        """How many devices hold each shard."""
        return next((group.size for group in self.groups if group.kind == "replicated"), 1)

    @property
    def bytes_per_device(self) -> int | None:
        """What the buffer on each device takes, padding included."""
        return None if self.shard is None else self.shard.bytes

    @property
    def total_bytes(self) -> int | None:
        """What the buffers on all devices take."""
        bytes_per_device = self.bytes_per_device
        if bytes_per_device is None or self.num_devices is None:
            return None
        return bytes_per_device * (1 if self.kind == "maximal" else self.num_devices)

    def __str__(self) -> str:
        from sdybridge.view.explanation_text import explanation_text

        return explanation_text(self)

    def to_dict(self) -> dict[str, object]:
        """The facts as JSON values.

        >>> from sdybridge import explain
        >>> explain("P('x')", mesh={"x": 2}).to_dict()["num_shards"]
        2
        """
        from sdybridge.view.explanation_json import explanation_dict

        return explanation_dict(self)


def explanation_of(sharded: Sharded) -> Explanation:
    """The explanation of one tensor's sharding."""
    hlo = sharded.hlo
    dimensions = _dimensions(sharded)
    num_devices = _num_devices(sharded)
    empty, num_empty = _empty_devices(sharded, dimensions)
    shard = None
    if sharded.tensor is not None:
        sizes = [dim.shard_size for dim in dimensions] if dimensions else sharded.tensor.shape
        shard = sharded.tensor.with_shape(tuple(sizes))
    steps = steps_of(sharded)
    return Explanation(
        sharded=sharded,
        kind="tiled" if hlo.type is OpShardingType.OTHER else hlo.type.name.lower(),
        num_devices=num_devices,
        num_shards=math.prod(dim.shards for dim in dimensions),
        dimensions=dimensions,
        groups=_groups(sharded, num_devices),
        shard=shard,
        shards=_shards(sharded, dimensions, num_devices),
        empty_devices=empty,
        num_empty_devices=num_empty,
        steps=steps,
        forms=forms_of(sharded),
        remarks=remarks_on(sharded, dimensions, num_empty, num_devices),
    )


def _dimensions(sharded: Sharded) -> tuple[Dimension, ...]:
    hlo, sdy, tensor = sharded.hlo, sharded.sdy, sharded.tensor
    if hlo.type is OpShardingType.OTHER:
        shards = hlo.tile_assignment.dims[: hlo.data_rank]
    elif sdy is not None and not (sharded.mesh is not None and sharded.mesh.is_maximal):
        shards = (1,) * sdy.rank
    elif tensor is not None:
        shards = (1,) * tensor.rank
    else:
        return ()
    from_axes = sharded.notation.value in ("sdy", "partition-spec", "hlo-named")
    dims = []
    for i, count in enumerate(shards):
        size = tensor.shape[i] if tensor is not None else None
        if sdy is None or i >= sdy.rank:
            dims.append(Dimension(count, None if count > 1 else (), None, None, size))
            continue
        of_axes = sdy.dim_shardings[i]
        axes = tuple([ref.stripped for ref in of_axes.axes])
        is_open = not of_axes.is_closed if from_axes else None
        dims.append(Dimension(count, axes, is_open, of_axes.priority, size))
    return tuple(dims)


def _shards(
    sharded: Sharded, dimensions: tuple[Dimension, ...], num_devices: int | None
) -> tuple[Shard, ...] | None:
    found = holders(sharded.hlo, num_devices)
    if found is None:
        return None
    shards = []
    for index, devices in found.items():
        at = index or (0,) * len(dimensions)
        start = limit = None
        sizes = [(dim.size, dim.shard_size) for dim in dimensions]
        if sharded.tensor is not None and sharded.tensor.is_static:
            start = tuple([min(i * (n or 0), d or 0) for i, (d, n) in zip(at, sizes, strict=True)])
            limit = tuple([min((i + 1) * (n or 0), d or 0) for i, (d, n) in zip(at, sizes, strict=True)])
        shards.append(Shard(at, start, limit, tuple(sorted(devices))))
    return tuple(shards)


def _num_devices(sharded: Sharded) -> int | None:
    if sharded.hlo.type is OpShardingType.OTHER:
        return sharded.hlo.num_devices
    mesh = sharded.mesh
    return mesh.total_size if mesh is not None and mesh.axes else None


def _groups(sharded: Sharded, num_devices: int | None) -> tuple[Group, ...]:
    hlo, mesh = sharded.hlo, sharded.mesh
    if hlo.type is OpShardingType.OTHER:
        axes = _group_axes(sharded)
        groups = []
        for kind in _KINDS:
            dim = group_dim(hlo, kind)
            if dim is None:
                continue
            tiles = hlo.tile_assignment
            size = tiles.dims[dim]
            shown = max(1, MOST_LISTED // size)
            devices = tuple(itertools.islice(groups_along(tiles, dim), shown))
            name = kind.name.lower()
            groups.append(Group(name, axes.get(name), size, tiles.num_elements // size, devices))
        return tuple(groups)
    if hlo.type in _KINDS and num_devices is not None and mesh is not None:
        names = tuple([f'"{name}"' for name in mesh.axis_names])
        listed = tuple(sorted(mesh.device_ids or range(min(num_devices, MOST_LISTED))))[:MOST_LISTED]
        return (Group(hlo.type.name.lower(), names, num_devices, 1, (listed,)),)
    return ()


def _group_axes(sharded: Sharded) -> dict[str, tuple[str, ...]]:
    """The axes of each kind of group; empty where no axes of the mesh make the grid."""
    mesh = sharded.mesh
    if sharded.sdy is None or mesh is None or not mesh.axes or sharded.hlo.num_devices < 2:
        return {}
    found = find_grid_axes(sharded.hlo.tile_assignment, subgroup_types(sharded.hlo), mesh)
    if not isinstance(found, GridAxes):
        return {}
    kinds = {"manual": found.manual, "unreduced": found.unreduced, "replicated": found.replicated}
    return {kind: tuple([ref.stripped for ref in refs]) for kind, refs in kinds.items()}


def _empty_devices(sharded: Sharded, dimensions: tuple[Dimension, ...]) -> tuple[tuple[int, ...], int]:
    """The devices whose shard has no elements though the tensor does, and how many they are."""
    if sharded.hlo.type is not OpShardingType.OTHER or any(dim.size == 0 for dim in dimensions):
        return (), 0
    used = [dim.shards - dim.empty_shards for dim in dimensions]
    shards = math.prod(dim.shards for dim in dimensions)
    devices = sharded.hlo.num_devices
    num_empty = devices - devices // shards * math.prod(used)
    if not num_empty:
        return (), 0
    held = shards_by_device(sharded.hlo, None)
    if held is None:
        return (), num_empty
    empty = [
        device for device, index in held.items() if any(at >= n for at, n in zip(index, used, strict=True))
    ]
    return tuple(sorted(empty)), num_empty
