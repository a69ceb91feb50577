"""A resharding as JSON values. The keys are stable; docs/reference/explain-json.md says what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.view.explanation_json import explanation_dict, tensor_dict

if TYPE_CHECKING:
    from sdybridge.view.collectives import Collective
    from sdybridge.view.resharding import DimensionChange, Resharding


def resharding_dict(resharding: Resharding) -> dict[str, object]:
    """The facts of both shardings, and what moves between them."""
    steps = resharding.steps
    shards = tuple(dim.shards for dim in resharding.before.dimensions)
    listed = []
    for step in steps or ():
        listed.append(_step(step, shards, resharding))
        shards = step.shards
    received = resharding.received
    return {
        "type": "resharding",
        "before": explanation_dict(resharding.before),
        "after": explanation_dict(resharding.after),
        "is_same": resharding.is_same,
        "moving": None if resharding.moving is None else list(resharding.moving),
        "dimensions": [_change(change) for change in resharding.dimensions],
        "steps": None if steps is None else listed,
        "is_fallback": resharding.is_fallback,
        "elements_received": None if received is None else {"most": received[0], "total": received[1]},
        "differences": list(resharding.differences),
    }


def _change(change: DimensionChange) -> dict[str, object]:
    return {
        "axes_before": None if change.before is None else list(change.before),
        "axes_after": None if change.after is None else list(change.after),
        "gained": list(change.gained),
        "lost": list(change.lost),
        "shards_before": change.shards_before,
        "shards_after": change.shards_after,
    }


def _step(step: Collective, before: tuple[int, ...], resharding: Resharding) -> dict[str, object]:
    old, new = resharding.local(before), resharding.local(step.shards)
    received = None
    if old is not None and new is not None and old.bytes is not None and new.bytes is not None:
        received = step.received(old.bytes, new.bytes)
    return {
        "kind": step.kind,
        "axes": list(step.axes),
        "from_dim": step.from_dim,
        "to_dim": step.to_dim,
        "group_size": step.group_size,
        "dims_after": None if step.dims is None else [list(axes) for axes in step.dims],
        "shard_before": tensor_dict(old),
        "shard_after": tensor_dict(new),
        "bytes_received": received,
    }
