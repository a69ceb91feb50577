"""Comparisons of two programs, value by value, in any two formats."""

from __future__ import annotations

import pytest
from jaxlib import _hlo

from sdybridge.checks import Pair, Verdict, compare_programs, open_program
from sdybridge.errors import SdyBridgeError

SHARDY = """sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
  %1 = stablehlo.add %0, %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y", ?}, {?}]>]>} : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
"""  # noqa: E501
GSPMD = """func.func @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}, %arg1: tensor<8xf32>) -> (tensor<8x8xf32> {mhlo.sharding = "{devices=[2,4]<=[8]}"}) {
  %5 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = stablehlo.add %5, %arg0 {mhlo.sharding = "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"} : tensor<8x8xf32>
  return %6 : tensor<8x8xf32>
}
"""  # noqa: E501
HLO = """HloModule m

ENTRY main.1 {
  x = f32[8,8] parameter(0), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}
  y = f32[8] parameter(1)
  call = f32[8,8] custom-call(x), custom_call_target="Sharding", sharding={devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}
  sum = f32[8,8] add(call, x), sharding={devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}
  ROOT t = (f32[8,8]) tuple(sum), sharding={{devices=[2,4]<=[8]}}
}
"""  # noqa: E501


def pairs(a: str | bytes, b: str | bytes) -> list[Pair]:
    return compare_programs(open_program(a, "a"), open_program(b, "b"))


def told(a: str | bytes, b: str | bytes) -> list[tuple[str, str, str]]:
    return [
        (
            pair.a.name if pair.a else "-",
            pair.b.name if pair.b else "-",
            pair.verdict.value if pair.verdict else "-",
        )
        for pair in pairs(a, b)
    ]


def as_proto(text: str) -> bytes:
    return bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())


@pytest.mark.parametrize(
    ("other", "names"),
    [
        (GSPMD, ["%arg0", "result 0", "%5", "%6"]),
        (HLO, ["x", "t", "call", "sum"]),
        (as_proto(HLO), ["x", "t", "call", "sum"]),
    ],
    ids=["mlir", "hlo", "proto"],
)
def test_twins(other: str | bytes, names: list[str]) -> None:
    wanted = list(zip(["%a", "result 0", "%0", "%1"], names, strict=True))
    assert told(SHARDY, other) == [(*both, "same-meaning") for both in wanted]
    assert told(other, SHARDY) == [(b, a, "same-meaning") for a, b in wanted]


@pytest.mark.parametrize("text", [SHARDY, GSPMD, HLO, as_proto(HLO)])
def test_itself(text: str | bytes) -> None:
    assert {verdict for _, _, verdict in told(text, text)} == {"same"}


def test_differences() -> None:
    changed = SHARDY.replace('<@mesh, [{}, {"y"}]>', '<@mesh, [{"y"}, {}]>').replace(
        '[{"x"}, {}]', '[{"x", ?}, {}]'
    )
    found = {pair.a.name: pair.comparison for pair in pairs(SHARDY, changed) if pair.a}
    assert {name: one.verdict for name, one in found.items() if one} == {
        "%a": Verdict.SAME_MEANING,
        "result 0": Verdict.SAME_FORM,
        "%0": Verdict.DIFFERENT,
        "%1": Verdict.SAME_FORM,
    }
    constraint = found["%0"]
    assert constraint is not None
    assert constraint.changed == (0, 1, 2, 3, 4, 5, 6, 7)


def test_in_one_program_only() -> None:
    without = SHARDY.replace(' {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y", ?}, {?}]>]>}', "")
    bare = without.replace(' {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}', "", 1)
    assert [one for one in told(SHARDY, bare) if one[2] == "-"] == [("%a", "%a", "-"), ("%1", "-", "-")]


def test_more_of_a_kind_are_matched_by_name() -> None:
    one = '  %1 = stablehlo.add %a, %a {mhlo.sharding = "{replicated}"} : tensor<8xf32>\n'
    two = '  %2 = stablehlo.add %a, %a {mhlo.sharding = "{devices=[2]<=[2]}"} : tensor<8xf32>\n'
    head = "func.func @main(%a: tensor<8xf32>) {\n"
    assert told(f"{head}{one}{two}  return\n}}", f"{head}{two}  return\n}}") == [
        ("%1", "-", "-"),
        ("%2", "%2", "same"),
    ]
    renumbered = two.replace("%2", "%7")
    assert told(f"{head}{two}  return\n}}", f"{head}{renumbered}  return\n}}") == [("%2", "%7", "same")]


def test_manual_axes_count() -> None:
    inside = """sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x8xf32>) {
    %1 = sdy.sharding_constraint %b <@mesh, [{}, {"y"}]> : tensor<4x8xf32>
    sdy.return %1 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}"""  # noqa: E501
    call = (
        "func.func @main(%a: tensor<8x8xf32>) {\n  %1 = stablehlo.custom_call @Sharding(%b) {mhlo.sharding = "
        '"{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>\n'
        "  return\n}"
    )
    assert ("%1", "%1", "same-meaning") in told(inside, call)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SHARDY.replace('"y"}]', '"q"}]'), 'no axis named "q"'),
        (HLO.replace("[2,1,4]<=[8]", "[2,1,4]<=[9]"), "but 9 are counted"),
        ("func.func @f(", "never closed"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(SdyBridgeError, match=message) as raised:
        pairs(SHARDY, text)
    assert str(raised.value).startswith("b:")
