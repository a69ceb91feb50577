"""Export of the collectives of unreduced values: manual computations of what each device does.

All axes are manual in them, so every sharding inside is `{manual}`.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from typing import TYPE_CHECKING

from sdybridge.bridge import resolve_mesh
from sdybridge.errors import ConversionError, SdyBridgeError
from sdybridge.modules.export.manual_calls import manual_call
from sdybridge.modules.mlir.computations import ManualScope
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.result_types import expand_type
from sdybridge.modules.mlir.sdy_operations import read_parameters
from sdybridge.modules.mlir.types import element_of, shape_of, with_shape
from sdybridge.modules.mlir.values import Scope
from sdybridge.modules.verify.checker import Checker
from sdybridge.modules.verify.collectives import verify_collective
from sdybridge.modules.verify.context import AlreadyReportedError, Context, ModuleScope
from sdybridge.modules.verify.value_shardings import sharding_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sdybridge.modules.export.shardings import ShardingExport
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.mlir.sdy_operations import Parameter
    from sdybridge.sdy import AxisRefAttr, MeshAttr, TensorShardingAttr
    from sdybridge.source import Source
    from sdybridge.target import Target

REDUCTIONS = frozenset({"sdy.all_reduce", "sdy.reduce_scatter"})
TO_UNREDUCED = frozenset({"sdy.sharded_to_unreduced", "sdy.replicated_to_unreduced"})

_MOST_DEVICES = 1 << 20  # in a text that lists them
_CHANNEL = re.compile(r"channel_handle<handle\s*+=\s*+(\d{1,18})")
_REDUCERS = {"sum": "add", "max": "maximum", "min": "minimum"}
_REDUCER = re.compile(r"\s*+(sum|max|min)\b")


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
    work, text, at = export.computations, export.text, operation.name_start
    parameters = read_parameters(export.checker, operation)
    result: TensorShardingAttr = parameters["out_sharding"].value
    mesh = resolve_mesh(result, export.meshes.at(at))
    types, _ = operation.signature_types
    of_type = text[types[0].start : types[0].end] if types else ""
    of_type = expand_type(of_type, text, export.checker.tree.aliases)
    shape = shape_of(of_type)
    if work is None or shape is None or None in shape or len(operation.results) != 1:
        raise _unsupported(export, operation, "its value is no tensor of known shape")
    if export.scope:
        raise _unsupported(export, operation, "it stands in a manual computation")
    export.convert(result, parameters["out_sharding"].start, [of_type])
    try:
        export.operands.verify(operation, parameters, of_type, export.meshes.at(at))
    except AlreadyReportedError:
        raise _unsupported(export, operation, "it depends on something with an error of its own") from None
    before, after = (_local(export, operation, of_type, sharding, mesh) for sharding in (operand, result))
    if operation.name == "sdy.all_reduce":
        body = _all_reduce(export, operation, parameters["reduction_axes"].value.value, mesh, before)
    elif operation.name == "sdy.reduce_scatter":
        axes = [refs.value for refs in parameters["reduce_scatter_axes"].value.value]
        body = _reduce_scatter(export, operation, axes, mesh, before)
    elif operation.name == "sdy.sharded_to_unreduced":
        axes = [refs.value for refs in parameters["axes"].value.value]
        _verify_coordinates(export, operation, [ref for refs in axes for ref in refs], mesh)
        body = _place_in_zeros(mesh, axes, before, after)
    else:
        refs = parameters["axes"].value.value
        _verify_coordinates(export, operation, refs, mesh)
        body = _zero_elsewhere(mesh, refs, before)
    scope = ManualScope(mesh.axis_names, result.mesh_or_ref)
    name, _ = operation.results[0]
    lines, renamed, head = manual_call(
        work,
        operation,
        scope,
        [(operation.operands[0], operand, of_type, before)],
        [(name, -1, result, after, of_type)],
        [(f"%operand: {before}", "")],
    )
    line = text.rfind("\n", 0, operation.start) + 1
    indent = text[line : operation.start] if text[line : operation.start].isspace() else ""
    end = operation.signature.end if operation.signature else operation.end
    location = text[end : operation.end]
    export.replace(operation.start, operation.end, f"{location}\n{indent}".join(lines) + location)
    export.append("", renamed)
    work.append_function(at, head, "\n    ".join(["", *body]), scope, operation.name_span)


def _local(
    export: ShardingExport, operation: Operation, of_type: str, sharding: TensorShardingAttr, mesh: MeshAttr
) -> str:
    """The type of what one device holds."""
    shape = list(shape_of(of_type) or ())
    for i, dim in enumerate(sharding.dim_shardings):
        pieces = dim.get_sharded_size(mesh)
        size = shape[i] or 0
        if size % pieces:
            raise _unsupported(
                export, operation, f"{pieces} devices do not share the {size} of dimension {i} evenly"
            )
        shape[i] = size // pieces
    return with_shape(of_type, tuple(shape))


def _all_reduce(
    export: ShardingExport, operation: Operation, axes: Sequence[AxisRefAttr], mesh: MeshAttr, local: str
) -> list[str]:
    groups = _replica_groups(export, operation, axes, mesh)
    properties = f"{_channel(export)}, {groups}, use_global_device_ids"
    return [
        f'%sum = "stablehlo.all_reduce"(%operand) <{{{properties}}}> ({{',
        *_reducer(operation, local),
        f"}}) : ({local}) -> {local}",
        f"return %sum : {local}",
    ]


def _reduce_scatter(
    export: ShardingExport,
    operation: Operation,
    axes: Sequence[Sequence[AxisRefAttr]],
    mesh: MeshAttr,
    local: str,
) -> list[str]:
    """One `stablehlo.reduce_scatter` for each dimension that is cut."""
    lines = []
    value = "%operand"
    for dim, refs in enumerate(axes):
        if not refs:
            continue
        shape = list(shape_of(local) or ())
        shape[dim] = (shape[dim] or 0) // math.prod(ref.get_size(mesh) for ref in refs)
        scattered = with_shape(local, tuple(shape))
        groups = _replica_groups(export, operation, refs, mesh)
        properties = f"{_channel(export)}, {groups}, scatter_dimension = {dim} : i64, use_global_device_ids"
        new = f"%scattered_{dim}"
        lines += [
            f'{new} = "stablehlo.reduce_scatter"({value}) <{{{properties}}}> ({{',
            *_reducer(operation, local),
            f"}}) : ({local}) -> {scattered}",
        ]
        value, local = new, scattered
    return [*lines, f"return {value} : {local}"]


def _reducer(operation: Operation, local: str) -> list[str]:
    scalar = f"tensor<{element_of(local)}>"
    found = _REDUCER.match(operation.source.text, operation.name_end)
    reducer = _REDUCERS[found[1] if found else "sum"]
    return [
        f"^bb0(%a: {scalar}, %b: {scalar}):",
        f"  %reduced = stablehlo.{reducer} %a, %b : {scalar}",
        f"  stablehlo.return %reduced : {scalar}",
    ]


def _channel(export: ShardingExport) -> str:
    """A channel that the program does not use."""
    if not export.channel:
        export.channel = max(map(int, _CHANNEL.findall(export.text)), default=0)
    export.channel += 1
    return f"channel_handle = #stablehlo.channel_handle<handle = {export.channel}, type = 1>"


def _replica_groups(
    export: ShardingExport, operation: Operation, axes: Sequence[AxisRefAttr], mesh: MeshAttr
) -> str:
    """The devices that differ in these axes only, group by group."""
    import numpy as np

    total = math.prod(axis.size for axis in mesh.axes)
    if total > _MOST_DEVICES:
        raise _unsupported(export, operation, f"its replica groups would list {total} devices")
    parts = [part for axis in mesh.axes for part in _parts(axis.name, axis.size, axes)]
    if math.prod(size for _, _, size in parts) != total:
        raise _unsupported(export, operation, "it is about a part that does not divide its axis")
    devices = np.array(mesh.device_ids) if mesh.device_ids else np.arange(total)
    grid = devices.reshape([size for _, _, size in parts])
    inner = [k for ref in axes for k, part in enumerate(parts) if _is_in(part, ref)]
    outer = [k for k in range(len(parts)) if k not in inner]
    size = math.prod(ref.get_size(mesh) for ref in axes)
    groups = grid.transpose(outer + inner).reshape(-1, size)
    return f"replica_groups = dense<{groups.tolist()}> : tensor<{total // size}x{size}xi64>"


def _parts(name: str, size: int, axes: Sequence[AxisRefAttr]) -> Iterator[tuple[str, int, int]]:
    """An axis cut where sub-axes begin and end: name, what stands before the part, and its size."""
    cuts = {1, size}
    for ref in axes:
        if ref.name == name and ref.sub_axis_info:
            cuts |= {ref.sub_axis_info.pre_size, ref.sub_axis_info.next_pre_size}
    ordered = sorted(cuts)
    for before, after in itertools.pairwise(ordered):
        yield name, before, after // before


def _is_in(part: tuple[str, int, int], ref: AxisRefAttr) -> bool:
    name, before, size = part
    if name != ref.name:
        return False
    info = ref.sub_axis_info
    return not info or (info.pre_size <= before and before * size <= info.next_pre_size)


def _place_in_zeros(
    mesh: MeshAttr, axes: Sequence[Sequence[AxisRefAttr]], before: str, after: str
) -> list[str]:
    """What a device holds, in its place among zeros."""
    lines = _zeros(after)
    coordinates, zero = _coordinates(mesh, lines)
    starts = []
    for dim, (refs, size) in enumerate(zip(axes, shape_of(before) or (), strict=True)):
        if not refs:
            starts.append(zero)
            continue
        index, _ = coordinates[refs[0].name]
        for k, (last, ref) in enumerate(itertools.pairwise(refs)):
            at, count = coordinates[ref.name]
            if mesh.axis_size(last.name) == mesh.axis_size(ref.name):
                _, count = coordinates[last.name]  # XLA takes this one always, and is wrong if they differ
            lines.append(f"%row_{dim}_{k} = stablehlo.multiply {index}, {count} : tensor<i32>")
            index = f"%index_{dim}_{k}"
            lines.append(f"{index} = stablehlo.add %row_{dim}_{k}, {at} : tensor<i32>")
        lines.append(f"%length_{dim} = stablehlo.constant dense<{size}> : tensor<i32>")
        lines.append(f"%start_{dim} = stablehlo.multiply {index}, %length_{dim} : tensor<i32>")
        starts.append(f"%start_{dim}")
    operands, types = (
        ", ".join(["%zeros, %operand", *starts]),
        ", ".join([after, before, *["tensor<i32>"] * len(starts)]),
    )
    lines.append(f"%placed = stablehlo.dynamic_update_slice {operands} : ({types}) -> {after}")
    return [*lines, f"return %placed : {after}"]


def _zero_elsewhere(mesh: MeshAttr, refs: Sequence[AxisRefAttr], local: str) -> list[str]:
    """What a device holds, if it is the first one along the axes, and else zeros."""
    lines: list[str] = []
    coordinates, zero = _coordinates(mesh, lines)
    is_first = ""
    for k, ref in enumerate(refs):
        at, _ = coordinates[ref.name]
        lines.append(
            f"%is_first_{k} = stablehlo.compare EQ, {at}, {zero} : (tensor<i32>, tensor<i32>) -> tensor<i1>"
        )
        if is_first:
            lines.append(f"%are_first_{k} = stablehlo.and {is_first}, %is_first_{k} : tensor<i1>")
        is_first = f"%are_first_{k}" if is_first else f"%is_first_{k}"
    lines += _zeros(local)
    lines.append(f"%kept = stablehlo.select {is_first}, %operand, %zeros : tensor<i1>, {local}")
    return [*lines, f"return %kept : {local}"]


def _zeros(of_type: str) -> list[str]:
    element = element_of(of_type)
    zero = "false" if element == "i1" else "0" if element.startswith(("i", "ui", "si")) else "0.0"
    zero = f"({zero}, {zero})" if element.startswith("complex") else zero
    sizes = [*(shape_of(of_type) or ())]
    return [
        f"%fill = stablehlo.constant dense<{zero}> : tensor<{element}>",
        f"%zeros = stablehlo.broadcast %fill, sizes = {sizes} : (tensor<{element}>) -> {of_type}",
    ]


def _coordinates(mesh: MeshAttr, lines: list[str]) -> tuple[dict[str, tuple[str, str]], str]:
    """Add what computes where on the mesh a device is.

    Returns:
        The values of the coordinate along each axis and of the axis's size; and the value of zero.
    """
    lines += [
        "%partition = stablehlo.partition_id : tensor<ui32>",
        "%rest = stablehlo.convert %partition : (tensor<ui32>) -> tensor<i32>",
    ]
    found = {}
    rest = "%rest"
    for k, axis in enumerate(reversed(mesh.axes)):
        lines += [
            f"%size_{k} = stablehlo.constant dense<{axis.size}> : tensor<i32>",
            f"%at_{k} = stablehlo.remainder {rest}, %size_{k} : tensor<i32>",
            f"%rest_{k} = stablehlo.divide {rest}, %size_{k} : tensor<i32>",
        ]
        rest = f"%rest_{k}"
        found[axis.name] = f"%at_{k}", f"%size_{k}"
    lines.append("%zero = stablehlo.constant dense<0> : tensor<i32>")
    return found, "%zero"


def _verify_coordinates(
    export: ShardingExport, operation: Operation, refs: Sequence[AxisRefAttr], mesh: MeshAttr
) -> None:
    if mesh.device_ids:
        raise _unsupported(export, operation, "its mesh lists its devices")
    if any(ref.sub_axis_info for ref in refs):
        raise _unsupported(export, operation, "it is about a part of an axis")


def _unsupported(export: ShardingExport, operation: Operation, why: str) -> ConversionError:
    return ConversionError(
        f"{operation.name} cannot be exported: {why}",
        source=export.source,
        span=operation.name_span,
        notes=["it becomes a manual computation of what each device does"],
    )
