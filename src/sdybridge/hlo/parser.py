"""XLA's sharding text to shardings: whole texts, and places in larger texts.

Source: `HloParserImpl::ParseSharding` in xla's `hlo/parser/hlo_parser.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.hlo import fast_path
from sdybridge.hlo.device_list import DeviceIds
from sdybridge.hlo.grid_parser import read_devices
from sdybridge.hlo.kinds import OpShardingType
from sdybridge.hlo.leaf import KINDS, Leaf, resolve
from sdybridge.hlo.lexer import Lexer
from sdybridge.hlo.metadata_parser import parse_metadata
from sdybridge.hlo.named_parser import MESH_WORDS, parse_named
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
    """`leaf := '{' item* '}' | '{' named '}'`."""
    if not p.at("{"):
        raise p.expected("'{' to start a sharding", f"write {{{p.lexeme}}}" if p.lexeme in KINDS else None)
    p.advance()
    if p.kind == "word" and p.lexeme in MESH_WORDS and target is not Target.CLASSIC:
        return parse_named(p, target)
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
        read_devices(p, leaf)
        leaf.spans["devices"] = Span(start, p.pos)
    else:
        leaf.devices = DeviceIds()  # this one replaces what was listed before
        leaf.devices.append(p.expect_integer("a device id"))
        leaf.spans["devices"] = leaf.spans["ids"] = Span(start, p.pos)


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
