"""The sharding that a value has: of the operation it comes from, or of the place it enters a region at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.mlir.sdy_operations import has_parameters, read_parameters
from sdybridge.modules.verify.context import AlreadyReportedError
from sdybridge.sdy import (
    AxisRefAttr,
    DimensionShardingAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.mlir.values import Definition
    from sdybridge.modules.verify.checker import Checker

_LOOPS = frozenset(("stablehlo.while", "mhlo.while"))
_COMPUTATIONS = frozenset(("sdy.manual_computation", "sdy.named_computation"))
# Of these only the discardable attribute counts.
_WITHOUT_SHARDING = frozenset(("sdy.propagation_barrier", "sdy.sharding_group"))


def sharding_of(checker: Checker, definition: Definition) -> TensorShardingAttr | None:
    """The sharding of a value; None if it has none.

    Raises:
        AlreadyReportedError: The text that would tell has an error, or does not tell.

    Source: shardy/dialect/sdy/ir/utils.cc, `getSharding`.
    """
    operation, index = definition.operation, definition.index
    try:
        if definition.is_argument:
            return _of_argument(checker, operation, index)
        if operation.full_name in _COMPUTATIONS:
            return _listed(checker, operation, "out_shardings", index)
        if has_parameters(operation) and operation.name not in _WITHOUT_SHARDING:
            parameters = read_parameters(checker, operation)
            found = parameters.get("out_sharding") or parameters.get("sharding")
            return found.value if found else None
        return _discardable(checker, operation, index)
    except SdyBridgeError:
        raise AlreadyReportedError from None


def _of_argument(checker: Checker, operation: Operation, index: int) -> TensorShardingAttr | None:
    if operation.full_name in _COMPUTATIONS:
        sharding = _listed(checker, operation, "in_shardings", index)
        if not sharding or operation.full_name == "sdy.named_computation":
            return sharding
        return without_axes(sharding, read_parameters(checker, operation)["manual_axes"].value.value)
    if operation.full_name in _LOOPS:
        return _discardable(checker, operation, index)
    if not operation.full_name.endswith(".func"):
        raise AlreadyReportedError
    arguments = operation.arguments
    if index >= len(arguments):
        raise AlreadyReportedError
    entry = operation.entry_of(arguments[index].dictionary, "sdy.sharding")
    if not entry or not entry.value:
        return None
    return checker.read(entry.value.start, TensorShardingAttr)[0]


def _listed(checker: Checker, operation: Operation, key: str, index: int) -> TensorShardingAttr | None:
    parameter = read_parameters(checker, operation).get(key)
    return _pick(parameter.value, index) if parameter else None


def _discardable(checker: Checker, operation: Operation, index: int) -> TensorShardingAttr | None:
    entry = operation.attribute("sdy.sharding")
    if not entry or not entry.value:
        return None
    return _pick(checker.read(entry.value.start, TensorShardingPerValueAttr)[0], index)


def _pick(attr: TensorShardingPerValueAttr, index: int) -> TensorShardingAttr:
    if index >= len(attr.shardings):
        raise AlreadyReportedError
    return attr.shardings[index]


def without_axes(sharding: TensorShardingAttr, names: Collection[str]) -> TensorShardingAttr:
    """The sharding without the refs to the named axes.

    >>> sharding = TensorShardingAttr.from_string('<@mesh, [{"x", "y", ?}], replicated={"z"}>')
    >>> without_axes(sharding, ["x", "z"]).stripped
    '<@mesh, [{"y", ?}]>'
    """

    def rest(refs: tuple[AxisRefAttr, ...]) -> tuple[AxisRefAttr, ...]:
        return tuple(ref for ref in refs if ref.name not in names)

    dims = [DimensionShardingAttr(rest(d.axes), d.is_closed, d.priority) for d in sharding.dim_shardings]
    return TensorShardingAttr(
        sharding.mesh_or_ref,
        dims,
        rest(sharding.replicated_axes),
        rest(sharding.unreduced_axes),
        sharding.reduction_op,
    )
