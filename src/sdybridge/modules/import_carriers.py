"""Import of carriers: the Shardy attributes that a program keeps as text become attributes again."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError, VerificationError
from sdybridge.modules.carried_shardings import CarriedShardings, Shardings
from sdybridge.modules.carriers import (
    ALLOWED_DIRECTION,
    HAS_UNREDUCED_AXES,
    MESHES,
    SHARDING,
    SHARDING_GROUP_ID,
    SHARDING_RULE,
)
from sdybridge.modules.frontend_attributes import Attributes, changed, read_attributes, replaced
from sdybridge.modules.lexer import matching_bracket, unescape
from sdybridge.modules.mesh_declarations import opening
from sdybridge.modules.meshes import find_meshes, own_meshes
from sdybridge.modules.reader import parse_operations
from sdybridge.modules.result_shardings import ResultCall, ResultShardings
from sdybridge.modules.result_types import expand_type, result_types
from sdybridge.modules.splice import splice
from sdybridge.modules.types import tuple_elements
from sdybridge.sdy import MeshAttr, TensorShardingPerValueAttr
from sdybridge.sdy.printer import symbol
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.errors import SdyBridgeError
    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.converted import ConvertedSharding
    from sdybridge.modules.operations import Argument, Operation
    from sdybridge.modules.splice import Edit
    from sdybridge.source import Source
    from sdybridge.target import Target

MARK = "xla.sdy."
"""What every carrier and every call that is one has in its name."""

CARRIED = re.compile(r"xla\.sdy\.(?:sharding|meshes|allowed_direction|tuple_|FuncResultSharding)")
"""Pattern of what the import reads, in code or elsewhere."""

SWITCH = "xla.sdy.import_mhlo_shardings"
"""The frontend attribute of a module whose HLO shardings are to be read, whatever it carries."""

DIRECTIONS = ("NONE", "FORWARD", "BACKWARD")
"""How a barrier's direction is written, by its number."""

