"""Tile assignments: which device holds which tile, as an iota or as an explicit list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo.checks import INT64_MAX, as_int, as_permutation, as_sizes
from sdybridge.hlo.iota import IotaTileAssignment, check_same_size, grid_index, linear_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray


class TileAssignment:
    """A grid of device ids: entry `[i, j, ...]` is the device that holds tile `(i, j, ...)`.

    Build one with `TileAssignment.iota`, where possible, or `TileAssignment.from_array`. Two of them are
    equal if their devices are, however they are given; an explicit list is never turned into an iota.

    >>> print(TileAssignment.iota([2, 2], [2, 2], [1, 0]))
    devices=[2,2]<=[2,2]T(1,0)
    >>> print(TileAssignment.from_array([[0, 2], [1, 3]]))
    devices=[2,2]0,2,1,3
    >>> TileAssignment.iota([2, 2], [2, 2], [1, 0]) == TileAssignment.from_array([[0, 2], [1, 3]])
    True

    Source: `TileAssignment` in xla's `hlo/ir/tile_assignment.h`.
    """

    __slots__ = ("_array", "_dims", "_iota")

    _array: NDArray[np.int64] | None  # of an iota: made on first request
    _dims: tuple[int, ...]
    _iota: IotaTileAssignment | None

    def __init__(self) -> None:
        raise TypeError("build a TileAssignment with TileAssignment.iota or TileAssignment.from_array")

    @classmethod
    def iota(
        cls,
        dims: Sequence[int],
        reshape_dims: Sequence[int] | None = None,
        transpose_perm: Sequence[int] | None = None,
    ) -> TileAssignment:
        """The grid `np.arange(n).reshape(reshape_dims).transpose(transpose_perm).reshape(dims)`.

        Raises:
            VerificationError: As `IotaTileAssignment`.

        Example:
            >>> print(TileAssignment.iota([4, 2], [2, 4], [1, 0]))
            devices=[4,2]<=[2,4]T(1,0)
        """
        return cls._from_iota(IotaTileAssignment(dims, reshape_dims, transpose_perm))

    @classmethod
    def _from_known_iota(
        cls, dims: tuple[int, ...], reshape_dims: tuple[int, ...], transpose_perm: tuple[int, ...]
    ) -> TileAssignment:
        """`iota` without its checks, for tuples that are known to be good. `dims` may be empty."""
        return cls._from_iota(IotaTileAssignment._from_known(dims, reshape_dims, transpose_perm))

    @classmethod
    def _from_iota(cls, iota: IotaTileAssignment) -> TileAssignment:
        self = cls.__new__(cls)
        self._dims = iota._dims
        self._iota = iota
        self._array = None
        return self

    @classmethod
    def from_array(cls, devices: ArrayLike) -> TileAssignment:
        """The grid that lists its devices: an array of ids of rank 1 or more.

        The array is copied. Ids may repeat or be negative, as in XLA; `HloSharding.validate` checks that.

        Raises:
            VerificationError: `devices` is ragged, empty, of rank 0, or not of integers in int64's range.

        Example:
            >>> print(TileAssignment.from_array([[0, 4], [1, 5]]))
            devices=[2,2]0,4,1,5
        """
        import numpy as np

        try:
            array = np.array(devices)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise VerificationError(f"not an array of device ids: {error}", rule="device-array") from None
        if array.size == 0 or array.ndim == 0:
            raise VerificationError(
                f"an array of shape {array.shape} is no grid of devices: it has no dimension, or no device",
                rule="device-array",
            )
        if array.dtype.kind not in "iu" or (array.dtype == np.uint64 and array.max() > INT64_MAX):
            raise VerificationError(
                f"device ids must be integers in the range of int64, got an array of {array.dtype}",
                rule="device-array",
            )
        return cls._from_known_array(np.ascontiguousarray(array, dtype=np.int64))

    @classmethod
    def _from_known_array(cls, array: NDArray[np.int64]) -> TileAssignment:
        """`from_array` without checks or copy, for a contiguous int64 array that nobody else writes to."""
        array.setflags(write=False)
        self = cls.__new__(cls)
        self._dims = array.shape
        self._iota = None
        self._array = array
        return self

    @classmethod
    def empty(cls) -> TileAssignment:
        """The grid of dims `[0]` that shardings without tiles show, such as replicated ones.

        >>> TileAssignment.empty().dims
        (0,)
        """
        return _EMPTY

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape of the grid."""
        return self._dims

    @property
    def num_elements(self) -> int:
        """The number of devices."""
        return math.prod(self._dims)

    @property
    def num_dimensions(self) -> int:
        """The rank of the grid."""
        return len(self._dims)

    @property
    def is_iota(self) -> bool:
        """Whether the devices are given in compact form."""
        return self._iota is not None

    @property
    def iota_form(self) -> IotaTileAssignment | None:
        """The compact form; None for an explicit list, even where one exists."""
        return self._iota

    @property
    def array(self) -> NDArray[np.int64]:
        """The devices as a read-only NumPy array of shape `dims`; that of an iota is made here, once.

        Raises:
            SdyBridgeError: The iota has too many devices to list (see `MAX_MATERIALIZED_DEVICES`).
        """
        if self._array is None:
            if self._iota is None:
                import numpy as np

                array = np.empty(0, dtype=np.int64)
            else:
                array = self._iota.to_array()
            array.setflags(write=False)
            self._array = array
        return self._array

    def value_at(self, index: Sequence[int]) -> int:
        """The device at `index`, one coordinate per dimension.

        Raises:
            VerificationError: `index` does not lie in the grid.

        Example:
            >>> TileAssignment.from_array([[0, 4], [1, 5]]).value_at((1, 0))
            1
        """
        return self._device_at(linear_index(index, self._dims))

    def _device_at(self, position: int) -> int:
        """The device at a row-major position in the grid."""
        return int(self.array.flat[position]) if self._iota is None else self._iota._device_at(position)

    def index_for(self, device: int) -> tuple[int, ...]:
        """Where `device` sits in the grid; the first place where it is listed more than once.

        Raises:
            VerificationError: The grid has no such device. (XLA aborts, or wraps around on an iota.)

        Example:
            >>> TileAssignment.from_array([[0, 4], [1, 5]]).index_for(4)
            (0, 1)
        """
        if self._iota is not None:
            return self._iota.index_for(device)
        number = as_int(device, "device")
        found = self.array.reshape(-1) == number
        position = int(found.argmax()) if found.size else 0
        if not found.size or not found[position]:
            raise VerificationError(f"device {number} is not in the grid", rule="unknown-device")
        return grid_index(position, self._dims)

    def transpose(self, perm: Sequence[int]) -> TileAssignment:
        """The grid with its dimensions permuted: dimension k is dimension `perm[k]` of this one.

        An iota stays one where XLA finds it (see `IotaTileAssignment.transpose`), else it is listed.

        Raises:
            VerificationError: `perm` is not a permutation of the dimensions.
            SdyBridgeError: The result needs a device list, and that would be too long.

        Example:
            >>> print(TileAssignment.iota([2, 4]).transpose([1, 0]))
            devices=[4,2]<=[2,4]T(1,0)
        """
        return self._transpose(as_permutation(perm, len(self._dims), "perm"))

    def _transpose(self, perm: tuple[int, ...]) -> TileAssignment:
        if self._iota is not None:
            iota = self._iota._transpose(perm)
            if iota is not None:
                return self._from_iota(iota)
        import numpy as np

        return self._from_known_array(np.ascontiguousarray(self.array.transpose(perm)))

    def reshape(self, dims: Sequence[int]) -> TileAssignment:
        """The same devices in the same order, in a grid of other dims.

        Raises:
            VerificationError: `dims` hold another number of devices.

        Example:
            >>> print(TileAssignment.iota([4, 2], [2, 4], [1, 0]).reshape([2, 2, 2]))
            devices=[2,2,2]<=[2,4]T(1,0)
        """
        if self is _EMPTY:
            raise VerificationError("a grid without devices cannot be reshaped", rule="grid-size")
        new_dims = as_sizes(dims, "dims")
        check_same_size(self._dims, new_dims)
        return self._reshape(new_dims)

    def _reshape(self, dims: tuple[int, ...]) -> TileAssignment:
        if self._iota is not None:
            return self._from_iota(self._iota._with_dims(dims))
        return self._from_known_array(self.array.reshape(dims))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TileAssignment):
            return NotImplemented
        if self._dims != other._dims:
            return False
        if self._iota is not None and other._iota is not None:
            return self._iota == other._iota
        # Two devices tell most grids apart before any list is made.
        if any(self._device_at(at) != other._device_at(at) for at in _probes(self._dims)):
            return False
        return bool((self._listed() == other._listed()).all())

    def _listed(self) -> NDArray[np.int64]:
        """The devices, whatever their number: used where a list of the same length exists already."""
        return self.array if self._iota is None or self._array is not None else self._iota._materialize()

    def __hash__(self) -> int:
        return hash((self._dims, *[self._device_at(at) for at in _probes(self._dims)]))

    def __reduce__(self) -> tuple[object, ...]:
        if self is _EMPTY:
            return TileAssignment.empty, ()
        if self._iota is not None:
            return TileAssignment._from_iota, (self._iota,)
        return TileAssignment._from_known_array, (self._array,)

    def __str__(self) -> str:
        if self._iota is not None:
            return str(self._iota)
        devices = str(self.array.ravel().tolist())[1:-1].replace(
            " ", ""
        )  # faster than a join, and they are many
        return f"devices=[{','.join(map(str, self._dims))}]{devices}"

    def __repr__(self) -> str:
        if self._iota is not None:
            return repr(self._iota).replace("IotaTileAssignment", "TileAssignment.iota", 1)
        if self is _EMPTY:
            return "TileAssignment.empty()"
        if not self._dims:  # only a reshape gives a grid of rank 0
            return f"TileAssignment.from_array({self.array.reshape(1).tolist()}).reshape(())"
        return f"TileAssignment.from_array({self.array.tolist()})"


def _probes(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Positions whose devices tell grids of equal dims apart well: next to the first, and halfway."""
    total = math.prod(dims)
    return (1, total // 2) if total > 2 else tuple(range(total))


def _empty() -> TileAssignment:
    grid = TileAssignment.__new__(TileAssignment)
    grid._dims = (0,)
    grid._iota = None
    grid._array = None
    return grid


_EMPTY = _empty()
