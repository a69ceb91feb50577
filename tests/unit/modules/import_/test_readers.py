"""What the import reads around a sharding: what a dictionary is about, the string, calls, where meshes go."""

from __future__ import annotations

import pytest

from sdybridge.errors import ParseError, ProtoError
from sdybridge.hlo import HloSharding
from sdybridge.modules.export.control_flow import control_flow_dictionaries
from sdybridge.modules.import_.mesh_declarations import opening
from sdybridge.modules.import_.sharding_calls import sharding_call
from sdybridge.modules.mlir import key_lines
from sdybridge.modules.mlir.annotated import Annotated, Dictionaries
from sdybridge.modules.mlir.contexts import PlainLines, may_be_value, rest_of_line, type_before
from sdybridge.modules.mlir.hlo_attribute import element_span, parse_hlo_attribute
from sdybridge.modules.mlir.long_lines import LongLines, Notation
from sdybridge.modules.mlir.meshes import find_scopes
from sdybridge.source import Source

T, U = "tensor<8xf32>", "tensor<i1>"

# a text whose dictionary of interest is {a}, and what that is about
ANNOTATED = [
    (f"func.func @f(%a: {T} {{a}}) {{", Annotated(True, (T,))),
    (f"func.func @f() -> ({T} {{a}}) {{", Annotated(True, (T,))),
    (f"%0 = s.op %a {{a}} : {T}", Annotated(False, (T,))),
    (f"%0:2 = s.op %a {{a}} : {T}", Annotated(False, (T, T))),
    (f"%0:2 = s.op %a {{a}} : {T}, {U}", Annotated(False, (T, U))),
    (f"%0, %1 = s.op %a {{a}} : {T}, {U}", Annotated(False, (T, U))),
    (f"%0, %1:2 = s.op %a {{a}} : {U}, {T}", Annotated(False, (T, T, T))),
    (f"%0 = s.op %a {{a}} : {U}, {T}", Annotated(False, (T,))),
    (f"s.op %a {{a}} : {T}", Annotated(False, ())),
    (f"%0 = s.op %a {{a}} : ({U}) -> {T}", Annotated(False, (T,))),
    (f"%0 = s.op %a {{a}} : ({U}) -> ({T}, {T})", Annotated(False, (T, T))),
    (f"%0 = stablehlo.constant {{a}} dense<1> : {T}", Annotated(False, (T,))),
    (f"%0:2 = stablehlo.while(%i = %a) : {T}, {U} attributes {{a}}\n cond {{", Annotated(False, (T, U))),
    (f"!t = {T}\n%0 = s.op %a {{a}} : !t", Annotated(False, (T,))),
    (f"!s = {T}\n!t = !s\n%0 = s.op %a {{a}} : (!u) -> (!t, !u)", Annotated(False, (T, "!u"))),
    (f"func.func @f(%a: {T}) {{ %0 = stablehlo.abs %a {{a}} : {T} return }}", Annotated(False, (T,))),
    (f"%0:2 = stablehlo.abs\n  %a {{a}} : {T}", Annotated(False, (T, T))),
    ("%0 = s.op {a}", Annotated(False, (None,))),
    ("s.op {a}", None),
    ("{a}", None),
    (f"s.op {{b = {{a}}}} : {T} }}", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ANNOTATED)
def test_annotated(text: str, expected: Annotated | None) -> None:
    assert Dictionaries(Source(text + "\n")).at(text.index("{a}")) == expected


# a literal, and the sharding in it
LITERALS = [
    ('"{devices=[2,2]<=[4]}"', "{devices=[2,2]<=[4]}"),
    ('"  {replicated} "', "{replicated}"),
    (r'"{devices=[2]<=[2] metadata={op_name=\22a\22}}"', "{devices=[2]<=[2]}"),
    (r'"\7Breplicated}"', "{replicated}"),
    (r'"\08\03\1A\02\02\02J\01\04R\01\00"', "{devices=[2,2]<=[4]}"),
    ('""', "{replicated}"),
    ('"{}"', "{}"),
]


@pytest.mark.parametrize(("literal", "expected"), LITERALS)
def test_literal(literal: str, expected: str) -> None:
    assert str(parse_hlo_attribute(literal)) == expected


@pytest.mark.parametrize(
    "sharding", [HloSharding.replicate(), HloSharding.iota_tile([2, 4], [4, 2], [1, 0]), HloSharding.manual()]
)
def test_bytes_of_protos(sharding: HloSharding) -> None:
    literal = '"' + "".join(f"\\{byte:02X}" for byte in sharding.to_proto_bytes()) + '"'
    assert parse_hlo_attribute(literal) == sharding


# a literal with an error, and what that is about
BAD_LITERALS = [
    ('"{replicatd}"', "replicatd"),
    (r'"{metadata={op_name=\22é\22} oops}"', "oops"),
    (r'"{metadata={op_name=\22\C3\A9\22} oops}"', "oops"),
    (r'"\7Boops}"', "oops"),
    ('"oops"', "oops"),
]


@pytest.mark.parametrize(("literal", "word"), BAD_LITERALS)
def test_errors_in_literals_stand_in_them(literal: str, word: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse_hlo_attribute(literal)
    assert raised.value.source is not None
    assert raised.value.span is not None
    assert raised.value.source.text == literal
    assert literal[raised.value.span.start : raised.value.span.end] == word


ELEMENTS = [
    ('"{{replicated}, {manual}}"', 0, "{replicated}"),
    ('"{{replicated}, {manual}}"', 1, "{manual}"),
    ('"{{replicated}, {manual}}"', 2, "{{replicated}, {manual}}"),
    ('" { {devices=[2]<=[2]},{manual} } "', 1, "{manual}"),
    (r'"{{metadata={op_name=\22a, b\22} replicated}, {manual}}"', 1, "{manual}"),
    ('"{replicated}"', 0, "{replicated}"),
    (r'"\08\02"', 1, r"\08\02"),
    ('"{{"', 0, "{{"),
]


@pytest.mark.parametrize(("literal", "index", "expected"), ELEMENTS)
def test_element_span(literal: str, index: int, expected: str) -> None:
    span = element_span(literal, index)
    assert literal[span.start : span.end] == expected


CALLS = [
    (f"stablehlo.custom_call @Sharding(%a) {{}} : ({T}) -> {T}\n", "%a"),
    (f"mhlo.custom_call @Sharding(%a#1) {{}} : ({T}) -> {T}\n", "%a#1"),
    (f"stablehlo.custom_call  @Sharding ( %a )  {{}} : ({T}) -> {T}\n", "%a"),
    (f'stablehlo.custom_call // (\n@"Sharding"\n(%a#1) // custom_call\n{{}}\n: ({T}) ->\n{T}', "%a#1"),
    (f"stablehlo.custom_call @Sharding(%a) {{}} : ({T}) -> ( // c\n{T} )", "%a"),
    (f"s.op // stablehlo.custom_call @Sharding(%a)\n{{}} : ({T}) -> {T}\n", None),
    (f'"stablehlo.custom_call"(%a) <{{call_target_name = "Sharding"}}> {{}} : ({T}) -> {T}\n', "%a"),
    (f'"stablehlo.custom_call" (%a) < // c\n{{call_target_name = "Sharding"}}\n>\n{{}} : ({T}) -> {T}', "%a"),
    (f'"stablehlo.custom_call"(%a) {{call_target_name = "Sharding"}} : ({T}) -> {T}\n', "%a"),
    (f'"stablehlo.custom_call"(%a) <{{call_target_name = "Other"}}> {{}} : ({T}) -> {T}\n', None),
    (f'"stablehlo.custom_call"(%a) {{}} : ({T}) -> {T}\n', None),
    (f"stablehlo.custom_call @Sharding(%a, %b) {{}} : ({T}, {T}) -> {T}\n", None),
    (f"stablehlo.custom_call @Sharding(%a) {{}} : ({T}) -> ({T}, {T})\n", None),
    (f"stablehlo.custom_call @SPMDFullToShardShape(%a) {{}} : ({T}) -> {T}\n", None),
    (f"stablehlo.custom_call @Sharding(%a) {{}} : {U} {T}\n", None),
    (f"other.custom_call @Sharding(%a) {{}} : ({T}) -> {T}\n", None),
    (f"%1 = stablehlo.custom_call @Sharding(%a) : ({T}) -> {T}\n%2 = stablehlo.abs %1 {{}} : {T}\n", None),
]


@pytest.mark.parametrize(("text", "operand"), CALLS)
def test_sharding_call(text: str, operand: str | None) -> None:
    brace = text.rindex("{")
    call = sharding_call(text, brace, {})
    assert (call and call.operand) == operand
    if call:
        assert call.type == T


@pytest.mark.parametrize(
    ("config", "dims"),
    [
        ("unspecified_dims=[0,2]", {0, 2}),
        ("unspecified_dims=[]", set()),
        ("a unspecified_dims = [ 1 ] b", {1}),
        ("other", set()),
        ("", set()),
    ],
)
def test_unspecified_dims(config: str, dims: set[int]) -> None:
    text = f'stablehlo.custom_call @Sharding(%a) {{backend_config = "{config}"}} : ({T}) -> {T}\n'
    call = sharding_call(text, text.index("{"), {})
    assert call is not None
    assert call.open_dims == dims


@pytest.mark.parametrize(
    "text", ["module {\n  f\n}", "module {\n\n    f\n}", "module { // {\n\tf\n}", "module { f }"]
)
def test_declarations_stand_alone_on_their_line(text: str) -> None:
    place = opening(text, text.index("{"))
    new = text[: place.offset] + place.declare([]) + text[place.offset :]
    assert new == text
    line = text[: place.offset] + f"{place.before}!{place.after}" + text[place.offset :]
    assert [one for one in line.split("\n") if "!" in one] == [f"{place.before}!".lstrip("\n")]
    assert line.index("!") < line.index("f")


@pytest.mark.parametrize(
    ("text", "at"),
    [("f", 0), ("\n\n  f", 2), ("// c\n\n// d\nf", 12), ("// c\n#a = 1\nf", 5), ("", 0), ("// c", 4)],
)
def test_declarations_of_a_text_without_a_module(text: str, at: int) -> None:
    assert opening(text, -1).offset in {at, text.rfind("\n", 0, at) + 1}


SCOPES = [
    ("func.func @f() {\n}\n", 1),
    ("module {\n}\n", 2),
    ("module {\n}\n#loc = loc(unknown)\n", 2),
    ("module {\n  module @a {\n  }\n}\n", 3),
    ("module {\n}\nmodule @b attributes {c} {\n}\n", 3),
    ('"builtin.module"() ({\n}) : () -> ()\n', 2),
    ('"builtin.module"() <{sym_name = "m"}> ({\n}) : () -> ()\n', 2),
    ("builtin.module @m {\n}\n", 2),
    ('// module {\nfunc.func @module() {\n  a.b "module {" {module = 1}\n}\n', 1),
    ("module {\n}\nfunc.func @f() {\n}\n", 2),
    ('module @a attributes {b = "// c"} { module @"d" {} module {{}} }', 4),
    ("module { // module {\n}\n", 2),
    ('"builtin.module"\n// c\n() ({ module {} }) : () -> ()', 3),
    ("module {" * 3000 + "}" * 3000, 3001),
    ("module {\n" + "module { }" * 3000 + "}", 3002),
]


@pytest.mark.parametrize(("text", "count"), SCOPES, ids=lambda value: str(value)[:40])
def test_scopes(text: str, count: int) -> None:
    scopes = find_scopes(text)
    assert len(scopes) == count
    for scope in scopes[1:]:
        assert text[scope.start] == "{"
        assert text[scope.end - 1] == "}"
        outer = scopes[scope.outer]
        assert outer.start <= scope.start < scope.end <= outer.end
    for scope in scopes[1:2] + scopes[-1:] if count > 1 else ():
        inside = text[scope.start : scope.end]
        assert inside.count("{") == inside.count("}") + (" // module {" in inside)


def test_plain_lines() -> None:
    text = 'a "x" {k = 1}\n// c\nb {k = 2} "\\22" {k = 3}\nc {k = 4, d = "k = 5"}\n'
    plain = PlainLines(text, len(text))
    found, at = [], text.find("k")
    while at >= 0:
        found.append(plain.start(at, 0))
        at = text.find("k", at + 1)
    line = [text.index(start) for start in ("a ", "b ", "c {")]
    assert found == [line[0], line[1], -1, line[2], -1]


def test_long_lines() -> None:
    one = f'%a: {T} {{mhlo.sharding = "{{manual}}"}}, '
    line = f"func.func @f({one * 100}%b: i32) {{"
    found = LongLines(f"x\n{line}\n", Notation.HLO).split(2, 30, 10_000)
    assert found is not None
    argument = (f"{T} {{", '"{manual}"')
    assert found.counts == {argument: 100}
    assert "".join(found.filled({argument: "c"})) == line.replace('mhlo.sharding = "{manual}"', "c")
    lines = LongLines(f"{line}\n", Notation.HLO)
    assert lines.split(0, 30, 10_000) is not None
    assert lines.split(50, 80, 10_000) is None  # tried before


def test_long_lines_with_a_sharding_of_another_kind() -> None:
    one = f'%a: {T} {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}]>}}, '
    for other in ('{sdy.sharding = #sdy.sharding<@m, [{"x>y"}]>}', "{sdy.sharding = #s}", "{xla.sdy.a = 1}"):
        line = f"func.func @f({one * 100}%b: {T} {other}) {{\n"
        assert LongLines(line, Notation.SDY).split(0, 30, 10_000) is None


@pytest.mark.parametrize("obstacle", [' "s"', " // c", r' loc("\22")', ' loc("a/b")'])
def test_long_lines_with_obstacles(obstacle: str) -> None:
    one = f'%a: {T} {{mhlo.sharding = "{{manual}}"}}, '
    line = f"func.func @f({one * 100}%b: i32{obstacle}) {{\n"
    assert LongLines(line, Notation.HLO).split(0, 30, 10_000) is None


@pytest.mark.parametrize(
    ("before", "expected"),
    [("f(%a: tensor<8xf32> ", "tensor<8xf32>"), ("-> (i32 ", "i32"), ("op %a ", "%a"), ("x ", "")],
)
def test_type_before(before: str, expected: str) -> None:
    assert type_before(before + "{", len(before), 0) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("} : i32\n", "} : i32"), ("} : i32 loc(#l)\n", "} : i32"), ("} : i32", "")]
)
def test_rest_of_line(text: str, expected: str) -> None:
    assert rest_of_line(text, 0) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [("arg_attrs = [", True), ("{}, ", True), ("!d.t<a> ", True), ("<{p}> ", False), ("op %a ", False)],
)
def test_may_be_value(before: str, expected: bool) -> None:
    assert may_be_value(before + "{}", len(before)) == expected


