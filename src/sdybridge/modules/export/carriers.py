"""Carriers for export: the Shardy attributes of a program, kept as text in frontend attributes.

This only adds to a program, and makes calls of Shardy's operations; the export of its shardings comes after.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.carriers import (
    ALLOWED_DIRECTION,
    HAS_UNREDUCED_AXES,
    MESHES,
    SHARDING,
    SHARDING_GROUP_ID,
    SHARDING_RULE,
    Quoting,
    write_carrier,
)
from sdybridge.modules.mlir.attributes import Aliases, alias_starts, expanded, quote
from sdybridge.modules.mlir.carrier_calls import DIRECTIONS
from sdybridge.modules.mlir.dictionary import read_array
from sdybridge.modules.mlir.frontend_attributes import (
    FRONTEND_ATTRIBUTES,
    changed,
    insertion,
    read_attributes,
)
from sdybridge.modules.mlir.lexer import TRIVIA, parse_error, skip_trivia
from sdybridge.modules.mlir.meshes import find_meshes, own_meshes
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.result_shardings import operands_of
from sdybridge.modules.splice import location_end, splice
from sdybridge.sdy import TensorShardingAttr, TensorShardingPerValueAttr, parse_prefix
from sdybridge.source import Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sdybridge.modules.carriers import CarrierValue
    from sdybridge.modules.mlir.dictionary import Entry
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.splice import Edit
    from sdybridge.source import Source

_CONSTRAINTS = frozenset(
    {
        "sdy.all_gather",
        "sdy.all_slice",
        "sdy.all_to_all",
        "sdy.collective_permute",
        "sdy.reshard",
        "sdy.sharding_constraint",
    }
)
_GROUP = re.compile(r"group_id\s*=\s*(-?[0-9]{1,20})")
_DIRECTION = re.compile(r"allowed_direction\s*=\s*(?:([A-Z]+)|([0-9]{1,9}))")
_OUT_SHARDING = re.compile(rf"{TRIVIA}(?:out_sharding{TRIVIA}={TRIVIA})?")
_SYMBOL_END = re.compile(r"(?:builtin\.)?module(?:\s+@[^\s{]+)?")


@dataclass(frozen=True, slots=True)
class CarriersExport:
    """A program with carriers.

    Attributes:
        text: The program, its shardings still to be exported.
        edits: What was changed, as edits of the program before.
        operations: How many Shardy operations of each name became calls.
        kept: Every sharding that has a carrier, as text.
    """

    text: str
    edits: Sequence[Edit]
    operations: Mapping[str, int]
    kept: frozenset[str]


def add_carriers(source: Source, target: Target) -> CarriersExport:
    """Keep every sharding, rule, group, barrier and mesh of a program as text, as XLA does.

    Raises:
        ParseError: The program is malformed.

    Source: `sdy_round_trip` in xla's `service/spmd/shardy`.
    """
    work = _Carriers(source, target)
    edits = [*work.edits()]
    return CarriersExport(splice(source.text, edits), edits, work.operations, frozenset(work.kept))


class _Carriers:
    """The carriers of one program."""

    def __init__(self, source: Source, target: Target) -> None:
        self.source = source
        self.text = source.text
        self.operations: Counter[str] = Counter()
        self.kept: set[str] = set()
        self._target = target
        self._aliases = Aliases(source.text)
        self._literals: dict[tuple[str, str], str] = {}
        self._result = "%result_sharding"
        while self._result in source.text:
            self._result += "_"
        self._results = 0

    def edits(self) -> Iterator[Edit]:
        """What to change in the program."""
        tree = parse_operations(self.source)
        meshes = find_meshes(self.source)
        modules = [o for o in tree.walk() if o.full_name == "builtin.module" and o.regions]
        for module in modules:
            own = own_meshes(meshes, [o for block in module.regions[0].blocks for o in block.operations])
            if own:
                yield self._kept_meshes(module, own)
        own = own_meshes(meshes, tree.operations)
        if own:
            yield from self._new_module(tree.operations, own)
        for operation in tree.walk():
            yield from self._operation(operation)

    def _new_module(self, operations: Sequence[Operation], meshes: Mapping[str, object]) -> Iterator[Edit]:
        """The module that MLIR puts around a program without one; it keeps the meshes."""
        text = self.text
        start, end = operations[0].start, location_end(text, operations[-1].end)
        aliases = [at for at in alias_starts(text) if start < at < end]  # they stand before a module only
        marks = sorted([*aliases, *(operation.start for operation in operations), end])
        moved = [(at, marks[marks.index(at) + 1]) for at in aliases]
        before = "".join(f"{text[first:last].rstrip()}\n" for first, last in moved)
        dictionary = f"{{{FRONTEND_ATTRIBUTES} = {{{MESHES} = {_text_of(meshes)}}}}}"
        yield (start, start, f"{before}module attributes {dictionary} {{\n")
        yield from [(first, last, "") for first, last in moved]
        yield (end, end, "\n}")

    def _kept_meshes(self, module: Operation, meshes: Mapping[str, object]) -> Edit:
        """The frontend attribute of a module that keeps its meshes."""
        text = self.text
        if module.dictionaries:
            return self._kept(module.dictionaries[0], {MESHES: _text_of(meshes)})[0]
        dictionary = f"{{{FRONTEND_ATTRIBUTES} = {{{MESHES} = {_text_of(meshes)}}}}}"
        if module.is_generic:
            end = module.regions[-1].end
            end = skip_trivia(text, end) + 1  # the parenthesis
            return (end, end, f" {dictionary}")
        head = _SYMBOL_END.match(text, module.name_start)
        end = head.end() if head else module.name_end
        return (end, end, f" attributes {dictionary}")

    def _operation(self, operation: Operation) -> Iterator[Edit]:
        name = operation.full_name
        if name.endswith(".func"):
            yield from self._function(operation)
        elif name in _CONSTRAINTS:
            yield from self._constraint(operation)
        elif name == "sdy.sharding_group":
            found = _GROUP.search(self.text, operation.name_end, operation.end)
            if not found:
                message = "expected `sdy.sharding_group %value group_id=...`"
                raise parse_error(self.text, operation.name_start, message, end=operation.name_end)
            value = write_carrier(SHARDING_GROUP_ID, int(found[1]), Quoting.MLIR)
            yield self._call(operation, "xla.sdy.ShardingGroup", SHARDING_GROUP_ID, value)
        elif name == "sdy.propagation_barrier":
            found = _DIRECTION.search(self.text, operation.name_end, operation.end)
            if found and found[1] and found[1] not in DIRECTIONS:
                message = f"expected {', '.join(DIRECTIONS[:-1])} or {DIRECTIONS[-1]}"
                raise parse_error(self.text, found.start(1), message, end=found.end(1))
            direction = int(found[2]) if found and found[2] else DIRECTIONS.index(found[1]) if found else 0
            value = write_carrier(ALLOWED_DIRECTION, direction, Quoting.MLIR)
            yield self._call(operation, "xla.sdy.PropagationBarrier", ALLOWED_DIRECTION, value)
        elif operation.dictionaries:
            yield from self._of_results(operation.dictionaries[-1])

    def _of_results(self, span: Span) -> Iterator[Edit]:
        """Keep the sharding and the rule in the dictionary of an operation."""
        if self.text.find("sdy.sharding", span.start, span.end) < 0:
            return
        entries = {entry.key: entry for entry in read_attributes(self.text, span).entries.values()}
        kept: dict[str, str] = {}
        sharding, rule = entries.get("sdy.sharding"), entries.get("sdy.sharding_rule")
        if sharding and sharding.value:
            value = self._literal(sharding.value, TensorShardingPerValueAttr)
            if value:
                kept[SHARDING] = value
                if self._target is Target.CLASSIC and "unreduced={" in value:
                    kept[HAS_UNREDUCED_AXES] = '"true"'
        if rule and rule.value:
            kept[SHARDING_RULE] = quote(expanded(self._at(rule.value), self._aliases))
        yield from self._kept(span, kept)

    def _function(self, function: Operation) -> Iterator[Edit]:
        """Keep the shardings of arguments beside them, those of results in calls before each return."""
        for value in function.arguments:
            entry = function.entry_of(value.dictionary, "sdy.sharding")
            if value.dictionary and entry and entry.value:
                kept = {SHARDING: self._literal(entry.value, TensorShardingAttr)}
                yield from self._kept(value.dictionary, kept)
        results: dict[int, Entry] = {}
        for index, value in enumerate(function.function_results):
            entry = function.entry_of(value.dictionary, "sdy.sharding")
            if entry and entry.value:
                results[index] = entry
                if not function.regions and value.dictionary:
                    kept = {SHARDING: self._literal(entry.value, TensorShardingAttr)}
                    yield from self._kept(value.dictionary, kept)
        if not results or not function.regions:
            return
        for block in function.regions[0].blocks:
            if block.operations and block.operations[-1].full_name == "func.return":
                yield from self._result_calls(block.operations[-1], results)

    def _result_calls(self, last: Operation, results: Mapping[int, Entry]) -> Iterator[Edit]:
        """The calls before a return, and the operands that they take the place of."""
        text = self.text
        operands = [*operands_of(text, last)]
        types = last.signature_types[0]
        line = text.rfind("\n", 0, last.start) + 1
        indent = text[line : last.start] if text[line : last.start].isspace() else ""
        calls = []
        for index, entry in results.items():
            if index >= len(operands) or index >= len(types) or not entry.value:
                break  # not a valid program
            operand, span = operands[index]
            of_type = text[types[index].start : types[index].end]
            name = f"{self._result}_{self._results}"
            self._results += 1
            value = self._literal(entry.value, TensorShardingAttr, listed=True)
            calls.append(
                f"{name} = stablehlo.custom_call @xla.sdy.FuncResultSharding({operand}) "
                f"{{has_side_effect = true, {FRONTEND_ATTRIBUTES} = {{{SHARDING} = {value}}}}} "
                f": ({of_type}) -> {of_type}\n{indent}"
            )
            yield (span.start, span.end, name)
        yield (last.start, last.start, "".join(calls))

    def _constraint(self, operation: Operation) -> Iterator[Edit]:
        """`sdy.sharding_constraint %a <...> {...} : T` becomes a call `@Sharding(%a) {...} : (T) -> T`."""
        text = self.text
        operand, span = next(operands_of(text, operation), ("", operation.name_span))
        entry = operation.attribute("sharding") or operation.attribute("out_sharding")
        if operation.is_generic and entry and entry.value:
            at = entry.value.start
        else:
            keyword = _OUT_SHARDING.match(text, span.end)
            at = keyword.end() if keyword else span.end
        attr, end = parse_prefix(
            self.source, at, TensorShardingAttr, target=self._target, aliases=self._aliases
        )
        listed = TensorShardingPerValueAttr([attr])
        self.kept.add(str(listed))
        kept = {SHARDING: write_carrier(SHARDING, listed, Quoting.MLIR)}
        is_unreduced = bool(attr.unreduced_axes)
        if is_unreduced and self._target is Target.CLASSIC:
            kept[HAS_UNREDUCED_AXES] = '"true"'
            is_unreduced = False
        before, after = self._rest(operation, kept, has_side_effect=is_unreduced)
        of_type = self._type(operation)
        result = text[operation.start : operation.name_start]
        self.operations[operation.full_name] += 1
        head = f"{result}stablehlo.custom_call @Sharding({operand}) {{{before}"
        last = operation.signature.end if operation.signature else operation.end
        yield (operation.start, at, f"{head}, sdy.sharding = #sdy.sharding_per_value<[")
        if text.startswith("#", at):  # only the stripped form stands in a list
            yield (at, end, attr.stripped)
        yield (end, last, f"]>{after}}} : ({of_type}) -> {of_type}")

    def _rest(
        self, operation: Operation, kept: Mapping[str, str], *, has_side_effect: bool
    ) -> tuple[str, str]:
        """The attributes of a call in the place of an operation, before `sdy.sharding` and behind it."""
        span = operation.dictionaries[-1] if operation.dictionaries else None
        changes: dict[str, str | None] = {"mhlo.sharding": None, "sdy.sharding": None}
        if has_side_effect:
            changes["has_side_effect"] = "true"
        text = self.text if span else "{}"
        new = changed(text, read_attributes(text, span or Span(0, 2)), changes, kept)
        entries = read_attributes(new, Span(0, len(new))).entries.items()
        texts = [(key, new[entry.span.start : entry.span.end]) for key, entry in entries]
        before = ", ".join(text for key, text in texts if key < "sdy.sharding")
        return before, "".join(f", {text}" for key, text in texts if key > "sdy.sharding")

    def _call(self, operation: Operation, target: str, key: str, value: str) -> Edit:
        """A call in the place of an operation on one value."""
        operand = operation.operands[0] if operation.operands else ""
        before, after = self._rest(operation, {key: value}, has_side_effect=True)
        of_type = self._type(operation)
        self.operations[operation.full_name] += 1
        result = self.text[operation.start : operation.name_start]
        to = of_type if result else "()"
        last = operation.signature.end if operation.signature else operation.end
        call = f"stablehlo.custom_call @{target}({operand}) {{{before}{after}}} : ({of_type}) -> {to}"
        return (operation.start, last, f"{result}{call}")

    def _kept(self, span: Span, kept: Mapping[str, str]) -> list[Edit]:
        """The edits that put carriers into the dictionary at `span`."""
        if not kept:
            return []
        attributes = read_attributes(self.text, span)
        if attributes.frontend:
            return [insertion(span, attributes.frontend, key, value) for key, value in kept.items()]
        texts = [f"{key} = {value}" for key, value in sorted(kept.items())]
        old = attributes.entries.get(FRONTEND_ATTRIBUTES)
        if old and old.value:  # an empty dictionary, or an alias of one
            value = expanded(self._at(old.value), self._aliases)
            texts[:0] = [value[entry.start : entry.end] for entry in read_array(value, 0)]
        inner = f"{{{', '.join(texts)}}}"
        return [insertion(span, attributes.entries, FRONTEND_ATTRIBUTES, inner)]

    def _literal(self, span: Span, cls: type, *, listed: bool = False) -> str:
        """The string of the attribute at `span`; empty for an empty list."""
        text = self._at(span)
        key = (text, f"{cls.__name__}{listed}")
        if key not in self._literals:
            attr: CarrierValue
            attr, _ = parse_prefix(self.source, span.start, cls, target=self._target, aliases=self._aliases)
            self.kept.add(str(attr))
            if listed:
                attr = TensorShardingPerValueAttr([attr])
            is_empty = isinstance(attr, TensorShardingPerValueAttr) and not attr.shardings
            self._literals[key] = "" if is_empty else write_carrier(SHARDING, attr, Quoting.MLIR)
        return self._literals[key]

    def _type(self, operation: Operation) -> str:
        types = operation.signature_types[0]
        return self._at(types[0]) if types else ""

    def _at(self, span: Span) -> str:
        return self.text[span.start : span.end]


def _text_of(meshes: Mapping[str, object]) -> str:
    """The string that keeps these meshes."""
    return write_carrier(MESHES, dict(meshes), Quoting.MLIR)  # type: ignore[arg-type]  # they are meshes
