"""A program's text without what repeats, and without the lines that say nothing about shardings.

A program of megabytes has thousands of lines with shardings, and few different ones once the names of values
are left out. What a line says about shardings depends on it, and on what it stands in: the module, the
function, the manual computation. So a reader gets a text with each different line once, and where the others
stand.
"""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING

from sdybridge.modules.progress import REPORT_EVERY
from sdybridge.source import Lines, Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

SIGNATURES = ""
"""To be kept: all arguments and results in the signatures of functions."""

SHORT = 1 << 16  # characters up to which a text is read as it is
LONG_LINE = 4096
_VALUE = re.compile(r"%[\w$.\-]+(?:#\d+)?")
_INDIVIDUAL = re.compile(
    r'^[\w$.\-]+:|(?:aliasing_output|result_info) = (?:\d+|"[^"\\\n]*")'
    r'|(?<=[>}]) loc\((?:#loc\d*|"[^"\\\n]*"(?:\(#loc\d*\))?)\)$'
)
_LOCATION = re.compile(r" loc\(#loc\d*\)$")
_SPACE = " \t"
_NOTHING = ("", "//", "\r")
_STRUCTURE = ("}", "^", "!", "#", "return", "func.return")
_KEPT = (*_STRUCTURE, "//", "sdy.mesh", "func.", '"sdy.mesh', '"func.')  # two of one name are an error
_PLAIN_START = re.compile(
    r"%[\w$.\-]+(?::\d+)?(?:, %[\w$.\-]+(?::\d+)?)* = |\"[\w.$\-]+\"\(|[a-z_][\w$]*\.[\w.$]+(?:[ (<]|$)"
    r"|(?:call|return|func|module)\b|[}^#!]|//|(?:cond|do) \{$"
)
"""What a line starts with that does not go on with the operation of the line before."""


class UnclearError(Exception):
    """Lines do not tell where operations with shardings begin and end; a reader of the whole text can."""


class CondensedSource(Source):
    """A condensed text that knows the lines of the whole one."""

    __slots__ = ("condensed",)
    condensed: Condensed

    def location(self, offset: int) -> tuple[int, int]:
        """Line and column in the whole text."""
        return self.condensed.lines.location(self.condensed.origin(offset))

    def value_number(self, offset: int, before: int) -> int:
        """Which argument or result stands there in the whole text."""
        origin = self.condensed.origins[self.condensed.piece(offset)]
        return self.condensed.value_numbers.get(origin, before)

    def lines(self) -> Source:
        """This text, which answers quickly itself."""
        return self


class Condensed:
    """A text without what repeats.

    It is made of pieces: lines, and the arguments and results in the signature of a function.

    Attributes:
        whole: The text that it stands for.
        source: The condensed text.
        starts: Where each piece starts in that.
        origins: Where each piece stands in the whole text.
        repeats: By piece, where else in the whole text it stands, up to the names of values.
        forms: What pieces that may repeat are told apart by.
        value_numbers: Which argument or result a piece of a signature is, by its place in the whole text.
    """

    def __init__(self, whole: Source) -> None:
        self.whole = whole
        self.lines = Lines(whole.text)
        self.starts: list[int] = []
        self.origins: list[int] = []
        self.repeats: dict[int, list[int]] = {}
        self.forms: dict[int, str] = {}
        self.value_numbers: dict[int, int] = {}
        self.source: Source = whole

    def piece(self, offset: int) -> int:
        """The piece that holds an offset of the condensed text."""
        return bisect.bisect_right(self.starts, offset) - 1

    def origin(self, offset: int) -> int:
        """Where in the whole text a character of the condensed one stands."""
        piece = self.piece(offset)
        return self.origins[piece] + offset - self.starts[piece]

    def span(self, span: Span) -> Span:
        """Where in the whole text a part of a piece stands."""
        start = self.origin(span.start)
        return Span(start, start + span.end - span.start)

    def end(self, piece: int) -> int:
        """Where a piece ends in the condensed text."""
        return self.starts[piece + 1] if piece + 1 < len(self.starts) else len(self.source.text)


