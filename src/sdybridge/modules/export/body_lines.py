"""Shardings for the lines of a body as MLIR prints it: far quicker than reading it as operations.

A large program has long bodies that repeat few operations on few types. What a line needs depends on its
name, its number of results and its types only, and is worked out once, on the first such line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import BARE_ID, SUFFIX_ID

if TYPE_CHECKING:
    from collections.abc import Callable

_HLO = "mhlo.sharding"
_PLAIN = r'[^\n{}"]*'
_LEFT = rf"(?:%{SUFFIX_ID}(?::\d++)?+ = )?+"
_FLAT = r'(?:[^\n{}"]++|"[^"\\\n]*+")*+'
_ENTRIES = rf'(?:[^\n{{}}"]++|"[^"\\\n]*+"|\{{{_FLAT}\}})*+'
_GENERIC = rf'"{BARE_ID}"\([^\n{{}}"()]*+\)(?: <\{{{_FLAT}\}}>)?+'


def _types(group: str) -> str:
    """Pattern of types, and maybe a location, up to the end of the line."""
    return rf'(?P<{group}>[^\n{{}}":#]*+)(?:#loc\d*+\))?+(?=\n)'


_LINE = re.compile(
    r"\n *+(?:"
    # Terminators, labels, and what stands around regions take no sharding.
    rf"(?:(\"?)(?:\w++\.)*+(?:return|yield|br|cond_br)\1(?![\w.$]){_PLAIN}|\^bb\d++(?:\({_PLAIN}\))?+:"
    rf"|cond \{{|\}} do \{{|\}}, \{{|\}}|reducer\({_PLAIN}\{{|)(?=\n)"
    # An operation without attributes.
    rf"|(?P<left>{_LEFT})(?P<name>{BARE_ID})(?P<rest>{_PLAIN}) : {_types('of_plain')}(?P<plain>)"
    # One with attributes, before its operands or behind them.
    rf"|(?P<left_of>{_LEFT})(?P<attributed>{BARE_ID})(?P<before>{_PLAIN})\{{(?P<entries>{_ENTRIES})\}}(?P<after>{_PLAIN})"
    rf" : {_types('of_attributed')}(?P<with_attributes>)"
    rf"|{_LEFT}stablehlo\.while\({_PLAIN} attributes \{{{_HLO} = \"[^\"\n]*+\"\}}(?=\n)"
    rf"|{_LEFT}stablehlo\.constant \{{{_HLO} = \"[^\"\n]*+\"\}} dense<\"0x[0-9A-F]*+\">[^\n]*+(?=\n)"
    # The generic form, whole, before its regions, and behind them.
    rf"|{_LEFT}{_GENERIC}(?: \{{(?P<of_generic>{_ENTRIES})\}})?+ : {_types('generic_types')}(?P<generic>)"
    rf"|{_LEFT}{_GENERIC} \(\{{(?=\n)"
    rf"|\}}\)(?: \{{(?P<of_region>{_ENTRIES})\}})?+ : {_types('region_types')}(?P<region>)"
    r")"
)
_DICTIONARY_OF = {"with_attributes": "entries", "generic": "of_generic", "region": "of_region"}
_DICTIONARY_FIRST = frozenset({"stablehlo.constant", "stablehlo.optimization_barrier"})


def add_to_lines(body: str, entry_of: Callable[[str], str | None]) -> tuple[str, int] | None:
    r"""Give a sharding to each line of a body that needs one; None if a line is written in another way.

    Args:
        body: The lines, each after a line break, and a line break at the end.
        entry_of: The dictionary entry for an operation, by its text. None if that does not tell.

    Returns:
        The new lines, and how many shardings were added.

    >>> add_to_lines("\n  %0 = a.b %x : i32\n  return %0 : i32\n", lambda text: "c")
    ('\n  %0 = a.b %x {c} : i32\n  return %0 : i32\n', 1)
    """
    known: dict[tuple[str, str, str], str | None] = {}
    pieces: list[str] = []
    done = last = 0
    for hit in _LINE.finditer(body):
        if hit.start() != last:
            return None
        last = hit.end()
        kind = hit.lastgroup
        if kind is None:
            continue
        if kind == "plain":
            left, name, types = hit.group("left", "name", "of_plain")
            key = name, left.partition(":")[2] or left[:1], types
            at = hit.end("name" if name in _DICTIONARY_FIRST else "rest")
            head, tail = " {", "}"
            if name == "stablehlo.while":
                at = hit.start("of_plain") + len(types.removesuffix(" loc("))
                head = " attributes {"
        else:
            entries = hit[_DICTIONARY_OF[kind]] or ""
            at = entries.find(_HLO)
            if at >= 0:
                if entries.count("{", 0, at) == entries.count("}", 0, at):
                    continue
                return None
            place = _dictionary(hit, kind)
            if place is None:
                return None
            key, at, head, tail = place
        if key not in known:
            known[key] = entry_of(hit[0] if key[0] else f'"a.b"() : {key[2].removesuffix(" loc(")}')
        entry = known[key]
        if entry is None:
            return None
        pieces += (body[done:at], head, entry, tail)
        done = at
    if last != len(body) - 1:
        return None
    return "".join([*pieces, body[done:]]), len(pieces) // 4


def _dictionary(hit: re.Match[str], kind: str) -> tuple[tuple[str, str, str], int, str, str] | None:
    """What decides about the sharding of an operation, where it goes, and what stands around it."""
    if kind == "with_attributes":
        left, name, before, after, types = hit.group(
            "left_of", "attributed", "before", "after", "of_attributed"
        )
        is_first = name in _DICTIONARY_FIRST
        if (before if is_first else after).strip() or before.rstrip().endswith(("=", "attributes")):
            return None
        key, group = (name, left.partition(":")[2] or left[:1], types), "entries"
    else:
        types, group = hit.group(f"{kind}_types"), f"of_{kind}"
        key = "", "", types
        if hit[group] is None:
            return key, hit.start(f"{kind}_types") - len(" : "), " {", "}"
    return key, hit.start(group), "", ", " if hit[group].strip() else ""
