"""The reader of module text: every form of every operation, and what jaxlib sees in the same text."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from sdybridge.errors import ParseError, SdyBridgeError
from sdybridge.modules.mlir.lexer import skip_trivia
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from sdybridge.modules.mlir.operations import Operation, OperationTree


def outline(text: str) -> str:
    """The operations of a text as `name(inner, inner | next region)`."""

    def one(operation: Operation) -> str:
        regions = [
            " ^ ".join(", ".join(map(one, block.operations)) for block in region.blocks)
            for region in operation.regions
        ]
        return operation.full_name + (f"({' | '.join(regions)})" if regions else "")

    return ", ".join(map(one, parse_operations(text).operations))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("// nothing", ""),
        ("module {}", "builtin.module()"),
        ("module @a attributes {b.c = {d}} {\n}", "builtin.module()"),
        ("builtin.module { module @b {} }", "builtin.module(builtin.module())"),
        ("module @i { func.func @f(%a: f32 {a.b}) { return } }", "builtin.module(func.func(func.return))"),
        (
            "module { sdy.mesh @m = <[]> func.func @f() { return } }",
            "builtin.module(sdy.mesh, func.func(func.return))",
        ),
        ("func.func private @g(f32)\nfunc.func private @h(f32)", "func.func, func.func"),
        ("func.func private @g(f32) func.func private @h(f32)", "func.func, func.func"),
        ("func.func @f() -> (f32 {a.b}) attributes {c.d} {\n return %x : f32 }", "func.func(func.return)"),
        ("func.func @f() -> ((f32) -> f32) { return %x : (f32) -> f32 }", "func.func(func.return)"),
        ("sdy.mesh @a = #m\nsdy.mesh @b = #m", "sdy.mesh, sdy.mesh"),
        ("sdy.mesh @a = #m sdy.mesh @b = #m", "sdy.mesh, sdy.mesh"),
        ('a.b "x" %0 : f32\n"c.d"() : () -> ()', "a.b, c.d"),
        ('a.b %0\n"c.d"() : () -> ()', "a.b, c.d"),
        ('"a.b"() ({}, {\n^bb0:\n c.d }) : () -> ()', "a.b( | c.d)"),
        ('"a.b"()[^bb1] <{x = 1}> ({ ^a: c.d\n ^b(%x: i32): c.e }) {y} : () -> ()', "a.b(c.d ^ c.e)"),
        (
            "%0 = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [1] : f32\na.b",
            "stablehlo.reduce, a.b",
        ),
        (
            "%0 = s.reduce(%a init: %b) across dimensions = [1] : f32\n reducer(%x: f32) {\n c.d %x }\na.b",
            "s.reduce(c.d), a.b",
        ),
        (
            "%0:2 = s.while(%i = %a) : i32, i32 attributes {x.y = 1}\ncond { c.d %i : i32 } do { c.e\n}\na.b",
            "s.while(c.d | c.e), a.b",
        ),
        ("scf.for %i = %a to %b step %c { scf.yield }", "scf.for(scf.yield)"),
        ("scf.if %p { scf.yield } else { a.c }", "scf.if(scf.yield | a.c)"),
        ("cf.cond_br %p, ^a(%x : f32), ^b\na.b", "cf.cond_br, a.b"),
        ("%a, %b = c.d %x : f32 -> (f32, f32)\n%e, %f = c.d %x : f32", "c.d, c.d"),
        ("%a = c.d %x %b = c.e %x", "c.d, c.e"),
        ('s.constant dense<1> : f32 loc("a(")\na.b loc(#l)', "s.constant, a.b"),
        ("sdy.return\n", "sdy.return"),
        ('{-# dialect_resources: { builtin: { a: "0x}" } } #-}', ""),
        ("a.b // {\n", "a.b"),
        ('a.b {c = "}"} : f32\na.c', "a.b, a.c"),
        ("a.b %0 {c = 1,\n d = 2} :\n f32,\n f32\na.c", "a.b, a.c"),
        ('a.b : tuple<tensor<2xcomplex<f32>>, !x.y<"}">> -> ()\na.c', "a.b, a.c"),
        ("a.switch %f : i32, [\n default: ^a,\n 1: ^b ]\na.c", "a.switch, a.c"),
        ("sdy.all_reduce {} %0 out_sharding=<@m, []> {a} : f32", "sdy.all_reduce"),
        (
            "linalg.op {a = affine_map<(d0) -> (d0)>} ins(%a : f32) outs(%b : f32) { ^a(%x: f32): a.b }",
            "linalg.op(a.b)",
        ),
    ],
)
def test_where_operations_begin_and_end(text: str, expected: str) -> None:
    assert outline(text) == expected


@pytest.mark.parametrize(
    ("text", "dictionary"),
    [
        ("%0 = s.add %a, %b {x = 1} : f32", "{x = 1}"),
        ("%0 = s.constant {x = 1} dense<1> : f32", "{x = 1}"),
        ("%0:2 = s.barrier {x} %a, %b : f32, f32", "{x}"),
        ('s.custom_call @f(%a) {x = "}"} : (f32) -> ()', '{x = "}"}'),
        ("s.convolution(%a) dims = [a]x[b]->[c], window = {pad = [1]} {x = 1} : f32", "{x = 1}"),
        ("s.convolution(%a), window = {} : f32", None),
        (
            "s.reduce(%a init: %b) across dimensions = [1] {x = 1} : f32\nreducer(%c: f32) { a.b %c : f32 }",
            "{x = 1}",
        ),
        ("%0 = s.while(%i = %a) : i32 attributes {x = 1} cond { a.b } do { a.b }", "{x = 1}"),
        ('"s.case"(%a) <{p = 1}> ({ a.b }) {x = 1} : (i32) -> ()', "{x = 1}"),
        ('"s.case"(%a) <{p = 1}> : (i32) -> ()', None),
        ("call @f(%a) {x = 1} : (f32) -> f32", "{x = 1}"),
        ("func.func @f(%a: f32 {y}) -> (f32 {z}) attributes {x = 1} { return }", "{x = 1}"),
        ("module @m attributes {x = 1} {}", "{x = 1}"),
        ("return {x = 1} %a : f32", "{x = 1}"),
        ("sdy.mesh @m = <[]> {x = 1}", "{x = 1}"),
        ('sdy.all_reduce {"a"} %0 out_sharding=<@m, []> {x = 1} : f32', "{x = 1}"),
        ('sdy.all_reduce {"a"} %0 out_sharding=<@m, []> : f32', None),
        (
            'sdy.manual_computation(%a) in_shardings=[] manual_axes={"a"} () { sdy.return } {x} : () -> ()',
            "{x}",
        ),
    ],
)
def test_which_braces_are_the_dictionary(text: str, dictionary: str | None) -> None:
    (operation,) = parse_operations(text).operations
    assert [cut(text, span) for span in operation.dictionaries] == ([dictionary] if dictionary else [])


@pytest.mark.parametrize(
    ("text", "operands", "results"),
    [
        ("%0 = s.add %a, %b : f32", ["%a", "%b"], [("%0", 1)]),
        ("%0:3 = s.op(%a#1, %b) : f32", ["%a#1", "%b"], [("%0", 3)]),
        ("%v, %i = s.topk(%x, k = 4) : f32", ["%x"], [("%v", 1), ("%i", 1)]),
        ("%0:2 = s.while(%i = %a, %j = %b) : i32, i32 cond { a.b %c } do { a.b }", ["%a", "%b"], [("%0", 2)]),
        ("s.reduce(%a init: %b), (%c init: %d) : f32 reducer(%x: f32) { a.b }", ["%a", "%b", "%c", "%d"], []),
        ('%0 = "s.add"(%a, %b) {x = "%c"} : (f32, f32) -> f32', ["%a", "%b"], [("%0", 1)]),
        ("sdy.manual_computation(%a) in=[<@m, []>] (%b: f32) { sdy.return } : (f32) -> ()", ["%a"], []),
    ],
)
def test_operands_and_results(text: str, operands: list[str], results: list[tuple[str, int]]) -> None:
    (operation,) = parse_operations(text).operations
    assert operation.operands == operands
    assert operation.results == results


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("a.b : f32", ["f32"], None),
        ("a.b : f32, tensor<2x?xf32>", ["f32", "tensor<2x?xf32>"], None),
        ("a.b : () -> ()", [], []),
        ("a.b : (f32, tuple<i1, i2>) -> (i3, i4)", ["f32", "tuple<i1, i2>"], ["i3", "i4"]),
        ("a.b : f32 -> f64", ["f32"], ["f64"]),
        ("a.b : tensor<2xf32> to tensor<?xf32>", ["tensor<2xf32>"], ["tensor<?xf32>"]),
        ("a.b : ((f32) -> f32) -> ((i1) -> i1)", ["(f32) -> f32"], ["(i1) -> i1"]),
        ("a.b loc(unknown)", [], None),
    ],
)
def test_signature_types(text: str, before: list[str], after: list[str] | None) -> None:
    (operation,) = parse_operations(text).operations
    left, right = operation.signature_types
    assert [cut(text, span) for span in left] == before
    assert (None if right is None else [cut(text, span) for span in right]) == after


PRETTY_FUNCTION = (
    "func.func @f(%a: tensor<2xf32> {x.y = 1} loc(#l), %b: !a.b<c>) -> (f32 {z.w}, (i1) -> i2) { return }"
)
GENERIC_FUNCTION = """"func.func"() <{arg_attrs = [{x.y = 1}, {}], function_type = (tensor<2xf32>, !a.b<c>) ->
    (f32, (i1) -> i2), res_attrs = [{z.w}, {}], sym_name = "f"}> ({
  ^bb0(%a: tensor<2xf32> loc(#l), %b: !a.b<c>):
    "func.return"() : () -> ()
}) : () -> ()"""


@pytest.mark.parametrize("text", [PRETTY_FUNCTION, GENERIC_FUNCTION], ids=["pretty", "generic"])
def test_function_arguments_and_results(text: str) -> None:
    (function,) = parse_operations(text).operations
    assert function.symbol == "f"
    values = [
        (v.name, cut(text, v.type), (cut(text, v.dictionary) if v.dictionary else "{}"))
        for v in (*function.arguments, *function.function_results)
    ]
    assert values == [
        ("%a", "tensor<2xf32>", "{x.y = 1}"),
        ("%b", "!a.b<c>", "{}"),
        (None, "f32", "{z.w}"),
        (None, "(i1) -> i2", "{}"),
    ]
    names = [argument.name for argument in function.block_arguments(function.regions[0].blocks[0])]
    assert names == ["%a", "%b"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("func.func private @f(f32, i1 {a.b})", [None, None]),
        ("func.func @f() -> f32 { return }", []),
    ],
)
def test_function_argument_names(text: str, names: list[str | None]) -> None:
    (function,) = parse_operations(text).operations
    assert [argument.name for argument in function.arguments] == names


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("sdy.mesh @m = <[]>", "m"),
        ('sdy.mesh @"a \\22 b" = <[]>', 'a " b'),
        ('"sdy.mesh"() <{mesh = #sdy.mesh<[]>, sym_name = "a b"}> : () -> ()', "a b"),
        ("func.func private @g(f32)", "g"),
        ("module {}", None),
    ],
)
def test_symbol(text: str, symbol: str | None) -> None:
    (operation,) = parse_operations(text).operations
    assert operation.symbol == symbol


def test_aliases_are_collected() -> None:
    text = (
        '#m = #sdy.mesh<["x"=2]>\n#n = @mesh\n!t = tensor<2xf32>\nmodule {} loc(#loc)\n'
        '#loc = loc("a(":1:2)\n#d = dense<1> : tensor<2xi1>\n#map = affine_map<(d0) -> (d0)>'
    )
    tree = parse_operations(text)
    assert {name: cut(text, span) for name, span in tree.aliases.items()} == {
        "#m": '#sdy.mesh<["x"=2]>',
        "#n": "@mesh",
        "!t": "tensor<2xf32>",
        "#loc": 'loc("a(":1:2)',
        "#d": "dense<1> : tensor<2xi1>",
        "#map": "affine_map<(d0) -> (d0)>",
    }


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("module {", 8, "'{' is never closed"),
        ("}", 1, "expected an operation, found '}'"),
        ("foo", 1, "expected an operation, found 'foo'"),
        ("func @f() {}", 1, "expected an operation, found 'func'"),
        ("a.b )", 5, "expected an operation or its end, found ')'"),
        ("a.b %", 5, "expected an operation or its end, found '%'"),
        ("%0 = ", 1, "expected an operation, found '%0'"),
        ('"a.b" %0', 7, "expected '(' with the operands of \"a.b\", found '%0'"),
        ('"a.b"() {}', 11, "expected ':' with the types of \"a.b\", found the end of the text"),
        ('"a.b"() ({} {}) : () -> ()', 13, "expected ',' or ')' after a region, found '{'"),
        ('"a.b"() ({}, x) : () -> ()', 14, "expected '{' of a region, found 'x'"),
        ('"a.b"() <x> : () -> ()', 10, "expected '{' of the properties, found 'x'"),
        ('"a.b"() : ,', 11, "expected a function type, found ','"),
        ("a.b {x = [}", 11, "expected ']' before '}'"),
        ('a.b "x', 5, "the string does not end on its line"),
        ("module { ^a a.b }", 13, "expected ':' after the block's name, found 'a.b'"),
        ("#a = 1\n#a = 2", 1, "the alias '#a' is defined twice"),
        ("#a", 1, "expected an operation or an alias, found '#a'"),
        ("func.func @f() -> { return }", 19, "expected a type, found '{'"),
    ],
)
def test_errors_are_located(text: str, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_operations(Source(text, "m.mlir"))
    assert caught.value.message == message
    assert caught.value.location.startswith("m.mlir:")
    assert caught.value.location.endswith(f":{column}")


@pytest.mark.parametrize(
    ("opened", "closed"),
    [("module {", "}"), ('"a.b"() ({ ', "}) : () -> ()\n"), ("a.b { a.c : f32 ", "}"), ("^b: a.b {", "}")],
)
def test_depth_costs_no_recursion(opened: str, closed: str) -> None:
    depth = 20_000
    text = "module {" + opened * depth + closed * depth + "}"
    assert sum(1 for _ in parse_operations(text).walk()) >= depth
    with pytest.raises(ParseError, match="never closed"):
        parse_operations("module {" + opened * depth)


def cut(text: str, span: Span) -> str:
    return text[span.start : span.end]


# What jaxlib sees in the same text.


def _scan(x: Any, y: Any) -> Any:
    import jax

    def body(carry: Any, z: Any) -> tuple[Any, Any]:
        return jax.numpy.sin(carry) * z, carry.sum()

    carry, sums = jax.lax.scan(body, x, y)
    return carry, sums, jax.lax.cond(sums[0] > 1, lambda: x, lambda: x + 1)


def _many_results(x: Any, y: Any) -> Any:
    import jax

    values, indices = jax.lax.top_k(x.sum(axis=1) + y.sum(), 3)
    return (
        jax.lax.sort((values, indices), num_keys=1),
        jax.numpy.argmax(y, axis=1),
        jax.random.normal(jax.random.key(0), (4,)),
    )


def _reductions(x: Any, y: Any) -> Any:
    import jax

    pooled = jax.lax.reduce_window(x, 0.0, jax.lax.add, (2, 2), (1, 1), "SAME")
    return (
        pooled @ y.T,
        jax.grad(lambda a: jax.numpy.max(jax.nn.softmax(a @ y[0, 0])))(x),
        jax.numpy.cumsum(y, axis=0),
    )


def _manual(x: Any, y: Any) -> Any:
    import jax
    from jax.sharding import PartitionSpec

    mesh = jax.sharding.AbstractMesh((2, 4), ("x", "y"))
    axis_sum = functools.partial(jax.lax.psum, axis_name="x")
    mapped = jax.shard_map(axis_sum, mesh=mesh, in_specs=PartitionSpec("x"), out_specs=PartitionSpec())
    return mapped(x), y


PROGRAMS = {"scan": _scan, "many_results": _many_results, "reductions": _reductions, "manual": _manual}


@functools.cache
def lowered(name: str) -> Any:
    import jax

    x = jax.ShapeDtypeStruct((8, 8), "float32")
    y = jax.ShapeDtypeStruct((8, 8, 8), "float32")
    return jax.jit(PROGRAMS[name]).lower(x, y).compiler_ir()


def printed(name: str, form: str) -> tuple[Any, str]:
    module = lowered(name).operation
    generic, debug = "generic" in form, "debug" in form
    return module, module.get_asm(print_generic_op_form=generic, enable_debug_info=debug)


def preorder(operation: Any, *, with_short_reductions: bool) -> list[Any]:
    found = [operation.operation]
    is_reduction = operation.operation.name == "stablehlo.reduce"
    if is_reduction and not with_short_reductions and ") applies " in str(operation):
        return found  # the short form has no region in its text
    for region in operation.operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                found += preorder(inner, with_short_reductions=with_short_reductions)
    return found


FORMS = ["pretty", "generic", "pretty debug", "generic debug"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_same_operations_as_jaxlib(name: str, form: str) -> None:
    module, text = printed(name, form)
    theirs = preorder(module, with_short_reductions="generic" in form)
    tree = parse_operations(text)
    ours = list(tree.walk())
    assert [operation.full_name for operation in ours] == [operation.name for operation in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert sum(count for _, count in mine.results) == len(other.results), mine
        known = {other.attributes[i].name for i in range(len(other.attributes))}
        assert {entry.key for entry in (*mine.entries, *mine.property_entries)} <= known, mine
        if "generic" in form:
            assert len(mine.operands) == len(other.operands), mine
        regions = other.regions if mine.regions else ()
        for mine_region, region in zip(mine.regions, regions, strict=True):
            for mine_block, block in zip(mine_region.blocks, region.blocks, strict=True):
                types = [cut(text, a.type) for a in mine.block_arguments(mine_block)]
                assert len(types) == len(block.arguments), mine
                if mine.full_name not in ("stablehlo.while", "stablehlo.reduce"):
                    assert types == [str(argument.type) for argument in block.arguments], mine


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_operations_nest_and_cover_the_text(name: str, form: str) -> None:
    tree = parse_operations(printed(name, form)[1])
    text = tree.source.text
    _assert_covered(text, [o.span for o in tree.operations] + _alias_spans(tree), 0, len(text))
    for operation in tree.walk():
        pos = operation.name_end
        for region in operation.regions:
            assert pos < region.start < region.end <= operation.end
            assert (text[region.start], text[region.end - 1]) == ("{", "}")
            pos = region.end
            if len(region.blocks) == 1 and text[skip_trivia(text, region.start + 1)] != "^":
                spans = [inner.span for inner in region.blocks[0].operations]
                _assert_covered(text, spans, region.start + 1, region.end - 1)


def _alias_spans(tree: OperationTree) -> list[Span]:
    return [Span(tree.source.text.rindex(n, 0, s.start), s.end) for n, s in tree.aliases.items()]


def _assert_covered(text: str, spans: list[Span], start: int, end: int) -> None:
    for span in sorted(spans, key=lambda span: span.start):
        assert skip_trivia(text, start) == span.start
        start = span.end
    assert skip_trivia(text, start) == end


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["scan", "manual"])
def test_truncated_text_is_an_answer_or_an_error(name: str, form: str) -> None:
    text = printed(name, form)[1]
    for end in range(0, len(text), 100):
        tree: OperationTree | None
        try:
            tree = parse_operations(text[:end])
        except SdyBridgeError as error:
            tree = None
            message = str(error)
        if tree is None:
            assert message.startswith("<string>:")
        else:
            assert all(operation.end <= end for operation in tree.walk())
