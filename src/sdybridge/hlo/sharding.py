"""HLO shardings: how XLA lays a tensor, or a tuple of tensors, over devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo import placement, validation
from sdybridge.hlo import subgroup as normal_forms
from sdybridge.hlo.arguments import as_metadata, as_tiles, as_types
from sdybridge.hlo.checks import as_int, as_tuple, cropped, shown
from sdybridge.hlo.kinds import OpShardingType, ReductionOp, ShardGroup
from sdybridge.hlo.metadata import REDUCTION_OP_TYPE, OpMetadata
from sdybridge.hlo.text import format_constructor, format_sharding, format_sharding_with_metadata
from sdybridge.hlo.tile_assignment import TileAssignment
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from google.protobuf.message import Message

    from sdybridge.hlo import op_sharding_pb2

_MANUAL = OpShardingType.MANUAL
_MAXIMAL = OpShardingType.MAXIMAL
_OTHER = OpShardingType.OTHER
_REPLICATED = OpShardingType.REPLICATED
_TUPLE = OpShardingType.TUPLE
_UNKNOWN = OpShardingType.UNKNOWN
_UNREDUCED = OpShardingType.UNREDUCED

_EMPTY = TileAssignment.empty()
_SUM = ReductionOp.SUM


class HloSharding:
    """An immutable sharding of one tensor, or of every tensor of a tuple.

    Build one with a classmethod: `from_string`, `from_proto`, `replicate`, `assign_device`, `tile`,
    `iota_tile`, `partial_tile`, `subgroup`, `manual`, `unknown`, `unreduced`, `flat_tuple`. `str(x)` is
    XLA's text of it without metadata, `repr(x)` evaluates to it. Shardings are equal if they mean the same
    (an iota equals its device list); metadata does not count.

    A tuple has a property such as `is_replicated` if all of its elements have, so an empty one has most.

    >>> sharding = HloSharding.partial_tile(TileAssignment.iota([2, 2, 2], [2, 2, 2], [1, 0, 2]))
    >>> print(sharding)
    {devices=[2,2,2]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}
    >>> sharding.tile_shape([8, 7])
    (4, 4)

    Source: `HloSharding` in xla's `hlo/ir/hlo_sharding.h`.
    """

    __slots__ = (
        "_device",
        "_kind",
        "_metadata",
        "_reduction_op",
        "_replicate_on_last_tile_dim",
        "_shard_group",
        "_subgroup_types",
        "_tiles",
        "_tuple_elements",
    )

    _device: int | None  # of MAXIMAL
    _kind: OpShardingType
    _metadata: tuple[OpMetadata, ...]
    _reduction_op: ReductionOp
    _replicate_on_last_tile_dim: bool
    _shard_group: ShardGroup | None
    _subgroup_types: tuple[OpShardingType, ...]
    _tiles: TileAssignment  # of OTHER
    _tuple_elements: tuple[HloSharding, ...]  # of TUPLE

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
        self._tuple_elements = ()
        self._shard_group = None
        self._reduction_op = _SUM
        return self

    @classmethod
    def replicate(cls, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """Every device holds the whole tensor."""
        return cls._make(_REPLICATED, metadata=as_metadata(metadata))

    @classmethod
    def manual(cls, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """The program itself works on the devices' parts; XLA does not partition it."""
        return cls._make(_MANUAL, metadata=as_metadata(metadata))

    @classmethod
    def unknown(cls, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """XLA may choose."""
        return cls._make(_UNKNOWN, metadata=as_metadata(metadata))

    @classmethod
    def unreduced(cls, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """Every device holds a partial value of the whole tensor, still to be combined."""
        return cls._make(_UNREDUCED, metadata=as_metadata(metadata))

    @classmethod
    def assign_device(cls, device: int, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """One device holds the whole tensor; XLA gives -1 and -2 a meaning of their own.

        Raises:
            VerificationError: `device` is not an integer in the range of int64.
        """
        self = cls._make(_MAXIMAL, metadata=as_metadata(metadata))
        self._device = as_int(device, "device")
        return self

    @classmethod
    def tile(cls, tile_assignment: TileAssignment, *, metadata: Sequence[OpMetadata] = ()) -> HloSharding:
        """Dimension i of the tensor is cut into `tile_assignment.dims[i]` tiles, nothing is replicated.

        The grid is taken as it is: `[1,1]` stays a tiling of one device.
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
        return self._kind is _MANUAL or self._every(lambda leaf: leaf.is_manual)

    @property
    def is_unknown(self) -> bool:
        """Whether XLA may choose."""
        return self._kind is _UNKNOWN or self._every(lambda leaf: leaf.is_unknown)

    @property
    def is_unreduced(self) -> bool:
        """Whether all of it is unreduced; an unreduced subgroup does not count."""
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

        Raises:
            VerificationError: This is a tuple.
        """
        self._check_leaf("tile_assignment")
        if self._device is not None:
            return TileAssignment.from_array([self._device])
        return self._tiles

    @property
    def subgroup_types(self) -> tuple[OpShardingType, ...]:
        """The types of the last dimensions of the grid; empty when the last one holds replicas only."""
        self._check_leaf("subgroup_types")
        return self._subgroup_types

    @property
    def replicate_on_last_tile_dim(self) -> bool:
        """Whether the last dimension of the grid holds replicas, and no other subgroup exists."""
        self._check_leaf("replicate_on_last_tile_dim")
        return self._replicate_on_last_tile_dim

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
        return 1 if self._kind is _MAXIMAL else self._tiles.num_elements

    @property
    def num_dimensions(self) -> int:
        """The rank of the grid, subgroups included; 1 for shardings without tiles."""
        self._check_leaf("num_dimensions")
        return self._tiles.num_dimensions

    @property
    def data_rank(self) -> int:
        """The rank of the tensor: that of the grid without the subgroups' dimensions.

        Raises:
            VerificationError: This sharding has no tiles.
        """
        self._check_tiled("data_rank")
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
            >>> HloSharding.iota_tile([2, 4]).tile_offset_for_device([7, 9], 5)
            (4, 3)
        """
        return placement.tile_bounds(self, shape, device)[0]

    def tile_limit_for_device(self, shape: Sequence[int], device: int) -> tuple[int, ...]:
        """The index behind the part of a tensor of `shape` that `device` holds, per dimension.

        Raises:
            VerificationError: As `tile_offset_for_device`.

        Example:
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

    def with_metadata(self, metadata: Sequence[OpMetadata]) -> HloSharding:
        """The same sharding with these metadata entries; a tuple passes them on to its elements."""
        entries = as_metadata(metadata)
        if self._kind is _TUPLE:
            return self.flat_tuple([element.with_metadata(entries) for element in self._tuple_elements])
        new = self._copy()
        new._metadata = entries
        return new

    def with_shard_group(self, shard_group: ShardGroup | None) -> HloSharding:
        """The same sharding of one tensor, as a member of `shard_group`.

        Raises:
            VerificationError: This is a tuple, whose group XLA would lose, or `shard_group` is no group.
        """
        self._check_leaf("shard_group")
        if shard_group is not None and not isinstance(shard_group, ShardGroup):
            raise VerificationError(
                f"shard_group must be a ShardGroup, got {shown(shard_group)}", rule="shard-group"
            )
        new = self._copy()
        new._shard_group = shard_group
        return new

    def with_reduction_op(self, reduction_op: ReductionOp) -> HloSharding:
        """The same sharding of one tensor, whose unreduced values combine by `reduction_op`.

        Raises:
            VerificationError: This is a tuple, or `reduction_op` is not a `ReductionOp`.
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
        new._tuple_elements = self._tuple_elements
        new._shard_group = self._shard_group
        new._reduction_op = self._reduction_op
        return new

    @property
    def has_unreduced(self) -> bool:
        """Whether this, an element or a subgroup is unreduced."""
        return (
            self._kind is _UNREDUCED
            or _UNREDUCED in self._subgroup_types
            or any(element.has_unreduced for element in self._tuple_elements)
        )

    def _metadata_for(self, target: Target) -> tuple[OpMetadata, ...]:
        """The metadata entries of a leaf as `target` writes them: newer releases add the reduction."""
        if target is not Target.NEWER or not (self.has_unreduced or self._reduction_op is not _SUM):
            return self._metadata
        return (*self._metadata, OpMetadata(op_type=REDUCTION_OP_TYPE, op_name=self._reduction_op.name))

    def __copy__(self) -> HloSharding:
        return self

    def __deepcopy__(self, memo: object) -> HloSharding:
        return self

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, HloSharding):
            return NotImplemented
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

    def __hash__(self) -> int:
        # The shard group and the reduction are left out: they seldom tell shardings apart.
        if self._kind is _OTHER:
            return hash((self._tiles, self._replicate_on_last_tile_dim, self._subgroup_types))
        return hash((self._kind, self._device, self._tuple_elements))

    def to_string(self, *, include_metadata: bool = True, target: Target = Target.CURRENT) -> str:
        """The text as in a printed HLO module.

        Args:
            include_metadata: Whether to print metadata. Without, it is `str(self)`.
            target: Whose metadata: `NEWER` adds the reduction of unreduced shardings to it.

        Example:
            >>> HloSharding.replicate(metadata=[OpMetadata(op_name="x")]).to_string()
            '{replicated metadata={op_name="x"}}'
        """
        return format_sharding_with_metadata(self, target) if include_metadata else format_sharding(self)

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
            >>> HloSharding.iota_tile([2, 2]).to_proto_bytes().hex(" ")
            '08 03 1a 02 02 02 4a 01 04 52 01 00'
        """
        return self.to_proto(target=target).SerializeToString(deterministic=True)

    def __str__(self) -> str:
        return format_sharding(self)

    def __repr__(self) -> str:
        return format_constructor(self)


def _parse(text: str, *, name: str, target: Target) -> HloSharding:
    raise NotImplementedError("sdybridge.hlo.parser was not imported")


def set_parser(parse: Callable[..., HloSharding]) -> None:
    """Called once by the parser, which imports this module and so cannot be imported by it."""
    global _parse
    _parse = parse
