"""Unreduced values: our export of their collectives is what XLA's own pipeline makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.differential.comparison import expect_same_module
from tests.differential.oracle.pipeline import ExportedModule, export_modules

from sdybridge.modules import export_module

if TYPE_CHECKING:
    from collections.abc import Sequence

MESH = '<["x"=2, "y"=4]>'
CUBE = '<["x"=2, "y"=2, "z"=2]>'
PERMUTED = '<["x"=2, "y"=4], device_ids=[3, 1, 2, 0, 7, 6, 5, 4]>'

CASES = {  # the mesh, the element type, and the shardings that one value is led through
    "all_reduce": (MESH, "f32", '[{}, {}], unreduced={"x"}', "[{}, {}]"),
    "all_reduce of a sharded value": (MESH, "f32", '[{"y"}, {}], unreduced={"x"}', '[{"y"}, {}]'),
    "all_reduce over some axes": (MESH, "f32", '[{}, {}], unreduced={"x", "y"}', '[{}, {}], unreduced={"x"}'),
    "all_reduce over axes that are apart": (CUBE, "f32", '[{}, {}], unreduced={"x", "z"}', '[{}, {"y"}]'),
    "all_reduce over a sub-axis": (MESH, "f32", '[{}, {}], unreduced={"y":(1)2}', "[{}, {}]"),
    "all_reduce over listed devices": (PERMUTED, "f32", '[{}, {}], unreduced={"x"}', "[{}, {}]"),
    "all_reduce of integers": (MESH, "i32", '[{}, {}], unreduced={"x"}', "[{}, {}]"),
    "all_reduce of booleans": (MESH, "i1", '[{}, {}], unreduced={"x"}', "[{}, {}]"),
    "two all_reduce": (MESH, "f32", '[{}, {}], unreduced={"x"}',
                       "[{}, {}]", '[{}, {}], unreduced={"y"}', "[{}, {}]"),
    "all_reduce and cut": (MESH, "f32", '[{}, {}], unreduced={"x", "y"}', '[{"x"}, {"y"}]'),
    "sharded": (MESH, "f32", '[{"x"}, {}]', '[{}, {"y"}], unreduced={"x"}'),
    "sharded along two dimensions": (CUBE, "f32", '[{"y"}, {"x", "z"}]', '[{}, {"x"}], unreduced={"y", "z"}'),
    "sharded along several axes": (CUBE, "f32", '[{"y", "x"}, {"z"}]', '[{}, {}], unreduced={"x", "y", "z"}'),
    "sharded integers": (CUBE, "i32", '[{"y"}, {}]', '[{}, {}], unreduced={"y"}'),
    "sharded booleans": (CUBE, "i1", '[{"y"}, {}]', '[{}, {}], unreduced={"y"}'),
    "sharded short floats": (CUBE, "bf16", '[{"y"}, {}]', '[{}, {}], unreduced={"y"}'),
    "replicated": (MESH, "f32", "[{}, {}]", '[{}, {"y"}], unreduced={"x"}'),
    "replicated along two axes": (CUBE, "f32", '[{}, {"y"}]', '[{}, {"y"}], unreduced={"x", "z"}'),
    "replicated along three axes": (CUBE, "f32", "[{}, {}]", '[{}, {}], unreduced={"x", "y", "z"}'),
    "replicated over listed devices": (PERMUTED, "f32", "[{}, {}]", '[{}, {"y"}], unreduced={"x"}'),
}  # fmt: skip

NUMBERS = "dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]>"
CONSTANTS = {  # the mesh, the type, the constant, and its sharding; then it is summed up
    "constant": (MESH, "2x4xf32", NUMBERS, "[{}, {}]", '"x"'),
    "sharded constant": (MESH, "2x4xf32", NUMBERS, '[{}, {"y"}]', '"x"'),
    "constant along two axes": (CUBE, "2x4xf32", NUMBERS, '[{}, {"y"}]', '"x", "z"'),
    "constant over listed devices": (PERMUTED, "2x4xf32", NUMBERS, "[{}, {}]", '"x"'),
    "scalar constant": (MESH, "f32", "dense<1.0>", "[]", '"x", "y"'),
    "constant of integers": (MESH, "4xi32", "dense<[1, 2, 3, 4]>", "[{}]", '"y"'),
}


def program(mesh: str, element: str, *shardings: str) -> str:
    of_type = f"tensor<16x16x{element}>"
    argument = f'{of_type} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}'
    result = f"{of_type} {{sdy.sharding = #sdy.sharding<@mesh, {shardings[-1]}>}}"
    dot = f"stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : ({of_type}, {of_type}) -> {of_type}"
    return module(mesh, f"%a: {argument}, %b: {argument}", result, f"%0 = {dot}", of_type, shardings)


def constant_program(mesh: str, shape: str, value: str, sharding: str, unreduced: str) -> str:
    of_type = f"tensor<{shape}>"
    result = f"{of_type} {{sdy.sharding = #sdy.sharding<@mesh, {sharding}>}}"
    shardings = f"{sharding}, unreduced={{{unreduced}}}", sharding
    return module(mesh, "", result, f"%0 = stablehlo.constant {value} : {of_type}", of_type, shardings)


def module(mesh: str, arguments: str, result: str, first: str, of_type: str, shardings: Sequence[str]) -> str:
    lines = [
        f"  %{k + 1} = sdy.sharding_constraint %{k} <@mesh, {sharding}> : {of_type}"
        for k, sharding in enumerate(shardings)
    ]
    return "\n".join(
        [
            "module attributes {mhlo.num_partitions = 8 : i32} {",
            f"sdy.mesh @mesh = {mesh}",
            f"func.func @main({arguments}) -> ({result}) {{",
            f"  {first}",
            *lines,
            f"  return %{len(lines)} : {of_type}",
            "}}",
        ]
    )


@pytest.fixture(scope="module")
def answers() -> dict[str, object]:
    programs = [program(*case) for case in CASES.values()]
    programs += [constant_program(*case) for case in CONSTANTS.values()]
    return dict(zip((*CASES, *CONSTANTS), export_modules(programs), strict=True))


@pytest.mark.parametrize("name", [*CASES, *CONSTANTS])
def test_same_as_xla(name: str, answers: dict[str, object]) -> None:
    pair = answers[name]
    assert isinstance(pair, ExportedModule), pair
    assert "_reduce" in pair.sdy_text or "_unreduced" in pair.sdy_text
    expect_same_module(export_module(pair.sdy_text).text, pair.mhlo_text, what=name)
