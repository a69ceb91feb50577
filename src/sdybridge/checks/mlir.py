"""An MLIR program under check."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from sdybridge.checks.program import GSPMD_CALLS, Call, Options, Place, Problem, Program, Use
from sdybridge.errors import ParseError
from sdybridge.modules.annotations import CARRIER, MHLO, SDY
from sdybridge.modules.mlir.annotations import FRONTEND_ATTRIBUTES, MlirProgram
from sdybridge.modules.mlir.attributes import attribute_end
from sdybridge.modules.mlir.gspmd_calls import GspmdCalls, called_by
from sdybridge.modules.mlir.hlo_attribute import element_span
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.verify.checker import Checker
from sdybridge.modules.verify.module import verify_operations
from sdybridge.sdy import TensorShardingPerValueAttr
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sdybridge.errors import SdyBridgeError
    from sdybridge.modules.annotations import Annotation
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.source import Source

_SHARDING_KEYS = (SDY, MHLO)


class MlirText(Program):
    """An MLIR program under check.

    Raises:
        ParseError: Its operations cannot be told apart.
    """

    is_mlir = True

    def __init__(self, source: Source, options: Options) -> None:
        self.source = source
        self.options = options
        self.tree = parse_operations(source, progress=options.progress)
        self.errors = verify_operations(self.tree, options.target)
        self._checker = Checker(self.tree, options.target)
        others: list[tuple[str, SdyBridgeError]] = []
        program = MlirProgram(source, options.target, tree=self.tree, errors=others)
        self.annotations = tuple(program.annotations())
        self.meshes = program.meshes
        self.num_partitions = program.num_partitions
        self._program = program
        self._custom_calls = GspmdCalls(self.tree)
        self.errors += [error for carrier, error in others if carrier != SDY]  # those are verified already

    @functools.cached_property
    def inputs(self) -> list[Annotation]:  # type: ignore[override]
        """The arguments of the main function."""
        return self._program.inputs()

    @functools.cached_property
    def outputs(self) -> list[Annotation]:  # type: ignore[override]
        """The results of the main function."""
        return self._program.outputs()

    @functools.cached_property
    def _in_lists(self) -> dict[int, list[Annotation]]:
        """The annotations that one list or tuple holds, by where that stands."""
        found: dict[int, list[Annotation]] = {}
        for one in self.annotations:
            found.setdefault(one.offset, []).append(one)
        return {offset: several for offset, several in found.items() if len(several) > 1}

    def place(self, annotation: Annotation) -> Place:
        """Where a sharding stands, in a list or tuple the one sharding."""
        start, text = annotation.offset, self.source.text
        try:
            span = Span(start, attribute_end(text, start))
        except ParseError:
            return Place(Span(start, start + 1), annotation.name)
        several = self._in_lists.get(start, [])
        index = next((i for i, one in enumerate(several) if one is annotation), 0)
        if several and annotation.carrier == SDY:
            span = self._checker.place_of(start, TensorShardingPerValueAttr, ("shardings", index))
        elif several and annotation.carrier == MHLO and text.startswith('"', start):
            span = element_span(text[start : span.end], index).shifted(start)
        return Place(span, annotation.name)

    def calls(self) -> Iterator[Call]:
        """The calls of GSPMD's targets."""
        for operation in self.tree.walk():
            target = called_by(operation)
            if target in GSPMD_CALLS:
                place = Place(Span(operation.start, operation.name_end), operation.full_name)
                yield Call(target, self._has_sharding(operation), place)

    @property
    def sharding_calls(self) -> frozenset[int]:
        """Where the shardings of the calls of `@Sharding` stand."""
        return self._custom_calls.sharding_calls

    @property
    def carried_results(self) -> Mapping[tuple[str, str], str]:  # type: ignore[override]
        """The results, by function and name, whose Shardy sharding a call carries, and that call's value."""
        return self._custom_calls.carried_results

    def repeats_result(self, annotation: Annotation) -> bool:
        """Whether a value is there only to give a result its Shardy sharding on the way through HLO."""
        return annotation.offset in self._custom_calls.result_calls

    def _has_sharding(self, operation: Operation) -> bool:
        if any(operation.attribute(key) for key in _SHARDING_KEYS):
            return True
        entry = operation.attribute(FRONTEND_ATTRIBUTES)
        return bool(
            entry and entry.value and self.source.text.find(CARRIER, entry.value.start, entry.value.end) >= 0
        )

    @functools.cached_property
    def _gspmd(self) -> dict[tuple[str, str], Annotation]:
        """The values with an HLO sharding, by function and name; `%0#0` is `%0` too."""
        found = {}
        for one in self.annotations:
            if one.carrier == MHLO:
                found[one.scope, one.name] = one
                if one.name.endswith("#0"):
                    found[one.scope, one.name.removesuffix("#0")] = one
        return found

    def uses(self) -> Iterator[Use]:
        """Which values with an HLO sharding operations with an HLO sharding use."""
        values = self._gspmd
        for scope, operation in self._custom_calls.operations() if values else ():
            names = [f"{name}#0" if count > 1 else name for name, count in operation.results]
            user = values.get((scope, names[0])) if names else None
            if user is None:
                continue
            for name in operation.operands:
                if value := values.get((scope, name)):
                    yield Use(value, user, called_by(operation))

    def unsharded_results(self) -> Iterator[tuple[str, Place, Annotation]]:
        """The results of the main function without sharding whose value has an HLO sharding."""
        if not self._gspmd:
            return
        open_results = [(i, one) for i, one in enumerate(self.outputs) if one.sharding is None]
        if not open_results:
            return
        scope = open_results[0][1].scope
        returned: list[str] = []
        for of_function, operation in self._custom_calls.operations():
            if of_function == scope and operation.full_name == "func.return":
                returned = operation.operands
        for i, result in open_results:
            value = self._gspmd.get((scope, returned[i])) if i < len(returned) else None
            if value:
                yield result.name, Place(Span(result.offset, result.offset + 1), result.name), value

    def manual_escapes(self) -> Iterator[Problem]:
        """The uses of a value of a manual computation outside of its body."""
        for function in self.tree.walk():
            if not function.full_name.endswith(".func"):
                continue
            bodies = [one for one in function.walk() if one.full_name == "sdy.manual_computation"]
            if bodies:
                yield from self._escapes(function, bodies)

    def _escapes(self, function: Operation, bodies: list[Operation]) -> Iterator[Problem]:
        inside = {name: body for body in reversed(bodies) for name in _defined_in(body)}
        stack: list[tuple[Operation, frozenset[str]]] = [(function, frozenset())]
        while stack:
            operation, visible = stack.pop()
            for region in operation.regions:
                defined = set(visible)
                for block in region.blocks:
                    defined.update(a.name for a in operation.block_arguments(block) if a.name)
                    defined.update(name for one in block.operations for name, _ in one.results)
                here = frozenset(defined)
                stack += [(one, here) for block in region.blocks for one in block.operations]
            for index, name in enumerate(operation.operands):
                base = name.partition("#")[0]
                if base not in visible and base in inside:
                    yield self._escape(operation, index, name, inside[base])

    def _escape(self, operation: Operation, index: int, name: str, body: Operation) -> Problem:
        line, column = self.source.location(body.start)
        return Problem(
            "SB301",
            f"{name} is a value of the manual computation at {line}:{column}, and used outside of it",
            Place(operation.operand_span(index), operation.full_name),
            ("inside, a value is one device's part; outside there are whole values only",),
            "return it from the computation with sdy.return, and use that result",
        )


def _defined_in(body: Operation) -> set[str]:
    """The names of all values that are defined inside of an operation."""
    names: set[str] = set()
    for operation in body.walk():
        if operation is not body:
            names.update(name for name, _ in operation.results)
        for region in operation.regions:
            for block in region.blocks:
                names.update(a.name for a in operation.block_arguments(block) if a.name)
    return names
