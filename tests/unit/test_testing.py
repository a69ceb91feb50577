"""Assertions for the test suites of others, and what they say when they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from jaxlib import _hlo

from sdybridge import HloSharding, MeshAttr, TensorShardingAttr, VerificationError
from sdybridge.testing import assert_same_sharding, assert_shardings

if TYPE_CHECKING:
    from pathlib import Path

MESH = '<["batch"=2, "model"=4]>'
PROGRAM = """sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}, %arg1: tensor<8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @helper(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %1 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}]> : tensor<8xf32>
  return
}
"""  # noqa: E501
HLO = """HloModule m

ENTRY main {
  p = f32[8,8] parameter(0), sharding={devices=[2,4]<=[8]}
  ROOT t = (f32[8,8], f32[8,8]) tuple(p, p), sharding={{devices=[2,4]<=[8]}, {replicated}}
}
"""


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ('[{}, {"model"}]', "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"),
        (TensorShardingAttr.from_string('<@mesh, [{"model", ?}, {}]>'), '[{"model"}, {}]'),
        (HloSharding.from_string("{replicated}"), "[{}, {}]"),
        (HloSharding.from_string("{devices=[2,4]<=[8]}").to_proto_bytes(), '[{"batch"}, {"model"}]'),
    ],
)
def test_the_same(
    a: str | bytes | TensorShardingAttr | HloSharding, b: str | bytes | TensorShardingAttr | HloSharding
) -> None:
    for mesh in (MESH, MeshAttr.from_string(MESH), {"mesh": MeshAttr.from_string(MESH)}):
        assert_same_sharding(a, b, mesh=mesh)
        assert_same_sharding(b, a, mesh=mesh)


def test_different() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_same_sharding('[{}, {"model"}]', "{devices=[1,4,2]<=[8] last_tile_dim_replicate}", mesh=MESH)
    assert str(raised.value) == (
        "the shardings differ\n"
        '  actual:   <@mesh, [{}, {"model"}]>, that is '
        "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}\n"
        "  expected: {devices=[1,4,2]<=[8] last_tile_dim_replicate}\n"
        "  6 of 8 devices hold another part: 1, 2, 3, 4, 5, 6"
    )


def test_exact() -> None:
    assert_same_sharding('[{"model"}]', '[{"model"}]', mesh=MESH, exact=True)
    with pytest.raises(AssertionError, match="dimension 0: open actually, closed expected"):
        assert_same_sharding('[{"model", ?}]', '[{"model"}]', mesh=MESH, exact=True)


def test_invalid_is_no_failure() -> None:
    with pytest.raises(VerificationError, match="unknown mesh"):
        assert_same_sharding('[{"model"}]', '[{"model"}]')


@pytest.mark.parametrize(
    "expected",
    [
        {"%arg0": '[{"x"}, {}]', "%arg1": None, "result 0": '[{"y"}, {}]', "%0": '[{}, {"y"}]'},
        {"argument 0": "{devices=[2,1,4]<=[8] last_tile_dim_replicate}", "argument 1": None},
        {"%1": '<@mesh, [{"x"}]>'},
    ],
)
def test_shardings(expected: dict[str, str | None], tmp_path: Path) -> None:
    assert_shardings(PROGRAM, expected)
    path = tmp_path / "step.mlir"
    path.write_text(PROGRAM)
    assert_shardings(path, expected)


def test_the_main_function_comes_first() -> None:
    assert_shardings(PROGRAM, {"%arg0": '[{"x"}, {}]'})
    assert_shardings(PROGRAM, {"%arg0": '[{"y"}]'}, function="helper")
    with pytest.raises(KeyError, match="no value '%0' with a sharding"):
        assert_shardings(PROGRAM, {"%0": None}, function="helper")


def test_all_differences_are_told() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_shardings(PROGRAM, {"%arg0": '[{"y"}, {}]', "%arg1": "{replicated}", "result 0": None})
    assert str(raised.value) == (
        "shardings of <program> differ\n"
        "%arg0 (argument, f32[8,8], line 2):\n"
        '  actual:   <@mesh, [{"x"}, {?}]>, that is {devices=[2,1,4]<=[8] last_tile_dim_replicate}\n'
        '  expected: <@mesh, [{"y"}, {}]>, that is {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}\n'
        "  dimension 0: 2 parts actually, 4 parts expected\n"
        "  8 of 8 devices hold another part: 0, 1, 2, 3, 4, 5, 6, 7\n"
        "%arg1 (argument, f32[8], line 2):\n"
        "  actual:   none\n"
        "  expected: {replicated}\n"
        "result 0 (result, f32[8,8], line 2):\n"
        '  actual:   #sdy.sharding<@mesh, [{"y"}, {}]>\n'
        "  expected: None"
    )


def test_openness_counts_if_asked() -> None:
    with pytest.raises(AssertionError, match="dimension 1: open actually, closed expected"):
        assert_shardings(PROGRAM, {"%arg0": '[{"x"}, {}]'}, exact=True)
    assert_shardings(PROGRAM, {"%arg0": '[{"x"}, {?}]'}, exact=True)


@pytest.mark.parametrize(
    "program", [HLO, bytes(_hlo.hlo_module_from_text(HLO).as_serialized_hlo_module_proto())]
)
def test_hlo(program: str | bytes, tmp_path: Path) -> None:
    expected = {"p": "{devices=[2,4]<=[8]}", "t{1}": "{replicated}", "result 0": '[{"batch"}, {"model"}]'}
    assert_shardings(program, expected, mesh=MESH)
    if isinstance(program, bytes):
        path = tmp_path / "m.pb"
        path.write_bytes(program)
        assert_shardings(path, expected, mesh=MESH)


def test_an_unknown_name() -> None:
    with pytest.raises(KeyError, match="with a sharding; there are none"):
        assert_shardings("", {"%arg3": None})
    with pytest.raises(KeyError, match="did you mean '%arg1'"):
        assert_shardings(PROGRAM, {"%arg3": '[{"x"}, {}]'})


def test_a_program_with_errors() -> None:
    with pytest.raises(VerificationError, match='no axis named "z"'):
        assert_shardings(PROGRAM.replace('[{}, {"y"}]', '[{}, {"z"}]'), {"%arg0": '[{"x"}, {}]'})
