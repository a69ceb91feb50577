"""Random shardings: our export says what the real XLA says, as text and as `OpSharding` bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.differential.oracle.shardings import Case, Exported, export_cases
from tests.differential.random_cases import random_samples

from sdybridge.bridge import convert_to_hlo_sharding
from sdybridge.sdy import MeshAttr, TensorShardingAttr
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.differential.oracle.isolation import Crash, Rejected

CASES_PER_SEED = 2000


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_fixed_seeds(seed: int) -> None:
    compare(cases_of(seed), seed=seed)


def test_fresh_seed(fresh_seed: int) -> None:
    compare(cases_of(fresh_seed), seed=fresh_seed)


def cases_of(seed: int) -> list[Case]:
    return [sample.case for sample in random_samples(seed, CASES_PER_SEED)]


def compare(
    cases: Sequence[Case], *, seed: int, target: Target = Target.CURRENT, python: Path | None = None
) -> None:
    """Fails with the shortest cases that differ, and how to run them again."""
    theirs = export_cases(cases, python=python)
    ours = [export_ours(case, target) for case in cases]
    differing = [k for k in range(len(cases)) if not same(ours[k], theirs[k])]
    differing.sort(key=lambda k: len(cases[k].mesh + cases[k].body))
    if differing:
        shown = "\n\n".join(describe(cases[k], ours[k], theirs[k]) for k in differing[:3])
        pytest.fail(f"{len(differing)} of {len(cases)} cases of seed {seed} differ, the shortest:\n\n{shown}")


def same(ours: Exported | Exception, theirs: Exported | Crash | Rejected) -> bool:
    """Equal text and bytes; where XLA has no bytes, the text alone."""
    if not isinstance(ours, Exported) or not isinstance(theirs, Exported):
        return False
    return ours.text == theirs.text and theirs.proto in (None, ours.proto)


def export_ours(case: Case, target: Target) -> Exported | Exception:
    try:
        mesh = MeshAttr.from_string(case.mesh)
        sharding = TensorShardingAttr.from_string(case.sharding)
        exported = convert_to_hlo_sharding(sharding, mesh, manual_axes=case.manual_axes, target=target)
        return Exported(str(exported), exported.to_proto_bytes(target=target))
    except Exception as error:  # noqa: BLE001  (whatever it is, it is the finding)
        return error


def describe(case: Case, ours: Exported | Exception, theirs: Exported | Crash | Rejected) -> str:
    lines = [
        f"mesh:     {case.mesh}",
        f"sharding: {case.sharding}",
        *([f"manual:   {case.manual_axes}"] if case.manual_axes else []),
        f"ours:     {ours!r}",
        f"XLA's:    {theirs!r}",
    ]
    return "\n".join(line[:2000] for line in lines)
