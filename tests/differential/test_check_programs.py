"""`check` and `diff` on real programs, and on what the real XLA makes of them."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.differential.oracle.isolation import run_isolated
from tests.differential.programs import PROGRAMS

from sdybridge import export_module, import_module
from sdybridge.checks import Severity, Verdict, check_module, compare_programs, open_program
from sdybridge.modules import CarrierForm

ALIKE = [name for name, program in PROGRAMS.items() if not program.is_manual and name != "callbacks"]
"""Programs that export keeps operation by operation; callbacks come to return tuples."""


def as_hlo(text: str) -> tuple[str, bytes]:
    """XLA's HLO of an MLIR program, as text and as a proto (runs isolated)."""
    from jaxlib import _jax

    computation = _jax.mlir.mlir_module_to_xla_computation(text)
    return computation.as_hlo_text(), computation.as_serialized_hlo_module_proto()


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Each program with Shardy shardings; `name exported` with HLO shardings, `name carried` with both."""
    lowered = {name: program.text(8) for name, program in PROGRAMS.items()}
    carried = {
        f"{name} carried": export_module(text, carrier=CarrierForm.SDY).text
        for name, text in lowered.items()
        if not PROGRAMS[name].is_manual
    }
    return (
        lowered
        | carried
        | {
            f"{name} exported": export_module(text, add_missing_sharding_to_control_flow=False).text
            for name, text in lowered.items()
        }
    )


@pytest.fixture(scope="module")
def hlo(texts: dict[str, str]) -> dict[str, tuple[str, bytes]]:
    """The HLO of them, as text and as a proto."""
    answers = run_isolated(as_hlo, list(texts.values()), preload=("jaxlib._jax",))
    return {name: one for name, one in zip(texts, answers, strict=True) if isinstance(one, tuple)}


def test_no_false_alarms(texts: dict[str, str], hlo: dict[str, tuple[str, bytes]]) -> None:
    assert len(hlo) >= len(PROGRAMS)
    for name in texts:
        for data in (texts[name], *hlo.get(name, ())):
            found = [one for one in check_module(data) if one.severity > Severity.INFO]
            assert not found, f"{name}: {found[0]}"


def test_arguments_and_results_are_the_same_in_every_format(
    texts: dict[str, str], hlo: dict[str, tuple[str, bytes]]
) -> None:
    """In HLO text, in the proto, and in the MLIR that they were made of."""
    for name in PROGRAMS:
        mlir = open_program(texts[name], "mlir")
        count = len(mlir.inputs) + len(mlir.outputs)
        for data in hlo.get(name, ()):
            pairs = compare_programs(mlir, open_program(data, "hlo"))[:count]
            different = [pair for pair in pairs if pair.verdict is Verdict.DIFFERENT]
            assert not different, f"{name}: {different[0]}"
            assert any(pair.verdict for pair in pairs), name


@pytest.mark.parametrize("name", ALIKE)
def test_export_and_import_keep_the_meaning(name: str, texts: dict[str, str]) -> None:
    exported = texts[f"{name} exported"]
    mlir = open_program(texts[name], "mlir")
    for other in (exported, texts[f"{name} carried"], import_module(exported, mesh=mlir.meshes).text):
        counts = Counter(pair.verdict for pair in compare_programs(mlir, open_program(other, "other")))
        assert counts
        assert counts[Verdict.DIFFERENT] == counts[None] == 0
