"""What real XLA imports: the Shardy meshes and shardings that it makes of `mhlo.sharding` strings.

The shardings of one module share XLA's inferred mesh. They sit on arguments of `@main` and are read from the
module that enters propagation.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import TYPE_CHECKING

from tests.differential.oracle import pipeline
from tests.differential.oracle.isolation import Crash, Rejected, run_isolated

if TYPE_CHECKING:
    from collections.abc import Sequence

_GRIDS = ', mhlo.frontend_attributes = {xla.sdy.import_mhlo_shardings = "t"}'
_MESH = re.compile(r"sdy\.mesh @([\w.$-]+) = (<\[.*?\](?:, device_ids=\[\d+\])?>)")


@dataclasses.dataclass(frozen=True)
class HloCase:
    """One sharding to import.

    Attributes:
        text: Such as `{devices=[2,4]<=[8]}`.
        rank: Number of dimensions of the tensor.
        is_open: Whether propagation may shard it further.
    """

    text: str
    rank: int
    is_open: bool = False


@dataclasses.dataclass(frozen=True)
class Imported:
    """XLA's answer for the cases of one module.

    Attributes:
        meshes: The meshes by name, in module order, such as `<["_axis_0"=8]>`.
        shardings: One per case, such as `<@mesh, [{"_axis_0"}]>`; None where nothing was imported.
    """

    meshes: dict[str, str]
    shardings: list[str | None]


def import_modules(modules: Sequence[Sequence[HloCase]]) -> list[Imported | Crash | Rejected]:
    """XLA's answer for every module, each given as its cases."""
    return run_isolated(import_cases, [list(cases) for cases in modules], preload=pipeline.PRELOAD)


def import_cases(cases: Sequence[HloCase]) -> Imported | Crash | Rejected:
    """XLA's answer for one module (runs isolated)."""
    # The dump after the one that is read shows that it is complete.
    with pipeline.compile_until(
        _module(cases, _GRIDS), "shardy/*/02.*.mlir", [case.is_open for case in cases]
    ) as compilation:
        dump = next(compilation.dumps.glob("shardy/*/01.before_propagation.mlir"), None)
        done = next(compilation.dumps.glob("shardy/*/02.*.mlir"), None)
        return _read(dump.read_text(), len(cases)) if dump and done else compilation.failure


def import_named_modules(modules: Sequence[Sequence[HloCase]]) -> list[Imported | Crash | Rejected]:
    """XLA's answer for modules of shardings over named meshes, each given as its cases."""
    return run_isolated(import_named_cases, [list(cases) for cases in modules], preload=pipeline.PRELOAD)


def import_named_cases(cases: Sequence[HloCase]) -> Imported | Crash | Rejected:
    """XLA's answer for one module with named shardings (runs isolated)."""
    with pipeline.compile_until(
        _module(cases), "shardy/*/02.*.mlir", [case.is_open for case in cases], (pipeline.NAMED,)
    ) as compilation:
        dump = next(compilation.dumps.glob("shardy/*/01.before_propagation.mlir"), None)
        done = next(compilation.dumps.glob("shardy/*/02.*.mlir"), None)
        return _read(dump.read_text(), len(cases)) if dump and done else compilation.failure


def _module(cases: Sequence[HloCase], attributes: str = "") -> str:
    arguments = [
        f'%arg{k}: tensor<{"8x" * case.rank}f32> {{mhlo.sharding = "{case.text}"}}'
        for k, case in enumerate(cases)
    ]
    return "\n".join([
        f"module @cases attributes {{mhlo.num_partitions = {_partitions(cases)} : i32{attributes}}} {{",
        f"  func.func public @main({', '.join(arguments)}) {{",
        "    return",
        "  }",
        "}",
    ])  # fmt: skip


def _partitions(cases: Sequence[HloCase]) -> int:
    """Enough for every sharding, and more than one: XLA skips Shardy otherwise."""
    text = " ".join(case.text for case in cases)
    grids = [math.prod(map(int, dims.split(","))) for dims in re.findall(r"devices=\[([\d,]+)\]", text)]
    grids += [
        math.prod(map(int, re.findall(r"'=(\d+)", mesh))) for mesh in re.findall(r"mesh\[([^]]*)\]", text)
    ]
    single = [int(device) + 1 for device in re.findall(r"maximal device=(\d+)", text)]
    return max([2, *grids, *single])


def _read(module: str, count: int) -> Imported:
    found: list[str | None] = [None] * count
    signature = module[module.index(" @main(") :].partition("\n")[0]
    for argument in re.split(r"%arg(?=\d+:)", signature)[1:]:
        tag = "{sdy.sharding = #sdy.sharding"
        at = argument.find(tag)
        if at >= 0:
            found[int(argument.partition(":")[0])] = _angles(argument, at + len(tag))
    return Imported(dict(_MESH.findall(module)), found)


def _angles(text: str, start: int) -> str:
    """The `<...>` group that opens at `start`; no axis name of an inferred mesh holds a bracket."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        if depth == 0:
            return text[start : at + 1]
    raise ValueError(f"unbalanced brackets in {text[start:]!r}")
