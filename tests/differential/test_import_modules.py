"""Real JAX programs: our import says what XLA's own import says, and exporting it again changes nothing.

For XLA, the programs are exported by us, and their shardings reach it through HLO. The module that enters
XLA's import is what we import, too. Beside the import, XLA's pipeline drops private functions that nothing
calls and rewrites constants, so the modules are compared sharding by sharding.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from tests.differential.oracle.pipeline import ExportedModule, export_modules_cached
from tests.differential.oracle.program_imports import SWITCH, ImportedModule, import_programs_cached
from tests.differential.programs import PROGRAMS

from sdybridge.bridge import LossKind
from sdybridge.modules import ConstraintForm, export_module, import_module, round_trip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sdybridge.modules import RoundTrip
    from sdybridge.modules.roundtrip import Shardings

DEVICES = (8, 512)
XLA_CRASHES = frozenset({"callbacks"})
LOSSES = frozenset({LossKind.OPENNESS, LossKind.PRIORITY, LossKind.EXPLICIT_REPLICATION})
CONSTANTS = frozenset({"stablehlo.constant", "sdy.constant"})
_RESULTS = re.compile(r"func\.func public @main\(.*\) -> \((.*)\) \{$", re.MULTILINE)
_SHARDING = re.compile(r'(?:, )?mhlo\.sharding = "[^"]*"')


@pytest.fixture(scope="session")
def oracle_cache(pytestconfig: pytest.Config) -> Path:
    assert pytestconfig.cache is not None
    return pytestconfig.cache.mkdir("xla-imports")


NAMES = [name for name, program in PROGRAMS.items() if not program.is_manual]


@pytest.mark.parametrize("name", NAMES)
def test_program(name: str, oracle_cache: Path) -> None:
    inputs = [for_xla(PROGRAMS[name].text(devices)) for devices in DEVICES]
    for devices, pair in zip(DEVICES, import_programs_cached(inputs, oracle_cache), strict=True):
        if not isinstance(pair, ImportedModule):  # XLA dies on some of what it exports itself
            assert name in XLA_CRASHES, pair.message
            continue
        assert "mhlo.sharding" in pair.mhlo_text
        ours = import_module(pair.mhlo_text, remove_added_sharding_from_control_flow=False)
        assert shardings(ours.text) == shardings(pair.sdy_text), f"{name} on {devices} devices"


@pytest.mark.parametrize("constraints", ConstraintForm)
@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.is_manual])
def test_manual_computations_exported_again_are_the_same(name: str, constraints: ConstraintForm) -> None:
    for devices in DEVICES:
        trip = round_trip(PROGRAMS[name].text(devices), constraints=constraints)
        assert "sdy.manual_computation" in trip.imported.text
        assert trip.is_stable


@pytest.mark.parametrize("constraints", ConstraintForm)
@pytest.mark.parametrize("name", NAMES)
def test_exported_again_it_is_the_same(
    name: str, constraints: ConstraintForm, pytestconfig: pytest.Config
) -> None:
    assert pytestconfig.cache is not None
    cache = pytestconfig.cache.mkdir("xla-exports")
    lowered = [PROGRAMS[name].text(devices) for devices in DEVICES]
    pairs = export_modules_cached(lowered, cache)
    propagated = [pair.sdy_text for pair in pairs if isinstance(pair, ExportedModule)]
    assert len(propagated) == len(DEVICES)
    for text in (*lowered, *propagated):
        assert round_trip(text, keep_meshes=False, constraints=constraints).is_stable
        trip = round_trip(text, constraints=constraints)
        assert trip.is_stable
        assert dict(trip.imported.meshes) == dict(trip.exported.meshes)
        for sharding in trip.shardings:
            kinds = {loss.kind for loss in sharding.losses}
            assert sharding.is_same or kinds & LOSSES or has_axes_of_one_device(sharding.before, trip)


def has_axes_of_one_device(shardings: Shardings, trip: RoundTrip) -> bool:
    """Whether an axis of size 1 is used, which no device grid can show."""
    sizes = {axis.name: axis.size for mesh in trip.exported.meshes.values() for axis in mesh.axes}
    return any(sizes[ref.name] == 1 for one in shardings for dim in one.dim_shardings for ref in dim.axes)


def for_xla(text: str) -> str:
    """The exported program as XLA's front end passes it to Shardy: no shardings on results of functions."""
    text = export_module(text, add_missing_sharding_to_control_flow=False).text
    found = _RESULTS.search(text)
    if found:
        text = text[: found.start(1)] + without_shardings(found[1]) + text[found.end(1) :]
    lines = [without_shardings(line) if "func.func private" in line else line for line in text.split("\n")]
    return "\n".join(lines).replace(" attributes {", f" attributes {{{SWITCH}, ", 1)


def without_shardings(line: str) -> str:
    return _SHARDING.sub("", line).replace("{, ", "{").replace(" {}", "")


def shardings(text: str) -> list[tuple[str, ...]]:
    """The meshes of a module, and every sharding in what `@main` reaches, in the order of the text."""
    with make_ir_context():
        module = ir.Module.parse(text)
        functions = {
            ir.StringAttr(op.attributes["sym_name"]).value: op
            for op in module.body.operations
            if op.operation.name == "func.func"
        }
        meshes = [
            ("mesh", str(op.attributes["sym_name"]), str(op.attributes["mesh"]))
            for op in module.body.operations
            if op.operation.name == "sdy.mesh"
        ]
        found = list(of_function(functions["main"]))
    return [*meshes, *found]


def of_function(function: Any) -> Iterator[tuple[str, ...]]:
    arguments = function.attributes["arg_attrs"] if "arg_attrs" in function.attributes else []  # noqa: SIM401
    for i, argument in enumerate(arguments):
        attributes = ir.DictAttr(argument)
        if "sdy.sharding" in attributes:
            yield f"argument {i}", str(attributes["sdy.sharding"])
    yield from of_operations(function.operation)


def of_operations(operation: Any) -> Iterator[tuple[str, ...]]:
    for region in operation.regions:
        for block in region:
            for op in block.operations:
                attributes = op.operation.attributes
                if "sdy.sharding" in attributes and op.operation.name not in CONSTANTS:
                    types = ", ".join(str(result.type) for result in op.operation.results)
                    yield op.operation.name, types, str(attributes["sdy.sharding"])
                yield from of_operations(op.operation)
