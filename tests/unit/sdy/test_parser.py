"""What golden files cannot hold: targets, aliases, places in larger texts, spans, and odd characters."""

from __future__ import annotations

import pytest

from sdybridge.errors import ParseError, SdyBridgeError, VerificationError
from sdybridge.sdy import (
    AllToAllParamAttr,
    AllToAllParamListAttr,
    Attribute,
    AxisRefAttr,
    AxisRefListAttr,
    DimensionShardingAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    MeshAxisAttr,
    ReductionOp,
    SubAxisInfoAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
    locate,
    parse_attribute,
    parse_prefix,
    parse_with_spans,
    verify_sharding,
)
from sdybridge.source import Source
from sdybridge.target import Target


def first_line(error: SdyBridgeError) -> str:
    return str(error).splitlines()[0]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ('#sdy.sharding<@mesh, [{"x"}]>  ', '#sdy.sharding<@mesh, [{"x"}]>'),
        ('#sdy.sharding<@mesh,\t[{"x"}\r\n]>', '#sdy.sharding<@mesh, [{"x"}]>'),
        ('#sdy.sharding<@mesh, [{"x"} // ]}> "\r\n]>', '#sdy.sharding<@mesh, [{"x"}]>'),
        ('#sdy.mesh<["a\tb"=2]>', '#sdy.mesh<["a\\09b"=2]>'),
        ('#sdy.mesh<["\x7f\x01"=2]>', '#sdy.mesh<["\\7F\\01"=2]>'),
        ('#sdy.mesh<["\\FF\\fe"=2]>', '#sdy.mesh<["\\FF\\FE"=2]>'),
        ('#sdy.mesh<["\\C3\udca9"=2]>', '#sdy.mesh<["\\C3\\A9"=2]>'),
        ('#sdy.mesh<["\U0001f600"=2]>', '#sdy.mesh<["\\F0\\9F\\98\\80"=2]>'),
        ('#sdy<manual_axes{"a" : none}>', '#sdy<manual_axes{"a"}>'),
        ('#sdy<axis_ref"x"> : tensor<2x!q.t<i8->i9>>', '#sdy<axis_ref"x">'),
        ('#sdy<all_to_all_param_list[{"x"}:-0x1->2]>', '#sdy<all_to_all_param_list[{"x"}: -1->2]>'),
    ],
)
def test_unusual_characters(text: str, printed: str) -> None:
    assert str(parse_attribute(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#sdy<manual_axes{"a" : i32}>', "1:22: error: an axis name has no type"),
        (
            '#sdy.mesh<["x"=4294967297], device_ids=[0]>',
            "1:40: error: one device id is given, but the axis sizes multiply to 4294967297 devices",
        ),
        (
            '#sdy.mesh<["x"=4294967298], device_ids=[1,0]>',
            "1:40: error: 2 device ids are given, but the axis sizes multiply to 4294967298 devices",
        ),
        ('#sdy<axis_ref"x"(1)2>', "1:17: error: expected '>' after the axis_ref, found '('"),
        ('#sdy<mesh<["x"=2]>, []>', "1:19: error: expected '>' after the mesh, found ','"),
        ("#sdy.op_sharding_rule<()->()>", "1:6: error: an op_sharding_rule places no data and is not read"),
    ],
)
def test_what_upstream_takes_and_loses_is_an_error(text: str, message: str) -> None:
    with pytest.raises(SdyBridgeError) as raised:
        parse_attribute(text)
    assert first_line(raised.value) == f"<string>:{message}"


def test_comments_may_hold_brackets_unlike_upstream() -> None:
    assert parse_attribute("#sdy.sharding<@mesh, [] // <[{\n>") is TensorShardingAttr("mesh")


def test_names_of_any_bytes_survive() -> None:
    axis = MeshAxisAttr.from_string('"\\FF\\C3\\A9"=2')
    assert axis.name == "\udcffé"
    assert axis.name.encode("utf-8", "surrogateescape") == b"\xff\xc3\xa9"
    assert parse_attribute(str(axis)) is axis


@pytest.mark.parametrize("op", [ReductionOp.MAX, ReductionOp.MIN])
def test_reduction_operators_are_newer(op: ReductionOp) -> None:
    text = f'#sdy.sharding<@m, [{{}}], unreduced={op.value}{{"x"}}>'
    for target in (Target.CLASSIC, Target.CURRENT):
        with pytest.raises(ParseError) as raised:
            parse_attribute(text, target=target)
        assert raised.value.notes == (
            "reduction operators are accepted with target=Target.NEWER (--target newer)",
        )
    sharding = parse_attribute(text, target=Target.NEWER)
    assert isinstance(sharding, TensorShardingAttr)
    assert sharding.reduction_op is op
    assert str(sharding) == text


