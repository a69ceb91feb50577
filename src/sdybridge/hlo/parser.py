"""XLA's sharding text to shardings: whole texts, and places in larger texts.

Source: `HloParserImpl::ParseSharding` in xla's `hlo/parser/hlo_parser.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.hlo import fast_path
from sdybridge.hlo.device_list import DeviceIds, read_device_ids
from sdybridge.hlo.kinds import OpShardingType
from sdybridge.hlo.leaf import KINDS, Leaf, resolve
from sdybridge.hlo.lexer import Lexer
from sdybridge.hlo.metadata_parser import parse_metadata
from sdybridge.hlo.sharding import HloSharding, set_parser
from sdybridge.hlo.suggestions import closest
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from sdybridge.errors import ParseError

_GROUP_WORDS = ("shard_as", "shard_like")
_WORDS = (*KINDS, "last_tile_dim_replicate", *_GROUP_WORDS)
_ATTRIBUTES = ("device", "devices", "last_tile_dims", "metadata")
_TYPES = {
    "maximal": OpShardingType.MAXIMAL,
    "replicated": OpShardingType.REPLICATED,
    "manual": OpShardingType.MANUAL,
    "unreduced": OpShardingType.UNREDUCED,
}
_NAMED = ("mesh", "maximal_mesh")


def parse_sharding(text: str, *, name: str = "<string>", target: Target = Target.CURRENT) -> HloSharding:
    """See `HloSharding.from_string`."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}")
    found = fast_path.sharding(text, target)
    if found is not None:
        return found
    p = Lexer(Source(text, name))
    sharding = _sharding(p, target)
    if p.kind != "end":
        raise p.expected("nothing more", "remove the rest")
    return sharding


def parse_prefix(
    text: str | Source, pos: int = 0, *, name: str = "<string>", target: Target = Target.CURRENT
) -> tuple[HloSharding, int]:
    """The sharding that starts at `pos` of a larger text, and where it ends.

    Args:
        text: The text, or the source that holds it, in which errors are located.
        pos: Where the sharding starts; white space and comments before it are skipped.
        name: What error messages call the text, unless it is a source.
        target: Whose grammar to follow.

    Raises:
        ParseError: No sharding starts there, or its items do not go together.

    >>> parse_prefix("ROOT add = f32[8] add(a, b), sharding={devices=[2]<=[2]}, metadata={}", 38)
    (HloSharding.tile(TileAssignment.iota((2,))), 56)
    """
    source = text if isinstance(text, Source) else Source(text, name)
    found = fast_path.sharding_at(source.text, pos, target)
    if found is not None:
        return found
    p = Lexer(source, pos)
    return _sharding(p, target), p.pos


def _sharding(p: Lexer, target: Target) -> HloSharding:
    """`sharding := '{' '}' | '{' leaf (',' leaf)* '}' | leaf`."""
    if not p.at("{"):
        raise p.expected("'{' to start a sharding", f"write {{{p.lexeme}}}" if p.lexeme in KINDS else None)
    start = p.pos
    p.advance()
    if p.take("}"):
        return HloSharding.flat_tuple([])
    if not p.at("{"):
        p.pos = start
        return _leaf(p, target)
    elements = [_element(p, target)]
    while p.take(","):
        if p.at("}"):
            raise p.expected("the sharding of another element", "remove the ','")
        elements.append(_element(p, target))
    if p.at("{"):
        raise p.expected("',' or '}'", "separate the elements of the tuple with ','")
    p.expect("}", "add a '}'")
    return HloSharding.flat_tuple(elements)


def _element(p: Lexer, target: Target) -> HloSharding:
    found = fast_path.leaf_at(p.text, p.start, target)
    if found is None:
        return _leaf(p, target)
    p.pos = found[1]
    return found[0]


def _leaf(p: Lexer, target: Target) -> HloSharding:
    """`leaf := '{' item* '}'`."""
    if not p.at("{"):
        raise p.expected("'{' to start a sharding", f"write {{{p.lexeme}}}" if p.lexeme in KINDS else None)
    p.advance()
    if p.kind == "word" and p.lexeme in _NAMED and target is not Target.CLASSIC:
        raise p.error("a sharding over a named mesh is not read yet", help="give its form over a device grid")
    leaf = Leaf(p.start)
    while not p.take("}"):
        _item(p, leaf, target)
    return resolve(p, leaf, target)


def _item(p: Lexer, leaf: Leaf, target: Target) -> None:
    """`item := kind | word [INT] | name '=' value`; there is nothing between two items."""
    start, lexeme = p.start, p.lexeme
    if p.kind == "attribute" and lexeme[:-1] in _ATTRIBUTES:
        p.advance()
        _attribute(p, leaf, lexeme[:-1], start, target)
    elif p.kind == "word" and lexeme in _WORDS:
        if lexeme == "unreduced":
            _check_unreduced(p, target)
        p.advance()
        if lexeme in _GROUP_WORDS:
            leaf.group = p.expect_integer("the number of a group")
        leaf.words[lexeme] = Span(start, p.pos)
    else:
        raise _no_item(p, leaf)


def _attribute(p: Lexer, leaf: Leaf, name: str, start: int, target: Target) -> None:
    if name == "metadata":
        leaf.metadata += parse_metadata(p, target)
    elif name == "last_tile_dims":
        leaf.types += _type_list(p, target)
        leaf.spans["types"] = Span(start, p.pos)
    elif name == "devices":
        _devices(p, leaf)
        leaf.spans["devices"] = Span(start, p.pos)
    else:
        leaf.devices = DeviceIds()  # this one replaces what was listed before
        leaf.devices.append(p.expect_integer("a device id"))
        leaf.spans["devices"] = leaf.spans["ids"] = Span(start, p.pos)


