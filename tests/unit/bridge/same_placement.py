"""Whether an HLO sharding and a Shardy sharding put every device on the same tile and in the same groups."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from tests.unit.bridge.placement import tiles_by_position

from sdybridge.hlo import OpShardingType
from sdybridge.sdy import AxisRefAttr

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sdybridge.hlo import HloSharding
    from sdybridge.sdy import MeshAttr, TensorShardingAttr

    Labels = dict[str, NDArray[np.int64]]

MANUAL = OpShardingType.MANUAL
OTHER = OpShardingType.OTHER
UNREDUCED = OpShardingType.UNREDUCED


def assert_same_placement(
    hlo: HloSharding, sdy: TensorShardingAttr, mesh: MeshAttr, manual_axes: Sequence[str] = ()
) -> None:
    """Tiles are compared by number, groups of manual and unreduced devices as sets."""
    context = f"{hlo} and {sdy} on {mesh}, manual {manual_axes}"
    tiles = [dim.get_sharded_size(mesh) for dim in sdy.dim_shardings]
    assert tiles == (list(hlo.tile_assignment.dims[: sdy.rank]) if hlo.type is OTHER else [1] * sdy.rank), (
        context
    )
    theirs, ours = labels_of_hlo(hlo, mesh.total_size), labels_of_sdy(sdy, mesh, manual_axes)
    assert np.array_equal(theirs["tile"], ours["tile"]), context
    for count in (1, 2, 3):
        for kinds in itertools.combinations(theirs, count):
            assert groups(theirs, kinds) == groups(ours, kinds), context


def labels_of_hlo(hlo: HloSharding, devices: int) -> Labels:
    """For every device its tile, and its place among the manual and among the unreduced devices."""
    labels = {name: np.zeros(devices, dtype=np.int64) for name in ("tile", "manual", "unreduced")}
    if hlo.type in (MANUAL, UNREDUCED):
        labels[hlo.type.name.lower()] = np.arange(devices)
    if hlo.type is not OTHER or hlo.num_devices == 1:
        return labels
    array = hlo.tile_assignment.array
    rank = hlo.data_rank
    types = hlo.subgroup_types or (OpShardingType.REPLICATED,)
    for dim, coordinate in enumerate(np.indices(array.shape)):
        name = "tile" if dim < rank else types[dim - rank].name.lower()
        if name in labels:
            labels[name][array] = labels[name][array] * array.shape[dim] + coordinate
    return labels


def labels_of_sdy(sdy: TensorShardingAttr, mesh: MeshAttr, manual_axes: Sequence[str]) -> Labels:
    """The same, from the axes."""

    def by_device(refs: Iterable[AxisRefAttr]) -> NDArray[np.int64]:
        label = np.empty(mesh.total_size, dtype=np.int64)
        label[list(mesh.device_ids) or slice(None)] = tiles_by_position(refs, mesh) if mesh.axes else 0
        return label

    return {
        "tile": by_device(ref for dim in sdy.dim_shardings for ref in dim.axes),
        "manual": by_device(map(AxisRefAttr, manual_axes)),
        "unreduced": by_device(sdy.unreduced_axes),
    }


def groups(labels: Labels, kinds: Sequence[str]) -> set[frozenset[int]]:
    """The sets of devices that have the labels `kinds` in common."""
    sets: dict[tuple[int, ...], set[int]] = {}
    keys = zip(*[labels[kind].tolist() for kind in kinds], strict=True)
    for device, key in enumerate(keys):
        sets.setdefault(key, set()).add(device)
    return set(map(frozenset, sets.values()))
