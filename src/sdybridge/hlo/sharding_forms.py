"""How a sharding is compared, and written: as text, as a proto, and as Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.hlo.kinds import OpShardingType, ReductionOp
from sdybridge.hlo.metadata import REDUCTION_OP_TYPE, OpMetadata
from sdybridge.hlo.sharding_queries import ShardingQueries
from sdybridge.hlo.text import format_constructor, format_sharding, format_sharding_with_metadata
from sdybridge.target import Target

if TYPE_CHECKING:
    from typing import Self

    from sdybridge.hlo import op_sharding_pb2

_OTHER = OpShardingType.OTHER
_SUM = ReductionOp.SUM


class ShardingForms(ShardingQueries):
    """The comparison of two `HloSharding`s, and every form that one can be written in."""

    __slots__ = ()

    def _metadata_for(self, target: Target) -> tuple[OpMetadata, ...]:
        """The metadata entries of a leaf as `target` writes them: newer releases add the reduction."""
        if (
            target is not Target.NEWER
            or self._named is not None
            or not (self.has_unreduced or self._reduction_op is not _SUM)
        ):
            return self._metadata
        return (*self._metadata, OpMetadata(op_type=REDUCTION_OP_TYPE, op_name=self._reduction_op.name))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ShardingForms):
            return NotImplemented
        if self._named is not None or other._named is not None:
            return self._equals_named(other)
        return (
            self._kind is other._kind
            and self._replicate_on_last_tile_dim == other._replicate_on_last_tile_dim
            and self._subgroup_types == other._subgroup_types
            and self._device == other._device
            and self._shard_group == other._shard_group
            and self._reduction_op is other._reduction_op
            and self._tiles == other._tiles
            and self._tuple_elements == other._tuple_elements
        )

    def _equals_named(self, other: ShardingForms) -> bool:
        """Two named shardings compare as such; a grid is compared with the grid of a named one."""
        if self._named is None or other._named is None:
            return self._on_grid() == other._on_grid()
        return self._named == other._named and self._reduction_op is other._reduction_op

    def __hash__(self) -> int:
        if self._named is not None:  # equal to its grid
            return hash(self._on_grid())
        # The shard group and the reduction are left out: they seldom tell shardings apart.
        if self._kind is _OTHER:
            return hash((self._tiles, self._replicate_on_last_tile_dim, self._subgroup_types))
        return hash((self._kind, self._device, self._tuple_elements))

    def to_string(self, *, include_metadata: bool = True, target: Target = Target.CURRENT) -> str:
        """The text as in a printed HLO module.

        Args:
            include_metadata: Whether to print metadata. Without, it is `str(self)`.
            target: Whose text: `NEWER` adds the reduction of unreduced shardings, to the metadata of a grid.

        Example:
            >>> from sdybridge.hlo import HloSharding, OpMetadata
            >>> HloSharding.replicate(metadata=[OpMetadata(op_name="x")]).to_string()
            '{replicated metadata={op_name="x"}}'
        """
        format_ = format_sharding_with_metadata if include_metadata else format_sharding
        return format_(self, target)

    def to_proto(self, *, target: Target = Target.CURRENT) -> op_sharding_pb2.OpSharding:
        """This sharding as an `OpSharding` message (of our own package; the bytes are XLA's).

        Args:
            target: Whose proto: `CLASSIC` has no unreduced type and writes the dims of a single device,
                `NEWER` keeps the reduction of unreduced shardings as a last metadata entry.

        Raises:
            ConversionError: `target` cannot express this sharding.
            ProtoError: A metadata string is not UTF-8.
        """
        from sdybridge.hlo.proto import to_proto

        return to_proto(self, target)

    def to_proto_bytes(self, *, target: Target = Target.CURRENT) -> bytes:
        """The serialised `to_proto(target=target)`, byte for byte as XLA writes it.

        Example:
            >>> from sdybridge.hlo import HloSharding
            >>> HloSharding.iota_tile([2, 2]).to_proto_bytes().hex(" ")
            '08 03 1a 02 02 02 4a 01 04 52 01 00'
        """
        from sdybridge.hlo.proto import to_proto_bytes

        return to_proto_bytes(self, target)

    def __str__(self) -> str:
        return format_sharding(self, Target.CURRENT)

    def __repr__(self) -> str:
        return format_constructor(self)
