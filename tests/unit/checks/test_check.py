"""Checks of whole programs: selection, order, large programs by a quick look, real programs."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.unit.checks.rule_cases import CASES

from sdybridge.checks import CHECKS, Severity, check_module, reduced, selected
from sdybridge.modules.mlir import condensed
from sdybridge.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.checks.program import Problem

ROOT = Path(__file__).parents[3]
STEP = (ROOT / "examples" / "transformer_step.mlir").read_text(encoding="utf-8")
TWO = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<7x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{"y"}, {}]> : tensor<7x8xf32>
  return
}
"""


def codes(text: str, **options: Sequence[str]) -> list[str]:
    return [one.code for one in check_module(text, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        ([], [], ["SB401", "SB103"]),
        (["SB1"], [], ["SB103"]),
        (["SB103", "SB401"], ["SB4"], ["SB103"]),
        ([], ["SB103"], ["SB401"]),
        (["sb506"], [], ["SB506"]),
        (["ALL"], [], ["SB401", "SB506", "SB103"]),
    ],
)
def test_selection(select: list[str], ignore: list[str], expected: list[str]) -> None:
    assert codes(TWO, select=select, ignore=ignore) == expected


@pytest.mark.parametrize("code", ["SB9", "E501", "", "SB10x", "S"])
def test_unknown_codes(code: str) -> None:
    with pytest.raises(ValueError, match="no rule has the code"):
        selected([code], [])


def test_findings_are_in_the_order_of_the_text() -> None:
    text = "".join(cases[0][0] for code, cases in CASES.items() if code in {"SB101", "SB103", "SB104"})
    found = check_module(text)
    assert found == sorted(found, key=lambda one: (one.line, one.column))
    assert {one.severity for one in found} == {Severity.ERROR}


def test_a_finding_is_told_once() -> None:
    """Two results under one sharding are one place."""
    text = '%0:2 = a.b %a {mhlo.sharding = "{devices=[2,1]<=[2]}"} : (i32) -> (tensor<8xf32>, tensor<8xf32>)'
    assert codes(text) == ["SB104"]


def test_wrong_type() -> None:
    with pytest.raises(TypeError, match="text or bytes"):
        check_module(3)  # type: ignore[arg-type]


def test_replicated_bytes() -> None:
    text = 'func.func @f(%a: tensor<1024xf32> {mhlo.sharding = "{replicated}"}) { return }'
    assert not check_module(text, replicated_bytes=4097)
    (found,) = check_module(text, replicated_bytes=4096)
    assert found.message == "%a (f32[1024]) takes 4.0 KiB on each device"
    counted = f"module attributes {{mhlo.num_partitions = 8 : i32}} {{ {text} }}"
    (found,) = check_module(counted, replicated_bytes=4096)
    assert found.message == "%a (f32[1024]) takes 4.0 KiB on each of 8 devices, 32.0 KiB in all"


