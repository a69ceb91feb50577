"""`check` and `diff` on what the real XLA makes of real programs."""

from __future__ import annotations

import pytest
from tests.differential.oracle.isolation import run_isolated
from tests.differential.programs import PROGRAMS

from sdybridge import export_module
from sdybridge.checks import Severity, Verdict, check_module, compare_programs, open_program


def as_hlo(text: str) -> tuple[str, bytes]:
    """XLA's HLO of an MLIR program, as text and as a proto (runs isolated)."""
    from jaxlib import _jax

    computation = _jax.mlir.mlir_module_to_xla_computation(text)
    return computation.as_hlo_text(), computation.as_serialized_hlo_module_proto()


@pytest.fixture(scope="module")
def made() -> dict[str, tuple[str, bytes]]:
    """The HLO of each program, with Shardy shardings, and (`name exported`) with HLO shardings only."""
    texts = {name: program.text(8) for name, program in PROGRAMS.items()}
    texts |= {
        f"{name} exported": export_module(text, add_missing_sharding_to_control_flow=False).text
        for name, text in texts.items()
    }
    answers = run_isolated(as_hlo, list(texts.values()), preload=("jaxlib._jax",))
    return {name: one for name, one in zip(texts, answers, strict=True) if isinstance(one, tuple)}


def test_there_are_many(made: dict[str, tuple[str, bytes]]) -> None:
    assert len(made) >= len(PROGRAMS)


def test_no_false_alarms(made: dict[str, tuple[str, bytes]]) -> None:
    for name, forms in made.items():
        for data in forms:
            found = [one for one in check_module(data) if one.severity > Severity.INFO]
            assert not found, f"{name}: {found[0]}"


def test_arguments_and_results_are_the_same_in_every_format(made: dict[str, tuple[str, bytes]]) -> None:
    """In HLO text, in the proto, and in the MLIR that they were made of."""
    for name, (text, proto) in made.items():
        if name.endswith(" exported"):
            continue
        mlir = open_program(PROGRAMS[name].text(8), "mlir")
        count = len(mlir.inputs) + len(mlir.outputs)
        for data in (text, proto):
            pairs = compare_programs(mlir, open_program(data, "hlo"))[:count]
            different = [pair for pair in pairs if pair.verdict is Verdict.DIFFERENT]
            assert not different, f"{name}: {different[0]}"
            assert any(pair.verdict for pair in pairs), name
