"""The bytes of the most common protos, written without the protobuf library, which takes long to load.

These are shardings of one tensor without metadata and group that list no devices: a few small numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.hlo.kinds import OpShardingType, ReductionOp
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.hlo.sharding_queries import ShardingQueries

_TARGETS = (Target.CURRENT, Target.NAMED)
_WITHOUT_TILES = (OpShardingType.REPLICATED, OpShardingType.MANUAL, OpShardingType.UNKNOWN)

# The keys of `OpSharding`'s fields: their number, and how they are written.
_TYPE = b"\x08"
_DIMS = b"\x1a"
_REPLICATE_ON_LAST_TILE_DIM = b"\x30\x01"
_LAST_TILE_DIMS = b"\x42"
_RESHAPE_DIMS = b"\x4a"
_TRANSPOSE_PERM = b"\x52"


def short_bytes(sharding: ShardingQueries, target: Target) -> bytes | None:
    r"""The serialised `OpSharding` of a simple sharding; None for any other one.

    >>> from sdybridge.hlo import HloSharding
    >>> short_bytes(HloSharding.iota_tile([2, 2]), Target.CURRENT).hex(" ")
    '08 03 1a 02 02 02 4a 01 04 52 01 00'
    """
    if (
        target not in _TARGETS
        or sharding._metadata
        or sharding._shard_group is not None
        or sharding._named is not None
        or sharding._reduction_op is not ReductionOp.SUM
    ):
        return None
    kind = sharding._kind
    if kind in _WITHOUT_TILES:
        return _TYPE + bytes([kind]) if kind else b""
    iota = sharding._tiles._iota
    if kind is not OpShardingType.OTHER or iota is None:
        return None
    return b"".join([
        _TYPE,
        bytes([kind]),
        _field(_DIMS, iota._dims),
        _REPLICATE_ON_LAST_TILE_DIM if sharding._replicate_on_last_tile_dim else b"",
        _field(_LAST_TILE_DIMS, sharding._subgroup_types),
        _field(_RESHAPE_DIMS, iota._reshape_dims),
        _field(_TRANSPOSE_PERM, iota._transpose_perm),
    ])  # fmt: skip


def _field(key: bytes, numbers: Sequence[int]) -> bytes:
    """A list of numbers of 0 and more: the key, the length, and the numbers; nothing for none."""
    data = b"".join(map(_varint, numbers))
    return key + _varint(len(data)) + data if data else b""


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)
