"""Import of carriers: the Shardy attributes that a program keeps as text become attributes again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import plural
from sdybridge.modules.carriers import (
    ALLOWED_DIRECTION,
    HAS_UNREDUCED_AXES,
    MESHES,
    SHARDING,
    SHARDING_GROUP_ID,
    SHARDING_RULE,
)
from sdybridge.modules.import_.carried_shardings import (
    CarriedShardings,
    Shardings,
    count_error,
    expect_same_meshes,
    in_words,
    kind_error,
)
from sdybridge.modules.import_.carrier_edits import CarrierEdits
from sdybridge.modules.import_.mesh_declarations import opening
from sdybridge.modules.import_.mixed_carriers import MixedCarriers
from sdybridge.modules.import_.split_results import SplitResults
from sdybridge.modules.mlir.callees import CUSTOM_CALLS, target_of
from sdybridge.modules.mlir.carrier_calls import DIRECTIONS, READ_BY_XLA
from sdybridge.modules.mlir.frontend_attributes import (
    Attributes,
    changed,
    new_dictionaries,
    read_attributes,
    replaced,
)
from sdybridge.modules.mlir.meshes import find_meshes, own_meshes
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.result_shardings import ResultCall, ResultShardings
from sdybridge.modules.mlir.result_types import expand_type, result_types
from sdybridge.modules.mlir.types import tuple_elements
from sdybridge.modules.splice import splice
from sdybridge.sdy import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.converted import ConvertedSharding
    from sdybridge.modules.mlir.operations import Argument, Operation
    from sdybridge.modules.splice import Edit
    from sdybridge.source import Source, Span
    from sdybridge.target import Target

MARK = "xla.sdy."
"""What every carrier and every call that is one has in its name."""

CARRIED = re.compile(r"xla\.sdy\.(?:sharding|meshes|allowed_direction|tuple_|FuncResultSharding)")
"""Pattern of what the import reads, in code or elsewhere."""

SWITCH = "xla.sdy.import_mhlo_shardings"
"""The frontend attribute of a module whose HLO shardings are to be read, whatever it carries."""

_HLO = "mhlo.sharding"
_OURS = frozenset({SHARDING, SHARDING_RULE, HAS_UNREDUCED_AXES})
_TUPLES = {"xla.sdy.tuple_args_shardings": "arg_attrs", "xla.sdy.tuple_results_shardings": "res_attrs"}
_MANUAL = frozenset({"xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"})
_KEEP_HLO = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", *_MANUAL})
_ON_ONE = frozenset(
    {"Sharding", "xla.sdy.FuncResultSharding", "xla.sdy.PropagationBarrier", "xla.sdy.ShardingGroup"}
)
_FEEDS = frozenset({"stablehlo.infeed", "stablehlo.outfeed", "mhlo.infeed", "mhlo.outfeed"})
_INDEX = re.compile(r"\[([0-9]{1,9})\]|index\s*=\s*([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class CarriersImport:
    """A program whose carriers are imported, and what was done to it.

    Attributes:
        text: The program.
        edits: What was changed, as edits of the program before.
        shardings: Every distinct sharding that was put back.
        operations: How many calls became operations, by their names.
        meshes: The meshes that were declared, by name.
        dropped: How many HLO shardings without a carrier were removed.
        mixed: What there was of HLO shardings.
    """

    text: str
    edits: Sequence[Edit]
    shardings: Sequence[ConvertedSharding]
    operations: Mapping[str, int]
    meshes: Mapping[str, MeshAttr]
    dropped: int
    mixed: MixedCarriers


def import_carriers(source: Source, known: Mapping[str, MeshAttr], target: Target) -> CarriersImport:
    """Put every sharding, rule, group, barrier and mesh back that the program keeps in carriers.

    Where a module keeps shardings, those HLO shardings go that have no carrier: XLA's export leaves none
    without one, and what came back from HLO only says what the compiler filled in.

    Args:
        source: The program.
        known: The caller's meshes, for what the program lost.
        target: Whose grammar to follow.

    Raises:
        ParseError: The program, or the text in a carrier, is malformed.
        VerificationError: A sharding is not valid where it stands.

    Source: `sdy_round_trip` in xla's `service/spmd/shardy`.
    """
    work = _Import(source, known, target)
    pending: list[tuple[Operation | None, list[Operation]]] = [(None, work.tree.operations)]
    while pending:
        pending += work.module(*pending.pop(0))
    edits = work.edits.list
    return CarriersImport(
        text=splice(source.text, edits) if edits else source.text,
        edits=edits,
        shardings=[*work.shardings.converted.values()],
        operations=work.edits.operations,
        meshes=work.meshes,
        dropped=work.edits.dropped,
        mixed=work.mixed,
    )


class _Import:
    """One import under way."""

    def __init__(self, source: Source, known: Mapping[str, MeshAttr], target: Target) -> None:
        self.source = source
        self.text = source.text
        self.tree = parse_operations(source)
        self.declared = find_meshes(source)
        self.shardings = CarriedShardings(target, known)
        self.edits = CarrierEdits(source, self.shardings)
        self.mixed = MixedCarriers(source, target)
        self.meshes: dict[str, MeshAttr] = {}
        self._function = ""  # the name of the one that is read now
        self._tuples: dict[str, Carrier] = {}  # what the module keeps for all arguments, or all results
        self._halves = SplitResults(self.tree.aliases, self.shardings, self.edits)

    def module(
        self, module: Operation | None, operations: list[Operation]
    ) -> list[tuple[Operation | None, list[Operation]]]:
        """Import one module, or the text around all; return the modules in it."""
        start = module.regions[0].start if module and module.regions else 0
        here = own_meshes(self.declared, operations)
        self._tuples = {}
        kept = self._kept_meshes(module, here) if module else {}
        self.shardings.meshes = {**here, **kept}
        self.shardings.used = {}
        before = self._count()
        inner = self._operations(operations)
        self.edits.close_module(drop=self._count() > before)
        new = {**kept, **self.shardings.used}
        declarations = {name: mesh for name, mesh in new.items() if name not in here}
        if declarations:
            place = opening(self.text, start if module else -1)
            self.edits.list.append((place.offset, place.offset, place.declare(declarations.items())))
        self.meshes.update({**here, **new})
        return inner

    def _count(self) -> int:
        """How many shardings were put back."""
        return sum(one.count for one in self.shardings.converted.values())

    def _kept_meshes(self, module: Operation, here: Mapping[str, MeshAttr]) -> dict[str, MeshAttr]:
        """The meshes in the module's carrier, which goes as those of tuples do."""
        kept: dict[str, MeshAttr] = {}
        for span in module.dictionaries:
            attributes = self._attributes(span)
            if attributes is None:
                continue
            gone = {key: None for key in (MESHES, *_TUPLES) if key in attributes.frontend}
            for key, of_values in _TUPLES.items():
                tuple_ = attributes.carrier(self.source, key)
                if tuple_:
                    self._tuples[of_values] = tuple_
            carrier = attributes.carrier(self.source, MESHES)
            if carrier:
                kept = carrier.parse()  # type: ignore[assignment]  # what this key holds
                expect_same_meshes(carrier, kept, {**self.shardings.known, **here})
            if gone:
                self.edits.list.append(replaced(self.text, span, changed(self.text, attributes, {}, gone)))
        return kept

    def _operations(self, operations: list[Operation]) -> list[tuple[Operation | None, list[Operation]]]:
        """Import operations and all in them, but for modules, which are returned."""
        inner: list[tuple[Operation | None, list[Operation]]] = []
        stack = [*reversed(operations)]
        functions: list[tuple[Operation, list[ResultCall]]] = []
        while stack:
            operation = stack.pop()
            name = operation.full_name
            bodies = [o for region in operation.regions for block in region.blocks for o in block.operations]
            if name == "builtin.module":
                inner.append((operation, bodies))
                continue
            if name.endswith(".func"):
                functions.append((operation, []))
                self._halves.enter(operation)
                self._function = operation.symbol or ""
                self._values(operation, "arg_attrs", {})
            elif self._halves.combined(operation):
                pass
            elif operation.dictionaries and (call := self._operation(operation)) and functions:
                functions[-1][1].append(call)
            stack += reversed(bodies)
        for function, calls in functions:
            self._results(function, calls)
        return inner

    def _attributes(self, span: Span) -> Attributes | None:
        """The dictionary at `span`, if there may be something to do."""
        text = self.text
        if text.find(MARK, span.start, span.end) < 0 and text.find(_HLO, span.start, span.end) < 0:
            return None
        return read_attributes(text, span)

    def _values(self, function: Operation, of: str, calls: Mapping[int, ResultCall]) -> None:
        """Import the shardings of arguments or results: of calls, in their dictionaries, or of a tuple.

        Args:
            function: The function.
            of: `arg_attrs` or `res_attrs`.
            calls: The calls that carry them, by the number of the value.
        """
        is_result = of == "res_attrs"
        values = function.function_results if is_result else function.arguments
        of_tuple = self._of_tuple(function, of, values)
        new: dict[int, str] = {}
        for index, value in enumerate(values):
            attributes = read_attributes(self.text, value.dictionary) if value.dictionary else None
            found = of_tuple.get(index)
            own = attributes and attributes.carrier(self.source, SHARDING)
            if index in calls:
                found = calls[index].carrier, calls[index].sharding
                self.edits.operations["stablehlo.custom_call @xla.sdy.FuncResultSharding"] += 1
            elif own:
                name = f"{'result' if is_result else 'argument'} {index} of"
                found = own, self._of_value(function, value, own, name)
            called = f"result {index}" if is_result else value.name or f"argument {index}"
            where = (function.symbol or "", "result" if is_result else "argument", called)
            hlo = attributes.entries.get(_HLO) if attributes else None
            if found:
                self.mixed.carried(where, found[0], [found[1]], hlo, self.shardings.meshes)
            else:
                self.mixed.alone(where, hlo)
            if found and attributes:
                self.edits.put(attributes, found[0], str(found[1]), is_listed=function.is_generic)
            elif found:
                self.shardings.count(found[0], None, str(found[1]))
                new[index] = f"{{sdy.sharding = {found[1]}}}"
            elif attributes:
                self.edits.orphan(attributes, is_listed=function.is_generic)
        self.edits.list += new_dictionaries(function, of, new)

    def _of_value(
        self, function: Operation, value: Argument, carrier: Carrier, name: str
    ) -> TensorShardingAttr:
        """The one sharding in the carrier of an argument or result."""
        shardings = self.shardings.read(carrier)
        if len(shardings) != 1:
            raise count_error(carrier, len(shardings), "1 value")
        self.shardings.check(shardings, [self._type(value)], carrier, lambda: f"{name} {in_words(function)}")
        return shardings[0]

    def _of_tuple(
        self, function: Operation, of: str, values: Sequence[Argument]
    ) -> dict[int, tuple[Carrier, TensorShardingAttr]]:
        """The shardings that the module keeps for all arguments, or all results, of `@main`."""
        carrier = self._tuples.get(of) if function.symbol == "main" else None
        if carrier is None:
            return {}
        shardings = self.shardings.read(carrier)
        if len(shardings) != len(values):
            raise count_error(carrier, len(shardings), f"{len(values)} values of @main")
        self.shardings.check(shardings, [*map(self._type, values)], carrier, lambda: "the module")
        return {index: (carrier, sharding) for index, sharding in enumerate(shardings)}

    def _operation(self, operation: Operation) -> ResultCall | None:
        """Import the carriers of an operation; a call that carries a result's sharding is returned."""
        span = operation.dictionaries[-1]
        attributes = self._attributes(span)
        if attributes is None:
            return None
        name = operation.full_name
        target = target_of(operation) if name in CUSTOM_CALLS else ""
        if target in _MANUAL:
            return None
        carrier = attributes.carrier(self.source, SHARDING)
        is_on_one = target in _ON_ONE and len(operation.operands) == 1
        if target == "xla.sdy.FuncResultSharding" and carrier and operation.results:
            halves = self._halves.call(operation, attributes, carrier)
            if halves:
                return halves
        if target == "xla.sdy.FuncResultSharding" and carrier and is_on_one and operation.results:
            shardings = self._of_operation(operation, carrier)
            return ResultCall(operation, attributes, carrier, shardings[0]) if shardings else None
        if target == "xla.sdy.ShardingGroup" and is_on_one:
            self._group(operation, attributes)
        elif target == "xla.sdy.PropagationBarrier" and is_on_one:
            self._barrier(operation, attributes)
        elif carrier is None and SHARDING_RULE not in attributes.frontend:
            self._note(operation, attributes, None, ())
            if target not in _KEEP_HLO and name not in _FEEDS:
                self.edits.orphan(attributes)
        else:
            shardings = self._of_operation(operation, carrier) if carrier else ()
            self._note(operation, attributes, carrier, shardings)
            if carrier and target == "Sharding" and len(shardings) == 1 and is_on_one:
                self._constraint(operation, attributes, carrier, shardings)
            else:
                value = str(TensorShardingPerValueAttr(shardings)) if shardings else None
                self.edits.put(attributes, carrier, value)
        return None

    def _note(
        self, operation: Operation, attributes: Attributes, carrier: Carrier | None, shardings: Shardings
    ) -> None:
        """Take note of the HLO sharding of an operation, and of its carrier."""
        results = operation.results
        value = self._function, operation.full_name, results[0][0] if results else operation.full_name
        hlo = attributes.entries.get(_HLO)
        if carrier:
            self.mixed.carried(value, carrier, shardings, hlo, self.shardings.meshes)
        elif operation.full_name in CUSTOM_CALLS and target_of(operation) == "Sharding":
            self.mixed.alone(value, hlo)

    def _of_operation(self, operation: Operation, carrier: Carrier) -> Shardings:
        """The shardings of an operation's results; none where a tuple has them on its elements."""
        shardings = self.shardings.read(carrier)
        types = result_types(operation, self.tree.aliases)
        if types is None:
            return shardings
        wanted = max(1, len(types))
        if len(shardings) != wanted and len(types) == 1:
            found = _INDEX.search(self.text, operation.name_end, operation.end)
            if operation.full_name == "stablehlo.get_tuple_element" and found:
                index = int(found[1] or found[2])
                shardings = shardings[index : index + 1]
            elif types[0] is not None and len(tuple_elements(types[0]) or ()) == len(shardings):
                return ()
        if len(shardings) != wanted:
            error = count_error(carrier, len(shardings), plural(len(types), "result"))
            if operation.full_name in READ_BY_XLA:
                raise error
            self.shardings.drop(carrier, error.message)  # a `while` gets what it captures as results
            return ()
        self.shardings.check(shardings, types or ["none"], carrier, lambda: in_words(operation))
        return shardings

    def _constraint(
        self, operation: Operation, attributes: Attributes, carrier: Carrier, shardings: Shardings
    ) -> None:
        """`@Sharding(%a) {...} : (T) -> T` becomes `sdy.sharding_constraint %a <...> {...} : T`."""
        self.shardings.count(carrier, self.edits.hlo(attributes), str(TensorShardingPerValueAttr(shardings)))
        self.edits.rewrite(operation, attributes, "sdy.sharding_constraint", shardings[0].stripped)

    def _group(self, operation: Operation, attributes: Attributes) -> None:
        carrier = attributes.carrier(self.source, SHARDING_GROUP_ID)
        if carrier:
            self.edits.rewrite(operation, attributes, "sdy.sharding_group", f"group_id={carrier.parse()}")

    def _barrier(self, operation: Operation, attributes: Attributes) -> None:
        carrier = attributes.carrier(self.source, ALLOWED_DIRECTION)
        if not carrier:
            return
        direction = carrier.parse()
        if direction not in range(len(DIRECTIONS)):
            raise kind_error(carrier, "expected 0 for NONE, 1 for FORWARD or 2 for BACKWARD")
        details = f"allowed_direction={DIRECTIONS[int(str(direction))]}"
        self.edits.rewrite(operation, attributes, "sdy.propagation_barrier", details)

    def _results(self, function: Operation, calls: list[ResultCall]) -> None:
        """Import the shardings of a function's results, which calls before its return carry."""
        found = ResultShardings(self.text, function, calls)
        for call in found.constraints:
            self.edits.rewrite(call.operation, call.attributes, "sdy.sharding_constraint", call.opened)
        self.edits.list += found.edits
        self._values(function, "res_attrs", found.carried)

    def _type(self, value: Argument) -> str:
        return expand_type(self.text[value.type.start : value.type.end], self.text, self.tree.aliases)