def _devices(p: Lexer, leaf: Leaf) -> None:
    """`'[' ints ']' ('<=' '[' ints ']' ['T' '(' ints ')'] | ints)`."""
    start = p.start
    p.expect("[")
    # XLA exports the grid of a scalar on a mesh of one device as `[]<=[1]`, though it does not read that.
    if not (p.at("]") and p.text.startswith("]<=[1]", p.start)):
        _sizes(p, leaf, "dims")
    p.expect("]", "add a ']'")
    leaf.spans["dims"] = Span(start, p.pos)
    if p.take("<="):
        _iota(p, leaf)
        return
    start = p.start
    if p.at("}") or p.at("<"):
        raise p.expected("the devices", "write <=[..] for devices in order, or list them")
    read_device_ids(p, leaf.devices)
    leaf.spans["ids"] = Span(start, p.pos)
    if p.kind == "integer":
        raise p.expected("',' or the end of the device list", "separate device ids with ','")


def _iota(p: Lexer, leaf: Leaf) -> None:
    start = p.start
    p.expect("[", "write the number in brackets" if p.kind == "integer" else None)
    _sizes(p, leaf, "reshape_dims")
    p.expect("]", "add a ']'")
    leaf.spans["reshape_dims"] = Span(start, p.pos)
    rank = len(leaf.reshape_dims)
    if rank == 1:
        leaf.transpose_perm.append(0)
        if p.at("T"):
            raise p.expected("no T(..) where one dimension is counted", "remove it")
        return
    start = p.start
    if not p.at("T"):
        help = "write T(..), or <=[n] for n devices in order"  # noqa: A001
        is_other_word = p.kind == "word" and p.text.startswith("(", start + len(p.lexeme))
        raise p.expected("'T('", "write T" if is_other_word else help)
    p.advance()
    p.expect("(")
    _permutation(p, leaf, rank)
    p.expect(")", "add a ')'")
    leaf.spans["transpose_perm"] = Span(start, p.pos)


def _sizes(p: Lexer, leaf: Leaf, field: str) -> None:
    """`ints := INT (',' INT)*`, added to the dims or the reshape dims."""
    found: list[int] = getattr(leaf, field)
    while True:
        start = p.start
        size = p.expect_integer("the size of a dimension")
        found.append(size)
        if size < 1:  # wrong only if the sharding turns out to be tiled
            leaf.spans.setdefault(f"bad {field}", Span(start, p.pos))
        if not p.take(","):
            return


def _permutation(p: Lexer, leaf: Leaf, rank: int) -> None:
    """`ints`, each a dimension of the count, added to the permutation."""
    found = leaf.transpose_perm
    seen = set(found)
    while True:
        start = p.start
        dimension = p.expect_integer("a dimension of the count")
        if not 0 <= dimension < rank:
            raise p.error(
                f"there is no dimension {dimension} to move: the count has 0..{rank - 1}", start, p.pos
            )
        found.append(dimension)
        if dimension in seen:
            leaf.spans.setdefault("repeated", Span(start, p.pos))
        seen.add(dimension)
        if not p.take(","):
            return


def _type_list(p: Lexer, target: Target) -> list[OpShardingType]:
    """`'{' [type (',' type)*] '}'`."""
    p.expect("{", f"write {{{p.lexeme}}}" if p.lexeme in _TYPES else None)
    types: list[OpShardingType] = []
    if p.take("}"):
        return types
    while True:
        if p.lexeme not in _TYPES:
            raise _no_type(p, target)
        if p.at("unreduced"):
            _check_unreduced(p, target)
        types.append(_TYPES[p.lexeme])
        p.advance()
        if p.take("}"):
            return types
        if not p.take(","):
            raise p.expected("',' or '}'", "separate the types with ','" if p.kind == "word" else "add a '}'")


def _check_unreduced(p: Lexer, target: Target) -> None:
    if target is Target.CLASSIC:
        raise p.error(
            "the classic XLA has no unreduced shardings", help="read it for Target.CURRENT, which has"
        )


def _no_type(p: Lexer, target: Target) -> ParseError:
    if p.at("}"):
        return p.expected("a type", "remove the ','")
    known = [name for name in _TYPES if name != "unreduced" or target is not Target.CLASSIC]
    meant = closest(p.lexeme, known) if p.kind == "word" else None
    return p.error(
        f"expected the type of a dimension{p.after()}, found {p.found()}",
        notes=[f"the types are {', '.join(known)}"],
        help=None if meant is None else f"did you mean {meant}?",
    )


def _no_item(p: Lexer, leaf: Leaf) -> ParseError:
    """The error about a token that starts no item."""
    kind, lexeme = p.kind, p.lexeme
    if lexeme == ",":
        return p.expected("an item or '}'", "remove the ',': items follow each other without one")
    if lexeme == "{" and p.start == leaf.start:
        return p.error("tuples do not nest", help="list the leaves of all tuples in pre-order, in one tuple")
    if kind == "word" and lexeme in _ATTRIBUTES:
        return p.expected("an item or '}'", f"write {lexeme}= without a gap")
    if kind == "attribute":
        meant = closest(lexeme[:-1], _ATTRIBUTES)
        return p.error(
            f"a sharding has no attribute {lexeme[:60]}",
            notes=[f"the attributes are {', '.join(f'{name}=' for name in _ATTRIBUTES)}"],
            help=None if meant is None else f"did you mean {meant}=?",
        )
    if kind in ("end", "mark"):
        return p.expected("an item or '}'", "add a '}'" if kind == "end" else None)
    meant = closest(lexeme, _WORDS) if kind == "word" else None
    return p.expected("an item or '}'", None if meant is None else f"did you mean {meant}?")


set_parser(parse_sharding)
