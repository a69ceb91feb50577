"""Where an operation stands, and where a sharding does: what checks and their errors need to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdybridge.sdy.printer import symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdybridge.errors import Path
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.mlir.values import Scope
    from sdybridge.modules.verify.checker import Checker
    from sdybridge.sdy import Attribute, MeshAttr, TensorShardingAttr


class AlreadyReportedError(Exception):
    """A check needs something that has an error of its own, which is reported where it stands."""


@dataclass(slots=True, eq=False)
class ModuleScope:
    """A module, as far as shardings in it care.

    Attributes:
        meshes: Its own meshes by name; None for one whose text has an error.
        outer: The module around it.
    """

    meshes: dict[str, MeshAttr | None] = field(default_factory=dict)
    outer: ModuleScope | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Where an operation stands.

    Attributes:
        module: The innermost module around it.
        parent: The operation whose region it is in; None at the top of the text.
        manual_axes: The axes that are manual here, with the operation that made them so.
        scope: The values that are visible here.
    """

    module: ModuleScope
    parent: Operation | None
    manual_axes: Mapping[str, Operation]
    scope: Scope


@dataclass(frozen=True, slots=True)
class Where:
    """What an error is in, for its notes; put into words only when there is one.

    Attributes:
        checker: The text.
        operation: The operation.
        value: Which of its values: `result 0`; empty for the operation itself.
    """

    checker: Checker
    operation: Operation
    value: str = ""

    def __str__(self) -> str:
        operation = self.operation
        if operation.full_name.endswith(".func") and operation.symbol:
            name = f"function {symbol(operation.symbol)}"
        else:
            line, column = self.checker.location(operation.start)
            name = f"{operation.full_name} at {line}:{column}"
        return f"{self.value} of {name}" if self.value else name


@dataclass(frozen=True, slots=True)
class Placed:
    """A sharding and its place in the text.

    Attributes:
        sharding: The sharding.
        start: Where the attribute that it is in starts.
        cls: The class of that attribute.
        path: The way from that attribute to the sharding.
        where: What carries it.
    """

    sharding: TensorShardingAttr
    start: int
    cls: type[Attribute]
    path: Path
    where: Where
