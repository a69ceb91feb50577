from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from tests.unit.bridge.placement import assert_places

from sdybridge.bridge import convert_to_hlo_sharding, resolve_mesh
from sdybridge.errors import ConversionError, SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding, ReductionOp
from sdybridge.sdy import MeshAttr, TensorShardingAttr
from sdybridge.target import Target

XY = '<["x"=2, "y"=4]>'
IDS = '<["x"=4, "y"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>'
REVERSED_18 = f'<["x"=18], device_ids={[*range(17, -1, -1)]}>'
XYZ = '<["x"=2, "y"=2, "z"=2]>'


def export(mesh: str, body: str, *manual: str, target: Target = Target.CURRENT) -> HloSharding:
    attr = TensorShardingAttr.from_string(f"<@mesh, {body}>", target=target)
    return convert_to_hlo_sharding(attr, MeshAttr.from_string(mesh), manual_axes=manual, target=target)


# mesh, dimensions and axis lists, HLO
PLAIN = [
    (XY, "[]", "{replicated}"),
    (XY, "[{}, {}]", "{replicated}"),
    (XY, "[{?}, {?}]", "{replicated}"),
    (XY, '[{"x"}, {}]', "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"),
    (XY, '[{"y"}, {}]', "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"),
    (XY, '[{}, {"x"}]', "{devices=[1,2,4]<=[8] last_tile_dim_replicate}"),
    (XY, '[{"x"}, {"y"}]', "{devices=[2,4]<=[8]}"),
    (XY, '[{"y"}, {"x"}]', "{devices=[4,2]<=[2,4]T(1,0)}"),
    (XY, '[{"x", "y"}]', "{devices=[8]<=[8]}"),
    (XY, '[{"y", "x"}]', "{devices=[8]<=[2,4]T(1,0)}"),
    (XY, '[{"y", ?}p1, {?}p2]', "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"),
    (XY, '[{}], replicated={"x", "y"}', "{replicated}"),
    (XY, '[{"x"}], replicated={"y"}', "{devices=[2,4]<=[8] last_tile_dim_replicate}"),
    (XYZ, '[{"z"}, {"x", "y"}]', "{devices=[2,4]<=[4,2]T(1,0)}"),
    (XYZ, '[{"y"}]', "{devices=[2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}"),
    ('<["x"=4]>', '[{"x":(1)2}]', "{devices=[2,2]<=[4] last_tile_dim_replicate}"),
    ('<["x"=4]>', '[{"x":(2)2}]', "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"),
    ('<["batch"=1, "model"=8]>', '[{"batch"}, {"model"}]', "{devices=[1,8]<=[8]}"),
    ('<["batch"=1, "model"=8]>', '[{}, {"model"}]', "{devices=[1,8]<=[8]}"),
    ('<["batch"=1, "model"=8]>', '[{"batch"}]', "{replicated}"),
    (IDS, '[{"x"}, {"y"}]', "{devices=[4,2]7,6,5,4,3,2,1,0}"),
    (IDS, '[{"x"}, {}]', "{devices=[4,1,2]6,7,4,5,2,3,0,1 last_tile_dim_replicate}"),
    (IDS, '[{}, {"y"}]', "{devices=[1,2,4]1,3,5,7,0,2,4,6 last_tile_dim_replicate}"),
    (IDS, '[{"x":(2)2}, {"y"}]', "{devices=[2,2,2]3,7,2,6,1,5,0,4 last_tile_dim_replicate}"),
    (IDS, "[{}, {}]", "{replicated}"),
    (
        '<["data"=4, "model"=2], device_ids=[4, 7, 6, 3, 0, 1, 2, 5]>',
        '[{"data"}, {"model"}]',
        "{devices=[4,2]4,7,6,3,0,1,2,5}",
    ),
    ("<[]>", "[]", "{replicated}"),
    ("<[]>", "[{}, {?}]", "{replicated}"),
    ("<[], device_ids=[0]>", "[]", "{maximal device=0}"),
    ("<[], device_ids=[5]>", "[]", "{maximal device=5}"),
    ("<[], device_ids=[5]>", "[{}, {?}]", "{maximal device=5}"),  # Shardy's propagation leaves such
    (f"<[], device_ids=[{2**62}]>", "[]", f"{{maximal device={2**62}}}"),
    ('<["x"=1]>', "[{}, {}]", "{devices=[1,1]<=[1]}"),
    ('<["x"=1]>', '[{"x"}, {}]', "{devices=[1,1]<=[1]}"),
    ('<["x"=1]>', "[]", "{devices=[]<=[1]}"),
    ('<["x"=1, "y"=1]>', '[{"y"}]', "{devices=[1]<=[1]}"),
    (XY, '[{}], unreduced={"y"}', "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={unreduced, replicated}}"),
    (XY, '[{"x"}], unreduced={"y"}', "{devices=[2,4]<=[8] last_tile_dims={unreduced}}"),
    (
        '<["x"=4, "y"=2]>',
        '[{"y"}, {}], unreduced={"x"}',
        "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dims={unreduced}}",
    ),
    (XY, '[{}], unreduced={"x", "y"}', "{unreduced}"),
    ('<["x"=1, "y"=4]>', '[{"y"}], unreduced={"x"}', "{devices=[4]<=[4]}"),
    (
        f'<["x"={2**20}, "y"={2**20}]>',
        '[{"y"}]',
        f"{{devices=[{2**20},{2**20}]<=[{2**20},{2**20}]T(1,0) last_tile_dim_replicate}}",
    ),
]


