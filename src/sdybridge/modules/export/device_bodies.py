"""What each device does in a manual computation that a collective becomes: the operations of its body."""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError
from sdybridge.modules.mlir.types import element_of, shape_of, with_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdybridge.modules.export.shardings import ShardingExport
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.sdy import AxisRefAttr, MeshAttr

_MOST_DEVICES = 1 << 20  # in a text that lists them
_CHANNEL = re.compile(r"channel_handle<handle\s*+=\s*+(\d{1,18})")
_REDUCERS = {"sum": "add", "max": "maximum", "min": "minimum"}
_REDUCER = re.compile(r"\s*+(sum|max|min)\b")


def all_reduce(
    export: ShardingExport, operation: Operation, axes: Sequence[AxisRefAttr], mesh: MeshAttr, local: str
) -> list[str]:
    """The reduction of what the devices hold."""
    groups = _replica_groups(export, operation, axes, mesh)
    properties = f"{_channel(export)}, {groups}, use_global_device_ids"
    return [
        f'%sum = "stablehlo.all_reduce"(%operand) <{{{properties}}}> ({{',
        *_reducer(operation, local),
        f"}}) : ({local}) -> {local}",
        f"return %sum : {local}",
    ]


def reduce_scatter(
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
        raise unsupported(export, operation, f"its replica groups would list {total} devices")
    parts = [part for axis in mesh.axes for part in _parts(axis.name, axis.size, axes)]
    if math.prod(size for _, _, size in parts) != total:
        raise unsupported(export, operation, "it is about a part that does not divide its axis")
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


def place_in_zeros(
    export: ShardingExport,
    operation: Operation,
    axes: Sequence[Sequence[AxisRefAttr]],
    mesh: MeshAttr,
    before: str,
    after: str,
) -> list[str]:
    """What a device holds, in its place among zeros."""
    if mesh.device_ids:
        raise unsupported(export, operation, "its mesh lists its devices")
    _verify_whole_axes(export, operation, [ref for refs in axes for ref in refs])
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


def zero_elsewhere(
    export: ShardingExport, operation: Operation, refs: Sequence[AxisRefAttr], mesh: MeshAttr, local: str
) -> list[str]:
    """What a device holds, if it is the first one along the axes, and else zeros."""
    _verify_whole_axes(export, operation, refs)
    if mesh.device_ids and not _has_one_first(mesh, refs):
        raise unsupported(export, operation, "its mesh lists the devices in an order that ids do not tell")
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


def _verify_whole_axes(export: ShardingExport, operation: Operation, refs: Sequence[AxisRefAttr]) -> None:
    if any(ref.sub_axis_info for ref in refs):
        raise unsupported(export, operation, "it is about a part of an axis")


def _has_one_first(mesh: MeshAttr, refs: Sequence[AxisRefAttr]) -> bool:
    """Whether of devices that differ along the axes only, the ids say of one that it is the first."""
    import numpy as np

    sizes = [axis.size for axis in mesh.axes]
    names = [ref.name for ref in refs]
    along = tuple([k for k, axis in enumerate(mesh.axes) if axis.name in names])
    coordinates = np.unravel_index(np.array(mesh.device_ids).reshape(sizes), sizes)
    is_first = np.all([coordinates[k] == 0 for k in along], axis=0)
    return bool(np.all(is_first.sum(axis=along) == 1))


def unsupported(export: ShardingExport, operation: Operation, why: str) -> ConversionError:
    """The error of an operation that no manual computation can stand for."""
    return ConversionError(
        f"{operation.name} cannot be exported: {why}",
        source=export.source,
        span=operation.name_span,
        notes=["it becomes a manual computation of what each device does"],
    )
