"""SB2xx: who reads which annotation. A program with those of both kinds is read in part only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.checks.program import Problem
from sdybridge.modules.mixed import CONTRADICTING, LEFTOVER, MIXED, AnnotatedProgram

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.checks.program import Program

_CODES = {MIXED: "SB202", LEFTOVER: "SB203", CONTRADICTING: "SB204"}


def check(program: Program) -> Iterator[Problem]:
    """Calls without a sharding, annotations of two kinds, carriers that should be gone or contradict."""
    for call in program.calls():
        if not call.has_sharding:
            yield Problem(
                "SB201",
                f"a call of {call.target} without a sharding",
                call.place,
                ("XLA's sharding propagation stops with an error at it",),
                'give it `mhlo.sharding`, such as "{replicated}", or `sdy.sharding`',
            )
    annotated = AnnotatedProgram(
        program.source,
        program.annotations,
        program.is_mlir,
        program.sharding_calls,
        program.carried_results,
        "main" if program.is_mlir else next((one.scope for one in program.inputs), ""),
    )
    for one in annotated.find():
        yield Problem(_CODES[one.rule], one.message, program.place(one.at), one.notes, one.help)
