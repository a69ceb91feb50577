"""Iota tile assignments: device grids in the compact form `[2,4]<=[4,2]T(1,0)`.

The grid is a short NumPy program over three small lists:

    np.arange(prod(reshape_dims)).reshape(reshape_dims).transpose(transpose_perm).reshape(dims)

No function here but `to_array` looks at the devices, so 2**40 of them cost what 8 do.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.hlo.checks import MAX_ARRAY_RANK, as_int, as_ints, as_permutation, as_sizes, cropped, shortened
from sdybridge.hlo.primes import prime_factors

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

MAX_MATERIALIZED_DEVICES = 1 << 28
"""The longest device list that is built from an iota (2 GiB); above it, an error is raised."""


class IotaTileAssignment:
    """A device grid as a reshaped and transposed count from 0.

    The reshape dims and the permutation are made canonical as XLA does, so that grids of equal `dims` have
    the same devices if and only if they are equal.

    Args:
        dims: The shape of the grid: how many tiles there are along each dimension.
        reshape_dims: The shape to count devices in, row-major; by default a plain count.
        transpose_perm: Dimension k of the transposed count is dimension `transpose_perm[k]` of the count.

    Raises:
        VerificationError: The sizes are not positive, multiply to different numbers of devices or to more
            than 2**63 - 1, or `transpose_perm` is not a permutation of the reshape dims.

    Example:
        >>> grid = IotaTileAssignment([4, 2], [2, 2, 2], [1, 2, 0])
        >>> grid
        IotaTileAssignment((4, 2), (2, 4), (1, 0))
        >>> print(grid)
        devices=[4,2]<=[2,4]T(1,0)
        >>> grid.value_at([1, 1])
        5

    Source: `IotaTileAssignment` in xla's `hlo/ir/tile_assignment.h`.
    """

    __slots__ = ("_dims", "_reshape_dims", "_transpose_perm")

    _dims: tuple[int, ...]
    _reshape_dims: tuple[int, ...]
    _transpose_perm: tuple[int, ...]

    def __init__(
        self,
        dims: Sequence[int],
        reshape_dims: Sequence[int] | None = None,
        transpose_perm: Sequence[int] | None = None,
    ) -> None:
        self._dims = as_sizes(dims, "dims")
        if not self._dims:
            raise VerificationError("dims is empty, but a grid has at least one dimension", rule="grid-rank")
        total = math.prod(self._dims)
        reshape = () if reshape_dims is None else as_sizes(reshape_dims, "reshape_dims")
        perm = () if transpose_perm is None else as_ints(transpose_perm, "transpose_perm")
        if not reshape and not perm:
            self._reshape_dims, self._transpose_perm = (total,), (0,)
            return
        if len(reshape) != len(perm):
            raise VerificationError(
                "reshape_dims and transpose_perm need one entry per dimension of the count each, got "
                f"{shortened(reshape)} and {shortened(perm)}",
                rule="iota-rank",
                help="leave both out for a plain count",
            )
        as_permutation(perm, len(reshape), "transpose_perm")
        if math.prod(reshape) != total:
            raise VerificationError(
                f"a grid of {shortened(self._dims)} has {total} devices, but reshape_dims "
                f"{shortened(reshape)} count {math.prod(reshape)}",
                rule="iota-size",
                path=("reshape_dims",),
            )
        self._reshape_dims, self._transpose_perm = canonical_order(reshape, perm)

    @classmethod
    def _from_known(
        cls, dims: tuple[int, ...], reshape_dims: tuple[int, ...], transpose_perm: tuple[int, ...]
    ) -> IotaTileAssignment:
        """Skip the checks, for lists that are known to be good; they are still made canonical."""
        self = cls.__new__(cls)
        self._dims = dims
        self._reshape_dims, self._transpose_perm = _known_order(reshape_dims, transpose_perm)
        return self

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape of the grid."""
        return self._dims

    @property
    def reshape_dims(self) -> tuple[int, ...]:
        """The canonical shape that devices are counted in, row-major."""
        return self._reshape_dims

    @property
    def transpose_perm(self) -> tuple[int, ...]:
        """The canonical permutation of `reshape_dims`."""
        return self._transpose_perm

    @property
    def num_elements(self) -> int:
        """The number of devices."""
        return math.prod(self._dims)

    @property
    def num_dimensions(self) -> int:
        """The rank of the grid."""
        return len(self._dims)

    def value_at(self, index: Sequence[int]) -> int:
        """The device at `index`, one coordinate per dimension of the grid.

        Raises:
            VerificationError: `index` does not lie in the grid.

        Example:
            >>> IotaTileAssignment((4, 2), (2, 4), (1, 0)).value_at((1, 1))
            5
        """
        return self._device_at(linear_index(index, self._dims))

    def _device_at(self, position: int) -> int:
        """The device at a row-major position in the grid."""
        sizes = self._reshape_dims
        digits = [0] * len(sizes)
        for source in reversed(self._transpose_perm):
            position, digits[source] = divmod(position, sizes[source])
        device = 0
        for digit, size in zip(digits, sizes, strict=True):
            device = device * size + digit
        return device

    def index_for(self, device: int) -> tuple[int, ...]:
        """Where `device` sits in the grid, one coordinate per dimension.

        Raises:
            VerificationError: The grid has no such device. (XLA wraps around instead: on 8 devices it
                finds device 9 where device 1 is.)

        Example:
            >>> IotaTileAssignment([4, 2], [2, 4], [1, 0]).index_for(5)
            (1, 1)
        """
        total = self.num_elements
        number = as_int(device, "device")
        if not 0 <= number < total:
            raise VerificationError(
                f"device {number} is not in the grid {cropped(self)}, which has devices 0..{total - 1}",
                rule="unknown-device",
            )
        sizes = self._reshape_dims
        digits = grid_index(number, sizes)
        position = 0
        for source in self._transpose_perm:
            position = position * sizes[source] + digits[source]
        return grid_index(position, self._dims)

    def transpose(self, perm: Sequence[int]) -> IotaTileAssignment | None:
        """The grid with its dimensions permuted, or None where no iota expresses that.

        Dimension k of the result is dimension `perm[k]` of this grid. Like XLA, this finds the iotas that
        cut the reshape dims between prime factors, which is not all there are.

        Raises:
            VerificationError: `perm` is not a permutation of the dimensions.

        Example:
            >>> print(IotaTileAssignment([2, 4]).transpose([1, 0]))
            devices=[4,2]<=[2,4]T(1,0)
            >>> print(IotaTileAssignment([2, 3], [2, 3], [1, 0]).transpose([1, 0]))
            None

        Source: `IotaTileAssignment::Transpose` in xla's `hlo/ir/tile_assignment.cc`.
        """
        return self._transpose(as_permutation(perm, len(self._dims), "perm"))

    def _transpose(self, perm: tuple[int, ...]) -> IotaTileAssignment | None:
        dims = self._dims
        new_dims = tuple([dims[i] for i in perm])
        moved = [i for i in perm if dims[i] != 1]  # dimensions of size 1 do not show in the device order
        kept = sorted(moved)
        sizes, order = self._reshape_dims, self._transpose_perm
        if moved == kept:
            return self if new_dims == dims else self._with_dims(new_dims)
        if len(sizes) == 1:
            return self._from_known(new_dims, dims, perm)
        if [dims[i] for i in kept] == [sizes[k] for k in order]:  # each dimension is one reshape dim
            source = dict(zip(kept, order, strict=True))
            return self._from_known(new_dims, sizes, tuple([source[i] for i in moved]))
        regrouped = _regroup(sizes, order, {i: dims[i] for i in kept}, moved)
        return None if regrouped is None else self._from_known(new_dims, *regrouped)

    def reshape(self, dims: Sequence[int]) -> IotaTileAssignment:
        """The same device order in a grid of other dims.

        Raises:
            VerificationError: `dims` hold another number of devices.

        Example:
            >>> IotaTileAssignment((4, 2), (2, 4), (1, 0)).reshape([2, 2, 2])
            IotaTileAssignment((2, 2, 2), (2, 4), (1, 0))
        """
        new_dims = as_sizes(dims, "dims")
        check_same_size(self._dims, new_dims)
        return self._with_dims(new_dims)

    def _with_dims(self, dims: tuple[int, ...]) -> IotaTileAssignment:
        new = self.__class__.__new__(self.__class__)
        new._dims = dims
        new._reshape_dims = self._reshape_dims
        new._transpose_perm = self._transpose_perm
        return new

    def to_array(self) -> NDArray[np.int64]:
        """The devices as a new NumPy array of shape `dims`.

        Raises:
            SdyBridgeError: There are more than `MAX_MATERIALIZED_DEVICES` devices, or more dimensions than an
                array has.

        Example:
            >>> IotaTileAssignment((4, 2), (2, 4), (1, 0)).to_array().tolist()
            [[0, 4], [1, 5], [2, 6], [3, 7]]
        """
        if len(self._dims) > MAX_ARRAY_RANK:
            raise SdyBridgeError(
                f"a grid of {len(self._dims)} dimensions is no array, which has at most {MAX_ARRAY_RANK}",
                help="ask for single devices with value_at(index) or index_for(device)",
            )
        if self.num_elements > MAX_MATERIALIZED_DEVICES:
            raise SdyBridgeError(
                f"{cropped(self)} has {self.num_elements} devices, and no more than "
                f"{MAX_MATERIALIZED_DEVICES} are written out one by one",
                help="ask for single devices with value_at(index) or index_for(device)",
            )
        return self._materialize()

    def _materialize(self) -> NDArray[np.int64]:
        import numpy as np

        counted = np.arange(self.num_elements, dtype=np.int64).reshape(self._reshape_dims)
        return np.ascontiguousarray(counted.transpose(self._transpose_perm)).reshape(self._dims)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IotaTileAssignment):
            return NotImplemented
        return (
            self._dims == other._dims
            and self._reshape_dims == other._reshape_dims
            and self._transpose_perm == other._transpose_perm
        )

    def __hash__(self) -> int:
        return hash((self._dims, self._reshape_dims, self._transpose_perm))

    def __str__(self) -> str:
        dims = ",".join(map(str, self._dims))
        return f"devices=[{dims}]<={_order_text(self._reshape_dims, self._transpose_perm)}"

    def __repr__(self) -> str:
        if not self._dims:  # only a reshape gives a grid of rank 0
            return "IotaTileAssignment((1,)).reshape(())"
        if len(self._reshape_dims) == 1:
            return f"IotaTileAssignment({self._dims})"
        return f"IotaTileAssignment({self._dims}, {self._reshape_dims}, {self._transpose_perm})"