@pytest.mark.parametrize(("mesh", "body", "hlo"), PLAIN)
def test_export(mesh: str, body: str, hlo: str) -> None:
    assert str(export(mesh, body)) == hlo


# mesh, dimensions, manual axes, HLO
MANUAL = [
    (XYZ, "[{}]", ["x", "y", "z"], "{manual}"),
    (XYZ, "[{}]", ["z", "x", "y"], "{manual}"),
    (XYZ, "[]", ["x"], "{devices=[2,4]<=[8] last_tile_dims={manual, replicated}}"),
    (XYZ, "[{}]", ["x", "y"], "{devices=[1,4,2]<=[8] last_tile_dims={manual, replicated}}"),
    (XYZ, '[{"z"}]', ["x", "y"], "{devices=[2,4]<=[4,2]T(1,0) last_tile_dims={manual}}"),
    (XYZ, '[{"z"}]', ["y", "x"], "{devices=[2,4]<=[2,2,2]T(2,1,0) last_tile_dims={manual}}"),
    (XYZ, '[{"y"}, {}]', ["x"], "{devices=[2,1,2,2]<=[2,2,2]T(1,0,2) last_tile_dims={manual, replicated}}"),
    (XYZ, "[{}, {}]", ["x", "y"], "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}"),
    (XYZ, '[{}, {"z"}]', ["x"], "{devices=[1,2,2,2]<=[4,2]T(1,0) last_tile_dims={manual, replicated}}"),
    (XYZ, "[{}]", ["x", "x"], "{devices=[1,2,4]<=[8] last_tile_dims={manual, replicated}}"),
    ('<["x"=1, "y"=4]>', "[{}]", ["x"], "{replicated}"),
    ('<["x"=1, "y"=4]>', "[{}]", ["y"], "{manual}"),
    ('<["x"=8]>', "[{}]", ["x"], "{manual}"),
    (IDS, '[{"y"}]', ["x"], "{devices=[2,4]7,5,3,1,6,4,2,0 last_tile_dims={manual}}"),
    (IDS, "[{}]", ["x", "y"], "{manual}"),
]


@pytest.mark.parametrize(("mesh", "body", "manual", "hlo"), MANUAL)
def test_manual_axes(mesh: str, body: str, manual: list[str], hlo: str) -> None:
    assert str(export(mesh, body, *manual)) == hlo


