r"""Carriers as XLA writes them: the strings of real modules, with one to three steps of escaping."""

from __future__ import annotations

import pytest

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.carriers import (
    CarrierValue,
    Quoting,
    read_carrier,
    write_carrier,
    write_string,
)
from sdybridge.sdy import (
    ManualAxesAttr,
    MeshAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from sdybridge.source import Source, Span

MLIR, HLO, PLAIN = Quoting.MLIR, Quoting.HLO, Quoting.PLAIN


def value_of(key: str, literal: str, quoting: Quoting) -> CarrierValue:
    return read_carrier(key, Source(literal), Span(0, len(literal)), quoting).parse()


SHARDING = TensorShardingAttr.from_string('#sdy.sharding<@mesh, [{"x", ?}p1, {"y"}]>')
ODD = TensorShardingAttr.from_string(r'#sdy.sharding<@"my \22 mesh", [{"a\\b"}, {?}]>')
MESHES = {
    "empty": MeshAttr(),
    "max": MeshAttr.maximal(3),
    "mesh": MeshAttr.from_sizes({"x": 4, "y": 2}),
    'my " mesh': MeshAttr.from_string(r'#sdy.mesh<["a\\b"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>'),
}

# The key of a carrier, its value, and what XLA (jaxlib 0.10.2 and 0.6.2) writes into MLIR and into HLO text.
WRITTEN: list[tuple[str, CarrierValue, str, str]] = [
    (
        "xla.sdy.sharding",
        SHARDING,
        r'"#sdy.sharding<@mesh, [{\22x\22, ?}p1, {\22y\22}]>"',
        r'"#sdy.sharding<@mesh, [{\"x\", ?}p1, {\"y\"}]>"',
    ),
    (
        "xla.sdy.sharding",
        ODD,
        r'"#sdy.sharding<@\22my \\22 mesh\22, [{\22a\\\\b\22}, {?}]>"',
        r'"#sdy.sharding<@\"my \\22 mesh\", [{\"a\\\\b\"}, {?}]>"',
    ),
    (
        "xla.sdy.sharding",
        TensorShardingAttr.from_string('#sdy.sharding<@"it\'s", [{"it\'s"}, {}]>'),
        r'''"#sdy.sharding<@\22it's\22, [{\22it's\22}, {}]>"''',
        r'''"#sdy.sharding<@\"it\'s\", [{\"it\'s\"}, {}]>"''',
    ),
    (
        "xla.sdy.sharding",
        TensorShardingPerValueAttr.from_string(
            '#sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{}, {"y"}]>]>'
        ),
        r'"#sdy.sharding_per_value<[<@mesh, [{\22x\22}, {\22y\22}]>, <@mesh, [{}, {\22y\22}]>]>"',
        r'"#sdy.sharding_per_value<[<@mesh, [{\"x\"}, {\"y\"}]>, <@mesh, [{}, {\"y\"}]>]>"',
    ),
    (
        "xla.sdy.sharding",
        TensorShardingPerValueAttr.from_string("#sdy.sharding_per_value<[<@max, []>]>"),
        '"#sdy.sharding_per_value<[<@max, []>]>"',
        '"#sdy.sharding_per_value<[<@max, []>]>"',
    ),
    (
        "xla.sdy.meshes",
        {"mesh": MeshAttr.from_sizes({"x": 4, "y": 2})},
        r'"{mesh = #sdy.mesh<[\22x\22=4, \22y\22=2]>}"',
        '{mesh = #sdy.mesh<["x"=4, "y"=2]>}',
    ),
    (
        "xla.sdy.meshes",
        MESHES,
        (
            r'"{empty = #sdy.mesh<[]>, max = #sdy.mesh<[], device_ids=[3]>, mesh = #sdy.mesh<[\22x\22=4,'
            r" \22y\22=2]>, \22my \\22 mesh\22 ="
            r' #sdy.mesh<[\22a\\\\b\22=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>}"'
        ),
        (
            '{empty = #sdy.mesh<[]>, max = #sdy.mesh<[], device_ids=[3]>, mesh = #sdy.mesh<["x"=4, "y"=2]>,'
            r' "my \22 mesh" = #sdy.mesh<["a\\b"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>}'
        ),
    ),
    (
        "xla.sdy.meshes",
        {"}": MeshAttr.from_sizes({"{": 8})},
        r'"{\22}\22 = #sdy.mesh<[\22{\22=8]>}"',
        '{"}" = #sdy.mesh<["{"=8]>}',
    ),
    (
        "xla.sdy.manual_axes",
        ManualAxesAttr(["x", "y"]),
        r'"#sdy<manual_axes{\22x\22, \22y\22}>"',
        r'"#sdy<manual_axes{\"x\", \"y\"}>"',
    ),
    ("xla.sdy.sharding_group_id", 5, '"5 : i64"', '"5 : i64"'),
    ("xla.sdy.allowed_direction", 2, '"2 : i32"', '"2 : i32"'),
    (
        "xla.sdy.sharding_rule",
        "#sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}, custom>",
        '"#sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}, custom>"',
        '"#sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}, custom>"',
    ),
]


@pytest.mark.parametrize(("key", "value", "mlir", "hlo"), WRITTEN, ids=[row[3] for row in WRITTEN])
def test_written_and_read(key: str, value: CarrierValue, mlir: str, hlo: str) -> None:
    assert write_carrier(key, value, MLIR) == mlir
    assert write_carrier(key, value, HLO) == hlo
    for quoting in Quoting:
        assert value_of(key, write_carrier(key, value, quoting), quoting) == value


# One line per string of any frontend attribute, and how XLA writes it into HLO text.
HLO_STRINGS = {
    "": '""',
    "bar": '"bar"',
    'a"b': r'"a\"b"',
    "it's": r'"it\'s"',
    "a\\b": r'"a\\b"',
    "a\nb\tc\r": r'"a\nb\tc\r"',
    "é\x00": r'"\303\251\000"',
    "{it's}": "{it's}",
    "{a{b}": '"{a{b}"',
    "{}}": '"{}}"',
    "{} ": '"{} "',
    '{"}': r'"{\"}"',
    '{"a}": {"b": "\\""}}': '{"a}": {"b": "\\""}}',
    "{": '"{"',
}


@pytest.mark.parametrize("value", HLO_STRINGS)
def test_hlo_string(value: str) -> None:
    assert write_string(value, HLO) == HLO_STRINGS[value]


# Strings that went through further tools: one line per spelling of the same meshes and shardings.
DEEPER: list[tuple[str, Quoting, str]] = [
    ("xla.sdy.meshes", MLIR, r'"{mesh = #sdy.mesh<[\22x\22=4, \22y\22=2]>}"'),
    ("xla.sdy.meshes", MLIR, r'"{mesh = #sdy.mesh<[\"x\"=4, \"y\"=2]>}"'),
    ("xla.sdy.meshes", MLIR, r'"{mesh = #sdy.mesh<[\\\22x\\\22=4, \\\22y\\\22=2]>}"'),
    ("xla.sdy.meshes", MLIR, r'"{mesh = #sdy.mesh<[\\22x\\22=4, \\22y\\22=2]>}"'),
    ("xla.sdy.meshes", MLIR, r'"{mesh = #sdy.mesh<[\\\\22x\\\\22=4, \\\\22y\\\\22=2]>}"'),
    ("xla.sdy.meshes", MLIR, r'"{mesh = #sdy.mesh<[\\\\\\\22x\\\\\\\22=4, \\\\\\\22y\\\\\\\22=2]>}"'),
    ("xla.sdy.meshes", MLIR, r'"\22{mesh = #sdy.mesh<[\\22x\\22=4, \\22y\\22=2]>}\22"'),
    ("xla.sdy.meshes", HLO, '{mesh = #sdy.mesh<["x"=4, "y"=2]>}'),
    ("xla.sdy.meshes", HLO, r"{mesh = #sdy.mesh<[\"x\"=4, \"y\"=2]>}"),
    ("xla.sdy.meshes", HLO, r"{mesh = #sdy.mesh<[\22x\22=4, \22y\22=2]>}"),
    ("xla.sdy.meshes", HLO, r'"{mesh = #sdy.mesh<[\"x\"=4, \"y\"=2]>}"'),
    ("xla.sdy.meshes", HLO, r'"{mesh = #sdy.mesh<[\\\"x\\\"=4, \\\"y\\\"=2]>}"'),
    ("xla.sdy.meshes", HLO, r'"{mesh = #sdy.mesh<[\\22x\\22=4, \\22y\\22=2]>}"'),
    ("xla.sdy.meshes", PLAIN, '{mesh = #sdy.mesh<["x"=4, "y"=2]>}'),
    ("xla.sdy.meshes", PLAIN, r"{mesh = #sdy.mesh<[\22x\22=4, \22y\22=2]>}"),
    ("xla.sdy.meshes", PLAIN, r"{mesh = #sdy.mesh<[\"x\"=4, \"y\"=2]>}"),
    ("xla.sdy.meshes", PLAIN, r'"{mesh = #sdy.mesh<[\22x\22=4, \22y\22=2]>}"'),
]


@pytest.mark.parametrize(("key", "quoting", "literal"), DEEPER)
def test_deeper_escapes(key: str, quoting: Quoting, literal: str) -> None:
    assert value_of(key, literal, quoting) == {"mesh": MESHES["mesh"]}


# A fault, and the characters of the text around it that the error underlines.
FAULTS = [
    ("xla.sdy.sharding", MLIR, r'"#sdy.sharding<@mesh, [{\22x\22}, {\22y\22:3}]>"', "3"),
    ("xla.sdy.sharding", MLIR, r'"#sdy.sharding<@mesh, [{\\\22x\\\22}, {\\\22y\\\22, 7}]>"', "7"),
    ("xla.sdy.sharding", HLO, r'"#sdy.sharding<@mesh, [{\"x\"}, \"y\"]>"', r"\"y\""),
    ("xla.sdy.sharding", PLAIN, '#sdy.sharding<@mesh, [{"é"}, +]>', "+"),
    ("xla.sdy.sharding", MLIR, r'"#sdy.sharding<@mesh, [{\22\C3\A9\22}, +]>"', "+"),
    ("xla.sdy.sharding", MLIR, '"#sdy.mesh<[]>"', "#sdy.mesh<[]>"),
    ("xla.sdy.sharding", MLIR, '"{devices=[2,4]<=[8]}"', "{"),
    ("xla.sdy.sharding", MLIR, '""', ""),
    ("xla.sdy.meshes", MLIR, r'"{mesh = #sdy.mesh<[\22x\22=4, \22x\22=2]>}"', r"\22x\22"),
    ("xla.sdy.meshes", HLO, '{mesh = #sdy.mesh<["x"=0]>}', "0"),
    ("xla.sdy.meshes", HLO, r'{mesh = #sdy.mesh<[\\\\\\\\"x\\\\\\\\"=1]>}', r"\\\\\\\\"),
    ("xla.sdy.manual_axes", MLIR, r'"#sdy.sharding<@mesh, []>"', "#sdy.sharding<@mesh, []>"),
    ("xla.sdy.sharding_group_id", MLIR, '"5"', "5"),
    ("xla.sdy.sharding_group_id", MLIR, '"5 : i32"', "5 : i32"),
    ("xla.sdy.sharding_group_id", MLIR, f'"{1 << 63} : i64"', f"{1 << 63} : i64"),
    ("xla.sdy.allowed_direction", MLIR, '"NONE"', "NONE"),
    ("xla.sdy.sharding", MLIR, "#sdy.sharding<@mesh, []>", "#sdy.sharding<@mesh, []>"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "quoting", "literal", "underlined"), FAULTS)
def test_fault(key: str, quoting: Quoting, literal: str, underlined: str) -> None:
    text = f"before\n  {literal} after"
    source = Source(text, "file")
    with pytest.raises(SdyBridgeError) as caught:
        read_carrier(key, source, Span(9, 9 + len(literal)), quoting).parse()
    assert caught.value.source is source
    assert caught.value.span is not None
    assert text[caught.value.span.start : caught.value.span.end] == underlined
