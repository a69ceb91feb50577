"""Shardings over XLA's named meshes and Shardy's, one turned into the other: they differ in spelling only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError
from sdybridge.hlo import AxisRef, DimensionSharding, Mesh, NamedSharding, SubAxis, TileAssignment
from sdybridge.sdy import AxisRefAttr, DimensionShardingAttr, MeshAttr, MeshAxisAttr, TensorShardingAttr

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def mesh_of_named(named: NamedSharding) -> MeshAttr:
    """The mesh of a named sharding, as Shardy has it.

    >>> mesh_of_named(NamedSharding(Mesh.from_sizes({"a": 2, "b": 4})))
    MeshAttr.from_sizes({'a': 2, 'b': 4})
    """
    mesh = named.mesh
    if mesh.device_id is not None:
        return MeshAttr.maximal(mesh.device_id)
    axes = [MeshAxisAttr(name, size) for name, size in zip(mesh.axis_names, mesh.axis_sizes, strict=True)]
    return MeshAttr(axes, () if mesh.has_simple_order or not axes else mesh.device_assignment.array.ravel())


def sdy_of_named(
    named: NamedSharding, *, rank: int | None = None, mesh_name: str = "mesh"
) -> TensorShardingAttr:
    """The named sharding as Shardy's, without the manual axes.

    Args:
        named: The sharding.
        rank: The rank of the tensor, for shardings that list no dimensions.
        mesh_name: What the result calls the mesh.
    """
    names = named.mesh.axis_names

    def refs(axes: Iterable[AxisRef]) -> tuple[AxisRefAttr, ...]:
        found = []
        for axis in axes:
            name, sub = names[axis.mesh_axis_index], axis.sub_axis_info
            found.append(AxisRefAttr(name) if sub is None else AxisRefAttr.sub(name, sub.pre_size, sub.size))
        return tuple(found)

    dims = [DimensionShardingAttr(refs(dim.axes), dim.is_closed) for dim in named.dim_shardings]
    if not dims:
        dims = [DimensionShardingAttr()] * (rank or 0)
    return TensorShardingAttr(mesh_name, dims, refs(named.replicated_axes), refs(named.unreduced_axes))


def named_of_sdy(
    sharding: TensorShardingAttr, mesh: MeshAttr, manual_axes: Sequence[str] = ()
) -> NamedSharding:
    """A Shardy sharding over XLA's named mesh, with the manual axes of its scope.

    Raises:
        VerificationError: Parts of an axis follow each other, or cannot be cut from it together.
        ConversionError: A name has a quote in it, which the text of named shardings cannot hold.

    >>> sharding = TensorShardingAttr.from_string('<@mesh, [{"y", ?}, {}]>')
    >>> print(named_of_sdy(sharding, MeshAttr.from_sizes({"x": 2, "y": 4})))
    {mesh['x'=2,'y'=4], [{'y', ?}, {}]}
    """
    if any("'" in name for name in mesh.axis_names):
        raise ConversionError("a named mesh cannot have a quote in the name of an axis")

    def refs(axes: Iterable[AxisRefAttr]) -> tuple[AxisRef, ...]:
        found = []
        for ref in axes:
            index, sub = mesh.axis_index(ref.name), ref.sub_axis_info
            found.append(AxisRef(index, None if sub is None else SubAxis(sub.pre_size, sub.size)))
        return tuple(found)

    if mesh.is_maximal:
        return NamedSharding(Mesh.maximal(mesh.device_ids[0]))
    grid = TileAssignment.iota([axis.size for axis in mesh.axes])
    if mesh.device_ids:
        import numpy as np

        ids = np.asarray(mesh.device_ids, dtype=np.int64)
        grid = TileAssignment.from_array(ids.reshape([axis.size for axis in mesh.axes]))
    return NamedSharding(
        Mesh(grid, mesh.axis_names),
        [DimensionSharding(refs(dim.axes), dim.is_closed) for dim in sharding.dim_shardings],
        replicated_axes=refs(sharding.replicated_axes),
        unreduced_axes=refs(sharding.unreduced_axes),
        manual_axes=refs(map(AxisRefAttr, sorted(manual_axes, key=mesh.axis_index))),
    )
