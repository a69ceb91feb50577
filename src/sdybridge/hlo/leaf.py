"""What the items of one sharding say together: the checks that need all of them, and the sharding itself.

Source: `HloParserImpl::ParseSingleSharding` in xla's `hlo/parser/hlo_parser.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError
from sdybridge.hlo.checks import INT64_MAX, MAX_ARRAY_RANK, shortened
from sdybridge.hlo.device_list import DeviceIds
from sdybridge.hlo.kinds import OpShardingType, ShardGroup, ShardGroupKind
from sdybridge.hlo.metadata import take_reduction_op
from sdybridge.hlo.sharding import HloSharding
from sdybridge.hlo.tile_assignment import TileAssignment
from sdybridge.source import Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from sdybridge.errors import ParseError
    from sdybridge.hlo.lexer import Lexer
    from sdybridge.hlo.metadata import OpMetadata

KINDS = ("replicated", "maximal", "manual", "unknown", "unreduced")
"""The words that say what kind a sharding is. Of several, the first in this order counts, as in XLA."""

_FACTORIES = {
    "replicated": HloSharding.replicate,
    "manual": HloSharding.manual,
    "unknown": HloSharding.unknown,
    "unreduced": HloSharding.unreduced,
}
_SHOWN = 60


class Leaf:
    """The items of one sharding, as far as they are read.

    Attributes:
        start: Where its first token is, behind the brace.
        words: The words among its items, and where each stands.
        dims: The shape of the grid; several `devices=` items go on with it, as in XLA.
        devices: The listed device ids.
        reshape_dims: The shape of the count of an iota.
        transpose_perm: The order of its dimensions.
        types: The types of the last dimensions.
        group: The number behind `shard_as` or `shard_like`, whichever came last.
        metadata: The metadata entries.
        spans: Where the other items are: `devices` (the whole item), `dims`, `ids`, `reshape_dims`,
            `transpose_perm` and `types`, the last one of each; and where the first number is that a grid
            cannot have: `bad dims`, `bad reshape_dims`, `repeated` (in the permutation).
    """

    __slots__ = (
        "devices",
        "dims",
        "group",
        "metadata",
        "reshape_dims",
        "spans",
        "start",
        "transpose_perm",
        "types",
        "words",
    )

    def __init__(self, start: int) -> None:
        self.start = start
        self.words: dict[str, Span] = {}
        self.dims: list[int] = []
        self.devices = DeviceIds()
        self.reshape_dims: list[int] = []
        self.transpose_perm: list[int] = []
        self.types: list[OpShardingType] = []
        self.group = 0
        self.metadata: list[OpMetadata] = []
        self.spans: dict[str, Span] = {}


def resolve(p: Lexer, leaf: Leaf, target: Target) -> HloSharding:
    """The sharding that the items make; `p` is behind its closing brace.

    Raises:
        ParseError: The items do not go together.
    """
    sharding = _without_group(p, leaf)
    if target is Target.NEWER:
        entries, reduction_op = take_reduction_op(leaf.metadata, last_wins=True)
        sharding = sharding.with_metadata(entries).with_reduction_op(reduction_op)
    elif leaf.metadata:
        sharding = sharding.with_metadata(leaf.metadata)
    if "shard_as" in leaf.words:
        return sharding.with_shard_group(ShardGroup(leaf.group, ShardGroupKind.AS))
    if "shard_like" in leaf.words:
        return sharding.with_shard_group(ShardGroup(leaf.group, ShardGroupKind.LIKE))
    return sharding


def _without_group(p: Lexer, leaf: Leaf) -> HloSharding:
    kind = next((word for word in KINDS if word in leaf.words), None)
    if kind is None:
        return _tiled(p, leaf)
    if kind == "maximal":
        return _maximal(p, leaf)
    if leaf.devices.count:
        span = leaf.spans["devices"]
        item = p.text[span.start : span.end]
        raise _error(
            p,
            f"a sharding that is {kind} names no devices",
            span,
            help=f"remove {_quoted(item, 'the device list')}",
        )
    return _FACTORIES[kind]()


def _maximal(p: Lexer, leaf: Leaf) -> HloSharding:
    if leaf.devices.count == 1:
        return HloSharding.assign_device(leaf.devices.first())
    word = leaf.words["maximal"]
    if leaf.devices.count:
        raise _error(
            p,
            f"a maximal sharding is on exactly one device, but {leaf.devices.count} are listed",
            leaf.spans["devices"],
            help=f"write device={leaf.devices.first()} for the first of them",
        )
    if leaf.reshape_dims:
        raise _error(
            p, "a maximal sharding names its one device itself", leaf.spans["devices"], help="write device=0"
        )
    raise _error(p, "a maximal sharding needs its device", word, help="write maximal device=0")


def _tiled(p: Lexer, leaf: Leaf) -> HloSharding:
    if "dims" not in leaf.spans:
        raise _no_kind(p, leaf)
    rank = len(leaf.dims)
    if rank > MAX_ARRAY_RANK and not leaf.reshape_dims:
        problem = (
            f"a grid that lists its devices has at most {MAX_ARRAY_RANK} dimensions, this one has {rank}"
        )
        raise _error(p, problem, leaf.spans["dims"])
    tiles = num_devices(p, leaf, leaf.dims, "dims", "the grid")
    grid = iota_grid(p, leaf, tiles) if leaf.reshape_dims else _listed(p, leaf, tiles)
    types = leaf.types
    replicate = leaf.words.get("last_tile_dim_replicate")
    if replicate is not None:
        if types:
            raise _error(
                p,
                "last_tile_dim_replicate and last_tile_dims both say what the last dimensions hold",
                replicate,
                help="remove last_tile_dim_replicate, or add 'replicated' to the types instead",
            )
        types = [OpShardingType.REPLICATED]
    if len(types) > rank:
        raise _error(
            p,
            f"{len(types)} types need as many dimensions, the grid {shortened(tuple(leaf.dims))} has {rank}",
            replicate or leaf.spans["types"],
        )
    try:
        return HloSharding.subgroup(grid, types)
    except SdyBridgeError as error:  # the normal form has too many devices to list
        raise _error(p, error.message, Span(leaf.start, p.pos), help=error.help) from None


def _no_kind(p: Lexer, leaf: Leaf) -> ParseError:
    """The error about items that say neither a kind nor a grid."""
    first = Span(leaf.start, leaf.start + 1)
    first = min([*leaf.words.values(), *leaf.spans.values()], default=first, key=lambda span: span.start)
    if leaf.devices.count == 1:
        help = f"write maximal device={leaf.devices.first()} for one device"  # noqa: A001
    else:
        help = "write replicated, or give the grid: devices=[..]"  # noqa: A001
    return _error(p, f"a sharding needs a kind ({', '.join(KINDS)}) or a grid of devices", first, help=help)


def num_devices(p: Lexer, leaf: Leaf, sizes: list[int], where: str, what: str) -> int:
    """The number of devices that the sizes multiply to."""
    total = 1
    for size in sizes:
        if size < 1:
            raise _error(
                p,
                f"a size counts devices and is at least 1, but {what} has {size}",
                leaf.spans[f"bad {where}"],
                help="write 1 for a dimension that is not split" if where == "dims" else None,
            )
        total *= size
        if total > INT64_MAX:  # checked at each step: a product of all would grow without bound
            raise _error(p, f"{what} has more than 2**63 - 1 devices", leaf.spans[where])
    return total


def iota_grid(p: Lexer, leaf: Leaf, tiles: int) -> TileAssignment:
    """The grid that is counted, of `tiles` devices."""
    sizes, perm = leaf.reshape_dims, leaf.transpose_perm
    if leaf.devices.count:
        raise _error(
            p,
            "the devices are both listed and counted with '<='",
            leaf.spans["devices"],
            help="keep one of the two",
        )
    counted = num_devices(p, leaf, sizes, "reshape_dims", "the count after '<='")
    if len(perm) != len(sizes):
        raise _error(
            p,
            f"T(..) orders {len(perm)} dimensions, but the count {shortened(tuple(sizes))} has {len(sizes)}",
            leaf.spans["transpose_perm"],
            help=f"name each of 0..{len(sizes) - 1} once",
        )
    if "repeated" in leaf.spans:
        raise _error(
            p,
            f"T(..) has a dimension of the count {shortened(tuple(sizes))} twice",
            leaf.spans["repeated"],
            help=f"name each of 0..{len(sizes) - 1} once",
        )
    if counted != tiles:
        raise _error(
            p,
            f"the grid {shortened(tuple(leaf.dims))} has {tiles} devices, but {counted} are counted",
            leaf.spans["reshape_dims"],
            help=f"write <=[{tiles}]" if len(sizes) == 1 else None,
        )
    if not leaf.dims:
        return TileAssignment._from_known_iota((), (1,), (0,))
    return TileAssignment.iota(leaf.dims, sizes, perm)


def _listed(p: Lexer, leaf: Leaf, tiles: int) -> TileAssignment:
    count = leaf.devices.count
    if count == tiles == 1:
        first = leaf.devices.first()
        raise _error(
            p,
            "a list of one device is no grid",
            leaf.spans["devices"],
            help=f"write maximal device={first} to place the tensor there, or replicated",
        )
    if count != tiles:
        more, change = (count - tiles, "remove") if count > tiles else (tiles - count, "add")
        raise _error(
            p,
            f"the grid {shortened(tuple(leaf.dims))} has {tiles} devices, but {count} are listed",
            leaf.spans["ids"],
            help=f"{change} {more}",
        )
    return TileAssignment._from_known_array(leaf.devices.array().reshape(leaf.dims))


def _error(p: Lexer, message: str, span: Span, help: str | None = None) -> ParseError:  # noqa: A002
    return p.error(message, span.start, span.end, help=help)


def _quoted(item: str, otherwise: str) -> str:
    return f"'{item}'" if len(item) <= _SHOWN else otherwise
