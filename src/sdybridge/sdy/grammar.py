"""The productions of Shardy's attribute grammar, one function each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from sdybridge.errors import ParseError, VerificationError
from sdybridge.sdy.axis_ref import AxisRefAttr, SubAxisInfoAttr
from sdybridge.sdy.dimension import DimensionShardingAttr
from sdybridge.sdy.fields import INT64_MAX
from sdybridge.sdy.lexer import Lexer
from sdybridge.sdy.lists import (
    AllToAllParamAttr,
    AllToAllParamListAttr,
    AxisRefListAttr,
    ListOfAxisRefListsAttr,
)
from sdybridge.sdy.manual_axes import ManualAxesAttr
from sdybridge.sdy.mesh import MeshAttr, MeshAxisAttr, trusted_mesh
from sdybridge.sdy.printer import show, symbol
from sdybridge.sdy.sharding import ReductionOp, TensorShardingAttr, TensorShardingPerValueAttr
from sdybridge.sdy.suggestions import closest
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sdybridge.errors import Path
    from sdybridge.sdy.uniquing import Attribute

T = TypeVar("T")

_PLAIN_IDS = re.compile(r"(?:[ \t\r\n]*+[0-9]{1,18}+[ \t\r\n]*+,)*+")
_PRIORITY = re.compile(r"p(?:0|[1-9][0-9]*)")
_MAX_ALIASES = 100  # one within another


class Parser(Lexer):
    """A lexer with what the productions share.

    Attributes:
        target: Whose grammar to follow.
        aliases: What each `#alias` stands for.
        spans: Where to note the place of every part by its path, if anywhere.
        expanding: The aliases whose text this is, outermost first.
    """

    __slots__ = ("aliases", "expanding", "spans", "target")

    def __init__(
        self,
        source: Source,
        pos: int = 0,
        *,
        target: Target = Target.CURRENT,
        aliases: Mapping[str, str | Attribute] | None = None,
        spans: dict[Path, Span] | None = None,
        expanding: tuple[str, ...] = (),
    ) -> None:
        super().__init__(source, pos)
        self.target = target
        self.aliases = aliases or {}
        self.spans = spans
        self.expanding = expanding

    def mark(self, path: Path, start: int) -> None:
        """Notes that the part at `path` spans from `start` to here."""
        if self.spans is not None:
            self.spans[path] = Span(start, self.pos)


Production = "Callable[[Parser, Path], T]"


def stripped(p: Parser, cls: type[Attribute], path: Path) -> Attribute:
    """The attribute in its full form, by an alias, or without its `#sdy.name`."""
    if p.at("#"):
        return attribute(p, cls, path)
    if cls is TensorShardingPerValueAttr and p.at("["):
        return _per_value_in_op(p, path)
    return _BODIES[cls](p, path)


def attribute(p: Parser, cls: type[Attribute] | None, path: Path) -> Attribute:
    """`attribute := '#sdy.' word body | '#sdy<' word body '>' | '#' alias`."""
    start = p.start()
    name = p.take_hash()
    if name is None:
        raise p.expected("an attribute such as '#sdy.sharding<..>'", "the start" if not path else "'['")
    follows = p.text[p.pos : p.pos + 1]
    if name == "sdy" and follows == "<":
        p.pos += 1
        attr = _in_angles(p, cls, path)
    elif name.startswith("sdy."):
        attr = _dotted(p, cls, name[4:], start, path)
    elif "." in name or follows == "<":
        raise p.error(f"'#{name}' is not an attribute of Shardy", start, p.pos)
    else:
        attr = _alias(p, cls, name, start)
    p.mark(path, start)
    return attr


def _in_angles(p: Parser, cls: type[Attribute] | None, path: Path) -> Attribute:
    start = p.start()
    mnemonic = p.take_word()
    if mnemonic is None:
        raise p.expected("the name of an attribute", "'#sdy<'")
    attr = _BODIES[_class_of(p, cls, mnemonic, start)](p, path)
    p.expect(">", f"the {mnemonic}", "add a '>'")
    return attr


def _dotted(p: Parser, cls: type[Attribute] | None, mnemonic: str, start: int, path: Path) -> Attribute:
    found = _class_of(p, cls, mnemonic, start)
    if not found.is_dotted:
        inner = re.match(r"<([^<>]*)>|([{\[(\"][^<>]*)$", p.text[p.pos : p.pos + 100])
        body = "" if inner is None else inner[1] or inner[2]
        raise p.error(
            f"a {mnemonic} stands inside '#sdy<..>'",
            start,
            p.pos,
            help=f"write #sdy<{mnemonic}{body or '..'}>",
        )
    if not p.text.startswith("<", p.pos):
        spaced = p.at("<")
        raise p.expected(
            "'<'", f"'#sdy.{mnemonic}' directly", "drop the space before the '<'" if spaced else None
        )
    return _BODIES[found](p, path)


def _class_of(p: Parser, cls: type[Attribute] | None, mnemonic: str, start: int) -> type[Attribute]:
    found = _BY_MNEMONIC.get(mnemonic)
    if found is None:
        meant = closest(mnemonic, list(_BY_MNEMONIC))
        raise p.error(
            f"Shardy has no attribute {show(mnemonic)} that is read here",
            start,
            p.pos,
            help=None if meant is None else f"did you mean {meant}?",
        )
    if cls is not None and cls is not found:
        raise p.error(f"expected a {cls.mnemonic} here, found a {mnemonic}", start, p.pos)
    return found


def _alias(p: Parser, cls: type[Attribute] | None, name: str, start: int) -> Attribute:
    value = _alias_value(p, name, start)
    if not isinstance(value, str):
        if cls is not None and type(value) is not cls:
            raise p.error(f"expected a {cls.mnemonic} here, but #{name} is a {value.mnemonic}", start, p.pos)
        return value
    inner = _inside_alias(p, name, value)
    attr = attribute(inner, cls, ())
    finish(inner)
    return attr


def _alias_value(p: Parser, name: str, start: int) -> str | Attribute:
    if name in p.expanding or len(p.expanding) >= _MAX_ALIASES:
        raise p.error(f"the alias #{name} stands for itself", start, p.pos)
    value = p.aliases.get(name)
    if value is None:
        meant = closest(name, list(p.aliases))
        raise p.error(
            f"the alias #{name} is not defined",
            start,
            p.pos,
            help=None if meant is None else f"did you mean #{meant}?",
        )
    return value


def _inside_alias(p: Parser, name: str, text: str) -> Parser:
    source = Source(text, f"#{name}")
    return Parser(source, target=p.target, aliases=p.aliases, expanding=(*p.expanding, name))


def finish(p: Parser) -> None:
    """Accepts the ` : type` that MLIR lets follow an attribute, and then nothing more."""
    if p.take(":"):
        start = p.start()
        p.take("!")
        if p.take_word() is None:
            raise p.expected("a type", "':'")
        if p.text.startswith("<", p.pos):
            _skip_brackets(p, start)
    if p.start() < len(p.text):
        raise p.expected("nothing more", "the attribute", "remove the rest")


def _skip_brackets(p: Parser, start: int) -> None:
    depth = 0
    for bracket in re.finditer(r"<|(?<!-)>", p.text[p.pos :]):
        depth += 1 if bracket[0] == "<" else -1
        if depth == 0:
            p.pos += bracket.end()
            return
    raise p.error("the type is not closed", start, len(p.text))


def _items(p: Parser, close: str, item: Callable[[Parser, Path], T], path: Path, noun: str) -> list[T]:
    """`items := item (',' item)* close`."""
    found: list[T] = []
    while True:
        start = p.start()
        found.append(item(p, (*path, len(found))))
        end = p.pos
        if p.take(","):
            if p.at(close):
                raise p.expected(noun, "','", "remove the ','")
        elif p.take(close):
            return found
        else:
            raise p.expected(f"',' or '{close}'", noun, _comma_help(p, item, p.text[start:end]))


def _comma_help(p: Parser, item: Callable[[Parser, Path], object], before: str) -> str | None:
    """The two items with the comma that is missing between them, if the second is one."""
    start = p.start()
    probe = Parser(p.source, start, target=p.target, aliases=p.aliases, expanding=p.expanding)
    try:
        item(probe, ())
    except (ParseError, VerificationError):
        return None
    if len(before) + probe.pos - start > 80:
        return "add a ','"
    return f"write `{before}, {p.text[start : probe.pos]}`"


def _element(cls: type[T], body: Callable[[Parser, Path], T]) -> Callable[[Parser, Path], T]:
    """`element := body | attribute`, of a list that takes full attributes and aliases as well."""

    def parse(p: Parser, path: Path) -> T:
        return attribute(p, cls, path) if p.at("#") else body(p, path)  # type: ignore[arg-type, return-value]

    return parse


def mesh_body(p: Parser, path: Path) -> MeshAttr:
    """`mesh := '<' '[' [axis (',' axis)*] ']' [',' 'device_ids' '=' '[' int (',' int)* ']'] '>'`."""
    start = p.start()
    p.expect("<", "the mesh's name" if start else "the start")
    p.expect("[", "'<'")
    outer, p.spans = p.spans, {} if p.spans is None else p.spans
    axes = [] if p.take("]") else _items(p, "]", _axis, (*path, "axes"), "a mesh axis")
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
    ids += _items(p, "]", lambda q, _: q.expect_integer("a device id", "'[' or ','"), (), "a device id")
    p.mark((*path, "device_ids"), start)
    return ids


def _plain_ids(p: Parser) -> list[int]:
    """All at once, of a long list, what is nothing but decimal digits, spaces and commas."""
    plain = _PLAIN_IDS.match(p.text, p.pos)
    if not plain or not plain[0]:
        return []
    p.pos = plain.end()
    return list(map(int, plain[0][:-1].split(",")))


def _place(p: Parser, path: Path) -> Span:
    """The span of a part, or of the smallest part around it that has one."""
    spans = p.spans or {}
    if path[-2:-1] == ("device_ids",) and path[:-1] in spans and isinstance(path[-1], int):
        listed = spans[path[:-1]]
        for i, number in enumerate(re.finditer(r"-?\s*[0-9A-Za-z]+", p.text[listed.start : listed.end])):
            if i == path[-1]:
                return Span(*number.span()).shifted(listed.start)
    return nearest(spans, path, Span(p.pos, p.pos))


def nearest(spans: Mapping[Path, Span], path: Path, otherwise: Span) -> Span:
    """The span of the smallest part around `path` that has one."""
    while path not in spans:
        if not path:
            return otherwise
        path = path[:-1]
    return spans[path]


def axis_body(p: Parser, path: Path) -> MeshAxisAttr:
    """`axis := string '=' int`."""
    start = p.start()
    name = p.expect_string("an axis name in double quotes", "'[' or ','" if path else "the start")
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


def sub_axis_body(p: Parser, path: Path) -> SubAxisInfoAttr:
    """`sub-axis := '(' int ')' int`."""
    start = p.start()
    p.expect("(", "':'" if path else "the start", "a part of an axis is written (pre-size)size, such as (2)4")
    pre_size = p.expect_integer("a pre-size", "'('")
    p.expect(")", "the pre-size")
    size = p.expect_integer("a size", "')'")
    p.mark(path, start)
    return SubAxisInfoAttr(pre_size, size)


def ref_body(p: Parser, path: Path) -> AxisRefAttr:
    """`ref := string [':' sub-axis]`."""
    start = p.start()
    name = p.expect_string("an axis name in double quotes", _before_item(p))
    sub = _sub_axis(p, (*path, "sub_axis_info")) if p.take(":") else None
    p.mark(path, start)
    return AxisRefAttr(name, sub)


def _before_item(p: Parser) -> str:
    before = p.text[: p.pos].rstrip()[-1:]
    return f"'{before}'" if before else "the start"


def dimension_body(p: Parser, path: Path) -> DimensionShardingAttr:
    """`dim := '{' [ref (',' ref)* [',' '?'] | '?'] '}' ['p' digits]`."""
    start = p.start()
    p.expect("{", _before_item(p), 'a dimension is written {..}, such as {} or {"x"}')
    axes: list[AxisRefAttr] = []
    is_closed = True
    while not p.take("}"):
        if p.take("?"):
            is_closed = False
            p.expect("}", "'?'", "put the '?' last in its dimension")
            break
        ref_start = p.start()
        axes.append(ref_body(p, (*path, "axes", len(axes))))
        ref_end = p.pos
        if p.take(","):
            if p.at("}"):
                raise p.expected("an axis name in double quotes or '?'", "','", "remove the ','")
        elif not p.at("}"):
            raise p.expected("',' or '}'", "an axis", _dim_help(p, p.text[ref_start:ref_end]))
    priority = _priority(p, (*path, "priority"))
    p.mark(path, start)
    return DimensionShardingAttr(tuple(axes), is_closed, priority)


def _dim_help(p: Parser, before: str) -> str | None:
    return f"write `{before}, ?`" if p.at("?") else _comma_help(p, ref_body, before)


def _priority(p: Parser, path: Path) -> int | None:
    end = p.pos
    start = p.start()
    word = p.peek_word()
    if word is None:
        p.pos = end  # what follows is not ours
        return None
    digits = "".join(c for c in word if c.isdigit())
    if not _PRIORITY.fullmatch(word):
        raise p.error(
            f"expected a priority such as p1, found '{word[:40]}'",
            help=f"write p{int(digits)}"
            if digits and len(digits) < 19
            else "write 'p' and a number, without a space",
            notes=["a priority has no leading zeros"] if word[:2] == "p0" and word[1:].isdigit() else [],
        )
    p.take_word()
    if len(digits) > 19 or int(digits) > INT64_MAX:
        raise p.error(
            "the priority does not fit 64 bits", start, p.pos, notes=[f"the largest is p{INT64_MAX}"]
        )
    p.mark(path, start)
    return int(digits)


def sharding_body(p: Parser, path: Path) -> TensorShardingAttr:
    """`sharding := '<' mesh-ref ',' '[' [dim (',' dim)*] ']' named* '>'`."""
    start = p.start()
    p.expect("<", _before_item(p))
    mesh_or_ref = _mesh_ref(p, (*path, "mesh_or_ref"))
    p.expect(",", "the mesh", _mesh_help(p, mesh_or_ref))
    dims_start = p.start()
    p.expect("[", "','")
    dims_path = (*path, "dim_shardings")
    dims = [] if p.take("]") else _items(p, "]", _dimension, dims_path, "a dimension sharding")
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
    name = re.match(r'"([^"\\\n]{1,60})"', p.text[p.pos : p.pos + 80])
    word = name[1] if name else p.peek_word()
    return None if word is None else f"write {symbol(word)}"


def _mesh_help(p: Parser, mesh_or_ref: str | MeshAttr) -> str | None:
    if isinstance(mesh_or_ref, MeshAttr) or p.text[p.pos - 1 : p.pos] in (" ", '"'):
        return None
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
    value = _alias_value(p, name, start)
    inner = _inside_alias(p, name, value) if isinstance(value, str) else None
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
    has_equals = p.take("=")
    op = _reduction_op(p) if word == "unreduced" else None
    if not has_equals and (word == "replicated" or p.target is not Target.NEWER):
        raise p.expected("'='", f"'{word}'", f"write {word}=")
    open_start = p.start()
    p.expect("{", f"'{word}='", "axes stand in braces: {..}" if p.at("[") else None)
    if p.at("}"):
        help_ = f"leave ', {word}={{}}' out: no list is how none is spelled"
        raise p.expected("an axis name in double quotes", "'{'", help_)
    field = f"{word}_axes"
    named[word] = _items(p, "}", _ref, (*path, field), "an axis")
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
    if word not in _OPS:
        return None
    if p.target is not Target.NEWER:
        raise p.error(
            f"expected '{{' after 'unreduced=', found '{word}'",
            notes=["reduction operators are accepted with target=Target.NEWER"],
            help="drop the word: it is the default" if word == "sum" else None,
        )
    p.take_word()
    return _OPS[word]


_OPS = {op.value: op for op in ReductionOp}


def per_value_body(p: Parser, path: Path) -> TensorShardingPerValueAttr:
    """`per-value := '<' '[' [sharding (',' sharding)*] ']' '>'`."""
    start = p.start()
    p.expect("<", _before_item(p))
    per_value = _per_value_in_op(p, path)
    p.expect(">", "the list of shardings", "add a '>'" if p.start() == len(p.text) else None)
    p.mark(path, start)
    return per_value


def _per_value_in_op(p: Parser, path: Path) -> TensorShardingPerValueAttr:
    start = p.start()
    p.expect("[", _before_item(p))
    shardings = [] if p.take("]") else _items(p, "]", _sharding, (*path, "shardings"), "a sharding")
    p.mark((*path, "shardings"), start)
    p.mark(path, start)
    return TensorShardingPerValueAttr(tuple(shardings))


def manual_axes_body(p: Parser, path: Path) -> ManualAxesAttr:
    """`manual := '{' [string (',' string)*] '}'`."""
    start = p.start()
    p.expect("{", _before_item(p))
    names = [] if p.take("}") else _items(p, "}", _manual_axis, (*path, "value"), "an axis name")
    p.mark(path, start)
    return ManualAxesAttr(names)


def _manual_axis(p: Parser, path: Path) -> str:
    start = p.start()
    if p.at("#"):
        hash_start = p.start()
        alias = p.take_hash() or ""
        value = _alias_value(p, alias, hash_start)
        if not isinstance(value, str):
            raise p.error(
                f"expected an axis name here, but #{alias} is a {value.mnemonic}", hash_start, p.pos
            )
        inner = _inside_alias(p, alias, value)
        name = _manual_axis(inner, ())
        finish(inner)
    else:
        name = p.expect_string("an axis name in double quotes", _before_item(p))
        colon = p.start()
        if p.take(":") and p.take_word() != "none":
            raise p.error("an axis name has no type", colon, p.pos, help="write the name only")
    p.mark(path, start)
    return name


def ref_list_body(p: Parser, path: Path) -> AxisRefListAttr:
    """`refs := '{' [ref (',' ref)*] '}'`."""
    start = p.start()
    p.expect("{", _before_item(p))
    refs = [] if p.take("}") else _items(p, "}", _ref, (*path, "value"), "an axis")
    p.mark(path, start)
    return AxisRefListAttr(refs)


def list_of_ref_lists_body(p: Parser, path: Path) -> ListOfAxisRefListsAttr:
    """`lists := '[' [refs (',' refs)*] ']'`."""
    start = p.start()
    p.expect("[", _before_item(p))
    lists = [] if p.take("]") else _items(p, "]", _ref_list, (*path, "value"), "a list of axes")
    p.mark(path, start)
    return ListOfAxisRefListsAttr(lists)


def param_body(p: Parser, path: Path) -> AllToAllParamAttr:
    """`param := '{' ref (',' ref)* '}' ':' int '->' int`."""
    start = p.start()
    p.expect("{", _before_item(p))
    axes = _items(p, "}", _ref, (*path, "axes"), "an axis")
    p.expect(":", "the axes", "name the dimensions, such as `: 0->1`")
    src_dim = p.expect_integer("a dimension", "':'")
    p.expect("->", "the source dimension")
    tgt_dim = p.expect_integer("a dimension", "'->'")
    p.mark(path, start)
    return AllToAllParamAttr(axes, src_dim, tgt_dim)


def param_list_body(p: Parser, path: Path) -> AllToAllParamListAttr:
    """`params := '[' [param (',' param)*] ']'`."""
    start = p.start()
    p.expect("[", _before_item(p))
    params = [] if p.take("]") else _items(p, "]", _param, (*path, "value"), "a parameter")
    p.mark(path, start)
    return AllToAllParamListAttr(params)


_axis = _element(MeshAxisAttr, axis_body)
_sub_axis = _element(SubAxisInfoAttr, sub_axis_body)
_ref = _element(AxisRefAttr, ref_body)
_dimension = _element(DimensionShardingAttr, dimension_body)
_sharding = _element(TensorShardingAttr, sharding_body)
_ref_list = _element(AxisRefListAttr, ref_list_body)
_param = _element(AllToAllParamAttr, param_body)

_BODIES: dict[type[Attribute], Callable[[Parser, Path], Attribute]] = {
    MeshAxisAttr: axis_body,
    MeshAttr: mesh_body,
    SubAxisInfoAttr: sub_axis_body,
    AxisRefAttr: ref_body,
    DimensionShardingAttr: dimension_body,
    TensorShardingAttr: sharding_body,
    TensorShardingPerValueAttr: per_value_body,
    ManualAxesAttr: manual_axes_body,
    AxisRefListAttr: ref_list_body,
    ListOfAxisRefListsAttr: list_of_ref_lists_body,
    AllToAllParamAttr: param_body,
    AllToAllParamListAttr: param_list_body,
}
_BY_MNEMONIC = {cls.mnemonic: cls for cls in _BODIES}
