"""`verify_module` as a function: order, targets, places, aliases, values; the rules are in tests/golden."""

from __future__ import annotations

import pytest

from sdybridge.errors import ParseError, SdyBridgeError, VerificationError
from sdybridge.modules.verify.module import verify_module
from sdybridge.target import Target

MESH = 'sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>\n'
TENSOR = "tensor<16x32xf32>"
GATHER = f'%r = sdy.all_gather [{{"b"}}, {{}}] %v out_sharding=<@mesh, [{{"a"}}, {{}}]> : {TENSOR}\n'


def rules(text: str, *, target: Target = Target.CURRENT) -> list[str]:
    return [
        error.rule if isinstance(error, VerificationError) else "syntax"
        for error in verify_module(text, target=target)
    ]


def function(body: str) -> str:
    return f"{MESH}func.func @main(%arg0: {TENSOR}, %arg1: {TENSOR}) {{\n{body}\nreturn }}"


def test_errors_come_in_the_order_of_the_text() -> None:
    bad = '{sdy.sharding = #sdy.sharding<@mesh, [{"z"}]>}'
    text = (
        f"func.func private @f(tensor<4xf32> {bad}) -> (tensor<4xf32> {bad})\n"
        f"func.func @g(%a: tensor<4xf32> {bad}) {{ return }}\n"
        "#s = #sdy.sharding<@mesh, [{}], x>\n"
        'sdy.mesh @mesh = <["x"=2]>\nsdy.mesh @mesh = <["x"=0]>'
    )
    found = verify_module(text, name="m.mlir")
    places = [error.location.partition(":")[2] for error in found]
    assert places == ["1:75", "1:141", "2:71", "3:33", "5:10", "5:24"]
    assert [str(e) for e in verify_module(text, name="m.mlir", first_only=True)] == [str(found[0])]


def test_an_unreadable_text_gives_its_one_parse_error() -> None:
    (error,) = verify_module("module {", name="m.mlir")
    assert isinstance(error, ParseError)
    assert error.location == "m.mlir:1:8"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '#s = #sdy.sharding<@mesh, [{"z"}]>\nfunc.func private @f(tensor<4xf32> {sdy.sharding = #s})',
            "3:52",
        ),
        ("#s = #sdy.sharding<@mesh, [}]>\nfunc.func private @f(tensor<4xf32> {sdy.sharding = #s})", "2:28"),
        ("func.func private @f(tensor<4xf32> {sdy.sharding = #s})", "2:52"),
        (
            "!t = tensor<4xf32>\nfunc.func private @f(!t {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})",
            "3:62",
        ),
    ],
    ids=["rule", "syntax", "undefined", "type"],
)
def test_aliases_are_followed(text: str, expected: str) -> None:
    (error,) = verify_module(MESH + text)
    assert error.location == f"<string>:{expected}"


def test_a_broken_mesh_is_the_only_error() -> None:
    use = 'func.func private @f(tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}]>})'
    assert rules(f'sdy.mesh @mesh = <["x"=0]>\n{use}') == ["axis-size"]


def test_each_place_has_its_own_first_error() -> None:
    bad = "{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>}"
    body = f"%0 = stablehlo.abs %arg0 {bad} : {TENSOR}\n%1 = stablehlo.abs %arg0 {bad} : {TENSOR}"
    assert rules(function(body)) == ["rank-mismatch", "rank-mismatch"]


@pytest.mark.parametrize(
    ("operation", "target", "expected"),
    [
        ('all_reduce max {"c"} %v', Target.CURRENT, ["syntax"]),
        ('all_reduce max {"c"} %v', Target.NEWER, []),
        ("reduce_scatter min [{}, {}] %v", Target.NEWER, []),
        ("reduce_scatter min [{}, {}] %v", Target.CURRENT, ["syntax"]),
    ],
)
def test_the_target_decides_on_reduction_words(operation: str, target: Target, expected: list[str]) -> None:
    source = f'%v = sdy.reshard %arg0 <@mesh, [{{"a"}}, {{}}]> : {TENSOR}\n'
    text = function(f'{source}%r = sdy.{operation} out_sharding=<@mesh, [{{"a"}}, {{}}]> : {TENSOR}')
    assert rules(text, target=target) == expected


LISTED = '#sdy.sharding_per_value<[<@mesh, [{"a", "b"}, {}]>]>'


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"%v = stablehlo.abs %arg0 {{sdy.sharding = {LISTED}}} : {TENSOR}", []),
        (f'"foo.bar"() {{sdy.sharding = {LISTED}}} : () -> {TENSOR}\n%v = foo.bar', ["collective-operand"]),
        (f"%v = stablehlo.abs %arg0 : {TENSOR}", ["collective-operand"]),
        (f'%v = sdy.reshard %arg0 <@mesh, [{{"a", "b"}}, {{}}]> : {TENSOR}', []),
        (
            f'%v = sdy.reshard %arg0 <@mesh, [{{"c"}}, {{}}]> {{sdy.sharding = {LISTED}}} : {TENSOR}',
            ["collective-axis"],
        ),
        (f"%v = sdy.propagation_barrier %arg0 allowed_direction=NONE : {TENSOR}", ["collective-operand"]),
        (f"%v = sdy.data_flow_edge %arg0 : {TENSOR}", ["collective-operand"]),
        (f'%v = sdy.data_flow_edge %arg0 sharding=<@mesh, [{{"a", "b"}}, {{}}]> : {TENSOR}', []),
        (f'%v = stablehlo.abs %arg0 {{sdy.sharding = "x"}} : {TENSOR}', ["sharding-kind"]),
        (f"%v = sdy.reshard %arg0 <@mesh, [}}]> : {TENSOR}", ["syntax"]),
    ],
)
def test_where_the_operand_of_a_collective_gets_its_sharding(source: str, expected: list[str]) -> None:
    assert rules(function(f"{source}\n{GATHER}")) == expected


