"""The manual and named computations of a program, and the axes that are manual in them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError, SdyBridgeError
from sdybridge.modules.mlir.attributes import type_alias_spans
from sdybridge.modules.mlir.enclosing import Enclosing
from sdybridge.modules.mlir.lexer import (
    STRING,
    SUFFIX_ID,
    TRIVIA,
    back_over_trivia,
    holds,
    parse_error,
    places,
    skip_trivia,
    unescape,
)
from sdybridge.modules.mlir.operations import OperationTree
from sdybridge.modules.mlir.printed_computations import PrintedComputation, PrintedComputations
from sdybridge.modules.mlir.reader import parse_outline
from sdybridge.modules.mlir.result_types import expand_type
from sdybridge.modules.mlir.sdy_operations import read_parameters
from sdybridge.modules.mlir.sites import COMPUTATION_NAME, SiteKind, find_sites
from sdybridge.modules.mlir.values import Scope
from sdybridge.modules.verify.checker import Checker
from sdybridge.modules.verify.computations import verify_manual_computation, verify_named_computation
from sdybridge.modules.verify.context import AlreadyReportedError, Context, ModuleScope
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.mlir.sdy_operations import Parameter
    from sdybridge.modules.mlir.sites import Site
    from sdybridge.sdy import MeshAttr, TensorShardingAttr
    from sdybridge.source import Source
    from sdybridge.target import Target

MANUAL = "sdy.manual_computation"
NAMES = (MANUAL, "sdy.named_computation")
"""The operations with a body."""

_VALUE = rf"%{SUFFIX_ID}(?:{TRIVIA}:{TRIVIA}\d++)?"
_RESULTS = re.compile(rf"{_VALUE}(?:{TRIVIA},{TRIVIA}{_VALUE})*{TRIVIA}={TRIVIA}\Z")
_DEEPEST = 100  # levels; each one has manual axes of its own, or none
_LONGEST_RESULTS = 2000  # characters of the names of an operation's results
_SYMBOL_NAME = re.compile(rf"{TRIVIA}<{TRIVIA}({STRING})")


def has_computations(text: str) -> bool:
    """Whether a text may hold manual or named computations."""
    return any(holds(text, name) for name in NAMES)


@dataclass(frozen=True, slots=True)
class ManualScope:
    """What is manual in a part of a program.

    Attributes:
        axes: The manual axes, those of the outermost computation first.
        mesh: The mesh that they belong to, as the computation's first sharding refers to it.
    """

    axes: tuple[str, ...]
    mesh: str | MeshAttr


class Computation:
    """One computation; what its text holds is read when first asked for.

    Args:
        checker: The program.
        site: Where its name is.
        outer: The computation around it.
        repeats: An earlier one that only differs in the names of its values.
        printed: Where it is in the text as MLIR prints it, and its values; none if it is written otherwise.
    """

    def __init__(
        self,
        checker: Checker,
        site: Site,
        outer: Computation | None,
        repeats: Computation | None,
        printed: PrintedComputation | None,
    ) -> None:
        self.checker = checker
        self.outer = outer
        self.repeats = repeats
        self.printed = printed
        self.name_start = site.start
        self.is_manual = site.name == MANUAL
        if repeats and printed:
            self.start, self.end, self.body = printed.start, printed.end, printed.span
            return
        self.start, self.end = self.operation.start, self.operation.end
        region = self.operation.regions[0]
        self.body = Span(region.start, region.end)
        if printed and (printed.start, printed.end, printed.span) != (self.start, self.end, self.body):
            self.printed = None

    @functools.cached_property
    def operation(self) -> Operation:
        """The operation; of its body, the arguments and the terminator."""
        source = self.checker.source
        start = statement_start(source.text, self.name_start)
        operation = parse_outline(source, start, "sdy.return")
        _expect_terminator(operation)
        return operation

    @functools.cached_property
    def parameters(self) -> dict[str, Parameter]:
        """Its shardings and manual axes."""
        return read_parameters(self.checker, self.operation)

    @property
    def type_aliases(self) -> Mapping[str, Span]:
        """The type aliases of the text."""
        return self.checker.tree.aliases

    @functools.cached_property
    def shardings(self) -> tuple[TensorShardingAttr, ...]:
        """Those of the operands, then those of the results."""
        lists = [self.parameters.get(key) for key in ("in_shardings", "out_shardings")]
        return tuple(sharding for found in lists if found for sharding in found.value.shardings)

    @property
    def is_inlined(self) -> bool:
        """Whether nothing is sharded at its border, so that the body can take its place."""
        return self.is_manual and not self.shardings

    @property
    def terminator(self) -> Operation:
        """What ends the body."""
        return self.operation.regions[0].blocks[0].operations[-1]

    @property
    def inside(self) -> Span:
        """The body's operations: the region without its braces and label."""
        text, region = self.operation.source.text, self.operation.regions[0]
        start = region.start + 1
        at = skip_trivia(text, start)
        if text.startswith("^", at):
            header = region.blocks[0].header
            start = text.index(":", header.end if header else at) + 1
        return Span(start, region.end - 1)

    @property
    def indent(self) -> str:
        """The white space before the operation, if that stands first on its line."""
        return _indent(self.operation)

    @property
    def body_indent(self) -> str:
        """The white space before the terminator of the body, if that stands first on its line."""
        return _indent(self.terminator)

    @property
    def symbol(self) -> str:
        """The name of a named computation."""
        text, operation = self.operation.source.text, self.operation
        if operation.is_generic:
            entry = operation.attribute("name")
            literal = text[entry.value.start : entry.value.end] if entry and entry.value else '""'
        else:
            found = _SYMBOL_NAME.match(text, operation.name_end)
            literal = found[1] if found else '""'
        return unescape(literal)

    @property
    def argument_names(self) -> Iterator[str]:
        """The names of the body's arguments."""
        block = self.operation.regions[0].blocks[0]
        return (argument.name for argument in self.operation.block_arguments(block) if argument.name)

    def arguments(self) -> Iterator[tuple[str, str, str]]:
        """Each argument of the body: its text up to its type, what follows that, and the type."""
        text, operation = self.operation.source.text, self.operation
        for argument in operation.block_arguments(operation.regions[0].blocks[0]):
            of_type = text[argument.type.start : argument.type.end]
            before = text[argument.span.start : argument.type.end]
            yield before, text[argument.type.end : argument.span.end], of_type

    def operands(self) -> Iterator[tuple[str, TensorShardingAttr, str, str]]:
        """Each operand of a manual computation: its name, sharding, type, and type in the body."""
        shardings = self.parameters["in_shardings"].value.shardings
        outside, _ = self.operation.signature_types
        for operand, sharding, span, (_, _, inside) in zip(
            self.operation.operands, shardings, outside, self.arguments(), strict=True
        ):
            yield operand, sharding, self._type(span), inside

    def results(self) -> Iterator[tuple[str, int, TensorShardingAttr, str, str]]:
        """Each result of a manual computation: name, number, sharding, type in the body, and type.

        The number is that among several under this name, or -1; the name is empty if the text gives none.
        """
        operation = self.operation
        names = [(name, k if count > 1 else -1) for name, count in operation.results for k in range(count)]
        _, outside = operation.signature_types
        inside, _ = self.terminator.signature_types
        shardings = self.parameters["out_shardings"].value.shardings
        for (name, number), sharding, local, span in zip(
            names or [("", -1)] * len(shardings), shardings, inside, outside or (), strict=True
        ):
            yield name, number, sharding, self._type(local), self._type(span)

    def _type(self, span: Span) -> str:
        """The type that stands there, or that the alias there stands for."""
        text = self.operation.source.text
        return expand_type(text[span.start : span.end], text, self.type_aliases)

    def join(self, lines: Sequence[str]) -> str:
        """Operations that take the place of this one, each with its location."""
        operation = self.operation
        text = operation.source.text
        end = operation.signature.end if operation.signature else operation.end
        location = text[end : operation.end]
        return f"{location}\n{self.indent}".join(lines) + location

    def verify(self, meshes: Mapping[str, MeshAttr], outside: ManualScope | None) -> None:
        """Check all rules of the operation.

        Args:
            meshes: The meshes of the module that it is in.
            outside: What is manual around it.

        Raises:
            SdyBridgeError: The first rule that is broken, where it is.
        """
        around = self.outer.operation if self.outer else self.operation
        manual = dict.fromkeys(outside.axes if outside else (), around)
        context = Context(ModuleScope({**meshes}), None, manual, Scope([]))
        verify = verify_manual_computation if self.is_manual else verify_named_computation
        try:
            verify(self.checker, self.operation, self.parameters, context)
        except AlreadyReportedError:
            return  # a mesh has an error, and is read elsewhere
        except SdyBridgeError as error:
            self.checker.place(error)
            raise

    def scope_inside(self, outside: ManualScope | None) -> ManualScope | None:
        """What is manual in the body, by what is manual around the operation."""
        if self.repeats:
            return self.repeats.scope_inside(outside)
        if not self.is_manual or not self.shardings:
            return outside
        axes = (*(outside.axes if outside else ()), *self.parameters["manual_axes"].value.value)
        return ManualScope(axes, self.shardings[0].mesh_or_ref)


