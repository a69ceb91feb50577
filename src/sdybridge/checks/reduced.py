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
    lines = list(_lines(text))
    reduced = "\n".join(lines)
    if set(_SDY.findall(reduced)) - _CONTEXT_FREE:
        return False
    try:
        return not problems(Source(reduced, source.name))
    except SdyBridgeError:
        return False


def _lines(text: str) -> Iterator[str]:
    """The lines that open and close regions, and of those with shardings each different one once."""
    seen: set[str] = set()
    starts = ("}", "^", "!", "return", "func.return") if "mhlo.sharding" in text else ("}", "^", "!")
    before = ""
    for line in text.split("\n"):
        if line.endswith("{"):
            if "module" in line:  # another module has other meshes
                seen.clear()
            yield before  # a `while` stands on the line before its regions
            yield _short_signature(line) if len(line) > _LONG_LINE else line
            before = ""
        elif line.lstrip(" ").startswith(starts):
            yield line
            before = ""
        elif "sdy" in line or "harding" in line or "SPMD" in line:
            form = _VALUE.sub("%", line)
            before = line
            if form not in seen:
                seen.add(form)
                yield line
                before = ""
        else:
            before = line


def _short_signature(line: str) -> str:
    """The signature of a function, with each different argument and result once."""
    arguments, arrow, results = line.partition(") -> (")
    if "mhlo.sharding" in line:  # then the rules match results with what is returned
        return line
    return _different(arguments, ", %") + arrow + _different(results, ", tensor<")


def _different(text: str, separator: str) -> str:
    """The parts between separators, each different one once: their names and numbers do not count."""
    first: dict[str, str] = {}
    for part in text.split(separator):
        first.setdefault(_INDIVIDUAL.sub("", part), part)
    return separator.join(first.values())
