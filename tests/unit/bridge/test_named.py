"""Shardings over named meshes in the bridge: export to them, import from them, and the meshes of programs."""

from __future__ import annotations

from typing import Any

import pytest

from sdybridge.bridge import (
    convert_to_hlo_sharding,
    convert_to_sdy_sharding,
    export_losses,
    get_manual_axes,
    import_losses,
    infer_mesh,
    to_v3_sharding,
)
from sdybridge.errors import ConversionError, SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding, OpMetadata, ReductionOp
from sdybridge.sdy import MeshAttr, TensorShardingAttr
from sdybridge.target import Target

XY = '<["x"=2, "y"=4]>'
IDS = '<["x"=2, "y"=2], device_ids=[3, 1, 2, 0]>'


def export(mesh: str, body: str, *manual: str, target: Target = Target.NAMED) -> HloSharding:
    sharding = TensorShardingAttr.from_string(f"<@mesh, {body}>", target=Target.NEWER)
    return convert_to_hlo_sharding(sharding, MeshAttr.from_string(mesh), manual_axes=manual, target=target)


@pytest.mark.parametrize(
    ("mesh", "body", "manual", "text"),
    [
        (XY, "[]", "", "{mesh['x'=2,'y'=4], replicated}"),
        (XY, "[{}, {}]", "", "{mesh['x'=2,'y'=4], [{}, {}]}"),
        (XY, '[{"y", ?}, {?}]', "", "{mesh['x'=2,'y'=4], [{'y', ?}, {?}]}"),
        (XY, '[{"y":(2)2, "x"}p1, {}]', "", "{mesh['x'=2,'y'=4], [{'y':(2)2, 'x'}, {}]}"),
        (XY, '[{"x"}], replicated={"y"}', "", "{mesh['x'=2,'y'=4], [{'x'}], replicated={'y'}}"),
        (XY, '[{"x"}], unreduced=max{"y"}', "", "{mesh['x'=2,'y'=4], [{'x'}], unreduced={'y'}}"),
        (XY, "[{}]", "x", "{mesh['x'=2,'y'=4], [{}], manual={'x'}}"),
        (XY, '[{"x"}]', "y y", "{mesh['x'=2,'y'=4], [{'x'}], manual={'y'}}"),
        (XY, "[{}, {}]", "y x", "{mesh['x'=2,'y'=4], manual}"),
        (IDS, '[{"x"}]', "", "{mesh['x'=2,'y'=2], device_ids=(3,1,2,0), [{'x'}]}"),
        ("<[], device_ids=[5]>", "[]", "", "{maximal_mesh[device_id=5]}"),
        ("<[]>", "[]", "", "{mesh[], replicated}"),
        ("<[]>", "[{?}, {}]", "", "{mesh[], [{?}, {}]}"),
        ('<["x"=1]>', '[{"x"}]', "", "{mesh['x'=1], [{'x'}]}"),
        ('<["a\'b"=2]>', '[{"a\'b"}]', "", "{mesh['a'b'=2], [{'a'b'}]}"),
    ],
)
def test_export(mesh: str, body: str, manual: str, text: str) -> None:
    assert str(export(mesh, body, *manual.split())) == text


def test_export_of_what_no_named_sharding_says() -> None:
    with pytest.raises(ConversionError) as error:
        export('<["x"=18]>', '[{"x":(2)3}, {"x":(9)2}]')
    assert "no named sharding says this: no cutting of the axis into parts has both" in str(error.value)
    assert str(export('<["x"=18]>', '[{"x":(2)3}, {"x":(9)2}]', target=Target.CURRENT)).startswith(
        "{devices="
    )
    with pytest.raises(VerificationError, match='no axis named "z"'):
        export(XY, '[{"z"}]')


