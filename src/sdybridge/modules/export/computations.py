"""Export of manual and named computations: each body becomes a function, and is called.

The scan of the text goes on inside the bodies. What it writes there is collected in parts, one for each open
computation, so nesting depth costs no recursion.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError, ParseError
from sdybridge.modules.export.called_functions import CalledFunction, find_called_functions, rename_calls
from sdybridge.modules.export.manual_calls import BODY_NAME, call_of
from sdybridge.modules.export.missing_shardings import add_shardings
from sdybridge.modules.export.new_symbols import NewSymbols
from sdybridge.modules.export.renamed_results import ResultGroups
from sdybridge.modules.mlir.computations import (
    Computation,
    distinct_spans,
    find_computations,
)
from sdybridge.modules.mlir.lexer import parse_error
from sdybridge.modules.mlir.meshes import find_scopes
from sdybridge.modules.mlir.printed_computations import Template
from sdybridge.modules.mlir.sites import code_end
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sdybridge.errors import SdyBridgeError
    from sdybridge.modules.export.manual_calls import Names
    from sdybridge.modules.export.missing_shardings import Attribute
    from sdybridge.modules.export.shardings import ShardingExport
    from sdybridge.modules.export.tally import Tally
    from sdybridge.modules.export.text import Part
    from sdybridge.modules.mlir.computations import ManualScope
    from sdybridge.modules.mlir.printed_computations import PrintedBody
    from sdybridge.modules.mlir.sites import Site


_ONE_MODULE = 2  # scopes: the text and the module


@dataclass(slots=True, eq=False)
class Frame:
    """A computation or function that is open.

    Attributes:
        about: What it is.
        outside: The part that it is in, with what is manual there.
        end: Where its text ends.
        symbol: Of a function, the name that it gets.
        before: What was converted before it.
    """

    about: Computation | CalledFunction
    outside: tuple[Part, ManualScope | None]
    end: int
    symbol: str = ""
    before: Tally | None = None


@dataclass(eq=False)
class _Templates:
    """What became of a computation, to be repeated with other names.

    Attributes:
        call: What takes its place.
        text: The function that its body became.
        names: The numbers of the names in it.
        same: The function of a computation with the same body.
        body: The body.
        renamed: The values that others replace: the number of its name, the number under it, the number of
            the other's name, and what follows that.
        fresh: How many new names there are.
        stem: What the function is named after.
        tally: What was converted.
        repeats: How often it was repeated.
    """

    call: Template
    text: str
    names: Mapping[str, int]
    same: Template
    body: PrintedBody
    renamed: list[tuple[int, int, int, str]]
    fresh: int
    stem: str
    tally: Tally
    repeats: int = 0

    @functools.cached_property
    def function(self) -> Template:
        """The function of a computation whose body has other names."""
        return Template(self.text, self.names)


class ComputationExport:
    """The computations of one export under way."""

    def __init__(self, export: ShardingExport) -> None:
        self.export = export
        text = export.text
        computations = [*find_computations(export.checker)]
        spans = distinct_spans(text, computations)
        self.called = find_called_functions(text, computations, spans)
        self._by_name = {c.name_start: c for c in computations}
        self._templates: dict[object, _Templates] = {}
        self._frames: list[Frame] = []
        self._scopes = find_scopes(text, spans)
        self._functions: dict[int, list[str]] = defaultdict(list)  # by the number of the module
        export.new.distinct_text = "".join([text[start:end] for start, end in spans])
        export.new.groups = ResultGroups(text, spans, computations)
        self.symbols = NewSymbols(export.new.distinct_text)
        functions = sorted(self.called.values(), key=lambda f: f.start)
        for function in functions:
            for i, scope in enumerate(function.scopes):
                stem = function.symbol[1:].strip('"')
                function.names[scope] = self.symbols.make(stem) if i else function.symbol
        self._has_copies = any(len(function.scopes) > 1 for function in functions)
        last = code_end(text)
        stops: list[tuple[int, CalledFunction | int]] = [(f.start, f) for f in functions if f.scopes[0]]
        stops += [(min(scope.end - 1, last), i) for i, scope in enumerate(self._scopes)]
        self._stops = sorted(stops, key=lambda stop: stop[0], reverse=True)

    def run(self, progress: Callable[[int], None] | None) -> str:
        """Convert the whole text; return the new one."""
        end = code_end(self.export.text)
        part = self.export.begin(0, None)
        at = 0
        while True:
            stop = self._stops[-1][0] if self._stops else end
            at = self._convert(at, stop, progress)
            if not self._stops:
                break
            _, what = self._stops.pop()
            if isinstance(what, CalledFunction):
                self._enter_function(what, what.scopes[0])
                at = self._convert(at, what.end, progress)
            else:
                self._write_functions(what, stop)
        for templates in self._templates.values():
            self.export.add_tally(templates.tally, templates.repeats)
        return self.export.finish(len(self.export.text), part)

    def _convert(self, at: int, end: int, progress: Callable[[int], None] | None = None) -> int:
        """Convert from `at` up to `end`, and leave what ends there; return `end`."""
        frames = self._frames
        while True:
            limit = min(frames[-1].end, end) if frames else end
            if at < limit:
                at = self.export.scan(at, limit, progress)
            elif frames and frames[-1].end <= at:
                at = self._leave()
            else:
                return at

    def enter(self, site: Site) -> int:
        """Begin the computation at `site`; return where its body starts, or where it ends if all is done."""
        export = self.export
        computation = self._by_name[site.start]
        templates = self._templates.get(self._key(computation))
        if templates:
            self._repeat(computation, templates)
            return computation.end
        computation.verify(export.meshes.at(site.start), export.scope)
        export.new.replace(computation.start, computation.end, "")
        inside = computation.scope_inside(export.scope)
        start, end = computation.inside.start, computation.inside.end
        before = export.tally()
        outside = export.begin(start, inside, computation)
        self._frames.append(Frame(computation, outside, end, before=before))
        return start

    def _key(self, computation: Computation) -> object:
        """What decides what becomes of a computation, but for names."""
        printed = computation.printed
        module = self._module_at(computation.start)
        return (printed.key, self.export.scope, module) if printed else computation

    def _repeat(self, computation: Computation, templates: _Templates) -> None:
        """Write what became of an earlier computation once more, with the names of this one."""
        export, printed = self.export, computation.printed
        values = [*printed.values, *printed.body.values] if printed else []
        values += export.new.fresh(templates.fresh)
        values.append(self.symbols.make(templates.stem))
        function = templates.same if printed and printed.body is templates.body else templates.function
        export.new.replace(computation.start, computation.end, templates.call.fill(values))
        export.new.rename(
            [(values[name], k, values[new] + number) for name, k, new, number in templates.renamed]
        )
        self._functions[self._module_at(computation.start)].append(function.fill(values))
        templates.repeats += 1

    def terminator(self, site: Site, end: int) -> int:
        """Write the terminator of the innermost computation as one of a function."""
        about = self._frames[-1].about if self._frames else None
        if not isinstance(about, Computation) or about.terminator.name_start != site.start:
            raise parse_error(self.export.text, site.start, "sdy.return ends no computation", end=end)
        if about.is_inlined:
            self.export.new.replace(about.terminator.start, about.terminator.end, "")
            return about.terminator.end
        self.export.new.replace(site.start, end, '"func.return"' if about.terminator.is_generic else "return")
        return end

    def add_function(self, about: Computation, head: str, body: str, scope: ManualScope | None) -> None:
        """Let a function end the module: its head, and its body, in which `scope` is manual.

        The head has all its shardings.
        """
        shift = len(about.indent) - len(self._indent_at(about.start))
        body = re.sub(rf"\n {{{shift}}}", "\n", body) if shift > 0 else body
        self.append_function(about.start, head, body, scope, about.inside)

    def append_function(
        self, at: int, head: str, body: str, scope: ManualScope | None, original: Span
    ) -> None:
        """The same, with a body of any making that stands for the `original`."""
        body = f"{body.rstrip()}\n"
        if scope:
            body = self.with_shardings(body, scope, original)
        indent = self._indent_at(at)
        self._functions[self._module_at(at)].append(f"{indent}{head} {{{body}{indent}}}\n")

    def _indent_at(self, at: int) -> str:
        """The white space before a function of the module around an offset."""
        return "  " if self._module_at(at) else ""

    def missing(self, of_type: str, scope: ManualScope | None, at: int) -> str | None:
        """The entry for a value of this type without a sharding; None where it needs none."""
        if not scope:
            return None
        self.export.added += 1
        return self.export.replicated([of_type], scope, at)

    def with_shardings(self, text: str, scope: ManualScope, original: Span) -> str:
        """Text in which `scope` is manual, where every operation and value without a sharding gets one.

        Args:
            text: The converted text.
            scope: What is manual in it.
            original: What it was made of.
        """

        def attribute(types: Sequence[str | None]) -> str | None:
            return self.export.replicated(types, scope, original.start)

        try:
            new, added = add_shardings(text, attribute)
        except (ParseError, ConversionError) as error:
            raise self._placed(error, attribute, original) from None
        self.export.added += added
        return new

    def _placed(self, error: SdyBridgeError, attribute: Attribute, original: Span) -> SdyBridgeError:
        """An error about converted text, at the place in the original that has the same fault."""
        source = self.export.source
        try:
            add_shardings(source.text[original.start : original.end], attribute)
        except (ParseError, ConversionError) as same:
            if same.span:
                return same.located(source, same.span.shifted(original.start))
        return error.located(source, original)

    def _leave(self) -> int:
        """Write what becomes of the innermost computation or function; return where it ends."""
        export, frame = self.export, self._frames.pop()
        scope = export.scope
        body = export.finish(frame.end, frame.outside)
        if self._has_copies:
            body = rename_calls(body, self.called, scope)
        if isinstance(frame.about, Computation):
            call, renamed = call_of(self, frame.about, scope, body)
            export.new.append(call, renamed)
            self._remember(frame, call, renamed)
            return frame.about.end
        if scope:
            body = self.with_shardings(body, scope, Span(frame.about.start, frame.about.end))
        export.new.pieces.append(body.replace(frame.about.symbol, frame.symbol, 1))
        return frame.end

    def _remember(self, frame: Frame, call: str, renamed: Names) -> None:
        """Keep what became of a computation for others that only differ in names."""
        computation, before = frame.about, frame.before
        if not isinstance(computation, Computation) or not computation.printed or not before:
            return
        functions = self._functions[self._module_at(computation.start)]
        symbols = self.symbols.made[before.symbols :]
        if len(symbols) != 1 or not functions:  # there are computations inside
            return
        fresh = self.export.new.names_since(before.names)
        body, values = computation.printed.body, computation.printed.values
        made = dict(zip([*fresh, symbols[0]], itertools.count(len(values) + len(body.values))))
        outside = {**{value: number for number, value in enumerate(values)}, **made}
        inside = {**{value: number for number, value in enumerate(body.values, len(values))}, **made}
        self._templates[self._key(computation)] = _Templates(
            Template(call, outside),
            functions[-1],
            inside,
            Template(functions[-1], made),
            body,
            [(outside[name], k, *_numbered(new, outside)) for name, k, new in renamed],
            len(fresh),
            BODY_NAME if computation.is_manual else computation.symbol,
            self.export.tally().since(before),
        )

    def _enter_function(self, function: CalledFunction, scope: ManualScope | None) -> None:
        export = self.export
        export.new.replace(function.start, function.end, "")
        part = export.begin(function.start, scope)
        self._frames.append(Frame(function, part, function.end, function.names[scope]))

    def _write_functions(self, module: int, at: int) -> None:
        """Write the functions that were made in a module, behind all that it had."""
        export = self.export
        if len(self._scopes) <= _ONE_MODULE:
            export.new.settle(at)
        before = export.begin(at, None)
        copies = []
        for function in self.called.values():
            if self._module_at(function.start) == module:
                for scope in function.scopes[1:]:
                    export.rewind()
                    part = export.begin(function.start, None)
                    self._enter_function(function, scope)
                    self._convert(function.start, function.end)
                    copies.append(f"{self._indent_at(at)}{export.finish(function.end, part)}\n")
        export.rewind()
        export.finish(at, before)
        new = "".join([*copies, *self._functions.pop(module, ())])
        if not new:
            return
        line_break = "" if export.text.endswith("\n", 0, at) or not at else "\n"
        export.new.replace(at, at, line_break)
        export.new.pieces.append(new)

    def _module_at(self, at: int) -> int:
        """The number of the innermost module around an offset; 0 for the text as a whole."""
        return max(i for i, scope in enumerate(self._scopes) if scope.start <= at < scope.end)


def _numbered(value: str, numbers: Mapping[str, int]) -> tuple[int, str]:
    """The number of a value's name, and what follows that."""
    name, sign, number = value.partition("#")
    return numbers[name], sign + number
