"""One mesh for many HLO shardings, or as few as they need.

XLA makes one mesh for a whole program: every tiled sharding needs axes of certain sizes (see `local_mesh`),
and the mesh is their common refinement, with axes `_axis_0`, `_axis_1`, ... So does this, wherever there is
one. Where XLA aborts, further meshes follow: for other numbers of devices, for sizes without a common
refinement, and, with `device_ids`, for devices in an order that no axes have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sdybridge.bridge.factorisation import common_factors
from sdybridge.bridge.grid_axes import GridAxes, find_grid_axes, subgroup_types
from sdybridge.bridge.import_ import maximal_mesh_name
from sdybridge.bridge.import_errors import check_is_leaf, single_device
from sdybridge.bridge.inferred_meshes import InferredMeshes
from sdybridge.bridge.local_mesh import axis_sizes, local_mesh
from sdybridge.bridge.named_import import own_mesh
from sdybridge.bridge.positions import sort_groups
from sdybridge.errors import VerificationError
from sdybridge.hlo import HloSharding, OpShardingType
from sdybridge.hlo.checks import as_int, as_tuple, shown
from sdybridge.hlo.iota_recognition import recognize_array
from sdybridge.sdy import MeshAttr, MeshAxisAttr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sdybridge.bridge.grid_axes import Types
    from sdybridge.bridge.positions import Array
    from sdybridge.hlo import TileAssignment


def infer_mesh(
    shardings: Iterable[HloSharding],
    *,
    mesh: MeshAttr | Mapping[str, MeshAttr] | None = None,
    mesh_name: str = "mesh",
    axis_names: Sequence[str] = (),
    num_devices: int | None = None,
) -> InferredMeshes:
    """The meshes that the shardings of a program can be imported on.

    Args:
        shardings: All of them; tuples stand for their elements. Order matters where one mesh does not do.
        mesh: Your own mesh, or meshes by name. Each sharding goes on the first one that can express it;
            meshes are made for the others only.
        mesh_name: The name of the first mesh, or of `mesh` if that is a single one. Further ones are called
            `mesh_1`, `mesh_2`, ...
        axis_names: Names for the axes of meshes that are made, major to minor; the axes beyond are called
            `_axis_N`.
        num_devices: How many devices the program runs on. Needed only where the one thing to say about
            axes is that all of them are unreduced.

    Returns:
        The meshes, and which one each sharding is on. Shardings over named meshes stay on those.

    Raises:
        ConversionError: A sharding is on devices that no mesh has: it lists one twice or not at all, or
            names a negative one.

    Example:
        >>> from sdybridge.hlo import HloSharding
        >>> rows, columns = HloSharding.iota_tile([8, 1]), HloSharding.iota_tile([1, 4, 2])
        >>> other = HloSharding.iota_tile([4, 2], [2, 4], [1, 0])
        >>> print(infer_mesh([rows, other]).meshes["mesh"])
        #sdy.mesh<["_axis_0"=2, "_axis_1"=4]>
        >>> print(infer_mesh([rows, other], axis_names=["x", "y"]).convert(other))
        #sdy.sharding<@mesh, [{"y"}, {"x"}]>

    Source: the import of shardings in xla's
    `service/spmd/shardy/stablehlo_round_trip/stablehlo_import.cc`.
    """
    leaves = tuple(_leaves(shardings))
    known = _known_meshes(mesh, mesh_name)
    given = set(known)
    own_names = _name_own_meshes(leaves, known, mesh_name)
    made: list[_MadeMesh] = []
    places: dict[tuple[TileAssignment, Types], str | _MadeMesh] = {}
    devices: set[int] = set()
    needs_axes = False
    for leaf in leaves:
        kind = leaf._kind
        if own_mesh(leaf) is not None:
            continue
        if kind is OpShardingType.MAXIMAL:
            devices.add(single_device(leaf))
        elif kind is OpShardingType.UNREDUCED:
            needs_axes = True
        elif kind is OpShardingType.OTHER and leaf._tiles.num_elements > 1:
            key = (leaf._tiles, subgroup_types(leaf))
            if key not in places:
                places[key] = _place(*key, known, made)
    made.sort(key=lambda one: one.devices is not None)  # those in device order first, else as they came up
    with_axes = [name for name, one in known.items() if one.axes or (name in given and not one.is_maximal)]
    if needs_axes and not with_axes and not made:
        count = 1 if num_devices is None else as_int(num_devices, "num_devices", low=1)
        made.append(_MadeMesh((count,) if count > 1 else (), None))
    elif devices and not with_axes and not made:
        made.append(_MadeMesh((), None))  # as XLA does, for what is on no single device
    meshes = dict(known)
    for one in made:
        one.name = _fresh(mesh_name, meshes)
        meshes[one.name] = one.mesh(axis_names)
    single = {one.device_ids[0]: name for name, one in known.items() if one.is_maximal}
    for device in sorted(devices):
        if device not in single:
            single[device] = _fresh(maximal_mesh_name(device), meshes)
            meshes[single[device]] = MeshAttr.maximal(device)
    names = {key: place if isinstance(place, str) else place.name for key, place in places.items()}
    default = next(iter([*with_axes, *[one.name for one in made]]), own_names.get(MeshAttr()))
    return InferredMeshes(meshes, names, own_names, single, default)


def _name_own_meshes(
    leaves: Iterable[HloSharding], known: dict[str, MeshAttr], mesh_name: str
) -> dict[MeshAttr, str]:
    """The name of each mesh that a sharding brings along; those that are not known get known."""
    names = {one: name for name, one in reversed(known.items())}
    brought = dict.fromkeys(own for own in map(own_mesh, leaves) if own is not None and own not in names)
    for own in sorted(brought, key=lambda own: not own.axes):  # the one without axes comes last, as in XLA
        names[own] = _fresh(mesh_name if own.axes else "empty_mesh", known)
        known[names[own]] = own
    return names


class _MadeMesh:
    """A mesh in the making: its axes get finer with every sharding that joins.

    Attributes:
        sizes: The sizes of its axes, major to minor, all at least 2.
        devices: The order of its devices; None for `0, 1, 2, ...`.
        name: Its name, once it has one.
    """

    __slots__ = ("_position_of_device", "devices", "name", "sizes")

    def __init__(self, sizes: tuple[int, ...], devices: Array | None) -> None:
        self.sizes = sizes
        self.devices = devices
        self.name = ""
        self._position_of_device: Array | None = None

    def join(self, tiles: TileAssignment, types: Types, sizes: tuple[int, ...] | None) -> bool:
        """Refine the axes for a grid that needs axes of `sizes`, if there is a common refinement.

        `sizes` is None for a grid whose devices are in no order that axes have.
        """
        if (sizes is None) is (self.devices is None):
            return False
        if sizes is None:
            sizes = self._sizes_for(tiles, types)
        common = None if sizes is None else common_factors(self.sizes, sizes)
        if common is None:
            return False
        self.sizes = common
        return True

    def _sizes_for(self, tiles: TileAssignment, types: Types) -> tuple[int, ...] | None:
        """The sizes of the axes that make up a grid, when devices are in the order of this mesh."""
        import numpy as np

        devices = self.devices
        if devices is None or devices.size != tiles.num_elements:
            return None
        if self._position_of_device is None:
            self._position_of_device = np.empty_like(devices)
            self._position_of_device[devices] = np.arange(devices.size)
        iota = recognize_array(sort_groups(self._position_of_device[tiles.array], types))
        return None if iota is None else axis_sizes(iota)

    def mesh(self, axis_names: Sequence[str]) -> MeshAttr:
        """The mesh, with default names for the axes that `axis_names` do not reach."""
        names = [*axis_names, *[f"_axis_{i}" for i in range(len(axis_names), len(self.sizes))]]
        axes = [MeshAxisAttr(name, size) for name, size in zip(names, self.sizes, strict=False)]
        return MeshAttr(axes, () if self.devices is None else self.devices.tolist())


def _place(
    tiles: TileAssignment, types: Types, known: Mapping[str, MeshAttr], made: list[_MadeMesh]
) -> str | _MadeMesh:
    """The first mesh that can express a grid: the name of a known one, or one that is made."""
    for name, mesh in known.items():
        if (
            mesh.axes
            and mesh.total_size == tiles.num_elements
            and isinstance(find_grid_axes(tiles, types, mesh), GridAxes)
        ):
            return name
    sizes, devices = local_mesh(tiles, types)
    for one in made:
        if one.join(tiles, types, sizes if devices is None else None):
            return one
    made.append(_MadeMesh(sizes, devices))
    return made[-1]


def _known_meshes(mesh: MeshAttr | Mapping[str, MeshAttr] | None, mesh_name: str) -> dict[str, MeshAttr]:
    if mesh is None:
        return {}
    known = dict(mesh) if isinstance(mesh, Mapping) else {mesh_name: mesh}
    for name, one in known.items():
        if not isinstance(name, str) or not isinstance(one, MeshAttr):
            raise VerificationError(
                "mesh must be a MeshAttr or a mapping from names to them, got "
                f"{type(mesh).__name__} with {shown(one)}",
                rule="mesh",
            )
    return known


def _leaves(shardings: Iterable[HloSharding]) -> Iterator[HloSharding]:
    for sharding in as_tuple(shardings, "shardings", "HloSharding"):
        if isinstance(sharding, HloSharding) and sharding.is_tuple:
            yield from sharding.tuple_elements
        else:
            check_is_leaf(sharding)
            yield sharding


def _fresh(name: str, taken: Mapping[str, MeshAttr]) -> str:
    """`name`, with a number behind it where it is taken."""
    if name not in taken:
        return name
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