@pytest.mark.parametrize(
    ("named", "printed"),
    [
        ('unreduced=sum{"x"}', 'unreduced={"x"}'),
        ('unreduced = max {"x"}', 'unreduced=max{"x"}'),
        ('unreduced{"x"}', 'unreduced={"x"}'),
        ('unreduced min{"x"}', 'unreduced=min{"x"}'),
        ('unreduced=max{"x"}, replicated={"y"}', 'replicated={"y"}, unreduced=max{"x"}'),
    ],
)
def test_newer_spellings(named: str, printed: str) -> None:
    text = f"#sdy.sharding<@m, [{{}}], {named}>"
    assert str(parse_attribute(text, target=Target.NEWER)) == f"#sdy.sharding<@m, [{{}}], {printed}>"


@pytest.mark.parametrize(
    ("named", "column", "message"),
    [
        (
            'unreduced=prod{"x"}',
            33,
            "expected '{', or one of 'sum', 'max' and 'min', after '=', found 'prod'",
        ),
        ("unreduced=max{}", 37, "expected an axis name in double quotes after '{', found '}'"),
        ('replicated=max{"x"}', 34, "expected '{' after '=', found 'max'"),
        ('replicated{"x"}', 33, "expected '=' after 'replicated', found '{'"),
    ],
)
def test_newer_errors(named: str, column: int, message: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse_attribute(f"#sdy.sharding<@m, [], {named}>", target=Target.NEWER)
    assert first_line(raised.value) == f"<string>:1:{column}: error: {message}"


ALIASES: dict[str, str | Attribute] = {
    "mesh": '#sdy.mesh<["x"=2]>',
    "name": "@mesh",
    "s": "#sdy.sharding<@mesh, [{}]>",
    "t": "#s",
    "built": TensorShardingAttr("built"),
    "dim": '#sdy<dimension_sharding{"x"}>',
    "ref": AxisRefAttr("x"),
    "axis": '#sdy<mesh_axis"x"=2>',
    "string": '"a"',
    "loop": "#pool",
    "pool": "#loop",
    "loop_name": "#loop_name",
    "bad": '#sdy.mesh<["x"=0]>',
    "worse": "#sdy.mesh<[x=2]>",
    "0": "#s",
}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("#s", "#sdy.sharding<@mesh, [{}]>"),
        ("#t", "#sdy.sharding<@mesh, [{}]>"),
        ("#0", "#sdy.sharding<@mesh, [{}]>"),
        ("#mesh", '#sdy.mesh<["x"=2]>'),
        (
            "#sdy.sharding_per_value<[#s, <#name, []>]>",
            "#sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, []>]>",
        ),
        ("#sdy.sharding_per_value<[#t, #built]>", "#sdy.sharding_per_value<[<@mesh, [{}]>, <@built, []>]>"),
        (
            "#sdy.sharding<#name, [#dim], replicated={#ref}>",
            '#sdy.sharding<@mesh, [{"x"}], replicated={"x"}>',
        ),
        ("#sdy.mesh<[#axis]>", '#sdy.mesh<["x"=2]>'),
        ('#sdy<manual_axes{#string, "b"}>', '#sdy<manual_axes{"a", "b"}>'),
    ],
)
def test_aliases(text: str, printed: str) -> None:
    assert str(parse_attribute(text, aliases=ALIASES)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#nope", "<string>:1:1: error: the alias #nope is not defined"),
        ("#loop", "#pool:1:1: error: the alias #loop stands for itself"),
        ("#sdy.sharding<#loop_name, []>", "#loop_name:1:1: error: the alias #loop_name stands for itself"),
        ("#sdy.sharding<#built, []>", "<string>:1:15: error: #built does not stand for a mesh name"),
        ("#sdy.sharding_per_value<[#mesh]>", "#mesh:1:6: error: expected a sharding here, found a mesh"),
        ("#sdy.mesh<[#s]>", "#s:1:6: error: expected a mesh_axis here, found a sharding"),
        ("#sdy.mesh<[#ref]>", "<string>:1:12: error: expected a mesh_axis here, but #ref is an axis_ref"),
        (
            "#sdy<manual_axes{#ref}>",
            "<string>:1:18: error: expected an axis name here, but #ref is an axis_ref",
        ),
        ("#bad", '#bad:1:16: error: axis "x" has size 0, but a size must be at least 1'),
        ("#worse", "#worse:1:12: error: expected an axis name in double quotes after '[', found 'x'"),
    ],
)
def test_alias_errors(text: str, message: str) -> None:
    with pytest.raises(SdyBridgeError) as raised:
        parse_attribute(text, aliases=ALIASES)
    assert first_line(raised.value) == message


