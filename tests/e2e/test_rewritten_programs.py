"""HLO programs in other spellings run under XLA on eight devices, and compute what the originals compute."""

from __future__ import annotations

import numpy as np
import pytest
from jax._src.interpreters.mlir import make_ir_context
from jaxlib import _hlo, _jax
from jaxlib.mlir import ir
from tests.differential.oracle.isolation import run_isolated
from tests.differential.programs import PROGRAMS
from tests.e2e.test_export_programs import DEVICES, compile_and_run

from sdybridge.hlo import HloSharding
from sdybridge.modules import ConstraintForm, Spelling, export_module, rewrite_module

NAMES = ("mlp_step", "attention", "several_results")
WAYS = ([Spelling.V1], [Spelling.V1, Spelling.V2], [Spelling.NAMED, Spelling.CLASSIC])


@pytest.mark.parametrize("name", NAMES)
def test_same_results(name: str) -> None:
    exported = export_module(PROGRAMS[name].text(DEVICES), constraints=ConstraintForm.CUSTOM_CALL).text
    computation = _jax.mlir.mlir_module_to_xla_computation(exported)
    original = computation.as_serialized_hlo_module_proto()
    programs = [original]
    for way in WAYS:
        proto, text = rewritten(original, way), rewritten(computation.as_hlo_text(), way)
        assert isinstance(proto, bytes)
        assert isinstance(text, str)
        programs += [proto, proto_of(text)]
    before, *after = run_isolated(compile_and_run, list(map(mlir_of, programs)), preload=("jax",))
    assert any("devices=" in sharding for sharding in before.parameter_shardings)
    for run in after:
        assert meaning(run.parameter_shardings) == meaning(before.parameter_shardings)
        assert meaning(run.output_shardings) == meaning(before.output_shardings)
        for x, y in zip(before.outputs, run.outputs, strict=True):
            np.testing.assert_array_equal(x, y)


def rewritten(program: str | bytes, way: list[Spelling]) -> str | bytes:
    for spelling in way:
        changed = rewrite_module(program, spelling).program
        assert changed != program
        program = changed
    return program


def meaning(texts: list[str]) -> list[HloSharding]:
    return [HloSharding.from_string(text) for text in texts]


def proto_of(text: str) -> bytes:
    data: bytes = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    return data


def mlir_of(proto: bytes) -> str:
    """The program as MLIR text, in which XLA compiles it."""
    with make_ir_context():
        return str(ir.Module.parse(_jax.mlir.hlo_to_stablehlo(proto)))
