"""Large programs are read from a text that leaves out what repeats: as if they had been read as a whole."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.differential.programs import PROGRAMS
from tests.differential.random_modules import random_module

from sdybridge import export_module
from sdybridge.checks import check_module
from sdybridge.checks.reduced import quick_problems
from sdybridge.errors import SdyBridgeError
from sdybridge.modules import CarrierForm
from sdybridge.modules.inspection import inspect_program
from sdybridge.modules.mlir import condensed
from sdybridge.modules.mlir.annotations import MlirProgram
from sdybridge.modules.mlir.condensed_annotations import CondensedProgram, read_mlir
from sdybridge.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.checks import Finding
    from sdybridge.checks.program import Problem

_SEEDS = 12
_WRONG = 2  # programs with mistakes, of each
_MISTAKES = (
    (re.compile(r'\{"[a-z]\w*"'), '{"nowhere"'),
    (re.compile(r"devices=\[\d+"), "devices=[3"),
    (re.compile(r"(?<=tensor<)\d+"), "3"),
)
_LINE = re.compile(r"^    %\w+ = .*\n", re.MULTILINE)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """With Shardy shardings, with HLO shardings, or with both."""
    found = [random_module(seed) for seed in range(_SEEDS)]
    for i, program in enumerate(PROGRAMS.values()):
        text = program.text(8)
        if i % 3 == 1:
            text = export_module(text, add_missing_sharding_to_control_flow=False).text
        elif i % 3 == 2 and not program.is_manual:
            text = export_module(text, carrier=CarrierForm.SDY).text
        found.append(text)
    return found


@pytest.fixture(autouse=True)
def condenses_short_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(condensed, "SHORT", 0)
    monkeypatch.setattr(condensed, "LONG_LINE", 0)


def variants(text: str, rng: random.Random) -> Iterator[str]:
    """The text, longer ones with lines that repeat, and some that are wrong in one place or in many."""
    yield text
    longer = text
    for found in reversed([*_LINE.finditer(text)]):
        if "sdy" in found[0] or "harding" in found[0]:
            copies = [found[0].replace("%", f"%c{i}_", 1) for i in range(2)]
            longer = longer[: found.end()] + "".join(copies) + longer[found.end() :]
    yield longer
    mistakes = [(pattern, new, count) for pattern, new in _MISTAKES for count in (1, 3)]
    for pattern, new, count in rng.sample(mistakes, _WRONG):
        places = [found.span() for found in pattern.finditer(longer)]
        wrong = longer
        for start, end in sorted(rng.sample(places, min(count, len(places))), reverse=True):
            wrong = wrong[:start] + new + wrong[end:]
        yield wrong


def whole(text: str, check: pytest.MonkeyPatch) -> list[Finding]:
    with check.context() as patch:
        patch.setattr(condensed, "SHORT", 1 << 40)
        return check_module(text, select=["SB"])


def test_annotations_are_those_of_the_whole_text(texts: list[str], fresh_seed: int) -> None:
    condensed_ones = 0
    rng = random.Random(fresh_seed)
    for text in texts:
        for variant in variants(text, rng):
            source = Source(variant)
            try:
                expected = MlirProgram(source)
                annotations = list(expected.annotations())
            except SdyBridgeError as error:
                with pytest.raises(SdyBridgeError, match=re.escape(error.message)):
                    list(read_mlir(source).annotations())
                continue
            found = read_mlir(source)
            condensed_ones += isinstance(found, CondensedProgram)
            assert list(found.annotations()) == annotations
            assert inspect_program(found) == inspect_program(expected)
    assert condensed_ones > len(texts)


@pytest.mark.parametrize("broken", ["%0 =\n", "%0 = \n // what it is\n", "%0,\n %1 = "])
def test_results_on_the_line_before(broken: str) -> None:
    line = 'stablehlo.abs %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<8xf32>\n'
    lines = f"{broken}{line}%2 = {line}"
    source = Source(f'sdy.mesh @m = <["x"=2]>\nfunc.func @f(%a: tensor<8xf32>) {{\n{lines}return\n}}\n')
    assert list(read_mlir(source).annotations()) == list(MlirProgram(source).annotations())


def test_findings_are_those_of_the_whole_text(
    texts: list[str], fresh_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[list[Problem] | None] = []

    def counted(*args: Any) -> list[Problem] | None:
        answers.append(quick_problems(*args))
        return answers[-1]

    monkeypatch.setattr("sdybridge.checks.check.quick_problems", counted)
    rng = random.Random(fresh_seed)
    for text in texts:
        for variant in variants(text, rng):
            expected = [str(one) for one in whole(variant, monkeypatch)]
            assert [str(one) for one in check_module(variant, select=["SB"])] == expected
    assert sum(map(bool, answers)) > len(texts) / 2