def test_a_long_chain_of_aliases_ends_in_an_error() -> None:
    chain = {f"a{i}": f"#a{i + 1}" for i in range(10_000)}
    with pytest.raises(ParseError, match="more than 100 aliases"):
        parse_attribute("#a0", aliases=chain)


@pytest.mark.parametrize(
    ("cls", "text"),
    [
        (TensorShardingAttr, '<@mesh, [{"x"}, {}]>'),
        (TensorShardingAttr, '#sdy.sharding<@mesh, [{"x"}, {}]>'),
        (TensorShardingAttr, '<mesh<["x"=2]>, [{"x":(1)2, ?}p1, {}], replicated={"y"}>'),
        (TensorShardingAttr, '<@"my mesh", [], unreduced={"]>"}>'),
        (TensorShardingPerValueAttr, "[<@mesh, []>, <@mesh, [{?}]>]"),
        (TensorShardingPerValueAttr, "<[<@mesh, []>]>"),
        (TensorShardingPerValueAttr, "#sdy.sharding_per_value<[<@mesh, []>]>"),
        (TensorShardingPerValueAttr, "[]"),
        (MeshAttr, '<["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>'),
        (ManualAxesAttr, '{"a", "b"}'),
        (ManualAxesAttr, "{}"),
        (AxisRefListAttr, '{"a", "b":(1)2}'),
        (ListOfAxisRefListsAttr, '[{"b"}, {}]'),
        (AllToAllParamListAttr, '[{"b"}: 0->1, {"c"}: 1->0]'),
        (AllToAllParamAttr, '{"b"}: 0->1'),
        (DimensionShardingAttr, '{"x", ?}p1'),
        (AxisRefAttr, '"x":(1)2'),
        (SubAxisInfoAttr, "(1)2"),
        (MeshAxisAttr, '"x"=2'),
    ],
)
def test_parse_prefix_ends_where_the_attribute_does(cls: type[Attribute], text: str) -> None:
    before = "sdy.op %0 "
    for after in ("", " : tensor<4xf32>", "\n  // more", ' %1 <@m, [{"x"}]>', " {a}"):
        attr, end = parse_prefix(before + text + after, len(before), cls)
        assert end == len(before + text)
        assert attr is cls.from_string(text)


def test_errors_of_a_prefix_are_located_in_the_whole_text() -> None:
    source = Source('module {\n  sdy.reshard %0 <@mesh, [{"x"} {}]> : t\n}', "m.mlir")
    with pytest.raises(ParseError) as raised:
        parse_prefix(source, source.text.index("<"), TensorShardingAttr)
    assert str(raised.value) == (
        "m.mlir:2:33: error: expected ',' or ']' after a dimension sharding, found '{'\n"
        '  sdy.reshard %0 <@mesh, [{"x"} {}]> : t\n'
        '                                ^\n'
        'help: write `{"x"}, {}`'
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cls", "text"),
    [
        (TensorShardingPerValueAttr, "#sdy<sharding_per_value[<@mesh, []>]>"),
        (AxisRefListAttr, "#sdy<sharding_per_value<[]>>"),
        (MeshAttr, "#sdy.sharding<@mesh, []>"),
        (TensorShardingAttr, '["x"]'),
        (DimensionShardingAttr, ""),
    ],
)
def test_from_string_wants_its_own_class(cls: type[Attribute], text: str) -> None:
    with pytest.raises(ParseError):
        cls.from_string(text)


def test_from_string_wants_a_str() -> None:
    for text in (b"<[]>", None):
        with pytest.raises(TypeError, match="text must be a str"):
            MeshAttr.from_string(text)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="text must be a str"):
            TensorShardingAttr.from_string(text)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="text must be a str"):
            parse_attribute(text)  # type: ignore[arg-type]


