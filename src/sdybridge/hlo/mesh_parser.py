"""The mesh of a named sharding: `mesh['a'=2,'b'=4], device_ids=(...)`, or `maximal_mesh[device_id=3]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo.device_list import read_device_ids
from sdybridge.hlo.grid_parser import read_iota
from sdybridge.hlo.leaf import Leaf, iota_grid, num_devices
from sdybridge.hlo.mesh import Mesh
from sdybridge.hlo.tile_assignment import TileAssignment
from sdybridge.source import Span

if TYPE_CHECKING:
    from sdybridge.hlo.lexer import Lexer


def parse_maximal_mesh(p: Lexer) -> Mesh:
    """`'[' 'device_id=' INT ']'`."""
    p.expect("[")
    if not p.at("device_id="):
        raise p.expected("'device_id='", f"write device_id={p.lexeme}" if p.kind == "integer" else None)
    p.advance()
    device = p.expect_integer("a device id")
    p.expect("]", "add a ']'")
    return Mesh.maximal(device)


def parse_mesh(p: Lexer) -> Mesh:
    """`'[' [axis ('=' INT)] (',' ...)* ']' [',' ['device_ids=' '(' ids ')']]`."""
    leaf = Leaf(p.start)
    p.expect("[")
    names: list[str] = []
    start = p.start
    while not p.take("]"):
        if names and not p.take(","):
            raise p.expected("',' or ']'", "separate axes with ','" if p.kind == "string" else "add a ']'")
        _mesh_axis(p, leaf, names)
    leaf.spans["dims"] = Span(start, p.pos - 1)
    if not names:
        return Mesh.empty()
    total = num_devices(p, leaf, leaf.dims, "dims", "the mesh")
    sizes = tuple(leaf.dims)
    if not p.take(",") or not p.at("device_ids="):
        return Mesh._make(TileAssignment._from_known_iota(sizes, (total,), (0,)), tuple(names))
    p.advance()
    p.expect("(", "write the ids in parentheses")
    start = p.start
    grid = _counted(p, leaf, total) if p.at("[") else _listed(p, leaf, total)
    p.expect(")", "add a ')'")
    try:
        return Mesh(grid, names)
    except VerificationError as error:
        raise p.error(error.message, start, p.pos - 1, help=error.help) from None


def _mesh_axis(p: Lexer, leaf: Leaf, names: list[str]) -> None:
    """`name '=' INT`, where older releases write the name without quotes."""
    start = p.start
    if p.kind == "attribute":
        name = p.lexeme[:-1]
        p.advance()
    else:
        name = p.expect_string("name of an axis")
        end = p.pos
        p.expect("=", "write '=' and the size of the axis")
    if name in names:
        end = start + len(name) if p.text.startswith(name, start) else end
        raise p.error(f"the mesh has two axes named '{name[:60]}'", start, end)
    names.append(name)
    start = p.start
    size = p.expect_integer("the size of an axis")
    leaf.dims.append(size)
    if size < 1:
        leaf.spans.setdefault("bad dims", Span(start, p.pos))


def _counted(p: Lexer, leaf: Leaf, total: int) -> TileAssignment:
    """`'[' INT ']' | '[' INT (',' INT)+ ']' 'T' '(' INT (',' INT)* ')'`."""
    read_iota(p, leaf)
    return iota_grid(p, leaf, total)


def _listed(p: Lexer, leaf: Leaf, total: int) -> TileAssignment:
    """`INT (',' INT)*`."""
    start = p.start
    read_device_ids(p, leaf.devices)
    count = leaf.devices.count
    if count != total:
        more, change = (count - total, "remove") if count > total else (total - count, "add")
        raise p.error(
            f"the mesh has {total} devices, but {count} are listed", start, p.pos, help=f"{change} {more}"
        )
    return TileAssignment._from_known_array(leaf.devices.array().reshape(leaf.dims))
