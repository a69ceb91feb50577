"""Import of named shardings: their own mesh says it all, and nothing has to be found or chosen.

Source: `convertToSdyShardingAttr` and `toSdyMeshAttr` in xla's `service/spmd/shardy/utils.cc`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from sdybridge.bridge.positions import listed_devices
from sdybridge.errors import ConversionError, VerificationError
from sdybridge.hlo.checks import cropped
from sdybridge.sdy import AxisRefAttr, DimensionShardingAttr, MeshAttr, MeshAxisAttr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdybridge.hlo import AxisRef, HloSharding, Mesh, NamedSharding


@functools.lru_cache(maxsize=1024)
def mesh_attr(mesh: Mesh) -> MeshAttr:
    """The same mesh as Shardy has it; devices that are counted in another order are listed.

    Raises:
        ConversionError: Shardy has no such mesh, or there are too many devices to list.
    """
    if mesh.device_id is not None:
        return MeshAttr.maximal(mesh.device_id)
    sizes = zip(mesh.axis_names, mesh.axis_sizes, strict=True)
    listed = () if mesh.has_simple_order or not mesh.axis_names else _listed(mesh)
    try:
        return MeshAttr([MeshAxisAttr(name, size) for name, size in sizes], listed)
    except VerificationError as error:
        raise ConversionError(
            f"Shardy has no such mesh: {error.message}", notes=[f"mesh: {cropped(mesh)}"]
        ) from None


def _listed(mesh: Mesh) -> list[int]:
    return listed_devices(mesh.device_assignment).reshape(-1).tolist()


def own_mesh(hlo_sharding: HloSharding) -> MeshAttr | None:
    """The mesh that a sharding brings along, unless that stands for a single device.

    Raises:
        ConversionError: As `mesh_attr`.
    """
    named = hlo_sharding._named
    return None if named is None or named.mesh.is_maximal else mesh_attr(named.mesh)


def tensor_rank(hlo_sharding: HloSharding) -> int | None:
    """The rank of the tensors that a sharding is for; None where it is for all, as single devices are."""
    named = hlo_sharding._named
    if named is not None:
        return len(named.dim_shardings) or None
    return hlo_sharding.data_rank if hlo_sharding.type.name == "OTHER" else None


def dims_of(named: NamedSharding) -> tuple[DimensionShardingAttr, ...]:
    """Its dimensions; none if it is for tensors of any rank."""
    return tuple(
        [DimensionShardingAttr(refs_of(dim.axes, named.mesh), dim.is_closed) for dim in named.dim_shardings]
    )


def refs_of(axes: Iterable[AxisRef], mesh: Mesh) -> tuple[AxisRefAttr, ...]:
    """Axes of a mesh, by their names."""
    refs = []
    for axis in axes:
        name, sub = mesh.axis_names[axis.mesh_axis_index], axis.sub_axis_info
        refs.append(AxisRefAttr(name) if sub is None else AxisRefAttr.sub(name, sub.pre_size, sub.size))
    return tuple(refs)


def manual_axes_of(hlo_sharding: HloSharding, named: NamedSharding) -> tuple[str, ...]:
    """The names of its manual axes.

    Raises:
        ConversionError: One of them is only a part of an axis, which no manual computation binds.
    """
    for axis in named.manual_axes:
        if axis.sub_axis_info is not None:
            raise ConversionError(
                f"{axis.to_string(named.mesh)} is manual, but a manual computation binds whole axes",
                notes=[f"sharding: {cropped(hlo_sharding)}"],
                help="split the axis of the mesh into two",
            )
    return tuple([named.mesh.axis_names[axis.mesh_axis_index] for axis in named.manual_axes])
