"""What the import drops, or has to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.bridge.export import convert_to_hlo_sharding
from sdybridge.bridge.grid_axes import subgroup_types
from sdybridge.bridge.import_ import convert_to_sdy_sharding, get_manual_axes
from sdybridge.bridge.losses import Loss, LossKind
from sdybridge.hlo import OpShardingType
from sdybridge.hlo.checks import cropped
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.hlo import HloSharding
    from sdybridge.sdy import MeshAttr

_MANUAL = OpShardingType.MANUAL
_MAXIMAL = OpShardingType.MAXIMAL
_OTHER = OpShardingType.OTHER
_UNKNOWN = OpShardingType.UNKNOWN
_UNREDUCED = OpShardingType.UNREDUCED

_KEPT_TYPES = frozenset({_MANUAL, _UNREDUCED, OpShardingType.REPLICATED})


def import_losses(
    hlo_sharding: HloSharding,
    mesh: MeshAttr | None = None,
    *,
    open_dims: bool = False,
    target: Target = Target.CURRENT,
) -> tuple[Loss, ...]:
    """What `convert_to_sdy_sharding` drops from `hlo_sharding`, and what it has to choose.

    Args:
        hlo_sharding: The sharding of one tensor.
        mesh: The mesh that it is imported on.
        open_dims: The openness that is chosen.
        target: The target of the import.

    Raises:
        ConversionError: As `convert_to_sdy_sharding`.

    Example:
        >>> from sdybridge.hlo import HloSharding, OpMetadata, OpShardingType
        >>> from sdybridge.sdy import MeshAttr
        >>> hlo = HloSharding.iota_tile([2, 1, 4], subgroup_types=[OpShardingType.MANUAL])
        >>> hlo = hlo.with_metadata([OpMetadata(op_name="dot")])
        >>> for loss in import_losses(hlo, MeshAttr.from_sizes({"x": 2, "y": 4})):
        ...     print(f"{loss.kind.value}: {loss.detail}")
        metadata: op_name="dot"
        manual: "y"
        chosen-openness: closed
    """
    return tuple(_losses(hlo_sharding, mesh, open_dims, target))


def _losses(
    hlo_sharding: HloSharding, mesh: MeshAttr | None, open_dims: bool, target: Target
) -> Iterator[Loss]:
    kind, named = hlo_sharding.type, hlo_sharding.named_sharding
    manual = get_manual_axes(hlo_sharding, mesh)  # raises where there is no import
    for i, entry in enumerate(hlo_sharding.metadata):
        detail = " ".join(
            f'{name}="{value}"' if isinstance(value, str) else f"{name}={value}"
            for name, value in entry.items()
        )
        yield Loss(LossKind.METADATA, ("metadata", i), detail)
    if hlo_sharding.shard_group is not None:
        yield Loss(LossKind.SHARD_GROUP, ("shard_group",), str(hlo_sharding.shard_group))
    if manual or kind is _MANUAL:
        detail = ", ".join(f'"{name}"' for name in manual)
        path: tuple[str, ...] = ("subgroup_types",) if kind is _OTHER else ()
        yield Loss(LossKind.MANUAL, ("manual_axes",) if named else path, detail)
    if kind is _UNKNOWN:
        yield Loss(LossKind.UNKNOWN, (), "unknown")
    if kind is _UNREDUCED and mesh is not None and not mesh.axes and not named:
        yield Loss(LossKind.UNREDUCED, (), "unreduced")
    if hlo_sharding.has_unreduced and hlo_sharding.reduction_op.name != "SUM" and target is not Target.NEWER:
        yield Loss(LossKind.REDUCTION_OP, ("reduction_op",), hlo_sharding.reduction_op.name.lower())
    if named is not None:
        if not named.dim_shardings and kind is not _MAXIMAL:
            yield Loss(LossKind.CHOSEN_OPENNESS, ("dim_shardings",), "closed")
        return
    if kind is _OTHER and mesh is not None:
        yield from _grid_losses(hlo_sharding, mesh, manual)
    if kind not in (_MAXIMAL, _UNKNOWN) and (kind is not _OTHER or hlo_sharding.data_rank):
        yield Loss(LossKind.CHOSEN_OPENNESS, ("dim_shardings",), "open" if open_dims else "closed")


def _grid_losses(hlo_sharding: HloSharding, mesh: MeshAttr, manual: tuple[str, ...]) -> Iterator[Loss]:
    if hlo_sharding.num_devices == 1:
        yield Loss(LossKind.SINGLE_DEVICE_TILING, ("tile_assignment",), str(hlo_sharding))
        return
    others = [i for i, type_ in enumerate(subgroup_types(hlo_sharding)) if type_ not in _KEPT_TYPES]
    for i in others:
        yield Loss(LossKind.SUBGROUP_TYPE, ("subgroup_types", i), hlo_sharding.subgroup_types[i].name.lower())
    if others or not subgroup_types(hlo_sharding):
        return
    imported = convert_to_sdy_sharding(hlo_sharding, mesh)
    again = convert_to_hlo_sharding(imported, mesh, manual_axes=manual)
    if again.type is _OTHER and again.tile_assignment != hlo_sharding.tile_assignment:
        yield Loss(LossKind.GROUP_ORDER, ("tile_assignment",), cropped(hlo_sharding.tile_assignment))