_HLO = "mhlo.sharding"
_OURS = frozenset({SHARDING, SHARDING_RULE, HAS_UNREDUCED_AXES})
_CALLS = frozenset({"stablehlo.custom_call", "mhlo.custom_call"})
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
    """

    text: str
    edits: Sequence[Edit]
    shardings: Sequence[ConvertedSharding]
    operations: Mapping[str, int]
    meshes: Mapping[str, MeshAttr]
    dropped: int


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
    edits = work.edits
    return CarriersImport(
        text=splice(source.text, edits) if edits else source.text,
        edits=edits,
        shardings=[*work.shardings.converted.values()],
        operations=work.operations,
        meshes=work.meshes,
        dropped=work.dropped,
    )


class _Import:
    """One import under way."""

    def __init__(self, source: Source, known: Mapping[str, MeshAttr], target: Target) -> None:
        self.source = source
        self.text = source.text
        self.tree = parse_operations(source)
        self.declared = find_meshes(source)
        self.shardings = CarriedShardings(target, known)
        self.edits: list[Edit] = []
        self.operations: Counter[str] = Counter()
        self.meshes: dict[str, MeshAttr] = {}
        self.dropped = 0
        self._orphans: list[Edit] = []  # of the HLO shardings without a carrier in this module
        self._dictionaries: dict[str, str] = {}

    def module(
        self, module: Operation | None, operations: list[Operation]
    ) -> list[tuple[Operation | None, list[Operation]]]:
        """Import one module, or the text around all; return the modules in it."""
        start = module.regions[0].start if module and module.regions else 0
        here = own_meshes(self.declared, operations)
        kept = self._kept_meshes(module, here) if module else {}
        self.shardings.meshes = {**here, **kept}
        self.shardings.used = {}
        before = sum(one.count for one in self.shardings.converted.values())
        self._orphans = []
        inner = self._operations(operations)
        if sum(one.count for one in self.shardings.converted.values()) > before:
            gone = sorted((start, end) for start, end, new in self.edits if not new)
            orphans = [edit for edit in self._orphans if not _is_inside(edit, gone)]
            self.edits += orphans
            self.dropped += len(orphans)
        new = {**kept, **self.shardings.used}
        declarations = {name: mesh for name, mesh in new.items() if name not in here}
        if declarations:
            place = opening(self.text, start if module else -1)
            self.edits.append((place.offset, place.offset, place.declare(declarations.items())))
        self.meshes.update({**here, **new})
        return inner

    def _kept_meshes(self, module: Operation, here: Mapping[str, MeshAttr]) -> dict[str, MeshAttr]:
        """The meshes in the module's carrier, which goes."""
        for span in module.dictionaries:
            attributes = self._attributes(span)
            carrier = attributes and attributes.carrier(self.source, MESHES)
            if not attributes or not carrier:
                continue
            kept: dict[str, MeshAttr] = carrier.parse()  # type: ignore[assignment]  # what this key holds
            others = {**self.shardings.known, **here}
            for name, mesh in kept.items():
                if others.get(name, mesh) != mesh:
                    raise carrier.located(
                        VerificationError(
                            f"{symbol(name)} is the name of two meshes",
                            rule="symbol-redefinition",
                            span=Span(0, len(carrier.text)),
                            notes=[f"the other one is {others[name].stripped}"],
                            help="rename one of them",
                        )
                    )
            self.edits.append(replaced(self.text, span, changed(self.text, attributes, {}, {MESHES: None})))
            return kept
        return {}

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
                self._arguments(operation)
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

    def _arguments(self, function: Operation) -> None:
        for index, value in enumerate(function.arguments):
            attributes = value.dictionary and self._attributes(value.dictionary)
            if attributes:
                self._value(function, value, attributes, f"argument {index}")

    def _value(self, function: Operation, value: Argument, attributes: Attributes, name: str) -> None:
        """Import the carrier of an argument, or of a result of a function without a body."""
        carrier = attributes.carrier(self.source, SHARDING)
        if carrier is None:
            self._orphan(attributes, is_listed=function.is_generic)
            return
        shardings = self.shardings.read(carrier)
        if len(shardings) != 1:
            raise _count_error(carrier, len(shardings), "1 value")
        self.shardings.check(shardings, [self._type(value)], carrier, lambda: f"{name} of {_name(function)}")
        self._put(attributes, carrier, str(shardings[0]), is_listed=function.is_generic)

    def _operation(self, operation: Operation) -> ResultCall | None:
        """Import the carriers of an operation; a call that carries a result's sharding is returned."""
        span = operation.dictionaries[-1]
        attributes = self._attributes(span)
        if attributes is None:
            return None
        name = operation.full_name
        target = self._target(operation) if name in _CALLS else ""
        if target in _MANUAL:
            return None
        carrier = attributes.carrier(self.source, SHARDING)
        is_on_one = target in _ON_ONE and len(operation.operands) == 1
        if target == "xla.sdy.FuncResultSharding" and carrier and is_on_one and operation.results:
            shardings = self._of_operation(operation, carrier)
            return ResultCall(operation, attributes, carrier, shardings[0]) if shardings else None
        if target == "xla.sdy.ShardingGroup" and is_on_one:
            self._group(operation, attributes)
        elif target == "xla.sdy.PropagationBarrier" and is_on_one:
            self._barrier(operation, attributes)
        elif carrier is None and SHARDING_RULE not in attributes.frontend:
            if target not in _KEEP_HLO and name not in _FEEDS:
                self._orphan(attributes)
        else:
            shardings = self._of_operation(operation, carrier) if carrier else ()
            if carrier and target == "Sharding" and len(shardings) == 1 and is_on_one:
                self._constraint(operation, attributes, carrier, shardings)
            else:
                value = str(TensorShardingPerValueAttr(shardings)) if shardings else None
                self._put(attributes, carrier, value)
        return None

    def _put(
        self, attributes: Attributes, carrier: Carrier | None, value: str | None, *, is_listed: bool = False
    ) -> None:
        """Let an `sdy.sharding` of that value, and a rule, take the place of their carriers."""
        text = self.text
        changes: dict[str, str | None] = {_HLO: None}
        if value is not None and carrier:
            changes["sdy.sharding"] = value
            self._expect_no_sharding(attributes, carrier)
            self.shardings.count(carrier, self._hlo(attributes), value)
        rule = attributes.carrier(self.source, SHARDING_RULE)
        if rule:
            if not rule.text.startswith("#sdy.op_sharding_rule<") or not _is_closed(rule.text):
                raise _kind_error(rule, "expected `#sdy.op_sharding_rule<...>`")
            changes["sdy.sharding_rule"] = rule.text
        changes.update(_without_hlo(text, attributes, "mhlo.attributes"))
        gone = {key: None for key in _OURS if key in attributes.frontend}
        self.edits.append(
            replaced(text, attributes.span, changed(text, attributes, changes, gone), is_listed=is_listed)
        )

    def _expect_no_sharding(self, attributes: Attributes, carrier: Carrier) -> None:
        if "sdy.sharding" in attributes.entries:
            raise carrier.located(
                VerificationError(
                    "there is a Shardy sharding beside the one in the carrier",
                    rule="sharding-twice",
                    span=Span(0, len(carrier.text)),
                    help="keep one of them",
                )
            )

    def _orphan(self, attributes: Attributes, *, is_listed: bool = False) -> None:
        """Note an HLO sharding without a carrier."""
        if _HLO in attributes.entries:
            new = changed(self.text, attributes, {_HLO: None}, {})
            self._orphans.append(replaced(self.text, attributes.span, new, is_listed=is_listed))

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
            results = f"{len(types)} result{'' if len(types) == 1 else 's'}"
            raise _count_error(carrier, len(shardings), results)
        self.shardings.check(shardings, types or ["none"], carrier, lambda: _name(operation))
        return shardings

    def _constraint(
        self, operation: Operation, attributes: Attributes, carrier: Carrier, shardings: Shardings
    ) -> None:
        """`@Sharding(%a) {...} : (T) -> T` becomes `sdy.sharding_constraint %a <...> {...} : T`."""
        self.shardings.count(carrier, self._hlo(attributes), str(TensorShardingPerValueAttr(shardings)))
        self.edits.append(
            self.rewritten(operation, attributes, "sdy.sharding_constraint", shardings[0].stripped)
        )

    def rewritten(self, operation: Operation, attributes: Attributes, name: str, details: str) -> Edit:
        """The edit that makes a call on one value the operation `name`, with the further attributes of it."""
        text = self.text
        self.operations[f"stablehlo.custom_call @{self._target(operation)}"] += 1
        gone = {key: None for key in attributes.frontend if key.startswith(MARK)}
        props = {key: None for key in attributes.entries if "." not in key or key == _HLO}
        rest = changed(text, attributes, props, gone)
        types = operation.signature_types[0]
        of_type = text[types[0].start : types[0].end] if types else ""
        result = "" if name == "sdy.sharding_group" else text[operation.start : operation.name_start]
        new = f"{result}{name} {operation.operands[0]} {details}{' ' if rest else ''}{rest} : {of_type}"
        end = operation.signature.end if operation.signature else operation.end
        return (operation.start, end, new)

    def _group(self, operation: Operation, attributes: Attributes) -> None:
        carrier = attributes.carrier(self.source, SHARDING_GROUP_ID)
        if carrier:
            self.edits.append(
                self.rewritten(operation, attributes, "sdy.sharding_group", f"group_id={carrier.parse()}")
            )

    def _barrier(self, operation: Operation, attributes: Attributes) -> None:
        carrier = attributes.carrier(self.source, ALLOWED_DIRECTION)
        if not carrier:
            return
        direction = carrier.parse()
        if direction not in range(len(DIRECTIONS)):
            raise _kind_error(carrier, "expected 0 for NONE, 1 for FORWARD or 2 for BACKWARD")
        details = f"allowed_direction={DIRECTIONS[int(str(direction))]}"
        self.edits.append(self.rewritten(operation, attributes, "sdy.propagation_barrier", details))

    def _results(self, function: Operation, calls: list[ResultCall]) -> None:
        """Import the shardings of a function's results, which calls before its return carry."""
        found = ResultShardings(self.text, function, calls)
        for call in found.constraints:
            self.edits.append(
                self.rewritten(call.operation, call.attributes, "sdy.sharding_constraint", call.opened)
            )
        self.edits += found.edits
        listed: dict[int, str] = {}
        values = function.function_results
        for index, value in enumerate(values):
            attributes = self._attributes(value.dictionary) if value.dictionary else None
            carried = found.carried.get(index)
            if carried:
                sharding = str(carried.sharding)
                self.shardings.count(carried.carrier, self._hlo(attributes), sharding)
                self.operations["stablehlo.custom_call @xla.sdy.FuncResultSharding"] += 1
                if value.dictionary:
                    about = read_attributes(self.text, value.dictionary)
                    self._expect_no_sharding(about, carried.carrier)
                    new = changed(self.text, about, {_HLO: None, "sdy.sharding": sharding}, {})
                    self.edits.append(
                        replaced(self.text, value.dictionary, new, is_listed=function.is_generic)
                    )
                else:
                    listed[index] = f"{{sdy.sharding = {sharding}}}"
            elif attributes:
                self._value(function, value, attributes, f"result {index}")
        self.edits += _new_dictionaries(self.text, function, listed)

    def _hlo(self, attributes: Attributes | None) -> str | None:
        """The HLO sharding in the dictionary, as it is written."""
        entry = attributes.entries.get(_HLO) if attributes else None
        return self.text[entry.value.start : entry.value.end] if entry and entry.value else None

    def _type(self, value: Argument) -> str:
        return expand_type(self.text[value.type.start : value.type.end], self.text, self.tree.aliases)

    def _target(self, operation: Operation) -> str:
        """What a custom call calls."""
        if not operation.is_generic:
            return operation.symbol or ""
        entry = operation.attribute("call_target_name")
        return unescape(self.text[entry.value.start : entry.value.end]) if entry and entry.value else ""


