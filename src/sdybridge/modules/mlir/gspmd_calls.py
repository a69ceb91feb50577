"""The custom calls of an MLIR program that say how values are laid out."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from sdybridge.modules.annotations import CARRIER, MHLO, SDY
from sdybridge.modules.hlo_program import RESULT_CALL
from sdybridge.modules.mlir.annotations import FRONTEND_ATTRIBUTES
from sdybridge.modules.mlir.callees import CUSTOM_CALLS, target_of
from sdybridge.modules.mlir.dictionary import find_entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.modules.mlir.operations import Operation, OperationTree

_KEYS = (SDY, MHLO, FRONTEND_ATTRIBUTES)


class GspmdCalls:
    """The calls of `@Sharding` and of `@xla.sdy.FuncResultSharding` in a program.

    >>> from sdybridge.modules.mlir.reader import parse_operations
    >>> text = '%0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{manual}"} : (i32) -> i32'
    >>> [text[offset:][:10] for offset in GspmdCalls(parse_operations(text)).sharding_calls]
    ['"{manual}"']
    """

    def __init__(self, tree: OperationTree) -> None:
        self._tree = tree

    @functools.cached_property
    def _targets(self) -> dict[int, str]:
        """What the calls call, by where their shardings stand."""
        found = {}
        for operation in self._tree.walk():
            target = called_by(operation)
            if target not in ("Sharding", RESULT_CALL):
                continue
            for entry in filter(None, [operation.attribute(key) for key in _KEYS]):
                value = entry.value
                if value and entry.key == FRONTEND_ATTRIBUTES:
                    carried = find_entry(self._tree.source.text, value.start, CARRIER)
                    value = carried.value if carried else None
                if value:
                    found[value.start] = target
        return found

    @functools.cached_property
    def sharding_calls(self) -> frozenset[int]:
        """Where the shardings of the calls of `@Sharding` stand."""
        return frozenset(offset for offset, target in self._targets.items() if target == "Sharding")

    @functools.cached_property
    def result_calls(self) -> frozenset[int]:
        """Where the shardings stand that calls on their values carry for results."""
        return frozenset(offset for offset, target in self._targets.items() if target == RESULT_CALL)

    @functools.cached_property
    def carried_results(self) -> dict[tuple[str, str], str]:
        """The results, by function and name, whose Shardy sharding a call carries, and that call's value."""
        calls = {
            (scope, name)
            for scope, operation in (self.operations() if self.result_calls else ())
            if called_by(operation) == RESULT_CALL
            for name, _ in operation.results
        }
        return {
            (scope, f"result {i}"): name
            for scope, operation in (self.operations() if calls else ())
            if operation.full_name == "func.return"
            for i, name in enumerate(operation.operands)
            if (scope, name) in calls
        }

    def operations(self) -> Iterator[tuple[str, Operation]]:
        """Every operation of a function, with the name of that."""
        for function in self._tree.walk():
            if function.full_name.endswith(".func"):
                scope = function.symbol or ""
                yield from ((scope, operation) for operation in function.walk() if operation is not function)


def called_by(operation: Operation) -> str:
    """What a custom call calls; empty for other operations."""
    return target_of(operation) if operation.full_name in CUSTOM_CALLS else ""
