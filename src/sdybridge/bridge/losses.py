"""What a conversion drops, as data: nothing is lost silently."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.errors import Path
    from sdybridge.sdy import MeshAttr, TensorShardingAttr


class LossKind(enum.Enum):
    """The kinds of facts that one notation of shardings holds and the other cannot.

    The first ones are lost on export, or by a target; those after them are lost on import.

    >>> LossKind.OPENNESS.value, LossKind.OPENNESS.explanation
    ('openness', 'open dimensions (`?`) read as closed: propagation may no longer shard them')
    """

    OPENNESS = "openness"
    PRIORITY = "priority"
    AXIS_NAMES = "axis-names"
    EXPLICIT_REPLICATION = "explicit-replication"
    UNREDUCED = "unreduced"
    REDUCTION_OP = "reduction-op"
    DEVICE_ORDER = "device-order"

    METADATA = "metadata"
    SHARD_GROUP = "shard-group"
    MANUAL = "manual"
    UNKNOWN = "unknown"
    GROUP_ORDER = "group-order"
    SUBGROUP_TYPE = "subgroup-type"
    SINGLE_DEVICE_TILING = "single-device-tiling"
    RESULT_COUNT = "result-count"
    CHOSEN_OPENNESS = "chosen-openness"

    @property
    def explanation(self) -> str:
        """One sentence on what is dropped, and what a reader of the result will assume."""
        return _EXPLANATIONS[self]


_EXPLANATIONS = {
    LossKind.OPENNESS: "open dimensions (`?`) read as closed: propagation may no longer shard them",
    LossKind.PRIORITY: "propagation priorities (`p1`) are gone: every dimension propagates at once",
    LossKind.AXIS_NAMES: "axis names are gone: only the order of the devices is left",
    LossKind.EXPLICIT_REPLICATION: "`replicated={...}` reads as absence: propagation may use these axes",
    LossKind.UNREDUCED: "unreduced axes read as replicated: the pending reduction is forgotten",
    LossKind.REDUCTION_OP: "the reduction operator of the unreduced axes is gone: readers assume a sum",
    LossKind.DEVICE_ORDER: "the mesh's device order is gone: the result names no devices",
    LossKind.METADATA: "the metadata is gone: nothing says which line of the program this came from",
    LossKind.SHARD_GROUP: "the shard group is gone: the tensor may end up sharded unlike the others of it",
    LossKind.MANUAL: "manual devices read as replicated ones: only a manual computation can say so",
    LossKind.UNKNOWN: "unknown reads as open in every dimension",
    LossKind.GROUP_ORDER: "the order inside groups of devices is gone: readers assume that of the mesh",
    LossKind.SUBGROUP_TYPE: "devices of a subgroup of another type read as replicated ones",
    LossKind.RESULT_COUNT: "the carried sharding is gone, as in XLA: it is for another number of results",
    LossKind.SINGLE_DEVICE_TILING: "a tiling of one device reads as replicated",
    LossKind.CHOSEN_OPENNESS: "device grids do not say whether propagation may add axes: this was chosen",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """One fact that a conversion drops.

    Attributes:
        kind: What sort of fact it is.
        path: Where it stood in the converted value, such as `("dim_shardings", 0)`.
        detail: The fact itself, in the notation that held it, such as `{"x", ?}`.

    >>> from sdybridge.bridge import export_losses
    >>> from sdybridge.sdy import MeshAttr, TensorShardingAttr
    >>> sharding = TensorShardingAttr.from_string("<@mesh, [{?}]>")
    >>> [loss] = export_losses(sharding, MeshAttr.from_sizes({"x": 2}))
    >>> loss.kind.value, loss.path, loss.detail
    ('openness', ('dim_shardings', 0), '{?}')
    """

    kind: LossKind
    path: Path
    detail: str


def export_losses(
    sharding: TensorShardingAttr, mesh: MeshAttr, *, target: Target = Target.CURRENT
) -> tuple[Loss, ...]:
    """What `convert_to_hlo_sharding` drops from `sharding`, in the order in which it is written.

    Example:
        >>> from sdybridge.sdy import MeshAttr, TensorShardingAttr
        >>> mesh = MeshAttr.from_string('<["x"=2, "y"=4]>')
        >>> sharding = TensorShardingAttr.from_string('<@mesh, [{"x", ?}, {}], replicated={"y"}>')
        >>> for loss in export_losses(sharding, mesh):
        ...     print(f"{loss.kind.value}: {loss.detail}")
        openness: {"x", ?}
        explicit-replication: "y"
        axis-names: "x"
    """
    return tuple(_losses(sharding, mesh, target))


def _losses(sharding: TensorShardingAttr, mesh: MeshAttr, target: Target) -> Iterator[Loss]:
    used: list[str] = []
    is_named = target is Target.NAMED
    for i, dim in enumerate(sharding.dim_shardings):
        used += [ref.stripped for ref in dim.axes]
        if not dim.is_closed and not is_named:
            yield Loss(LossKind.OPENNESS, ("dim_shardings", i), dim.stripped)
        if dim.priority is not None:
            yield Loss(LossKind.PRIORITY, ("dim_shardings", i), f"p{dim.priority}")
    for i, ref in enumerate(() if is_named else sharding.replicated_axes):
        yield Loss(LossKind.EXPLICIT_REPLICATION, ("replicated_axes", i), ref.stripped)
    for i, ref in enumerate(sharding.unreduced_axes):
        if target is Target.CLASSIC:
            yield Loss(LossKind.UNREDUCED, ("unreduced_axes", i), ref.stripped)
        else:
            used.append(ref.stripped)
    if sharding.unreduced_axes and sharding.reduction_op.name != "SUM" and target is not Target.NEWER:
        yield Loss(LossKind.REDUCTION_OP, ("reduction_op",), sharding.reduction_op.name.lower())
    if is_named:
        return
    if used:
        yield Loss(LossKind.AXIS_NAMES, (), ", ".join(used))
    if mesh.axes and mesh.device_ids and not used:
        yield Loss(LossKind.DEVICE_ORDER, ("mesh_or_ref",), mesh.stripped)
