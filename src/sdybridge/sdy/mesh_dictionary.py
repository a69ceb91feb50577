"""All meshes of a program in one text, as `xla.sdy.meshes` carries them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.sdy.grammar import Parser, attribute
from sdybridge.sdy.mesh import MeshAttr
from sdybridge.sdy.printer import keyword_or_string, show
from sdybridge.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping


def parse_mesh_dictionary(text: str, *, name: str = "<string>") -> dict[str, MeshAttr]:
    """The meshes by name, in the order of the text.

    Args:
        text: The text of a dictionary attribute whose values are meshes.
        name: What error messages call the text.

    Raises:
        ParseError: The text does not follow the grammar, or names a mesh twice.
        VerificationError: A mesh is invalid.

    >>> parse_mesh_dictionary('{mesh = #sdy.mesh<["x"=2]>, "my mesh" = #sdy.mesh<[]>}')
    {'mesh': MeshAttr.from_sizes({'x': 2}), 'my mesh': MeshAttr.from_sizes({})}
    """
    p = Parser(Source(text, name))
    meshes: dict[str, MeshAttr] = {}
    p.expect("{", "the start")
    while not p.take("}"):
        if meshes:
            p.expect(",", "a mesh")
        start = p.start()
        key = p.take_word() or p.expect_string("a mesh name", "'{' or ','")
        if not key or key in meshes:
            problem = f"the mesh {show(key)} stands twice" if key else "a mesh name is not empty"
            raise p.error(problem, start, p.pos)
        p.expect("=", "the mesh name", f"write `{keyword_or_string(key)} = #sdy.mesh<..>`")
        mesh = attribute(p, MeshAttr, ())
        if isinstance(mesh, MeshAttr):
            meshes[key] = mesh
    if p.start() < len(text):
        raise p.expected("nothing more", "the dictionary", "remove the rest")
    return meshes


def print_mesh_dictionary(meshes: Mapping[str, MeshAttr]) -> str:
    """The text of the dictionary, keys in byte order.

    >>> print_mesh_dictionary({"my mesh": MeshAttr(), "a": MeshAttr.maximal(3)})
    '{a = #sdy.mesh<[], device_ids=[3]>, "my mesh" = #sdy.mesh<[]>}'
    """
    by_bytes = sorted(meshes.items(), key=lambda item: item[0].encode("utf-8", "surrogateescape"))
    return f"{{{', '.join(f'{keyword_or_string(key)} = {mesh}' for key, mesh in by_bytes)}}}"
