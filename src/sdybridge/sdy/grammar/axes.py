"""Axis refs, and the lists of axes that ops carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.sdy.axis_ref import AxisRefAttr, SubAxisInfoAttr
from sdybridge.sdy.grammar.core import Parser, alias_value, element, finish, inside_alias, items, with_article
from sdybridge.sdy.lists import (
    AllToAllParamAttr,
    AllToAllParamListAttr,
    AxisRefListAttr,
    ListOfAxisRefListsAttr,
)
from sdybridge.sdy.manual_axes import ManualAxesAttr

if TYPE_CHECKING:
    from sdybridge.errors import Path


def sub_axis_body(p: Parser, path: Path) -> SubAxisInfoAttr:
    """`sub-axis := '(' int ')' int`."""
    start = p.start()
    p.expect("(", "':'" if path else "the start", "a part of an axis is written (pre-size)size, such as (2)4")
    pre_size = p.expect_integer("a pre-size", "'('")
    p.expect(")", "the pre-size")
    size = p.expect_integer("a size", "')'")
    p.mark(path, start)
    return SubAxisInfoAttr(pre_size, size)


sub_axis_element = element(SubAxisInfoAttr, sub_axis_body)


def ref_body(p: Parser, path: Path) -> AxisRefAttr:
    """`ref := string [':' sub-axis]`."""
    start = p.start()
    name = p.expect_string("an axis name in double quotes", p.after())
    sub = sub_axis_element(p, (*path, "sub_axis_info")) if p.take(":") else None
    p.mark(path, start)
    return AxisRefAttr(name, sub)


ref_element = element(AxisRefAttr, ref_body)


def manual_axes_body(p: Parser, path: Path) -> ManualAxesAttr:
    """`manual := '{' [string (',' string)*] '}'`."""
    start = p.start()
    p.expect("{", p.after())
    names = [] if p.take("}") else items(p, "}", _manual_axis, (*path, "value"), "an axis name")
    p.mark(path, start)
    return ManualAxesAttr(names)


def _manual_axis(p: Parser, path: Path) -> str:
    start = p.start()
    if p.at("#"):
        hash_start = p.start()
        alias = p.take_hash() or ""
        value = alias_value(p, alias, hash_start)
        if not isinstance(value, str):
            raise p.error(
                f"expected an axis name here, but #{alias} is {with_article(value.mnemonic)}",
                hash_start,
                p.pos,
            )
        inner = inside_alias(p, alias, value)
        name = _manual_axis(inner, ())
        finish(inner)
    else:
        name = p.expect_string("an axis name in double quotes", p.after())
        colon = p.start()
        if p.take(":") and p.take_word() != "none":
            raise p.error("an axis name has no type", colon, p.pos, help="write the name only")
    p.mark(path, start)
    return name


def ref_list_body(p: Parser, path: Path) -> AxisRefListAttr:
    """`refs := '{' [ref (',' ref)*] '}'`."""
    start = p.start()
    p.expect("{", p.after())
    refs = [] if p.take("}") else items(p, "}", ref_element, (*path, "value"), "an axis")
    p.mark(path, start)
    return AxisRefListAttr(refs)


ref_list_element = element(AxisRefListAttr, ref_list_body)


def list_of_ref_lists_body(p: Parser, path: Path) -> ListOfAxisRefListsAttr:
    """`lists := '[' [refs (',' refs)*] ']'`."""
    start = p.start()
    p.expect("[", p.after())
    lists = [] if p.take("]") else items(p, "]", ref_list_element, (*path, "value"), "a list of axes")
    p.mark(path, start)
    return ListOfAxisRefListsAttr(lists)


def param_body(p: Parser, path: Path) -> AllToAllParamAttr:
    """`param := '{' ref (',' ref)* '}' ':' int '->' int`."""
    start = p.start()
    p.expect("{", p.after())
    axes = items(p, "}", ref_element, (*path, "axes"), "an axis")
    p.expect(":", "the axes", "name the dimensions, such as `: 0->1`")
    src_dim = p.expect_integer("a dimension", "':'")
    p.expect("->", "the source dimension")
    tgt_dim = p.expect_integer("a dimension", "'->'")
    p.mark(path, start)
    return AllToAllParamAttr(axes, src_dim, tgt_dim)


param_element = element(AllToAllParamAttr, param_body)


def param_list_body(p: Parser, path: Path) -> AllToAllParamListAttr:
    """`params := '[' [param (',' param)*] ']'`."""
    start = p.start()
    p.expect("[", p.after())
    params = [] if p.take("]") else items(p, "]", param_element, (*path, "value"), "a parameter")
    p.mark(path, start)
    return AllToAllParamListAttr(params)
