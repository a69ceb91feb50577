"""Which axes of a mesh make up a device grid: the inner step of the import.

On the mesh x=2, y=4 and the grid `[4,2]<=[2,4]T(1,0)`:

1. Factors of the grid (see `factorisation`), in device order: 2 in tile dim 1, then 4 in tile dim 0.
2. Runs: tile dim 1 steps through 2 devices, 4 apart, tile dim 0 through 4 devices, 1 apart.
3. Axes that step like this (see `strides`): tile dim 0 is `y`, tile dim 1 is `x`.

Grids that list their devices, and meshes that do, are turned into positions on the mesh first.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.bridge.factorisation import grid_runs
from sdybridge.bridge.positions import MAX_LISTED_DEVICES, listed_devices, positions_on, sort_groups
from sdybridge.bridge.strides import merged_runs, refs_of_runs
from sdybridge.hlo import IotaTileAssignment, OpShardingType, TileAssignment
from sdybridge.hlo.iota_recognition import first_departure, recognize_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.bridge.factorisation import Run
    from sdybridge.hlo import HloSharding
    from sdybridge.sdy import AxisRefAttr, MeshAttr

    Types = tuple[OpShardingType, ...]
    Refs = tuple[AxisRefAttr, ...]

_MANUAL = OpShardingType.MANUAL
_REPLICATED = OpShardingType.REPLICATED
_UNREDUCED = OpShardingType.UNREDUCED
_GROUPS = (_MANUAL, _UNREDUCED, _REPLICATED)

_CACHED_DEVICES = 4096  # longer lists are not kept in a cache


class GridAxes(NamedTuple):
    """The axes that make up a grid.

    Attributes:
        dims: Those of each data dim, major to minor.
        manual: Those of the manual groups, in mesh order, as are the next two.
        unreduced: Those of the unreduced groups.
        replicated: Those of the replicated groups.
    """

    dims: tuple[Refs, ...]
    manual: Refs
    unreduced: Refs
    replicated: Refs


class Misfit(NamedTuple):
    """Why no axes of a mesh make up a grid.

    Attributes:
        position: Where on the mesh the first device sits that would be misplaced.
        dim: The tile dim that the mesh cannot split; None where the order of the devices as a whole is
            not that of any axes.
        partial: The axes of every data dim, without the splits that the mesh does not have.
    """

    position: int
    dim: int | None = None
    partial: tuple[Refs, ...] = ()


def subgroup_types(hlo_sharding: HloSharding) -> Types:
    """The types of a tiled sharding's last tile dims, the short form of replicas included."""
    return (_REPLICATED,) if hlo_sharding._replicate_on_last_tile_dim else hlo_sharding._subgroup_types


def find_grid_axes(tiles: TileAssignment, types: Types, mesh: MeshAttr) -> GridAxes | Misfit:
    """The axes of `mesh` that make up a grid of as many devices.

    Args:
        tiles: The grid.
        types: The types of its last dims.
        mesh: A mesh with axes.

    Raises:
        ConversionError: A device list does not hold each of `0..n - 1` once, or would be too long.
    """
    iota = tiles._iota
    if iota is not None and not mesh.device_ids:
        return _of_iota(iota._dims, iota._reshape_dims, iota._transpose_perm, types, mesh)
    if tiles.num_elements <= _CACHED_DEVICES:
        return _of_short_list(tiles, types, mesh)
    return _of_list(tiles, types, mesh)


@functools.lru_cache(maxsize=1 << 14)
def _of_iota(
    dims: tuple[int, ...], reshape_dims: tuple[int, ...], perm: tuple[int, ...], types: Types, mesh: MeshAttr
) -> GridAxes | Misfit:
    runs = grid_runs(dims, reshape_dims, perm)
    if not isinstance(runs, int):
        return _of_runs(runs, types, mesh)
    iota = IotaTileAssignment._from_known(dims, reshape_dims, perm)
    in_groups = math.prod(dims[len(dims) - len(types) :])
    if in_groups > 1 and iota.num_elements <= MAX_LISTED_DEVICES:  # only the order inside may be at fault
        return _of_list(TileAssignment._from_iota(iota), types, mesh)
    return Misfit(iota._device_at(runs))


def _of_list(tiles: TileAssignment, types: Types, mesh: MeshAttr) -> GridAxes | Misfit:
    positions = positions_on(mesh, listed_devices(tiles))
    iota = None if types else recognize_array(positions)
    if iota is None:
        positions = sort_groups(positions, types)
        iota = recognize_array(positions)
    if iota is None:
        flat = positions.reshape(-1)
        return Misfit(int(flat[first_departure(flat)]))
    runs = grid_runs(iota._dims, iota._reshape_dims, iota._transpose_perm)
    if isinstance(runs, int):
        return Misfit(iota._device_at(runs))
    return _of_runs(runs, types, mesh)


_of_short_list = functools.lru_cache(maxsize=1 << 12)(_of_list)


def _of_runs(runs: Sequence[Sequence[Run]], types: Types, mesh: MeshAttr) -> GridAxes | Misfit:
    rank = len(runs) - len(types)
    dims: list[Refs] = []
    for dim in range(rank):
        refs = refs_of_runs(runs[dim], mesh) if runs[dim] else ()
        if refs is None:
            return _misfit(dim, runs[:rank], mesh)
        dims.append(refs)
    groups: dict[OpShardingType, Refs] = {}
    for type_ in _GROUPS if types else ():
        if type_ not in types:
            continue
        found = [
            run for kind, of_dim in zip(types, runs[rank:], strict=True) if kind is type_ for run in of_dim
        ]
        merged = merged_runs(found) if len(found) > 1 else found
        refs = refs_of_runs(merged, mesh)
        if refs is None or (type_ is _MANUAL and any(ref.sub_axis_info for ref in refs)):
            return Misfit(merged[-1][1], rank + types.index(type_))
        groups[type_] = refs
    get = groups.get
    return GridAxes(tuple(dims), get(_MANUAL, ()), get(_UNREDUCED, ()), get(_REPLICATED, ()))


def _misfit(dim: int, runs: Sequence[Sequence[Run]], mesh: MeshAttr) -> Misfit:
    """The first run of a dim that the mesh has no axes for, and what it has axes for."""
    position = next(run[1] for run in runs[dim] if refs_of_runs([run], mesh) is None)
    partial = [
        tuple(itertools.chain.from_iterable(refs_of_runs([run], mesh) or () for run in found))
        for found in runs
    ]
    return Misfit(position, dim, tuple(partial))
