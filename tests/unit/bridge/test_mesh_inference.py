"""The meshes that a set of HLO shardings is imported on."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.bridge.same_placement import assert_same_placement
from tests.unit.hlo.notation import build

from sdybridge.bridge import infer_mesh
from sdybridge.errors import ConversionError, SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding, TileAssignment
from sdybridge.sdy import MeshAttr

PERMUTED = "4,7,6,3,0,1,2,5"
WITHOUT_AXES = ["{replicated}", "{manual}", "{unknown}", "{devices=[1,1]<=[1]}"]


def meshes_of(*texts: str, **options: object) -> dict[str, str]:
    inferred = infer_mesh(map(build, texts), **options)  # type: ignore[arg-type]
    return {name: mesh.stripped for name, mesh in inferred.meshes.items()}


@pytest.mark.parametrize(
    ("texts", "meshes"),
    [  # as XLA does it
        (["{devices=[2,4]<=[8]}", "{devices=[4,2]<=[2,4]T(1,0)}"], ["2, 4"]),
        (["{devices=[2,4]<=[8]}", "{devices=[4,2]<=[8]}"], ["2, 2, 2"]),
        (["{devices=[4,3]<=[12]}", "{devices=[2,6]<=[12]}"], ["2, 2, 3"]),
        (["{devices=[8]<=[8]}", *WITHOUT_AXES], ["8"]),
        (["{devices=[256,1]<=[256]}", "{devices=[1,64,4]<=[256] last_tile_dim_replicate}"], ["64, 4"]),
        (["{devices=[6,35]<=[7,10,3]T(2,1,0)}"], ["7, 2, 5, 3"]),
        (["{devices=[2,2]0,1,2,3}"], ["2, 2"]),
        (["{devices=[2,1,3]<=[6] last_tile_dims={manual}}"], ["2, 3"]),
        (WITHOUT_AXES, []),
        ([], []),
    ],
)
def test_common_refinement(texts: list[str], meshes: list[str]) -> None:
    found = meshes_of(*texts)
    assert found == dict(zip(["mesh"], map(default_mesh, meshes), strict=bool(meshes)))
    assert meshes_of(*reversed(texts)) == found


def default_mesh(sizes: str, device_ids: str = "") -> str:
    axes = ", ".join(f'"_axis_{i}"={size}' for i, size in enumerate(sizes.split(", ")))
    return f"<[{axes}]{f', device_ids=[{device_ids}]' if device_ids else ''}>"


@pytest.mark.parametrize(
    ("texts", "meshes"),
    [  # where XLA aborts
        (["{devices=[4,2]0,4,1,5,2,6,3,7}", "{devices=[2,4]<=[8]}"], {"mesh": ("2, 4",)}),
        (["{devices=[4]0,2,1,3}"], {"mesh": ("2, 2",)}),
        (["{devices=[8,3]<=[24]}", "{devices=[12,2]<=[24]}"], {"mesh": ("8, 3",), "mesh_1": ("12, 2",)}),
        ([f"{{devices=[{dims}]<=[24]}}" for dims in ("8,3", "12,2", "3,8", "4,6", "6,4")],
         {"mesh": ("4, 2, 3",), "mesh_1": ("3, 2, 2, 2",)}),
        (["{devices=[8]<=[8]}", "{devices=[2,2]<=[4]}"], {"mesh": ("8",), "mesh_1": ("2, 2",)}),
        ([f"{{devices=[4,2]{PERMUTED}}}"], {"mesh": ("4, 2", "4, 7, 6, 3, 0, 1, 2, 5")}),
        ([f"{{devices=[4,2]{PERMUTED}}}", f"{{devices=[2,4]{PERMUTED}}}", "{devices=[2,4]4,6,0,2,7,3,1,5}"],
         {"mesh": ("2, 2, 2", "4, 7, 6, 3, 0, 1, 2, 5")}),
        ([f"{{devices=[4,2]{PERMUTED}}}", "{devices=[8]<=[8]}"],
         {"mesh": ("8",), "mesh_1": ("4, 2", "4, 7, 6, 3, 0, 1, 2, 5")}),
        (["{devices=[2,2]3,2,1,0}", "{devices=[2,2]3,1,2,0}", "{devices=[2,2]1,0,3,2}"],
         {"mesh": ("2, 2", "3, 2, 1, 0"), "mesh_1": ("2, 2", "1, 0, 3, 2")}),
        (["{devices=[2,3]<=[2,3]T(1,0)}"], {"mesh": ("2, 3", "0, 3, 1, 4, 2, 5")}),
        (["{devices=[4,2]3,0,1,2,4,5,7,6 last_tile_dim_replicate}"],
         {"mesh": ("4, 2", "0, 3, 1, 2, 4, 5, 6, 7")}),
        (["{devices=[1,2,2]1,3,0,2 last_tile_dims={manual, replicated}}"], {"mesh": ("2, 2",)}),
        (["{unreduced}", "{devices=[2,4]<=[8]}"], {"mesh": ("2, 4",)}),
    ],
)  # fmt: skip
def test_beyond_xla(texts: list[str], meshes: dict[str, tuple[str, ...]]) -> None:
    assert meshes_of(*texts) == {name: default_mesh(*fields) for name, fields in meshes.items()}
    check_all(list(map(build, texts)))


def check_all(shardings: list[HloSharding], **options: object) -> None:
    """Every sharding's import places the devices as it does."""
    inferred = infer_mesh(shardings, **options)  # type: ignore[arg-type]
    for sharding in shardings:
        name = inferred.mesh_name(sharding)
        imported = inferred.convert(sharding, rank=sharding.data_rank if sharding.is_tiled else 2)
        assert imported.mesh_name == (name or "mesh")
        if name is not None and not inferred.meshes[name].is_maximal:
            assert_same_placement(sharding, imported, inferred.mesh(sharding), inferred.manual_axes(sharding))