@functools.lru_cache(maxsize=4096)
def _order_text(sizes: tuple[int, ...], perm: tuple[int, ...]) -> str:
    """A canonical order as it is printed; the same few come again and again."""
    text = f"[{','.join(map(str, sizes))}]"
    return text if len(sizes) == 1 else f"{text}T({','.join(map(str, perm))})"


def canonical_order(sizes: tuple[int, ...], perm: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shortest reshape dims and permutation that give the same device order.

    Dimensions of size 1 go, and neighbours that stay neighbours in the transposed order merge.

    >>> canonical_order((3, 4, 1, 5), (1, 2, 3, 0))
    ((3, 20), (1, 0))

    Source: `CanonicalizeIotaDims` in xla's `hlo/ir/tile_assignment.cc`.
    """
    if len(sizes) < 2:
        return sizes, perm
    if 1 in sizes:
        kept = [i for i, size in enumerate(sizes) if size != 1]  # at most 62: they multiply to an int64
        if not kept:
            return (1,), (0,)
        perm = tuple([kept.index(source) for source in perm if sizes[source] != 1])
        sizes = tuple([sizes[source] for source in kept])
    heads = []  # the first source dimension of every run k, k+1, k+2, ...
    merged = list(sizes)
    following = head = -1
    for source in perm:
        if source == following:
            merged[head] *= sizes[source]
        else:
            heads.append(source)
            head = source
        following = source + 1
    if len(heads) == len(perm):
        return sizes, perm
    if len(heads) == 1:
        return (merged[0],), (0,)
    # Merged runs cannot merge again: the first of one never follows the last of the one before it.
    ranked = sorted(heads)
    return tuple([merged[source] for source in ranked]), tuple([ranked.index(source) for source in heads])


# A program has few meshes, so the same orders come again and again with other dims. Only lists that are known
# to be good get here: a hostile one cannot fill the cache with long keys.
_known_order = functools.lru_cache(maxsize=4096)(canonical_order)


def _regroup(
    sizes: tuple[int, ...], order: tuple[int, ...], tiles: dict[int, int], moved: list[int]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Reshape dims and permutation after a transpose, with the reshape dims cut between prime factors.

    Args:
        sizes: The reshape dims.
        order: Their permutation.
        tiles: The grid's dimensions of size 2 and more, major to minor, with their sizes.
        moved: The same dimensions in their new order.
    """
    factors: list[int] = []  # in the transposed order, major to minor
    place: list[int] = []  # where each of them sits among the factors of all reshape dims
    source: list[int] = []  # which reshape dim each of them is part of
    primes = [prime_factors(size) for size in sizes]
    starts = [0]
    for group in primes:
        starts.append(starts[-1] + len(group))
    for k in order:
        factors += primes[k]
        place += range(starts[k], starts[k + 1])
        source += [k] * len(primes[k])
    groups: dict[int, list[int]] = {}
    at = 0
    for tile, size in tiles.items():
        group_start = at
        rest = size
        while rest != 1 and at < len(factors):
            # The factors of one reshape dim may be cut off in any order, so one further right will do.
            swap = at
            while swap < len(factors) and source[swap] == source[at] and rest % factors[swap]:
                swap += 1
            if swap == len(factors) or source[swap] != source[at]:
                break
            factors[at], factors[swap] = factors[swap], factors[at]
            rest //= factors[at]
            at += 1
        if rest != 1:
            return None
        groups[tile] = list(range(group_start, at))
    new_sizes = [0] * len(factors)
    for factor, where in zip(factors, place, strict=True):
        new_sizes[where] = factor
    return tuple(new_sizes), tuple([place[i] for tile in moved for i in groups[tile]])


def linear_index(index: Sequence[int], dims: tuple[int, ...]) -> int:
    """The row-major position of `index` in a grid of `dims`, checked."""
    coordinates = as_ints(index, "index")
    if len(coordinates) != len(dims) or not all(0 <= c < d for c, d in zip(coordinates, dims, strict=True)):
        raise VerificationError(
            f"index {shortened(coordinates)} is not in a grid of {shortened(dims)}", rule="grid-index"
        )
    position = 0
    for coordinate, size in zip(coordinates, dims, strict=True):
        position = position * size + coordinate
    return position


def grid_index(position: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    """The coordinates of a row-major position in a grid of `dims`."""
    coordinates = [0] * len(dims)
    for i in range(len(dims) - 1, -1, -1):
        position, coordinates[i] = divmod(position, dims[i])
    return tuple(coordinates)


def check_same_size(old: tuple[int, ...], new: tuple[int, ...]) -> None:
    """Raise where a grid of `old` dims cannot be reshaped to `new` ones."""
    if math.prod(old) != math.prod(new):
        raise VerificationError(
            f"a grid of {shortened(old)} has {math.prod(old)} devices, one of {shortened(new)} has "
            f"{math.prod(new)}",
            rule="grid-size",
        )