def test_control_flow_dictionaries() -> None:
    text = """%0 = stablehlo.while(%i = %a) : i32 attributes {a}
 cond { stablehlo.return %p : i1 } do { stablehlo.return %i : i32 }
%1 = "stablehlo.if"(%p) ({ stablehlo.return %i : i32 }) {b} : (i1) -> i32
%2 = "stablehlo.case"(%p) ({ stablehlo.return %i : i32 }) : (i1) -> i32
%3 = "stablehlo.sort"(%p) ({ stablehlo.return %i : i32 }) {c} : (i1) -> i32
"""
    assert control_flow_dictionaries(text) == {text.index("{a}"), text.index("{b}")}


@pytest.mark.parametrize("literal", [r'"\FF"', r'"\08\01"'])  # no proto; a single device, but which?
def test_bytes_of_no_sharding(literal: str) -> None:
    with pytest.raises(ProtoError):
        parse_hlo_attribute(literal)


@pytest.mark.parametrize("block", [1, 10, 50, 1 << 20])
def test_key_lines(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_lines, "_BLOCK", block)
    text = "".join(f"%{i} = op {{k=1, k=2}} : i{i} loc(#l{i})\n" for i in range(9)) + "k = 3\n%9 {k=4}"
    lines = key_lines.KeyLines(text, "k=", "k", len(text))
    found = []
    for at, line, start, rest in lines:
        found.append((at, rest))
        assert text.startswith(line[start:], at - len(line[start:]))
        assert text.startswith(rest, at + 2)
        lines.done = at + 2
    assert [at for at, _ in found] == [i for i in range(len(text)) if text.startswith("k=", i)]
    assert found[1][1] == "2} : i0"
    assert lines.others


def test_key_lines_pass_over_what_is_done() -> None:
    seen: list[int] = []
    text = "a k=1\n" * 400_000
    lines = key_lines.KeyLines(text, "k=", "k", len(text), seen.append)
    for _ in lines:
        lines.done += len(text) // 4
    assert not lines.others
    assert seen == [len(text) // 2, len(text)]
