"""A quick answer for large programs, from a text that says the same about shardings and is much shorter.

All rules look at one line with a sharding and at what is around it: the module, the function. So a text with
each different line once has problems only if the program has. Lines that have some are then read wherever
they repeat, for all problems and their places.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from sdybridge.checks.program import Place
from sdybridge.errors import SdyBridgeError
from sdybridge.modules.mlir.condensed import SIGNATURES, UnclearError, condense

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdybridge.checks.program import Problem
    from sdybridge.modules.mlir.condensed import Condensed
    from sdybridge.source import Source

_SDY = re.compile(r"sdy\.(\w+)")
_RETURNED = re.compile(r"^[ \t]*(?:func\.)?return (%[^\n:]*)", re.MULTILINE)
_VALUE = re.compile(r"%[\w$.\-]+")
_CONTEXT_FREE = frozenset(
    (
        "mesh", "sharding", "sharding_per_value", "sharding_constraint", "reshard", "sharding_rule",
        "op_sharding_rule", "sharding_group", "constant", "propagation_barrier",
    )
)  # fmt: skip
"""The names after `sdy.` whose rules need no other operation."""

_ABOUT_ALL = ("SB202", "SB203", "SB5")
"""The codes, or their beginnings, of problems that count or list shardings of the whole program."""

_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))


def quick_problems(
    source: Source,
    problems: Callable[[Source], Sequence[Problem]],
    first: Condensed | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Problem] | None:
    """All problems of an MLIR program, if a shorter text tells them; otherwise None.

    Args:
        source: The program.
        problems: What is wrong with a smaller program.
        first: The shorter text, if it is made already.
        progress: Called now and then with the number of characters that are done.
    """
    text = source.text
    if "manual" in text or any(text.count(opening) != text.count(closing) for opening, closing in _BRACKETS):
        return None
    names: set[str] = set()
    if "mhlo.sharding" in text:  # results are matched with what is returned
        names.update(*(_VALUE.findall(returned) for returned in _RETURNED.findall(text)))
    keep: set[str] | None = {SIGNATURES} if names else set()
    try:
        while True:
            reduced = first if first and not (keep or names) else None
            reduced = reduced or condense(source, keep=keep, names=names, progress=progress)
            if set(_SDY.findall(reduced.source.text)) - _CONTEXT_FREE:
                return None
            found = problems(reduced.source)
            if any(one.place.span is None or "was opened at" in "".join(one.notes) for one in found):
                return None
            if keep is None:
                break
            if any(one.code.startswith(_ABOUT_ALL) for one in found):
                keep = None
                continue
            more = _repeated(reduced, found)
            if not more:
                break
            keep |= more
    except (UnclearError, SdyBridgeError):
        return None
    return [_in_whole(reduced, one) for one in found]


def _repeated(reduced: Condensed, found: Sequence[Problem]) -> set[str]:
    """The forms of the lines with problems that stand elsewhere, too."""
    pieces = {reduced.piece(one.place.span.start) for one in found if one.place.span}
    forms = {piece: reduced.forms[piece] for piece in pieces if piece in reduced.forms}
    return {form for piece, form in forms.items() if piece in reduced.repeats}


def _in_whole(reduced: Condensed, one: Problem) -> Problem:
    """A problem of the shorter text, where it stands in the program."""
    span = one.place.span
    return dataclasses.replace(one, place=Place(span and reduced.span(span), one.place.where))