class TestReduced:
    """The quick look at a smaller program that says the same."""

    @pytest.fixture(autouse=True)
    def of_any_length(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(condensed, "SHORT", 0)
        monkeypatch.setattr(condensed, "LONG_LINE", 200)

    def test_it_is_small_and_answers(self) -> None:
        seen: list[int] = []

        def problems(source: Source) -> list[Problem]:
            seen.append(len(source.text))
            return []

        assert reduced.quick_problems(Source(STEP), problems) == []
        assert seen[0] < len(STEP) / 5

    @pytest.mark.parametrize("code", CASES)
    def test_it_finds_what_there_is(self, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """With and without the quick look, findings are the same."""
        for text in CASES[code][0] + CASES[code][1]:
            quick = check_module(text, select=["ALL"])
            monkeypatch.setattr(condensed, "SHORT", 1 << 40)
            assert check_module(text, select=["ALL"]) == quick
            monkeypatch.setattr(condensed, "SHORT", 0)

    @pytest.mark.parametrize("seed", range(20))
    def test_one_fault_among_many_lines(self, seed: int) -> None:
        """A fault anywhere in a real program is found."""
        rng = random.Random(seed)
        lines = STEP.split("\n")
        spots = [i for i, line in enumerate(lines) if "sharding_constraint" in line]
        spot = rng.choice(spots)
        good = re.search(r"<@mesh, \[(.*?)\]>", lines[spot])
        assert good
        fault = rng.choice(['{"nope"}', '{"data"}, {"data"}', '{"tensor":(3)2}', "{}", '{"data" "tensor"}'])
        lines[spot] = lines[spot].replace(good[0], f"<@mesh, [{fault}]>")
        found = check_module("\n".join(lines))
        assert {one.line for one in found} == {spot + 1}

    def test_an_argument_among_many(self) -> None:
        first, second = STEP.split("%arg17: ")
        assert not check_module(STEP)
        wrong = re.sub(r'\["?.*?\]>', '[{"nope"}]>', second, count=1)
        assert len(check_module(f"{first}%arg17: {wrong}")) == 1

    # The printer never breaks lines; other tools may.
    @pytest.mark.parametrize(
        "lines",
        [
            "{sdy.sharding = LIST}\n  : tensor<8x8xf32>",
            "\n  {sdy.sharding = LIST} : tensor<8x8xf32>",
            "{\n  sdy.sharding = LIST} : tensor<8x8xf32>",
        ],
    )
    def test_operations_of_several_lines(self, lines: str) -> None:
        """The rank is wrong for the type, which stands on another line."""
        good = "  %9 = sdy.reshard %b <@mesh, [{}]> : tensor<8xf32>\n"
        lines = lines.replace("LIST", "#sdy.sharding_per_value<[<@mesh, [{}]>]>")
        body = f"{good}  %0 = stablehlo.abs %a {lines}\n  return\n"
        text = f"{TWO.partition('func')[0]}func.func @main(%a: tensor<8x8xf32>) {{\n{body}}}\n"
        assert codes(text) == ["SB104"]

    def test_generic_functions(self) -> None:
        attributes = ", ".join(["{}"] * 30 + ["{sdy.sharding = #sdy.sharding<@mesh, [{}]>}"])
        types = ", ".join(["tensor<8xf32>"] * 30 + ["tensor<8x8xf32>"])
        head, _, _ = TWO.partition("func")
        properties = f'function_type = () -> ({types}), res_attrs = [{attributes}], sym_name = "f"'
        body = '"func.return"() : () -> ()'
        text = f'{head}"func.func"() <{{{properties}}}> ({{\n  {body}\n}}) : () -> ()\n'
        assert codes(text) == ["SB104"]

    def test_a_line_cut_off(self) -> None:
        assert [one.code for one in check_module(STEP[: len(STEP) // 2])] == ["SB100"]


def test_the_rules_of_errors_exist() -> None:
    """Every rule that verification names is one that some code is for, not a catch-all by mistake."""
    from sdybridge.checks import validity
    from sdybridge.modules.verify.rules import MODULE_RULES
    from sdybridge.sdy import RULES

    known = {*MODULE_RULES, *RULES}
    assert set(validity._CODES) - known <= {
        "sharding-rank", "sharding-tuple", "flat-tuple", "device-id", "grid-size", "iota-size",
        "single-device-tiling", "device-count",
    }  # fmt: skip
    assert set(validity._CODES.values()) <= set(CHECKS)


def test_layouts_of_invalid_shardings_are_not_looked_at() -> None:
    """A part of no devices cuts a dimension into no parts."""
    text = TWO.replace('"y"', '"x":(1)0')
    assert codes(text, select=["ALL"]) == ["SB401", "SB506", "SB101"]


def test_a_call_over_several_lines_has_its_sharding() -> None:
    text = """HloModule m

%f {
  ROOT %a = f32[8] parameter(0)
}

ENTRY %main {
  %a = f32[8] parameter(0), sharding={devices=[2]<=[2]}
  %b = f32[8] custom-call(%a), custom_call_target="Sharding",
    sharding={devices=[2]<=[2]}
  ROOT %c = f32[8] custom-call(%b), custom_call_target="Sharding"
}
"""
    found = [(one.code, text[: one.span.start].count("\n")) for one in check_module(text) if one.span]
    assert found == [("SB201", 10)]
