"""The device grid of a sharding: `[4,2]<=[2,4]T(1,0)`, or `[2,2]0,2,1,3`, as items of a `Leaf`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.hlo.device_list import read_device_ids
from sdybridge.source import Span

if TYPE_CHECKING:
    from sdybridge.hlo.leaf import Leaf
    from sdybridge.hlo.lexer import Lexer


def read_devices(p: Lexer, leaf: Leaf) -> None:
    """`'[' ints ']' ('<=' '[' ints ']' ['T' '(' ints ')'] | ints)`."""
    start = p.start
    p.expect("[")
    # XLA exports the grid of a scalar on a mesh of one device as `[]<=[1]`, though it does not read that.
    if not (p.at("]") and p.text.startswith("]<=[1]", p.start)):
        _sizes(p, leaf, "dims")
    p.expect("]", "add a ']'")
    leaf.spans["dims"] = Span(start, p.pos)
    if p.take("<="):
        read_iota(p, leaf)
        return
    start = p.start
    if p.at("}") or p.at("<"):
        raise p.expected("the devices", "write <=[..] for devices in order, or list them")
    read_device_ids(p, leaf.devices)
    leaf.spans["ids"] = Span(start, p.pos)
    if p.kind == "integer":
        raise p.expected("',' or the end of the device list", "separate device ids with ','")


def read_iota(p: Lexer, leaf: Leaf) -> None:
    """`'[' INT ']' | '[' INT (',' INT)+ ']' 'T' '(' INT (',' INT)* ')'`."""
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
