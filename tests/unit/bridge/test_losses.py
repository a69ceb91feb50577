from __future__ import annotations

import pytest

from sdybridge.bridge import LossKind, export_losses
from sdybridge.sdy import MeshAttr, TensorShardingAttr
from sdybridge.target import Target

XY = '<["x"=2, "y"=4]>'
IDS = '<["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>'

# mesh, dimensions and axis lists, target, `kind path: detail` of each loss
LOSSES = [
    (XY, "[]", Target.CURRENT, []),
    (XY, "[{}, {}]", Target.CURRENT, []),
    (XY, "[{}, {?}]", Target.CURRENT, ["openness dim_shardings.1: {?}"]),
    (XY, '[{"x"}, {"y":(2)2}]', Target.CURRENT, ['axis-names : "x", "y":(2)2']),
    (
        XY,
        '[{"x", ?}p3]',
        Target.CURRENT,
        ['openness dim_shardings.0: {"x", ?}p3', "priority dim_shardings.0: p3", 'axis-names : "x"'],
    ),
    (XY, '[{"x"}p0]', Target.CURRENT, ["priority dim_shardings.0: p0", 'axis-names : "x"']),
    (
        XY,
        '[{}], replicated={"x", "y":(1)2}',
        Target.CURRENT,
        ['explicit-replication replicated_axes.0: "x"', 'explicit-replication replicated_axes.1: "y":(1)2'],
    ),
    (XY, '[{}], unreduced={"x"}', Target.CURRENT, ['axis-names : "x"']),
    (XY, '[{}], unreduced={"x"}', Target.CLASSIC, ['unreduced unreduced_axes.0: "x"']),
    (XY, '[{}], unreduced=max{"x"}', Target.NEWER, ['axis-names : "x"']),
    (IDS, "[{}]", Target.CURRENT, [f"device-order mesh_or_ref: {IDS}"]),
    (IDS, '[{"x"}]', Target.CURRENT, ['axis-names : "x"']),
    ("<[], device_ids=[3]>", "[]", Target.CURRENT, []),
    ("<[]>", "[{?}]", Target.CURRENT, ["openness dim_shardings.0: {?}"]),
]


@pytest.mark.parametrize(("mesh", "body", "target", "losses"), LOSSES)
def test_losses(mesh: str, body: str, target: Target, losses: list[str]) -> None:
    attr = TensorShardingAttr.from_string(f"<@mesh, {body}>", target=target)
    found = export_losses(attr, MeshAttr.from_string(mesh), target=target)
    assert [f"{x.kind.value} {'.'.join(map(str, x.path))}: {x.detail}" for x in found] == losses


def test_reduction_op() -> None:
    """Only the newest XLA can say that unreduced values combine by anything but a sum."""
    attr = TensorShardingAttr.from_string('<@m, [], unreduced=max{"x"}>', target=Target.NEWER)
    kinds = [loss.kind for loss in export_losses(attr, MeshAttr.from_string(XY))]
    assert kinds == [LossKind.REDUCTION_OP, LossKind.AXIS_NAMES]
    assert LossKind.REDUCTION_OP not in [
        loss.kind for loss in export_losses(attr, MeshAttr.from_string(XY), target=Target.NEWER)
    ]


@pytest.mark.parametrize("kind", list(LossKind))
def test_every_kind_explains_itself(kind: LossKind) -> None:
    assert kind.explanation
    assert kind.explanation != kind.value
