"""A quick answer for clean programs: one that says the same about shardings in much less text.

A program of megabytes has thousands of lines with shardings, and few different ones once the names of values
are left out. All rules look at one such line and at what is around it: the module, the function, the manual
computation. So a text with each different line once, and without the lines that carry no sharding, is clean
only if the program is. If it is not, the program itself is read, for all findings and their places.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError
from sdybridge.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SHORT = 1 << 16  # characters up to which a program is read as it is
_LONG_LINE = 4096
_VALUE = re.compile(r"%[\w$.\-]+(?:#\d+)?")
_SDY = re.compile(r"sdy\.(\w+)")
_INDIVIDUAL = re.compile(r'^[\w$.\-]+:|(?:aliasing_output|result_info) = (?:\d+|"[^"]*")')
_CONTEXT_FREE = frozenset(
    (
        "mesh", "sharding", "sharding_per_value", "sharding_constraint", "reshard", "sharding_rule",
        "op_sharding_rule", "sharding_group", "constant", "propagation_barrier",
    )
)  # fmt: skip
"""The names after `sdy.` whose rules need no other operation."""

_GOES_ON = ("{", "[", "(", "<", ":", ",", "->", "\t", "loc(", "dense")
"""What a line starts with that goes on with the operation of the line before."""

_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))


def is_clean(source: Source, problems: Callable[[Source], Sequence[object]]) -> bool:
    """Whether a quick look shows that an MLIR program has no problems; False says nothing.

    Args:
        source: The program.
        problems: What is wrong with a smaller program.
    """
    text = source.text
    if len(text) < _SHORT or "manual" in text or "/*" in text or "\\" in text:
        return False
    if any(text.count(opening) != text.count(closing) for opening, closing in _BRACKETS):
        return False
    try:
        reduced = "\n".join(_lines(text))
        if set(_SDY.findall(reduced)) - _CONTEXT_FREE:
            return False
        return not problems(Source(reduced, source.name))
    except (_UnclearError, SdyBridgeError):
        return False


class _UnclearError(Exception):
    """An operation with a sharding takes more than a line."""


def _lines(text: str) -> Iterator[str]:
    """The lines that open and close regions, and of those with shardings each different one once.

    Raises:
        _UnclearError: An operation with a sharding takes more than a line.
    """
    seen: set[str] = set()
    starts = ("}", "^", "!", "return", "func.return") if "mhlo.sharding" in text else ("}", "^", "!")
    before = ""
    is_sharded = False  # the line before
    for line in text.split("\n"):
        inside = line.lstrip(" ")
        was_sharded = is_sharded
        is_sharded = "sdy" in line or "harding" in line or "SPMD" in line
        if (is_sharded or was_sharded) and inside.startswith(_GOES_ON):
            raise _UnclearError
        if line.endswith("{"):
            if "module" in line:  # another module has other meshes
                seen.clear()
            yield before  # a `while` stands on the line before its regions
            yield _short_signature(line) if len(line) > _LONG_LINE else line
            before = ""
        elif inside.startswith(starts):
            yield line
            before = ""
        elif is_sharded:
            head, brace, tail = line.partition("{")  # values stand before the attributes, as a rule
            form = _VALUE.sub("%", line) if "%" in tail else _VALUE.sub("%", head) + brace + tail
            before = line
            if form not in seen or "sdy.mesh" in line:  # two meshes of one name are an error
                seen.add(form)
                yield line
                before = ""
        else:
            before = line


def _short_signature(line: str) -> str:
    """The signature of a function, with each different argument and result once."""
    arguments, arrow, results = line.partition(") -> (")
    if not line.lstrip().startswith("func.func") or "mhlo.sharding" in line:
        return line  # the generic form has lists; of HLO shardings, results are matched with what is returned
    return _different(arguments, ", %") + arrow + _different(results, ", tensor<")


def _different(text: str, separator: str) -> str:
    """The parts between separators, each different one once: their names and numbers do not count."""
    first: dict[str, str] = {}
    for part in text.split(separator):
        first.setdefault(_INDIVIDUAL.sub("", part), part)
    return separator.join(first.values())
