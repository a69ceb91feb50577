"""Shardings from `OpSharding` protos: XLA's steps in XLA's order, and the checks that it leaves out.

Source: `HloSharding::FromProto` in xla's `hlo/ir/hlo_sharding.cc`.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from sdybridge.errors import ProtoError, SdyBridgeError, VerificationError
from sdybridge.hlo import packed_ids
from sdybridge.hlo.checks import MAX_ARRAY_RANK, as_permutation, as_sizes, shortened
from sdybridge.hlo.iota import IotaTileAssignment
from sdybridge.hlo.kinds import OpShardingType, ReductionOp, ShardGroup, ShardGroupKind
from sdybridge.hlo.metadata import PRINTED_FIELDS, OpMetadata, take_reduction_op
from sdybridge.hlo.named_proto import named_field, read_named, read_reduction
from sdybridge.hlo.sharding import HloSharding
from sdybridge.hlo.tile_assignment import TileAssignment
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from google.protobuf.message import Message

    from sdybridge.hlo import op_sharding_pb2

    DeviceIds = Sequence[int] | np.ndarray

MAX_TUPLE_DEPTH = 100
"""How deep tuples may nest: protobuf reads no deeper bytes."""

_MAXIMAL = OpShardingType.MAXIMAL
_OTHER = OpShardingType.OTHER
_TUPLE = OpShardingType.TUPLE
_UNREDUCED = OpShardingType.UNREDUCED
_WITHOUT_GRID = {
    OpShardingType.REPLICATED: HloSharding.replicate(),
    OpShardingType.MANUAL: HloSharding.manual(),
    OpShardingType.UNKNOWN: HloSharding.unknown(),
    _UNREDUCED: HloSharding.unreduced(),
}
_TYPES = {type_.value: type_ for type_ in OpShardingType}

Path = tuple[int, ...]  # which element of each tuple, outermost first


def from_proto(source: op_sharding_pb2.OpSharding | Message | bytes, target: Target) -> HloSharding:
    """See `HloSharding.from_proto`."""
    from sdybridge.hlo import op_sharding_pb2

    plain = op_sharding_pb2.OpSharding
    if isinstance(source, plain) and len(source.tile_assignment_devices) < packed_ids.LONG:
        return _sharding(source, target, ())
    data = _bytes(source)
    if len(data) >= packed_ids.LONG:
        try:
            return _sharding(_parsed(packed_ids.message_class(), data), target, ())
        except packed_ids.NotPackedError:
            pass
    return _sharding(_parsed(plain, data), target, ())


def _bytes(source: Message | bytes) -> bytes:
    from google.protobuf.message import EncodeError

    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if not hasattr(source, "SerializeToString"):
        raise TypeError(f"source must be an OpSharding message or bytes, not {type(source).__name__}")
    try:
        return source.SerializeToString()
    except EncodeError:
        raise _malformed() from None


def _parsed(message: type[op_sharding_pb2.OpSharding], data: bytes) -> op_sharding_pb2.OpSharding:
    from google.protobuf.message import DecodeError

    try:
        return message.FromString(data)
    except DecodeError:
        raise _malformed() from None


def _malformed() -> ProtoError:
    return ProtoError(
        "the bytes are no OpSharding",
        notes=[f"strings in one are UTF-8, and tuples nest at most {MAX_TUPLE_DEPTH} deep"],
    )


def _sharding(proto: op_sharding_pb2.OpSharding, target: Target, path: Path) -> HloSharding:
    devices = packed_ids.device_ids(proto)
    if target is not Target.CLASSIC and proto.HasField("named_sharding"):
        return _named(proto.named_sharding, target, path)
    metadata = tuple([_metadata(entry) for entry in proto.metadata])
    reduction_op = ReductionOp.SUM
    if metadata and target is Target.NEWER:
        metadata, reduction_op = take_reduction_op(metadata, last_wins=False)
    type_ = _TYPES.get(proto.type)
    if type_ is _TUPLE:
        if metadata:
            raise _error(path, "metadata", "a tuple has none of its own; its elements have")
        return _tuple(proto, target, path)
    sharding = _leaf(proto, devices, type_, target, path)
    if metadata:
        sharding = sharding.with_metadata(metadata)
    if reduction_op is not ReductionOp.SUM:
        sharding = sharding.with_reduction_op(reduction_op)
    if proto.is_shard_group:
        # XLA takes every number but 0 for LIKE.
        kind = ShardGroupKind.LIKE if proto.shard_group_type else ShardGroupKind.AS
        sharding = sharding.with_shard_group(ShardGroup(proto.shard_group_id, kind))
    return sharding


def _named(proto: op_sharding_pb2.NamedSharding, target: Target, path: Path) -> HloSharding:
    """A named sharding, beside which XLA looks at no other field."""
    try:
        sharding = read_named(proto)
        reduction_op = read_reduction(proto) if target is Target.NEWER else ReductionOp.SUM
    except VerificationError as error:
        raise _error(path, named_field(error.path), error.message) from None
    hlo = HloSharding.named(sharding, metadata=[_metadata(entry) for entry in proto.metadata])
    return hlo if reduction_op is ReductionOp.SUM else hlo.with_reduction_op(reduction_op)


def _tuple(proto: op_sharding_pb2.OpSharding, target: Target, path: Path) -> HloSharding:
    """A tuple, whose own shard group says nothing: XLA neither prints nor writes it."""
    if len(path) >= MAX_TUPLE_DEPTH:
        raise _error(path, "tuple_shardings", f"tuples nest at most {MAX_TUPLE_DEPTH} deep")
    known: dict[bytes, HloSharding] = {}  # thousands of elements are few shardings
    elements = []
    for i, child in enumerate(proto.tuple_shardings):
        data = child.SerializeToString()
        element = known.get(data)
        if element is None:
            element = known[data] = _sharding(child, target, (*path, i))
        elements.append(element)
    return HloSharding._make_tuple(tuple(elements))


def _leaf(
    proto: op_sharding_pb2.OpSharding,
    devices: DeviceIds,
    type_: OpShardingType | None,
    target: Target,
    path: Path,
) -> HloSharding:
    is_classic = target is Target.CLASSIC
    if type_ is None or (is_classic and type_ is _UNREDUCED):
        known = ", ".join(
            f"{known.value} {known.name}"
            for known in OpShardingType
            if not (is_classic and known is _UNREDUCED)
        )
        raise _error(path, "type", f"there is no type {proto.type}", note=f"the types are {known}")
    if type_ in _WITHOUT_GRID:
        return _WITHOUT_GRID[type_]
    if type_ is _MAXIMAL:
        return _maximal(proto, devices, target, path)
    return _tiled(proto, devices, target, path)


def _maximal(
    proto: op_sharding_pb2.OpSharding, devices: DeviceIds, target: Target, path: Path
) -> HloSharding:
    if target is Target.CLASSIC and not len(devices) and list(proto.iota_reshape_dims) == [1]:
        return HloSharding.assign_device(0)
    if len(devices) != 1:
        raise _error(
            path,
            "tile_assignment_devices",
            f"a maximal sharding is on exactly one device, not on {len(devices)}",
        )
    return HloSharding.assign_device(int(devices[0]))


def _tiled(proto: op_sharding_pb2.OpSharding, devices: DeviceIds, target: Target, path: Path) -> HloSharding:
    sizes = proto.iota_reshape_dims
    _check_one_form(proto, len(devices), path)
    if len(devices) == 1 or (sizes and all(size == 1 for size in sizes)):
        if target is Target.CLASSIC:
            return HloSharding.assign_device(int(devices[0]) if len(devices) else 0)
        return _WITHOUT_GRID[OpShardingType.REPLICATED]
    if not proto.tile_assignment_dimensions:
        raise _error(path, "tile_assignment_dimensions", "a tiled sharding needs the shape of its grid")
    try:
        grid = _iota(proto) if sizes else _listed(proto, devices)
    except VerificationError as error:
        raise _error(path, "", error.message) from None
    types = _types(proto, len(grid.dims), target, path)
    try:
        return HloSharding.subgroup(grid, types)
    except SdyBridgeError as error:  # the normal form has too many devices to list
        raise _error(path, "", error.message) from None


def _check_one_form(proto: op_sharding_pb2.OpSharding, listed: int, path: Path) -> None:
    """The devices are either listed or counted."""
    sizes, perm = proto.iota_reshape_dims, proto.iota_transpose_perm
    if not sizes and not listed:
        note = "iota_transpose_perm alone counts no devices" if perm else None
        raise _error(
            path, "tile_assignment_devices", "a tiled sharding needs its devices, listed or counted", note
        )
    if sizes and listed:
        raise _error(
            path, "tile_assignment_devices", "the devices are both listed and counted by iota_reshape_dims"
        )
    if sizes and len(sizes) != len(perm):
        raise _error(
            path, "iota_transpose_perm", f"{len(sizes)} dimensions are counted, but {len(perm)} are ordered"
        )


def _iota(proto: op_sharding_pb2.OpSharding) -> TileAssignment:
    dims, sizes = tuple(proto.tile_assignment_dimensions), tuple(proto.iota_reshape_dims)
    # Long lists, nearly all ones, are not worth remembering.
    build = _known_iota if len(dims) + len(sizes) <= MAX_ARRAY_RANK else _checked_iota
    return TileAssignment._from_iota(build(dims, sizes, tuple(proto.iota_transpose_perm)))


def _checked_iota(dims: tuple[int, ...], sizes: tuple[int, ...], perm: tuple[int, ...]) -> IotaTileAssignment:
    total = _num_devices(dims)
    counted = math.prod(as_sizes(sizes, "iota_reshape_dims"))
    as_permutation(perm, len(sizes), "iota_transpose_perm")
    if counted != total:
        raise VerificationError(
            f"iota_reshape_dims: {shortened(sizes)} count {counted} devices, but the grid "
            f"{shortened(dims)} has {total}",
            rule="iota-size",
        )
    return IotaTileAssignment(dims, sizes, perm)


# A program has few grids, and each of them many times.
_known_iota = functools.lru_cache(maxsize=4096)(_checked_iota)


def _listed(proto: op_sharding_pb2.OpSharding, devices: DeviceIds) -> TileAssignment:
    dims = tuple(proto.tile_assignment_dimensions)
    total = _num_devices(dims)
    if len(dims) > MAX_ARRAY_RANK:
        raise VerificationError(
            "tile_assignment_dimensions: a grid that lists its devices has at most "
            f"{MAX_ARRAY_RANK} dimensions, not {len(dims)}",
            rule="grid-rank",
        )
    if len(devices) != total:
        raise VerificationError(
            f"tile_assignment_devices: {len(devices)} are listed, but the grid {shortened(dims)} has {total}",
            rule="grid-size",
        )
    import numpy as np

    array = devices if isinstance(devices, np.ndarray) else np.fromiter(devices, np.int64, len(devices))
    return TileAssignment._from_known_array(array.reshape(dims))


def _num_devices(dims: tuple[int, ...]) -> int:
    as_sizes(dims, "tile_assignment_dimensions")
    return math.prod(dims)


def _types(
    proto: op_sharding_pb2.OpSharding, rank: int, target: Target, path: Path
) -> tuple[OpShardingType, ...]:
    """The types of the last dimensions."""
    numbers = proto.last_tile_dims
    if not numbers:
        return (OpShardingType.REPLICATED,) if proto.replicate_on_last_tile_dim else ()
    if proto.replicate_on_last_tile_dim:
        raise _error(
            path,
            "replicate_on_last_tile_dim",
            "it is set, and last_tile_dims too says what the last dimensions hold",
        )
    if len(numbers) > rank:
        raise _error(
            path, "last_tile_dims", f"{len(numbers)} types need as many dimensions, the grid has {rank}"
        )
    types = []
    for i, number in enumerate(numbers):
        type_ = _TYPES.get(number)
        if type_ is None or (target is Target.CLASSIC and type_ is _UNREDUCED):
            raise _error(path, f"last_tile_dims[{i}]", f"there is no type {number}")
        types.append(type_)
    return tuple(types)


def _metadata(message: op_sharding_pb2.OpMetadata) -> OpMetadata:
    values = {name: getattr(message, name) for name in PRINTED_FIELDS if name != "metadata_payload"}
    values["profile_type"] = tuple(message.profile_type)
    return OpMetadata(
        **values, metadata_payload=message.metadata_payload.value, other_fields=_other_fields(message)
    )


def _other_fields(message: op_sharding_pb2.OpMetadata) -> bytes:
    """The bytes of what `OpMetadata` has no field for."""
    rest = type(message)()
    rest.CopyFrom(message)
    for name in PRINTED_FIELDS:
        if name != "metadata_payload":
            rest.ClearField(name)
    if rest.metadata_payload.value:
        rest.metadata_payload.ClearField("value")
        if not rest.metadata_payload.ByteSize():
            rest.ClearField("metadata_payload")
    return rest.SerializeToString(deterministic=True)


def _error(path: Path, field: str, message: str, note: str | None = None) -> ProtoError:
    """An error that names the field by the way to it: `tuple_shardings[2].type`."""
    where = "".join([f"tuple_shardings[{i}]." for i in path]) + field
    text = f"{where}: {message}" if field else f"{where[:-1]}: {message}" if where else message
    return ProtoError(text, notes=[note] if note else ())
