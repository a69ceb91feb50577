"""Device lists that are iotas in disguise.

An iota's devices, read in order, are numbers in mixed radix: `device = sum(digit * stride)`. The most minor
digit is the run in which the list grows by one stride; where that run breaks, the next digit begins. So the
breaks tell all sizes and strides, and one comparison tells whether the list has no other ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sdybridge.hlo.iota import IotaTileAssignment
from sdybridge.hlo.tile_assignment import TileAssignment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Digit = tuple[int, int]


def recognize_iota(devices: TileAssignment | ArrayLike) -> IotaTileAssignment | None:
    """The iota with exactly these devices, or None if there is none.

    Every order that an iota can express is found, those that interleave parts of a dimension included.
    The time is linear in the number of devices.

    Args:
        devices: A grid, or an array of device ids of rank 1 or more, indexed like the grid.

    Raises:
        VerificationError: `devices` is not an array of device ids.

    Example:
        >>> print(recognize_iota([[0, 4, 1, 5], [2, 6, 3, 7]]))
        devices=[2,4]<=[2,4]T(1,0)
        >>> print(recognize_iota([3, 2, 1, 0]))
        None
    """
    grid = devices if isinstance(devices, TileAssignment) else TileAssignment.from_array(devices)
    if grid.iota_form is not None or not grid.num_elements:
        return grid.iota_form
    return recognize_array(grid.array)


def recognize_array(array: NDArray[np.int64]) -> IotaTileAssignment | None:
    """`recognize_iota` of an array that has devices."""
    flat = array.reshape(-1)
    digits = _digits(flat)
    if math.prod(size for size, _ in digits) != flat.size:
        return None
    by_stride = sorted(range(len(digits)), key=lambda i: -digits[i][1])
    expected = 1
    for i in reversed(by_stride):  # each stride is the product of the smaller digits' sizes
        size, stride = digits[i]
        if stride != expected:
            return None
        expected *= size
    rank = {i: k for k, i in enumerate(by_stride)}
    sizes = tuple([digits[i][0] for i in by_stride]) or (1,)
    perm = tuple([rank[i] for i in reversed(range(len(digits)))]) or (0,)
    iota = IotaTileAssignment._from_known(array.shape, sizes, perm)
    return iota if (iota._materialize().reshape(-1) == flat).all() else None


def first_departure(flat: NDArray[np.int64]) -> int:
    """The first position at which a list that is no iota breaks the pattern that it sets up before.

    >>> import numpy as np
    >>> first_departure(np.array([0, 2, 1, 3, 4, 6, 7, 5]))
    6
    """
    import numpy as np

    if flat[0]:
        return 0
    digits = _digits(flat)
    predicted = np.zeros(1, dtype=np.int64)
    for size, stride in digits:
        predicted = (np.arange(size, dtype=np.int64)[:, None] * stride + predicted).reshape(-1)
    differs = predicted != flat[: predicted.size]
    return int(differs.argmax()) if differs.any() else predicted.size


def _digits(flat: NDArray[np.int64]) -> list[Digit]:
    """Size and stride of each digit, minor to major, as far as the list goes on like an iota.

    The sizes multiply to the length of the list if it may be one.
    """
    import numpy as np

    count = flat.size
    digits: list[Digit] = []
    if flat[0] != 0:
        return digits
    rest = flat
    while rest.size > 1:
        stride = int(rest[1])
        if not 0 < stride < count:
            break
        in_run = rest == np.arange(rest.size, dtype=np.int64) * stride
        size = rest.size if in_run.all() else int(in_run.argmin())
        digits.append((size, stride))
        if rest.size % size:
            break
        rest = rest[::size]
    return digits
