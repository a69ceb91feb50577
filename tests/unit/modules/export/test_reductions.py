"""Collectives of unreduced values that no manual computation can stand for."""

from __future__ import annotations

import pytest

from sdybridge.errors import SdyBridgeError
from sdybridge.modules import CarrierForm, export_module, import_module

HUGE = "tensor<16x9223372036854775808xf32>"


def program(collective: str, operand: str, *, of_type: str = "tensor<16x8xf32>") -> str:
    return f"""\
sdy.mesh @mesh = <["a"=2, "b"=4]>
!t = tensor<16x8xf32>
func.func @main(%a: {of_type} {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]{operand}>}}) {{
  %0 = sdy.{collective} : {of_type}
  return
}}
"""


def constant(sharding: str, *, of_type: str = "tensor<16x8xf32>") -> str:
    entry = f"sdy.sharding = #sdy.sharding_per_value<[<@mesh, {sharding}>]>"
    line = f"%0 = sdy.constant {{a.b = 1 : i64, {entry}, z}} dense<1.0> : {of_type} loc(#l)"
    text = program("constant", "")
    return text.replace("%0 = sdy.constant : tensor<16x8xf32>", line)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            program('all_reduce {"a"} %a out_sharding=<@mesh, [{}, {}]>', ', unreduced={"a"}', of_type=HUGE),
            "its value is no tensor of known shape",
        ),
        (
            program(
                'replicated_to_unreduced {"a"} %a out_sharding=<@mesh, [{}, {}], unreduced={"a"}>',
                "",
                of_type="tensor<16x?xf32>",
            ),
            "its value is no tensor of known shape",
        ),
        (
            program('all_reduce {"b":(1)3} %a out_sharding=<@mesh, [{}, {}]>', ', unreduced={"a"}'),
            "it is about a part that does not divide its axis",
        ),
        (
            program('all_reduce {"a", "a"} %a out_sharding=<@mesh, [{}, {}]>', ', unreduced={"a"}'),
            'axis "a" stands twice',
        ),
        (
            program(
                'reduce_scatter [{"a"}] %a out_sharding=<@mesh, [{"a"}, {}]>',
                ', unreduced={"a"}',
            ),
            "1 list of axes for 2 dimensions",
        ),
        (
            program('all_reduce {"a"} %a out_sharding=<@mesh, [{}]>', ', unreduced={"a"}'),
            "the sharding is of rank 1, the tensor of rank 2",
        ),
        (
            program(
                'replicated_to_unreduced {"a"} %a out_sharding=<@mesh, [{}, {}], unreduced={"a"}>', ""
            ).replace('"b"=4]', '"b"=4], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]'),
            "its mesh lists the devices in an order that ids do not tell",
        ),
        (constant('[{}, {}], unreduced={"b":(1)2}'), "it is about a part of an axis"),
        (constant('[{}], unreduced={"b"}'), "the sharding is of rank 1, the tensor of rank 2"),
        (constant('[{"a"}, {}], unreduced={"b"}', of_type="tensor<3x8xf32>"), "share the 3 of dimension 0"),
        (constant('[{}, {}], unreduced={"q"}'), 'no axis named "q"'),
    ],
)
def test_errors(text: str, said: str) -> None:
    with pytest.raises(SdyBridgeError, match=said) as raised:
        export_module(text)
    assert raised.value.span is not None


def test_the_type_may_be_an_alias() -> None:
    collective = 'all_reduce {"a"} %a out_sharding=<@mesh, [{}, {}]>'
    plain, alias = (
        export_module(program(collective, ', unreduced={"a"}', of_type=of_type)).text
        for of_type in ("tensor<16x8xf32>", "!t")
    )
    assert "stablehlo.all_reduce" in plain
    assert plain.replace("%a: tensor<16x8xf32> {", "%a: !t {") == alias


def test_a_constant_keeps_all_else() -> None:
    result = export_module(constant('[{}, {"b"}], unreduced={"a"}'))
    lines = result.text.splitlines()
    grid = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"
    assert lines[2] == (
        f'  %manual_0 = stablehlo.constant {{a.b = 1 : i64, z, mhlo.sharding = "{grid}"}} '
        "dense<1.0> : tensor<16x8xf32> loc(#l)"
    )
    assert all(line.endswith(" loc(#l)") for line in lines[3:8])
    assert lines[7].startswith("  %0 = stablehlo.custom_call @SPMDShardToFullShape(")
    assert [one.after for one in result.shardings] == [
        "{replicated}",
        "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={unreduced}}",
    ]


def test_a_generic_constant() -> None:
    pretty = constant('[{}, {"b"}], unreduced={"a"}')
    entry = pretty[pretty.index("{a.b") : pretty.index(" dense<")]
    generic = f'"sdy.constant"() <{{value = dense<1.0> : tensor<16x8xf32>}}> {entry} : () -> tensor<16x8xf32>'
    old = pretty[pretty.index("sdy.constant") : pretty.index(" loc(#l)")]
    text = export_module(pretty.replace(old, generic)).text
    assert '%manual_0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<16x8xf32>}> {a.b' in text
    assert "@SPMDShardToFullShape" in text


def test_a_constant_with_a_carrier_stays() -> None:
    program = constant('[{}, {}], unreduced={"a"}').replace("!t = tensor<16x8xf32>\n", "")
    text = export_module(f"module {{\n{program}}}\n", carrier=CarrierForm.SDY).text
    assert "@SPMDShardToFullShape" not in text
    assert import_module(text).text.count('unreduced={"a"}') == 1
