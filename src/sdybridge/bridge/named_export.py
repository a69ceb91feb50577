"""Export to named shardings: the mesh goes along, so that axes keep their names, and nothing is computed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError, VerificationError
from sdybridge.hlo import (
    AxisRef,
    DimensionSharding,
    HloSharding,
    Mesh,
    NamedSharding,
    SubAxis,
    TileAssignment,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdybridge.sdy import AxisRefAttr, MeshAttr, TensorShardingAttr


def export_named(sharding: TensorShardingAttr, mesh: MeshAttr, manual: Iterable[AxisRefAttr]) -> HloSharding:
    """The named form of a sharding that is valid on `mesh`; priorities and the reduction get lost.

    Where all axes are manual, nothing is said about dimensions, as in XLA.

    Raises:
        ConversionError: The sharding has sub-axes that cannot be cut from one axis together.
    """
    named_mesh, index = mesh_of(mesh)
    manual_axes = sorted([AxisRef(index[ref.name]) for ref in manual], key=lambda axis: axis.mesh_axis_index)
    if mesh.axes and len(manual_axes) == len(mesh.axes):
        return HloSharding.named(NamedSharding(named_mesh, manual_axes=manual_axes))
    if mesh.is_maximal:
        return HloSharding.named(NamedSharding(named_mesh))
    try:
        named = NamedSharding(
            named_mesh,
            [DimensionSharding(_axes(dim.axes, index), dim.is_closed) for dim in sharding.dim_shardings],
            replicated_axes=_axes(sharding.replicated_axes, index),
            unreduced_axes=_axes(sharding.unreduced_axes, index),
            manual_axes=manual_axes,
        )
    except VerificationError as error:
        raise ConversionError(
            f"no named sharding says this: {error.message}",
            notes=[f"sharding: {sharding}", f"mesh: {mesh}"],
            help="cut each axis into a chain of factors: every sub-axis starts at a multiple of pre-size "
            "times size of the one before it",
        ) from None
    return HloSharding.named(named)


@functools.lru_cache(maxsize=1024)
def mesh_of(mesh: MeshAttr) -> tuple[Mesh, dict[str, int]]:
    """The mesh as XLA has it, and the index of each axis by its name."""
    if not mesh.axes:
        return (Mesh.maximal(mesh.device_ids[0]) if mesh.device_ids else Mesh.empty()), {}
    sizes = tuple([axis.size for axis in mesh.axes])
    if mesh.device_ids:
        import numpy as np

        grid = TileAssignment.from_array(np.asarray(mesh.device_ids, dtype=np.int64).reshape(sizes))
    else:
        grid = TileAssignment.iota(sizes)
    return Mesh(grid, mesh.axis_names), {name: i for i, name in enumerate(mesh.axis_names)}


def _axes(refs: Iterable[AxisRefAttr], index: dict[str, int]) -> tuple[AxisRef, ...]:
    axes = []
    for ref in refs:
        sub = ref.sub_axis_info
        part = None if sub is None else SubAxis(sub.pre_size, sub.size)
        axes.append(AxisRef(index[ref.name], part))
    return tuple(axes)