@pytest.mark.parametrize(
    ("body", "uses"),
    [
        ("%0 = stablehlo.abs %arg0 : i1\n%1 = sdy.data_flow_edge %0 : i1", 1),
        ("%0 = stablehlo.abs %arg0 : i1\n%1 = sdy.data_flow_edge %0 : i1\nfoo.bar %0", 2),
        ("%0 = stablehlo.abs %arg0 : i1\n%1 = sdy.data_flow_edge %0 : i1\nfoo.bar { foo.baz %0 }", 2),
        ('%0 = stablehlo.abs %arg0 : i1\n%1 = sdy.data_flow_edge %0 : i1 // %0\nfoo.bar "%0"', 1),
        ("%0:2 = foo.two %arg0\n%1 = sdy.data_flow_edge %0#1 : i1\nfoo.bar %0#0", 1),
        ("%0:2 = foo.two %arg0\n%1 = sdy.data_flow_edge %0#0 : i1\nfoo.bar %0", 2),
        ("%a, %b = foo.two %arg0\n%1 = sdy.data_flow_edge %b : i1\nfoo.bar %a", 1),
        ("%1 = sdy.data_flow_edge %arg1 : i1", 1),
        (
            "a.b {\n^a(%x: i1):\n %1 = sdy.data_flow_edge %x : i1\n}\na.b {\n^a(%x: i1):\n a.c %x, %x\n}",
            1,
        ),
    ],
)
def test_uses_of_the_input_of_an_edge(body: str, uses: int) -> None:
    found = [error.message for error in verify_module(function(body))]
    assert found == ([] if uses == 1 else [f"the input of a data flow edge is used {uses} times"])


def test_meshes_are_those_of_the_innermost_module() -> None:
    use = 'func.func private @f(tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})'
    text = f'module @a {{\n{use}\nmodule @b {{\n{use}\nsdy.mesh @mesh = <["x"=2]>\n}}\n}}\n{use}'
    assert [error.location for error in verify_module(text)] == ["<string>:2:66", "<string>:8:66"]


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        ("{a.b = #sdy.mesh<[]>, c = 1}", "module-attribute-name"),
        ('{a.b = {c = [#sdy.mesh<["x"=0]>]}}', "axis-size"),
        ('{a.b = "#sdy.mesh<nothing>"}', None),
        ("{a.b = #sdy.something_else<nothing>}", None),
        ("{a.b = #sdy.sharding<@any, [{}, {}]>}", None),
        ("{a.b = #sdy<manual_axes{x}>}", "syntax"),
    ],
)
def test_other_attributes_are_read_but_not_verified(bad: str, rule: str | None) -> None:
    assert rules(f"module attributes {bad} {{}}") == ([rule] if rule else [])


@pytest.mark.parametrize("depth", [1, 500])
def test_nested_manual_computations(depth: int) -> None:
    axes = ['"a"', *[""] * depth, '"a"']
    shardings = "in_shardings=[<@mesh, []>] out_shardings=[]"
    opened = [f"sdy.manual_computation(%a) {shardings} manual_axes={{{axis}}} (%a: i1) {{\n" for axis in axes]
    closed = "sdy.return } : (i1) -> ()\n" * len(axes)
    text = f"{MESH}func.func @f(%a: i1) {{\n{''.join(opened)}{closed}return }}"
    (error,) = verify_module(text)
    assert error.message == 'axis "a" is manual here already'
    assert error.location.startswith(f"<string>:{depth + 4}:")


def test_many_equal_carriers_are_checked_with_what_they_depend_on() -> None:
    good = f"stablehlo.abs %arg0 {{sdy.sharding = {LISTED}}} : {TENSOR}"
    other_type = good.replace(TENSOR, "tensor<4xf32>")
    head = 'sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"a"} () {'
    manual = f"{head}\n{good}\nsdy.return\n}} : () -> ()"
    inner = f"module @m {{\nfunc.func @g(%arg0: {TENSOR}) {{\n{good}\nreturn }}\n}}"
    text = function(f"{good}\n{good}\n{other_type}\n{manual}\n{good}") + inner
    assert rules(text) == ["rank-mismatch", "axis-is-manual", "unknown-mesh"]


@pytest.mark.parametrize("step", [41])
@pytest.mark.parametrize(
    "text",
    [
        function(f"%v = stablehlo.abs %arg0 {{sdy.sharding = {LISTED}}} : {TENSOR}\n{GATHER}"),
        function(
            '%0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] '
            'out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%z: tensor<8x32xf32>) {\n'
            f" sdy.return %z : tensor<8x32xf32>\n}} : ({TENSOR}) -> {TENSOR}"
        ),
        function('"sdy.propagation_barrier"(%arg0) <{allowed_direction = 1 : i32}> : (i1) -> i1'),
    ],
    ids=["collective", "manual", "generic"],
)
def test_truncated_and_cut_texts_are_answered(text: str, step: int) -> None:
    assert verify_module(text) == []
    for start in range(len(text)):
        for broken in (text[:start], text[:start] + text[start + 1 :], text[:start] + text[start + step :]):
            for error in verify_module(broken):
                assert isinstance(error, SdyBridgeError)
                assert str(error).startswith(("<string>:", "#"))


def test_a_large_module_with_an_error_per_line_takes_linear_time() -> None:
    bad = "{sdy.sharding = #sdy.sharding_per_value<[<@nope, [{}]>]>}"
    text = function("\n".join(f"%{i} = foo.bar %arg0 {bad} : tensor<4xf32>" for i in range(2000)))
    found = verify_module(text)
    assert len(found) == 2000
    assert found[-1].location == "<string>:2002:65"
