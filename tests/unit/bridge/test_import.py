"""The import of single shardings."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from tests.unit.bridge.same_placement import assert_same_placement
from tests.unit.hlo.notation import build

from sdybridge.bridge import (
    LossKind,
    convert_to_hlo_sharding,
    convert_to_sdy_sharding,
    get_manual_axes,
    import_losses,
)
from sdybridge.errors import ConversionError, SdyBridgeError, VerificationError
from sdybridge.hlo import (
    HloSharding,
    OpShardingType,
    ReductionOp,
    TileAssignment,
)
from sdybridge.sdy import MeshAttr
from sdybridge.target import Target

X2Y4 = '<["x"=2, "y"=4]>'
A2B2C2 = '<["a"=2, "b"=2, "c"=2]>'
IDS = '<["data"=4, "model"=2], device_ids=[4, 7, 6, 3, 0, 1, 2, 5]>'


def mesh_of(text: str) -> MeshAttr:
    return MeshAttr.from_string(text)


CASES = [
    [field.strip() for field in line.split(" | ")]
    for line in Path(__file__).with_name("imports.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case[:2]))
def test_tiled(case: list[str]) -> None:
    hlo, mesh, expected, *manual = case
    sharding = build(hlo)
    imported = convert_to_sdy_sharding(sharding, mesh_of(mesh), rank=sharding.data_rank)
    assert imported.stripped == f"<@mesh, {expected}>"
    axes = tuple(manual[0].split(", ")) if manual else ()
    assert get_manual_axes(sharding, mesh_of(mesh)) == axes
    assert_same_placement(sharding, imported, mesh_of(mesh), axes)


def test_both_orders_of_subgroups_export_alike() -> None:
    mesh = mesh_of(A2B2C2)
    texts = (
        "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}",
        "{devices=[1,1,2,4]<=[4,2]T(1,0) last_tile_dims={replicated, manual}}",
    )
    exported = {
        convert_to_hlo_sharding(
            convert_to_sdy_sharding(build(text), mesh), mesh, manual_axes=get_manual_axes(build(text), mesh)
        )
        for text in texts
    }
    assert list(map(str, exported)) == [texts[0]]


@pytest.mark.parametrize(
    ("hlo", "rank", "closed", "opened", "manual"),
    [
        ("{replicated}", 2, "<@mesh, [{}, {}]>", "<@mesh, [{?}, {?}]>", ()),
        ("{replicated}", 0, "<@mesh, []>", "<@mesh, []>", ()),
        ("{manual}", 1, "<@mesh, [{}]>", "<@mesh, [{?}]>", ("x", "y")),
        ("{unknown}", 2, "<@mesh, [{?}, {?}]>", "<@mesh, [{?}, {?}]>", ()),
        ("{unreduced}", 1, '<@mesh, [{}], unreduced={"x", "y"}>', '<@mesh, [{?}], unreduced={"x", "y"}>', ()),
        ("{maximal device=3}", 2, "<@maximal_mesh_3, []>", "<@maximal_mesh_3, []>", ()),
        ("{maximal device=5}", None, "<@five, []>", "<@five, []>", ()),
        ("{devices=[4,2]<=[2,4]T(1,0)}", 2, '<@mesh, [{"y"}, {"x"}]>', '<@mesh, [{"y", ?}, {"x", ?}]>', ()),
    ],
)  # fmt: skip
def test_simple_and_open(
    hlo: str, rank: int | None, closed: str, opened: str, manual: tuple[str, ...]
) -> None:
    for is_open, expected in ((False, closed), (True, opened)):
        imported = convert_to_sdy_sharding(
            build(hlo),
            mesh_of(X2Y4),
            rank=rank,
            open_dims=is_open,
            device_id_to_maximal_mesh_name={5: "five"},
        )
        assert imported.stripped == expected
    assert get_manual_axes(build(hlo), mesh_of(X2Y4)) == manual


@pytest.mark.parametrize(
    ("hlo", "replicated"),
    [
        ("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", 'replicated={"x"}'),
        ("{devices=[2,4]<=[8] last_tile_dim_replicate}", 'replicated={"y"}'),
        ("{devices=[2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}", 'replicated={"x", "y":(2)2}'),
        ("{devices=[4,2]<=[8] last_tile_dim_replicate}", 'replicated={"y":(2)2}'),
        ("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual, replicated}}", 'replicated={"x"}'),
        ("{devices=[2,4]<=[8]}", ""),
        ("{replicated}", ""),
    ],
)
def test_replicated_axes_are_listed_where_asked(hlo: str, replicated: str) -> None:
    def text(**options: Target | bool) -> str:
        sharding = build(hlo)
        rank = 1 if sharding.is_replicated else sharding.data_rank
        imported = convert_to_sdy_sharding(sharding, mesh_of(X2Y4), rank=rank, **options)  # type: ignore[arg-type]
        return imported.stripped

    plain = text()
    listed = plain.removesuffix(">") + (f", {replicated}>" if replicated else ">")
    assert text(target=Target.CLASSIC) == listed
    assert text(list_replicated_axes=True) == listed
    assert text(target=Target.CLASSIC, list_replicated_axes=False) == plain
    assert text(target=Target.NEWER) == plain


def test_the_reduction_is_kept_where_it_can_be_written() -> None:
    sharding = build("{devices=[2,4]<=[8] last_tile_dims={unreduced}}").with_reduction_op(ReductionOp.MAX)
    newer = convert_to_sdy_sharding(sharding, mesh_of(X2Y4), target=Target.NEWER)
    assert newer.stripped == '<@mesh, [{"x"}], unreduced=max{"y"}>'
    assert convert_to_hlo_sharding(newer, mesh_of(X2Y4), target=Target.NEWER) == sharding
    assert convert_to_sdy_sharding(sharding, mesh_of(X2Y4)).stripped == '<@mesh, [{"x"}], unreduced={"y"}>'


def test_the_mesh_can_be_inline() -> None:
    inline = convert_to_sdy_sharding(build("{devices=[2,4]<=[8]}"), mesh_of(X2Y4), mesh_name=None)
    assert inline.stripped == '<mesh<["x"=2, "y"=4]>, [{"x"}, {"y"}]>'
    single = convert_to_sdy_sharding(build("{maximal device=3}"), mesh_of(X2Y4), mesh_name=None)
    assert single.stripped == "<mesh<[], device_ids=[3]>, []>"


@pytest.mark.parametrize(
    ("hlo", "mesh", "rank", "parts"),
    [
        ("{devices=[4]<=[4]}", X2Y4, 1, ["on 4 devices, the mesh has 8", '<["_axis_0"=4]>']),
        ("{devices=[1,1,2,2]<=[4] last_tile_dim_replicate}", '<["x"=4]>', 1, ["rank 3, not of rank 1"]),
        ("{devices=[2,4]<=[8]}", X2Y4, 1, ["rank 2, not of rank 1"]),
        ("{devices=[2,4]<=[8]}", X2Y4, -1, ["rank must lie in 0.."]),
        ("{replicated}", X2Y4, None, ["{replicated} does not tell the rank", "pass rank="]),
        ("{maximal device=-1}", X2Y4, 1, ["names no real device"]),
        ("{{replicated}, {manual}}", X2Y4, 1, ["sharding of a tuple", "tuple_elements"]),
        ("{replicated}", "<[], device_ids=[3]>", 1, ["single device 3", "pass a mesh with axes"]),
        (
            "{devices=[2,3]<=[6]}", '<["x"=3, "y"=2]>', 2,
            [
                "no axes of the mesh split the devices as dimension 0 does",
                "device 3 belongs on tile [1, 0], but",
                "the closest that the mesh can express, <@mesh, [{}, {}]>, leaves it on tile [0, 0]",
                'a mesh that can: <["_axis_0"=2, "_axis_1"=3]>',
            ],
        ),
        (
            "{devices=[2,4,6]<=[2,6,4]T(0,2,1)}", '<["a"=2, "x"=4, "y"=6]>', 3,
            [
                "no axes of the mesh split the devices as dimension 1 does",
                "device 1 belongs on tile [0, 1, 0], but the closest that the mesh can express, <@mesh, [{",
                '<["_axis_0"=2, "_axis_1"=6, "_axis_2"=4]>',
            ],
        ),
        (
            "{devices=[2,3]<=[2,3]T(1,0)}", '<["x"=2, "y"=3]>', 2,
            [
                "in an order that no axes of the mesh have",
                "device 1 is the first out of order: it is on tile [0, 2]",
                'a mesh that can: <["_axis_0"=2, "_axis_1"=3], device_ids=[0, 3, 1, 4, 2, 5]>',
            ],
        ),
        (
            "{devices=[4,2]4,7,6,3,0,1,2,5}", X2Y4, 2,
            ["device 4 is the first out of order: it is on tile [0, 0]", "device_ids=[4, 7, 6, 3, 0, 1, 2"],
        ),
        ("{devices=[2,4]<=[8]}", IDS, 2, ["device 0 is the first out of order", '"_axis_0"=2, "_axis_1"=4']),
        ("{devices=[4]4,5,6,7}", '<["x"=4]>', 1, ["device 4 is not on a mesh of 4 devices"]),
        ("{devices=[4]0,1,1,2}", '<["x"=4]>', 1, ["device 1 is listed more than once"]),
        (
            "{devices=[2,4]<=[8] last_tile_dims={manual}}", '<["x"=8]>', 1,
            ["no whole axes of the mesh make up the manual groups", "device 1 is in the manual group of"],
        ),
    ],
)  # fmt: skip
def test_errors_explain(hlo: str, mesh: str, rank: int | None, parts: list[str]) -> None:
    with pytest.raises(SdyBridgeError) as caught:
        convert_to_sdy_sharding(build(hlo), mesh_of(mesh), rank=rank)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize("hlo", ["{replicated}", None, 3])
def test_only_shardings_are_converted(hlo: object) -> None:
    with pytest.raises(VerificationError):
        convert_to_sdy_sharding(hlo, mesh_of(X2Y4), rank=1)  # type: ignore[arg-type]


def test_only_meshes_are_used() -> None:
    with pytest.raises(VerificationError):
        convert_to_sdy_sharding(build("{replicated}"), X2Y4, rank=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("devices", [2**40, 2**60])
def test_size_does_not_matter(devices: int) -> None:
    mesh = MeshAttr.from_sizes({"x": 2**10, "y": devices // 2**10})
    grid = TileAssignment.iota([2**12, devices // 2**14, 4], [2**5, devices // 2**7, 4], [1, 0, 2])
    sharding = HloSharding.partial_tile(grid)
    start = time.process_time()
    imported = convert_to_sdy_sharding(sharding, mesh)
    assert convert_to_hlo_sharding(imported, mesh) == sharding
    misaligned = HloSharding.iota_tile([devices, 3], [devices, 3], [1, 0])
    with pytest.raises(ConversionError, match="device 1 is the first out of order"):
        convert_to_sdy_sharding(misaligned, MeshAttr.from_sizes({"x": devices, "y": 3}))
    assert time.process_time() - start < 0.5


def test_long_lists_are_fast() -> None:
    rng = np.random.default_rng(0)
    bits = np.arange(1 << 20).reshape((2,) * 20).transpose(rng.permutation(20)).reshape(1024, 1024)
    sharding = HloSharding.tile(TileAssignment.from_array(bits))
    mesh = MeshAttr.from_sizes({"x": 1 << 7, "y": 1 << 13})
    start = time.process_time()
    imported = convert_to_sdy_sharding(sharding, mesh)
    spent = time.process_time() - start
    assert convert_to_hlo_sharding(imported, mesh) == sharding
    assert spent < 1


CLOSED = "chosen-openness: closed"


@pytest.mark.parametrize(
    ("hlo", "mesh", "losses"),
    [
        ("{devices=[2,4]<=[8]}", X2Y4, [CLOSED]),
        ("{replicated}", X2Y4, [CLOSED]),
        ("{unknown}", X2Y4, ["unknown: unknown"]),
        ("{maximal device=3}", X2Y4, []),
        ("{manual}", X2Y4, ['manual: "x", "y"', CLOSED]),
        ("{devices=[2,1,4]<=[8] last_tile_dims={manual}}", X2Y4, ['manual: "y"', CLOSED]),
        ('{devices=[8,1]<=[8] metadata={op_name="dot"}}', X2Y4, ['metadata: op_name="dot"', CLOSED]),
        ("{replicated shard_as 7}", X2Y4, ["shard-group: shard_as 7", CLOSED]),
        ("{unreduced}", "<[]>", ["unreduced: unreduced", CLOSED]),
        ("{unreduced}", '<["x"=1]>', [CLOSED]),
        ("{devices=[2,4]<=[8] last_tile_dims={unreduced}}", A2B2C2, [CLOSED]),
        (
            "{devices=[2,4]<=[2,2,2]T(0,2,1) last_tile_dims={unreduced}}",
            A2B2C2,
            ["group-order: devices=[2,4]<=[2,2,2]T(0,2,1)", CLOSED],
        ),
        ("{devices=[2,4]<=[8] last_tile_dims={maximal}}", X2Y4, ["subgroup-type: maximal", CLOSED]),
        ("{devices=[1,1]<=[1]}", X2Y4, ["single-device-tiling: {devices=[1,1]<=[1]}", CLOSED]),
    ],
)
def test_losses(hlo: str, mesh: str, losses: list[str]) -> None:
    found = import_losses(build(hlo), mesh_of(mesh))
    assert [f"{loss.kind.value}: {loss.detail}" for loss in found] == losses
    assert all(loss.kind.explanation for loss in found)


def test_the_reduction_is_lost_where_it_cannot_be_written() -> None:
    sharding = HloSharding.unreduced().with_reduction_op(ReductionOp.MIN)
    for target, is_lost in ((Target.CURRENT, True), (Target.NEWER, False)):
        kinds = [loss.kind for loss in import_losses(sharding, mesh_of(X2Y4), target=target)]
        assert (LossKind.REDUCTION_OP in kinds) is is_lost


def test_other_subgroups_read_as_replicated() -> None:
    sharding = HloSharding.iota_tile([2, 4], subgroup_types=[OpShardingType.UNKNOWN])
    assert convert_to_sdy_sharding(sharding, mesh_of(X2Y4)).stripped == '<@mesh, [{"x"}]>'
