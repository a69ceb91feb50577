"""What moves between two shardings, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.hlo.element_types import size_text
from sdybridge.view.explanation_text import axes_text, devices_text, fact, given_text, show_mesh, summary
from sdybridge.view.sharded import MeshOrigin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.view.collectives import Collective
    from sdybridge.view.resharding import DimensionChange, Resharding

_SHOWN_MOVES = 16
_OF_DIMENSIONS = ("tiled", "replicated")  # the kinds that say of each dimension how it is cut
_WHAT = {
    "all-gather": "all-gather",
    "all-to-all": "all-to-all",
    "slice": "slice (dynamic-slice)",
    "collective-permute": "collective-permute",
    "all-reduce": "all-reduce",
    "reduce-scatter": "reduce-scatter",
    "replicated-to-unreduced": "replicated-to-unreduced (zeros on all but one)",
    "broadcast": "copy",
}


def resharding_text(resharding: Resharding) -> str:
    """The whole text."""
    sections = [
        [*_headline(resharding), *_changes(resharding)],
        [*_steps(resharding)],
        [*_devices(resharding)],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section)


def _headline(resharding: Resharding) -> Iterator[str]:
    before, after = resharding.before.sharded, resharding.after.sharded
    yield f"from  {given_text(before)}{_on(before.mesh, before.mesh_origin)}"
    yield f"to    {given_text(after)}{_on(after.mesh, after.mesh_origin)}"
    yield ""
    count = max(resharding.before.num_devices or 0, resharding.after.num_devices or 0)
    if resharding.is_same:
        of = "every device" if not count else f"each of the {count} devices"
        yield f"Nothing moves: {of} holds the same part before and after."
    elif resharding.moving is not None:
        many = len(resharding.moving)
        devices = f"{many} of {count} devices" if count else f"{many} device{'s' * (many != 1)}"
        yield f"{devices} hold{'s' * (many == 1)} another part after than before."
    for difference in resharding.differences:
        yield from fact("in form", difference)


def _on(mesh: object, origin: MeshOrigin | None) -> str:
    from sdybridge.sdy import MeshAttr

    if not isinstance(mesh, MeshAttr) or not mesh.axes:
        return ""
    return f"  on {show_mesh(mesh)}{' (inferred)' if origin is MeshOrigin.INFERRED else ''}"


def _changes(resharding: Resharding) -> Iterator[str]:
    if _is_grid(resharding):
        for label, one in (("before", resharding.before), ("after", resharding.after)):
            sdy = one.sharded.sdy
            if one.kind in _OF_DIMENSIONS and sdy is not None and sdy.rank:
                dims = ", ".join(dim.stripped for dim in sdy.dim_shardings)
                yield from fact(label, f"[{dims}]")
            elif not resharding.is_same:
                yield from fact(label, summary(one))
    for i, change in enumerate(resharding.dimensions):
        yield from fact(f"dimension {i}", _change(change))
    before, after = resharding.before.shard, resharding.after.shard
    if before is not None and after is not None:
        sizes = ""
        if before.bytes is not None and after.bytes is not None:
            sizes = f", {size_text(before.bytes)} to {size_text(after.bytes)}"
        yield from fact("on a device", f"{before} to {after}{sizes}")
    copies = [resharding.before.copies, resharding.after.copies]
    if copies[0] != copies[1]:
        yield from fact("copies", f"{copies[0]} of each shard before, {copies[1]} after")


def _is_grid(resharding: Resharding) -> bool:
    kinds = {one.sharded.notation.value for one in (resharding.before, resharding.after)}
    return bool(kinds & {"hlo", "proto"})


def _change(change: DimensionChange) -> str:
    counts = f"{change.shards_before} to {change.shards_after} shards"
    if change.before is None or change.after is None:
        return counts
    if change.before == change.after:
        return f"stays {'whole' if not change.before else f'split by {axes_text(change.before)}'}"
    parts = []
    if change.lost:
        parts.append(f"loses {axes_text(change.lost)}")
    if change.gained:
        parts.append(f"gains {axes_text(change.gained)}")
    if not parts:
        parts.append(f"from the order {axes_text(change.before)} to {axes_text(change.after)}")
    return f"{', '.join(parts)}: {counts}"


def _steps(resharding: Resharding) -> Iterator[str]:
    steps = resharding.steps
    if not steps:
        return
    if resharding.is_fallback:
        yield "No axes have both, so the tensor is gathered whole and cut again"
    else:
        yield "How it can be done"
    shards = tuple(dim.shards for dim in resharding.before.dimensions)
    for number, step in enumerate(steps, 1):
        yield from fact(f"{number}.", _step(step, shards, resharding))
        result = _result(step, resharding)
        if result:
            yield from fact("", result)
        shards = step.shards
    least = resharding.received
    tensor = resharding.tensor
    bits = None if tensor is None else tensor.element_bits
    if least is not None and bits is not None and least[1]:
        most, total = (size_text(-(-count * bits // 8)) for count in least)
        yield from fact(
            "at least", f"{most} to receive on a device, {total} on all: what they do not hold yet"
        )


def _step(step: Collective, before: tuple[int, ...], resharding: Resharding) -> str:
    along = f" along {axes_text(step.axes)}, groups of {step.group_size}" if step.axes else ""
    what = f"{_WHAT[step.kind]}{along}"
    if step.from_dim is not None and step.to_dim is not None:
        what += f": dimension {step.from_dim} to {step.to_dim}"
    elif step.from_dim is not None:
        what += f": dimension {step.from_dim}"
    elif step.to_dim is not None:
        what += f": dimension {step.to_dim}"
    old, new = resharding.local(before), resharding.local(step.shards)
    if old is not None and new is not None and old.bytes is not None and new.bytes is not None:
        received = step.received(old.bytes, new.bytes)
        what += f", {size_text(received)} received" if received else ", nothing received"
    return what


def _result(step: Collective, resharding: Resharding) -> str:
    """The sharding behind a step, and the buffer on each device."""
    parts = []
    if step.dims is not None:
        dims = ", ".join(f"{{{', '.join(axes)}}}" for axes in step.dims)
        parts.append(f"[{dims}]")
    local = resharding.local(step.shards)
    if local is not None:
        parts.append(str(local))
    return f"-> {'  '.join(parts)}" if parts else ""


def _devices(resharding: Resharding) -> Iterator[str]:
    """The devices that move, where the shards stay as they are and only change places."""
    moving = resharding.moving
    if not moving or any(change.shards_before != change.shards_after for change in resharding.dimensions):
        return
    places = [_places(one.shards) for one in (resharding.before, resharding.after)]
    if not places[0] or not places[1] or len(moving) > 4096:
        return
    if all(places[0].get(device) == places[1].get(device) for device in moving):
        return  # they hold partial values of it before or after, or are manual
    yield f"Devices that move: {devices_text(moving)}"
    for device in moving[:_SHOWN_MOVES]:
        old, new = (_index(place.get(device)) for place in places)
        yield f"  device {device}: {old} to {new}"
    if len(moving) > _SHOWN_MOVES:
        yield f"  ... and {len(moving) - _SHOWN_MOVES} more"


def _places(shards: object) -> dict[int, tuple[int, ...]]:
    from sdybridge.view.explanation import Shard

    if not isinstance(shards, tuple):
        return {}
    return {device: shard.index for shard in shards if isinstance(shard, Shard) for device in shard.devices}


def _index(index: tuple[int, ...] | None) -> str:
    return "nothing" if index is None else f"shard ({', '.join(map(str, index))})"