@pytest.mark.parametrize(
    ("mesh", "body", "manual", "hlo"),
    [
        (XYZ, '[{}], unreduced={"y"}', ["x"], "last_tile_dims={manual, unreduced, replicated}}"),
        (XYZ, '[{"z"}], unreduced={"y"}', ["x"], "last_tile_dims={manual, unreduced}}"),
        (XYZ, '[{}], unreduced={"x"}', ["y", "z"], "last_tile_dims={manual, unreduced}}"),
        (IDS, '[{}], unreduced={"y"}', ["x"], "last_tile_dims={manual, unreduced}}"),
        ('<["x"=2, "y"=8]>', '[{"y":(4)2}], unreduced={"y":(1)2}', ["x"], "{manual, unreduced, replicated}}"),
    ],
)
def test_unreduced_inside_a_manual_computation(mesh: str, body: str, manual: list[str], hlo: str) -> None:
    """XLA aborts on these; here every device is where the sharding says."""
    exported = export(mesh, body, *manual)
    assert str(exported).endswith(hlo)
    attr = TensorShardingAttr.from_string(f"<@mesh, {body}>")
    assert_places(exported, attr, MeshAttr.from_string(mesh), manual)


# ---------------------------------------------------------------- sub-axes that no cutting of the axis holds


def test_sub_axes_that_split_the_devices_unevenly() -> None:
    with pytest.raises(ConversionError) as raised:
        export('<["x"=12]>', '[{"x":(1)2}, {"x":(3)2}]')
    message = str(raised.value)
    assert "unevenly" in message
    assert '[{"x":(1)2}, {"x":(3)2}]' in message
    assert '<["x"=12]>' in message
    assert "tile [0, 0]: 4" in message or "tile [0, 1]: 2" in message


@pytest.mark.parametrize(
    ("mesh", "body", "manual"),
    [
        ('<["x"=18]>', '[{"x":(2)3}, {"x":(9)2}]', []),
        ('<["x"=18]>', '[{"x":(9)2}, {"x":(2)3}]', []),
        ('<["x"=18]>', '[{"x":(9)2, "x":(2)3}]', []),
        (REVERSED_18, '[{"x":(2)3}, {"x":(9)2}]', []),
        ('<["w"=2, "x"=18, "y"=2]>', '[{"x":(2)3}, {"y"}, {"x":(9)2}]', []),
        ('<["w"=2, "x"=18, "y"=2]>', '[{"x":(2)3}, {"x":(9)2, "w"}]', ["y"]),
        ('<["w"=2, "x"=18]>', '[{"x":(2)3}, {}], unreduced={"x":(9)2}', []),
    ],
)  # fmt: skip
def test_sub_axes_that_split_the_devices_evenly(mesh: str, body: str, manual: list[str]) -> None:
    """XLA's grid misses devices here; the right one exists."""
    attr = TensorShardingAttr.from_string(f"<@mesh, {body}>")
    exported = export(mesh, body, *manual)
    assert exported.num_devices == MeshAttr.from_string(mesh).total_size
    assert_places(exported, attr, MeshAttr.from_string(mesh), manual)


def test_too_many_devices_to_list() -> None:
    with pytest.raises(ConversionError, match=f"all {18 * 2**40} devices"):
        export(f'<["x"=18, "y"={2**40}]>', '[{"x":(2)3}, {"x":(9)2}]')


# ---------------------------------------------------------------- targets


@pytest.mark.parametrize(
    ("body", "target", "hlo"),
    [
        ('[{"x"}], unreduced={"y"}', Target.CLASSIC, "{devices=[2,4]<=[8] last_tile_dim_replicate}"),
        ('[{"x"}], unreduced={"y"}', Target.CURRENT, "{devices=[2,4]<=[8] last_tile_dims={unreduced}}"),
        (
            '[{"x"}], unreduced={"y"}',
            Target.NEWER,
            ('{devices=[2,4]<=[8] last_tile_dims={unreduced} '
            'metadata={op_type="sdy::reduction_op" op_name="SUM"}}'),
        ),
        (
            '[{"x"}], unreduced=max{"y"}',
            Target.NEWER,
            ('{devices=[2,4]<=[8] last_tile_dims={unreduced} '
            'metadata={op_type="sdy::reduction_op" op_name="MAX"}}'),
        ),
        ('[{}], unreduced={"x", "y"}', Target.CLASSIC, "{replicated}"),
        ('[{"x"}]', Target.CLASSIC, "{devices=[2,4]<=[8] last_tile_dim_replicate}"),
        ('[{"x"}]', Target.NEWER, "{devices=[2,4]<=[8] last_tile_dim_replicate}"),
    ],
)  # fmt: skip
def test_targets(body: str, target: Target, hlo: str) -> None:
    assert export(XY, body, target=target).to_string(target=target) == hlo


