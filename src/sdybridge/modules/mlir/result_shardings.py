"""The calls that carry the shardings of a function's results, from the values to its return."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.modules.mlir.lexer import STRING, SUFFIX_ID, matching_bracket
from sdybridge.modules.splice import statement
from sdybridge.sdy import DimensionShardingAttr, TensorShardingAttr
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.mlir.frontend_attributes import Attributes
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.splice import Edit

_VALUE = re.compile(rf"(%{SUFFIX_ID})(#[0-9]++)?+|{STRING}|//[^\n]*+")


@dataclass(frozen=True, slots=True)
class ResultCall:
    """A call of `xla.sdy.FuncResultSharding`.

    Attributes:
        operation: The call.
        attributes: Its dictionary.
        carrier: What it carries.
        sharding: The value of that.
        combined: What combines its results, if they are the halves of numbers of 64 bits.
    """

    operation: Operation
    attributes: Attributes
    carrier: Carrier
    sharding: TensorShardingAttr
    combined: Operation | None = None

    @property
    def opened(self) -> str:
        """The text of the sharding with every dimension open."""
        sharding = self.sharding
        dims = [DimensionShardingAttr(dim.axes, False, dim.priority) for dim in sharding.dim_shardings]
        return TensorShardingAttr(
            sharding.mesh_or_ref,
            dims,
            sharding.replicated_axes,
            sharding.unreduced_axes,
            sharding.reduction_op,
        ).stripped


class ResultShardings:
    """What becomes of such calls in one function.

    A call whose value is only returned goes, and the function's result has the sharding. A call whose value
    has other users, too, as after inlining, stays for them: as a constraint that says no more than it must.
    A call on halves of numbers goes, and a call that nobody uses, as of tensors without elements: its operand
    is returned then.

    Attributes:
        carried: The calls whose values are returned, by the number of the result.
        constraints: The calls that become constraints.
        edits: What to change in the body.

    Raises:
        VerificationError: Two returns of the function say different things of one result.
    """

    def __init__(self, text: str, function: Operation, calls: list[ResultCall]) -> None:
        self.carried: dict[int, ResultCall] = {}
        self.constraints: list[ResultCall] = []
        self.edits: list[Edit] = []
        if not calls or not function.regions:
            return
        whole = [call for call in calls if call.operation.results and not call.combined]
        by_name = {call.operation.results[0][0]: call for call in whole}
        combined = {call.combined.results[0][0]: call for call in calls if call.combined}
        returned: dict[str, list[Span]] = defaultdict(list)
        plain: dict[str, list[int]] = defaultdict(list)  # other operands of returns
        for last in _returns(function):
            for index, (name, span) in enumerate(operands_of(text, last)):
                if name in by_name:
                    returned[name].append(span)
                    self._carry(index, by_name[name])
                elif name in combined:
                    self._carry(index, combined[name])
                else:
                    plain[name].append(index)
        self.edits += _passed_on(text, function, [call.operation for call in combined.values()])
        for argument in function.arguments:
            plain.pop(argument.name or "", None)
        self._settle(text, function, by_name, returned, plain)

    def _settle(
        self,
        text: str,
        function: Operation,
        by_name: dict[str, ResultCall],
        returned: Mapping[str, list[Span]],
        plain: Mapping[str, list[int]],
    ) -> None:
        """Remove the calls, or make constraints of them."""
        copies = _copies(function, by_name)
        region = function.regions[0]
        uses = _count(text, Span(region.start, region.end), {*by_name, *copies})
        unused: dict[str, list[Operation]] = defaultdict(list)
        for name, copy in copies.items():
            if uses[name] == 1:  # its definition
                unused[copy.operands[0]].append(copy)
        for name, call in by_name.items():
            returns = returned.get(name, [])
            others = uses[name] - 1 - len(returns) - len(unused[name])
            if others > 0:
                self.constraints.append(call)
                continue
            operand = call.operation.operands[0]
            if uses[name] == 1:
                self.carried.update(dict.fromkeys(plain.get(operand, ()), call))
            self.edits += [(span.start, span.end, operand) for span in returns]
            for operation in (call.operation, *unused[name]):
                self.edits.append((*statement(text, operation.start, operation.end), ""))

    def _carry(self, index: int, call: ResultCall) -> None:
        before = self.carried.setdefault(index, call)
        if before.sharding is not call.sharding:
            raise call.carrier.located(
                VerificationError(
                    f"result {index} of the function has another sharding in another return",
                    rule="sharding-twice",
                    span=Span(0, len(call.carrier.text)),
                    notes=[f"the other one is {before.sharding.stripped}"],
                )
            )


def _returns(function: Operation) -> Iterator[Operation]:
    for block in function.regions[0].blocks:
        if block.operations and block.operations[-1].full_name == "func.return":
            yield block.operations[-1]


def _passed_on(text: str, function: Operation, calls: list[Operation]) -> Iterator[Edit]:
    """The edits by which the operands of calls take the place of their results."""
    operands = {call.results[0][0]: call.operands for call in calls}
    gone = {call.start for call in calls}
    for found in _VALUE.finditer(text, function.regions[0].start, function.regions[0].end):
        if found[1] in operands and found.start() not in gone:
            index = int(found[2][1:]) if found[2] else 0
            if index < len(operands[found[1]]):
                yield (*found.span(), operands[found[1]][index])
    for call in calls:
        yield (*statement(text, call.start, call.end), "")


def _copies(function: Operation, by_name: dict[str, ResultCall]) -> dict[str, Operation]:
    """The reshapes of carried values, by name. What comes from HLO has one for each, which nothing uses."""
    return {
        operation.results[0][0]: operation
        for operation in function.walk()
        if operation.full_name == "stablehlo.reshape"
        and len(operation.results) == 1
        and operation.operands[:1]
        and operation.operands[0] in by_name
    }


def operands_of(text: str, operation: Operation) -> Iterator[tuple[str, Span]]:
    """The operands of an operation, and where they stand."""
    end = operation.signature.start if operation.signature else operation.end
    start = operation.name_end
    if operation.is_generic:
        start = text.index("(", start)
        end = matching_bracket(text, start)
    for found in _VALUE.finditer(text, start, end):
        if found[1]:
            yield found[0], Span(*found.span())


def _count(text: str, span: Span, names: set[str]) -> Counter[str]:
    """How often each of the names stands in the code of that part of the text, their definitions included."""
    found = _VALUE.findall(text, span.start, span.end)
    return Counter([name for name, _ in found if name in names])