def test_losses_of_the_export() -> None:
    sharding = TensorShardingAttr.from_string(
        '<@mesh, [{"x", ?}p1, {}], replicated={"y":(1)2}, unreduced=max{"y":(2)2}>', target=Target.NEWER
    )
    losses = export_losses(sharding, MeshAttr.from_string(XY), target=Target.NAMED)
    assert [(loss.kind.value, loss.detail) for loss in losses] == [
        ("priority", "p1"),
        ("reduction-op", "max"),
    ]


# the sharding, options, the result
IMPORTS: list[tuple[str, dict[str, Any], str]] = [
    ("{mesh['x'=2,'y'=4], [{'y', ?}, {}]}", {}, '<@mesh, [{"y", ?}, {}]>'),
    ("{mesh['x'=2,'y'=4], [{'y', ?}, {}]}", {"mesh_name": "m"}, '<@m, [{"y", ?}, {}]>'),
    ("{mesh['x'=2], [{'x'}]}", {}, '<mesh<["x"=2]>, [{"x"}]>'),
    ("{mesh['x'=2], [{'x'}]}", {"mesh": None}, '<mesh<["x"=2]>, [{"x"}]>'),
    ("{mesh['x'=2,'y'=4], [{'y'}]}", {"mesh_name": None}, f'<mesh{XY}, [{{"y"}}]>'),
    ("{mesh['x'=2,'y'=4], replicated}", {"rank": 2}, "<@mesh, [{}, {}]>"),
    ("{mesh['x'=2,'y'=4], replicated}", {"rank": 1, "open_dims": True}, "<@mesh, [{}]>"),
    ("{mesh['x'=2,'y'=4], [{'y'}, {?}]}", {"open_dims": True}, '<@mesh, [{"y"}, {?}]>'),
    ("{mesh['x'=2,'y'=4], unreduced}", {"rank": 1}, '<@mesh, [{}], unreduced={"x", "y"}>'),
    ("{mesh['x'=2,'y'=4], manual}", {"rank": 1}, "<@mesh, [{}]>"),
    ("{mesh['x'=2,'y'=4], [{}], manual={'x'}}", {}, "<@mesh, [{}]>"),
    ("{mesh['x'=2,'y'=4], [{'y':(1)2}], replicated={'x'}}", {}, '<@mesh, [{"y":(1)2}], replicated={"x"}>'),
    ("{mesh[], replicated}", {"rank": 1}, "<mesh<[]>, [{}]>"),
    ("{mesh[], [{?}]}", {"mesh": MeshAttr()}, "<@mesh, [{?}]>"),
    ("{mesh[], [{?}]}", {"mesh": None}, "<mesh<[]>, [{?}]>"),
    ("{maximal_mesh[device_id=3]}", {}, "<@maximal_mesh_3, []>"),
    ("{maximal_mesh[device_id=3]}", {"mesh_name": None}, "<mesh<[], device_ids=[3]>, []>"),
    (
        "{mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)), [{'x'}]}",
        {},
        '<mesh<["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>, [{"x"}]>',
    ),
]


@pytest.mark.parametrize(("text", "options", "result"), IMPORTS)
def test_import(text: str, options: dict[str, Any], result: str) -> None:
    options = {"mesh": MeshAttr.from_string(XY), **options}
    sharding = convert_to_sdy_sharding(HloSharding.from_string(text), **options)
    assert str(sharding) == f"#sdy.sharding{result}"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("{mesh['x'=2], replicated}", {}, "does not tell the rank of the tensor"),
        ("{mesh['x'=2], [{'x'}]}", {"rank": 2}, "tiles tensors of rank 1, not of rank 2"),
        ("{maximal_mesh[device_id=-1]}", {}, "names no real device"),
        ("{{mesh['x'=2], [{'x'}]}}", {}, "a Shardy sharding is that of one tensor"),
        ("{devices=[2]<=[2]}", {"mesh": None}, "only a sharding over a named mesh has its own"),
    ],
)
def test_import_errors(text: str, options: dict[str, Any], message: str) -> None:
    options = {"mesh": MeshAttr.from_string('<["x"=2]>'), **options}
    with pytest.raises(SdyBridgeError) as error:
        convert_to_sdy_sharding(HloSharding.from_string(text), **options)
    assert message in str(error.value)


