"""HLO shardings: how XLA lays a tensor, or a tuple of tensors, over devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo import subgroup as normal_forms
from sdybridge.hlo.arguments import as_metadata, as_tiles, as_types, kind_of
from sdybridge.hlo.checks import as_int, as_tuple, cropped, shown
from sdybridge.hlo.kinds import OpShardingType, ReductionOp, ShardGroup
from sdybridge.hlo.sharding_forms import ShardingForms
from sdybridge.hlo.tile_assignment import TileAssignment
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from google.protobuf.message import Message

    from sdybridge.hlo import op_sharding_pb2
    from sdybridge.hlo.metadata import OpMetadata
    from sdybridge.hlo.named_sharding import NamedSharding

_MANUAL = OpShardingType.MANUAL
_MAXIMAL = OpShardingType.MAXIMAL
_OTHER = OpShardingType.OTHER
_REPLICATED = OpShardingType.REPLICATED
_TUPLE = OpShardingType.TUPLE
_UNKNOWN = OpShardingType.UNKNOWN
_UNREDUCED = OpShardingType.UNREDUCED

_EMPTY = TileAssignment.empty()
_SUM = ReductionOp.SUM


class HloSharding(ShardingForms):
    """An immutable sharding of one tensor, or of every tensor of a tuple.

    Build one with a classmethod: `from_string`, `from_proto`, `replicate`, `assign_device`, `tile`,
    `iota_tile`, `partial_tile`, `subgroup`, `manual`, `unknown`, `unreduced`, `named`, `flat_tuple`.
    `str(x)` is XLA's text of it without metadata, `repr(x)` evaluates to it. Shardings are equal if they
    mean the same (an iota equals its device list); metadata does not count.

    A tuple has a property such as `is_replicated` if all of its elements have, so an empty one has most.

    >>> sharding = HloSharding.partial_tile(TileAssignment.iota([2, 2, 2], [2, 2, 2], [1, 0, 2]))
    >>> print(sharding)
    {devices=[2,2,2]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}
    >>> sharding.tile_shape([8, 7])
    (4, 4)

    Source: `HloSharding` in xla's `hlo/ir/hlo_sharding.h`.
    """

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("build an HloSharding with one of its classmethods, such as HloSharding.replicate()")

    @classmethod
    def _make(
        cls,
        kind: OpShardingType,
        tiles: TileAssignment = _EMPTY,
        replicate_on_last_tile_dim: bool = False,
        subgroup_types: tuple[OpShardingType, ...] = (),
        metadata: tuple[OpMetadata, ...] = (),
    ) -> HloSharding:
        """A sharding from parts that are known to be good and in normal form."""
        self = cls.__new__(cls)
        self._kind = kind
        self._tiles = tiles
        self._replicate_on_last_tile_dim = replicate_on_last_tile_dim
        self._subgroup_types = subgroup_types
        self._metadata = metadata
        self._device = None
        self._named = self._grid = None
        self._tuple_elements = ()
        self._shard_group = None
        self._reduction_op = _SUM
        return self

    @classmethod
    def replicate(cls, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """Every device holds the whole tensor.

        >>> print(HloSharding.replicate())
        {replicated}
        """
        return cls._make(_REPLICATED, metadata=as_metadata(metadata))

    @classmethod
    def manual(cls, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """The program itself works on the devices' parts; XLA does not partition it.

        >>> print(HloSharding.manual())
        {manual}
        """
        return cls._make(_MANUAL, metadata=as_metadata(metadata))

    @classmethod
    def unknown(cls, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """XLA may choose.

        >>> print(HloSharding.unknown())
        {unknown}
        """
        return cls._make(_UNKNOWN, metadata=as_metadata(metadata))

    @classmethod
    def unreduced(cls, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """Every device holds a partial value of the whole tensor, still to be combined.

        >>> print(HloSharding.unreduced())
        {unreduced}
        """
        return cls._make(_UNREDUCED, metadata=as_metadata(metadata))

    @classmethod
    def assign_device(cls, device: int, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """One device holds the whole tensor; XLA gives -1 and -2 a meaning of their own.

        Raises:
            VerificationError: `device` is not an integer in the range of int64.

        Example:
            >>> print(HloSharding.assign_device(3))
            {maximal device=3}
        """
        self = cls._make(_MAXIMAL, metadata=as_metadata(metadata))
        self._device = as_int(device, "device")
        return self

    @classmethod
    def tile(cls, tile_assignment: TileAssignment, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """Dimension i of the tensor is cut into `tile_assignment.dims[i]` tiles, nothing is replicated.

        The grid is taken as it is: `[1,1]` stays a tiling of one device.

        >>> print(HloSharding.tile(TileAssignment.iota([4, 2])))
        {devices=[4,2]<=[8]}
        """
        return cls._make(_OTHER, as_tiles(tile_assignment), metadata=as_metadata(metadata))

    @classmethod
    def iota_tile(
        cls,
        dims: Sequence[int],
        reshape_dims: Sequence[int] | None = None,
        transpose_perm: Sequence[int] | None = None,
        subgroup_types: Sequence[OpShardingType] = (),
        *,
        metadata: Sequence[OpMetadata] = (),
    ) -> HloSharding:
        """`subgroup` of an iota (see `IotaTileAssignment` for the arguments), or its `tile` without types.

        Raises:
            VerificationError: As `IotaTileAssignment` and `subgroup`.

        Example:
            >>> print(HloSharding.iota_tile([2, 1, 4], [4, 2], [1, 0], [OpShardingType.MANUAL]))
            {devices=[2,1,4]<=[4,2]T(1,0) last_tile_dims={manual}}
        """
        return cls.subgroup(
            TileAssignment.iota(dims, reshape_dims, transpose_perm), subgroup_types, metadata=metadata
        )

    @classmethod
    def partial_tile(
        cls, tile_assignment: TileAssignment, *, metadata: Sequence[OpMetadata] = ()
    ) -> HloSharding:
        """As `tile`, but the last dimension of the grid holds devices with the same tile.

        The order of the replicas has no meaning, so they are sorted; without replicas the last dimension
        goes, and without anything else the result is `replicate()`.

        Example:
            >>> print(HloSharding.partial_tile(TileAssignment.from_array([[1, 0], [3, 2]])))
            {devices=[2,2]0,1,2,3 last_tile_dim_replicate}
        """
        normal = normal_forms.partial_tile(as_tiles(tile_assignment))
        return cls._make(*normal, as_metadata(metadata) if metadata else ())

    @classmethod
    def subgroup(
        cls,
        tile_assignment: TileAssignment,
        subgroup_types: Sequence[OpShardingType],
        *,
        metadata: Sequence[OpMetadata] = (),
    ) -> HloSharding:
        """As `tile`, but the last `len(subgroup_types)` dimensions of the grid hold subgroups of devices.

        Subgroups of one type merge, those of one device go, and the rest are sorted by type.

        Raises:
            VerificationError: There are more types than dimensions, or one is not an `OpShardingType`.

        Example:
            >>> types = [OpShardingType.REPLICATED, OpShardingType.MANUAL]
            >>> print(HloSharding.subgroup(TileAssignment.iota([2, 2, 2]), types))
            {devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}
        """
        tiles = as_tiles(tile_assignment)
        types = as_types(subgroup_types, tiles)
        return cls._make(*normal_forms.subgroup(tiles, types), as_metadata(metadata) if metadata else ())

    @classmethod
    def named(cls, named_sharding: NamedSharding, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """A sharding over the named axes of a mesh.

        Its grid, where that is asked for, is that of `v3_to_v2_sharding()`.

        Raises:
            VerificationError: `named_sharding` is not a `NamedSharding`.

        Example:
            >>> from sdybridge.hlo import AxisRef, DimensionSharding, Mesh, NamedSharding
            >>> mesh = Mesh.from_sizes({"a": 2, "b": 4})
            >>> print(HloSharding.named(NamedSharding(mesh, [DimensionSharding([AxisRef(1)])])))
            {mesh['a'=2,'b'=4], [{'b'}]}
        """
        self = cls._make(kind_of(named_sharding), metadata=as_metadata(metadata) if metadata else ())
        self._named = named_sharding
        self._device = named_sharding.mesh.device_id
        return self

    @classmethod
    def flat_tuple(cls, elements: Sequence[HloSharding]) -> HloSharding:
        """The sharding of a tuple: one per tensor in it, in pre-order where tuples nest.

        Raises:
            VerificationError: An element is a tuple itself, or not an `HloSharding`.

        Example:
            >>> print(HloSharding.flat_tuple([HloSharding.replicate(), HloSharding.manual()]))
            {{replicated}, {manual}}
        """
        leaves = as_tuple(elements, "elements", "HloSharding")
        for i, element in enumerate(leaves):
            if not isinstance(element, HloSharding) or element._kind is _TUPLE:
                raise VerificationError(
                    f"element {i} of a tuple must be the sharding of one tensor, got {shown(element)}",
                    rule="flat-tuple",
                    path=("tuple_elements", i),
                    help="list the leaves of nested tuples in pre-order",
                )
        return cls._make_tuple(leaves)

    @classmethod
    def _make_tuple(cls, elements: tuple[HloSharding, ...]) -> HloSharding:
        """A tuple; only protos nest them."""
        self = cls._make(_TUPLE)
        self._tuple_elements = elements
        return self

    @classmethod
    def from_string(
        cls, text: str, *, name: str = "<string>", target: Target = Target.CURRENT
    ) -> HloSharding:
        """The sharding that `text` spells, in any form that XLA reads.

        XLA also reads grids that do not fit their devices, and aborts or is undefined when it works with
        them: such text is an error here.

        Args:
            text: Such as `{devices=[2,1,2]<=[4] last_tile_dim_replicate}`.
            name: What error messages call the text.
            target: Whose grammar to follow: `CLASSIC` has no unreduced shardings, `NEWER` reads the reduction
                of unreduced shardings from their metadata.

        Raises:
            ParseError: The text does not follow the grammar, or its items do not go together.

        Example:
            >>> print(HloSharding.from_string("{devices=[2,2]<=[1,4]T(1,0) last_tile_dims={replicated}}"))
            {devices=[2,2]<=[4] last_tile_dim_replicate}

        Source: `ParseSharding` in xla's `hlo/parser/hlo_parser.cc`.
        """
        return _parse(text, name=name, target=target)

    @classmethod
    def from_proto(
        cls, source: op_sharding_pb2.OpSharding | Message | bytes, *, target: Target = Target.CURRENT
    ) -> HloSharding:
        """The sharding that an `OpSharding` describes.

        As in XLA, what the type does not need is not looked at, and a grid of one device is `replicate()`.

        Args:
            source: The message (of our own package, or any other that can serialise itself), or its bytes.
                For bytes written as text there is `decode_proto_text`.
            target: Whose reader to follow: `CLASSIC` has no unreduced shardings, and reads a grid of one
                device as that device; `NEWER` reads the reduction of unreduced shardings from their metadata.

        Raises:
            ProtoError: The bytes are no `OpSharding`, or a field is wrong; the message names it.

        Example:
            >>> print(HloSharding.from_proto(bytes.fromhex("08031a0202024a0104520100")))
            {devices=[2,2]<=[4]}

        Source: `HloSharding::FromProto` in xla's `hlo/ir/hlo_sharding.cc`.
        """
        from sdybridge.hlo.from_proto import from_proto

        return from_proto(source, target)

    def with_metadata(self, metadata: Sequence[OpMetadata]) -> HloSharding:
        """The same sharding with these metadata entries; a tuple passes them on to its elements.

        >>> from sdybridge.hlo import HloSharding, OpMetadata
        >>> sharding = HloSharding.replicate().with_metadata([OpMetadata(op_name="dot")])
        >>> sharding.metadata[0].op_name
        'dot'
        """
        entries = as_metadata(metadata)
        if self._kind is _TUPLE:
            return self.flat_tuple([element.with_metadata(entries) for element in self._tuple_elements])
        new = self._copy()
        new._metadata = entries
        return new

    def with_shard_group(self, shard_group: ShardGroup | None) -> HloSharding:
        """The same sharding of one tensor, as a member of `shard_group`.

        Raises:
            VerificationError: This is a tuple, whose group XLA would lose, or is over a named mesh, or
                `shard_group` is no group.

        Example:
            >>> from sdybridge.hlo import HloSharding, ShardGroup, ShardGroupKind
            >>> print(HloSharding.replicate().with_shard_group(ShardGroup(1, ShardGroupKind.AS)))
            {replicated shard_as 1}
        """
        self._check_leaf("shard_group")
        if shard_group is not None and not isinstance(shard_group, ShardGroup):
            raise VerificationError(
                f"shard_group must be a ShardGroup, got {shown(shard_group)}", rule="shard-group"
            )
        if shard_group is not None and self._named is not None:
            raise VerificationError(
                f"{cropped(self)} is over a named mesh, where there are no shard groups",
                rule="shard-group",
                help="give the group to its v3_to_v2_sharding()",
            )
        new = self._copy()
        new._shard_group = shard_group
        return new

    def with_reduction_op(self, reduction_op: ReductionOp) -> HloSharding:
        """The same sharding of one tensor, whose unreduced values combine by `reduction_op`.

        Raises:
            VerificationError: This is a tuple, or `reduction_op` is not a `ReductionOp`.

        Example:
            >>> from sdybridge.hlo import HloSharding, ReductionOp
            >>> HloSharding.unreduced().with_reduction_op(ReductionOp.MAX).reduction_op.name
            'MAX'
        """
        self._check_leaf("reduction_op")
        if type(reduction_op) is not ReductionOp:
            raise VerificationError(
                f"reduction_op must be a ReductionOp, got {shown(reduction_op)}", rule="reduction-op"
            )
        new = self._copy()
        new._reduction_op = reduction_op
        return new

    def _copy(self) -> HloSharding:
        new = self._make(
            self._kind, self._tiles, self._replicate_on_last_tile_dim, self._subgroup_types, self._metadata
        )
        new._device = self._device
        new._named = self._named
        new._tuple_elements = self._tuple_elements
        new._shard_group = self._shard_group
        new._reduction_op = self._reduction_op
        return new


def _parse(text: str, *, name: str, target: Target) -> HloSharding:
    raise NotImplementedError("sdybridge.hlo.parser was not imported")


def set_parser(parse: Callable[..., HloSharding]) -> None:
    """Called once by the parser, which imports this module and so cannot be imported by it."""
    global _parse
    _parse = parse
