"""Export of the collectives of unreduced values: manual computations of what each device does.

All axes are manual in them, so every sharding inside is `{manual}`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from sdybridge.bridge import resolve_mesh
from sdybridge.errors import SdyBridgeError
from sdybridge.modules.export.device_bodies import (
    all_reduce,
    place_in_zeros,
    reduce_scatter,
    unsupported,
    zero_elsewhere,
)
from sdybridge.modules.export.manual_calls import manual_call
from sdybridge.modules.mlir.computations import ManualScope
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.result_types import expand_type
from sdybridge.modules.mlir.sdy_operations import read_parameters
from sdybridge.modules.mlir.types import shape_of, with_shape
from sdybridge.modules.mlir.values import Scope
from sdybridge.modules.verify.checker import Checker
from sdybridge.modules.verify.collectives import verify_collective
from sdybridge.modules.verify.context import AlreadyReportedError, Context, ModuleScope
from sdybridge.modules.verify.value_shardings import sharding_of
from sdybridge.sdy import TensorShardingAttr, TensorShardingPerValueAttr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.modules.export.shardings import ShardingExport
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.mlir.sdy_operations import Parameter
    from sdybridge.sdy import MeshAttr
    from sdybridge.source import Source
    from sdybridge.target import Target

REDUCTIONS = frozenset({"sdy.all_reduce", "sdy.reduce_scatter"})
TO_UNREDUCED = frozenset({"sdy.sharded_to_unreduced", "sdy.replicated_to_unreduced"})


class Operands:
    """The shardings of the operands of a program's collectives; it is read as a whole when first asked."""

    def __init__(self, source: Source, target: Target) -> None:
        self._source = source
        self._target = target

    def verify(
        self,
        operation: Operation,
        parameters: dict[str, Parameter],
        of_type: str,
        meshes: Mapping[str, MeshAttr],
    ) -> None:
        """Check all rules of a collective with a result of this type.

        Raises:
            SdyBridgeError: The first rule that is broken, where it is.
            AlreadyReportedError: Something that it depends on has an error of its own.
        """
        context = Context(ModuleScope({**meshes}), None, {}, self._scopes[operation.name_start])
        try:
            verify_collective(self._checker, operation, parameters, of_type, context)
        except SdyBridgeError as error:
            self._checker.place(error)
            raise

    def sharding(self, operation: Operation) -> TensorShardingAttr | None:
        """The sharding of the first operand; None if it has none, or the text does not tell."""
        scope = self._scopes.get(operation.name_start)
        definition = scope.find(operation.operands[0]) if scope and operation.operands else None
        try:
            return sharding_of(self._checker, definition) if definition else None
        except AlreadyReportedError:
            return None

    @functools.cached_property
    def _checker(self) -> Checker:
        return Checker(parse_operations(self._source), self._target)

    @functools.cached_property
    def _scopes(self) -> dict[int, Scope]:
        """What each collective can see, by where its name starts."""
        found: dict[int, Scope] = {}
        operations = self._checker.tree.operations
        stack = [(operations, Scope(operations))]
        while stack:
            operations, scope = stack.pop()
            for operation in operations:
                if operation.name in REDUCTIONS or operation.name in TO_UNREDUCED:
                    found[operation.name_start] = scope
                for region in operation.regions:
                    inner = [one for block in region.blocks for one in block.operations]
                    stack.append((inner, Scope(inner, operation, region, scope)))
        return found


def export_reduction(export: ShardingExport, operation: Operation, operand: TensorShardingAttr) -> None:
    """Write the calls that a collective of an unreduced value, or to one, becomes.

    Args:
        export: The export.
        operation: The collective.
        operand: The sharding of its operand.

    Raises:
        ConversionError: What each device does depends on more than XLA's export can say.

    Source: xla's `service/spmd/shardy/stablehlo_round_trip/export_manual_reduction_collectives.cc`.
    """
    text, at = export.text, operation.name_start
    parameters = read_parameters(export.checker, operation)
    result: TensorShardingAttr = parameters["out_sharding"].value
    mesh = resolve_mesh(result, export.meshes.at(at))
    types, _ = operation.signature_types
    of_type = text[types[0].start : types[0].end] if types else ""
    of_type = expand_type(of_type, text, export.checker.tree.aliases)
    shape = shape_of(of_type)
    if shape is None or None in shape or len(operation.results) != 1:
        raise unsupported(export, operation, "its value is no tensor of known shape")
    if export.scope:
        raise unsupported(export, operation, "it stands in a manual computation")
    export.convert(result, parameters["out_sharding"].start, [of_type])
    try:
        export.operands.verify(operation, parameters, of_type, export.meshes.at(at))
    except AlreadyReportedError:
        raise unsupported(export, operation, "it depends on something with an error of its own") from None
    before, after = (_local(export, operation, of_type, sharding, mesh) for sharding in (operand, result))
    if operation.name == "sdy.all_reduce":
        body = all_reduce(export, operation, parameters["reduction_axes"].value.value, mesh, before)
    elif operation.name == "sdy.reduce_scatter":
        axes = [refs.value for refs in parameters["reduce_scatter_axes"].value.value]
        body = reduce_scatter(export, operation, axes, mesh, before)
    elif operation.name == "sdy.sharded_to_unreduced":
        axes = [refs.value for refs in parameters["axes"].value.value]
        body = place_in_zeros(export, operation, axes, mesh, before, after)
    else:
        body = zero_elsewhere(export, operation, parameters["axes"].value.value, mesh, before)
    value = operation.operands[0], operand, of_type, before
    export.new.replace(operation.start, operation.end, "")
    _write_call(export, operation, value, (result, after), mesh, body)


