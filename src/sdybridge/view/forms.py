"""A sharding in every notation, and what each of them cannot hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge import Loss, LossKind, convert_to_hlo_sharding, export_losses, import_losses
from sdybridge.bridge.notations import Notation
from sdybridge.errors import SdyBridgeError
from sdybridge.hlo import HloSharding, OpShardingType, TileAssignment, recognize_iota
from sdybridge.target import Target
from sdybridge.view.devices import MOST_LISTED, devices_of
from sdybridge.view.partition_spec import format_partition_spec, partition_spec_losses

if TYPE_CHECKING:
    from sdybridge.view.sharded import Sharded


@dataclass(frozen=True, slots=True)
class Form:
    """A sharding in one notation.

    Attributes:
        name: The notation: `shardy`, `hlo`, `hlo-list`, `hlo-named`, `proto` or `partition-spec`.
        text: The sharding; None where the notation cannot express it, or it would be too long.
        reason: Why there is no text.
        losses: What the notation does not hold of the sharding that was given.
    """

    name: str
    text: str | None
    reason: str = ""
    losses: tuple[Loss, ...] = ()


def forms_of(sharded: Sharded) -> tuple[Form, ...]:
    """The forms of a sharding, Shardy's first."""
    return (_shardy(sharded), *_hlo(sharded), _named(sharded), _proto(sharded), _partition_spec(sharded))


def _shardy(sharded: Sharded) -> Form:
    sdy, hlo, mesh = sharded.sdy, sharded.hlo, sharded.mesh
    if sdy is not None:
        losses: tuple[Loss, ...] = ()
        if _is_grid(sharded.notation) and mesh is not None and mesh.axes:
            losses = import_losses(hlo, mesh)
        elif _is_grid(sharded.notation):
            losses = _metadata_losses(hlo)
        losses = tuple([loss for loss in losses if loss.kind is not LossKind.CHOSEN_OPENNESS])
        return Form("shardy", str(sdy), "", losses)
    if sharded.misfit is not None:
        return Form("shardy", None, sharded.misfit.message)
    if mesh is not None and hlo.type is not OpShardingType.OTHER:
        return Form("shardy", None, "the rank of the tensor is not known")
    return Form(
        "shardy", None, "no mesh is known" if hlo.type is not OpShardingType.OTHER else "no mesh has it"
    )


def _metadata_losses(hlo: HloSharding) -> tuple[Loss, ...]:
    losses = []
    for i, entry in enumerate(hlo.metadata):
        shown = [
            f'{name}="{value}"' if isinstance(value, str) else f"{name}={value}"
            for name, value in entry.items()
        ]
        losses.append(Loss(LossKind.METADATA, ("metadata", i), " ".join(shown)))
    return tuple(losses)


def _is_grid(notation: Notation) -> bool:
    return notation in (Notation.HLO, Notation.PROTO)


def _grid_losses(sharded: Sharded) -> tuple[Loss, ...]:
    """What a device grid does not hold of a sharding that was given by its axes."""
    if _is_grid(sharded.notation) or sharded.sdy is None or sharded.mesh is None:
        return ()
    return export_losses(sharded.sdy, sharded.mesh, target=_grid_target(sharded))


def _grid_target(sharded: Sharded) -> Target:
    """The target whose device grids are shown: those with named meshes have the grids of today."""
    return Target.CURRENT if sharded.target is Target.NAMED else sharded.target


def _hlo(sharded: Sharded) -> list[Form]:
    """The short form with an iota, where there is one, and the list of devices."""
    hlo, target = sharded.hlo, _grid_target(sharded)
    losses = _grid_losses(sharded)
    if hlo.type is not OpShardingType.OTHER:
        return [Form("hlo", hlo.to_string(target=target), "", losses)]
    tiles = hlo.tile_assignment
    iota = tiles.iota_form or (recognize_iota(tiles) if tiles.num_elements > 1 else None)
    short = Form("hlo", None, "no reshape and transpose of a count gives this order of devices", losses)
    if iota is not None:
        short = Form(
            "hlo", _with_tiles(hlo, TileAssignment._from_iota(iota)).to_string(target=target), "", losses
        )
    if tiles.num_elements > MOST_LISTED:
        return [short, Form("hlo-list", None, f"it would list {tiles.num_elements} devices", losses)]
    devices = ",".join(map(str, devices_of(tiles)))
    head = f"devices=[{','.join(map(str, tiles.dims))}]"
    listed = hlo.to_string(target=target).replace(str(tiles), f"{head}{devices}", 1)
    return [short, Form("hlo-list", listed, "", losses)]


def _named(sharded: Sharded) -> Form:
    """The form over a named mesh, which newer releases of XLA write."""
    sdy, mesh = sharded.sdy, sharded.mesh
    if sdy is None or mesh is None or not (mesh.axes or mesh.is_maximal):
        return Form("hlo-named", None, "it needs the axes of a mesh")
    if any("'" in name for name in mesh.axis_names):
        return Form("hlo-named", None, "its text cannot have a quote in the name of an axis")
    try:
        named = convert_to_hlo_sharding(sdy, mesh, manual_axes=sharded.manual_axes, target=Target.NAMED)
    except SdyBridgeError as error:
        return Form("hlo-named", None, error.message)
    losses = [] if _is_grid(sharded.notation) else list(export_losses(sdy, mesh, target=Target.NAMED))
    if sharded.hlo.shard_group is not None:
        losses.append(Loss(LossKind.SHARD_GROUP, (), str(sharded.hlo.shard_group)))
    text = named.with_metadata(sharded.hlo.metadata).to_string()
    return Form("hlo-named", text, "", tuple(losses))


def _with_tiles(hlo: HloSharding, tiles: TileAssignment) -> HloSharding:
    """The same sharding with an equal grid that is given in another way."""
    if hlo.tile_assignment.iota_form is not None:
        return hlo
    new = hlo._copy()
    new._tiles = tiles
    return new


def _proto(sharded: Sharded) -> Form:
    try:
        return Form(
            "proto", sharded.hlo.to_proto_bytes(target=_grid_target(sharded)).hex(), "", _grid_losses(sharded)
        )
    except SdyBridgeError as error:
        return Form("proto", None, error.message)


def _partition_spec(sharded: Sharded) -> Form:
    sdy, mesh = sharded.sdy, sharded.mesh
    if sdy is None or mesh is None or not mesh.axes:
        return Form("partition-spec", None, "it needs the axes of a mesh")
    try:
        text = format_partition_spec(sdy)
    except SdyBridgeError as error:
        return Form("partition-spec", None, error.message)
    losses = [] if _is_grid(sharded.notation) else list(partition_spec_losses(sdy))
    if sharded.manual_axes:
        names = ", ".join(f'"{name}"' for name in sharded.manual_axes)
        losses.append(Loss(LossKind.MANUAL, (), names))
    if _is_grid(sharded.notation):
        losses += _metadata_losses(sharded.hlo)
    return Form("partition-spec", text, "", tuple(losses))
