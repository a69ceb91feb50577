"""The helpers of a mesh."""

from __future__ import annotations

import pytest

from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.sdy import MeshAttr, parse_mesh_dictionary, print_mesh_dictionary
from sdybridge.sdy.mesh import MeshAxisAttr

MESH = MeshAttr.from_sizes({"data": 2, "model": 4})


@pytest.mark.parametrize(
    ("text", "is_empty", "is_maximal", "maximal_device_id", "total_size"),
    [
        ("<[]>", True, False, None, 1),
        ('<["x"=1]>', False, False, None, 1),
        ("<[], device_ids=[0]>", False, True, 0, 1),
        ("<[], device_ids=[7]>", False, True, 7, 1),
        ('<["x"=2, "y"=3]>', False, False, None, 6),
        ('<["x"=2], device_ids=[1, 0]>', False, False, None, 2),
    ],
)
def test_kinds(
    text: str, is_empty: bool, is_maximal: bool, maximal_device_id: int | None, total_size: int
) -> None:
    mesh = MeshAttr.from_string(text)
    assert mesh.is_empty is is_empty
    assert mesh.is_maximal is is_maximal
    assert mesh.maximal_device_id == maximal_device_id
    assert mesh.total_size == total_size


def test_axes_by_name() -> None:
    assert MESH.axes == (MeshAxisAttr("data", 2), MeshAxisAttr("model", 4))
    assert MESH.axis_names == ("data", "model")
    assert dict(MESH.axis_sizes) == {"data": 2, "model": 4}
    assert (MESH.has_axis("model"), MESH.has_axis("modle")) == (True, False)
    assert (MESH.axis_size("model"), MESH.axis_index("model")) == (4, 1)


@pytest.mark.parametrize("ask", [MESH.axis_size, MESH.axis_index])
def test_an_unknown_axis_says_what_there_is(ask: object) -> None:
    with pytest.raises(VerificationError) as raised:
        ask("modle")  # type: ignore[operator]
    assert str(raised.value) == (
        'the mesh has no axis named "modle"\nnote: its axes are "data", "model"\nhelp: did you mean "model"?'
    )
    assert raised.value.rule == "unknown-axis"


@pytest.mark.parametrize(
    ("one", "other", "same_axes"),
    [
        ('<["x"=2]>', '<["x"=2], device_ids=[1, 0]>', True),
        ('<["x"=2]>', '<["x"=4]>', False),
        ('<["x"=2]>', '<["y"=2]>', False),
        ("<[]>", "<[], device_ids=[0]>", False),
        ("<[], device_ids=[3]>", "<[], device_ids=[0]>", True),
    ],
)
def test_equals(one: str, other: str, same_axes: bool) -> None:
    a, b = MeshAttr.from_string(one), MeshAttr.from_string(other)
    assert a.equals(a)
    assert not a.equals(b)
    assert a.equals(b, ignore_device_ids=True) is same_axes
    assert b.equals(a, ignore_device_ids=True) is same_axes


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("{}", "{}"),
        ('{mesh = #sdy.mesh<["x"=2]>}', '{mesh = #sdy.mesh<["x"=2]>}'),
        (
            '{"my x"=#sdy.mesh<["x"=2]> , a = #sdy.mesh<[]>}',
            '{a = #sdy.mesh<[]>, "my x" = #sdy.mesh<["x"=2]>}',
        ),
        ('{"m.e$s" = #sdy.mesh<[]>, "0m" = #sdy.mesh<[]>}', '{"0m" = #sdy.mesh<[]>, m.e$s = #sdy.mesh<[]>}'),
        ('{"ü" = #sdy.mesh<[]>}', '{"\\C3\\BC" = #sdy.mesh<[]>}'),
        (
            "{b = #sdy.mesh<[]>, B = #sdy.mesh<[]>, a9 = #sdy.mesh<[]>, a10 = #sdy.mesh<[]>}",
            "{B = #sdy.mesh<[]>, a10 = #sdy.mesh<[]>, a9 = #sdy.mesh<[]>, b = #sdy.mesh<[]>}",
        ),
    ],
)
def test_mesh_dictionary(given: str, printed: str) -> None:
    meshes = parse_mesh_dictionary(given)
    assert print_mesh_dictionary(meshes) == printed
    assert parse_mesh_dictionary(printed) == meshes


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected '{' after the start, found the end of the text"),
        ("{mesh}", 6, "expected '=' after the mesh name, found '}'"),
        ("{a = #sdy.mesh<[]>, a = #sdy.mesh<[]>}", 21, 'the mesh "a" stands twice'),
        ('{"" = #sdy.mesh<[]>}', 2, "a mesh name is not empty"),
        ("{a = #sdy.mesh<[]> b = #sdy.mesh<[]>}", 20, "expected ',' after a mesh, found 'b'"),
        ("{a = #sdy.mesh<[]>} x", 21, "expected nothing more after the dictionary, found 'x'"),
        ("{a = #sdy.sharding<@m, []>}", 11, "expected a mesh here, found a sharding"),
        ('{a = #sdy.mesh<["x"=0]>}', 21, 'axis "x" has size 0, but a size must be at least 1'),
    ],
)
def test_mesh_dictionary_errors(text: str, column: int, message: str) -> None:
    with pytest.raises(SdyBridgeError) as raised:
        parse_mesh_dictionary(text, name="hlo")
    assert str(raised.value).splitlines()[0] == f"hlo:1:{column}: error: {message}"
