"""Named shardings as protos, both ways: the bytes of XLA's, and the checks that it makes by aborting.

Source: `NamedSharding::ToProto` and `FromProto` in xla's `hlo/ir/named_sharding.cc`, and those of `Mesh` and
`AxisRef` in its `hlo/ir/mesh_and_axis.cc`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sdybridge.errors import ProtoError, VerificationError
from sdybridge.hlo.axis_ref import AxisRef, SubAxis
from sdybridge.hlo.checks import MAX_ARRAY_RANK, as_permutation, as_sizes, shortened, shown
from sdybridge.hlo.kinds import ReductionOp
from sdybridge.hlo.mesh import Mesh
from sdybridge.hlo.named_sharding import DimensionSharding, NamedSharding
from sdybridge.hlo.tile_assignment import TileAssignment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdybridge.errors import Path
    from sdybridge.hlo import op_sharding_pb2

_REDUCTIONS = {op.value: op for op in ReductionOp}


def fill_named(
    proto: op_sharding_pb2.NamedSharding, sharding: NamedSharding, reduction_op: ReductionOp
) -> None:
    """Writes all of a named sharding but its metadata."""
    _fill_mesh(proto.mesh, sharding.mesh)
    for dim in sharding.dim_shardings:
        message = proto.dim_shardings.add()
        message.is_closed = dim.is_closed
        message.axes.extend(_axes(dim.axes))
    proto.replicated_axes.extend(_axes(sharding.replicated_axes))
    proto.unreduced_axes.extend(_axes(sharding.unreduced_axes))
    proto.manual_axes.extend(_axes(sharding.manual_axes))
    proto.reduction_op = reduction_op  # type: ignore[assignment]  # the stub asks for its own enum


def _fill_mesh(proto: op_sharding_pb2.Mesh, mesh: Mesh) -> None:
    proto.SetInParent()  # XLA writes the mesh that has nothing, too
    if mesh.device_id is not None:
        proto.device_ids.append(mesh.device_id)
        return
    for name, size in zip(mesh.axis_names, mesh.axis_sizes, strict=True):
        try:
            proto.axes.add(name=name, size=size)
        except ValueError:
            raise ProtoError(
                f"the name of a mesh axis must be valid UTF-8 in a proto, got {shown(name)}"
            ) from None
    if mesh.has_simple_order or not mesh.axis_names:
        return
    iota = mesh.device_assignment.iota_form
    if iota is None:
        proto.device_ids.extend(mesh.device_assignment.array.ravel().tolist())
    else:
        proto.iota_transform.reshape_dims.extend(iota.reshape_dims)
        proto.iota_transform.transpose_perm.extend(iota.transpose_perm)


def _axes(axes: Iterable[AxisRef]) -> list[op_sharding_pb2.AxisRef]:
    from sdybridge.hlo import op_sharding_pb2

    messages = []
    for axis in axes:
        message = op_sharding_pb2.AxisRef(mesh_axis_index=axis.mesh_axis_index)
        if axis.sub_axis_info is not None:
            message.sub_axis_info.pre_size = axis.sub_axis_info.pre_size
            message.sub_axis_info.size = axis.sub_axis_info.size
        messages.append(message)
    return messages


def read_named(proto: op_sharding_pb2.NamedSharding) -> NamedSharding:
    """All of a named sharding but its metadata and its reduction.

    Raises:
        VerificationError: A part breaks a rule; the path leads to it through the message's fields.
    """
    mesh = _read_mesh(proto.mesh)
    dims = [
        DimensionSharding(tuple(_read_axes(dim.axes, ("dim_shardings", i, "axes"))), dim.is_closed)
        for i, dim in enumerate(proto.dim_shardings)
    ]
    return NamedSharding(
        mesh,
        dims,
        replicated_axes=_read_axes(proto.replicated_axes, ("replicated_axes",)),
        unreduced_axes=_read_axes(proto.unreduced_axes, ("unreduced_axes",)),
        manual_axes=_read_axes(proto.manual_axes, ("manual_axes",)),
    )


def read_reduction(proto: op_sharding_pb2.NamedSharding) -> ReductionOp:
    """How its unreduced values combine.

    Raises:
        VerificationError: There is no such reduction.
    """
    if proto.reduction_op in _REDUCTIONS:
        return _REDUCTIONS[proto.reduction_op]
    raise VerificationError(
        f"there is no reduction {proto.reduction_op}", rule="reduction-op", path=("reduction_op",)
    )


def named_field(path: Path) -> str:
    """The field of an `OpSharding` that a path from a named sharding leads to.

    >>> named_field(("dim_shardings", 1, "axes", 0))
    'named_sharding.dim_shardings[1].axes[0]'
    """
    return "named_sharding" + "".join([f"[{step}]" if isinstance(step, int) else f".{step}" for step in path])


def _read_mesh(proto: op_sharding_pb2.Mesh) -> Mesh:
    ids = proto.device_ids
    if not proto.axes:
        if not ids:
            return Mesh.empty()
        if len(ids) == 1:
            return Mesh.maximal(ids[0])
        raise VerificationError(
            f"a mesh without axes stands for one device, not for {len(ids)}",
            rule="mesh-devices",
            path=("mesh", "device_ids"),
        )
    try:
        return Mesh(_read_devices(proto), [axis.name for axis in proto.axes])
    except VerificationError as error:
        field = {"axis_names": "axes"}.get(str(error.path[0]), error.path[0]) if error.path else "axes"
        error.path = ("mesh", field, *error.path[1:])
        raise


def _read_devices(proto: op_sharding_pb2.Mesh) -> TileAssignment:
    ids, order = proto.device_ids, proto.iota_transform
    if len(proto.axes) > MAX_ARRAY_RANK and ids:
        raise VerificationError(
            f"a mesh that lists its devices has at most {MAX_ARRAY_RANK} axes, not {len(proto.axes)}",
            rule="mesh-rank",
        )
    sizes = as_sizes([axis.size for axis in proto.axes], "axes")
    total = math.prod(sizes)
    if ids and order.reshape_dims:
        raise VerificationError(
            "the devices are both listed and counted by iota_transform",
            rule="mesh-devices",
            path=("device_ids",),
        )
    if order.reshape_dims or order.transpose_perm:
        counted = as_sizes(order.reshape_dims, "iota_transform.reshape_dims")
        perm = as_permutation(order.transpose_perm, len(counted), "iota_transform.transpose_perm")
        if math.prod(counted) != total:
            raise VerificationError(
                f"the mesh has {total} devices, but {shortened(counted)} count {math.prod(counted)}",
                rule="iota-size",
                path=("iota_transform", "reshape_dims"),
            )
        return TileAssignment._from_known_iota(sizes, counted, perm)
    if not ids:
        return TileAssignment._from_known_iota(sizes, (total,), (0,))
    if len(ids) != total:
        raise VerificationError(
            f"the mesh has {total} devices, but {len(ids)} are listed",
            rule="mesh-devices",
            path=("device_ids",),
        )
    import numpy as np

    return TileAssignment._from_known_array(np.fromiter(ids, np.int64, len(ids)).reshape(sizes))


def _read_axes(messages: Iterable[op_sharding_pb2.AxisRef], path: Path) -> list[AxisRef]:
    axes = []
    for i, message in enumerate(messages):
        sub = message.sub_axis_info
        try:
            part = SubAxis(sub.pre_size, sub.size) if message.HasField("sub_axis_info") else None
            axes.append(AxisRef(message.mesh_axis_index, part))
        except VerificationError as error:
            steps = ("sub_axis_info", *error.path) if error.rule == "sub-axis" else error.path
            error.path = (*path, i, *steps)
            raise
    return axes
