"""A sharding with its devices listed: its text, its proto, and the iota in disguise, beside jaxlib."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from jaxlib import xla_client

from benchmarks.table import AtMost, Ratio, Row, Table, Unit
from benchmarks.timing import alternate
from sdybridge import HloSharding, TileAssignment
from sdybridge.hlo import recognize_iota

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from benchmarks.effort import Effort

NO_SLOWER = Ratio(1.0)
WITHIN_THREE = Ratio(1 / 3)
RECOGNISED = AtMost(0.2)
"""Seconds for a list of 2**20 devices."""


def run(effort: Effort) -> Iterator[Table]:
    """Each step on a list in random order; recognition on the three lists that differ for it."""
    count = 1 << effort.mesh_bits
    side = 1 << effort.mesh_bits // 2
    random = np.random.default_rng(0).permutation(count).reshape(side, side)
    transposed = np.arange(count).reshape(2, side, side // 2).transpose(2, 0, 1).reshape(side, side)
    nearly = transposed.copy()
    nearly[-1, [-2, -1]] = nearly[-1, [-1, -2]]
    ours, theirs = HloSharding.tile(TileAssignment.from_array(random)), _theirs(random)
    text, data = str(ours), ours.to_proto_bytes()
    check_equal(text, data, theirs)

    title = f"List of {count} devices in random order, {Unit.BYTES.show(len(text))} of text"
    both = [
        _row("parse", lambda: HloSharding.from_string(text), lambda: _parse(text), effort, NO_SLOWER),
        _row("print", lambda: str(ours), lambda: str(theirs), effort),
        _row(
            "proto decode", lambda: HloSharding.from_proto(data), lambda: _decode(data), effort, WITHIN_THREE
        ),
        _row("proto encode", ours.to_proto_bytes, lambda: _encode(theirs), effort, WITHIN_THREE),
    ]
    yield Table(title, "jaxlib", both)
    lists = {"an iota in disguise": transposed, "one but for its end": nearly, "in random order": random}
    recognition = [
        _row(what, partial(recognize_iota, TileAssignment.from_array(ids)), None, effort, RECOGNISED)
        for what, ids in lists.items()
    ]
    yield Table(f"Recognition of a list of {count} devices", "jaxlib", recognition, "jaxlib has none")


def check_equal(text: str, data: bytes, theirs: xla_client.HloSharding) -> None:
    """Both must write the same before their speed says anything.

    Raises:
        ValueError: They do not.
    """
    if (text, data) != (str(theirs), _encode(theirs)):
        raise ValueError("jaxlib writes the list otherwise")


def _row(
    what: str,
    ours: Callable[[], object],
    theirs: Callable[[], object] | None,
    effort: Effort,
    goal: AtMost | Ratio | None = None,
) -> Row:
    tasks = [ours] if theirs is None else [ours, theirs]
    seconds = [median(times.cpu) for times in alternate([partial(_call, f) for f in tasks], effort.rounds)]
    return Row(what, seconds[0], seconds[1] if theirs else None, goal=goal)


def _call(task: Callable[[], object], _round: int) -> object:
    return task()


def _theirs(ids: NDArray[np.int64]) -> xla_client.HloSharding:
    dims = ",".join(map(str, ids.shape))
    return _parse(f"{{devices=[{dims}]{','.join(map(str, ids.ravel()))}}}")


def _parse(text: str) -> xla_client.HloSharding:
    return xla_client.HloSharding.from_string(text)


def _decode(data: bytes) -> xla_client.HloSharding:
    message = xla_client.OpSharding()
    message.ParseFromString(data)
    return xla_client.HloSharding.from_proto(message)


def _encode(sharding: xla_client.HloSharding) -> bytes:
    encoded: bytes = sharding.to_proto().SerializeToString()
    return encoded
