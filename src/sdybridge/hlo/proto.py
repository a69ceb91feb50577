"""Shardings as `OpSharding` protos: XLA's bytes, from messages of our own (`op_sharding.proto`).

Source: `HloSharding::ToProto` in xla's `hlo/ir/hlo_sharding.cc`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError, ProtoError
from sdybridge.hlo import packed_ids
from sdybridge.hlo.checks import cropped, shown
from sdybridge.hlo.kinds import OpShardingType, ReductionOp
from sdybridge.hlo.named_proto import fill_named
from sdybridge.hlo.short_bytes import short_bytes
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.hlo import op_sharding_pb2
    from sdybridge.hlo.metadata import OpMetadata
    from sdybridge.hlo.sharding_forms import ShardingForms

_NO_GROUP = -1


def to_proto(sharding: ShardingForms, target: Target) -> op_sharding_pb2.OpSharding:
    """The message of `sharding` as `target` writes it.

    Raises:
        ConversionError: `target` has no way to write an unreduced sharding, or its reduction.
        ProtoError: A metadata string is not UTF-8.
    """
    from sdybridge.hlo import op_sharding_pb2

    message = op_sharding_pb2.OpSharding
    if _has_long_list(sharding):
        return message.FromString(to_proto_bytes(sharding, target))
    return _filled(message, sharding, target)


def to_proto_bytes(sharding: ShardingForms, target: Target) -> bytes:
    """The serialised message of `sharding`.

    Raises:
        ConversionError, ProtoError: As `to_proto`.
    """
    short = short_bytes(sharding, target)
    if short is not None:
        return short
    from sdybridge.hlo import op_sharding_pb2

    is_long = _has_long_list(sharding)
    message = packed_ids.message_class() if is_long else op_sharding_pb2.OpSharding
    return _filled(message, sharding, target).SerializeToString(deterministic=True)


def _has_long_list(sharding: ShardingForms) -> bool:
    if sharding._kind is OpShardingType.TUPLE:
        return any(map(_has_long_list, sharding._tuple_elements))
    tiles = sharding._tiles
    return tiles.iota_form is None and math.prod(tiles.dims) >= packed_ids.LONG


def _filled(
    message: type[op_sharding_pb2.OpSharding], sharding: ShardingForms, target: Target
) -> op_sharding_pb2.OpSharding:
    proto = message()
    _fill(proto, sharding, target)
    return proto


def _fill(proto: op_sharding_pb2.OpSharding, sharding: ShardingForms, target: Target) -> None:
    if sharding._named is not None:
        _check_expressible(sharding, target)
        fill_named(proto.named_sharding, sharding._named, sharding._reduction_op)
        _fill_metadata(proto.named_sharding, sharding._metadata)
        return
    proto.type = sharding._kind  # type: ignore[assignment]  # the stub asks for its own enum
    if sharding._kind is OpShardingType.TUPLE:
        for element in sharding._tuple_elements:
            _fill(proto.tuple_shardings.add(), element, target)
        return
    _check_expressible(sharding, target)
    if sharding._device is not None:
        packed_ids.add_device_ids(proto, [sharding._device])
        if target is Target.CLASSIC:
            proto.tile_assignment_dimensions.append(1)
    elif sharding._kind is OpShardingType.OTHER:
        _fill_tiles(proto, sharding)
    if sharding._metadata or target is Target.NEWER:
        _fill_metadata(proto, sharding._metadata_for(target))
    group = sharding._shard_group
    if group is not None and group.id != _NO_GROUP:
        proto.is_shard_group = True
        proto.shard_group_id = group.id
        proto.shard_group_type = group.kind  # type: ignore[assignment]


def _check_expressible(sharding: ShardingForms, target: Target) -> None:
    if target is Target.CLASSIC and sharding._named is not None:
        raise ConversionError(
            "the classic OpSharding has no named meshes",
            notes=[f"the sharding is {cropped(sharding)}"],
            help="write its v3_to_v2_sharding()",
        )
    if target is Target.CLASSIC and sharding.has_unreduced:
        raise ConversionError(
            "the classic OpSharding has no unreduced type",
            notes=[f"the sharding is {cropped(sharding)}"],
            help="write it for Target.CURRENT, or export it for Target.CLASSIC, which drops unreduced axes",
        )
    if target is not Target.NEWER and sharding._reduction_op is not ReductionOp.SUM:
        raise ConversionError(
            f"OpSharding names the reduction {sharding._reduction_op.name} only in newer releases",
            notes=[f"the sharding is {cropped(sharding)}"],
            help="write it for Target.NEWER, or with_reduction_op(ReductionOp.SUM)",
        )


def _fill_tiles(proto: op_sharding_pb2.OpSharding, sharding: ShardingForms) -> None:
    tiles = sharding._tiles
    iota = tiles.iota_form
    proto.tile_assignment_dimensions.extend(tiles.dims)
    if iota is not None:
        proto.iota_reshape_dims.extend(iota.reshape_dims)
        proto.iota_transpose_perm.extend(iota.transpose_perm)
    else:
        packed_ids.add_device_ids(proto, tiles.array.ravel())
    proto.replicate_on_last_tile_dim = sharding._replicate_on_last_tile_dim
    proto.last_tile_dims.extend(sharding._subgroup_types)  # type: ignore[arg-type]


def _fill_metadata(
    proto: op_sharding_pb2.OpSharding | op_sharding_pb2.NamedSharding, entries: Sequence[OpMetadata]
) -> None:
    for entry in entries:
        message = proto.metadata.add()
        for name, value in entry.items():
            try:
                if isinstance(value, tuple):
                    message.profile_type.extend(value)
                elif name == "metadata_payload":
                    message.metadata_payload.value = str(value)
                else:
                    setattr(message, name, value)
            except ValueError:
                raise ProtoError(
                    f"the metadata field {name} must be valid UTF-8 in a proto, got {shown(value)}"
                ) from None
        if entry.other_fields:
            _merge_other_fields(message, entry.other_fields)


def _merge_other_fields(message: op_sharding_pb2.OpMetadata, data: bytes) -> None:
    from google.protobuf.message import DecodeError

    try:
        message.MergeFromString(data)
    except DecodeError:
        raise ProtoError(
            f"the metadata's other_fields must be a serialised OpMetadata, got {shown(data)}"
        ) from None
