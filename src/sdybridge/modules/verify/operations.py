"""The rules of single sdy operations.

Source: shardy/dialect/sdy/ir/verifiers.cc, the `verify` of each operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.modules.mlir.result_types import result_types
from sdybridge.modules.mlir.sdy_operations import read_parameters
from sdybridge.modules.mlir.types import shape_of
from sdybridge.modules.verify.collectives import COLLECTIVES, verify_collective
from sdybridge.modules.verify.computations import verify_manual_computation, verify_named_computation
from sdybridge.modules.verify.context import Placed
from sdybridge.sdy import TensorShardingAttr
from sdybridge.source import Span

if TYPE_CHECKING:
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.mlir.sdy_operations import Parameter
    from sdybridge.modules.verify.checker import Checker
    from sdybridge.modules.verify.context import Context

_COMPUTATIONS = {
    "sdy.manual_computation": verify_manual_computation,
    "sdy.named_computation": verify_named_computation,
}
_EDGES = frozenset({"sdy.data_flow_edge", "sdy.func_data_flow_edge"})


def verify_sdy_operation(checker: Checker, operation: Operation, context: Context) -> None:
    """All rules of one sdy operation that has parameters.

    Raises:
        ParseError: Its text is malformed.
        VerificationError: The first rule that is broken.
    """
    parameters = read_parameters(checker, operation)
    name = operation.full_name
    if name in _COMPUTATIONS:
        _COMPUTATIONS[name](checker, operation, parameters, context)
        return
    types = result_types(operation, checker.tree.aliases) or [None]
    if name in COLLECTIVES:
        verify_collective(checker, operation, parameters, types[0], context)
        return
    if name == "sdy.propagation_barrier":
        _verify_barrier(checker, operation, parameters["allowed_direction"])
    if name in _EDGES:
        _verify_edge(checker, operation, types[0], context)
    if "sharding" in parameters:
        found = parameters["sharding"]
        placed = Placed(found.value, found.start, TensorShardingAttr, (), checker.at(operation))
        checker.verify(placed, types[0], context)


def _verify_barrier(checker: Checker, operation: Operation, direction: Parameter) -> None:
    if direction.value == "BOTH":
        raise checker.error(
            "barrier-direction",
            "a propagation barrier that allows BOTH directions blocks nothing",
            Span(direction.start, direction.end),
            notes=[f"in {checker.at(operation)}"],
            help="write NONE, FORWARD or BACKWARD, or remove the barrier",
        )


def _verify_edge(checker: Checker, operation: Operation, type_text: str | None, context: Context) -> None:
    """Edges start at values that nothing else uses, edges of functions where values enter and leave calls."""
    in_function = operation.full_name == "sdy.func_data_flow_edge"
    what = "function data flow edge" if in_function else "data flow edge"
    shape = shape_of(type_text) if type_text else None
    if shape and None in shape:
        raise checker.error(
            "edge-shape",
            f"the {what} is over {type_text}, whose shape is not static",
            operation.name_span,
            notes=[f"in {checker.at(operation)}"],
            help="remove the edge: only values of static shapes have one",
        )
    operands = operation.operands
    definition = context.scope.find(operands[0]) if operands else None
    if definition is None:
        return
    source = definition.operation
    is_sdy = source.full_name.startswith("sdy.") and source.full_name not in _COMPUTATIONS
    if in_function and source.full_name != ("func.func" if definition.is_argument else "func.call"):
        expected = "argument of a function" if definition.is_argument else "result of a call"
        message = f"the input of a function data flow edge is not the {expected}"
    elif is_sdy and not definition.is_argument:
        message = f"the input of a data flow edge is the result of {source.full_name}"
    else:
        message = ""
    if message:
        raise checker.error(
            "edge-producer",
            message,
            operation.operand_span(0),
            notes=[f"it comes from {checker.at(source)}", f"in {checker.at(operation)}"],
        )
    uses = definition.scope.count_uses(operands[0], definition)
    if uses > 1:
        raise checker.error(
            "edge-single-use",
            f"the input of a {what} is used {uses} times",
            operation.operand_span(0),
            notes=["the edge has to be its only use", f"in {checker.at(operation)}"],
            help="let the other uses take the edge's result",
        )
