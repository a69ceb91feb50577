"""The helpers of dimension and tensor shardings."""

from __future__ import annotations

import pytest

from sdybridge.errors import VerificationError
from sdybridge.sdy import (
    AxisRefAttr,
    DimensionShardingAttr,
    MeshAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)

MESH = MeshAttr.from_sizes({"x": 2, "y": 4, "z": 8})
dimension = DimensionShardingAttr.from_string
sharding = TensorShardingAttr.from_string


def test_dimension_helpers() -> None:
    dim = dimension('{"x", "z":(2)2, ?}p0')
    assert dim.closed_like.stripped == '{"x", "z":(2)2}p0'
    assert dim.closed_like.open_like is dim
    assert dim.drop_priority().stripped == '{"x", "z":(2)2, ?}'
    assert dim.get_sharded_size(MESH) == 4
    assert (dim.empty_axes, dimension("{?}").empty_axes) == (False, True)
    assert [dimension(text).priority_or_default for text in ("{}", "{?}p0", "{?}p3")] == [0, 0, 3]
    assert dimension("{}").get_sharded_size(MESH) == 1


@pytest.mark.parametrize(
    ("text", "rank", "closed", "replicated", "replicated_and_open", "empty_axes"),
    [
        ("<@m, []>", 0, True, True, True, True),
        ("<@m, [{}, {}]>", 2, True, True, False, True),
        ("<@m, [{?}, {?}]>", 2, False, True, True, True),
        ("<@m, [{?}, {}]>", 2, False, True, False, True),
        ('<@m, [{"x", ?}, {}]>', 2, False, False, False, False),
        ('<@m, [{}], replicated={"x"}>', 1, True, True, False, False),
        ('<@m, [{?}], unreduced={"x"}>', 1, False, True, True, False),
    ],
)
def test_predicates(
    text: str, rank: int, closed: bool, replicated: bool, replicated_and_open: bool, empty_axes: bool
) -> None:
    s = sharding(text)
    assert s.rank == rank
    assert s.is_fully_closed is closed
    assert s.is_fully_replicated is replicated
    assert s.is_fully_replicated_and_open is replicated_and_open
    assert s.empty_axes is empty_axes


@pytest.mark.parametrize(
    ("text", "closed_like", "open_like"),
    [
        ('<@m, [{"x", ?}p1, {?}]>', '<@m, [{"x"}p1, {}]>', '<@m, [{"x", ?}p1, {?}]>'),
        ('<@m, [{}], replicated={"y"}>', "<@m, [{}]>", '<@m, [{?}], replicated={"y"}>'),
        ('<@m, [{}], unreduced={"y"}>', '<@m, [{}], unreduced={"y"}>', '<@m, [{?}], unreduced={"y"}>'),
        ("<mesh<[]>, []>", "<mesh<[]>, []>", "<mesh<[]>, []>"),
    ],
)
def test_closed_and_open_like(text: str, closed_like: str, open_like: str) -> None:
    assert sharding(text).closed_like.stripped == closed_like
    assert sharding(text).open_like.stripped == open_like


def test_axis_refs_come_dimensions_first_then_replicated_then_unreduced() -> None:
    s = sharding('<@m, [{"d"}, {"b", "a":(1)2}], replicated={"c"}, unreduced={"e"}>')
    assert [ref.name for ref in s.axis_refs] == ["d", "b", "a", "c", "e"]
    assert s.any_of_axis_ref(lambda ref: ref.sub_axis_info is not None)
    assert not s.any_of_axis_ref(lambda ref: ref.name == "f")
    assert [s.is_bound(name) for name in "abcdef"] == [True] * 5 + [False]


@pytest.mark.parametrize(
    ("one", "other", "equivalent"),
    [
        ("<@m, [{}]>", "<@n, [{?}p1]>", True),
        ('<@m, [{}], replicated={"x"}>', "<@n, [{}]>", True),
        ("<@m, [{}]>", "<@m, [{}, {}]>", True),
        ('<@m, [{"x", ?}p1]>', '<@m, [{"x"}], replicated={"y"}>', True),
        ('<@m, [{"x"}]>', '<@n, [{"x"}]>', False),
        ('<@m, [{"x"}]>', '<@m, [{"y"}]>', False),
        ('<@m, [{}], unreduced={"x"}>', "<@m, [{}]>", False),
        ('<@m, [{}], unreduced={"x"}>', '<@n, [{}], unreduced={"x"}>', False),
        ('<@m, [{}], unreduced={"x"}>', '<@m, [{?}], unreduced={"x"}>', True),
    ],
)
def test_is_equivalent(one: str, other: str, equivalent: bool) -> None:
    assert sharding(one).is_equivalent(sharding(other)) is equivalent
    assert sharding(other).is_equivalent(sharding(one)) is equivalent


def test_get_mesh() -> None:
    meshes = {"mesh": MESH}
    assert sharding("<@mesh, []>").get_mesh(meshes) is MESH
    assert sharding("<@other, []>").get_mesh(meshes) is None
    assert sharding("<mesh<[]>, []>").get_mesh(meshes) is MeshAttr()
    assert [sharding(text).mesh_name for text in ("<@mesh, []>", "<mesh<[]>, []>")] == ["mesh", None]


def test_ready_made_shardings() -> None:
    assert TensorShardingAttr.fully_closed(2, MESH).stripped == f"<mesh{MESH.stripped}, [{{}}, {{}}]>"
    assert TensorShardingAttr.fully_open(0, "m").stripped == "<@m, []>"
    assert TensorShardingPerValueAttr.fully_open([1, 0], "m").stripped == "<[<@m, [{?}]>, <@m, []>]>"


@pytest.mark.parametrize(
    ("text", "shape", "local_shape"),
    [
        ("<@m, []>", (3, 4), (3, 4)),
        ('<@m, [{"x"}, {"y"}]>', (8, 8), (4, 2)),
        ('<@m, [{"y"}, {"z"}]>', (7, 17), (2, 3)),
        ('<@m, [{"y"}, {"z"}]>', (0, 1), (0, 1)),
        ('<@m, [{"y"}, {"z"}]>', (None, -(2**63)), (None, -(2**63))),
        ('<@m, [{"x", "z":(1)2}, {}]>', (9, 9), (3, 9)),
        ('<@m, [{}], replicated={"x"}, unreduced={"y"}>', (9,), (9,)),
        ('<@m, [{"y"}]>', (2**80 + 1,), (2**78 + 1,)),
    ],
)
def test_get_local_shape(
    text: str, shape: tuple[int | None, ...], local_shape: tuple[int | None, ...]
) -> None:
    assert sharding(text).get_local_shape(shape, MESH) == local_shape


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("<@m, [{}]>", "rank-mismatch"),
        ('<@m, [{"w"}, {}]>', "unknown-axis"),
        ('<@m, [{}, {"x":(1)0}]>', "sub-axis-size"),
        ('<@m, [{}, {"x":(1)-2}]>', "sub-axis-size"),
    ],
)
def test_get_local_shape_errors(text: str, rule: str) -> None:
    with pytest.raises(VerificationError) as raised:
        sharding(text).get_local_shape((4, 4), MESH)
    assert raised.value.rule == rule


def test_priority_belongs_to_a_dimension_not_to_its_axes() -> None:
    assert DimensionShardingAttr([AxisRefAttr("x")], priority=0) is not DimensionShardingAttr(
        [AxisRefAttr("x")]
    )
