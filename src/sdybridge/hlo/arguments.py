"""Checks of what the constructors of `HloSharding` are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo.checks import as_tuple, cropped, shown
from sdybridge.hlo.kinds import OpShardingType
from sdybridge.hlo.metadata import OpMetadata
from sdybridge.hlo.named_sharding import NamedSharding
from sdybridge.hlo.tile_assignment import TileAssignment

if TYPE_CHECKING:
    from collections.abc import Sequence


def as_metadata(metadata: Sequence[OpMetadata]) -> tuple[OpMetadata, ...]:
    """The entries, each of them an `OpMetadata`."""
    entries = as_tuple(metadata, "metadata", "OpMetadata")
    for i, entry in enumerate(entries):
        if not isinstance(entry, OpMetadata):
            raise VerificationError(
                f"metadata[{i}] must be an OpMetadata, got {shown(entry)}",
                rule="metadata",
                path=("metadata", i),
            )
    return entries


def as_tiles(tiles: TileAssignment) -> TileAssignment:
    """A grid that has devices."""
    if not isinstance(tiles, TileAssignment):
        raise VerificationError(
            f"tile_assignment must be a TileAssignment, got {type(tiles).__name__}",
            rule="tile-assignment",
            help="wrap a device array in TileAssignment.from_array(...)",
        )
    if tiles is TileAssignment.empty():
        raise VerificationError("a tiled sharding needs a grid with devices", rule="tile-assignment")
    return tiles


def as_types(types: Sequence[OpShardingType], tiles: TileAssignment) -> tuple[OpShardingType, ...]:
    """The types of the last dimensions of `tiles`."""
    given = as_tuple(types, "subgroup_types", "OpShardingType")
    for i, type_ in enumerate(given):
        if type(type_) is not OpShardingType:
            raise VerificationError(
                f"subgroup_types[{i}] must be an OpShardingType, got {shown(type_)}",
                rule="subgroup-type",
                path=("subgroup_types", i),
            )
    if len(given) > tiles.num_dimensions:
        raise VerificationError(
            f"{len(given)} subgroup types need as many dimensions, but the grid {cropped(tiles)} has "
            f"{tiles.num_dimensions}",
            rule="subgroup-rank",
            path=("subgroup_types",),
        )
    return given


def kind_of(named: NamedSharding) -> OpShardingType:
    """What a sharding over a named mesh says in all; `OTHER` if it splits or mixes."""
    if not isinstance(named, NamedSharding):
        raise VerificationError(
            f"named_sharding must be a NamedSharding, got {shown(named)}", rule="named-sharding"
        )
    if named.is_single_device:
        return OpShardingType.MAXIMAL
    if named.is_replicated:
        return OpShardingType.REPLICATED
    if named.is_unreduced:
        return OpShardingType.UNREDUCED
    return OpShardingType.MANUAL if named.is_manual else OpShardingType.OTHER
