"""HLO text: its computations, and the instructions that carry shardings, found at the speed of a search.

Text as XLA prints it, one instruction a line, is searched for shardings and not read otherwise. Computations
that are written in another way are read instruction by instruction.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError
from sdybridge.hlo import parse_prefix
from sdybridge.modules.carriers import Carrier, Quoting, read_carrier
from sdybridge.modules.hlo_program import PARTITIONED, SHARDY, HloProgram
from sdybridge.modules.hlo_text.computations import (
    OTHER_COMMENT,
    behind_tables,
    printed_computation,
    written_computation,
)
from sdybridge.modules.hlo_text.edit import edited
from sdybridge.modules.hlo_text.instruction import HloAttribute, decode, read_attributes, read_entries
from sdybridge.modules.hlo_text.line import KEY, LINE, LineSite
from sdybridge.modules.hlo_text.site import BrokenSite, ReadSite, TextSite
from sdybridge.modules.hlo_text.tokens import error, skip_trivia
from sdybridge.modules.progress import reported
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sdybridge.errors import SdyBridgeError
    from sdybridge.hlo import HloSharding
    from sdybridge.modules.hlo_program import Edit, HloSite
    from sdybridge.modules.hlo_text.computations import Computation

_MODULE = re.compile(r"HloModule\s++([^\s,]++)")
_LINE_END = re.compile(r"[ \t\r]*+(?://[^\n]*+)?+\n(?=\s*+[\w%}])")
_NEXT_LINE = re.compile(r"\n(?=[ \t]*+(?:(?:ROOT )?+%?+[\w.\-]++ = |\}))")
_PARAMETER = re.compile(r" parameter\(")
_ROOT = re.compile(r"\n[ \t]*+ROOT ")


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
        self.parsed: dict[str, HloSharding] = {}  # each distinct sharding is parsed once
        self._latest: Computation | None = None
        self._last_entry: Computation | None = None
        self._carried: dict[str, str] = {}  # what the literals of carriers hold
        self._read_to: dict[int, int] = {}  # by their starts, where computations end that were read
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
        text, at = self.text, behind_tables(self.text, self.header[1])
        while at < len(text):
            printed = printed_computation(text, at, has_comments=self._has_comments)
            found, after = printed or (written_computation(self.source, at, has_header=self.has_header), at)
            self._latest = found
            if found.is_entry:
                self._last_entry = found
            yield found
            if found.end < 0 and found.start not in self._read_to:
                for _ in self._instructions(found, found.start):
                    pass
            end = self._read_to.get(found.start)
            if end is not None:
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
                after = behind_tables(text, read_attributes(self.source, end + 1)[1])
            at = after

    @functools.cached_property
    def _has_comments(self) -> bool:
        """Whether there are comments other than those that XLA prints."""
        return OTHER_COMMENT.search(self.text) is not None

    def _instructions(self, computation: Computation, at: int) -> Iterator[TextSite]:
        """Every instruction from `at` to the end of the computation, read one by one."""
        text = self.text
        at = skip_trivia(text, at)
        while at < len(text) and not text.startswith("}", at):
            site = ReadSite(self, at, computation)
            try:
                end = site.attributes[1]
            except ParseError:
                resumed = _NEXT_LINE.search(text, at)
                if not resumed:
                    raise
                site, end = BrokenSite(self, at, computation), resumed.end()
            at = skip_trivia(text, end)
            yield site
        self._read_to[computation.start] = at

    def sites(self) -> Iterator[TextSite]:
        """Every instruction that carries a sharding of either kind, in the order of the text.

        Raises:
            ParseError: The text is malformed where it carries shardings.
        """
        for found, computation in self._hits():
            site = LineSite(self, found, computation) if isinstance(found, re.Match) else found
            if site.is_carrier:
                yield site

    def tallies(self, progress: Callable[[int], None] | None = None) -> list[tuple[HloSite, int]]:
        """See `HloProgram.tallies`."""
        tallies: dict[tuple[object, ...], tuple[TextSite, list[int]]] = {}
        hits = self._hits()
        for found, computation in reported(hits, _offset, progress) if progress else hits:
            key = found.group(*KEY) if isinstance(found, re.Match) else found.key
            known = tallies.get(key)
            if known is None:
                site = LineSite(self, found, computation) if isinstance(found, re.Match) else found
                known = tallies[key] = site, [0]
            known[1][0] += 1
        return [(site, count) for site, [count] in tallies.values() if site.is_carrier]

    def _hits(self) -> Iterator[tuple[re.Match[str] | TextSite, Computation]]:
        """The instructions that may carry a sharding: lines as XLA prints them, and others."""
        text, find, back, match = self.text, self.text.find, self.text.rfind, LINE.match
        far = len(text) + 1
        sharding = carrier = -1  # where the next ones are
        for computation in self.computations():
            at, end = computation.start, computation.end
            while at <= end:
                if sharding < at:
                    sharding = find("sharding=", at) % far
                if carrier < at:
                    carrier = find(SHARDY, at) % far
                hit = min(sharding, carrier)
                if hit >= end:
                    break
                start = back("\n", at - 1, hit) + 1
                line = match(text, start)
                if line:
                    at = line.end() + 1
                    yield line, computation
                    continue
                site = ReadSite(self, start, computation)
                after = self._end_of_line(site)
                if after < 0:
                    end = -1
                else:
                    at = after
                    yield site, computation
            if end < 0:
                for other in self._instructions(computation, at):
                    yield other, computation

    def _end_of_line(self, site: TextSite) -> int:
        """Where the next line starts, if the instruction ends with its line; otherwise -1."""
        try:
            found = _LINE_END.match(self.text, site.attributes[1])
        except ParseError:
            return -1
        return found.end() if found else -1

    def sharding(self, value: Span) -> HloSharding:
        """The sharding that an attribute has as its value.

        Raises:
            ParseError: It is malformed.
        """
        literal = self.text[value.start : value.end]
        known = self.parsed.get(literal)
        if known is None:
            known, end = parse_prefix(self.source, value.start)
            known = self.parsed.setdefault(self.text[value.start : end], known)
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
        latest = self._latest
        if latest and latest.name == computation:
            return latest
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
        found = self._searched(computation, lines) if computation.end >= 0 else None
        for site in self._instructions(computation, computation.start) if found is None else found:
            if not isinstance(site, BrokenSite):
                yield site

    def _searched(self, computation: Computation, lines: re.Pattern[str]) -> list[TextSite] | None:
        """The instructions that `lines` finds; None if one of them is not on a line of its own."""
        text, at = self.text, computation.start
        found: list[TextSite] = []
        while hit := lines.search(text, at - 1, computation.end):
            start = text.rfind("\n", 0, hit.end() - 1) + 1
            line = LINE.match(text, start)
            site = LineSite(self, line, computation) if line else ReadSite(self, start, computation)
            at = line.end() + 1 if line else self._end_of_line(site)
            if at < 0:
                return None
            found.append(site)
        return found

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


def _offset(hit: tuple[re.Match[str] | TextSite, Computation]) -> int:
    """Where a line or site stands."""
    return hit[0].start() if isinstance(hit[0], re.Match) else hit[0].offset