def find_computations(checker: Checker) -> Iterator[Computation]:
    """Every computation of a text, outer ones first.

    Raises:
        ParseError: One is malformed.
        ConversionError: They nest too deep.
    """
    text = checker.text
    starts = sorted(start for name in NAMES for start in places(text, name, [(0, len(text))]))
    sites = [
        site
        for site in find_sites(text, COMPUTATION_NAME, starts=starts)
        if site.kind in (SiteKind.OPERATION, SiteKind.GENERIC_OPERATION)
    ]
    read = PrintedComputations(text).at
    printed_ones = [read(site.start) for site in sites]
    firsts: dict[object, Site] = {}
    for site, printed in zip(sites, printed_ones, strict=True):
        firsts.setdefault(printed.key if printed else site, site)
    _verify_depth(checker.source, [*firsts.values()][_DEEPEST:])
    around: list[Computation] = []
    known: dict[object, Computation] = {}
    for site, printed in zip(sites, printed_ones, strict=True):
        while around and around[-1].end <= site.start:
            around.pop()
        outer = around[-1] if around else None
        repeats = known.get(printed.key) if printed else None
        found = Computation(checker, site, outer, repeats, printed)
        if found.printed and not repeats:
            known[found.printed.key] = found
        around.append(found)
        yield found


