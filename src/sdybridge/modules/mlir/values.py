"""Which operation or block a `%value` comes from, and how often it is used."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import STRING, SUFFIX_ID

if TYPE_CHECKING:
    from sdybridge.modules.mlir.operations import Operation, Region

_VALUE = re.compile(rf"(%{SUFFIX_ID})(?:#([0-9]++))?+|{STRING}|//[^\n]*+")


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a value comes from.

    Attributes:
        operation: The operation whose result it is, or whose region's block it is an argument of.
        index: Which result or argument.
        is_argument: Whether it is a block argument.
        scope: Where it is defined.
        declared_inside: How often its region's braces hold its name where it is declared, not used.
    """

    operation: Operation
    index: int
    is_argument: bool
    scope: Scope
    declared_inside: int


class Scope:
    """The values that one region defines, inside those of the regions around it; read when first asked for.

    Args:
        operations: All operations of the region's blocks.
        owner: The operation that has the region; None at the top of the text.
        region: The region; None at the top of the text.
        outer: The scope around it.
    """

    __slots__ = ("_counts", "_names", "operations", "outer", "owner", "region")

    def __init__(
        self,
        operations: list[Operation],
        owner: Operation | None = None,
        region: Region | None = None,
        outer: Scope | None = None,
    ) -> None:
        self.operations = operations
        self.owner = owner
        self.region = region
        self.outer = outer
        self._names: dict[str, tuple[Operation, int, int]] | None = None
        self._counts: Counter[str] | None = None

    def find(self, value: str) -> Definition | None:
        """Where `%name` or `%name#1` comes from; None if the text does not say."""
        name, _, number = value.partition("#")
        index = int(number) if number and len(number) < 10 else 0
        scope: Scope | None = self
        while scope:
            names = scope._definitions()
            if name in names:
                operation, first, declared_inside = names[name]
                is_argument = operation is scope.owner
                return Definition(operation, first + index, is_argument, scope, declared_inside)
            if scope.owner is None or scope.owner.full_name in ("func.func", "builtin.module"):
                return None
            scope = scope.outer
        return None

    def count_uses(self, value: str, definition: Definition) -> int:
        """How often a value is used."""
        scope = definition.scope
        if scope._counts is None:
            scope._counts = scope._count()
        name, _, number = value.partition("#")
        result = f"{name}#{number}" if number else name
        if definition.is_argument:
            return scope._counts[result] - definition.declared_inside
        first = number in ("", "0")
        uses = scope._counts[f"{name}#0"] + scope._counts[name] if first else scope._counts[result]
        return uses - (1 if first else 0)

    def _definitions(self) -> dict[str, tuple[Operation, int, int]]:
        if self._names is None:
            self._names = {}
            for operation in self.operations:
                first = 0
                for name, count in operation.results:
                    self._names[name] = (operation, first, 1)
                    first += count
            if self.owner and self.region:
                self._add_arguments(self.owner, self.region, self._names)
        return self._names

    @staticmethod
    def _add_arguments(
        owner: Operation, region: Region, names: dict[str, tuple[Operation, int, int]]
    ) -> None:
        for block in region.blocks:
            inside = 1 if block.header and block.header.start > region.start else 0
            for index, argument in enumerate(owner.block_arguments(block)):
                if argument.name:
                    names[argument.name] = (owner, index, inside)

    def _count(self) -> Counter[str]:
        if self.region:
            text, start, end = self.operations[0].source.text, self.region.start, self.region.end
        else:
            text, start, end = self.operations[0].source.text, 0, len(self.operations[0].source.text)
        return Counter(
            f"{name}#{number}" if number else name
            for name, number in _VALUE.findall(text, start, end)
            if name
        )
