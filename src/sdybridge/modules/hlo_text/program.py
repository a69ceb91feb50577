"""HLO text: its computations, and the instructions that carry shardings, found at the speed of a search.

Text as XLA prints it, one instruction a line, is searched for shardings and not read otherwise. Computations
that are written in another way are read instruction by instruction.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.hlo import parse_prefix
from sdybridge.modules.carriers import Carrier, Quoting, read_carrier
from sdybridge.modules.hlo_program import PARTITIONED, HloProgram
from sdybridge.modules.hlo_text.edit import edited
from sdybridge.modules.hlo_text.instruction import (
    HEAD,
    HloAttribute,
    decode,
    read_attributes,
    read_entries,
    read_head,
)
from sdybridge.modules.hlo_text.site import TextSite
from sdybridge.modules.hlo_text.tokens import STRING, TRIVIA, error, group_end, shown, skip_trivia
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sdybridge.errors import SdyBridgeError
    from sdybridge.hlo import HloSharding
from sdybridge.modules.hlo_program import Edit, HloSite

_MODULE = re.compile(r"HloModule\s++([^\s,]++)")
_ENTRY = re.compile(rf"(ENTRY\b{TRIVIA})?+%?+([\w.\-]*+){TRIVIA}", re.DOTALL)
_TABLE = re.compile(r"(?:FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*+\n(?:[^\n]++\n)*+")
_SHARDING = re.compile(r"sharding=(?!\")")
_CARRIER = re.compile(r"xla\.sdy\.[\w.]++=")
_LINE = re.compile(
    rf"[ \t]*+(?:ROOT )?+%?+([\w.\-]++) = (?:[^\"'/\\]++|{STRING}|/\*index=\d++\*/)*+", re.DOTALL
)
_OTHER_COMMENT = re.compile(r"/\*(?!index=)")
_BODY_END = re.compile(r'\}(?:, execution_thread="[^"]*+")?+\s*+(?:\Z|(?:ENTRY )?+%?+[\w.\-]++ [({])')
_PARAMETER = re.compile(r" parameter\(")
_ROOT = re.compile(r"\n[ \t]*+ROOT ")
_GOES_ON = frozenset(" \t\r,/{([")  # a line that ends with one of them may not end its instruction
_ATTRIBUTE = ", frontend_attributes={"
_BEFORE_NAME = frozenset(" \t\n\r,/")


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


class HloText(HloProgram):
    """An HLO program as text.

    >>> program = HloText(Source('''HloModule m
    ...
    ... ENTRY main {
    ...   a = f32[8,8]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}
    ...   ROOT b = f32[8,8]{1,0} negate(a)
    ... }
    ... '''))
    >>> [(site.name, site.shape, str(site.sharding)) for site in program.sites()]
    [('a', 'f32[8,8]{1,0}', '{devices=[2,1]<=[2]}')]
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self._decoded: dict[str, str] = {}  # each distinct value of a frontend attribute, too
        self._parsed: dict[str, HloSharding] = {}  # each distinct sharding is parsed once
        self._last_entry: Computation | None = None
        self._body_ends: dict[int, int] = {}  # of computations that were read one instruction by one
        self._carried: dict[str, str] = {}  # what the literals of carriers hold
        start = skip_trivia(source.text, 0)
        module = _MODULE.match(source.text, start)
        self._name = module[1] if module else ""
        self.header_start = start
        self.header_end = module.end() if module else start
        self._has_header = module is not None

    @property
    def has_header(self) -> bool:
        """Whether it starts with `HloModule`."""
        return self._has_header

    @property
    def name(self) -> str:
        """The name of the module."""
        return self._name

    @functools.cached_property
    def header(self) -> tuple[list[HloAttribute], int]:
        """The attributes of the module, and where they end."""
        return read_attributes(self.source, self.header_end) if self.has_header else ([], self.header_end)

    @functools.cached_property
    def num_partitions(self) -> int | None:
        """The `num_partitions` of the module."""
        for one in self.header[0]:
            value = self.text[one.value.start : one.value.end]
            if one.name == "num_partitions" and value.isdecimal() and len(value) < 19:
                return int(value)
        return None

    @functools.cached_property
    def is_partitioned(self) -> bool:
        """Whether the name of the entry computation is that of a partitioned one."""
        entry = self._entry_computation
        return entry is not None and entry.name.endswith(PARTITIONED)

    @functools.cached_property
    def frontend_attributes(self) -> Mapping[str, str]:
        """The frontend attributes of the module."""
        entries = self._entries
        return {key: decode(self.source, value) for key, value in entries.items()}

    @functools.cached_property
    def _entries(self) -> dict[str, Span]:
        found = next((one for one in self.header[0] if one.name == "frontend_attributes"), None)
        return (
            {entry.key: entry.value for entry in read_entries(self.source, found.value.start)[0]}
            if found
            else {}
        )

    def decoded(self, value: Span) -> str:
        """What the value of a frontend attribute stands for.

        Raises:
            ParseError: It has an unknown escape.
        """
        literal = self.text[value.start : value.end]
        known = self._decoded.get(literal)
        if known is None:
            known = self._decoded[literal] = decode(self.source, value)
        return known

    def carrier(self, key: str) -> Carrier | None:
        """The Shardy attribute of the module under `key`."""
        value = self._entries.get(key)
        return self.carrier_at(key, value) if value else None

    def carrier_at(self, key: str, value: Span) -> Carrier:
        """The Shardy attribute under `key` whose value stands there; each distinct one is decoded once."""
        literal = self.text[value.start : value.end]
        text = self._carried.get(literal)
        if text is None:
            carrier = read_carrier(key, self.source, value, Quoting.HLO)
            self._carried[literal] = carrier.text
            return carrier
        return Carrier(key, text, self.source, value, Quoting.HLO)

    def locate(self, error: SdyBridgeError) -> SdyBridgeError:
        """The error, placed at the module."""
        return error.located(self.source, Span(self.header_start, self.header_end))

    def computations(self) -> Iterator[Computation]:
        """Every computation, in the order of the text.

        Raises:
            ParseError: Something else stands between them.
        """
        text, at = self.text, self.header[1]
        while True:
            at = skip_trivia(text, at)
            table = _TABLE.match(text, at)
            if table:
                at = table.end()
                continue
            if at >= len(text):
                return
            found = self._computation(at)
            if found.is_entry:
                self._last_entry = found
            yield found
            if found.end < 0 and found.start not in self._body_ends:
                for _ in self._instructions(found, found.start):
                    pass
            end = max(found.end, self._body_ends.get(found.start, 0))
            end = skip_trivia(text, end)
            if not text.startswith("}", end):
                if found.start > at:  # a bare list of instructions has no braces
                    raise error(
                        self.source,
                        found.start - 1,
                        "'{' is never closed",
                        end=found.start,
                        help="is the text cut? close it with `}`",
                    )
                return
            at = read_attributes(self.source, end + 1)[1]

    def _computation(self, at: int) -> Computation:
        """The computation that starts at `at`."""
        text = self.text
        if HEAD.match(text, at) and not self.has_header:
            return Computation("", True, at, -1)
        entry = _ENTRY.match(text, at)
        brace = entry.end() if entry else at
        if self._is_printed_header(brace, line_end := text.find("\n", at)):
            brace = line_end - 1
        elif text.startswith("(", brace):  # the signature: `(a: f32[]) -> f32[]`
            brace = skip_trivia(text, group_end(self.source, brace))
            if text.startswith("->", brace):
                brace = self._brace_behind_shape(skip_trivia(text, brace + 2))
        brace = skip_trivia(text, brace)
        if not entry or not (entry[1] or entry[2]) or not text.startswith("{", brace):
            raise error(self.source, at, f"expected a computation `name {{..}}`, found {shown(text, at)}")
        is_printed = (at == 0 or text[at - 1] == "\n") and text.startswith("\n", brace + 1)
        end = text.find("\n}", brace + 1) + 1 if is_printed else 0
        if end and not self._is_plain(brace + 1, end):
            end = 0
        return Computation(entry[2], bool(entry[1]), brace + 1, end or -1)

    def _is_printed_header(self, at: int, line_end: int) -> bool:
        """Whether the rest of a line from `at` on is the signature of a computation, and its brace."""
        text = self.text
        return (
            text.startswith("(", at)
            and text.endswith(" {", at, line_end)
            and text.count("(", at, line_end) == text.count(")", at, line_end)
            and text.count("{", at, line_end) == text.count("}", at, line_end) + 1
        )

    def _is_plain(self, start: int, end: int) -> bool:
        """Whether the brace at `end` closes a body of lines, not a dictionary with line ends in it."""
        is_end = _BODY_END.match(self.text, end) is not None
        return is_end and not _OTHER_COMMENT.search(self.text, start, end)

    def _brace_behind_shape(self, at: int) -> int:
        """Where the body opens whose result has the shape at `at`."""
        text = self.text
        if text.startswith("(", at):
            return group_end(self.source, at)
        end = text.find("]", at) + 1
        if not end:
            return at
        is_layout = text.startswith("{", end) and not text.startswith("{\n", end)
        return group_end(self.source, end) if is_layout else end

    def _instructions(self, computation: Computation, at: int) -> Iterator[TextSite]:
        """Every instruction from `at` to the end of the computation, read one by one."""
        text, source = self.text, self.source
        at = skip_trivia(text, at)
        while at < len(text) and not text.startswith("}", at):
            head = read_head(source, at)
            attributes, end = read_attributes(source, group_end(source, head.operands))
            site = TextSite(self, head.name, at, computation)
            site.keep(head, attributes, end)
            yield site
            at = skip_trivia(text, end)
        self._body_ends[computation.start] = at

    def sites(self) -> Iterator[TextSite]:
        """Every instruction that carries a sharding of either kind, in the order of the text.

        Raises:
            ParseError: The text is malformed where it carries shardings.
        """
        for computation in self.computations():
            if computation.end < 0:
                yield from self._exact(computation, computation.start)
            else:
                yield from self._search(computation)

    def _exact(self, computation: Computation, at: int) -> Iterator[TextSite]:
        return (site for site in self._instructions(computation, at) if site.is_carrier)

    def _search(self, computation: Computation) -> Iterator[TextSite]:
        """The sites of a computation with one instruction a line."""
        text, end = self.text, computation.end
        search, find, count = _SHARDING.search, text.find, text.count
        at = computation.start
        sharding = search(text, at, end)
        carrier = _CARRIER.search(text, at, end)
        while sharding or carrier:
            first = sharding.start() if sharding else end
            key = carrier.start() if carrier else end
            hit = min(first, key)
            start = text.rfind("\n", at - 1, hit) + 1
            line = _LINE.match(text, start, hit)
            line_end = find("\n", hit)
            # Braces that are open where the hit is, and those that the rest of the line closes or opens.
            depth = count("{", start, hit) - count("}", start, hit)
            rest = count("{", hit, line_end) - count("}", hit, line_end)
            if not line or depth + rest or text[line_end - 1] in _GOES_ON:
                yield from self._exact(computation, at)
                return
            at = line_end + 1
            second = first
            if sharding and first < at:
                sharding = search(text, first + 1, end)
                second = sharding.start() if sharding else end
            is_clear = line.end() == hit and second >= at  # outside of strings, and the only sharding
            if is_clear and hit == first and not depth and text[hit - 1] in _BEFORE_NAME:
                yield TextSite(self, line[1], start, computation, first + len("sharding="))
            elif is_clear and depth == 1 and text.startswith(_ATTRIBUTE, hit - len(_ATTRIBUTE)):
                yield TextSite(self, line[1], start, computation, -1)
            else:
                site = TextSite(self, line[1], start, computation)
                if site.is_carrier:
                    yield site
                if second < at:
                    sharding = search(text, at, end)
            if carrier and key < at:
                carrier = _CARRIER.search(text, at, end)

    def sharding(self, at: int) -> HloSharding:
        """The sharding at `at`.

        Raises:
            ParseError: It is malformed.
        """
        text = self.text
        end = text.find("}", at) + 1
        if not text.startswith("{", at):
            return parse_prefix(self.source, at)[0]
        if text.count("{", at, end) != 1:
            end = group_end(self.source, at)
        known = self._parsed.get(text[at:end])
        if known is None:
            known, end = parse_prefix(self.source, at)
            self._parsed[text[at:end]] = known
        return known

    def inputs(self) -> list[HloSite]:
        """The parameters of the entry computation, by number."""
        lines = self._lines(self._entry_computation, _PARAMETER)
        found = [site for site in lines if site.opcode == "parameter"]
        return sorted(found, key=lambda site: site.parameter_number or 0)

    def output(self) -> HloSite | None:
        """The root of the entry computation."""
        return self._root(self._entry_computation)

    def root(self, computation: str) -> HloSite | None:
        """The instruction that `ROOT` marks."""
        return self._root(self._named(computation))

    def instructions(self, computation: str) -> Iterator[TextSite]:
        """Every instruction of the computation of that name, in the order of the text."""
        found = self._named(computation)
        return iter(()) if found is None else self._instructions(found, found.start)

    def _named(self, computation: str) -> Computation | None:
        return next((one for one in self.computations() if one.name == computation), None)

    def _root(self, computation: Computation | None) -> HloSite | None:
        return next((site for site in self._lines(computation, _ROOT) if site.is_root), None)

    @property
    def _entry_computation(self) -> Computation | None:
        return self._last_entry or next((one for one in self.computations() if one.is_entry), None)

    def _lines(self, computation: Computation | None, lines: re.Pattern[str]) -> Iterator[TextSite]:
        """The instructions of a computation; where there is one a line, those that `lines` finds."""
        if computation is None:
            return
        if computation.end < 0:
            yield from self._instructions(computation, computation.start)
            return
        text = self.text
        for hit in lines.finditer(text, computation.start, computation.end):
            start = text.rfind("\n", 0, hit.end() - 1) + 1
            line = HEAD.match(text, start, computation.end)
            if line:
                yield TextSite(self, line["name"], start, computation)

    def edited(
        self,
        edit: Callable[[HloSite], Edit | None],
        attributes: Mapping[str, str | None] | None = None,
        *,
        target: Target = Target.CURRENT,
        more: Callable[[], Iterable[HloSite]] = tuple,
    ) -> str:
        """The text with edits; every other byte stays."""
        return edited(self, edit, {} if attributes is None else attributes, target, more)