@pytest.mark.parametrize(
    ("texts", "options", "meshes"),
    [
        (["{unreduced}"], {"num_devices": 8}, {"mesh": '<["_axis_0"=8]>'}),
        (["{unreduced}"], {}, {"mesh": "<[]>"}),
        (["{maximal device=3}", "{maximal device=1}", "{replicated}"],
         {},
         {"mesh": "<[]>", "maximal_mesh_1": "<[], device_ids=[1]>",
          "maximal_mesh_3": "<[], device_ids=[3]>"}),
        (["{maximal device=3}", "{devices=[8]<=[8]}"], {},
         {"mesh": '<["_axis_0"=8]>', "maximal_mesh_3": "<[], device_ids=[3]>"}),
        (["{{maximal device=3}, {devices=[8]<=[8]}}"], {},
         {"mesh": '<["_axis_0"=8]>', "maximal_mesh_3": "<[], device_ids=[3]>"}),
        (["{devices=[2,4]<=[8]}"], {"axis_names": ["x", "y"]}, {"mesh": '<["x"=2, "y"=4]>'}),
        (["{devices=[2,4]<=[8]}"], {"axis_names": ["x"]}, {"mesh": '<["x"=2, "_axis_1"=4]>'}),
        (["{devices=[2,4]<=[8]}"], {"mesh_name": "m"}, {"m": '<["_axis_0"=2, "_axis_1"=4]>'}),
        (["{devices=[2,4]<=[8]}"], {"mesh": MeshAttr.from_sizes({"x": 8})}, {"mesh": '<["x"=8]>'}),
        (["{replicated}"], {"mesh": MeshAttr.from_sizes({"x": 8})}, {"mesh": '<["x"=8]>'}),
        (["{devices=[2,3]<=[6]}", "{devices=[3,2]<=[6]}"], {"mesh": MeshAttr.from_sizes({"x": 3, "y": 2})},
         {"mesh": '<["x"=3, "y"=2]>', "mesh_1": '<["_axis_0"=2, "_axis_1"=3]>'}),
        (["{devices=[8]<=[8]}", "{devices=[4]<=[4]}"],
         {"mesh": {"small": MeshAttr.from_sizes({"a": 4}), "large": MeshAttr.from_sizes({"a": 8})}},
         {"small": '<["a"=4]>', "large": '<["a"=8]>'}),
        (["{maximal device=3}", "{maximal device=4}"],
         {"mesh": {"host": MeshAttr.maximal(3), "maximal_mesh_4": MeshAttr.from_sizes({"a": 4})}},
         {"host": "<[], device_ids=[3]>", "maximal_mesh_4": '<["a"=4]>',
          "maximal_mesh_4_1": "<[], device_ids=[4]>"}),
        (["{devices=[2,4]<=[8] last_tile_dims={manual}}"], {"mesh": MeshAttr.from_sizes({"x": 8})},
         {"mesh": '<["x"=8]>', "mesh_1": '<["_axis_0"=2, "_axis_1"=4]>'}),
    ],
)  # fmt: skip
def test_named_meshes(texts: list[str], options: dict[str, object], meshes: dict[str, str]) -> None:
    assert meshes_of(*texts, **options) == meshes


