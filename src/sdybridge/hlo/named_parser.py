"""The text of named shardings: `mesh['a'=2,'b'=4], [{'a'}, {'b', ?}]`, up to the closing brace.

Source: `HloParserImpl::ParseNamedSharding` in xla's `hlo/parser/hlo_parser.cc`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo.axis_ref import AxisRef, SubAxis
from sdybridge.hlo.kinds import ReductionOp
from sdybridge.hlo.mesh_parser import parse_maximal_mesh, parse_mesh
from sdybridge.hlo.metadata_parser import parse_metadata
from sdybridge.hlo.named_sharding import DimensionSharding, NamedSharding
from sdybridge.hlo.sharding import HloSharding
from sdybridge.hlo.suggestions import closest
from sdybridge.source import Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from sdybridge.errors import ParseError, Path
    from sdybridge.hlo.lexer import Lexer
    from sdybridge.hlo.mesh import Mesh
    from sdybridge.hlo.metadata import OpMetadata

MESH_WORDS = ("mesh", "maximal_mesh", "single_device")
"""The words that a named sharding starts with."""

_SHORT_FORMS = ("replicated", "manual", "unreduced")
_LISTS = ("replicated", "unreduced", "manual")
_ATTRIBUTES = (*_LISTS, "metadata")
_REDUCTIONS = {op.name.lower(): op for op in ReductionOp}
_INDEX = re.compile(r"[ \t\n\v\f\r]*\+?([0-9]{1,18})[ \t\n\v\f\r]*")


class _Named:
    """The parts of one named sharding, as far as they are read.

    Attributes:
        mesh: The mesh.
        dims: The dimensions.
        lists: The axes behind `replicated=`, `unreduced=` and `manual=`.
        reduction_op: How unreduced values combine.
        metadata: The metadata entries.
        spans: Where the parts are that a rule may find fault with, by the way to them.
    """

    __slots__ = ("dims", "lists", "mesh", "metadata", "reduction_op", "spans")

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.dims: list[DimensionSharding] = []
        self.lists: dict[str, list[AxisRef]] = {name: [] for name in _LISTS}
        self.reduction_op = ReductionOp.SUM
        self.metadata: list[OpMetadata] = []
        self.spans: dict[Path, Span] = {}


def parse_named(p: Lexer, target: Target) -> HloSharding:
    """`named := mesh [','] body '}'`, where one of `MESH_WORDS` comes next."""
    start = p.start
    is_maximal = not p.at("mesh")
    p.advance()
    named = _Named(parse_maximal_mesh(p) if is_maximal else parse_mesh(p))
    named.spans[("mesh",)] = Span(start, p.pos)
    if is_maximal:
        if p.take(","):
            _attribute(p, named, target, ("metadata",))
    else:
        p.take(",")
        _body(p, named, target)
    if not p.take("}"):
        help = "separate attributes with ','" if p.kind == "attribute" else "add a '}'"  # noqa: A001
        raise p.expected("',' or '}'", None if p.kind == "bad" else help)
    return _resolve(p, named)


def _resolve(p: Lexer, named: _Named) -> HloSharding:
    lists = {f"{name}_axes": axes for name, axes in named.lists.items()}
    try:
        sharding = NamedSharding(named.mesh, named.dims, **lists)
    except VerificationError as error:
        span = named.spans.get(error.path) or named.spans[("mesh",)]
        raise p.error(error.message, span.start, span.end, help=error.help) from None
    hlo = HloSharding.named(sharding, metadata=named.metadata)
    return hlo if named.reduction_op is ReductionOp.SUM else hlo.with_reduction_op(named.reduction_op)


def _body(p: Lexer, named: _Named, target: Target) -> None:
    """`short-form (',' metadata)* | '[' [dim (',' dim)*] ']' (',' attribute)*`."""
    if p.kind == "word" and p.lexeme in _SHORT_FORMS:
        _short_form(p, named, target)
        allowed: tuple[str, ...] = ("metadata",)
    elif target is Target.NEWER and p.at("unreduced="):
        _short_form(p, named, target)
        allowed = ("metadata",)
    else:
        _dims(p, named)
        allowed = _ATTRIBUTES
    while p.take(","):
        _attribute(p, named, target, allowed)


def _short_form(p: Lexer, named: _Named, target: Target) -> None:
    """`'replicated' | 'manual' | 'unreduced'`; newer releases: `'unreduced' ['=' op] [axes]`."""
    start, word = p.start, p.lexeme.removesuffix("=")
    has_reduction = p.kind == "attribute"
    p.advance()
    if has_reduction:
        named.reduction_op = _reduction(p)
    if word == "replicated":
        return
    axes = named.lists[word]
    if not named.mesh.axis_names:
        raise p.error(
            f"a mesh without axes has none that are {word}", start, start + len(word), help="write replicated"
        )
    if target is Target.NEWER and word == "unreduced" and p.at("{"):
        _axis_list(p, named, axes, (f"{word}_axes",))
    else:
        axes += map(AxisRef, range(len(named.mesh.axis_names)))


def _reduction(p: Lexer) -> ReductionOp:
    if p.lexeme not in _REDUCTIONS:
        raise p.expected("sum, max or min")
    op = _REDUCTIONS[p.lexeme]
    p.advance()
    return op


def _dims(p: Lexer, named: _Named) -> None:
    """`'[' [dim (',' dim)*] ']'`."""
    if not p.at("["):
        meant = closest(p.lexeme, _SHORT_FORMS) if p.kind == "word" else None
        raise p.expected(
            "the dimensions in brackets, or replicated, manual or unreduced",
            None if meant is None else f"did you mean {meant}?",
        )
    p.advance()
    if p.take("]"):
        return
    while True:
        if not p.at("{"):
            raise p.expected("a dimension in braces", "remove the ','" if p.at("]") else None)
        _dim(p, named)
        if p.take("]"):
            return
        if not p.take(","):
            raise p.expected("',' or ']'", "separate dimensions with ','" if p.at("{") else "add a ']'")


def _dim(p: Lexer, named: _Named) -> None:
    """`'{' '}' | '{' '?' '}' | '{' ref (',' ref)* [',' '?'] '}'`."""
    p.advance()
    axes: list[AxisRef] = []
    path: Path = ("dim_shardings", len(named.dims), "axes")
    is_closed = True
    while not p.take("}"):
        if axes and not p.take(","):
            raise p.expected(
                "',' or '}'", "separate axes with ','" if p.at("?") or _at_name(p) else "add a '}'"
            )
        if p.take("?"):
            is_closed = False
            if not p.take("}"):
                raise p.expected("'}' behind the '?'", "write the '?' last" if p.at(",") else "add a '}'")
            break
        _ref(p, named, axes, path)
    named.dims.append(DimensionSharding(tuple(axes), is_closed))


def _axis_list(p: Lexer, named: _Named, axes: list[AxisRef], path: Path) -> None:
    """`'{' [ref (',' ref)*] '}'`."""
    p.expect("{", "write the axes in braces")
    is_first = True
    while not p.take("}"):
        if not is_first and not p.take(","):
            raise p.expected("',' or '}'", "separate axes with ','" if _at_name(p) else "add a '}'")
        is_first = False
        _ref(p, named, axes, path)


def _at_name(p: Lexer) -> bool:
    return p.kind in ("string", "word", "name")


def _ref(p: Lexer, named: _Named, axes: list[AxisRef], path: Path) -> None:
    """`ref := name [':' '(' INT ')' INT]`."""
    start, kind = p.start, p.kind
    if kind in ("word", "name"):
        name = p.lexeme.removesuffix(":")
        p.advance()
    else:
        if p.at("}") and p.text[p.pos - 1] == ",":
            raise p.expected("an axis", "remove the ','")
        name = p.expect_string("name of an axis")
    index = _axis_index(p, named.mesh, name, start, start + len(name) if kind == "name" else p.pos)
    sub = _sub_axis(p) if kind == "name" or p.take(":") else None
    named.spans[(*path, len(axes))] = Span(start, p.pos)
    axes.append(AxisRef(index, sub))


def _axis_index(p: Lexer, mesh: Mesh, name: str, start: int, end: int) -> int:
    """Which axis a name, or else the number in it, stands for."""
    names = mesh.axis_names
    if name in names:
        return names.index(name)
    number = _INDEX.fullmatch(name)
    if number and int(number[1]) < len(names):
        return int(number[1])
    meant = closest(name, names)
    raise p.error(
        f"the mesh has no axis named '{name[:60]}'",
        start,
        end,
        notes=[f"its axes are {', '.join([repr(one[:60]) for one in names[:16]])}"] if names else (),
        help=None if meant is None else f"did you mean '{meant}'?",
    )


def _sub_axis(p: Lexer) -> SubAxis:
    """`'(' INT ')' INT`."""
    p.expect("(", "write (pre-size)size behind the ':'")
    start = p.start
    pre_size = p.expect_integer("the pre-size of a sub-axis")
    p.expect(")", "add a ')'")
    size = p.expect_integer("the size of a sub-axis")
    try:
        return SubAxis(pre_size, size)
    except VerificationError as error:
        raise p.error(error.message, start - 1, p.pos) from None


def _attribute(p: Lexer, named: _Named, target: Target, allowed: tuple[str, ...]) -> None:
    """`attribute := ('replicated' | 'unreduced' | 'manual') '=' axes | 'metadata' '=' metadata`."""
    name = p.lexeme[:-1]
    if p.kind != "attribute" or name not in allowed:
        raise _no_attribute(p, allowed)
    p.advance()
    if name == "metadata":
        named.metadata += parse_metadata(p, target)
        return
    if target is Target.NEWER and name == "unreduced" and p.kind == "word":
        named.reduction_op = _reduction(p)
    _axis_list(p, named, named.lists[name], (f"{name}_axes",))


def _no_attribute(p: Lexer, allowed: tuple[str, ...]) -> ParseError:
    lexeme = p.lexeme
    if lexeme in ("shard_as", "shard_like"):
        return p.error(
            "a sharding over a named mesh has no shard group", help="give its form over a device grid"
        )
    if p.kind == "word" and lexeme in allowed:
        return p.expected("an attribute", f"write {lexeme}=")
    if p.kind == "attribute" and lexeme[:-1] in _ATTRIBUTES:
        return p.error(
            f"{lexeme} does not go with what stands before it", notes=["only metadata= may follow here"]
        )
    if p.kind == "attribute":
        meant = closest(lexeme[:-1], allowed)
        return p.error(
            f"a sharding over a named mesh has no attribute {lexeme[:60]}",
            notes=[f"the attributes are {', '.join(f'{name}=' for name in allowed)}"],
            help=None if meant is None else f"did you mean {meant}=?",
        )
    return p.expected("an attribute", "remove the ','" if p.at("}") else None)
