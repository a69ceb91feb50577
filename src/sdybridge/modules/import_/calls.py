"""Calls that manual computations are kept as: what one calls, and what stands around it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.values import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.sdy import ManualAxesAttr, TensorShardingPerValueAttr

_PASSING = (".custom_call", ".get_tuple_element", ".copy", ".sharding_constraint")


@dataclass(frozen=True, slots=True)
class KeptCall:
    """A call that stays, and why.

    Attributes:
        symbol: The function that it calls.
        at: Where the call is.
        reason: Why it does not become a manual computation.
    """

    symbol: str
    at: int
    reason: str


class KeptError(Exception):
    """A call does not become a manual computation."""


class DeadError(Exception):
    """Nothing uses what a call gives, tensors without elements."""


class NoCallError(Exception):
    """A call is not that of the body of a manual computation."""


@dataclass(frozen=True, slots=True)
class Call:
    """A manual computation, in calls.

    Attributes:
        call: The call of the body.
        to_local: What comes before it, and what unpacks its results.
        to_global: What comes behind it, and what unpacks its results.
        operands: The values that go in.
        operand_types: Their types.
        result_types: The types of what comes out.
        ins: Their shardings.
        outs: The shardings of what comes out.
        manual_axes: The manual axes.
        renamed: Values that the results take the place of, and the results.
    """

    call: Operation
    to_local: Sequence[Operation]
    to_global: Sequence[Operation]
    operands: Sequence[str]
    operand_types: Sequence[str]
    result_types: Sequence[str]
    ins: TensorShardingPerValueAttr
    outs: TensorShardingPerValueAttr
    manual_axes: ManualAxesAttr
    renamed: Sequence[tuple[str, str]] = ()


class Around:
    """A block in which bodies are called: where its values come from, and where they go."""

    def __init__(self, operations: Sequence[Operation], scope: Scope, body_uses: Counter[str]) -> None:
        self.scope = scope
        self.body_uses = body_uses  # how often calls of bodies use a value
        self.defined = {name: one for one in operations for name, _ in one.results}
        self.users: dict[str, list[Operation]] = defaultdict(list)
        self.dead: dict[str, list[Operation]] = defaultdict(
            list
        )  # tuples that nothing uses, by what is in them
        for one in operations:
            if one.full_name == "stablehlo.tuple" and self.uses(one.results[0][0]) == 0:
                for operand in dict.fromkeys(one.operands):
                    self.users[operand].append(one)
                    self.dead[operand.partition("#")[0]].append(one)
            if one.full_name.endswith(
                (".custom_call", ".get_tuple_element", ".copy", ".sharding_constraint")
            ):
                for operand in dict.fromkeys(one.operands):
                    self.users[operand].append(one)

    def expect_one_use(self, value: str) -> None:
        """Raise unless the value has one use."""
        self.expect_uses(value, 1)

    def expect_uses(self, value: str, count: int) -> None:
        """Raise unless the value has so many uses."""
        dead = sum(one.full_name == "stablehlo.tuple" for one in self.users[value])
        if self.uses(value) != count + dead:
            raise KeptError(f"{value} has other uses")

    def is_dead(self, operation: Operation, gone: Mapping[str, int] | None = None) -> bool:
        """Whether nothing uses a result of an operation, but for uses that go."""
        results = [
            f"{name}#{k}" if count > 1 else name for name, count in operation.results for k in range(count)
        ]
        return all(self.uses(value) == (gone or {}).get(value, 0) for value in results)

    def uses(self, value: str) -> int:
        """How often a value is used; -1 if the text does not say where it comes from."""
        definition = self.scope.find(value)
        return self.scope.count_uses(value, definition) if definition else -1


def blocks_of(function: Operation) -> Iterator[tuple[list[Operation], Scope]]:
    """The operations of every region of a function, with the values that they see."""
    stack = [(function, Scope([function]))]
    while stack:
        operation, scope = stack.pop()
        for region in operation.regions:
            inner = [one for block in region.blocks for one in block.operations]
            here = Scope(inner, operation, region, scope)
            yield inner, here
            stack += [(one, here) for one in inner if one.regions and one.full_name != "func.func"]
