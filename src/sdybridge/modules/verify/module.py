"""Verification of whole modules: every place that carries a sharding, every mesh, every sdy operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import ParseError, SdyBridgeError
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.sdy_operations import has_parameters, read_parameters
from sdybridge.modules.mlir.values import Scope
from sdybridge.modules.verify.carriers import verify_arguments, verify_operation, verify_results
from sdybridge.modules.verify.checker import Checker
from sdybridge.modules.verify.context import Context
from sdybridge.modules.verify.meshes import read_module, verify_attribute_names, verify_mesh
from sdybridge.modules.verify.operations import verify_sdy_operation
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from sdybridge.modules.mlir.operations import Operation, OperationTree, Region


def verify_module(
    text: str, *, name: str = "<string>", target: Target = Target.CURRENT, first_only: bool = False
) -> list[SdyBridgeError]:
    """Every error of a text of operations, in the order of the text; none if it is valid.

    All rules of Shardy are checked: of meshes, of the shardings of arguments, results and operations, of
    manual and named computations, of collectives. Of each place the first broken rule counts. What else a
    text may hold is not checked: types, SSA dominance, other dialects.

    Args:
        text: The text of operations, pretty or generic.
        name: The name of the text, for errors.
        target: Whose grammar to follow.
        first_only: Whether to return the first error only.

    Returns:
        Errors with their place: a `VerificationError` for a rule (see `MODULE_RULES` and `sdy.RULES`), a
        `ParseError` for a malformed attribute or operation. A text whose operations cannot be told apart
        gives that one `ParseError`.

    Raises:
        TypeError: The text is none.

    >>> text = 'func.func @f(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) { return }'
    >>> print(verify_module(text)[0])
    <string>:1:62: error: the module has no mesh @mesh
    func.func @f(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) { return }
                                                                 ^~~~~
    note: it has no meshes
    note: in argument 0 of function @f

    Source: shardy/dialect/sdy/ir/verifiers.cc, dialect.cc.
    """
    if not isinstance(text, str):
        raise TypeError(f"expected the program's text, not a {type(text).__name__}")
    source = Source(text, name)
    try:
        tree = parse_operations(source)
    except ParseError as error:
        return [error]
    errors = verify_operations(tree, target)
    return errors[:1] if first_only else errors


def verify_operations(tree: OperationTree, target: Target = Target.CURRENT) -> list[SdyBridgeError]:
    """As `verify_module`, of a text whose operations are read already."""
    checker = Checker(tree, target)
    _walk(checker)
    passed = sorted(checker.read_spans, key=lambda span: span.start)
    checker.read_all(Span(0, len(tree.source.text)), passed)
    return sorted(checker.errors.values(), key=lambda error: error.span.start if error.span else 0)


def _walk(checker: Checker) -> None:
    """Visits all operations, with a stack of our own; the text as a whole counts as a module."""
    operations = checker.tree.operations
    module = read_module(checker, operations, None)
    stack = [(operations, Context(module, None, {}, Scope(operations)))]
    while stack:
        operations, context = stack.pop()
        for operation in operations:
            _visit(checker, operation, context)
            for region in operation.regions:
                inner = _inside(checker, operation, region, context)
                stack += [(block.operations, inner) for block in region.blocks]


def _inside(checker: Checker, operation: Operation, region: Region, context: Context) -> Context:
    """The context of the operations in one region."""
    operations = region.blocks[0].operations
    if len(region.blocks) > 1:
        operations = [inner for block in region.blocks for inner in block.operations]
    scope = Scope(operations, operation, region, context.scope)
    name = operation.full_name
    if name == "builtin.module":
        return Context(read_module(checker, operations, context.module), operation, {}, scope)
    if name.endswith(".func"):
        return Context(context.module, operation, {}, scope)
    manual_axes = context.manual_axes
    if name == "sdy.manual_computation":
        manual_axes = {**dict.fromkeys(_manual_axes(checker, operation), operation), **manual_axes}
    return Context(context.module, operation, manual_axes, scope)


def _manual_axes(checker: Checker, operation: Operation) -> tuple[str, ...]:
    try:
        axes: tuple[str, ...] = read_parameters(checker, operation)["manual_axes"].value.value
    except SdyBridgeError:
        return ()  # reported when the operation itself is visited
    return axes


def _visit(checker: Checker, operation: Operation, context: Context) -> None:
    """Checks one operation, without what is in its regions."""
    name = operation.full_name
    if name == "sdy.mesh":
        checker.attempt(verify_mesh, checker, operation, context)
    elif has_parameters(operation):
        checker.attempt(verify_sdy_operation, checker, operation, context)
    elif name == "builtin.module":
        checker.attempt(verify_attribute_names, checker, operation)
    elif name.endswith(".func"):
        checker.attempt(verify_arguments, checker, operation, context)
        checker.attempt(verify_results, checker, operation, context)
    if operation.dictionaries:
        verify_operation(checker, operation, context)
