"""Manual and named computations as calls, whose carriers keep what they were.

The bodies become functions at the end of their module. Shardings stay Shardy attributes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdybridge.modules.carriers import IN_SHARDINGS, MANUAL_AXES, OUT_SHARDINGS, Quoting, write_carrier
from sdybridge.modules.export.manual_calls import verify_captures
from sdybridge.modules.export.new_symbols import NewSymbols
from sdybridge.modules.mlir.attributes import Aliases
from sdybridge.modules.mlir.computations import find_computations, outline_checker
from sdybridge.modules.mlir.frontend_attributes import FRONTEND_ATTRIBUTES, changed, read_attributes
from sdybridge.modules.mlir.meshes import find_meshes, find_scopes
from sdybridge.modules.mlir.moved_text import MovedText, Part, copied, dedented
from sdybridge.modules.mlir.sites import code_end
from sdybridge.sdy import TensorShardingPerValueAttr
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdybridge.modules.carriers import CarrierValue
    from sdybridge.modules.mlir.computations import Computation, ManualScope
    from sdybridge.modules.mlir.meshes import Scope
    from sdybridge.modules.mlir.moved_text import Replacement
    from sdybridge.modules.mlir.operations import Operation

BODY_NAME = "xla.sdy.manual_computation_body"


@dataclass(frozen=True, slots=True)
class OutlinedComputations:
    """A program whose computations are calls.

    Attributes:
        source: The program.
        steps: What was moved in it, step by step.
        operations: How many computations of each name there were.
    """

    source: Source
    steps: Sequence[MovedText] = ()
    operations: Counter[str] = field(default_factory=Counter)

    def origin(self, span: Span) -> Span:
        """Where in the program before stands what is there now."""
        for step in reversed(self.steps):
            span = step.span(span)
        return span


def outline_computations(source: Source, target: Target) -> OutlinedComputations:
    """Make every computation of a program a call of a function.

    Raises:
        ParseError: The program is malformed.
        VerificationError: A computation is not valid.
        ConversionError: A body uses values from outside, or computations nest too deep.

    Source: `ExportNamedComputationsPass` in shardy's `transforms/export/export_named_computations.cc`, then
    `sdy_round_trip/shard_map_export.cc` in xla's `service/spmd/shardy`.
    """
    outlined = OutlinedComputations(source)
    computations = _computations(source, target)
    _verify(source, computations)
    for is_manual in (False, True):
        if outlined.steps:
            computations = _computations(outlined.source, target)
        chosen = [one for one in computations if one.is_manual == is_manual]
        if not chosen:
            continue
        work = _Outline(outlined.source, target)
        moved = MovedText([*work.run(chosen)])
        outlined.operations["sdy.manual_computation" if is_manual else "sdy.named_computation"] = len(chosen)
        outlined = OutlinedComputations(
            Source(moved.text, source.name), [*outlined.steps, moved], outlined.operations
        )
    return outlined


def _computations(source: Source, target: Target) -> list[Computation]:
    """All computations of a program, outer ones first."""
    return [*find_computations(outline_checker(source, target, Aliases(source.text)))]


def _verify(source: Source, computations: Sequence[Computation]) -> None:
    meshes = find_meshes(source)
    scopes: dict[Computation | None, ManualScope | None] = {None: None}
    for one in computations:
        outside = scopes[one.outer]
        one.verify(meshes.at(one.name_start), outside)
        scopes[one] = one.scope_inside(outside)


class _Outline:
    """The calls of computations of one kind."""

    def __init__(self, source: Source, target: Target) -> None:
        self.text = source.text
        self.code_end = code_end(source.text)
        self.is_classic = target is Target.CLASSIC
        self.symbols = NewSymbols(source.text)
        self.scopes = find_scopes(source.text)
        self.functions: dict[int, list[Part]] = defaultdict(list)  # by the number of the module
        self.stem = "%manual"
        while self.stem in source.text:
            self.stem += "_"
        self.values = 0

    def run(self, computations: Sequence[Computation]) -> Iterator[Part]:
        """The parts of the new text."""
        inside: dict[Computation | None, list[Replacement]] = defaultdict(list)
        around: list[Computation] = []

        def leave() -> None:
            one = around.pop()
            outer = around[-1] if around else None
            inside[outer].append((one.start, one.end, [self._outlined(one, inside.pop(one, []))]))

        for one in computations:
            while around and around[-1].end <= one.start:
                leave()
            around.append(one)
        while around:
            leave()
        top = inside[None]
        for number, functions in self.functions.items():
            at = self._end(self.scopes[number])
            top.append((at, at, [Part("" if self.text[at - 1 : at] == "\n" else "\n", at), *functions]))
        top.sort(key=lambda replacement: replacement[:2])
        yield from copied(self.text, 0, len(self.text), top)

    def _outlined(self, one: Computation, inside: list[Replacement]) -> Part:
        """The call of a computation, whose function joins those of its module."""
        text, last = self.text, one.terminator
        name = [Part('"func.return"' if last.is_generic else "return", last.name_start)]
        start = one.inside.start
        end = start + len(text[start : one.inside.end].rstrip())
        parts = [*copied(text, start, end, [*inside, (last.name_start, last.name_end, name)])]
        verify_captures(one, "".join([part.text for part in parts]))
        call, head = self._manual(one) if one.is_manual else self._named(one)
        number = max(i for i, scope in enumerate(self.scopes) if scope.start <= one.start < scope.end)
        indent = self._indent(self.scopes[number]) if number else ""
        body = dedented(parts, len(one.body_indent) - len(indent) - 2)
        at = one.name_start
        self.functions[number] += [Part(f"{indent}{head} {{", at), *body, Part(f"\n{indent}}}\n", at)]
        return Part(one.join(call), at)

    def _manual(self, one: Computation) -> tuple[list[str], str]:
        """The calls in the place of a manual computation, and the head of its function."""
        operation = one.operation
        ins, outs, axes = (
            one.parameters[key].value for key in ("in_shardings", "out_shardings", "manual_axes")
        )
        types = self._types(operation)
        arguments = [*one.arguments()]
        local_in = [of_type for _, _, of_type in arguments]
        local_out = self._types(one.terminator)[0]
        left = self.text[operation.start : operation.name_start]
        lines = []
        given = operation.operands
        if given:
            call = f"stablehlo.custom_call @xla.sdy.GlobalToLocalShape({', '.join(given)})"
            kept = _kept(has_side_effect=True, carriers={IN_SHARDINGS: ins, MANUAL_AXES: axes})
            results, given = self._fresh(len(given))
            lines.append(f"{results}{call} {kept} : ({', '.join(types[0])}) -> {_listed(local_in)}")
        symbol = self.symbols.make(BODY_NAME)
        results, returned = self._fresh(len(local_out))
        dictionary = "" if self.is_classic else f' {{{FRONTEND_ATTRIBUTES} = {{inlineable = "false"}}}}'
        if not given and not returned:  # XLA keeps nothing then
            dictionary = f" {_kept(has_side_effect=False, carriers={MANUAL_AXES: axes})}"
        types_ = f"({', '.join(local_in)}) -> {_listed(local_out)}"
        lines.append(f"{results}func.call {symbol}({', '.join(given)}){dictionary} : {types_}")
        if returned:
            kept = _kept(
                has_side_effect=not self.is_classic, carriers={MANUAL_AXES: axes, OUT_SHARDINGS: outs}
            )
            call = f"{left}stablehlo.custom_call @xla.sdy.LocalToGlobalShape({', '.join(returned)})"
            lines.append(f"{call} {kept} : ({', '.join(local_out)}) -> {_listed(types[1])}")
        inputs = ", ".join(before + after for before, after, _ in arguments)
        return lines, f"func.func {symbol}({inputs}){_arrow(local_out)}"

    def _named(self, one: Computation) -> tuple[list[str], str]:
        """The same of a named computation: its shardings are those of the function, and of the call."""
        text, operation = self.text, one.operation
        ins, outs = (
            one.parameters[key].value.shardings if key in one.parameters else ()
            for key in ("in_shardings", "out_shardings")
        )
        types = self._types(operation)
        symbol = self.symbols.make(one.symbol)
        inputs = [
            f"{before}{f' {{sdy.sharding = {ins[k]}}}' if ins else ''}{after}"
            for k, (before, after, _) in enumerate(one.arguments())
        ]
        outputs = [f"{of_type} {{sdy.sharding = {s}}}" for of_type, s in zip(types[1], outs, strict=False)]
        arrow = f" -> ({', '.join(outputs)})" if outputs else _arrow(types[1])
        value = str(TensorShardingPerValueAttr(outs)) if outs else None
        span = operation.dictionaries[-1] if operation.dictionaries else None
        old, span = (text, span) if span else ("{}", Span(0, 2))
        dictionary = changed(old, read_attributes(old, span), {"sdy.sharding": value}, {})
        left = text[operation.start : operation.name_start]
        call = f"{left}func.call {symbol}({', '.join(operation.operands)}){' ' if dictionary else ''}"
        line = f"{call}{dictionary} : ({', '.join(types[0])}) -> {_listed(types[1])}"
        return [line], f"func.func private {symbol}({', '.join(inputs)}){arrow}"

    def _fresh(self, count: int) -> tuple[str, list[str]]:
        """What defines so many new values, and the values."""
        if not count:
            return "", []
        name = f"{self.stem}_{self.values}"
        self.values += 1
        if count == 1:
            return f"{name} = ", [name]
        return f"{name}:{count} = ", [f"{name}#{k}" for k in range(count)]

    def _types(self, operation: Operation) -> tuple[list[str], list[str]]:
        left, right = operation.signature_types
        cut = [[self.text[span.start : span.end] for span in side or ()] for side in (left, right)]
        return cut[0], cut[1]

    def _end(self, scope: Scope) -> int:
        """Where functions can join a module: before the line of its closing brace."""
        at = min(scope.end - 1, self.code_end)
        line = self.text.rfind("\n", 0, at) + 1
        return line if not self.text[line:at].strip(" \t") else at

    def _indent(self, scope: Scope) -> str:
        """The white space before what is in a module."""
        at = self._end(scope)
        return f"{self.text[at : scope.end - 1]}  "


def _kept(*, has_side_effect: bool, carriers: dict[str, CarrierValue]) -> str:
    """The dictionary of a call."""
    kept = [f"{key} = {write_carrier(key, value, Quoting.MLIR)}" for key, value in carriers.items()]
    before = "has_side_effect = true, " if has_side_effect else ""
    return f"{{{before}{FRONTEND_ATTRIBUTES} = {{{', '.join(kept)}}}}}"


def _arrow(types: Sequence[str]) -> str:
    return f" -> {_listed(types)}" if types else ""


def _listed(types: Sequence[str]) -> str:
    return types[0] if len(types) == 1 and not types[0].startswith("(") else f"({', '.join(types)})"
