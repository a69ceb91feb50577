"""The computations of HLO text: where they start, and if they are as XLA prints them, where they end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.modules.hlo_text.instruction import HEAD
from sdybridge.modules.hlo_text.tokens import TRIVIA, error, group_end, shown, skip_trivia

if TYPE_CHECKING:
    from sdybridge.source import Source

_ENTRY = re.compile(rf"(ENTRY\b{TRIVIA})?+%?+([\w.\-]*+){TRIVIA}", re.DOTALL)
_HEADER = re.compile(r"(ENTRY )?+%?+([\w.\-]++) (\{|\([^\n]*+)\n")
_BODY_END = re.compile(
    r'\n\}((?:, execution_thread="[^"]*+")?+\s*+(?:\Z|(?=(?:ENTRY )?+%?+[\w.\-]++ [({])))?+'
)
_TABLE = re.compile(r"(?:FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*+\n(?:[^\n]++\n)*+")
OTHER_COMMENT = re.compile(r"/\*(?!index=)")
"""A comment that XLA does not print."""


class Computation(NamedTuple):
    """One computation.

    Attributes:
        name: Its name; empty if the text is a list of instructions.
        is_entry: Whether `ENTRY` marks it.
        start: Where its instructions start.
        end: Where they end, if that is known from the lines; otherwise -1.
    """

    name: str
    is_entry: bool
    start: int
    end: int


def printed_computation(text: str, at: int, *, has_comments: bool) -> tuple[Computation, int] | None:
    """The computation at `at`, if it is as XLA prints it, one instruction a line; and what follows it.

    Args:
        text: The text.
        at: Where its header starts.
        has_comments: Whether there are comments in the text that XLA does not print.
    """
    header = _HEADER.match(text, at)
    if not header or text[at - 1 : at] not in {"", "\n"}:
        return None
    is_entry, name, signature = header.groups()
    if signature != "{" and not _opens_body(signature):
        return None
    start = header.end()
    end = _BODY_END.search(text, start - 1)
    if not end or end[1] is None:  # of a dictionary with line ends in it
        return None
    if has_comments and OTHER_COMMENT.search(text, start, end.start()):
        return None
    return Computation(name, is_entry is not None, start, end.start() + 1), end.end()


def _opens_body(signature: str) -> bool:
    """Whether a brace that no other one closes ends the line of a signature."""
    return (
        signature.endswith(" {")
        and signature.count("(") == signature.count(")")
        and signature.count("{") == signature.count("}") + 1
    )


def written_computation(source: Source, at: int, *, has_header: bool) -> Computation:
    """The computation at `at`, however it is written.

    Args:
        source: The text.
        at: Where it starts.
        has_header: Whether the text has a header; a text without may be a list of instructions.

    Raises:
        ParseError: There is none.
    """
    text = source.text
    if HEAD.match(text, at) and not has_header:
        return Computation("", True, at, -1)
    entry = _ENTRY.match(text, at)
    brace = entry.end() if entry else at
    if text.startswith("(", brace):  # the signature: `(a: f32[]) -> f32[]`
        brace = skip_trivia(text, group_end(source, brace))
        if text.startswith("->", brace):
            brace = _brace_behind_shape(source, skip_trivia(text, brace + 2))
    brace = skip_trivia(text, brace)
    if not entry or not (entry[1] or entry[2]) or not text.startswith("{", brace):
        raise error(source, at, f"expected a computation `name {{..}}`, found {shown(text, at)}")
    return Computation(entry[2], bool(entry[1]), brace + 1, -1)


def _brace_behind_shape(source: Source, at: int) -> int:
    """Where the body opens whose result has the shape at `at`."""
    text = source.text
    if text.startswith("(", at):
        return group_end(source, at)
    end = text.find("]", at) + 1
    if not end:
        return at
    is_layout = text.startswith("{", end) and not text.startswith("{\n", end)
    return group_end(source, end) if is_layout else end


def behind_tables(text: str, at: int) -> int:
    """Where the next computation starts, behind tables of files and stack frames."""
    while True:
        at = skip_trivia(text, at)
        table = _TABLE.match(text, at)
        if not table:
            return at
        at = table.end()