def test_single_devices_use_known_meshes() -> None:
    inferred = infer_mesh([build("{maximal device=3}")], mesh={"host": MeshAttr.maximal(3)})
    assert inferred.convert(build("{maximal device=3}")).stripped == "<@host, []>"


def test_one_mesh_instead_of_a_guess_per_annotation() -> None:
    shardings = [build("{devices=[2,4]<=[8]}"), build("{devices=[4,2]0,4,1,5,2,6,3,7}")]
    inferred = infer_mesh(shardings, axis_names=["x", "y"])
    assert inferred.meshes == {"mesh": MeshAttr.from_sizes({"x": 2, "y": 4})}
    assert [inferred.convert(sharding).stripped for sharding in shardings] == [
        '<@mesh, [{"x"}, {"y"}]>',
        '<@mesh, [{"y"}, {"x"}]>',
    ]
    assert repr(inferred) == '<InferredMeshes @mesh = <["x"=2, "y"=4]>>'


def test_an_iota_and_its_list_are_one() -> None:
    inferred = infer_mesh([build("{devices=[4,2]<=[2,4]T(1,0)}")])
    assert inferred.mesh_name(build("{devices=[4,2]0,4,1,5,2,6,3,7}")) == "mesh"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{devices=[4]4,5,6,7}", "device 4 is not on a mesh of 4 devices"),
        ("{devices=[4]0,1,2,2}", "device 2 is listed more than once"),
        ("{devices=[4]0,1,2,-1}", "device -1 is not on a mesh of 4 devices"),
        ("{maximal device=-2}", "names no real device"),
    ],
)
def test_shardings_on_no_devices(text: str, message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        infer_mesh([build(text)])


@pytest.mark.parametrize(
    ("shardings", "options"),
    [
        ([None], {}),
        ("{replicated}", {}),
        (3, {}),
        ([], {"mesh": "mesh"}),
        ([], {"mesh": {"mesh": None}}),
        ([], {"mesh": {3: MeshAttr()}}),
        ([HloSharding.unreduced()], {"num_devices": 0}),
        ([HloSharding.iota_tile([2, 4])], {"axis_names": ["x", "x"]}),
    ],
)
def test_arguments_are_checked(shardings: object, options: dict[str, object]) -> None:
    with pytest.raises(VerificationError):
        infer_mesh(shardings, **options)  # type: ignore[arg-type]


def test_unknown_shardings_are_refused() -> None:
    inferred = infer_mesh([build("{devices=[8]<=[8]}")])
    for text in ("{devices=[2,4]<=[8]}", "{maximal device=0}"):
        with pytest.raises(ConversionError, match="no mesh was made"):
            inferred.convert(build(text))
    with pytest.raises(SdyBridgeError):
        inferred.mesh_name(build("{{replicated}}"))


def test_without_a_mesh_everything_is_replicated() -> None:
    inferred = infer_mesh([HloSharding.replicate()])
    assert inferred.mesh_name(HloSharding.replicate()) is None
    assert inferred.convert(HloSharding.replicate(), rank=1).stripped == "<@mesh, [{}]>"


def test_size_does_not_matter() -> None:
    grids = [HloSharding.iota_tile([2**k, 2**60 // 2**k]) for k in range(1, 60)]
    inferred = infer_mesh(grids)
    assert inferred.meshes["mesh"].axes[0].size == 2
    assert len(inferred.meshes["mesh"].axes) == 60
    with pytest.raises(ConversionError, match="at most"):
        infer_mesh([HloSharding.iota_tile([2**40, 3], [2**40, 3], [1, 0])])


def test_many_lists_in_orders_of_their_own() -> None:
    rng = np.random.default_rng(0)
    grids = [TileAssignment.from_array(rng.permutation(64).reshape(8, 8)) for _ in range(100)]
    inferred = infer_mesh(map(HloSharding.tile, grids))
    assert len(inferred.meshes) == 100
