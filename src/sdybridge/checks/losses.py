"""SB5xx: what export to HLO shardings would lose. Checked if asked for only."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sdybridge.bridge import Loss, LossKind, export_losses
from sdybridge.checks.program import Problem
from sdybridge.errors import SdyBridgeError
from sdybridge.modules.annotations import SDY, Annotation
from sdybridge.sdy import TensorShardingAttr, verify_sharding
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.checks.program import Program
    from sdybridge.sdy import MeshAttr

_CODES = {
    LossKind.OPENNESS: "SB501",
    LossKind.PRIORITY: "SB502",
    LossKind.EXPLICIT_REPLICATION: "SB503",
    LossKind.UNREDUCED: "SB504",
    LossKind.REDUCTION_OP: "SB504",
    LossKind.DEVICE_ORDER: "SB505",
    LossKind.AXIS_NAMES: "SB506",
}


def check(program: Program) -> Iterator[Problem]:
    """The losses of each distinct sharding, where that stands first."""
    first: dict[tuple[TensorShardingAttr, MeshAttr], Annotation] = {}
    counts: Counter[tuple[TensorShardingAttr, MeshAttr]] = Counter()
    for one in program.annotations:
        if one.carrier == SDY and one.mesh is not None and isinstance(one.sharding, TensorShardingAttr):
            key = one.sharding, one.mesh
            first.setdefault(key, one)
            counts[key] += 1
    for (sharding, mesh), one in first.items():
        try:
            losses = _losses(sharding, mesh)
        except SdyBridgeError:
            continue  # it is not valid, which is reported
        by_code: dict[str, list[str]] = {}
        words: dict[str, str] = {}
        for loss in losses:
            code = _CODES[loss.kind]
            by_code.setdefault(code, []).append(f"{loss.kind.value} {loss.detail}")
            words[code] = loss.kind.explanation
        values = f"{counts[sharding, mesh]} values have" if counts[sharding, mesh] > 1 else "1 value has"
        for code, details in by_code.items():
            yield Problem(
                code,
                f"export loses {', '.join(details)}",
                program.place(one),
                (words[code], f"{values} this sharding"),
            )


def _losses(sharding: TensorShardingAttr, mesh: MeshAttr) -> tuple[Loss, ...]:
    """What export loses for XLA as it is, and what is unreduced, which the older one loses."""
    verify_sharding(sharding, mesh)
    older = export_losses(sharding, mesh, target=Target.CLASSIC)
    unreduced = [loss for loss in older if loss.kind is LossKind.UNREDUCED]
    return (*export_losses(sharding, mesh), *unreduced)
