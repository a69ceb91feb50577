"""Meshes and their axes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.sdy.grammar.core import Parser, element, items, nearest
from sdybridge.sdy.mesh import MeshAttr, MeshAxisAttr, trusted_mesh
from sdybridge.sdy.printer import show
from sdybridge.source import Span

if TYPE_CHECKING:
    from sdybridge.errors import Path

_LONG = 1 << 16  # characters of a list of device ids
_PLAIN_IDS = re.compile(r"(?:[ \t\r\n]*+[0-9]{1,18}+[ \t\r\n]*+,)*+")
_EACH_ID = re.compile(r"(?:(?:[\s,\[]|//[^\n]*+)*+)((?:-\s*)?[0-9A-Za-z]+)")


def mesh_body(p: Parser, path: Path) -> MeshAttr:
    """`mesh := '<' '[' [axis (',' axis)*] ']' [',' 'device_ids' '=' '[' int (',' int)* ']'] '>'`."""
    start = p.start()
    p.expect("<", p.after())
    p.expect("[", "'<'")
    outer, p.spans = p.spans, {} if p.spans is None else p.spans
    axes = [] if p.take("]") else items(p, "]", axis_element, (*path, "axes"), "a mesh axis")
    ids = _device_ids(p, path) if p.take(",") else []
    p.expect(">", "the mesh", "add a '>'" if p.start() == len(p.text) else None)
    try:
        mesh = trusted_mesh(tuple(axes), tuple(ids))
    except VerificationError as error:
        error.path = (*path, *error.path)
        raise error.located(p.source, _place(p, error.path)) from None
    p.mark(path, start)
    p.spans = outer
    return mesh


def _device_ids(p: Parser, path: Path) -> list[int]:
    if p.peek_word() != "device_ids":
        raise p.expected("'device_ids'", "','")
    p.take_word()
    p.expect("=", "'device_ids'")
    start = p.start()
    p.expect("[", "'device_ids='")
    if p.at("]"):
        raise p.expected(
            "a device id", "'['", "leave ', device_ids=[]' out: no list means the order 0, 1, 2, ..."
        )
    ids = _plain_ids(p)
    if ids and p.at("]"):
        raise p.expected("a device id", "','", "remove the ','")
    ids += items(p, "]", lambda q, _: q.expect_integer("a device id", q.after()), (), "a device id")
    p.mark((*path, "device_ids"), start)
    return ids


def _plain_ids(p: Parser) -> list[int]:
    """All at once, of a long list, what is nothing but decimal digits, spaces and commas."""
    plain = _PLAIN_IDS.match(p.text, p.pos)
    if not plain or not plain[0]:
        return []
    p.pos = plain.end()
    digits = plain[0][:-1]
    if len(digits) > _LONG:
        import json  # reads numbers twice as fast as int does, but no leading zeros

        try:
            return list(json.loads(f"[{digits}]"))
        except ValueError:
            pass
    return list(map(int, digits.split(",")))


def _place(p: Parser, path: Path) -> Span:
    """The span of a part, or of the smallest part around it that has one."""
    spans = p.spans or {}
    if path[-2:-1] == ("device_ids",) and path[:-1] in spans and isinstance(path[-1], int):
        listed = spans[path[:-1]]
        for i, number in enumerate(_EACH_ID.finditer(p.text, listed.start, listed.end)):
            if i == path[-1]:
                return Span(*number.span(1))
    return nearest(spans, path, Span(p.pos, p.pos))


def axis_body(p: Parser, path: Path) -> MeshAxisAttr:
    """`axis := string '=' int`."""
    start = p.start()
    name = p.expect_string("an axis name in double quotes", p.after())
    p.mark((*path, "name"), start)
    p.expect("=", "the axis name", f"write `{show(name)}=` and the axis's size")
    size_start = p.start()
    size = p.expect_integer("a size", "'='")
    p.mark((*path, "size"), size_start)
    try:
        axis = MeshAxisAttr(name, size)
    except VerificationError as error:
        error.path = (*path, *error.path)
        raise error.located(p.source, Span(size_start, p.pos)) from None
    p.mark(path, start)
    return axis


axis_element = element(MeshAxisAttr, axis_body)
