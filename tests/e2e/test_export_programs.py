"""Exported JAX programs run under XLA on eight devices, and compute what the originals compute.

So do those that are exported and imported again: GSPMD programs, which then run with Shardy.
"""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any

import numpy as np
import pytest
from tests.differential.oracle.isolation import run_isolated
from tests.differential.programs import PROGRAMS

from sdybridge.modules import ConstraintForm, export_module, import_module

DEVICES = 8
NAMES = (
    "mlp_step",
    "mixture_of_experts",
    "scanned_layers",
    "several_results",
    "control_flow",
    "constants",
    "convolutions",
    "indexing",
    "attention",
    "manual_collectives",
    "manual_axes",
    "manual_layers",
    "manual_blocks",
    "adam_step",
    "constraints",
)


@dataclasses.dataclass(frozen=True)
class Run:
    """What a program was given and what it returned.

    Attributes:
        parameter_shardings: The layout of each argument in the compiled program, as HLO text.
        output_shardings: The layout of each result.
        declared: What the module's text says about each result, if anything.
        outputs: The whole results.
    """

    parameter_shardings: list[str]
    output_shardings: list[str]
    declared: list[str | None]
    outputs: list[Any]


@pytest.mark.parametrize("name", NAMES)
def test_same_results(name: str) -> None:
    original = PROGRAMS[name].text(DEVICES)
    exported = export_module(original, constraints=ConstraintForm.CUSTOM_CALL).text
    assert not is_shardy(exported)
    imported = import_module(exported).text
    assert is_shardy(imported)
    before, after, back = run_isolated(compile_and_run, [original, exported, imported], preload=("jax",))
    assert any("devices=" in sharding for sharding in after.parameter_shardings)
    for declared, *found in zip(after.declared, before.output_shardings, after.output_shardings, strict=True):
        assert declared is None or found == [declared] * 2
    for run in (after, back):
        assert run.parameter_shardings == before.parameter_shardings
        for x, y in zip(before.outputs, run.outputs, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-4)


def compile_and_run(text: str) -> Run:
    """Runs a module on arguments of its types, spread as it says (runs isolated)."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
    import jax
    from jax._src import compiler
    from jax._src.interpreters.mlir import make_ir_context
    from jax._src.lib import xla_client
    from jax._src.sharding_impls import GSPMDSharding
    from jaxlib.mlir import ir

    devices = jax.devices()
    options = compiler.get_compile_options(
        num_replicas=1, num_partitions=DEVICES, device_assignment=np.arange(DEVICES).reshape(1, DEVICES)
    )
    options.executable_build_options.use_shardy_partitioner = is_shardy(text)
    with make_ir_context():
        module = ir.Module.parse(text)
        main = next(op for op in module.body.operations if is_main(op))
        arguments = [make_argument(k, ir.RankedTensorType(t)) for k, t in enumerate(main.type.inputs)]
        results = main.attributes.get("res_attrs", ())
        declared = [declared_sharding(d) for d in results]
        shapes = [tuple(ir.RankedTensorType(t).shape) for t in main.type.results]
        client = devices[0].client
        program = client.compile_and_load(module, xla_client.DeviceList(tuple(devices)), options)
    inputs = [xla_client.HloSharding.from_proto(s) for s in program.get_parameter_shardings()]
    outputs = [xla_client.HloSharding.from_proto(s) for s in program.get_output_shardings()]
    placed = [
        jax.device_put(x, GSPMDSharding(tuple(devices), s)) for x, s in zip(arguments, inputs, strict=True)
    ]
    parts_of_results = program.execute_sharded(placed).disassemble_into_single_device_arrays()
    whole = [
        jax.make_array_from_single_device_arrays(shape, GSPMDSharding(tuple(devices), s), parts)
        for shape, s, parts in zip(shapes, outputs, parts_of_results, strict=True)
    ]
    return Run([str(s) for s in inputs], [str(s) for s in outputs], declared, [np.asarray(x) for x in whole])


def is_shardy(text: str) -> bool:
    """Whether a program has Shardy operations or attributes."""
    return re.search(r"(?<![\w.])sdy\.", text) is not None


def is_main(op: Any) -> bool:
    return bool(op.operation.name == "func.func" and op.name.value == "main")


def declared_sharding(attributes: Any) -> str | None:
    return attributes["mhlo.sharding"].value if "mhlo.sharding" in attributes else None


def make_argument(k: int, type_: Any) -> Any:
    """Numbers of the type's element type, the same for the same k and shape."""
    rng = np.random.default_rng(k)
    shape = tuple(type_.shape)
    element = str(type_.element_type)
    if element == "i1":
        return np.full(shape, True)
    if element.startswith(("i", "ui")):
        return rng.integers(0, 7, shape).astype(np.uint32 if element.startswith("ui") else np.int32)
    return (rng.standard_normal(shape) * 0.1).astype(np.float32)
