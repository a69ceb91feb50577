"""The spellings of one sharding: devices listed (V1), or counted (V2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.hlo.iota_recognition import recognize_iota
from sdybridge.hlo.kinds import OpShardingType
from sdybridge.hlo.sharding import HloSharding
from sdybridge.hlo.tile_assignment import TileAssignment

if TYPE_CHECKING:
    from collections.abc import Callable


def with_listed_devices(sharding: HloSharding) -> HloSharding:
    """The same sharding with its devices listed, one by one; one over a named mesh gets a grid.

    A grid of one device stays counted: XLA does not read it as a list.

    Raises:
        SdyBridgeError: There are too many to list.

    >>> print(with_listed_devices(HloSharding.iota_tile([2, 2], [2, 2], [1, 0])))
    {devices=[2,2]0,2,1,3}
    """
    return _with_grid(sharding, _listed)


def with_counted_devices(sharding: HloSharding) -> HloSharding:
    """The same sharding with its devices counted, where that is possible; one over a named mesh gets a grid.

    >>> print(with_counted_devices(HloSharding.from_string("{devices=[2,2]0,2,1,3}")))
    {devices=[2,2]<=[2,2]T(1,0)}
    """
    return _with_grid(sharding, _counted)


def _listed(tiles: TileAssignment) -> TileAssignment:
    return tiles if tiles.num_elements == 1 else TileAssignment._from_known_array(tiles.array)


def _counted(tiles: TileAssignment) -> TileAssignment:
    iota = None if tiles.is_iota else recognize_iota(tiles)
    return tiles if iota is None else TileAssignment._from_iota(iota)


def _with_grid(sharding: HloSharding, change: Callable[[TileAssignment], TileAssignment]) -> HloSharding:
    if sharding.is_tuple:
        return HloSharding._make_tuple(
            tuple([_with_grid(element, change) for element in sharding.tuple_elements])
        )
    grid = sharding.v3_to_v2_sharding()
    if grid.type is not OpShardingType.OTHER:
        return grid
    new = grid._copy()
    new._tiles = change(grid._tiles)
    return new
