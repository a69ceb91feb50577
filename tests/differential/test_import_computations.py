"""Manual computations that came back from HLO as calls: our import puts those back that XLA's does.

XLA's import also drops functions that nothing calls, axes of size 1, computations without manual axes, and
operands that are not used or given twice. It adds manual axes to the shardings that do not name them.
"""

from __future__ import annotations

import re

import pytest
from jaxlib.mlir import ir
from tests.differential.comparison import reprint
from tests.differential.oracle.carriers import manual_axes_added
from tests.differential.oracle.isolation import run_isolated
from tests.differential.oracle.pipeline import PRELOAD
from tests.differential.oracle.program_imports import ImportedModule, import_program
from tests.differential.programs import PROGRAMS
from tests.differential.random_computations import random_computations

from sdybridge.errors import VerificationError
from sdybridge.modules import ImportResult, export_module, import_module, round_trip

MODULES = 20
_COMPUTATION = re.compile(
    r"sdy\.manual_computation\([^)]*\) in_shardings=(.*) (out_shardings=.* manual_axes=\{.+\}) \((.*)\) \{$",
    re.MULTILINE,
)
_SHARDING = re.compile(r"<@[^>]*>")
_TYPE = re.compile(r"tensor<[^>]*>")
_MAIN = re.compile(r"^  func\.func (?:public )?@main\(.*?^  \}$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("first_seed", [0, None], ids=["fixed", "fresh"])
def test_random_modules(first_seed: int | None, fresh_seed: int) -> None:
    start = fresh_seed if first_seed is None else first_seed
    modules = {seed: random_computations(seed) for seed in range(start, start + MODULES)}
    texts = {seed: text for seed, text in modules.items() if '"=1' not in mesh(text)}
    compared = 0
    pairs = run_isolated(import_program, [*texts.values()], preload=PRELOAD)
    both: dict[int, tuple[str, str]] = {}
    for seed, pair in zip(texts, pairs, strict=True):
        ours = imported(pair.mhlo_text) if isinstance(pair, ImportedModule) else None
        if isinstance(pair, ImportedModule) and ours:
            assert not ours.kept
            both[seed] = ours.text, pair.sdy_text
    cleaned = run_isolated(manual_axes_added, [text for text, _ in both.values()], preload=PRELOAD)
    for (seed, (_, theirs)), text in zip(both.items(), cleaned, strict=True):
        assert isinstance(text, str), f"module of seed {seed}: {text}"
        found, expected = computations(text), computations(theirs)
        assert [one[1:] for one in found] == [one[1:] for one in expected], f"module of seed {seed}"
        for (ins, _), (fewer, _) in zip(found, expected, strict=True):
            rest = iter(ins)
            assert all(operand in rest for operand in fewer), f"module of seed {seed}"
        compared += bool(found)
    assert compared >= 0.3 * len(texts)


@pytest.mark.parametrize("first_seed", [0, None], ids=["fixed", "fresh"])
def test_random_modules_in_gspmd_form(first_seed: int | None, fresh_seed: int) -> None:
    """jaxlib accepts what an import makes of an export, on inferred meshes and on those before the export."""
    start = fresh_seed if first_seed is None else first_seed
    stable = 0
    for seed in range(start, start + 2 * MODULES):
        text = random_computations(seed)
        ours, back = import_module(export_module(text).text), round_trip(text)
        assert not back.imported.kept, f"module of seed {seed}"
        stable += back.is_stable  # manual axes come back in mesh order
        for one in (ours, back.imported):
            try:
                reprint(one.text)
            except ir.MLIRError as error:
                pytest.fail(f"module of seed {seed}: {error}")
    assert stable >= 1.6 * MODULES


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.is_manual])
def test_program(name: str) -> None:
    pair = run_isolated(import_program, [PROGRAMS[name].text(8)], preload=PRELOAD)[0]
    assert isinstance(pair, ImportedModule), pair
    ours = import_module(pair.mhlo_text)
    assert ours.warnings == ()
    cleaned = run_isolated(manual_axes_added, [ours.text], preload=PRELOAD)[0]
    assert isinstance(cleaned, str), cleaned
    assert computations(cleaned) == computations(pair.sdy_text)
    # XLA drops functions that nothing calls any more, with the computations in them.
    assert ours.operations["sdy.manual_computation"] == ours.text.count("sdy.manual_computation(")


def imported(text: str) -> ImportResult | None:
    """Our import; None where operations came back with other results than their carriers are about.

    XLA does not read the carriers of such operations.
    """
    try:
        return import_module(text)
    except VerificationError as error:
        if error.rule in {"sharding-count", "rank-mismatch"}:
            return None
        raise


def mesh(text: str) -> str:
    return next(line for line in text.splitlines() if "sdy.mesh @mesh =" in line).partition("]")[0]


def computations(text: str) -> list[tuple[list[tuple[str, str]], str]]:
    """Of each manual computation of main, the shardings and local types of its operands, and what follows."""
    main = _MAIN.search(text)
    assert main
    return [
        ([*zip(_SHARDING.findall(ins), _TYPE.findall(arguments), strict=True)], rest)
        for ins, rest, arguments in _COMPUTATION.findall(main[0])
    ]