def test_newer_keeps_the_reduction_op() -> None:
    assert export(XY, '[{}], unreduced=min{"x"}', target=Target.NEWER).reduction_op is ReductionOp.MIN


# ---------------------------------------------------------------- where the mesh comes from


def test_ways_to_give_the_mesh() -> None:
    mesh = MeshAttr.from_string(XY)
    attr = TensorShardingAttr.from_string('<@m, [{"y"}]>')
    expected = convert_to_hlo_sharding(attr, mesh)
    assert convert_to_hlo_sharding(attr, {"other": MeshAttr.from_sizes({"y": 2}), "m": mesh}) == expected
    assert convert_to_hlo_sharding(attr, lambda sharding: {"m": mesh}[str(sharding.mesh_or_ref)]) == expected
    inline = TensorShardingAttr.from_string(f'<mesh{XY}, [{{"y"}}]>')
    assert convert_to_hlo_sharding(inline) == expected
    assert convert_to_hlo_sharding(inline, MeshAttr.from_sizes({"y": 64})) == expected  # its own mesh counts
    assert resolve_mesh(inline, {"m": MeshAttr()}) is mesh


@pytest.mark.parametrize(
    ("meshes", "said"),
    [
        (None, "write it inline"),
        ({}, "write it inline"),
        ({"b": MeshAttr(), "a": MeshAttr()}, "known meshes: @b, @a"),
        (lambda _sharding: None, "unknown mesh @m"),
    ],
)
def test_unknown_mesh(meshes: object, said: str) -> None:
    with pytest.raises(VerificationError, match="unknown mesh @m") as raised:
        convert_to_hlo_sharding(TensorShardingAttr.from_string("<@m, [{}]>"), meshes)  # type: ignore[arg-type]
    assert raised.value.rule == "unknown-mesh"
    assert said in str(raised.value)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("mesh", "body", "manual", "rule"),
    [
        (XY, '[{"z"}]', [], "unknown-axis"),
        (XY, "[{}]", ["z"], "unknown-axis"),
        (XY, '[{"x"}]', ["x"], "axis-is-manual"),
        (XY, '[{}], replicated={"x"}', ["x"], "axis-is-manual"),
        (XY, '[{}], unreduced={"x"}', ["x"], "axis-is-manual"),
        (XY, '[{"y":(1)2}]', ["y"], "axis-is-manual"),
        (XY, '[{"x"}, {"x"}]', [], "duplicate-axis"),
        ('<["x"=4]>', '[{"x":(1)2}, {"x":(2)4}]', [], "sub-axis-divides"),
        ('<["x"=4]>', '[{"x"}, {"x":(1)2}]', [], "whole-and-part"),
        ("<[], device_ids=[3]>", '[{"x"}]', [], "maximal-rank"),
        ("<[], device_ids=[3]>", '[], replicated={"x"}', [], "maximal-rank"),
        ("<[]>", '[{"x"}]', [], "unknown-axis"),
        ('<["x"=2]>', '[{"z"}]', ["x"], "unknown-axis"),  # checked even where all axes are manual
        ('<["x"=2]>', '[{"x"}]', ["x"], "axis-is-manual"),
    ],
)
def test_invalid(mesh: str, body: str, manual: list[str], rule: str) -> None:
    with pytest.raises(VerificationError) as raised:
        export(mesh, body, *manual)
    assert raised.value.rule == rule