def _without_hlo(text: str, attributes: Attributes, key: str) -> dict[str, str | None]:
    """The change that takes the HLO sharding out of a dictionary under `key`, where export moves some."""
    entry = attributes.entries.get(key)
    if entry is None or entry.value is None or not text.startswith("{", entry.value.start):
        return {}
    inner = read_attributes(text, entry.value)
    return {key: changed(text, inner, {_HLO: None}, {}) or None} if _HLO in inner.entries else {}


def _is_inside(edit: Edit, gone: list[tuple[int, int]]) -> bool:
    """Whether what the edit is about is removed anyway."""
    at = bisect.bisect_right(gone, (edit[0], edit[1] + 1)) - 1
    return at >= 0 and edit[1] <= gone[at][1]


def _new_dictionaries(text: str, function: Operation, listed: Mapping[int, str]) -> list[Edit]:
    """The edits that give dictionaries to results of a function that have none."""
    if not listed:
        return []
    values = function.function_results
    if function.is_generic:
        span = function.properties or function.dictionaries[0]
        new = ", ".join(listed.get(index, "{}") for index in range(len(values)))
        return [(span.start + 1, span.start + 1, f"res_attrs = [{new}], ")]
    results = function.results_span
    is_bare = results is not None and text[results.start] != "("
    edits: list[Edit] = []
    for index, dictionary in listed.items():
        span = values[index].type
        if is_bare:
            edits.append((span.start, span.end, f"({text[span.start : span.end]} {dictionary})"))
        else:
            edits.append((span.end, span.end, f" {dictionary}"))
    return edits


def _name(operation: Operation) -> str:
    """The operation, in words."""
    if operation.full_name.endswith(".func") and operation.symbol:
        return f"function {symbol(operation.symbol)}"
    line, column = operation.source.location(operation.start)
    result = operation.results[0][0] + " = " if operation.results else ""
    return f"{result}{operation.full_name} at {line}:{column}"


def _is_closed(rule: str) -> bool:
    """Whether the text of the rule is one attribute, which may be written into the program."""
    try:
        return matching_bracket(rule, rule.index("<")) == len(rule)
    except ParseError:
        return False


def _kind_error(carrier: Carrier, message: str) -> SdyBridgeError:
    return carrier.located(VerificationError(message, rule="carrier-kind", span=Span(0, len(carrier.text))))


def _count_error(carrier: Carrier, count: int, values: str) -> SdyBridgeError:
    return carrier.located(
        VerificationError(
            f"{count} sharding{'' if count == 1 else 's'} for {values}",
            rule="sharding-count",
            span=Span(0, len(carrier.text)),
            notes=[f"they are in the frontend attribute {carrier.key}"],
        )
    )