def distinct_spans(text: str, computations: Iterable[Computation]) -> list[tuple[int, int]]:
    """The text without the bodies that repeat an earlier one word by word."""
    spans = []
    last = 0
    for one in computations:
        body = one.printed.body if one.printed else None
        first = one.repeats.printed if one.repeats else None
        if body and first and body is first.body and one.body.start >= last and "module" not in body.text:
            spans.append((last, one.body.start + 1))
            last = one.body.end - 1
    return [*spans, (last, len(text))]


def _verify_depth(source: Source, sites: Sequence[Site]) -> None:
    """Raises where computations nest so deep that to look for the end of each would take long."""
    text, last, depth = source.text, 0, 0
    enclosing = Enclosing(text)
    for site in sites:
        depth += text.count("{", last, site.start) - text.count("}", last, site.start)
        last = site.start
        if depth > _DEEPEST and enclosing.depth(site.start) > _DEEPEST:
            raise ConversionError(
                f"regions nest more than {_DEEPEST} deep around a computation",
                source=source,
                span=Span(site.start, site.end),
            )


def outline_checker(source: Source, target: Target, aliases: Mapping[str, str]) -> Checker:
    """A checker of parts of a text, which has not read the operations of the rest."""
    types = type_alias_spans(source.text)
    checker = Checker(OperationTree(source, [], types), target)
    checker.aliases = aliases
    return checker


def statement_start(text: str, name: int) -> int:
    """Where the results of the operation start whose name starts at `name`; `name` if it has none.

    >>> statement_start("a %0:2, %b = c.d", 13)
    2
    """
    floor = max(0, name - _LONGEST_RESULTS)
    found = _RESULTS.search(text, text.rfind("\n", floor, name) + 1 or floor, name)
    if not found and text.endswith("=", 0, back_over_trivia(text, name)):
        found = _RESULTS.search(text, floor, name)
    return found.start() if found else name


def _indent(operation: Operation) -> str:
    text, start = operation.source.text, operation.start
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return before if before.isspace() else ""


def _expect_terminator(operation: Operation) -> None:
    text = operation.source.text
    region = operation.regions[0]
    operations = region.blocks[0].operations
    last = operations[-1] if operations else None
    is_last = last and last.name == "sdy.return" and skip_trivia(text, last.end) == region.end - 1
    if is_last and len(region.blocks) == 1:
        return
    raise parse_error(
        text,
        region.end - 1,
        f"expected `sdy.return` at the end of the body of {operation.name}",
        help="end the body with `sdy.return` and the values it returns",
    )
