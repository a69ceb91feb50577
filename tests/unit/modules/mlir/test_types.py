"""Shapes read off the text of types, and the types of results."""

from __future__ import annotations

import pytest

from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.result_types import result_types
from sdybridge.modules.mlir.types import (
    Shape,
    element_of,
    is_shaped,
    rank_of,
    shape_of,
    tuple_elements,
    with_shape,
)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("tensor<f32>", ()),
        ("tensor<4xf32>", (4,)),
        ("tensor<0x4xf32>", (0, 4)),
        ("tensor<2x?xcomplex<f32>>", (2, None)),
        ("tensor<?x?x!quant.uniform<i8:f32, 1.0>>", (None, None)),
        ("tensor<4x4xf32, #stablehlo.bounds<4, ?>>", (4, 4)),
        ("tensor< 4 x 8 x f32 >", (4, 8)),
        ("memref<4x?xf32, strided<[1, ?]>>", (4, None)),
        ("vector<4x[8]xf32>", (4, None)),
        ("tensor<1099511627776xi1>", (1 << 40,)),
        ("tensor<9223372036854775807xi1>", ((1 << 63) - 1,)),
        ("tensor<2x9223372036854775808xi1>", None),
        (f"tensor<{'9' * 5000}xi1>", None),
        ("tensor<*xf32>", None),
        ("memref<*xf32>", None),
        ("tuple<tensor<4xf32>>", None),
        ("!stablehlo.token", None),
        ("i32", None),
        ("(tensor<4xf32>) -> i32", None),
    ],
)
def test_shape_and_rank(text: str, shape: Shape | None) -> None:
    assert shape_of(text) == shape
    assert rank_of(text) == (None if shape is None else len(shape))


@pytest.mark.parametrize(
    ("text", "shaped"),
    [("tensor<*xf32>", True), ("vector<4xf32>", True), ("tuple<>", False), ("tensorish", False)],
)
def test_is_shaped(text: str, shaped: bool) -> None:
    assert is_shaped(text) is shaped


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("tensor<4x8xcomplex<f32>>", (2, None), "tensor<2x?xcomplex<f32>>"),
        ("tensor<f32>", (), "tensor<f32>"),
        ("memref<4xf32, 1 : i32>", (2,), "memref<2xf32, 1 : i32>"),
    ],
)
def test_with_shape(text: str, shape: Shape, expected: str) -> None:
    assert with_shape(text, shape) == expected
    assert element_of(with_shape(text, shape)) == element_of(text)


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("tuple<>", []),
        ("tuple<tensor<2xf32>, tuple<i1, i2>>", ["tensor<2xf32>", "tuple<i1, i2>"]),
        ("tensor<2xf32>", None),
    ],
)
def test_tuple_elements(text: str, elements: list[str] | None) -> None:
    assert tuple_elements(text) == elements


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("%0 = stablehlo.add %a, %b : tensor<4xf32>", ["tensor<4xf32>"]),
        ("stablehlo.add %a, %b : tensor<4xf32>", ["tensor<4xf32>"]),
        ("%0 = stablehlo.select %p, %a, %b : tensor<i1>, tensor<4xf32>", ["tensor<4xf32>"]),
        ("%0:2 = stablehlo.optimization_barrier %a, %b : i1, i2", ["i1", "i2"]),
        ("stablehlo.optimization_barrier %a, %b : i1, i2", ["i1", "i2"]),
        ("%0:2 = stablehlo.while(%i = %a, %j = %b) : i1, i2 cond { a.b } do { a.b }", ["i1", "i2"]),
        ("%0 = stablehlo.custom_call @f(%a) : (i1) -> tuple<i2, i3>", ["tuple<i2, i3>"]),
        ("stablehlo.custom_call @f(%a) : (i1) -> ()", []),
        ("stablehlo.custom_call @f(%a) : (i1) -> (i2, i3)", ["i2", "i3"]),
        ("%v, %i = mhlo.topk(%a, k = 4) : i1 -> (i2, i3)", ["i2", "i3"]),
        ("return %a : i1", []),
        ("stablehlo.return %a : i1", []),
        ("module {}", []),
        ("sdy.sharding_group %a group_id=1 : i1", []),
        ("%0 = sdy.constant dense<1> : tensor<2xi1>", ["tensor<2xi1>"]),
        ("%0 = tensor.cast %a : tensor<2xi1> to tensor<?xi1>", ["tensor<?xi1>"]),
        ("%0 = tensor.extract %a[%b] : tensor<2xi1>", [None]),
        ("%0:3 = foo.bar %a", [None, None, None]),
        ("foo.bar %a : i1", None),
        ("%0 = stablehlo.create_token : !t", ["!stablehlo.token"]),
        ("%0:2 = stablehlo.custom_call @f(%a) : (i1) -> i2", [None, None]),
    ],
)
def test_result_types(text: str, types: list[str | None] | None) -> None:
    tree = parse_operations(f"!t = !u\n!u = !stablehlo.token\n{text}")
    assert result_types(tree.operations[0], tree.aliases) == types
