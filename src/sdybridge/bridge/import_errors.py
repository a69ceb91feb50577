"""The errors of the import: which device would be misplaced, and which mesh would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.bridge.grid_axes import subgroup_types
from sdybridge.bridge.local_mesh import local_mesh
from sdybridge.bridge.named_import import tensor_rank
from sdybridge.errors import ConversionError, VerificationError
from sdybridge.hlo import HloSharding, OpShardingType
from sdybridge.hlo.checks import as_int, cropped
from sdybridge.sdy import DimensionShardingAttr, MeshAttr, TensorShardingAttr

if TYPE_CHECKING:
    from sdybridge.bridge.grid_axes import Misfit

_OTHER = OpShardingType.OTHER
_SHOWN_DEVICES = 64
"""The most device ids that a help line spells out."""


def check_is_hlo(hlo_sharding: HloSharding) -> None:
    """Raise unless this is an HLO sharding."""
    if not isinstance(hlo_sharding, HloSharding):
        raise VerificationError(
            f"hlo_sharding must be an HloSharding, got {type(hlo_sharding).__name__}", rule="hlo-sharding"
        )


def check_is_leaf(hlo_sharding: HloSharding) -> None:
    """Raise unless this is the sharding of one tensor."""
    check_is_hlo(hlo_sharding)
    if hlo_sharding._kind is OpShardingType.TUPLE:
        raise ConversionError(
            "a Shardy sharding is that of one tensor, but this is the sharding of a tuple",
            notes=[f"sharding: {cropped(hlo_sharding)}"],
            help="convert each of its tuple_elements",
        )


def check_mesh(hlo_sharding: HloSharding, mesh: MeshAttr | None) -> MeshAttr:
    """The mesh; raise unless it has the devices of `hlo_sharding`."""
    if type(mesh) is not MeshAttr:
        help = "only a sharding over a named mesh has its own" if mesh is None else None  # noqa: A001
        raise VerificationError(f"mesh must be a MeshAttr, got {type(mesh).__name__}", rule="mesh", help=help)
    if mesh.is_maximal:
        raise ConversionError(
            f"the mesh stands for the single device {mesh.maximal_device_id}, but {cropped(hlo_sharding)} "
            "does not place the tensor on a single device",
            help="pass a mesh with axes",
        )
    if hlo_sharding._kind is _OTHER and hlo_sharding._tiles.num_elements not in (1, mesh.total_size):
        raise ConversionError(
            f"the sharding is on {hlo_sharding.num_devices} devices, the mesh has {mesh.total_size}",
            notes=_sides(hlo_sharding, mesh),
            help=_mesh_that_can(hlo_sharding),
        )
    return mesh


def single_device(hlo_sharding: HloSharding) -> int:
    """The device of a maximal sharding; raise unless it is a real one."""
    device = hlo_sharding._device
    if device is not None and device >= 0:
        return device
    raise ConversionError(
        f"{hlo_sharding} names no real device, so no mesh stands for it",
        help="device ids are 0 and more; -1 and -2 have a meaning inside XLA only",
    )


def check_rank(hlo_sharding: HloSharding, rank: int) -> None:
    """Raise unless `rank` is one, and that of the grid if there is a grid."""
    if type(rank) is not int or rank < 0:
        rank = as_int(rank, "rank", low=0)
    own = tensor_rank(hlo_sharding)
    if own not in (None, rank):
        raise VerificationError(
            f"{cropped(hlo_sharding)} tiles tensors of rank {own}, not of rank {rank}",
            rule="sharding-rank",
        )


def unknown_rank(hlo_sharding: HloSharding) -> VerificationError:
    """The error about a sharding of any rank."""
    return VerificationError(
        f"{cropped(hlo_sharding)} does not tell the rank of the tensor",
        rule="sharding-rank",
        help="pass rank=, the number of dimensions of the tensor",
    )


def misfit_error(hlo_sharding: HloSharding, mesh: MeshAttr, misfit: Misfit) -> ConversionError:
    """The error about a grid that no axes of the mesh make up."""
    device = mesh.device_ids[misfit.position] if mesh.device_ids else misfit.position
    tile = list(hlo_sharding.tile_index_for_device(device))
    rank = hlo_sharding.data_rank
    if misfit.dim is None:
        message = "the devices are in an order that no axes of the mesh have"
        where = (
            f"device {device} is the first out of order: it is on tile {tile}, where axes put another one, "
            "given the devices before it"
        )
    elif misfit.dim < rank:
        message = f"no axes of the mesh split the devices as dimension {misfit.dim} does"
        partial = TensorShardingAttr("mesh", [DimensionShardingAttr(refs) for refs in misfit.partial])
        where = (
            f"device {device} belongs on tile {tile}, but the closest that the mesh can express, "
            f"{partial.stripped}, leaves it on tile {[0] * rank}"
        )
    else:
        type_ = subgroup_types(hlo_sharding)[misfit.dim - rank].name.lower()
        message = f"no {'whole ' if type_ == 'manual' else ''}axes of the mesh make up the {type_} groups"
        where = f"device {device} is in the {type_} group of device {_first(mesh)}"
    return ConversionError(
        message, notes=[where, *_sides(hlo_sharding, mesh)], help=_mesh_that_can(hlo_sharding)
    )


def _first(mesh: MeshAttr) -> int:
    return mesh.device_ids[0] if mesh.device_ids else 0


def _sides(hlo_sharding: HloSharding, mesh: MeshAttr) -> list[str]:
    return [f"sharding: {cropped(hlo_sharding)}", f"mesh: {cropped(mesh.stripped)}"]


def _mesh_that_can(hlo_sharding: HloSharding) -> str | None:
    try:
        sizes, devices = local_mesh(hlo_sharding._tiles, subgroup_types(hlo_sharding))
    except ConversionError:
        return None
    axes = ", ".join(f'"_axis_{i}"={size}' for i, size in enumerate(sizes))
    if devices is None:
        return f"a mesh that can: <[{axes}]>"
    if devices.size > _SHOWN_DEVICES:
        return f"a mesh that can: <[{axes}]> with the devices of the grid, row by row, as its device_ids"
    return f"a mesh that can: <[{axes}], device_ids={devices.tolist()}>"
