"""What can be asked of a sharding: its kind, its grid, its elements, and where it puts a tensor.

Source: the getters of `HloSharding` in xla's `hlo/ir/hlo_sharding.h`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo import placement, validation
from sdybridge.hlo.checks import cropped
from sdybridge.hlo.kinds import OpShardingType, ReductionOp, ShardGroup
from sdybridge.hlo.tile_assignment import TileAssignment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdybridge.hlo.metadata import OpMetadata
    from sdybridge.hlo.named_sharding import NamedSharding
    from sdybridge.hlo.sharding import HloSharding

_MANUAL = OpShardingType.MANUAL
_MAXIMAL = OpShardingType.MAXIMAL
_OTHER = OpShardingType.OTHER
_REPLICATED = OpShardingType.REPLICATED
_TUPLE = OpShardingType.TUPLE
_UNKNOWN = OpShardingType.UNKNOWN
_UNREDUCED = OpShardingType.UNREDUCED


class ShardingQueries:
    """The parts of an `HloSharding`, and every question about them."""

    __slots__ = (
        "_device",
        "_grid",
        "_kind",
        "_metadata",
        "_named",
        "_reduction_op",
        "_replicate_on_last_tile_dim",
        "_shard_group",
        "_subgroup_types",
        "_tiles",
        "_tuple_elements",
    )

    _device: int | None  # of MAXIMAL
    _grid: HloSharding | None  # of a named one: its grid, once that was asked for
    _kind: OpShardingType  # of a named one: what it says in all
    _metadata: tuple[OpMetadata, ...]
    _named: NamedSharding | None
    _reduction_op: ReductionOp
    _replicate_on_last_tile_dim: bool
    _shard_group: ShardGroup | None
    _subgroup_types: tuple[OpShardingType, ...]
    _tiles: TileAssignment  # of OTHER
    _tuple_elements: tuple[HloSharding, ...]  # of TUPLE

    @property
    def type(self) -> OpShardingType:
        """What kind of sharding this is; `OTHER` is a tiled one."""
        return self._kind

    @property
    def is_tuple(self) -> bool:
        """Whether this is the sharding of a tuple."""
        return self._kind is _TUPLE

    @property
    def is_replicated(self) -> bool:
        """Whether every device holds everything. A tiling into one tile does not count."""
        return self._kind is _REPLICATED or self._every(lambda leaf: leaf.is_replicated)

    @property
    def is_single_device(self) -> bool:
        """Whether each tensor is whole on one device, not necessarily the same."""
        return self._kind is _MAXIMAL or self._every(lambda leaf: leaf.is_single_device)

    @property
    def is_maximal(self) -> bool:
        """Whether the tile is as large as the tensor: replicated or on a single device, as in XLA."""
        return self.is_replicated or self.is_single_device

    @property
    def is_manual(self) -> bool:
        """Whether all of it is manual; a manual subgroup does not count."""
        if self._named is not None:
            return self._named.is_manual
        return self._kind is _MANUAL or self._every(lambda leaf: leaf.is_manual)

    @property
    def is_unknown(self) -> bool:
        """Whether XLA may choose."""
        return self._kind is _UNKNOWN or self._every(lambda leaf: leaf.is_unknown)

    @property
    def is_unreduced(self) -> bool:
        """Whether all of it is unreduced; an unreduced subgroup does not count."""
        if self._named is not None:
            return self._named.is_unreduced
        return self._kind is _UNREDUCED or self._every(lambda leaf: leaf.is_unreduced)

    @property
    def is_tiled(self) -> bool:
        """Whether it is neither maximal, manual, unknown nor unreduced.

        As in XLA, that holds for a tuple of different simple shardings too, and not for an empty tuple.
        """
        if self._kind is not _TUPLE:
            return self._kind is _OTHER
        return not (self.is_maximal or self.is_manual or self.is_unknown or self.is_unreduced)

    def _every(self, predicate: Callable[[HloSharding], bool]) -> bool:
        return self._kind is _TUPLE and all(map(predicate, self._tuple_elements))

    @property
    def tile_assignment(self) -> TileAssignment:
        """The device grid: of a single device `[1]`, of other shardings without tiles the empty grid `[0]`.

        This and the other properties of the grid are, for a sharding over a named mesh, those of
        `v3_to_v2_sharding()`.

        Raises:
            VerificationError: This is a tuple.
        """
        self._check_leaf("tile_assignment")
        if self._device is not None:
            return TileAssignment.from_array([self._device])
        return self._on_grid()._tiles

    @property
    def subgroup_types(self) -> tuple[OpShardingType, ...]:
        """The types of the last dimensions of the grid; empty when the last one holds replicas only."""
        self._check_leaf("subgroup_types")
        return self._on_grid()._subgroup_types

    @property
    def replicate_on_last_tile_dim(self) -> bool:
        """Whether the last dimension of the grid holds replicas, and no other subgroup exists."""
        self._check_leaf("replicate_on_last_tile_dim")
        return self._on_grid()._replicate_on_last_tile_dim

    @property
    def named_sharding(self) -> NamedSharding | None:
        """The mesh and its axes, for a sharding over a named mesh."""
        return self._named

    def v3_to_v2_sharding(self) -> HloSharding:
        """The same placement of the devices without names: over a grid, as XLA converts it.

        A tuple's elements are converted. What has a grid, or needs none, stays as it is. Whether dimensions
        are open, and which axes are listed as replicated, is lost.

        Example:
            >>> from sdybridge.hlo import HloSharding
            >>> print(HloSharding.from_string("{mesh['a'=2,'b'=4], [{'b', ?}, {}]}").v3_to_v2_sharding())
            {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}

        Source: `HloSharding::V3ToV2Sharding` in xla's `hlo/ir/hlo_sharding.cc`.
        """
        from sdybridge.hlo.named_grid import grid_form

        return grid_form(self)

    def _on_grid(self) -> ShardingQueries:
        """This sharding, or the form of a named one that has a grid."""
        return self if self._named is None else self.v3_to_v2_sharding()

    @property
    def tuple_elements(self) -> tuple[HloSharding, ...]:
        """The shardings of a tuple's tensors; empty for a leaf."""
        return self._tuple_elements

    @property
    def metadata(self) -> tuple[OpMetadata, ...]:
        """Where it came from; a tuple's elements have their own."""
        return self._metadata

    @property
    def shard_group(self) -> ShardGroup | None:
        """The group of tensors to be sharded alike; a tuple's elements have their own."""
        return self._shard_group

    @property
    def reduction_op(self) -> ReductionOp:
        """How unreduced values combine; `SUM` unless said otherwise."""
        return self._reduction_op

    @property
    def num_devices(self) -> int:
        """The number of devices in the grid: 1 for a single device, 0 for other shardings without tiles."""
        self._check_leaf("num_devices")
        return 1 if self._kind is _MAXIMAL else self._on_grid()._tiles.num_elements

    @property
    def num_dimensions(self) -> int:
        """The rank of the grid, subgroups included; 1 for shardings without tiles."""
        self._check_leaf("num_dimensions")
        return self._on_grid()._tiles.num_dimensions

    @property
    def data_rank(self) -> int:
        """The rank of the tensor: that of the grid without the subgroups' dimensions.

        Raises:
            VerificationError: This sharding has no tiles.
        """
        self._check_tiled("data_rank")
        if self._named is not None:
            return len(self._named.dim_shardings)
        return len(self._tiles._dims) - self._replicate_on_last_tile_dim - len(self._subgroup_types)

    @property
    def unique_device(self) -> int | None:
        """The one device that holds everything, if this sharding names one."""
        if self._kind is not _TUPLE:
            return self._device
        devices = {element._device for element in self._tuple_elements}
        return devices.pop() if len(devices) == 1 else None

    def _check_leaf(self, what: str) -> None:
        if self._kind is _TUPLE:
            raise VerificationError(
                f"the sharding of a tuple has no {what} of its own",
                rule="leaf-sharding",
                help=f"ask each of its tuple_elements for {what}",
            )

    def _check_tiled(self, what: str) -> None:
        if self._kind is not _OTHER:
            raise VerificationError(
                f"{what} is a property of tiled shardings, and {cropped(self)} is not one",
                rule="tiled-sharding",
            )

    def tile_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the buffer on each device for a tensor of `shape`: the full tile, with padding.

        As in XLA the rank is not checked (`validate` does): dimensions behind those of the grid stay whole.

        Raises:
            VerificationError: This is a tuple of different shardings, or `shape` is not a shape.

        Example:
            >>> from sdybridge.hlo import HloSharding
            >>> HloSharding.iota_tile([2, 4]).tile_shape([7, 9])
            (4, 3)
        """
        return placement.tile_shape(self, shape)

    def tile_index_for_device(self, device: int) -> tuple[int, ...]:
        """The tile that `device` holds: one coordinate per dimension of the tensor.

        Raises:
            VerificationError: This sharding is not tiled, or the grid does not have `device`.
        """
        return placement.tile_index(self, device)

    def tile_offset_for_device(self, shape: Sequence[int], device: int) -> tuple[int, ...]:
        """The first index of the part of a tensor of `shape` that `device` holds.

        Raises:
            VerificationError: This sharding names no part (it is manual, unknown, unreduced or a tuple),
                tiles another rank, or the grid does not have `device`.

        Example:
            >>> from sdybridge.hlo import HloSharding
            >>> HloSharding.iota_tile([2, 4]).tile_offset_for_device([7, 9], 5)
            (4, 3)
        """
        return placement.tile_bounds(self, shape, device)[0]

    def tile_limit_for_device(self, shape: Sequence[int], device: int) -> tuple[int, ...]:
        """The index behind the part of a tensor of `shape` that `device` holds, per dimension.

        Raises:
            VerificationError: As `tile_offset_for_device`.

        Example:
            >>> from sdybridge.hlo import HloSharding
            >>> HloSharding.iota_tile([2, 4]).tile_limit_for_device([7, 9], 5)
            (7, 6)
        """
        return placement.tile_bounds(self, shape, device)[1]

    def validate(
        self, shape: Sequence[int] | Sequence[Sequence[int]], num_devices: int | None = None
    ) -> None:
        """Check that this sharding fits a tensor, and a number of devices.

        Tiles may be uneven, and more than there are elements.

        Args:
            shape: The shape of the tensor; of a tuple, the shapes of its tensors in pre-order.
            num_devices: How many devices the program runs on, if known.

        Raises:
            VerificationError: The first thing that does not fit.
        """
        validation.validate(self, shape, num_devices)

    @property
    def has_unreduced(self) -> bool:
        """Whether this, an element or a subgroup is unreduced."""
        return (
            self._kind is _UNREDUCED
            or (self._named is not None and bool(self._named.unreduced_axes))
            or _UNREDUCED in self._subgroup_types
            or any(element.has_unreduced for element in self._tuple_elements)
        )
