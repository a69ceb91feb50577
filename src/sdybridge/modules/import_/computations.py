"""Import of manual computations: the calls that stand for them become `sdy.manual_computation` again.

XLA writes a manual computation as `GlobalToLocalShape`, a call of a function with the body, and
`LocalToGlobalShape`. Its shardings and manual axes are in the frontend attributes of the first and the last
of them or, in older programs, of the call.
"""

from __future__ import annotations

import bisect
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.modules.carriers import IN_SHARDINGS, MANUAL_AXES, OUT_SHARDINGS
from sdybridge.modules.import_.calls import (
    Around,
    Call,
    DeadError,
    KeptCall,
    KeptError,
    NoCallError,
    blocks_of,
)
from sdybridge.modules.mlir.callees import callee_of, target_of
from sdybridge.modules.mlir.frontend_attributes import read_attributes
from sdybridge.modules.mlir.lexer import STRING, SUFFIX_ID
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.renaming import Renamed, rename_edits
from sdybridge.modules.mlir.types import shape_of, tuple_elements
from sdybridge.modules.splice import splice, whole_line
from sdybridge.sdy import ManualAxesAttr, TensorShardingPerValueAttr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sdybridge.modules.carriers import CarrierValue
    from sdybridge.modules.mlir.operations import Argument, Operation
    from sdybridge.modules.splice import Edit
    from sdybridge.source import Source
    from sdybridge.target import Target

CALLED = "xla.sdy.manual_computation_body"
"""What stands in every program with such calls."""

_TO_LOCAL = frozenset({"xla.sdy.GlobalToLocalShape", "local_xla.sdy.GlobalToLocalShape"})
_TO_GLOBAL = frozenset({"xla.sdy.LocalToGlobalShape", "local_xla.sdy.LocalToGlobalShape"})
_ENDS = _TO_LOCAL | _TO_GLOBAL
_INDEX = re.compile(r"\[\s*+(\d{1,6})\s*+\]")
_TOKEN = re.compile(rf"(%{SUFFIX_ID})|{STRING}|//[^\n]*+|(?<![\w.$\-])(call)(?=\s++@)")


@dataclass(slots=True)
class ComputationsImport:
    """A program whose manual computations are imported, and what was done to it.

    Attributes:
        text: The program.
        edits: What was changed, as edits of the program before.
        operations: How many calls became manual computations.
        kept: The calls that stay.
    """

    text: str
    edits: Sequence[Edit] = ()
    operations: Counter[str] = field(default_factory=Counter)
    kept: list[KeptCall] = field(default_factory=list)


def import_computations(source: Source, target: Target) -> ComputationsImport:
    """Put every manual computation back that a program keeps as calls.

    Args:
        source: The program; its other carriers are imported already.
        target: Whose grammar to follow.

    Raises:
        ParseError: The program, or the text in a carrier, is malformed.
        VerificationError: A carrier holds an attribute that is not valid.

    Source: `sdy_round_trip/shard_map_import.cc` in xla's `service/spmd/shardy`.
    """
    work = ComputationImport(source, target)
    work.find()
    return work.write()


