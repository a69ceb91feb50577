"""What mesh inference answers: the meshes of a program, and which one each of its shardings is on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.bridge.grid_axes import subgroup_types
from sdybridge.bridge.import_ import convert_to_sdy_sharding, get_manual_axes
from sdybridge.bridge.import_errors import check_is_leaf
from sdybridge.bridge.named_import import own_mesh
from sdybridge.errors import ConversionError
from sdybridge.hlo import OpShardingType
from sdybridge.hlo.checks import cropped
from sdybridge.sdy import MeshAttr
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdybridge.bridge.grid_axes import Types
    from sdybridge.hlo import HloSharding, TileAssignment
    from sdybridge.sdy import TensorShardingAttr

    Grid = tuple[TileAssignment, Types]


class InferredMeshes:
    """Meshes for a set of HLO shardings; `infer_mesh` makes them.

    Attributes:
        meshes: The meshes by name, in the order in which a program declares them: those with axes, then one
            `maximal_mesh_N` per single device, by ascending N. Empty if no sharding needs a mesh.

    Example:
        >>> from sdybridge.bridge import infer_mesh
        >>> from sdybridge.hlo import HloSharding
        >>> rows, single = HloSharding.iota_tile([8, 1]), HloSharding.assign_device(3)
        >>> inferred = infer_mesh([rows, single])
        >>> for name, mesh in inferred.meshes.items():
        ...     print(f"sdy.mesh @{name} = {mesh.stripped}")
        sdy.mesh @mesh = <["_axis_0"=8]>
        sdy.mesh @maximal_mesh_3 = <[], device_ids=[3]>
        >>> print(inferred.convert(rows), inferred.convert(single))
        #sdy.sharding<@mesh, [{"_axis_0"}, {}]> #sdy.sharding<@maximal_mesh_3, []>
    """

    __slots__ = ("_default", "_names", "_own_names", "_single_devices", "meshes")

    def __init__(
        self,
        meshes: Mapping[str, MeshAttr],
        names: Mapping[Grid, str],
        own_names: Mapping[MeshAttr, str],
        single_devices: Mapping[int, str],
        default: str | None,
    ) -> None:
        self.meshes = meshes
        self._names = names
        self._own_names = own_names
        self._single_devices = single_devices
        self._default = default

    def mesh_name(self, hlo_sharding: HloSharding) -> str | None:
        """The name of the mesh that the sharding of one tensor is on.

        Those over a named mesh are on that one, those without tiles on the first mesh with axes. None if
        there is none: nothing needs one.

        Raises:
            ConversionError: The sharding was not among those that the meshes were made for.

        Example:
            >>> from sdybridge.bridge import infer_mesh
            >>> from sdybridge.hlo import HloSharding
            >>> grid = HloSharding.from_string("{devices=[4,2]<=[2,4]T(1,0)}")
            >>> infer_mesh([grid]).mesh_name(grid)
            'mesh'
        """
        check_is_leaf(hlo_sharding)
        name = self._default
        own = own_mesh(hlo_sharding)
        if own is not None:
            name = self._own_names.get(own)
        elif hlo_sharding._device is not None:
            name = self._single_devices.get(hlo_sharding._device)
        elif hlo_sharding._kind is OpShardingType.OTHER and hlo_sharding._tiles.num_elements > 1:
            name = self._names.get((hlo_sharding._tiles, subgroup_types(hlo_sharding)))
        else:
            return self._default
        if name is None:
            raise ConversionError(
                f"no mesh was made for {cropped(hlo_sharding)}", help="pass it to infer_mesh with the others"
            )
        return name

    def mesh(self, hlo_sharding: HloSharding) -> MeshAttr:
        """The mesh that the sharding of one tensor is on; one without axes where `mesh_name` is None.

        Raises:
            ConversionError: As `mesh_name`.

        Example:
            >>> from sdybridge.bridge import infer_mesh
            >>> from sdybridge.hlo import HloSharding
            >>> grid = HloSharding.from_string("{devices=[4,2]<=[2,4]T(1,0)}")
            >>> print(infer_mesh([grid], axis_names=["x", "y"]).mesh(grid))
            #sdy.mesh<["x"=2, "y"=4]>
        """
        name = self.mesh_name(hlo_sharding)
        return MeshAttr() if name is None else self.meshes[name]

    def convert(
        self,
        hlo_sharding: HloSharding,
        *,
        rank: int | None = None,
        open_dims: bool = False,
        target: Target = Target.CURRENT,
        list_replicated_axes: bool | None = None,
    ) -> TensorShardingAttr:
        """`convert_to_sdy_sharding` on the sharding's own mesh.

        Raises:
            ConversionError: As `mesh_name`.
            VerificationError: As `convert_to_sdy_sharding`.

        Example:
            >>> from sdybridge.bridge import infer_mesh
            >>> from sdybridge.hlo import HloSharding
            >>> grid = HloSharding.from_string("{devices=[4,2]<=[2,4]T(1,0)}")
            >>> print(infer_mesh([grid], axis_names=["x", "y"]).convert(grid))
            #sdy.sharding<@mesh, [{"y"}, {"x"}]>
        """
        return convert_to_sdy_sharding(
            hlo_sharding,
            self.mesh(hlo_sharding),
            rank=rank,
            mesh_name=self.mesh_name(hlo_sharding) or "mesh",
            device_id_to_maximal_mesh_name=self._single_devices,
            open_dims=open_dims,
            target=target,
            list_replicated_axes=list_replicated_axes,
        )

    def manual_axes(self, hlo_sharding: HloSharding) -> tuple[str, ...]:
        """`get_manual_axes` on the sharding's own mesh.

        Raises:
            ConversionError: As `mesh_name`.

        Example:
            >>> from sdybridge.bridge import infer_mesh
            >>> from sdybridge.hlo import HloSharding
            >>> grid = HloSharding.from_string("{devices=[2,2]<=[4] last_tile_dims={manual}}")
            >>> infer_mesh([grid]).manual_axes(grid)
            ('_axis_1',)
        """
        return get_manual_axes(hlo_sharding, self.mesh(hlo_sharding))

    def __repr__(self) -> str:
        meshes = ", ".join(f"@{name} = {mesh.stripped}" for name, mesh in self.meshes.items())
        return f"<InferredMeshes {meshes}>"
