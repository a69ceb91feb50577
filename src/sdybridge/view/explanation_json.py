"""An explanation as JSON values. The keys are stable; docs/reference/explain-json.md says what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdybridge.sdy import MeshAttr
    from sdybridge.view.dimensions import Dimension
    from sdybridge.view.explanation import Explanation
    from sdybridge.view.forms import Form
    from sdybridge.view.sharded import Sharded
    from sdybridge.view.steps import Steps
    from sdybridge.view.tensor_type import TensorType


def explanation_dict(explanation: Explanation) -> dict[str, object]:
    """The facts of one sharding."""
    shards = explanation.shards
    return {
        "type": "sharding",
        **sharded_dict(explanation.sharded),
        "kind": explanation.kind,
        "num_devices": explanation.num_devices,
        "num_shards": explanation.num_shards,
        "copies": explanation.copies,
        "tensor": tensor_dict(explanation.tensor),
        "shard": tensor_dict(explanation.shard),
        "total_bytes": explanation.total_bytes,
        "dimensions": [_dimension(dim) for dim in explanation.dimensions],
        "groups": [
            {
                "kind": group.kind,
                "axes": group.axes and list(group.axes),
                "size": group.size,
                "count": group.count,
                "devices": [list(devices) for devices in group.devices],
            }
            for group in explanation.groups
        ],
        "shards": shards
        and [
            {
                "index": list(shard.index),
                "start": shard.start and list(shard.start),
                "limit": shard.limit and list(shard.limit),
                "devices": list(shard.devices),
            }
            for shard in shards
        ],
        "empty_devices": list(explanation.empty_devices),
        "num_empty_devices": explanation.num_empty_devices,
        "steps": _steps(explanation.steps),
        "forms": {form.name: _form(form) for form in explanation.forms},
        "remarks": [{"kind": remark.kind, "text": remark.text} for remark in explanation.remarks],
    }


def sharded_dict(sharded: Sharded) -> dict[str, object]:
    """What was explained, and on which mesh."""
    return {
        "text": sharded.text,
        "notation": sharded.notation.value,
        "mesh": _mesh(sharded.mesh),
        "mesh_origin": sharded.mesh_origin and sharded.mesh_origin.value,
        "manual_axes": list(sharded.manual_axes),
        "sdy": sharded.sdy and str(sharded.sdy),
        "hlo": str(sharded.hlo),
    }


def tensor_dict(tensor: TensorType | None) -> dict[str, object] | None:
    """A tensor's shape, element and size."""
    if tensor is None:
        return None
    return {"shape": list(tensor.shape), "element": tensor.element, "bytes": tensor.bytes}


def _mesh(mesh: MeshAttr | None) -> dict[str, object] | None:
    if mesh is None:
        return None
    return {"axes": dict(mesh.axis_sizes), "device_ids": list(mesh.device_ids)}


def _dimension(dim: Dimension) -> dict[str, object]:
    return {
        "axes": None if dim.axes is None else list(dim.axes),
        "shards": dim.shards,
        "is_open": dim.is_open,
        "priority": dim.priority,
        "size": dim.size,
        "shard_size": dim.shard_size,
        "shard_sizes": [list(run) for run in dim.runs],
        "padding": dim.padding,
        "empty_shards": dim.empty_shards,
    }


def _steps(steps: Steps | None) -> dict[str, object] | None:
    if steps is None:
        return None
    return {
        "axes": [[name, size] for name, size in steps.axes],
        "transpose": list(steps.transpose),
        "tile_dims": [
            {"role": dim.role, "axes": None if dim.axes is None else list(dim.axes), "size": dim.size}
            for dim in steps.tile_dims
        ],
        "canonical_reshape": steps.canonical and list(steps.canonical[0]),
        "canonical_transpose": steps.canonical and list(steps.canonical[1]),
        "numpy": steps.numpy,
    }


def _form(form: Form) -> dict[str, object]:
    return {
        "text": form.text,
        "reason": form.reason,
        "losses": [{"kind": loss.kind.value, "detail": loss.detail} for loss in form.losses],
    }
