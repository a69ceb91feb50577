"""Collectives of unreduced values that no manual computation can stand for."""

from __future__ import annotations

import pytest

from sdybridge.errors import SdyBridgeError
from sdybridge.modules import export_module

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
