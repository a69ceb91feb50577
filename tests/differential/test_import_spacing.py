"""Import does not depend on spacing: blanks, line ends and comments between tokens change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from jax._src.interpreters.mlir import make_ir_context
from tests.differential.spacing import assert_spacing_changes_nothing

from sdybridge.modules import import_module

if TYPE_CHECKING:
    from collections.abc import Iterator


def _filled(text: str) -> str:
    text = text.replace("ROWS", 'mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"')
    text = text.replace("TILED", 'mhlo.sharding = "{devices=[2,4]<=[8]}"')
    return text.replace("TYPE", "tensor<8x4xf32>")


VALUES = _filled("""\
#alias = "{devices=[2,4]<=[8]}"
!t = TYPE
module @m attributes {mhlo.num_partitions = 8 : i32} {
  func.func public @main(%a: TYPE {jax.x = "y", mhlo.sharding = #alias}, %b: !t {mhlo.sharding = \
"{replicated}"}, %k: !stablehlo.token {mhlo.sharding = "{maximal device=3}"}, %c: tensor<8x4xcomplex<f32>> \
{ROWS, tf.x}) -> (TYPE {jax.result_info = "", TILED}, tensor<16xf32> {mhlo.sharding = "{unknown}"}) {
    %0 = stablehlo.add %a, %b {ROWS, z = [{mhlo.x = 1}]} : TYPE
    %k0:2 = stablehlo.optimization_barrier %0, %a : TYPE, TYPE
    %1 = stablehlo.custom_call @Sharding(%k0#1) {TILED} : (TYPE) -> TYPE loc("a.py":1:2)
    %2:2 = stablehlo.optimization_barrier {mhlo.sharding = "{{devices=[2,4]<=[8]}, {replicated}}"} %1, %b : \
TYPE, TYPE
    %3 = mhlo.copy %2#1 {ROWS} : TYPE
    %4 = stablehlo.custom_call @Sharding(%3) {backend_config = "unspecified_dims=[1]", ROWS, x.y = 1 : i32} \
: (TYPE) -> TYPE
    %5 = stablehlo.custom_call @other(%4) {mhlo.sharding = "{manual}"} : (TYPE) -> tensor<16xf32>
    %6 = stablehlo.constant {mhlo.sharding = "{replicated}"} dense<1.0> : tensor<8xf32>
    %8 = stablehlo.custom_call @Sharding(%b) {ROWS} : (!t) -> !t
    %7 = stablehlo.compare LT, %a, %b {ROWS} : (TYPE, TYPE) -> tensor<8x4xi1>
    return %4, %5 : TYPE, tensor<16xf32>
  }
  func.func private @f(TYPE {TILED}) -> (TYPE {ROWS})
  func.func private @g(%a: TYPE) -> (TYPE {TILED}) {
    %0:2 = call @h(%a) {mhlo.sharding = "{{devices=[2,4]<=[8]}, {replicated}}"} : (TYPE) -> \
(TYPE, tensor<i32>)
    return %0#0 : TYPE
  }
  func.func private @h(TYPE) -> (TYPE, tensor<i32>)
}
""")
CALLS = _filled("""\
func.func @main(%a: TYPE, %i: tensor<i32>) -> TYPE {
  %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) {api_version = 4 : i32, TILED} : (TYPE) -> \
TYPE loc("here")
  %1 = stablehlo.custom_call @mhlo.erf(%0) {mhlo.attributes = {ROWS}, mhlo.version = 1 : i64} : (TYPE) \
-> TYPE
  %3:2 = stablehlo.while(%x = %i, %y = %1) : tensor<i32>, TYPE attributes {mhlo.sharding = "{replicated}"}
  cond {
    %p = stablehlo.compare LT, %x, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %x, %y : tensor<i32>, TYPE
  }
  %4:2 = stablehlo.while(%x = %i, %y = %1) : tensor<i32>, TYPE attributes {mhlo.sharding = \
"{{replicated}, {devices=[2,4]<=[8]}}"}
  cond {
    %p = stablehlo.compare LT, %x, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %x, %y : tensor<i32>, TYPE
  }
  %5:2 = "stablehlo.case"(%i) ({
    stablehlo.return %1, %i : TYPE, tensor<i32>
  }, {
    stablehlo.return %3#1, %i : TYPE, tensor<i32>
  }) {mhlo.sharding = "{replicated}"} : (tensor<i32>) -> (TYPE, tensor<i32>)
  %6 = "stablehlo.custom_call"(%5#0) <{call_target_name = "Sharding", backend_config = \
"unspecified_dims=[0]"}> {ROWS, x.y = 1 : i32} : (TYPE) -> TYPE
  %7 = "stablehlo.custom_call"(%6) {call_target_name = "Sharding", TILED} : (TYPE) -> TYPE
  %8 = stablehlo.reduce(%7 init: %c) applies stablehlo.add across dimensions = [1] {mhlo.sharding = \
"{devices=[8]<=[8]}"} : (TYPE, tensor<f32>) -> tensor<8xf32>
  return %7 : TYPE
}
""").replace("  %0 =", "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n  %0 =", 1)
GENERIC = _filled("""\
"builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{arg_attrs = [{TILED}, {x.y = 1 : i32, ROWS}], function_type = (TYPE, TYPE) -> TYPE, \
res_attrs = [{TILED}], sym_name = "main"}> ({
  ^bb0(%a: TYPE, %b: TYPE):
    %0 = "stablehlo.add"(%a, %b) {ROWS} : (TYPE, TYPE) -> TYPE
    %1 = "stablehlo.custom_call"(%0) <{api_version = 4 : i32, call_target_name = \
"xla_ffi_python_gpu_callback"}> {TILED} : (TYPE) -> TYPE
    %2:2 = "stablehlo.optimization_barrier"(%1, %b) {mhlo.sharding = "{replicated}"} : (TYPE, TYPE) -> \
(TYPE, TYPE)
    "func.return"(%1) : (TYPE) -> ()
  }) : () -> ()
}) : () -> ()
""")


@pytest.fixture(autouse=True, scope="module")
def _context() -> Iterator[None]:
    with make_ir_context():
        yield


@pytest.mark.parametrize("seed", [0, None], ids=["fixed", "fresh"])
@pytest.mark.parametrize("text", [VALUES, CALLS, GENERIC], ids=["values", "calls", "generic"])
def test_same_in_any_spacing(text: str, seed: int | None, fresh_seed: int) -> None:
    assert_spacing_changes_nothing(
        text, lambda text: import_module(text).text, fresh_seed if seed is None else seed
    )
