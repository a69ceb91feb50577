"""Factors of device grids: the smallest axes that a grid can be made of.

A grid has two factorisations of its devices, both major to minor: its tile dims, and its reshape dims in
transposed order. What they have in common are the pieces that each lie in one tile dim and in one reshape
dim. In `[6,35]<=[7,10,3]T(2,1,0)` the tile dims 6, 35 and the sizes 3, 10, 7 have the factors 3, 2, 5, 7:

    tile dims   |   6   |   35  |
    factors     | 3 | 2 | 5 | 7 |
    reshape     | 3 |  10   | 7 |

In device order these are axes of sizes 7, 2, 5, 3: the mesh that the grid was made from, or could have been.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError, VerificationError
from sdybridge.hlo import HloSharding, OpShardingType
from sdybridge.hlo.checks import as_sizes, cropped
from sdybridge.hlo.iota_recognition import recognize_iota

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.hlo import TileAssignment

    Run = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SubDimInfo:
    """One factor of a grid: an axis, or a part of one, that lies in one tile dim.

    Attributes:
        tile_dim_index: The tile dim that it is part of.
        tile_sub_dim_index: Its place in there, 0 for the most minor factor.
        reshape_dim_index: The reshape dim that it is part of.
        size: The number of devices along it, at least 2.

    >>> from sdybridge.hlo import TileAssignment
    >>> for factor in analyze_tile_assignment(TileAssignment.iota([4, 2], [2, 4], [1, 0])):
    ...     print(factor)
    SubDimInfo(tile_dim_index=1, tile_sub_dim_index=0, reshape_dim_index=0, size=2)
    SubDimInfo(tile_dim_index=0, tile_sub_dim_index=0, reshape_dim_index=1, size=4)

    Source: `SubDimInfo` in xla's `service/spmd/shardy/stablehlo_round_trip/stablehlo_import.h`.
    """

    tile_dim_index: int
    tile_sub_dim_index: int
    reshape_dim_index: int
    size: int


def shortest_common_factorization(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...] | None:
    """The shortest list of factors that, by merging neighbours, gives `left` as well as `right`.

    Sizes of 1 are ignored. None if there is no such list: the two multiply to different numbers, or their
    borders do not form a chain of divisors.

    Raises:
        VerificationError: A size is not a positive integer.

    Example:
        >>> shortest_common_factorization([6, 35], [3, 10, 7])
        (3, 2, 5, 7)
        >>> shortest_common_factorization([8, 3], [12, 2]) is None
        True

    Source: `shortestCommonFactorization` in xla's
    `service/spmd/shardy/stablehlo_round_trip/stablehlo_import.cc`.
    """
    return common_factors(as_sizes(left, "left"), as_sizes(right, "right"))


def common_factors(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...] | None:
    """`shortest_common_factorization` of sizes that are known to be good."""
    factors: list[int] = []
    lefts, rights = iter(left), iter(right)
    a = b = 1
    while True:
        while a == 1:
            a = next(lefts, 0)
        while b == 1:
            b = next(rights, 0)
        if not a or not b:
            return tuple(factors) if a == b else None
        factor = min(a, b)
        if a % factor or b % factor:
            return None
        factors.append(factor)
        a //= factor
        b //= factor


def analyze_tile_assignment(tile_assignment: TileAssignment) -> tuple[SubDimInfo, ...]:
    """The factors of a grid, major to minor in device order; none for a single device.

    A device list counts as the iota that it equals.

    Raises:
        ConversionError: The grid is made of no axes: it lists its devices in an order that is no iota, or
            a tile dim ends in the middle of a reshape dim.

    Example:
        >>> from sdybridge.hlo import TileAssignment
        >>> for factor in analyze_tile_assignment(TileAssignment.iota([2, 4], [4, 2], [1, 0])):
        ...     print(factor)
        SubDimInfo(tile_dim_index=1, tile_sub_dim_index=0, reshape_dim_index=0, size=4)
        SubDimInfo(tile_dim_index=0, tile_sub_dim_index=0, reshape_dim_index=1, size=2)

    Source: `analyzeTileAssignment` in xla's
    `service/spmd/shardy/stablehlo_round_trip/stablehlo_import.cc`.
    """
    iota = recognize_iota(tile_assignment)
    if iota is None:
        raise ConversionError(
            "the devices are listed in an order that no mesh in device order has",
            notes=[f"grid: {cropped(tile_assignment)}"],
            help="give the mesh the same order of devices, as its device_ids",
        )
    runs = grid_runs(iota._dims, iota._reshape_dims, iota._transpose_perm)
    if isinstance(runs, int):
        sizes = [iota.reshape_dims[i] for i in iota.transpose_perm]
        raise ConversionError(
            f"the tile dims {list(iota.dims)} do not line up with the device order's sizes {sizes}: no axes "
            "make up both",
            notes=[f"grid: {cropped(tile_assignment)}"],
            help="give the mesh the same order of devices, as its device_ids",
        )
    found = [
        (stride, tile_dim, sub_dim, size)
        for tile_dim, dim_runs in enumerate(runs)
        for sub_dim, (size, stride) in enumerate(reversed(dim_runs))
    ]
    found.sort(reverse=True)
    return tuple([
        SubDimInfo(tile_dim, sub_dim, _source(stride, iota.reshape_dims), size)
        for stride, tile_dim, sub_dim, size in found
    ])  # fmt: skip


def _source(stride: int, reshape_dims: tuple[int, ...]) -> int:
    """The reshape dim that a run with this stride is part of."""
    at = len(reshape_dims) - 1
    while stride >= reshape_dims[at]:
        stride //= reshape_dims[at]
        at -= 1
    return at


def get_axis_sizes(hlo_sharding: HloSharding) -> tuple[int, ...]:
    """The sizes of the fewest mesh axes that express a tiled sharding, major to minor in device order.

    Raises:
        ConversionError: As `analyze_tile_assignment`, or the sharding is not tiled.

    Example:
        >>> from sdybridge.hlo import HloSharding
        >>> get_axis_sizes(HloSharding.iota_tile([6, 35], [7, 10, 3], [2, 1, 0]))
        (7, 2, 5, 3)

    Source: `HloSharding.get_axis_sizes` of jaxlib.
    """
    if not isinstance(hlo_sharding, HloSharding):
        raise VerificationError(
            f"hlo_sharding must be an HloSharding, got {type(hlo_sharding).__name__}", rule="hlo-sharding"
        )
    if hlo_sharding.type is not OpShardingType.OTHER:
        raise ConversionError(
            f"{cropped(hlo_sharding)} has no tiles, so it says nothing about the axes of a mesh",
            help="ask each of its tuple_elements" if hlo_sharding.is_tuple else None,
        )
    return tuple([factor.size for factor in analyze_tile_assignment(hlo_sharding.tile_assignment)])


def grid_runs(
    dims: tuple[int, ...], reshape_dims: tuple[int, ...], perm: tuple[int, ...]
) -> tuple[tuple[Run, ...], ...] | int:
    """How each tile dim of an iota steps through the devices.

    Returns:
        Per tile dim its factors, major to minor, as runs: `(size, stride)` for `size` devices, `stride`
        apart. Where the tile dims do not line up with the reshape dims, the position in the grid, row-major,
        at which the device order breaks inside a tile dim.

    >>> grid_runs((6, 35), (7, 10, 3), (2, 1, 0))
    (((3, 1), (2, 15)), ((5, 3), (7, 30)))
    >>> grid_runs((2, 3), (2, 3), (1, 0))
    2
    """
    stride = 1
    strides = []
    for size in reversed(reshape_dims):
        strides.append(stride)
        stride *= size
    strides.reverse()
    runs: list[list[Run]] = [[] for _ in dims]
    tile = len(dims)
    rest = period = 1
    for source in reversed(perm):  # minor to major
        size, stride = reshape_dims[source], strides[source]
        while size > 1:
            while rest == 1:
                tile -= 1
                rest = dims[tile]
            if rest % size == 0:
                common = size
            elif size % rest == 0:
                common = rest
            else:
                return period * size
            runs[tile].append((common, stride))
            period *= common
            stride *= common
            rest //= common
            size //= common
    return tuple([tuple(found[::-1]) for found in runs])