SPANNED = (
    '#sdy.sharding_per_value<[<mesh< ["x" = 2,"y"=8], device_ids=[ 15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0]>,'
    ' [{ "y" : (1)2 , ? } p1, {}] ,unreduced = { "y":(4)2 }, replicated={"x"} >, #s,'
    " <@m, [#sdy<dimension_sharding{}>]>]>"
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), SPANNED),
        (("shardings", 0, "mesh_or_ref", "axes", 0), '"x" = 2'),
        (("shardings", 0, "mesh_or_ref", "axes", 0, "name"), '"x"'),
        (("shardings", 0, "mesh_or_ref", "axes", 1, "size"), "8"),
        (("shardings", 0, "mesh_or_ref", "device_ids"), "[ 15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0]"),
        (("shardings", 0, "dim_shardings"), '[{ "y" : (1)2 , ? } p1, {}]'),
        (("shardings", 0, "dim_shardings", 0), '{ "y" : (1)2 , ? } p1'),
        (("shardings", 0, "dim_shardings", 0, "priority"), "p1"),
        (("shardings", 0, "dim_shardings", 0, "axes", 0), '"y" : (1)2'),
        (("shardings", 0, "dim_shardings", 0, "axes", 0, "sub_axis_info"), "(1)2"),
        (("shardings", 0, "dim_shardings", 1), "{}"),
        (("shardings", 0, "replicated_axes", 0), '"x"'),
        (("shardings", 0, "unreduced_axes"), '{ "y":(4)2 }'),
        (("shardings", 1), "#s"),
        (("shardings", 2, "mesh_or_ref"), "@m"),
        (("shardings", 2, "dim_shardings", 0), "#sdy<dimension_sharding{}>"),
    ],
)
def test_spans(path: tuple[str | int, ...], expected: str) -> None:
    _, spans = parse_with_spans(SPANNED, aliases=ALIASES)
    assert SPANNED[spans[path].start : spans[path].end] == expected


def test_an_error_about_a_part_without_span_points_at_what_is_around_it() -> None:
    error = VerificationError("no", rule="r", path=("shardings", 1, "dim_shardings", 0))
    source = Source(SPANNED)
    located = locate(error, source, aliases=ALIASES)
    assert located is error
    assert error.span is not None
    assert SPANNED[error.span.start : error.span.end] == "#s"


def test_locate_a_stripped_attribute_inside_a_larger_text() -> None:
    source = Source('sdy.reshard %0 <@mesh, [{"y"}]> : t')
    pos = source.text.index("<")
    sharding, _ = parse_prefix(source, pos, TensorShardingAttr)
    with pytest.raises(VerificationError) as raised:
        verify_sharding(sharding, MeshAttr.from_sizes({"x": 2}))
    assert locate(raised.value, source, pos, TensorShardingAttr).location == "<string>:1:26"


def test_an_error_in_a_mesh_points_at_the_id() -> None:
    text = '#sdy.mesh<["x"=4], device_ids=[3, // 7, 8\n 0x2, 1, - 0, 5]>'
    for wrong, message in (("0x2", "0x7"), ("1,", "3,")):
        with pytest.raises(VerificationError) as raised:
            parse_attribute(text.replace(wrong, message).replace(", 5]", "]"))
        assert raised.value.location == f"<string>:2:{2 if wrong == '0x2' else 7}"


@pytest.mark.parametrize("spelling", ["{}", "0{}", "{} // {}\n", "0x{:x}", " {}\t"])
def test_long_lists_of_device_ids(spelling: str) -> None:
    ids = list(range(20_000))[::-1]
    text = f'<["x"=20000], device_ids=[{",".join(spelling.format(i, i) for i in ids)}]>'
    assert MeshAttr.from_string(text) is MeshAttr.from_sizes({"x": 20_000}, ids)


@pytest.mark.parametrize(
    "text",
    [
        "<[" * 100_000,
        "#sdy<" * 100_000,
        '#sdy.mesh<["x"=' + "9" * 1_000_000 + "]>",
        '#sdy.mesh<["x"=0x' + "f" * 1_000_000 + "]>",
        "#sdy.mesh<[], device_ids=[" + "1, " * 100_000,
        "#sdy.mesh<[], device_ids=[" + "1 " * 100_000,
        "#sdy.sharding<@mesh, [" + '{"x"}' * 50_000,
        "#sdy.sharding<@mesh, [" + '{"x" ' * 50_000,
        '#sdy.sharding<@mesh, [{"' + "a" * 1_000_000,
        '#sdy.sharding<@mesh, [{"' + "\\" * 1_000_001,
        '#sdy.sharding<@mesh, [{"x"}p' + "9" * 1_000_000 + "]>",
        "#sdy.sharding<@mesh, []>" + " //" * 300_000 + "\n x",
        "#sdy.sharding<@mesh, []> : t<" + "<>" * 300_000,
        '#sdy.sharding<@m, [], replicated={"a"' + ", {" * 100_000,
    ],
    ids=lambda text: f"{text[:30]}..",
)
def test_hostile_texts_get_an_error(text: str) -> None:
    with pytest.raises(SdyBridgeError) as raised:
        parse_attribute(text)
    assert len(str(raised.value)) < 2_000
