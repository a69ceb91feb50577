from __future__ import annotations

import pytest

from sdybridge.errors import ParseError
from sdybridge.modules.mlir.signature import result_types, results_of_generic, sharding_rank, value_type

# what stands before the brace of a dictionary, the type it annotates
VALUES = [
    ("%a: tensor<8xf32> ", "tensor<8xf32>"),
    ("%a: tensor<8xf32>", "tensor<8xf32>"),
    ("%a: tensor<8xf32>\n  ", "tensor<8xf32>"),
    ("%a: tensor<8xf32>\r\n\t", "tensor<8xf32>"),
    ("(tensor<8xf32> ", "tensor<8xf32>"),
    ("@f(i32 ", "i32"),
    ("@f(tensor<8xf32> ", "tensor<8xf32>"),
    ("%a: tensor<8x!q<(a)>> ", "tensor<8x!q<(a)>>"),
    ("%a: i32 ", "i32"),
    ("%a: index ", "index"),
    ("%a: !stablehlo.token ", "!stablehlo.token"),
    ("%a: tensor<8x!quant.uniform<i8:f32, 1.0>> ", "tensor<8x!quant.uniform<i8:f32, 1.0>>"),
    ("%a: tensor<8x?xf32, #stablehlo.bounds<?, 4>> ", "tensor<8x?xf32, #stablehlo.bounds<?, 4>>"),
    ("%a: tuple<tensor<8xf32>, i32, tensor<f32>> ", "tuple<tensor<8xf32>, i32, tensor<f32>>"),
    ("%a: tensor<8xcomplex<f32>> ", "tensor<8xcomplex<f32>>"),
    ("-> (tensor<8xf32> ", "tensor<8xf32>"),
    ("tensor<8xf32> ", "tensor<8xf32>"),
    ("%a: tensor<8xf32> // c {\n ", "tensor<8xf32>"),
    ("%a: tensor<8xf32> // i32\n // none\n", "tensor<8xf32>"),
    ("%a: // c\n!t ", "!t"),
    ("%i32 ", None),
    ("%0 = stablehlo.abs %a // i32\n", None),
    ("%0 = stablehlo.abs %a ", None),
    ("stablehlo.constant ", None),
    ("call @f(%a) ", None),
    (": tensor<8xf32> attributes ", None),
    ("<{a = 1}> ", None),
    ("}) ", None),
    ("[", None),
    ("", None),
    ("precision = [DEFAULT] ", None),
]


@pytest.mark.parametrize(("before", "expected"), VALUES)
def test_value_type(before: str, expected: str | None) -> None:
    assert value_type(f"{before}{{a = 1}}", len(before)) == expected


T, U = "tensor<8xf32>", "tensor<i1>"
# what stands behind a dictionary, the types that it names, and whether they are the results
RESULTS = [
    (f" : {T}\n", ((T,), False)),
    (f" : {T}, {U}\n", ((T, U), False)),
    (f" : ({T}) -> {T}\n", ((T,), True)),
    (f" : ({T}) -> ({T}, {U})\n", ((T, U), True)),
    (f" : ({T}) -> ()\n", ((), True)),
    (" : () -> ()\n", ((), True)),
    (f" : () -> {T}\n", ((T,), True)),
    (f" : () -> tuple<{T}, {U}>\n", ((f"tuple<{T}, {U}>",), True)),
    (f" : {T}", ((T,), False)),
    (f" : {T} loc(#loc)\n", ((T,), False)),
    (f" : {T} // c\n", ((T,), False)),
    (f" : {T}\r\n", ((T,), False)),
    (f" : {T} }}\n", ((T,), False)),
    (f" : !stablehlo.token, {T}\n", (("!stablehlo.token", T), False)),
    (" : tensor<8xcomplex<f32>>\n", (("tensor<8xcomplex<f32>>",), False)),
    (f" : {T} %1 = a.b\n", None),
    (f" %a : {T}\n", ((T,), True)),
    (f" %a, %b#1 : {T}, {U}\n", ((T, U), True)),
    (f" dense<1.0> : {T}\n", ((T,), True)),
    (f' dense<"0x00FF"> : {T} loc(#l)\n', ((T,), True)),
    (f" dense_resource<a> : {T}\n", ((T,), True)),
    (f" dense<[[1, 2], [3, 4]]> : {T}\n", ((T,), True)),
    (f" {{b}} : {T}\n", None),
    (f" : {T} -> {U}\n", ((U,), True)),
    (f" : {T} -> ({T}, {U})\n", ((T, U), True)),
    (f" : {T}\n, {T}\n", None),
    (f" : {T} // c\n -> {T}\n", None),
    ("\ncond {\n", None),
    ("", None),
]


def test_types_of_a_loop_stand_before_its_dictionary() -> None:
    text = f"  %0:2 = stablehlo.while(%i = %a, %j = %b) : {T}, {U} attributes {{a = 1}}\n cond {{\n"
    assert result_types(text, text.index("{")) == ((T, U), True)
    text = f"func.func @f() -> {T} attributes {{a = 1}} {{\n"
    assert result_types(text, text.index("{")) is None


@pytest.mark.parametrize(("behind", "expected"), RESULTS)
def test_result_types(behind: str, expected: tuple[tuple[str, ...], bool] | None) -> None:
    assert result_types('{a = "}"}' + behind, 0) == expected


@pytest.mark.parametrize(
    ("of_type", "rank"),
    [
        ("tensor<f32>", 0),
        ("tensor<8xf32>", 1),
        ("tensor<8x4x2xbf16>", 3),
        ("tensor<?x?xi1>", 2),
        ("tensor<8x?xf32, #stablehlo.bounds<?, 4>>", 2),
        ("tensor<8xcomplex<f32>>", 1),
        ("tensor<8x!quant.uniform<i8:f32, 1.0>>", 1),
        ("tensor<0xf32>", 1),
        ("tensor<1x1xui8>", 2),
        ("memref<4xf32>", 1),
        ("tuple<tensor<8x8xf32>>", 2),
        ("i32", 0),
        ("none", 0),
        ("index", 0),
        ("!stablehlo.token", 0),
        ("tensor< 8x8xf32>", 2),
        ("tensor // <\n<8 x\n8 // 4x\nx f32 >", 2),
        ("tuple< tensor <8xf32> >", 1),
        ("f8E4M3FN", 0),
        ("!t", None),
        ("tensor", None),
        ("(i32) -> i32", None),
        ("tensor<*xf32>", None),
        ("tuple<tensor<8xf32>, i32>", None),
        (None, None),
    ],
)
def test_sharding_rank(of_type: str | None, rank: int | None) -> None:
    assert sharding_rank(of_type) == rank


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (": () -> ()", 8),
        ("<{a}> : (i32) -> i64", 17),
        ('<{a}> {b = "->"} : (i32)->i64', 26),
        (": ((i32) -> i32) -> // c\n i64", 26),
    ],
)
def test_results_of_generic(text: str, at: int) -> None:
    assert results_of_generic(text, 0) == at


@pytest.mark.parametrize("text", ["", ":", ": i32", ": ()", ": () -", "{", "{} ()", ": () = ()", "<{a}"])
def test_results_of_generic_malformed(text: str) -> None:
    with pytest.raises(ParseError):
        results_of_generic(text, 0)
