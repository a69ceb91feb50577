"""Random modules: our export finds the shardings that MLIR's parser finds, and writes XLA's text."""

from __future__ import annotations

import collections

import pytest
from tests.differential.comparison import expect_same_module
from tests.differential.oracle import frontend, pipeline
from tests.differential.oracle.isolation import Crash, Rejected, run_isolated
from tests.differential.oracle.shardings import export_shardings
from tests.differential.random_computations import random_computations
from tests.differential.random_modules import random_module
from tests.differential.reference import ReferenceModule

from sdybridge.errors import SdyBridgeError
from sdybridge.modules import ConstraintForm, export_module, import_module

MODULES = 200
MODULES_THROUGH_HLO = 100
MODULES_THROUGH_PIPELINE = 40
MODULES_WITH_COMPUTATIONS = 100

FEATURES = (
    "mesh<[", "device_ids", '@"odd mesh"', "@maximal_mesh, []", "#alias0", '// unbalanced "', ":(1)", "?}",
    "replicated={", "func.func private", "call @helper", "func.call @", ") -> ()", '{sdy.sharding = "',
    "stablehlo.while", '"stablehlo.case"', '"stablehlo.if"', '"stablehlo.sort"', "applies stablehlo.add",
    " reducer(", "sdy.sharding_constraint", "optimization_barrier {",
)  # fmt: skip


def test_every_feature_is_common() -> None:
    modules = [random_module(seed) for seed in range(100)]
    rare = {feature: sum(feature in module for module in modules) for feature in FEATURES}
    assert not {feature: count for feature, count in rare.items() if count < 5}


@pytest.mark.parametrize("first_seed", [0, None], ids=["fixed", "fresh"])
def test_same_as_mlir_and_xla(first_seed: int | None, fresh_seed: int) -> None:
    seeds = seeds_from(first_seed, fresh_seed, MODULES)
    references = {seed: ReferenceModule(random_module(seed)) for seed in seeds}
    cases = list(dict.fromkeys(case for reference in references.values() for case in reference.cases))
    texts = dict(zip(cases, export_shardings(cases), strict=True))
    for seed, reference in references.items():
        ours = export(random_module(seed), seed)
        expect_same_module(ours, reference.export(texts), what=f"module of seed {seed}")


@pytest.mark.parametrize("first_seed", [1000, None], ids=["fixed", "fresh"])
def test_same_hlo(first_seed: int | None, fresh_seed: int) -> None:
    """XLA's front end makes the same HLO of a module and of our export of it."""
    seeds = seeds_from(first_seed, fresh_seed, MODULES_THROUGH_HLO)
    inputs = [random_module(seed) for seed in seeds]
    ours = [
        export(text, seed, constraints=ConstraintForm.CUSTOM_CALL, add_missing_sharding_to_control_flow=False)
        for text, seed in zip(inputs, seeds, strict=True)
    ]
    answers = run_isolated(frontend.convert_to_instructions, [*inputs, *ours], preload=frontend.PRELOAD)
    compared = 0
    for seed, before, after in zip(seeds, answers[: len(seeds)], answers[len(seeds) :], strict=True):
        if isinstance(before, Crash | Rejected) or isinstance(after, Crash | Rejected):
            continue  # XLA fails on some modules in one notation only; the test above holds for them too
        assert signature(before) == signature(after), f"HLO of module of seed {seed}"
        compared += 1
    assert compared >= 0.95 * len(seeds)


@pytest.mark.parametrize("first_seed", [2000, None], ids=["fixed", "fresh"])
def test_same_pipeline(first_seed: int | None, fresh_seed: int) -> None:
    """Our export of what enters XLA's export pipeline is what leaves it."""
    seeds = seeds_from(first_seed, fresh_seed, MODULES_THROUGH_PIPELINE)
    compared = 0
    for seed, pair in zip(seeds, pipeline.export_modules([random_module(s) for s in seeds]), strict=True):
        if isinstance(pair, pipeline.ExportedModule) and pair.is_valid:  # propagation aborts on some modules
            ours = export(pair.sdy_text, seed)
            expect_same_module(ours, pair.mhlo_text, what=f"pipeline of module of seed {seed}")
            compared += 1
    assert compared >= 0.9 * len(seeds)


def expect_back(exported: str, original: str, seed: int) -> None:
    """Import on the original's mesh finds every manual computation; exporting it again changes nothing."""
    meshes = {"mesh": export_module(original).meshes["mesh"]}
    back = import_module(exported, mesh=meshes)
    assert not back.kept, f"computations of seed {seed}"
    count = original.count("sdy.manual_computation(")
    assert back.operations.get("sdy.manual_computation", 0) == count, f"computations of seed {seed}"
    expect_same_module(
        export(back.text, seed), exported, what=f"there and back of computations of seed {seed}"
    )


def seeds_from(first_seed: int | None, fresh_seed: int, count: int) -> range:
    start = fresh_seed if first_seed is None else first_seed
    return range(start, start + count)


def export(
    text: str,
    seed: int,
    *,
    constraints: ConstraintForm = ConstraintForm.COPY,
    add_missing_sharding_to_control_flow: bool = True,
) -> str:
    try:
        return export_module(
            text,
            constraints=constraints,
            add_missing_sharding_to_control_flow=add_missing_sharding_to_control_flow,
        ).text
    except SdyBridgeError as error:
        pytest.fail(f"export of random_module({seed}): {error}")


def signature(instructions: list[frontend.Instruction]) -> collections.Counter[tuple[str, str, str]]:
    """The instructions and their shardings, without what only carries Shardy's own attributes.

    Not in order: the carriers of result shardings move instructions. A tuple of one element has its
    sharding in one of the two notations only.
    """
    return collections.Counter(
        (op.opcode, op.target, "" if op.opcode == "tuple" and is_single(op.text) else op.text)
        for op in instructions
        if op.target != "xla.sdy.FuncResultSharding"
    )


def is_single(text: str) -> bool:
    return text.count("{") - text.count("last_tile_dims={") == 2


@pytest.mark.parametrize("first_seed", [3000, None], ids=["fixed", "fresh"])
def test_same_pipeline_of_computations(first_seed: int | None, fresh_seed: int) -> None:
    """The same for manual computations."""
    seeds = seeds_from(first_seed, fresh_seed, MODULES_WITH_COMPUTATIONS)
    texts = [random_computations(seed) for seed in seeds]
    compared = 0
    for seed, pair in zip(seeds, pipeline.export_modules(texts), strict=True):
        if isinstance(pair, pipeline.ExportedModule) and pair.is_valid:
            ours = export(pair.sdy_text, seed)
            expect_same_module(ours, pair.mhlo_text, what=f"pipeline of computations of seed {seed}")
            expect_back(ours, pair.sdy_text, seed)
            compared += 1
    assert compared >= 0.8 * len(seeds)