def export_unreduced_constant(export: ShardingExport, operation: Operation) -> bool:
    """Write what an unreduced constant becomes: one that is not, and what makes it unreduced.

    Args:
        export: The export.
        operation: A constant.

    Returns:
        Whether it is unreduced, and has no carrier: others are as any operation.

    Raises:
        ConversionError: What each device does depends on more than XLA's export can say.

    Source: xla's `service/spmd/shardy/stablehlo_round_trip/export_manual_reduction_collectives.cc`.
    """
    text, entry = export.text, operation.attribute("sdy.sharding")
    if not entry or not entry.value or "xla.sdy.sharding" in text[operation.start : operation.end]:
        return False
    attr = export.checker.read(entry.value.start, TensorShardingPerValueAttr)[0]
    if len(attr.shardings) != 1 or not attr.shardings[0].unreduced_axes:
        return False
    result = attr.shardings[0]
    plain = TensorShardingAttr(result.mesh_or_ref, result.dim_shardings, result.replicated_axes)
    left, right = operation.signature_types
    types = right or left
    written = text[types[0].start : types[0].end] if types else ""
    of_type = expand_type(written, text, export.checker.tree.aliases)
    shape = shape_of(of_type)
    if shape is None or None in shape or [count for _, count in operation.results] != [1]:
        raise unsupported(export, operation, "its value is no tensor of known shape")
    export.convert(attr, entry.value.start, [of_type])
    if export.scope:
        raise unsupported(export, operation, "it stands in a manual computation")
    mesh = resolve_mesh(result, export.meshes.at(operation.name_start))
    local = _local(export, operation, of_type, result, mesh)
    body = zero_elsewhere(export, operation, result.unreduced_axes, mesh, local)
    (replicated,) = export.new.fresh()
    constant = _plain_constant(export, operation, export.attribute(plain, operation.name_start, ()))
    export.new.replace(operation.start, operation.end, f"{replicated} = {constant}{_line_break(operation)}")
    _write_call(export, operation, (replicated, plain, of_type, local), (result, local), mesh, body)
    return True


def _plain_constant(export: ShardingExport, operation: Operation, sharding: str) -> str:
    """The constant with another sharding, without the name of its result."""
    text, old = export.text, operation.dictionaries[0]
    entries = [
        text[one.span.start : one.span.end]
        for one in operation.entries
        if one.key not in ("sdy.sharding", "sdy.sharding_rule", "mhlo.sharding")
    ]
    name = '"stablehlo.constant"' if operation.is_generic else "stablehlo.constant"
    before, after = text[operation.name_end : old.start], text[old.end : operation.end]
    return f"{name}{before}{{{', '.join([*entries, sharding])}}}{after}"


def _write_call(
    export: ShardingExport,
    operation: Operation,
    operand: tuple[str, TensorShardingAttr, str, str],
    result: tuple[TensorShardingAttr, str],
    mesh: MeshAttr,
    body: Sequence[str],
) -> None:
    """Write the call of a computation that is manual along all axes, and let its function end the module.

    Args:
        export: The export.
        operation: The operation whose result comes out.
        operand: What goes in: its name, sharding, type, and type in the body.
        result: The sharding of what comes out, and its type in the body.
        mesh: The mesh.
        body: The lines of the body, which names its argument `%operand`.
    """
    work, text, at = export.computations, export.text, operation.name_start
    if work is None:
        raise unsupported(export, operation, "its value is no tensor of known shape")
    scope = ManualScope(mesh.axis_names, result[0].mesh_or_ref)
    _, _, of_type, before = operand
    name, _ = operation.results[0]
    sharding, after = result
    lines, renamed, head = manual_call(
        work,
        operation,
        scope,
        [operand],
        [(name, -1, sharding, after, of_type)],
        [(f"%operand: {before}", "")],
    )
    end = operation.signature.end if operation.signature else operation.end
    location = text[end : operation.end]
    export.new.append(f"{location}{_line_break(operation)}".join(lines) + location, renamed)
    work.append_function(at, head, "\n    ".join(["", *body]), scope, operation.name_span)


def _line_break(operation: Operation) -> str:
    """What stands between the operation and one that is written behind it."""
    text = operation.source.text
    line = text.rfind("\n", 0, operation.start) + 1
    return f"\n{text[line : operation.start]}" if text[line : operation.start].isspace() else "\n"


def _local(
    export: ShardingExport, operation: Operation, of_type: str, sharding: TensorShardingAttr, mesh: MeshAttr
) -> str:
    """The type of what one device holds."""
    shape = list(shape_of(of_type) or ())
    for i, dim in enumerate(sharding.dim_shardings):
        pieces = dim.get_sharded_size(mesh)
        size = shape[i] or 0
        if size % pieces:
            raise unsupported(
                export, operation, f"{pieces} devices do not share the {size} of dimension {i} evenly"
            )
        shape[i] = size // pieces
    return with_shape(of_type, tuple(shape))
