from __future__ import annotations

import pytest

from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.modules.mlir.meshes import find_meshes
from sdybridge.sdy import MeshAttr
from sdybridge.source import Source

# text, the name and mesh of each operation
MESHES = [
    ('sdy.mesh @m = <["x"=2]>', [("m", '<["x"=2]>')]),
    ('sdy.mesh @"a b" = <["x"=2]>', [("a b", '<["x"=2]>')]),
    (r'sdy.mesh @"a\22b" = <[]>', [('a"b', "<[]>")]),
    ("sdy.mesh @a.b$c = <[], device_ids=[3]>", [("a.b$c", "<[], device_ids=[3]>")]),
    ('sdy.mesh @m = <["x"=2], device_ids=[1, 0]> {a = "}"}', [("m", '<["x"=2], device_ids=[1, 0]>')]),
    ('sdy.mesh @m = #sdy.mesh<["x"=2]>', [("m", '<["x"=2]>')]),
    ('#x = #sdy.mesh<["x"=2]>\nsdy.mesh @m = #x', [("m", '<["x"=2]>')]),
    ('sdy.mesh  @m\n= // c\n<["x"=2]>', [("m", '<["x"=2]>')]),
    ('"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "m"}> : () -> ()', [("m", '<["x"=2]>')]),
    ('"sdy.mesh"() <{sym_name = "a\\22b", mesh = #sdy.mesh<[]>}> {u} : () -> ()', [('a"b', "<[]>")]),
    ('"sdy.mesh"() {mesh = #sdy.mesh<[]>, sym_name = "m"} : () -> ()', [("m", "<[]>")]),
    ("sdy.mesh @a = <[]> sdy.mesh @b = <[]>", [("a", "<[]>"), ("b", "<[]>")]),
    ('// sdy.mesh @m = <[]>\n"sdy.mesh @m = <[]>"', []),
    ("{sdy.mesh = 1, sdy.mesh}", []),
]


@pytest.mark.parametrize(("text", "meshes"), MESHES)
def test_find_meshes(text: str, meshes: list[tuple[str, str]]) -> None:
    found = find_meshes(Source(text))
    expected = [(name, MeshAttr.from_string(mesh)) for name, mesh in meshes]
    assert [(operation.name, operation.mesh) for operation in found.operations] == expected
    assert found.at(len(text)) == dict(expected)
    assert list(found.by_start) == [operation.span.start for operation in found.operations]
    for operation in found.operations:
        assert "sdy.mesh" in text[operation.span.start : operation.span.end]


def test_scopes() -> None:
    """A name means the mesh of the nearest module around it."""
    text = """1 module @a { 2 sdy.mesh @m = <["x"=2]>
  module @b attributes {module = "{"} { 3 sdy.mesh @m = <["x"=3]> }
  4 // module { "
  "builtin.module"() <{sym_name = "c"}> ({ 5
    "sdy.mesh"() <{mesh = #sdy.mesh<["x"=5]>, sym_name = "m"}> : () -> ()
    builtin.module { 6 sdy.mesh @m = <["x"=6]> } 7
  }) : () -> () 8
  call @module(%module) {module = 1, my.module = 2} 9
} 0"""
    meshes = find_meshes(Source(text))
    sizes = {1: None, 2: 2, 3: 3, 4: 2, 5: 5, 6: 6, 7: 5, 8: 2, 9: 2, 0: None}
    for mark, size in sizes.items():
        seen = meshes.at(text.index(f" {mark}") if mark != 1 else 0)
        assert seen == ({} if size is None else {"m": MeshAttr.from_sizes({"x": size})}), mark


def test_only_up_to_an_offset() -> None:
    text = "sdy.mesh @a = <[]>\nfunc.func\nsdy.mesh @b = <[]>"
    assert [operation.name for operation in find_meshes(Source(text), text.index("func")).operations] == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        "sdy.mesh",
        "sdy.mesh @",
        "sdy.mesh @m",
        "sdy.mesh @m =",
        "sdy.mesh @m = <",
        "sdy.mesh @m = <[]> {",
        "sdy.mesh @m = #x",
        '"sdy.mesh"(',
        '"sdy.mesh"()',
        '"sdy.mesh"() <{',
        '"sdy.mesh"() <{mesh = 1, sym_name = "m"}> : () -> ()',
        '"sdy.mesh"() <{mesh = #sdy.mesh<[]>, sym_name = m}> : () -> ()',
        '"sdy.mesh"() <{mesh, sym_name}> : () -> ()',
        '"sdy.mesh"() <{mesh = #sdy.mesh<[]>, sym_name = "m"}> : ()',
        '"sdy.mesh"() <{mesh = #sdy.mesh<[]>, sym_name = "m"}> : () -> (',
        '"sdy.mesh"() <{mesh = #sdy.mesh<[]>, sym_name = "m"}> : () ->',
    ],
)
def test_malformed(text: str) -> None:
    with pytest.raises(SdyBridgeError) as raised:
        find_meshes(Source(text))
    assert raised.value.span is not None
    assert raised.value.span.start <= len(text)


def test_two_of_one_name() -> None:
    with pytest.raises(VerificationError, match="declared twice") as raised:
        find_meshes(Source('sdy.mesh @m = <[]>\nsdy.mesh @m = <["x"=2]>'))
    assert raised.value.span is not None
    assert raised.value.span.start == 19
