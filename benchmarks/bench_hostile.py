"""Texts made to be slow: how the time of each reader grows when such a text becomes eight times as long."""

from __future__ import annotations

import contextlib
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.table import AtMost, Row, Table, Unit
from benchmarks.timing import alternate
from sdybridge.errors import SdyBridgeError
from sdybridge.hlo import HloSharding
from sdybridge.modules import export_module, import_module
from sdybridge.sdy import parse_attribute
from sdybridge.source import Source
from sdybridge.target import Target
from sdybridge.view.messages import find_shardings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.effort import Effort

TIMES = 8
GOAL = AtMost(2 * TIMES)
"""Time in proportion is `TIMES`, time that grows with the square `TIMES ** 2`."""
_SHORTEST = 5e-3
"""Seconds below which a task says nothing of growth."""

_LINES = (
    "#sdy.sharding<@mesh, [{",
    '"#sdy.sharding<@mesh, [{\\22',
    '<@mesh, ["", ',
    "{devices=[2]<=[2] ",
    '{devices=[2]0,1 metadata={op_name="',
    "{{replicated}, ",
    "PartitionSpec(('x', ",
    " = ({replicated} ",
    "from sharding {replicated} to ",
)
_ATTRIBUTES = (
    ("#sdy.mesh<[], device_ids=[", "1, "),
    ("#sdy.sharding<@m, [", '{"x"}, '),
    ('#sdy.sharding<@m, [{"', "a"),
    ("#sdy.sharding<@m, []> : t<", "<>"),
    ("#sdy.sharding<@m, []>", " //\\"),
    ('#sdy.sharding<@m, [{"x"}p', "9"),
)
_HLO = ("{", "/**/", "/*", "{replicated},", "replicated ", "2,", "manual,")
_PROGRAMS = (
    "{sdy.sharding = #sdy.sharding<@m, [",
    '"sdy.sharding = ',
    "{a = {",
    "sdy.manual_computation(",
    '%0 = "sdy.return"(',
    'mhlo.sharding = "{devices=[',
    "loc(",
    "// sdy.\n",
)


def run(effort: Effort) -> Iterator[Table]:
    """One table for all readers: the worst text of each."""
    count = effort.calls // 50
    readers: dict[str, tuple[Callable[[str], object], list[str]]] = {
        "shardings in a log line": (
            lambda text: find_shardings(Source(text), Target.CURRENT),
            [part * count for part in _LINES],
        ),
        "Shardy attribute": (
            parse_attribute,
            [start + part * 50 * count for start, part in _ATTRIBUTES],
        ),
        "HLO sharding": (
            HloSharding.from_string,
            [start + part * 10 * count for part in _HLO for start in ("{", "{devices=[2]<=[")],
        ),
        "export": (export_module, ["func.func @f() " + part * 10 * count for part in _PROGRAMS]),
        "import": (import_module, ["func.func @f() " + part * 10 * count for part in _PROGRAMS]),
    }
    rows = [_row(name, read, texts) for name, (read, texts) in readers.items()]
    yield Table(
        f"Texts made to be slow, {TIMES} times as long", "-", rows, "the worst of each reader's texts"
    )


def _row(what: str, read: Callable[[str], object], texts: list[str]) -> Row:
    return Row(what, max(_growth(read, text) for text in texts), unit=Unit.MULTIPLE, goal=GOAL)


def _growth(read: Callable[[str], object], text: str) -> float:
    """How many times longer the whole text takes than its first part."""

    def task(part: str) -> Callable[[int], None]:
        def run_once(_: int) -> None:
            with contextlib.suppress(SdyBridgeError):
                read(part)

        return run_once

    short, whole = alternate([task(text[: len(text) // TIMES]), task(text)], 3)
    return max(median(whole.cpu), _SHORTEST) / max(median(short.cpu), _SHORTEST)