class ComputationImport:
    """One import under way."""

    def __init__(self, source: Source, target: Target) -> None:
        self.source = source
        self.text = source.text
        self.target = target
        self.result = ComputationsImport(source.text)
        self.functions: dict[str, Operation] = {}
        self.calls: dict[Operation, list[Call]] = {}  # by the function that they are in
        self.kept_bodies: set[str] = set()
        self.kept_calls: list[Operation] = []
        self.dead: dict[Operation, list[Operation]] = defaultdict(list)  # by the function that they are in
        self.stem = "body"
        self.number = 0

    def find(self) -> None:
        """Find every call of a body, and what stands around it."""
        tree = parse_operations(self.source)
        functions = [one for one in tree.walk() if one.full_name == "func.func"]
        self.functions = {one.symbol: one for one in reversed(functions) if one.symbol}
        for function in functions:
            found = []
            for operations, scope in blocks_of(function):
                bodies = [(one, symbol) for one in operations if (symbol := callee_of(one))]
                bodies = [(one, symbol) for one, symbol in bodies if self.is_body(one, symbol)]
                ends = [one for one in operations if target_of(one) in _ENDS]
                if not bodies and not ends:
                    continue
                around = Around(
                    operations, scope, Counter(value for one, _ in bodies for value in one.operands)
                )
                dead: list[Operation] = []
                for operation, symbol in bodies:
                    try:
                        found.append(self.call(operation, symbol, around))
                    except KeptError as kept:
                        self.keep(operation, str(kept))
                    except DeadError:
                        dead.append(operation)
                    except NoCallError:
                        continue
                gone = Counter(value for one in dead for value in one.operands)
                self.dead[function] += [*dead, *(one for one in ends if around.is_dead(one, gone))]
            self.calls[function] = found

    def write(self) -> ComputationsImport:
        """The new program."""
        order = self._callees_first()
        calls = [call for found in self.calls.values() for call in found]
        dead = [one for found in self.dead.values() for one in found]
        if not calls and not dead:
            return self.result
        new: dict[Operation, _Function] = {}
        edits: list[Edit] = []
        for function in order:
            new[function] = self._function(function, new)
        gone = [*(call.call for call in calls), *dead]
        replaced = {
            self.functions[symbol] for one in gone if (symbol := callee_of(one)) in self.functions
        } - {self.functions[symbol] for symbol in self.kept_bodies if symbol in self.functions}
        for function, written in new.items():
            if function in replaced:
                edits.append((*whole_line(self.text, function.start, function.end), ""))
            elif self.calls[function] or self.dead[function]:
                edits.append((function.start, function.end, written.text))
        self.result.edits = sorted(edits)
        self.result.text = splice(self.text, edits)
        if calls:
            self.result.operations["sdy.manual_computation"] = len(calls)
        return self.result

    def keep(self, call: Operation, reason: str) -> None:
        """Let a call stay, and its function."""
        symbol = callee_of(call)
        self.result.kept.append(KeptCall(symbol, call.name_start, reason))
        self.kept_bodies.add(symbol)
        self.kept_calls.append(call)

    def is_body(self, call: Operation, symbol: str) -> bool:  # noqa: ARG002  (others look at the call)
        """Whether a call may be that of the body of a manual computation."""
        return CALLED in symbol

    def call(self, call: Operation, symbol: str, around: Around) -> Call:
        """The manual computation that a call stands for."""
        body = self.functions.get(symbol)
        if not body or body.is_generic or len(body.regions) != 1 or len(body.regions[0].blocks) != 1:
            raise KeptError("its function has no body of one block")
        inside = self.types(call)[1]
        if inside and all(_is_empty([of_type]) for of_type in inside) and around.is_dead(call):
            raise DeadError
        to_local, operands, operand_types = self._before(call, around)
        to_global, result_types = self._behind(call, around)
        here = [*to_local[:1], call, *to_global[:1]]
        ins, outs, axes = (self._carried(key, here) for key in (IN_SHARDINGS, OUT_SHARDINGS, MANUAL_AXES))
        if not axes and not operands and not result_types:
            axes = ManualAxesAttr(())
        if not isinstance(axes, ManualAxesAttr):
            raise KeptError(f"nothing around it holds {MANUAL_AXES}")
        ins, outs = (
            side if isinstance(side, TensorShardingPerValueAttr) else TensorShardingPerValueAttr(())
            for side in (ins, outs)
        )
        found = Call(call, to_local, to_global, operands, operand_types, result_types, ins, outs, axes)
        names = [name for name, _ in call.results]
        to_local += dict.fromkeys(one for name in names for one in around.dead[name])
        counts = (len(found.ins.shardings), len(operands), len(body.arguments))
        if len({*counts}) != 1:
            raise KeptError(
                f"{counts[0]} shardings, {counts[1]} operands and {counts[2]} arguments do not match"
            )
        if len(found.outs.shardings) != len(result_types):
            raise KeptError(
                f"{len(found.outs.shardings)} shardings and {len(result_types)} results do not match"
            )
        return found

    def _before(self, call: Operation, around: Around) -> tuple[list[Operation], list[str], list[str]]:
        """What makes the operands of a call local, the values that go in, and their types."""
        sources: list[tuple[Operation, int] | None] = []
        unpacking: list[Operation] = []
        types = self.types(call)[0]
        for operand in call.operands:
            name, _, number = operand.partition("#")
            one = around.defined.get(name)
            index = int(number or 0)
            if one and one.full_name.endswith(".get_tuple_element") and one.operands:
                found = _INDEX.search(self.text, one.name_end, one.end)
                index = int(found[1]) if found else -1
                unpacking.append(one)
                one = around.defined.get(one.operands[0])
            if one and target_of(one) in _TO_LOCAL:
                around.expect_uses(operand, around.body_uses[operand])
                sources.append((one, index))
            elif _is_empty(types[len(sources) :]):
                sources.append(None)  # XLA puts constants in the place of what has no elements
            else:
                raise KeptError(f"its operand {operand} does not come from GlobalToLocalShape")
        if not sources:
            return [], [], []
        first = next((source[0] for source in sources if source), None)
        if first is None:
            raise KeptError("none of its operands comes from GlobalToLocalShape")
        in_order = all(source in (None, (first, k)) for k, source in enumerate(sources))
        if not in_order or len(first.operands) != len(sources):
            raise KeptError("its operands are not those of one GlobalToLocalShape, in order")
        return [first, *unpacking], first.operands, self.types(first)[0]

    def _behind(self, call: Operation, around: Around) -> tuple[list[Operation], list[str]]:
        """What makes the results of a call global, and their types."""
        self.verify_results(call)
        results = [f"{name}#{k}" if count > 1 else name for name, count in call.results for k in range(count)]
        if not results:
            return [], []
        types = self.types(call)[1]
        unused = {k for k, value in enumerate(results) if _is_empty(types[k:]) and not around.uses(value)}
        used = [value for k, value in enumerate(results) if k not in unused]
        for value in used:
            around.expect_one_use(value)
        user = next((one for one in around.users[used[0]] if target_of(one) in _TO_GLOBAL), None)
        into = [*user.operands] if user else []
        if user is None or not user.results or len(into) != len(results):
            raise KeptError("its results do not go to one LocalToGlobalShape, in order")
        if any(into[k] != value for k, value in enumerate(results) if k not in unused):
            raise KeptError("its results do not go to one LocalToGlobalShape, in order")
        types = self.types(user)[1]
        elements = tuple_elements(types[0]) if len(types) == 1 else None
        if elements is None:
            return [user], types
        name = user.results[0][0]
        unpacking = [one for one in around.users[name] if one.full_name.endswith(".get_tuple_element")]
        around.expect_uses(name, len(unpacking))
        return [user, *unpacking], elements

    def verify_results(self, call: Operation) -> None:
        """Raises unless a call has as many results as types of them."""
        if sum(count for _, count in call.results) != len(self.types(call)[1]):
            raise KeptError("its results and their types do not match")

    def types(self, operation: Operation) -> tuple[list[str], list[str]]:
        """The types of the operands and of the results."""
        left, right = operation.signature_types
        cut = [[self.text[span.start : span.end] for span in side or ()] for side in (left, right)]
        return cut[0], cut[1]

    def _carried(self, key: str, operations: Sequence[Operation]) -> CarrierValue | None:
        """The attribute under a key of the first of these operations that has it."""
        for operation in operations:
            for span in operation.dictionaries:
                carrier = read_attributes(self.text, span).carrier(self.source, key)
                if carrier:
                    return carrier.parse(target=self.target)
        return None

    def _callees_first(self) -> list[Operation]:
        """The functions, each behind those whose bodies it takes in; calls in a circle are kept."""
        ordered: dict[Operation, None] = {}
        open_: dict[Operation, Iterator[Call]] = {}
        for root in self.calls:
            stack = [root]
            while stack:
                function = stack[-1]
                if function in ordered:
                    stack.pop()
                    continue
                waiting = open_.setdefault(function, iter([*self.calls[function]]))
                call = next(waiting, None)
                if call is None:
                    ordered[function] = None
                    stack.pop()
                    continue
                callee = self.functions[callee_of(call.call)]
                if callee in stack:
                    self.calls[function].remove(call)
                    self.keep(call.call, "it calls what it is in")
                elif callee not in ordered:
                    stack.append(callee)
        return [*ordered]

    def _function(self, function: Operation, new: Mapping[Operation, _Function]) -> _Function:
        """A function with the manual computations in it."""
        unpacked: list[tuple[int, str, str]] = []
        anchors = [call.to_global[0] if call.to_global else call.call for call in self.calls[function]]
        gone = self._gone(function, anchors)
        edits = [(*whole_line(self.text, one.start, one.end), "") for one in gone]
        for call, anchor in zip(self.calls[function], anchors, strict=True):
            left = self.text[anchor.start : anchor.name_start]
            if call.to_global and self.types(anchor)[1] != [*call.result_types]:
                name = anchor.results[0][0]
                count = len(call.result_types)
                left = f"{name}:{count} = " if count > 1 else f"{name} = "
                for one in call.to_global[1:]:
                    found = _INDEX.search(self.text, one.name_end, one.end)
                    value = f"{name}#{found[1]}" if found and count > 1 else name
                    unpacked += [(anchor.end, result, value) for result, _ in one.results]
            unpacked += [(anchor.end, name, value) for name, value in call.renamed]
            edits.append((anchor.start, anchor.end, self._computation(call, anchor, left, new)))
        edits = [(start - function.start, end - function.start, text) for start, end, text in edits]
        text = splice(self.text[function.start : function.end], edits)
        written = _Moved(edits)
        renaming = rename_edits(
            text,
            [Renamed(written.at(start - function.start), name, value) for start, name, value in unpacked],
        )
        last = function.regions[-1].blocks[-1].operations[-1:] if function.regions else []
        at = written.at(last[0].name_start - function.start) if last else 0
        return _Function(splice(text, renaming), _Moved(renaming).at(at))

    def _gone(self, function: Operation, anchors: Sequence[Operation]) -> list[Operation]:
        """What goes from a function, but for the operations that manual computations take the place of."""
        here = [one for call in self.calls[function] for one in (*call.to_local, call.call, *call.to_global)]
        inside = [one for one in self.kept_calls if function.start <= one.start < function.end]
        needed = {value.partition("#")[0] for one in inside for value in one.operands}
        gone = []
        for one in sorted({*here, *self.dead[function]} - {*anchors}, key=lambda one: -one.start):
            if any(name in needed for name, _ in one.results):  # by a call that stays
                needed.update(value.partition("#")[0] for value in one.operands)
            else:
                gone.append(one)
        return gone

    def _computation(
        self, call: Call, anchor: Operation, left: str, new: Mapping[Operation, _Function]
    ) -> str:
        """The text of a manual computation."""
        function = self.functions[callee_of(call.call)]
        region = function.regions[0]
        text, at = new[function]
        terminator = region.blocks[0].operations[-1]
        start = region.start - function.start + 1
        end = len(text) - (function.end - region.end) - 1
        name = '"sdy.return"' if terminator.is_generic else "sdy.return"
        body = text[start:at] + name + text[at + terminator.name_end - terminator.name_start : end]
        shift = len(_indent(anchor)) + 2 - len(_indent(terminator))
        body = body.rstrip()
        if shift > 0:
            body = re.sub(r"\n(?=[^\n])", "\n" + " " * shift, body)
        elif shift < 0:
            body = re.sub(rf"\n {{{-shift}}}", "\n", body)
        prefix = self._prefix()
        arguments = ", ".join([self._declared(argument) for argument in function.arguments])
        ins, outs = (
            ", ".join(sharding.stripped for sharding in side.shardings) for side in (call.ins, call.outs)
        )
        axes = str(call.manual_axes).removeprefix("#sdy<manual_axes").removesuffix(">")

        def moved(hit: re.Match[str]) -> str:
            """A value under a name of its own, and a call as it is written outside of functions."""
            return f"%{prefix}{hit[1][1:]}" if hit[1] else "func.call" if hit[2] else hit[0]

        inside = self.placed(_TOKEN.sub(moved, f"({arguments}) {{{body}"), call)
        results = call.result_types
        outputs = results[0] if len(results) == 1 else f"({', '.join(results)})"
        location = self.text[anchor.signature.end if anchor.signature else anchor.end : anchor.end]
        return (
            f"{left}sdy.manual_computation({', '.join(call.operands)}) in_shardings=[{ins}]"
            f" out_shardings=[{outs}] manual_axes={axes} {inside}\n{_indent(anchor)}}}"
            f" : ({', '.join(call.operand_types)}) -> {outputs}{location}"
        )

    def _declared(self, argument: Argument) -> str:
        """An argument of a function without its attributes."""
        text, of_type = self.text, argument.type
        rest = text[(argument.dictionary or of_type).end : argument.span.end].strip()
        location = f" {rest}" if rest.startswith("loc") else ""
        return f"{argument.name}: {text[of_type.start : of_type.end]}{location}"

    def placed(self, body: str, call: Call) -> str:  # noqa: ARG002  (others look at the call)
        """The body of a manual computation, its shardings on the right mesh."""
        return body

    def _prefix(self) -> str:
        """What to put before the names of one more body."""
        if not self.number:
            while f"%{self.stem}" in self.text:
                self.stem += "_"
        self.number += 1
        return f"{self.stem}{self.number - 1}_"


class _Function(NamedTuple):
    """A function with the manual computations in it, and where its terminator's name is there."""

    text: str
    terminator: int


class _Moved:
    """Where places are after edits."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self._ends = []
        self._shifts = [0]
        for start, end, new in sorted(edits):
            self._ends.append(end)
            self._shifts.append(self._shifts[-1] + len(new) - (end - start))

    def at(self, offset: int) -> int:
        """Where the offset is afterwards, which no edit reaches over."""
        return offset + self._shifts[bisect.bisect_right(self._ends, offset)]


def _is_empty(types: Sequence[str]) -> bool:
    """Whether the first of these types is that of a tensor without elements."""
    return bool(types) and 0 in (shape_of(types[0]) or ())


def _indent(operation: Operation) -> str:
    text, start = operation.source.text, operation.start
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return before if before.isspace() else ""
