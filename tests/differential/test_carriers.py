"""Carriers beside the real XLA's: what our export keeps is what XLA's keeps, and so with the import.

XLA converts a program with Shardy attributes, and one with our carriers, to HLO: both modules must be the
same text. Its import takes what came back from HLO, and our exports.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from tests.differential.comparison import expect_same_module, reprint
from tests.differential.oracle.carriers import PRELOAD as EXCHANGE
from tests.differential.oracle.carriers import (
    Exchanged,
    exchange,
    export_classic,
    import_attributes,
    simplified,
)
from tests.differential.oracle.isolation import ROOT, Rejected, run_isolated
from tests.differential.oracle.pipeline import PRELOAD
from tests.differential.oracle.program_imports import ImportedModule, import_programs_cached
from tests.differential.programs import PROGRAMS
from tests.differential.random_computations import random_computations
from tests.differential.random_modules import random_module

from sdybridge.modules import CarrierForm, export_module, import_module
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEVICES = 8
RANDOM_MODULES = 40
RANDOM_COMPUTATIONS = 12
CLASSIC = ROOT / ".venv-classic" / "bin" / "python"
TUPLES = frozenset({"callbacks from HLO", "linear_algebra from HLO"})
COMPILED = ("mlp_step", "control_flow", "callbacks")
_MESH_ATTRIBUTE = re.compile(r" \{stablehlo\.mesh = .*\}$", re.MULTILINE)
_CARRIER = re.compile(r'xla\.sdy\.(?:sharding="(?:[^"\\]|\\.)*"|meshes=.*)')
_MANUAL_AXES = re.compile(r"manual_axes=\{([^}]*)\}")
_NAME = re.compile(r'"([^"]*)"')
_AXIS = re.compile(r'"([^"]*)"=(\d+)')
_SHARDING = re.compile(r"#sdy\.sharding_per_value<\[(<.*>)\]>")

EVERYTHING = r"""
module @m attributes {mhlo.frontend_attributes = {foo = "bar"}, mhlo.num_partitions = 8 : i32} {
  sdy.mesh @empty = <[]>
  sdy.mesh @max = <[], device_ids=[3]>
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  sdy.mesh @turned = <["it's"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
  func.func public @main(%arg0: tensor<8x8xf32> {jax.arg = "q", sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {"y"}]>}, %arg1: tensor<8x8xf32> {mhlo.frontend_attributes = {z = "1"}, sdy.sharding = #sdy.sharding<@turned, [{"it's"}, {?}]>}, %arg2: tensor<8x8xf32>) -> (tensor<8x8xf32> {jax.result_info = "r", sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, ?}, {}], replicated={"y"}>}, tensor<8x8xf32>, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"y"}>}) {
    %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{?}, {"y"}]> {mhlo.frontend_attributes = {a = "b"}} : tensor<8x8xf32>
    sdy.sharding_group %1 group_id=3 : tensor<8x8xf32>
    %2 = sdy.propagation_barrier %1 allowed_direction=BACKWARD : tensor<8x8xf32>
    %3 = sdy.propagation_barrier %2 allowed_direction=NONE : tensor<8x8xf32>
    %4 = stablehlo.custom_call @foo(%3) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %5 = stablehlo.add %4, %0 {mhlo.frontend_attributes = {a = "b"}, sdy.sharding = #sdy.sharding_per_value<[<@max, []>]>} : tensor<8x8xf32>
    %6:2 = stablehlo.custom_call @bar(%5) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{}, {"y"}]>]>} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
    stablehlo.custom_call @baz(%5) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@max, []>]>} : (tensor<8x8xf32>) -> ()
    %7 = call @f(%arg2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %8 = sdy.sharding_constraint %7 <@mesh, [{?}, {"y"}], unreduced={"x"}> : tensor<8x8xf32>
    return %6#0, %6#1, %arg2, %8 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
  func.func private @f(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    %0 = stablehlo.abs %arg0 : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}
"""  # noqa: E501
"""A program with every carrier there is, as jaxlib prints it."""


COMPUTATIONS = r"""
module @m {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
  func.func @xla.sdy.manual_computation_body_1(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32>
  }
  func.func private @f(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"z", ?}, {}]>] out_shardings=[<@mesh, [{"z"}, {"y"}]>] manual_axes={"z"} (%arg1: tensor<2x8xf32>) {
      %1 = stablehlo.negate %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y", ?}p2]>]>} : tensor<2x8xf32>
      sdy.return %1 : tensor<2x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {"y"}]>}, %arg1: tensor<i1>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, tensor<8x8xf32>) {
    %0:2 = sdy.manual_computation(%arg0, %arg0) in_shardings=[<@mesh, [{"x"}, {"y", ?}p3]>, <@mesh, [{?}, {}], replicated={"x"}>] out_shardings=[<@mesh, [{"x"}, {"y", ?}]>, <@mesh, [{}, {}]>] manual_axes={"x"} (%arg2: tensor<4x8xf32>, %arg3: tensor<8x8xf32>) {
      %3:2 = sdy.manual_computation(%arg2, %arg2) in_shardings=[<@mesh, [{}, {"y"}]>, <@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {"y", ?}]>, <@mesh, [{"z"}, {}]>] manual_axes={"y"} (%arg4: tensor<4x4xf32>, %arg5: tensor<4x8xf32>) {
        %6 = stablehlo.add %arg4, %arg4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : tensor<4x4xf32>
        %7 = sdy.sharding_constraint %6 <@mesh, [{?}, {"z"}]> : tensor<4x4xf32>
        sdy.return %7, %arg5 : tensor<4x4xf32>, tensor<4x8xf32>
      } : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
      %4 = stablehlo.add %3#0, %3#1 : tensor<4x8xf32>
      %5 = func.call @f(%4) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      sdy.return %5, %arg3 : tensor<4x8xf32>, tensor<8x8xf32>
    } : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
    %1 = "stablehlo.if"(%arg1) ({
      %3 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{"y"}, {}]>] manual_axes={"y"} () {
        %cst = stablehlo.constant dense<1.000000e+00> : tensor<4x8xf32>
        sdy.return %cst : tensor<4x8xf32>
      } : () -> tensor<8x8xf32>
      stablehlo.return %3 : tensor<8x8xf32>
    }, {
      stablehlo.return %0#1 : tensor<8x8xf32>
    }) : (tensor<i1>) -> tensor<8x8xf32>
    sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[] manual_axes={"x"} (%arg2: tensor<4x8xf32>) {
      stablehlo.custom_call @foo(%arg2) {has_side_effect = true} : (tensor<4x8xf32>) -> ()
      sdy.return
    } : (tensor<8x8xf32>) -> ()
    %2 = stablehlo.add %0#0, %0#1 : tensor<8x8xf32>
    return %2, %1 : tensor<8x8xf32>, tensor<8x8xf32>
  }
}
"""  # noqa: E501
"""Manual computations in each other, in functions, in regions, and without operands or results."""

NAMED_COMPUTATIONS = r"""
module @m {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
  func.func public @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = sdy.named_computation<"foo">(%arg0) in_shardings=[<@mesh, [{"x", ?}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y", ?}]>] (%arg1: tensor<8x8xf32>) {
      %2 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{"y"}, {"z"}]>] out_shardings=[<@mesh, [{"z"}, {"y", ?}]>] manual_axes={"y", "z"} (%arg2: tensor<4x4xf32>) {
        %3 = sdy.named_computation<"bar">(%arg2) (%arg3: tensor<4x4xf32>) {
          %5 = stablehlo.add %arg3, %arg3 : tensor<4x4xf32>
          sdy.return %5 : tensor<4x4xf32>
        } : (tensor<4x4xf32>) -> tensor<4x4xf32>
        %4 = func.call @baz(%3) : (tensor<4x4xf32>) -> tensor<4x4xf32>
        sdy.return %4 : tensor<4x4xf32>
      } : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sdy.return %2 : tensor<8x8xf32>
    } {foo = "a", mhlo.frontend_attributes = {a = "b"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = sdy.named_computation<"foo">(%0) in_shardings=[<@mesh, [{"x"}, {}]>] (%arg1: tensor<8x8xf32>) {
      sdy.return %arg1 : tensor<8x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
  func.func private @baz(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x4xf32>) {
      %1 = stablehlo.abs %arg1 : tensor<2x4xf32>
      sdy.return %1 : tensor<2x4xf32>
    } : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
"""  # noqa: E501
"""A program with named computations, which the newer release rejects."""


def exported(text: str, target: Target = Target.CURRENT) -> str:
    return export_module(text, carrier=CarrierForm.SDY, target=target).text


@pytest.fixture(scope="module")
def programs() -> dict[str, str]:
    texts = {name: program.text(DEVICES) for name, program in PROGRAMS.items()}
    return {"everything": EVERYTHING.lstrip(), "computations": COMPUTATIONS.lstrip(), **texts}


@pytest.fixture(scope="module")
def exchanged(programs: dict[str, str]) -> dict[str, tuple[Exchanged, Exchanged]]:
    """What XLA makes of each program, and of our export of it."""
    texts = [*programs.values(), *map(exported, programs.values())]
    answers = run_isolated(exchange, texts, preload=EXCHANGE)
    pairs = zip(answers[: len(programs)], answers[len(programs) :], strict=True)
    return dict(zip(programs, pairs, strict=True))


def test_export_is_xlas(exchanged: dict[str, tuple[Exchanged, Exchanged]]) -> None:
    for name, (theirs, ours) in exchanged.items():
        assert isinstance(theirs, Exchanged), f"{name}: {theirs}"
        assert "xla.sdy.sharding" in theirs.hlo, name
        assert ours == theirs, name


def test_there_and_back_it_is_the_same(programs: dict[str, str]) -> None:
    for name, text in programs.items():
        back = import_module(exported(text))
        expected = _MESH_ATTRIBUTE.sub("", text)
        assert normal(back.text) == normal(expected), name
        if "sdy.manual_computation" not in text:  # the values in a body get other names
            # the meshes come in the order of names
            assert sorted(back.text.splitlines()) == sorted(expected.splitlines()), name
        assert back.kept == (), name
        assert back.losses == (), name
        assert back.dropped == 0, name
        assert back.warnings == (), name


def test_import_is_xlas(programs: dict[str, str], exchanged: dict[str, tuple[Exchanged, Exchanged]]) -> None:
    # this pass leaves the calls of manual computations alone
    plain = {name: text for name, text in programs.items() if "sdy.manual_computation" not in text}
    from_hlo = run_isolated(simplified, [exchanged[name][0].mlir for name in plain], preload=PRELOAD)
    texts = [*from_hlo, *map(exported, plain.values())]
    names = [*(f"{name} from HLO" for name in plain), *plain]
    answers = run_isolated(import_attributes, texts, preload=PRELOAD)
    for name, text, theirs in zip(names, texts, answers, strict=True):
        if isinstance(theirs, Rejected):  # it rejects tuples, which XLA takes apart before
            assert name in TUPLES, theirs
            continue
        assert carried(import_module(text).text) == carried(theirs), name


def test_the_whole_import_is_xlas(programs: dict[str, str], pytestconfig: pytest.Config) -> None:
    assert pytestconfig.cache is not None
    names = ["everything", *COMPILED]
    cache = pytestconfig.cache.mkdir("xla-imports")
    pairs = import_programs_cached([programs[name] for name in names], cache)
    for name, pair in zip(names, pairs, strict=True):
        assert isinstance(pair, ImportedModule), f"{name}: {pair}"
        assert "xla.sdy.sharding" in pair.mhlo_text, name
        ours = import_module(pair.mhlo_text)
        assert ours.warnings == (), name
        assert carried(ours.text, ["main"]) == carried(pair.sdy_text, ["main"]), name


@pytest.mark.parametrize("first_seed", [3000, None], ids=["fixed", "fresh"])
def test_random_modules(first_seed: int | None, fresh_seed: int) -> None:
    """XLA makes the same HLO of a module and of our export, and our import of that is the module."""
    start = fresh_seed if first_seed is None else first_seed
    inputs = [random_module(start + i) for i in range(RANDOM_MODULES)]
    ours = [*map(exported, inputs)]
    for i, (text, export) in enumerate(zip(inputs, ours, strict=True)):
        assert normal(import_module(export).text) == normal(text), f"random_module({start + i})"
    answers = run_isolated(exchange, [*inputs, *ours], preload=EXCHANGE)
    compared = 0
    for i, (theirs, ours_) in enumerate(zip(answers[: len(inputs)], answers[len(inputs) :], strict=True)):
        if isinstance(theirs, Exchanged) and isinstance(ours_, Exchanged):  # XLA aborts on some modules
            # XLA puts shardings on meshes of their own onto declared ones
            same = without_carriers if "mesh<[" in inputs[i] else str
            assert same(ours_.hlo) == same(theirs.hlo), f"random_module({start + i})"
            compared += 1
    assert compared >= 0.9 * len(inputs)


@pytest.mark.parametrize("first_seed", [4000, None], ids=["fixed", "fresh"])
def test_random_computations(first_seed: int | None, fresh_seed: int) -> None:
    """The same of modules with manual computations, where XLA has nothing to simplify."""
    start = fresh_seed if first_seed is None else first_seed
    inputs = [random_computations(start + i) for i in range(RANDOM_COMPUTATIONS)]
    for i, text in enumerate(inputs):
        back = import_module(exported(text))
        assert normal(back.text) == normal(text), f"random_computations({start + i})"
        assert back.warnings == (), f"random_computations({start + i})"
        assert back.kept == ()
    simple = run_isolated(simplified, inputs, preload=PRELOAD)
    answers = run_isolated(exchange, [*simple, *map(exported, simple)], preload=EXCHANGE)
    pairs = zip(simple, answers[: len(simple)], answers[len(simple) :], strict=True)
    compared = 0
    for i, (text, theirs, ours) in enumerate(pairs):
        if isinstance(theirs, Exchanged) and not has_trivial_computations(text):
            assert ours == theirs, f"random_computations({start + i})"
            compared += 1
    assert compared >= 2


@pytest.mark.slow
def test_classic_export_is_xlas(programs: dict[str, str]) -> None:
    if not CLASSIC.exists():
        pytest.fail(f"{CLASSIC} is missing: run `make test-all`, which creates it")
    texts = {**programs, "named": NAMED_COMPUTATIONS.lstrip()}
    answers = run_isolated(export_classic, [*texts.values()], python=CLASSIC)
    for (name, text), theirs in zip(texts.items(), answers, strict=True):
        assert isinstance(theirs, str), f"{name}: {theirs}"
        expect_same_module(exported(text, Target.CLASSIC), theirs, what=name)


def has_trivial_computations(text: str) -> bool:
    """Whether a manual computation has no manual axes but ones of size 1: XLA inlines these."""
    ones = {name for name, size in _AXIS.findall(text) if size == "1"}
    return any(set(_NAME.findall(axes)) <= ones for axes in _MANUAL_AXES.findall(text))


def normal(text: str) -> list[str]:
    """The lines of the module as jaxlib prints it, its meshes in the order of their names."""
    lines = reprint(text).splitlines()
    meshes = [line for line in lines if line.lstrip().startswith("sdy.mesh")]
    return sorted(meshes) + [line for line in lines if line not in meshes]


def without_carriers(hlo: str) -> str:
    return _CARRIER.sub("", hlo)


def carried(text: str, functions: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """The meshes, and the shardings that XLA's import keeps: of values, in constraints, groups and rules."""
    with make_ir_context():
        module = ir.Module.parse(text)
        found: list[tuple[str, ...]] = []
        for op in module.body.operations:
            name = str(op.attributes["sym_name"]).strip('"')
            if op.operation.name == "sdy.mesh":
                found.append(("mesh", name, str(op.attributes["mesh"])))
            elif not functions or name in functions:
                found += _of_function(op, name)
    return found


def _of_function(function: Any, name: str) -> Iterator[tuple[str, ...]]:
    for key in ("arg_attrs", "res_attrs"):
        dictionaries = function.attributes[key] if key in function.attributes else []  # noqa: SIM401
        for i, dictionary in enumerate(dictionaries):
            yield name, f"{key} {i}", str(dictionary)
    yield from _of_operations(function.operation)


def _of_operations(operation: Any) -> Iterator[tuple[str, ...]]:
    for region in operation.regions:
        for block in region:
            for op in block.operations:
                yield from _of_operation(op)
                yield from _of_operations(op.operation)


def _of_operation(op: Any) -> Iterator[tuple[str, ...]]:
    attributes = op.operation.attributes
    target = str(attributes["call_target_name"]).strip('"') if "call_target_name" in attributes else ""
    frontend = dict(attributes).get("mhlo.frontend_attributes", "")
    if "sdy.sharding_rule" in attributes:
        yield "rule", str(attributes["sdy.sharding_rule"])
    if op.operation.name == "sdy.sharding_constraint":
        sharding = str(attributes["sharding"]).removeprefix("#sdy.sharding")
        if re.search(r"\{[^?]*\}[,\]]", sharding) or '"' in sharding:  # XLA adds open ones before loops
            yield "constraint", sharding
    elif target == "Sharding":
        found = _SHARDING.fullmatch(str(attributes["sdy.sharding"]))
        yield "constraint", found[1] if found else ""
    elif op.operation.name in ("sdy.sharding_group", "sdy.propagation_barrier"):
        yield (op.operation.name, str(attributes[0].attr))
    elif target.startswith("xla.sdy."):
        name = {"Sh": "sdy.sharding_group", "Pr": "sdy.propagation_barrier"}[target[8:10]]
        yield name, str(frontend).partition('"')[2].rstrip('"}')
