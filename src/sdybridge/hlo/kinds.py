"""The enums of `OpSharding`, with its numbers, and the shard group."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from sdybridge.errors import VerificationError
from sdybridge.hlo.checks import as_int, shown


class _ReprEvaluates(enum.IntEnum):
    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class OpShardingType(_ReprEvaluates):
    """What a sharding, or one subgroup dimension of it, is.

    >>> OpShardingType.OTHER.value, OpShardingType(4).name
    (3, 'MANUAL')

    Source: `OpSharding.Type` in xla's `xla_data.proto`.
    """

    REPLICATED = 0
    MAXIMAL = 1
    TUPLE = 2
    OTHER = 3
    MANUAL = 4
    UNKNOWN = 5
    UNREDUCED = 6


class ShardGroupKind(_ReprEvaluates):
    """How a sharding follows the others of its group: exactly alike, or as similar as possible.

    >>> str(ShardGroup(1, ShardGroupKind.AS)), str(ShardGroup(1, ShardGroupKind.LIKE))
    ('shard_as 1', 'shard_like 1')

    Source: `OpSharding.ShardGroupType` in xla's `xla_data.proto`.
    """

    AS = 0
    LIKE = 1


class ReductionOp(_ReprEvaluates):
    """How the partial values of an unreduced sharding combine. Only `Target.NEWER` writes it.

    >>> [op.name for op in ReductionOp]
    ['SUM', 'MAX', 'MIN']

    Source: the field `reduction_op` of a named sharding in xla's `xla_data.proto`, on its main branch.
    """

    SUM = 0
    MAX = 1
    MIN = 2


@dataclass(frozen=True, slots=True)
class ShardGroup:
    """A request to shard a tensor as (or like) every other tensor of group `id`.

    Attributes:
        id: The number of the group; -1 is printed but means "no group" in a proto, as in XLA.
        kind: `AS` or `LIKE`.

    Raises:
        VerificationError: The number has more than 64 bits, or the kind is another thing.

    >>> str(ShardGroup(1, ShardGroupKind.LIKE))
    'shard_like 1'

    Source: `ShardGroup` in xla's `hlo/ir/hlo_sharding.h`.
    """

    id: int
    kind: ShardGroupKind = ShardGroupKind.AS

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", as_int(self.id, "shard group id"))
        if type(self.kind) is not ShardGroupKind:
            raise VerificationError(
                f"a shard group's kind must be a ShardGroupKind, got {shown(self.kind)}",
                rule="shard-group-kind",
                help="pass ShardGroupKind.AS or ShardGroupKind.LIKE",
            )

    def __str__(self) -> str:
        return f"shard_{self.kind.name.lower()} {self.id}"
