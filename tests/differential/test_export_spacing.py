"""Export does not depend on spacing: blanks, line ends and comments between tokens change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from jax._src.interpreters.mlir import make_ir_context
from tests.differential.spacing import assert_spacing_changes_nothing

from sdybridge.modules import ConstraintForm, export_module

if TYPE_CHECKING:
    from collections.abc import Iterator


def _filled(text: str) -> str:
    text = text.replace("ON_A", 'sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>')
    return text.replace("TYPE", "tensor<8x4xf32>")


VALUES = _filled("""\
#ab = #sdy.sharding<@mesh, [{"a"}, {"b"}]>
#alias = #ab
!t = TYPE
sdy.mesh @mesh = <["a"=2, "b"=4]> loc("here")
module @m attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  func.func public @main(%a: TYPE {jax.x = "y", sdy.sharding = #alias}, %b: !t {sdy.sharding = \
#sdy.sharding<@mesh, [{"a", ?}p1, {}]>}, %k: !stablehlo.token) -> (TYPE {jax.result_info = "", \
sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}]>}, tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, \
[{}]>}) {
    %0 = stablehlo.add %a, %b {ON_A, z = [{sdy.x = 1}]} : TYPE
    %1 = sdy.sharding_constraint %0 <@mesh, [{"b":(1)2}, {}]> : TYPE loc("a.py":1:2)
    %2:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>, \
<@mesh, [{}, {}]>]>} %1, %b : TYPE, TYPE
    %3 = sdy.reshard %2#1 <@mesh, [{"a"}, {}]> {x = 1 : i32} : TYPE
    %4 = sdy.all_gather [{"a"}, {}] %3 out_sharding=<@mesh, [{}, {}]> : TYPE
    sdy.sharding_group %2#0 group_id=3 : TYPE
    %5 = stablehlo.custom_call @other(%4) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}]>]>, \
sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k]) {i=8, j=4, k=16}>} : (TYPE) -> tensor<16xf32>
    return %4, %5 : TYPE, tensor<16xf32>
  }
}
""")
CALLS = _filled("""\
sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%a: TYPE, %i: tensor<i32>) -> TYPE {
  %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) {api_version = 4 : i32, ON_A} : (TYPE) -> \
TYPE loc("here")
  %1 = stablehlo.custom_call @mhlo.erf(%0) {mhlo.attributes = {}, mhlo.version = 1 : i64, ON_A} : (TYPE) \
-> TYPE
  %2 = "stablehlo.custom_call"(%1) <{call_target_name = "mhlo.erf"}> {mhlo.attributes = {x = 1 : i32}, \
ON_A} : (TYPE) -> TYPE
  %3:2 = stablehlo.while(%x = %i, %y = %2) : tensor<i32>, TYPE
  cond {
    %p = stablehlo.compare LT, %x, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %x, %y : tensor<i32>, TYPE
  }
  %4 = "stablehlo.case"(%i) ({
    stablehlo.return %2 : TYPE
  }, {
    stablehlo.return %3#1 : TYPE
  }) : (tensor<i32>) -> TYPE
  %5 = sdy.sharding_constraint %3#1 <@mesh, [{}, {"b"}]> : TYPE
  %6 = "stablehlo.custom_call"(%5) {call_target_name = "mhlo.erf", ON_A} : (TYPE) -> TYPE
  %7 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>} dense<1.0> : tensor<8xf32>
  return %5 : TYPE
}
""")
GENERIC = _filled("""\
"builtin.module"() <{sym_name = "m"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["a"=2, "b"=4]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}, {x.y = 1 : i32, \
sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}], function_type = (TYPE, TYPE) -> TYPE, res_attrs = \
[{sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}], sym_name = "main"}> ({
  ^bb0(%a: TYPE, %b: TYPE):
    %0 = "sdy.sharding_constraint"(%a) <{sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}> : (TYPE) -> TYPE
    %1 = "stablehlo.custom_call"(%0) <{api_version = 4 : i32, call_target_name = \
"xla_ffi_python_gpu_callback"}> {ON_A} : (TYPE) -> TYPE
    "sdy.sharding_group"(%1) <{group_id = 1 : i64}> : (TYPE) -> ()
    "func.return"(%1) : (TYPE) -> ()
  }) : () -> ()
}) : () -> ()
""")


@pytest.fixture(autouse=True, scope="module")
def _context() -> Iterator[None]:
    with make_ir_context():
        yield


@pytest.mark.parametrize("constraints", list(ConstraintForm), ids=lambda form: form.name)
@pytest.mark.parametrize("seed", [0, None], ids=["fixed", "fresh"])
@pytest.mark.parametrize("text", [VALUES, CALLS, GENERIC], ids=["values", "calls", "generic"])
def test_same_in_any_spacing(
    text: str, seed: int | None, constraints: ConstraintForm, fresh_seed: int
) -> None:
    assert_spacing_changes_nothing(
        text,
        lambda text: export_module(text, constraints=constraints).text,
        fresh_seed if seed is None else seed,
    )