def test_wrong_types_are_told_apart() -> None:
    mesh = MeshAttr.from_sizes({"x": 2})
    sharding = TensorShardingAttr.from_string('<@mesh, [{}], unreduced={"x"}>')
    classic: Any = "classic"  # the value of a target does, too
    assert str(convert_to_hlo_sharding(sharding, mesh, target=classic)) == "{replicated}"
    wrong: Any = "clasic"
    with pytest.raises(ValueError, match="clasic"):
        convert_to_hlo_sharding(sharding, mesh, target=wrong)
    text: Any = "<@mesh, []>"
    with pytest.raises(TypeError, match="TensorShardingAttr"):
        convert_to_hlo_sharding(text, mesh)
    name: Any = "x"
    with pytest.raises(TypeError, match="names"):
        convert_to_hlo_sharding(sharding, mesh, manual_axes=name)


def test_a_failure_is_not_remembered_as_an_answer() -> None:
    for _ in range(2):
        with pytest.raises(SdyBridgeError):
            export(XY, '[{"z"}]')
    assert str(export('<["z"=2]>', '[{"z"}]')) == "{devices=[2]<=[2]}"


def test_remembered_answers_depend_on_everything() -> None:
    """The same text on other meshes, with other manual axes, for other targets."""
    body = '[{"y"}], unreduced={"x"}'
    for _ in range(2):
        assert str(export(XY, body)) == "{devices=[4,2]<=[2,4]T(1,0) last_tile_dims={unreduced}}"
        assert str(export(XY, body, target=Target.CLASSIC)).endswith("T(1,0) last_tile_dim_replicate}")
        assert str(export('<["x"=2, "y"=8]>', body)).startswith("{devices=[8,2]")
        assert str(export('<["y"=4, "x"=2]>', body)) == "{devices=[4,2]<=[8] last_tile_dims={unreduced}}"
        three = export('<["x"=2, "y"=4, "z"=3]>', body, "z")
        assert str(three).endswith("last_tile_dims={manual, unreduced}}")


def test_large_meshes_cost_no_device_list() -> None:
    """2**40 devices: the converter does not even load NumPy."""
    program = (
        "import sys, sdybridge as sb\n"
        "mesh = sb.MeshAttr.from_sizes({'x': 2**20, 'y': 2**20})\n"
        'sharding = sb.TensorShardingAttr.from_string(\'<@m, [{"y":(1024)1024}, {"x"}]>\')\n'
        "print(sb.convert_to_hlo_sharding(sharding, mesh))\n"
        "assert 'numpy' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == ("{devices=[1024,1048576,1024]<=[1073741824,1024]T(1,0) last_tile_dim_replicate}\n")


def test_more_dimensions_than_an_array_has() -> None:
    sharding = TensorShardingAttr.from_string('<@mesh, [{"x"}' + ", {}" * 70 + "]>")
    listed = MeshAttr.from_sizes({"x": 4}, [3, 1, 2, 0])
    with pytest.raises(
        ConversionError, match="a grid with listed devices has at most 32 dimensions, this one 71"
    ):
        convert_to_hlo_sharding(sharding, listed)
    grid = convert_to_hlo_sharding(sharding, MeshAttr.from_sizes({"x": 4})).tile_assignment
    with pytest.raises(SdyBridgeError, match="a grid of 71 dimensions is no array"):
        _ = grid.array
    assert grid.value_at((2, *[0] * 70)) == 2


@pytest.mark.parametrize("rank", [33, 40, 62, 70])
def test_large_counted_grids_are_read_back(rank: int) -> None:
    """An array has no room for them, and none is needed."""
    mesh = MeshAttr.from_sizes({f"x{i}": 2 if i < 40 else 1 for i in range(rank)})
    dims = ", ".join(f'{{"x{i}"}}' for i in reversed(range(rank)))
    exported = convert_to_hlo_sharding(TensorShardingAttr.from_string(f"<@mesh, [{dims}]>"), mesh)
    assert exported.data_rank == rank
    assert HloSharding.from_string(str(exported)) == exported
    assert HloSharding.from_proto(exported.to_proto_bytes()) == exported
