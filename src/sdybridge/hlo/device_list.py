"""Device ids as text lists them: `0,1,2,3`, up to millions of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sdybridge.hlo.lexer import Lexer

# Ids of up to 18 digits, which surely fit 64 bits, each with its comma.
_RUN = re.compile(r"(?:-?[0-9]{1,18}[ \t\r\n]*+,[ \t\r\n]*+)++")
_SHORT = 256  # characters up to which Python's own conversion is faster than NumPy's


class DeviceIds:
    """A list of device ids that is still being read.

    Attributes:
        count: How many there are.
    """

    __slots__ = ("_parts", "count")

    def __init__(self) -> None:
        self._parts: list[list[int] | NDArray[np.int64]] = []
        self.count = 0

    def append(self, device: int) -> None:
        """Adds one id."""
        if not self._parts or not isinstance(self._parts[-1], list):
            self._parts.append([])
        self._parts[-1].append(device)  # type: ignore[union-attr]  # a list, as the line above made sure
        self.count += 1

    def extend(self, text: str) -> None:
        """Adds the ids of a comma-separated list of numbers that fit 64 bits."""
        part = to_ids(text)
        self._parts.append(part)
        self.count += len(part)

    def first(self) -> int:
        """The first id."""
        return int(self._parts[0][0])

    def array(self) -> NDArray[np.int64]:
        """All ids, in a new array of rank 1."""
        import numpy as np

        if len(self._parts) == 1:
            return np.array(self._parts[0], dtype=np.int64)
        return np.concatenate([np.asarray(part, dtype=np.int64) for part in self._parts])


def read_device_ids(p: Lexer, ids: DeviceIds) -> None:
    """`ids := INT (',' INT)*`, added to `ids`."""
    while True:
        run = _RUN.match(p.text, p.start)
        if run is not None:
            ids.extend(run[0].rstrip(" \t\r\n,"))
            p.pos = run.end()
        ids.append(p.expect_integer("a device id"))
        if not p.take(","):
            return


def to_ids(text: str) -> list[int] | NDArray[np.int64]:
    """The numbers of a comma-separated list, each of which fits 64 bits."""
    if len(text) <= _SHORT:
        return [int(number) for number in text.split(",")]
    import numpy as np

    return np.fromstring(text, dtype=np.int64, sep=",")
