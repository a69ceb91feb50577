"""The way from the axes of a mesh to a device grid, step by step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge import get_ordered_axis_refs
from sdybridge.bridge.grid_axes import GridAxes, find_grid_axes, subgroup_types
from sdybridge.hlo import IotaTileAssignment, OpShardingType, TileAssignment, recognize_iota

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.hlo import HloSharding
    from sdybridge.sdy import AxisRefAttr, MeshAttr
    from sdybridge.view.sharded import Sharded


@dataclass(frozen=True, slots=True)
class TileDim:
    """One dimension of a device grid.

    Attributes:
        role: `dimension 0`, or `manual`, `unreduced`, `replicated`.
        axes: The axes that it is made of, major to minor; None where no mesh is known.
        size: Its size.
    """

    role: str
    axes: tuple[str, ...] | None
    size: int


@dataclass(frozen=True, slots=True)
class Steps:
    """How a device grid is made: count the devices, reshape, transpose, reshape.

    Attributes:
        axes: The axes or parts of axes in device order, each with its size; the reshape of the count.
        transpose: In which order the dims of the grid take the axes.
        tile_dims: The dims of the grid, and which axes each one takes.
        canonical: The reshape and the transpose that XLA writes: neighbours that stay together are merged.
            None where the devices are listed one by one.
        device_ids: The order of the mesh's devices, which takes the place of a plain count; empty for that.
    """

    axes: tuple[tuple[str, int], ...]
    transpose: tuple[int, ...]
    tile_dims: tuple[TileDim, ...]
    canonical: tuple[tuple[int, ...], tuple[int, ...]] | None
    device_ids: tuple[int, ...]

    @property
    def numpy(self) -> str:
        """A NumPy expression of the grid; `device_ids` stands for the mesh's, where it has them."""
        reshape = ",".join(str(size) for _, size in self.axes)
        dims = ",".join(str(dim.size) for dim in self.tile_dims)
        count = math.prod(size for _, size in self.axes)
        start = "np.array(device_ids)" if self.device_ids else f"np.arange({count})"
        if self.transpose == tuple(range(len(self.transpose))):
            return f"{start}.reshape({dims})"
        return f"{start}.reshape({reshape}).transpose({','.join(map(str, self.transpose))}).reshape({dims})"

    @property
    def device_formula(self) -> str:
        """How the device follows from its coordinates along the axes, such as `4*"x" + "y"`."""
        terms = []
        stride = math.prod(size for _, size in self.axes)
        for name, size in self.axes:
            stride //= size
            terms.append(name if stride == 1 else f"{stride}*{name}")
        return " + ".join(terms)


def steps_of(sharded: Sharded) -> Steps | None:
    """The steps that lead to the grid of a tiled sharding; None where no axes lead there."""
    hlo = sharded.hlo
    if hlo.type is not OpShardingType.OTHER or hlo.num_devices < 2:
        return None
    mesh = sharded.mesh
    if sharded.sdy is None or mesh is None or not mesh.axes:
        return _steps_of_grid(hlo)
    found = find_grid_axes(hlo.tile_assignment, subgroup_types(hlo), mesh)
    if not isinstance(found, GridAxes):
        return _steps_of_grid(hlo)
    return _steps_on_mesh(sharded, mesh, found)


def _steps_on_mesh(sharded: Sharded, mesh: MeshAttr, found: GridAxes) -> Steps | None:
    hlo, sdy = sharded.hlo, sharded.sdy
    if sdy is None:
        return None
    ordered = get_ordered_axis_refs(sdy, mesh)
    if math.prod(ref.get_size(mesh) for ref in ordered) != mesh.total_size:
        return None  # parts of an axis that no cutting has: the grid is listed device by device
    groups = {
        OpShardingType.MANUAL: found.manual,
        OpShardingType.UNREDUCED: sdy.unreduced_axes or found.unreduced,
    }
    taken: list[AxisRefAttr] = []
    dims: list[TileDim] = []
    for i, dim in enumerate(sdy.dim_shardings):
        taken += dim.axes
        dims.append(_tile_dim(f"dimension {i}", dim.axes, mesh))
    for kind in subgroup_types(hlo):
        if kind in groups:
            taken += groups[kind]
            dims.append(_tile_dim(kind.name.lower(), groups[kind], mesh))
        elif kind is not OpShardingType.REPLICATED:
            return None
    if any(ref not in ordered for ref in taken):
        return None
    rest = [ref for ref in ordered if ref not in taken]
    if OpShardingType.REPLICATED in subgroup_types(hlo):
        dims.append(_tile_dim("replicated", rest, mesh))
    transpose = tuple([ordered.index(ref) for ref in (*taken, *rest)])
    axes = tuple([(ref.stripped, ref.get_size(mesh)) for ref in ordered])
    return _checked(Steps(axes, transpose, tuple(dims), _canonical(hlo), mesh.device_ids), hlo)


def _tile_dim(role: str, refs: Sequence[AxisRefAttr], mesh: MeshAttr) -> TileDim:
    return TileDim(role, tuple([ref.stripped for ref in refs]), math.prod(ref.get_size(mesh) for ref in refs))


def _steps_of_grid(hlo: HloSharding) -> Steps | None:
    """The steps of an iota by itself: its factors stand for axes."""
    iota = recognize_iota(hlo.tile_assignment)
    if iota is None:
        return None
    types = subgroup_types(hlo)
    roles = [f"dimension {i}" for i in range(hlo.data_rank)] + [kind.name.lower() for kind in types]
    dims = tuple([TileDim(role, None, size) for role, size in zip(roles, iota.dims, strict=True)])
    axes = tuple([(f"i{i}", size) for i, size in enumerate(iota.reshape_dims)])
    return Steps(axes, iota.transpose_perm, dims, (iota.reshape_dims, iota.transpose_perm), ())


def _canonical(hlo: HloSharding) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    iota = recognize_iota(hlo.tile_assignment)
    return None if iota is None else (iota.reshape_dims, iota.transpose_perm)


def _checked(steps: Steps, hlo: HloSharding) -> Steps | None:
    """The steps if they lead to the grid. Groups that came in another order are shown by no steps."""
    sizes = tuple([size for _, size in steps.axes])
    dims = tuple([dim.size for dim in steps.tile_dims])
    if math.prod(dims) != math.prod(sizes) or dims != hlo.tile_assignment.dims:
        return None
    made = TileAssignment._from_iota(IotaTileAssignment._from_known(dims, sizes, steps.transpose))
    if steps.device_ids:
        import numpy as np

        devices = np.asarray(steps.device_ids, dtype=np.int64)
        made = TileAssignment.from_array(devices[made.array])
    return steps if made == hlo.tile_assignment else None
