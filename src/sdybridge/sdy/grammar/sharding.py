"""Dimension shardings, tensor shardings, and lists of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.sdy import fast_path
from sdybridge.sdy.dimension import DimensionShardingAttr
from sdybridge.sdy.fields import INT64_MAX
from sdybridge.sdy.grammar.axes import ref_body, ref_element
from sdybridge.sdy.grammar.core import (
    Parser,
    alias_value,
    comma_help,
    element,
    finish,
    inside_alias,
    items,
)
from sdybridge.sdy.grammar.mesh import mesh_body
from sdybridge.sdy.mesh import MeshAttr
from sdybridge.sdy.printer import symbol
from sdybridge.sdy.sharding import ReductionOp, TensorShardingAttr, TensorShardingPerValueAttr
from sdybridge.sdy.suggestions import closest
from sdybridge.target import Target

if TYPE_CHECKING:
    from sdybridge.errors import ParseError, Path
    from sdybridge.sdy.axis_ref import AxisRefAttr

_PRIORITY = re.compile(r"p(?:0|[1-9][0-9]*)")


_OPS = {op.value: op for op in ReductionOp}


def dimension_body(p: Parser, path: Path) -> DimensionShardingAttr:
    """`dim := '{' ['?' | refs [',' '?']] '}' ['p' digits]`."""
    start = p.start()
    p.expect("{", p.after(), 'a dimension is written {..}, such as {} or {"x"}')
    axes, is_closed = ([], True) if p.take("}") else _dimension_axes(p, (*path, "axes"))
    priority = _priority(p, (*path, "priority"))
    p.mark(path, start)
    return DimensionShardingAttr(tuple(axes), is_closed, priority)


def _dimension_axes(p: Parser, path: Path) -> tuple[list[AxisRefAttr], bool]:
    """The axes up to the closing brace, and whether no `?` ends them. Full attributes cannot stand here."""
    axes: list[AxisRefAttr] = []
    while not p.take("?"):
        if not p.at('"'):
            raise p.expected("an axis name in double quotes or '?'", p.after(), _no_axis_help(p))
        start = p.start()
        axes.append(ref_body(p, (*path, len(axes))))
        end = p.pos
        if p.take("}"):
            return axes, True
        if not p.take(","):
            before = p.text[start:end]
            help_ = f"write `{before}, ?`" if p.at("?") else comma_help(p, ref_body, before)
            raise p.expected("',' or '}'", "an axis", help_)
    p.expect("}", "'?'", "put the '?' last in its dimension")
    return axes, False


def _no_axis_help(p: Parser) -> str | None:
    if p.at("}") or p.at(","):
        return "remove the ','"
    return "write the axis as it is, without #sdy<..>" if p.at("#") else p.string_help()


def _priority(p: Parser, path: Path) -> int | None:
    start = p.start()
    word = p.peek_word()
    if word is None:
        return None
    if not _PRIORITY.fullmatch(word):
        meant = re.match(r"[a-zA-Z]?0*([0-9]{1,18})", word)
        raise p.error(
            f"expected a priority such as p1, found '{word[:40]}'",
            notes=["a priority has no leading zeros"] if re.fullmatch("p0[0-9]+", word) else [],
            help=f"write p{meant[1]}" if meant else "write a number directly after the 'p'",
        )
    p.take_word()
    if len(word) > 20 or int(word[1:]) > INT64_MAX:
        notes = [f"the largest is p{INT64_MAX}"]
        raise p.error("the priority does not fit 64 bits", start, p.pos, notes=notes)
    p.mark(path, start)
    return int(word[1:])


dimension_element = element(DimensionShardingAttr, dimension_body)


def sharding_body(p: Parser, path: Path) -> TensorShardingAttr:
    """`sharding := '<' mesh-ref ',' '[' [dim (',' dim)*] ']' named* '>'`."""
    start = p.start()
    p.expect("<", p.after())
    mesh_or_ref = _mesh_ref(p, (*path, "mesh_or_ref"))
    p.expect(",", "the mesh", _mesh_help(p, mesh_or_ref))
    dims_start = p.start()
    p.expect("[", "','")
    dims_path = (*path, "dim_shardings")
    dims = [] if p.take("]") else items(p, "]", dimension_element, dims_path, "a dimension sharding")
    p.mark(dims_path, dims_start)
    named: dict[str, list[AxisRefAttr]] = {}
    op = ReductionOp.SUM
    while p.take(","):
        op = _named_axes(p, path, named) or op
    p.expect(">", "the dimension shardings" if not named else "the axis list", _end_help(p))
    p.mark(path, start)
    return TensorShardingAttr(
        mesh_or_ref, tuple(dims), tuple(named.get("replicated", ())), tuple(named.get("unreduced", ())), op
    )


def _mesh_ref(p: Parser, path: Path) -> str | MeshAttr:
    """`mesh-ref := symbol | 'mesh' mesh`."""
    start = p.start()
    if p.peek_word() == "mesh":
        p.take_word()
        if not p.at("<"):
            raise p.expected("'<'", "'mesh'", "write @mesh for the mesh of that name")
        mesh = mesh_body(p, path)
        p.mark(path, start)
        return mesh
    if p.at("#"):
        return _mesh_alias(p, path)
    if not p.at("@"):
        raise p.expected("'@' and a mesh name, or 'mesh<..>'", "'<'", _mesh_ref_help(p))
    name = p.expect_symbol()
    if p.at("::"):
        raise p.error("a mesh is named by one symbol, not by a nested one", help=f"write {symbol(name)}")
    p.mark(path, start)
    return name


def _mesh_ref_help(p: Parser) -> str | None:
    start = p.start()
    name = re.match(r'"([^"\\\n]{1,60})"', p.text[start : start + 80])
    word = name[1] if name else p.peek_word()
    return None if word is None else f"write {symbol(word)}"


def _mesh_help(p: Parser, mesh_or_ref: str | MeshAttr) -> str | None:
    if isinstance(mesh_or_ref, MeshAttr) or p.text.startswith('"', p.pos - 1):
        return None
    if p.at("<"):
        return "write mesh<..> for a mesh in place"
    rest = re.match(r"[^\s,<>\[\]{}\"]+", p.text[p.pos : p.pos + 100])
    return None if rest is None else f"write {symbol(mesh_or_ref + rest[0])}"


def _mesh_alias(p: Parser, path: Path) -> str:
    start = p.start()
    name = p.take_hash()
    if name is None or "." in name or p.text.startswith("<", p.pos):
        is_mesh = name in ("sdy", "sdy.mesh")
        raise p.error(
            "expected '@' and a mesh name, or 'mesh<..>', found a full attribute",
            start,
            p.pos + (name is None),
            help="write mesh<..>, without the '#sdy.'" if is_mesh else None,
        )
    value = alias_value(p, name, start)
    inner = inside_alias(p, name, value) if isinstance(value, str) else None
    if inner is None or not inner.at("@"):
        if inner is not None and inner.at("#"):
            return _mesh_alias(inner, path)
        raise p.error(
            f"#{name} does not stand for a mesh name",
            start,
            p.pos,
            notes=["only an alias of '@name' can stand here; a mesh itself is written mesh<..>"],
        )
    mesh_name = inner.expect_symbol()
    finish(inner)
    p.mark(path, start)
    return mesh_name


def _end_help(p: Parser) -> str | None:
    if p.start() == len(p.text):
        return "add a '>'"
    word = p.peek_word()
    return f"write a ',' before {word}" if word in ("replicated", "unreduced") else None


def _named_axes(p: Parser, path: Path, named: dict[str, list[AxisRefAttr]]) -> ReductionOp | None:
    """`named := 'replicated' '=' '{' refs '}' | 'unreduced' '=' [op] '{' refs '}'`."""
    start = p.start()
    word = p.peek_word()
    if word not in ("replicated", "unreduced"):
        raise _named_error(p, word)
    p.take_word()
    if word in named:
        raise p.error(f"'{word}' stands twice", start, p.pos, help="put all its axes into one list")
    if not p.take("=") and (word == "replicated" or p.target is not Target.NEWER):
        raise p.expected("'='", f"'{word}'", f"write {word}=")
    op = _reduction_op(p) if word == "unreduced" else None
    open_start = p.start()
    p.expect("{", p.after(), "axes stand in braces: {..}" if p.at("[") else None)
    if p.at("}"):
        help_ = f"leave ', {word}={{}}' out: no list is how none is spelled"
        raise p.expected("an axis name in double quotes", "'{'", help_)
    field = f"{word}_axes"
    named[word] = items(p, "}", ref_element, (*path, field), "an axis")
    p.mark((*path, field), open_start)
    return op


def _named_error(p: Parser, word: str | None) -> ParseError:
    if p.at(">"):
        return p.expected("'replicated' or 'unreduced'", "','", "remove the ','")
    meant = None if word is None else closest(word, ("replicated", "unreduced"))
    return p.expected(
        "'replicated' or 'unreduced'", "','", None if meant is None else f"did you mean {meant}?"
    )


def _reduction_op(p: Parser) -> ReductionOp | None:
    word = p.peek_word()
    if word is None:
        return None
    op = _OPS.get(word)
    if p.target is not Target.NEWER:
        newer = ["reduction operators are accepted with target=Target.NEWER (--target newer)"] if op else []
        help_ = "drop the word: it is the default" if word == "sum" else None
        raise p.error(f"expected '{{' after {p.after()}, found '{word[:40]}'", notes=newer, help=help_)
    if op is None:
        raise p.expected("'{', or one of 'sum', 'max' and 'min',", p.after())
    p.take_word()
    return op


def _sharding_in_list(p: Parser, path: Path) -> TensorShardingAttr:
    found = fast_path.sharding_at(p.text, p.start()) if p.spans is None else None
    if found is None:
        return sharding_body(p, path)
    p.pos = found[1]
    return found[0]


sharding_element = element(TensorShardingAttr, _sharding_in_list)


def per_value_body(p: Parser, path: Path) -> TensorShardingPerValueAttr:
    """`per-value := '<' shardings '>'`."""
    start = p.start()
    p.expect("<", p.after())
    per_value = shardings(p, path)
    p.expect(">", "the list of shardings", "add a '>'" if p.start() == len(p.text) else None)
    p.mark(path, start)
    return per_value


def shardings(p: Parser, path: Path) -> TensorShardingPerValueAttr:
    """`shardings := '[' [sharding (',' sharding)*] ']'`, which is all that ops write."""
    start = p.start()
    p.expect("[", p.after())
    shardings = [] if p.take("]") else items(p, "]", sharding_element, (*path, "shardings"), "a sharding")
    p.mark((*path, "shardings"), start)
    p.mark(path, start)
    return TensorShardingPerValueAttr(tuple(shardings))
