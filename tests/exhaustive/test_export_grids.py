"""Every mesh of up to 12 devices, every sharding of rank up to 2 on it: which devices hold which tile.

The expected grid comes from first principles: a device's coordinate along an axis, and along a sub-axis of
it, is a quotient and a remainder; a device's tile along a dimension is the number that the coordinates of
the dimension's axes spell.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sdybridge.bridge import convert_to_hlo_sharding, get_ordered_axis_refs
from sdybridge.errors import ConversionError, VerificationError
from sdybridge.sdy import (
    AxisRefAttr,
    DimensionShardingAttr,
    MeshAttr,
    TensorShardingAttr,
    verify_sharding,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sdybridge.hlo import HloSharding

MAX_DEVICES = 12


def factorizations(n: int) -> Iterator[tuple[int, ...]]:
    """Every way to write n as an ordered product of factors greater than 1."""
    if n == 1:
        yield ()
    for first in range(2, n + 1):
        if n % first == 0:
            yield from ((first, *rest) for rest in factorizations(n // first))


def meshes() -> list[MeshAttr]:
    """Each shape with devices in order and permuted, and some with an axis of size 1."""
    found = []
    for n in range(1, MAX_DEVICES + 1):
        shapes = list(factorizations(n))
        shapes += [(1, *shapes[-1]), (*shapes[0], 1)]
        for shape in dict.fromkeys(shapes):
            sizes = dict(zip("abcd", shape, strict=False))
            permuted = [(5 * i + 3) % n for i in range(n)] if n % 5 else [(3 * i + 1) % n for i in range(n)]
            found += [MeshAttr.from_sizes(sizes), MeshAttr.from_sizes(sizes, permuted)]
    return list(dict.fromkeys(found))


def refs(mesh: MeshAttr) -> list[AxisRefAttr]:
    """Every whole axis and every sub-axis."""
    found = []
    for axis in mesh.axes:
        found.append(AxisRefAttr(axis.name))
        for pre_size in range(1, axis.size):
            for size in range(2, axis.size):
                if axis.size % (pre_size * size) == 0:
                    found.append(AxisRefAttr.sub(axis.name, pre_size, size))
    return found


def shardings(mesh: MeshAttr) -> Iterator[TensorShardingAttr]:
    """Every valid sharding of rank 1 and 2: all ordered choices of refs, split over the dimensions."""
    for count in range(5):
        for chosen in itertools.permutations(refs(mesh), count):
            if any(a.overlaps(b) for a, b in itertools.combinations(chosen, 2)):
                continue
            for splits in ((count,), *((k, count) for k in range(count + 1))):
                starts = (0, *splits)
                dims = [DimensionShardingAttr(chosen[a:b], True) for a, b in itertools.pairwise(starts)]
                sharding = TensorShardingAttr("mesh", dims)
                if is_valid(sharding, mesh):
                    yield sharding


def is_valid(sharding: TensorShardingAttr, mesh: MeshAttr) -> bool:
    try:
        verify_sharding(sharding, mesh)
    except VerificationError:
        return False
    return True


def expected_grid(sharding: TensorShardingAttr, mesh: MeshAttr) -> NDArray[np.int64] | None:
    """The devices of each tile, ascending, along one last dimension; `None` if tiles differ in size."""
    sizes = [axis.size for axis in mesh.axes]
    total = math.prod(sizes)
    coordinates = dict(zip(mesh.axis_sizes, np.unravel_index(np.arange(total), sizes), strict=True))
    tile = np.zeros(total, dtype=np.int64)
    tile_dims = []
    for dim in sharding.dim_shardings:
        tile_dims.append(dim.get_sharded_size(mesh))
        for ref in dim.axes:
            coordinate, size = coordinates[ref.name], mesh.axis_sizes[ref.name]
            if ref.sub_axis_info is not None:
                pre_size, piece = ref.sub_axis_info.pre_size, ref.sub_axis_info.size
                coordinate, size = coordinate // (size // (pre_size * piece)) % piece, piece
            tile = tile * size + coordinate
    if len(set(np.bincount(tile, minlength=math.prod(tile_dims)))) > 1:
        return None
    devices = np.asarray(mesh.device_ids or range(total))
    return devices[np.lexsort((devices, tile))].reshape(*tile_dims, -1)


def grid_of(exported: HloSharding, sharding: TensorShardingAttr, mesh: MeshAttr) -> NDArray[np.int64]:
    """The same from the exported sharding; a replicated one has a single tile."""
    if exported.is_replicated:
        return np.arange(mesh.total_size).reshape(*(1,) * sharding.rank, -1)
    dims = exported.tile_assignment.dims[: sharding.rank]
    return exported.tile_assignment.array.reshape(*dims, -1)


@pytest.mark.parametrize("devices", range(1, MAX_DEVICES + 1))
def test_grid(devices: int) -> None:
    checked = 0
    for mesh in meshes():
        if mesh.total_size != devices or not mesh.axes:
            continue
        for sharding in shardings(mesh):
            expected = expected_grid(sharding, mesh)
            if expected is None:  # sub-axes of 12 that no cutting holds, on which devices spread unevenly
                with pytest.raises(ConversionError):
                    convert_to_hlo_sharding(sharding, mesh)
                continue
            found = grid_of(convert_to_hlo_sharding(sharding, mesh), sharding, mesh)
            assert np.array_equal(found, expected), f"{sharding} on {mesh}"
            checked += 1
    assert checked


def test_ordered_axis_refs_tile_the_mesh() -> None:
    for mesh in meshes():
        for sharding in shardings(mesh):
            refs_of_sharding = sharding.axis_refs
            if all(a.can_coexist(b) for a, b in itertools.combinations(refs_of_sharding, 2)):
                ordered = get_ordered_axis_refs(sharding, mesh)
                assert math.prod(ref.get_size(mesh) for ref in ordered) == mesh.total_size
                assert set(refs_of_sharding) <= set(ordered)
