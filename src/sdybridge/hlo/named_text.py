"""The text of named shardings, byte for byte as XLA prints it: names stand between quotes as they are.

Source: `NamedSharding::ToString` in xla's `hlo/ir/named_sharding.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.hlo.kinds import ReductionOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.hlo.axis_ref import AxisRef
    from sdybridge.hlo.mesh import Mesh
    from sdybridge.hlo.named_sharding import NamedSharding


def format_named(
    sharding: NamedSharding, reduction_op: ReductionOp = ReductionOp.SUM, *, names_reduction: bool = False
) -> str:
    """The text between the braces, without metadata.

    Args:
        sharding: The sharding.
        reduction_op: How its unreduced values combine.
        names_reduction: Whether to write that, as newer releases do.
    """
    mesh = sharding.mesh
    text = str(mesh)
    if mesh.is_maximal:
        return text
    reduction = reduction_op.name.lower() if names_reduction and reduction_op is not ReductionOp.SUM else ""
    if not sharding.dim_shardings:
        if sharding.is_replicated and not sharding.replicated_axes:
            return f"{text}, replicated"
        if sharding.is_unreduced:
            text += f", unreduced={reduction}" if reduction else ", unreduced"
            is_partial = names_reduction and len(sharding.unreduced_axes) < len(mesh.axis_names)
            return f"{text}{_axes(sharding.unreduced_axes, mesh)}" if is_partial else text
        if sharding.is_manual:
            return f"{text}, manual"
    text += f", [{', '.join([dim.to_string(mesh) for dim in sharding.dim_shardings])}]"
    if sharding.replicated_axes:
        text += f", replicated={_axes(sharding.replicated_axes, mesh)}"
    if sharding.unreduced_axes:
        text += f", unreduced={reduction}{_axes(sharding.unreduced_axes, mesh)}"
    if sharding.manual_axes:
        text += f", manual={_axes(sharding.manual_axes, mesh)}"
    return text


def _axes(axes: Sequence[AxisRef], mesh: Mesh) -> str:
    return f"{{{', '.join([axis.to_string(mesh) for axis in axes])}}}"