def test_the_reduction_of_newer_releases() -> None:
    named = HloSharding.from_string("{mesh['x'=2], [{}], unreduced=max{'x'}}", target=Target.NEWER)
    assert str(convert_to_sdy_sharding(named, target=Target.NEWER)).endswith('[{}], unreduced=max{"x"}>')
    assert str(convert_to_sdy_sharding(named)).endswith('[{}], unreduced={"x"}>')
    assert [loss.kind.value for loss in import_losses(named)] == ["reduction-op"]


def test_manual_axes() -> None:
    assert get_manual_axes(HloSharding.from_string("{mesh['x'=2,'y'=4], [{}], manual={'y'}}")) == ("y",)
    assert get_manual_axes(HloSharding.from_string("{mesh['x'=2,'y'=4], manual}")) == ("x", "y")
    assert get_manual_axes(HloSharding.from_string("{mesh['x'=2], [{'x'}]}")) == ()
    with pytest.raises(ConversionError, match=r"'x':\(1\)2 is manual, but a manual computation binds whole"):
        get_manual_axes(HloSharding.from_string("{mesh['x'=4], [{}], manual={'x':(1)2}}"))


@pytest.mark.parametrize(
    ("text", "options", "losses"),
    [
        ("{mesh['x'=2], [{'x', ?}], replicated={}}", {}, []),
        ("{mesh['x'=2], replicated}", {}, ["chosen-openness: closed"]),
        ("{mesh['x'=2], [{'x'}]}", {"open_dims": True}, []),
        ("{mesh['x'=2], manual}", {}, ['manual: "x"', "chosen-openness: closed"]),
        ("{maximal_mesh[device_id=3]}", {}, []),
    ],
)
def test_losses_of_the_import(text: str, options: dict[str, Any], losses: list[str]) -> None:
    found = import_losses(HloSharding.from_string(text), **options)
    assert [f"{loss.kind.value}: {loss.detail}" for loss in found] == losses


def infer(*texts: str, **options: Any) -> dict[str, str]:
    shardings = [HloSharding.from_string(text) for text in texts]
    inferred = infer_mesh(shardings, **options)
    return {
        **{name: mesh.stripped for name, mesh in inferred.meshes.items()},
        "on": " ".join(str(inferred.mesh_name(one)) for one in shardings),
    }


def test_meshes_of_a_program() -> None:
    ab, ba = "{mesh['a'=2,'b'=2], [{'a'}]}", "{mesh['b'=2,'a'=2], [{'a'}]}"
    assert infer(ab, ab) == {"mesh": '<["a"=2, "b"=2]>', "on": "mesh mesh"}
    assert infer(ab, ba) == {"mesh": '<["a"=2, "b"=2]>', "mesh_1": '<["b"=2, "a"=2]>', "on": "mesh mesh_1"}
    assert infer("{mesh[], replicated}", "{manual}", ab) == {
        "mesh": '<["a"=2, "b"=2]>',
        "empty_mesh": "<[]>",
        "on": "empty_mesh mesh mesh",
    }
    assert infer("{mesh[], replicated}", "{manual}") == {"empty_mesh": "<[]>", "on": "empty_mesh empty_mesh"}
    assert infer("{mesh[], replicated}", "{unreduced}", num_devices=2)["on"] == "empty_mesh mesh"
    assert infer("{mesh[], replicated}", mesh=MeshAttr(), mesh_name="m") == {"m": "<[]>", "on": "m"}


