"""What moves between two shardings: checked against device maps that NumPy makes of the texts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from sdybridge import MeshAttr, SdyBridgeError, explain
from sdybridge.view import Resharding, Reshardings

from . import device_maps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .device_maps import DeviceMap


class Case(NamedTuple):
    """Two shardings, and the collectives from the first to the second."""

    name: str
    before: str
    after: str
    steps: tuple[str, ...]
    mesh: Mapping[str, int] | None = None
    shape: str | None = None
    says: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()


XY = {"x": 2, "y": 4}

CASES = [
    Case(
        "C2",
        "{devices=[1,4,2]<=[8] last_tile_dim_replicate}",
        "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
        ("collective-permute",),
        {"batch": 2, "model": 4},
        "f32[2,8]",
        ("Devices that move: 1..6", "device 1: shard (0, 0) to shard (0, 1)", 'loses "batch" "model":(1)2'),
    ),
    Case(
        "C3",
        "{devices=[2,4]<=[8]}",
        "{devices=[4,2]0,4,1,5,2,6,3,7}",
        ("all-gather", "all-to-all", "slice"),
        None,
        "f32[8,8]",
        ('[{"_axis_0"}, {"_axis_1"}]', '[{"_axis_1"}, {"_axis_0"}]'),
    ),
    Case(
        "C3 the list equals the iota",
        "{devices=[4,2]<=[2,4]T(1,0)}",
        "{devices=[4,2]0,4,1,5,2,6,3,7}",
        (),
        says=("Nothing moves", "one lists its devices, the other counts them"),
    ),
    Case(
        "C7",
        "{devices=[2,1,4]<=[4,2]T(1,0)}",
        "{devices=[1,8,1]<=[8]}",
        ("all-to-all", "all-to-all"),
        {"x": 4, "y": 2},
        "f32[16,16,16]",
        (
            '[{"y"}, {}, {"x"}]',
            '[{}, {"x", "y"}, {}]',
            'dimension 0 loses "y": 2 to 1 shards',
            'dimension 1 gains "x" "y": 1 to 8 shards',
            'dimension 2 loses "x": 4 to 1 shards',
            "f32[8,16,4] to f32[16,2,16], 2.0 KiB to 2.0 KiB",
        ),
    ),
    Case(
        "C8",
        "{devices=[256,1]<=[256]}",
        "{devices=[1,64,4]<=[256] last_tile_dim_replicate}",
        ("all-gather", "all-to-all"),
        None,
        "f32[256,64]",
        ("on _axis_0=64,_axis_1=4 (inferred)", "copies 1 of each shard before, 4 after"),
    ),
    Case(
        "C17",
        '[{"batch"}, {"model"}]',
        '[{}, {"model"}]',
        (),
        {"batch": 1, "model": 8},
        "f32[4,16]",
        ("Nothing moves", 'dimension 0 loses "batch": 1 to 1 shards'),
    ),
    Case("C18", '[{"x":(1)2}]', '[{"x"}]', ("slice",), {"x": 4}, "f32[128]", ("nothing received",)),
    Case(
        "C21",
        '{devices=[4,2]<=[2,4]T(1,0) metadata={op_type="sdy::reduction_op" op_name="MAX"}}',
        "{devices=[4,2]<=[2,4]T(1,0)}",
        (),
        says=("Nothing moves", "in form the metadata"),
    ),
    Case(
        "C22",
        '<@mesh, [{?}, {}, {"data"}]>',
        '<@mesh, [{?}, {?}, {"data", ?}]>',
        (),
        {"data": 2},
        says=("Nothing moves", "dimension 1 opens", "dimension 2 opens"),
    ),
    Case(
        "C25",
        "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}",
        "{devices=[1,1,2,4]<=[4,2]T(1,0) last_tile_dims={replicated, manual}}",
        (),
        says=("Nothing moves",),
    ),
    Case("gather one", '[{"x"}, {"y"}]', '[{"x"}, {}]', ("all-gather",), XY, "f32[8,8]", ("96 B received",)),
    Case("slice one", '[{"x"}, {}]', '[{"x"}, {"y"}]', ("slice",), XY, "f32[8,8]"),
    Case(
        "swap equals",
        '[{"x"}, {"y"}]',
        '[{"y"}, {"x"}]',
        ("collective-permute",),
        {"x": 2, "y": 2},
        "f32[4,4]",
    ),
    Case("swap in one", '[{"x", "y"}]', '[{"y", "x"}]', ("collective-permute",), XY, "f32[16]"),
    Case("exchange", '[{"y"}, {}]', '[{}, {"y"}]', ("all-to-all",), XY, "f32[8,8]"),
    Case(
        "major one first",
        '[{"x", "y"}, {}]',
        '[{"y"}, {"x"}]',
        ("collective-permute", "all-to-all"),
        XY,
        "f32[8,8]",
    ),
    Case("gather all", '[{"x"}, {"y"}]', "[{}, {}]", ("all-gather", "all-gather"), XY, "bf16[8,8]"),
    Case("to replicated", '[{"x"}, {"y"}]', "{replicated}", ("all-gather", "all-gather"), XY, "f32[8,8]"),
    Case("from replicated", "{replicated}", "{devices=[4,1]<=[4]}", ("slice",), None, "f32[8,8]"),
    Case("uneven", '[{"y"}]', '[{"x"}]', ("all-gather", "slice"), XY, "f32[7]"),
    Case("empty shards", '[{"y"}]', '[{"x"}]', ("all-gather", "slice"), XY, "f32[2]"),
    Case(
        "other order of devices",
        '[{"data"}, {"model"}]',
        "{devices=[4,2]<=[8]}",
        ("collective-permute",),
        {"data": 4, "model": 2},
        "f32[8,8]",
        ("Devices that move: 0, 1, 2, 4, 5, 6, 7", "device 0: shard (2, 0) to shard (0, 0)"),
        (4, 7, 6, 3, 0, 1, 2, 5),
    ),
    Case(
        "no axes for both",
        "{devices=[3,2]<=[6]}",
        "{devices=[2,3]<=[6]}",
        ("all-gather", "slice"),
        None,
        "f32[6,6]",
        ("No axes have both", "3 to 2 shards"),
    ),
    Case("spec and grid", "P('x', 'y')", "{devices=[8,1]<=[8]}", ("all-to-all",), XY, "f32[8,8]"),
    Case(
        "named and grid",
        "{mesh['x'=2,'y'=4], [{'y'}, {}]}",
        "{devices=[1,8]<=[8]}",
        ("slice", "all-to-all"),
        None,
        "f32[8,8]",
    ),
]


def resharding(case: Case) -> Resharding:
    mesh = None if case.mesh is None else MeshAttr.from_sizes(case.mesh, case.ids)
    found = explain(case.before, case.after, mesh=mesh, shape=case.shape)
    assert isinstance(found, Resharding)
    return found


def device_map(text: str, case: Case, count: int, rank: int) -> DeviceMap:
    if text == "{replicated}":
        whole = device_maps.Held((0,) * rank, ())
        return device_maps.DeviceMap((1,) * rank, dict.fromkeys(range(count), whole))
    if text.startswith("{devices"):
        return device_maps.of_grid(text)
    sizes = case.mesh or XY
    dims = (
        text[text.index("[{") : text.rindex("]")]
        if "[{" in text
        else text.replace("P(", "").replace(",", "}{")
    )
    parts = [part.partition("}")[0] for part in dims.split("{")[1:]] if "[{" in text else ["'x'", "'y'"]
    return device_maps.of_axes(parts, sizes, case.ids)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_facts(case: Case) -> None:
    found = resharding(case)
    assert found.steps is not None
    assert tuple(step.kind for step in found.steps) == case.steps
    text = " ".join(str(found).split())
    for phrase in case.says:
        assert phrase in text, str(found)
    count = found.before.num_devices or found.after.num_devices or 0
    rank = len(found.dimensions)
    old, new = (device_map(one, case, count, rank) for one in (case.before, case.after))
    assert [(one.shards_before, one.shards_after) for one in found.dimensions] == [
        *zip(old.shards, new.shards, strict=True)
    ]
    if found.tensor is None:
        moving = sorted(d for d in new.held if (old.held[d], old.shards) != (new.held[d], new.shards))
        assert found.moving == tuple(moving)
        assert found.received is None
        return
    shape = [size or 0 for size in found.tensor.shape]
    moving, received = counted(old, new, shape)
    assert found.moving == tuple(moving)
    assert found.is_same is (not moving)
    assert found.received == (max(received), sum(received))


def counted(old: DeviceMap, new: DeviceMap, shape: Sequence[int]) -> tuple[list[int], list[int]]:
    """The devices that move, and how many elements each device misses, element by element."""
    moving, received = [], []
    for device in sorted(new.held):
        had, gets = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        for elements, one in ((had, old), (gets, new)):
            parts = device_maps.slices(one.held[device].shard, one.shards, shape)
            elements[tuple(slice(low, high) for low, high in parts)] = True
        if (had != gets).any():
            moving.append(device)
        received.append(int((gets & ~had).sum()))
    return moving, received


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_steps_fit_together(case: Case) -> None:
    """Each step starts where the last ended; what it makes of the shards follows from its kind."""
    found = resharding(case)
    shards = tuple(one.shards_before for one in found.dimensions)
    for step in found.steps or ():
        if step.axes and step.kind != "collective-permute":
            total = math.prod(shards)
            factor = {"all-gather": 1 / step.group_size, "slice": step.group_size}.get(step.kind, 1)
            assert math.prod(step.shards) == total * factor
        shards = step.shards
    assert shards == tuple(one.shards_after for one in found.dimensions)


def test_unreduced() -> None:
    for after, steps in (("[{}, {}]", ["all-reduce"]), ('[{"x"}, {}]', ["reduce-scatter"])):
        found = explain('<@m, [{}, {}], unreduced={"x"}>', after, mesh=XY, shape="f32[8,8]")
        assert isinstance(found, Resharding)
        assert [step.kind for step in found.steps or ()] == steps
        assert found.received is None
        assert found.is_same is False


@pytest.mark.parametrize(
    ("before", "after", "steps"),
    [
        ("[{}]", '<@mesh, [{}], unreduced={"x"}>', ["replicated-to-unreduced"]),
        ('[{"x"}]', '<@mesh, [{}], unreduced={"x"}>', ["all-gather", "replicated-to-unreduced"]),
        (
            '<@mesh, [{}], unreduced={"x"}>',
            '<@mesh, [{}], unreduced={"y"}>',
            ["all-reduce", "replicated-to-unreduced"],
        ),
        (
            "{devices=[2,3]<=[6] last_tile_dims={unreduced}}",
            "{devices=[3,2]<=[6] last_tile_dim_replicate}",
            ["all-reduce", "all-gather", "slice"],
        ),
        (
            "{devices=[3,2]<=[6] last_tile_dim_replicate}",
            "{devices=[1,6]<=[6] last_tile_dims={unreduced}}",
            ["all-gather", "replicated-to-unreduced"],
        ),
        ("{unreduced}", "{replicated}", ["all-reduce"]),
        ("{maximal device=0}", "{unreduced}", None),
    ],
)
def test_partial_values_are_combined_and_made(before: str, after: str, steps: list[str] | None) -> None:
    found = explain(before, after, mesh=XY, shape="f32[6]")
    assert isinstance(found, Resharding)
    assert (found.steps and [step.kind for step in found.steps]) == steps
    assert "shard (0) to shard (0)" not in str(found)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("{maximal device=3}", "{replicated}", "before        On device 3 alone, whole."),
        ("{maximal device=3}", "{maximal device=4}", "\n2 devices hold another part after than before."),
        ("{unreduced}", "{replicated}", "before        Unreduced: every device holds a partial value"),
        ("{devices=[2]<=[2]}", "{manual}", "after         Manual: the program itself says what"),
        ("{unknown}", "{devices=[2]<=[2]}", "before        Unknown: nothing is said;"),
    ],
)
def test_without_dimensions_the_kinds_are_said(before: str, after: str, says: str) -> None:
    found = explain(before, after)
    assert isinstance(found, Resharding)
    assert says in str(found)
    assert "1 to 2 shards" not in str(found)


def test_parts_of_an_axis_that_change_their_order() -> None:
    found = explain('[{}, {"y":(2)3, "y":(1)2}]', '[{"y"}, {}]', mesh={"y": 6})
    assert isinstance(found, Resharding)
    assert [step.axes for step in found.steps or ()] == [('"y":(1)2', '"y":(2)3')]


def test_from_a_single_device() -> None:
    found = explain("{maximal device=0}", "{devices=[4,1]<=[4]}", shape="f32[8,8]")
    assert isinstance(found, Resharding)
    assert [step.kind for step in found.steps or ()] == ["broadcast"]
    assert found.received == (16, 48)


def test_large_grids() -> None:
    before, after = "{devices=[1048576,1]<=[1048576]}", "{devices=[1,1048576]<=[1048576]}"
    found = explain(before, after, shape="f32[1048576,1048576]")
    assert isinstance(found, Resharding)
    assert found.moving is None
    assert [step.kind for step in found.steps or ()] == ["all-to-all"]
    assert str(found)


def test_tuples() -> None:
    one = "{{devices=[2]<=[2]}, {replicated}}"
    found = explain(one, "{{replicated}, {replicated}}")
    assert isinstance(found, Reshardings)
    assert [[step.kind for step in element.steps or ()] for element in found] == [["all-gather"], []]
    with pytest.raises(SdyBridgeError, match="the first is of 2 tensors, the second of 1"):
        explain(one, "{replicated}")


def test_json() -> None:
    found = explain('[{"x"}, {}]', '[{}, {"x"}]', mesh=XY, shape="f32[8,8]").to_dict()
    assert found["type"] == "resharding"
    assert found["steps"] == [
        {
            "kind": "all-to-all",
            "axes": ['"x"'],
            "from_dim": 0,
            "to_dim": 1,
            "group_size": 2,
            "dims_after": [[], ['"x"']],
            "shard_before": {"shape": [4, 8], "element": "f32", "bytes": 128},
            "shard_after": {"shape": [8, 4], "element": "f32", "bytes": 128},
            "bytes_received": 64,
        }
    ]
