"""SB3xx: values of manual computations, which are one device's part, where whole values are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.checks.program import Problem
from sdybridge.hlo import HloSharding, OpShardingType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.checks.program import Program
    from sdybridge.modules.annotations import Annotation

_LEAVE = "SPMDShardToFullShape"
_MANUAL = OpShardingType.MANUAL
_KEEPS = frozenset(("tuple", "get-tuple-element", "call", "while", "conditional"))


def check(program: Program) -> Iterator[Problem]:
    """Manual values that are used outside of their region."""
    yield from program.manual_escapes()
    if not any(_is_manual(one) for one in program.annotations):
        return
    for value, user, target in program.uses():
        if _is_manual(value) and not _is_manual(user) and target != _LEAVE and user.opcode not in _KEEPS:
            yield Problem(
                "SB301",
                f"{user.name} uses the manual value {value.name}, and is not manual itself",
                program.place(user),
                (
                    f"{value.name} is {value.sharding}: each device holds a value of its own, {value.shape}",
                    f"{user.name} is {user.sharding}",
                ),
                f"go through a call of @{_LEAVE}, which makes one whole value of the parts",
            )


def _is_manual(one: Annotation) -> bool:
    sharding = one.sharding
    if not isinstance(sharding, HloSharding) or sharding.is_tuple:
        return False
    grid = sharding.v3_to_v2_sharding()
    return grid.type is _MANUAL or (grid.type is OpShardingType.OTHER and _MANUAL in grid.subgroup_types)