def test_a_grid_goes_on_a_named_mesh_that_has_its_axes() -> None:
    named, grid, other = "{mesh['a'=2,'b'=2], [{'a'}]}", "{devices=[2,2]<=[2,2]T(1,0)}", "{devices=[3]<=[3]}"
    assert infer(grid, named) == {"mesh": '<["a"=2, "b"=2]>', "on": "mesh mesh"}
    assert infer(other, named) == {
        "mesh": '<["a"=2, "b"=2]>',
        "mesh_1": '<["_axis_0"=3]>',
        "on": "mesh_1 mesh",
    }


def test_known_meshes() -> None:
    known = {"m": MeshAttr.from_sizes({"a": 2, "b": 2}), "one": MeshAttr.maximal(3)}
    assert infer("{mesh['a'=2,'b'=2], [{'a'}]}", "{maximal_mesh[device_id=3]}", mesh=known)["on"] == "m one"
    assert infer("{mesh['a'=4], [{'a'}]}", mesh=known)["on"] == "mesh"


def test_a_sharding_that_no_mesh_was_made_for() -> None:
    inferred = infer_mesh([HloSharding.from_string("{mesh['a'=2], [{'a'}]}")])
    with pytest.raises(ConversionError, match="no mesh was made for"):
        inferred.mesh_name(HloSharding.from_string("{mesh['b'=2], [{'b'}]}"))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{replicated}", "{mesh[], replicated}"),
        ("{maximal device=3}", "{maximal_mesh[device_id=3]}"),
        ("{devices=[2,4]<=[8]}", "{mesh['axis_0'=2,'axis_1'=4], [{'axis_0'}, {'axis_1'}]}"),
        ("{devices=[4,2]<=[2,4]T(1,0)}", "{mesh['axis_0'=2,'axis_1'=4], [{'axis_1'}, {'axis_0'}]}"),
        ("{devices=[4,1,2]<=[8] last_tile_dim_replicate}", "{mesh['axis_0'=4,'axis_1'=2], [{'axis_0'}, {}]}"),
        (
            "{devices=[2,2,2]<=[8] last_tile_dims={manual, unreduced}}",
            "{mesh['axis_0'=2,'axis_1'=2,'axis_2'=2], [{'axis_0'}], unreduced={'axis_2'}, manual={'axis_1'}}",
        ),
        ("{devices=[3,1]2,0,1}", "{mesh['axis_0'=3], device_ids=(2,0,1), [{'axis_0'}, {}]}"),
        ("{devices=[1,1]<=[1]}", "{mesh[], [{}, {}]}"),
        ("{mesh['a'=2], [{'a'}]}", "{mesh['a'=2], [{'a'}]}"),
        ("{{replicated}, {devices=[2]<=[2]}}", "{{mesh[], replicated}, {mesh['axis_0'=2], [{'axis_0'}]}}"),
    ],
)
def test_the_named_form(text: str, result: str) -> None:
    assert str(to_v3_sharding(HloSharding.from_string(text))) == result


def test_the_named_form_keeps_metadata_and_reduction() -> None:
    grid = HloSharding.iota_tile([2]).with_metadata([OpMetadata(op_name="x")])
    named = to_v3_sharding(grid.with_reduction_op(ReductionOp.MIN))
    assert named.to_string() == "{mesh['axis_0'=2], [{'axis_0'}], metadata={{op_name=\"x\"}}}"
    assert named.reduction_op is ReductionOp.MIN


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{manual}", "does not tell on which mesh it is"),
        ("{unknown}", "does not tell on which mesh it is"),
        ("{unreduced}", "does not tell on which mesh it is"),
        ("{devices=[2]<=[2] shard_as 1}", "is in a shard group"),
        ("{devices=[2,2]<=[4] last_tile_dims={maximal}}", "no maximal subgroups"),
        ("{devices=[2]0,2}", "device 2 is not on a mesh of 2 devices"),
    ],
)
def test_what_has_no_named_form(text: str, message: str) -> None:
    with pytest.raises(ConversionError) as error:
        to_v3_sharding(HloSharding.from_string(text))
    assert message in str(error.value)