def condense(
    whole: Source,
    *,
    keep: Collection[str] | None = (),
    names: Collection[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Condensed:
    """The text without the lines that have no sharding, and of those with one each different one once.

    Kept are also all lines that open or close regions, and definitions of aliases.

    Args:
        whole: The text of a program.
        keep: The forms of lines that are kept however often they repeat; None keeps all with a sharding.
        names: The values, by name, whose lines are kept if they have a sharding.
        progress: Called now and then with the number of characters that are done.

    Raises:
        UnclearError: The text is short, or an operation with a sharding takes more than a line.
    """
    text = whole.text
    if len(text) < SHORT or "/*" in text:
        raise UnclearError
    return _Writer(whole, keep, names, progress).run()


class _Writer:
    """The condensed text so far."""

    def __init__(
        self,
        whole: Source,
        keep: Collection[str] | None,
        names: Collection[str],
        progress: Callable[[int], None] | None,
    ) -> None:
        self.text = whole.text
        self.found = Condensed(whole)
        self.parts: list[str] = []
        self.length = 0
        self.keep = keep
        self.names = names
        self.progress = progress
        self.has_locations = "loc(#loc" in self.text
        self.seen: dict[str, int] = {}  # the pieces of the forms of this function

    def run(self) -> Condensed:
        source = CondensedSource("".join(self._written()), self.found.whole.name)
        object.__setattr__(source, "condensed", self.found)  # a source is frozen
        self.found.source = source
        return self.found

    def _written(self) -> list[str]:
        for at, end in self._kept_lines():
            line = self.text[at:end]
            if len(line) > LONG_LINE and line.endswith("{"):
                self._signature(at, line)
            else:
                self._add(at, line)
            self._add_plain("\n")
        return self.parts

    def _kept_lines(self) -> Iterator[tuple[int, int]]:  # noqa: C901  (hot)
        """Where the lines that are kept start and end; of the others, those that repeat are counted.

        Raises:
            UnclearError: An operation with a sharding takes more than a line.
        """
        text, found, seen, repeats = self.text, self.found, self.seen, self.found.repeats
        form_of = self._form
        has_computations = "manual_computation" in text or "named_computation" in text
        report_at = REPORT_EVERY if self.progress else len(text) + 1
        at = 0
        before = -1  # where the last line starts, if it was not kept
        end = 0  # where it ends
        repeated = -1  # the piece that it repeats
        was_sharded = False  # the last line
        for line in text.split("\n"):
            start = at
            at += len(line) + 1
            is_sharded = "sdy" in line or "harding" in line or "SPMD" in line
            if line.endswith("{"):
                if is_sharded or was_sharded:
                    _check_start(line)
                if before >= 0:  # a `while` stands on the line before its regions
                    yield before, end
                yield start, at - 1
                before = repeated = -1
                if has_computations or "func" in line or "module" in line:  # these are others' surroundings
                    seen.clear()
            elif is_sharded:
                if repeated >= 0:
                    repeats.setdefault(repeated, []).append(before)
                elif before >= 0 and text[before:end].rstrip(_SPACE).endswith(("=", ",")):
                    raise UnclearError  # its results stand on the line before
                if start >= report_at and self.progress:
                    self.progress(start)
                    report_at = start + REPORT_EVERY
                form = form_of(line)
                repeated = seen.get(form, -1)
                before, end = start, at - 1
                if repeated < 0 or (self.names and self._is_named(line)):
                    if form:
                        found.forms[len(found.starts)] = form
                        if self.keep is not None and form not in self.keep:
                            seen[form] = len(found.starts)
                    elif has_computations and line.lstrip(_SPACE).startswith("}"):
                        seen.clear()
                    yield start, end
                    before = repeated = -1
            else:
                inside = line.lstrip(_SPACE)
                if inside[:2] in _NOTHING:
                    continue
                if was_sharded:
                    _check_start(line)
                    if repeated >= 0:
                        repeats.setdefault(repeated, []).append(before)
                        repeated = -1
                if inside.startswith(_STRUCTURE):
                    if not inside.startswith("#loc"):
                        yield start, at - 1
                    before = -1
                    if has_computations and inside.startswith("}"):
                        seen.clear()
                else:
                    before, end = start, at - 1
            was_sharded = is_sharded
        if repeated >= 0:
            repeats.setdefault(repeated, []).append(before)

    def _form(self, line: str) -> str:
        """What tells a line from others: it without the names of values and its location; empty to keep it.

        Raises:
            UnclearError: It goes on with the operation of the line before.
        """
        if self.has_locations:
            line = _LOCATION.sub("", line)
        equals, brace = line.find(" = "), line.find("{")
        if 0 < equals < brace:
            # Of most operations, the operands and what else stands before the attributes do not count.
            name_end = line.find(" ", equals + 3, brace)
            head, before, tail = line[:equals], line[name_end:brace], line[brace:]
            if (
                name_end > 0
                and head.lstrip(_SPACE)[:1] == "%"
                and not (":" in head or "," in head or ":" in before or "%" in tail)
                and not ("sdy" in before or "custom_call" in before or "@" in before)
            ):
                name = line[equals + 3 : name_end]
                if not (name.startswith("sdy.") or "call" in name):
                    return name + tail
        _check_start(line)
        if line.lstrip(_SPACE).startswith(_KEPT):
            return ""
        head, _, tail = line.partition("{")
        return _VALUE.sub("%", line) if "%" in tail else f"{_VALUE.sub('%', head)}{{{tail}"

    def _is_named(self, line: str) -> bool:
        """Whether the first result of a line is one of those to keep."""
        return line.lstrip(_SPACE).partition(" ")[0].partition(":")[0] in self.names

    def _add(self, at: int, part: str) -> None:
        """Write a piece that stands at `at` in the whole text."""
        self.found.starts.append(self.length)
        self.found.origins.append(at)
        self._add_plain(part)

    def _add_plain(self, part: str) -> None:
        self.parts.append(part)
        self.length += len(part)

    def _signature(self, at: int, line: str) -> None:
        """Write a function's signature with each different argument and result once."""
        arguments, arrow, results = line.partition(") -> (")
        is_function = line.lstrip().startswith("func.func")  # the generic form has lists
        if not (arrow and is_function) or self.keep is None or SIGNATURES in self.keep:
            self._add(at, line)
            return
        self._values(at, arguments, ", %", self.keep)
        self._add_plain(arrow)
        self._values(at + len(arguments) + len(arrow), results, ", tensor<", self.keep)

    def _values(self, at: int, text: str, separator: str, keep: Collection[str]) -> None:
        """Write each different one of the values between separators; their names and numbers do not count."""
        found, head = self.found, separator.lstrip(", ")
        seen: dict[str, int] = {}
        for number, rest in enumerate(text.split(separator)):
            form = _INDIVIDUAL.sub("", rest)
            value = head + rest if number else rest
            found.value_numbers[at] = number
            if form in seen and form not in keep:
                found.repeats.setdefault(seen[form], []).append(at)
            else:
                if number:
                    self._add_plain(", ")
                seen[form] = len(found.starts)
                found.forms[len(found.starts)] = form
                self._add(at, value)
            at += len(value) + len(", ")


def _check_start(line: str) -> None:
    """Check that an operation, or another part of a program, starts on a line.

    Raises:
        UnclearError: None does, or it cannot be told.
    """
    if not _PLAIN_START.match(line.lstrip(_SPACE)):
        raise UnclearError
