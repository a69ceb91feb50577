"""Inputs that people struggled with, reduced, and what import says of them."""

from __future__ import annotations

import pytest
from tests.unit.bridge.same_placement import assert_same_placement

from sdybridge import (
    HloSharding,
    MeshAttr,
    ParseError,
    TensorShardingAttr,
    VerificationError,
    convert_to_hlo_sharding,
    convert_to_sdy_sharding,
    get_manual_axes,
    import_module,
    infer_mesh,
)
from sdybridge.bridge import analyze_tile_assignment
from sdybridge.hlo.iota_recognition import recognize_iota

hlo_of = HloSharding.from_string
mesh_of = MeshAttr.from_string


def imported(hlo: str, mesh: str) -> str:
    sharding = convert_to_sdy_sharding(hlo_of(hlo), mesh_of(mesh))
    assert_same_placement(hlo_of(hlo), sharding, mesh_of(mesh), get_manual_axes(hlo_of(hlo), mesh_of(mesh)))
    assert sharding.stripped.startswith("<@mesh, ")
    return sharding.stripped.removeprefix("<@mesh, ").removesuffix(">")


def exported(sharding: str, mesh: str) -> HloSharding:
    return convert_to_hlo_sharding(TensorShardingAttr.from_string(f"<@mesh, {sharding}>"), mesh_of(mesh))


def moved(before: HloSharding, after: HloSharding) -> list[int]:
    """The devices that hold another tile afterwards."""
    return [
        device
        for device in range(before.num_devices)
        if before.tile_index_for_device(device) != after.tile_index_for_device(device)
    ]


FINE = "{devices=[3,4]<=[2,3,2]T(1,0,2)}"


@pytest.mark.parametrize(
    ("mesh", "expected"),
    [
        ('<["a"=2, "b"=3, "c"=2]>', '[{"b"}, {"a", "c"}]'),
        ('<["data"=2, "model"=6]>', '[{"model":(1)3}, {"data", "model":(3)2}]'),
        ('<["p"=6, "q"=2]>', '[{"p":(2)3}, {"p":(1)2, "q"}]'),
    ],
)
def test_c1_a_fine_sharding_on_a_coarser_mesh(mesh: str, expected: str) -> None:
    assert imported(FINE, mesh) == expected
    assert str(exported(expected, mesh)) == FINE


def test_c1_without_a_mesh() -> None:
    text = f'func.func @f(%a: tensor<6x4xf32> {{mhlo.sharding = "{FINE}"}}) {{\n}}\n'
    assert import_module(text, axis_names=["a", "b", "c"]).text == (
        'sdy.mesh @mesh = <["a"=2, "b"=3, "c"=2]>\n'
        'func.func @f(%a: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {"a", "c"}]>}) {\n}\n'
    )


def test_c2_a_sharding_that_distorts_the_mesh() -> None:
    mesh = '<["batch"=2, "model"=4]>'
    output = hlo_of("{devices=[1,4,2]<=[8] last_tile_dim_replicate}")
    meant = exported('[{}, {"model"}]', mesh)
    assert imported(str(output), mesh) == '[{}, {"batch", "model":(1)2}]'
    assert str(meant) == "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"
    assert moved(meant, output) == [1, 2, 3, 4, 5, 6]


def test_c3_one_mesh_for_all_annotations() -> None:
    rows, columns = "{devices=[2,4]<=[8]}", "{devices=[4,2]<=[2,4]T(1,0)}"
    listed = "{devices=[4,2]0,4,1,5,2,6,3,7}"
    arguments = ", ".join(
        f'%{i}: tensor<8x8xf32> {{mhlo.sharding = "{text}"}}'
        for i, text in enumerate((rows, columns, listed))
    )
    result = import_module(f"func.func @f({arguments}) {{\n}}\n", axis_names=["x", "y"])
    assert {name: mesh.stripped for name, mesh in result.meshes.items()} == {"mesh": '<["x"=2, "y"=4]>'}
    assert [sharding.after for sharding in result.shardings] == [
        f"#sdy.sharding<@mesh, {dims}>" for dims in ('[{"x"}, {"y"}]', '[{"y"}, {"x"}]', '[{"y"}, {"x"}]')
    ]
    assert hlo_of(listed) == hlo_of(columns)


@pytest.mark.parametrize(
    ("mesh", "sharding", "expected", "factors"),
    [
        (
            '<["x"=2, "y"=4]>', '[{"y"}, {}]',
            "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", [(2, 0, 0, 2), (0, 0, 1, 4)],
        ),
        (
            '<["x"=2, "y"=2, "z"=2]>', '[{"z"}, {"x", "y"}]',
            "{devices=[2,4]<=[4,2]T(1,0)}", [(1, 0, 0, 4), (0, 0, 1, 2)],
        ),
    ],
)  # fmt: skip
def test_c4_the_steps_from_axes_to_a_grid_and_back(
    mesh: str, sharding: str, expected: str, factors: list[tuple[int, ...]]
) -> None:
    grid = exported(sharding, mesh)
    assert str(grid) == expected
    found = analyze_tile_assignment(grid.tile_assignment)
    assert [
        (one.tile_dim_index, one.tile_sub_dim_index, one.reshape_dim_index, one.size) for one in found
    ] == factors
    assert imported(expected, mesh) == sharding


def test_c5_device_lists() -> None:
    listed = hlo_of("{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}")
    assert listed == hlo_of("{devices=[2,1,4]<=[8] last_tile_dim_replicate}")
    mesh = '<["data"=4, "model"=2], device_ids=[4, 7, 6, 3, 0, 1, 2, 5]>'
    permuted = exported('[{"data"}, {"model"}]', mesh)
    assert str(permuted) == "{devices=[4,2]4,7,6,3,0,1,2,5}"
    assert recognize_iota(permuted.tile_assignment) is None
    assert imported(str(permuted), mesh) == '[{"data"}, {"model"}]'


def test_c6_a_tuple_with_long_lists() -> None:
    blocks = (0, 32, 8, 40, 16, 48, 24, 56)
    devices = ",".join(str(block + i) for block in blocks for i in range(8))
    listed = f"{{devices=[1,4,2,1,1,1,8]{devices} last_tile_dim_replicate}}"
    iota = "{devices=[4,8,2]<=[2,32]T(1,0)}"
    sixty = hlo_of("{" + ", ".join([listed, iota] * 32) + "}")
    assert len(sixty.tuple_elements) == 64
    assert str(recognize_iota(sixty.tuple_elements[0].tile_assignment)) == (
        "devices=[1,4,2,1,1,1,8]<=[2,4,8]T(1,0,2)"
    )
    inferred = infer_mesh([sixty], axis_names=["a", "b", "c"])
    assert inferred.meshes == {"mesh": MeshAttr.from_sizes({"a": 2, "b": 4, "c": 8})}
    assert [inferred.convert(one).stripped for one in sixty.tuple_elements[:2]] == [
        '<@mesh, [{}, {"b"}, {"a"}, {}, {}, {}]>',
        '<@mesh, [{"b"}, {"c"}, {"a"}]>',
    ]


def test_c7_a_full_rematerialization_in_axes() -> None:
    mesh = '<["x"=4, "y"=2]>'
    before, after = hlo_of("{devices=[2,1,4]<=[4,2]T(1,0)}"), hlo_of("{devices=[1,8,1]<=[8]}")
    assert imported(str(before), mesh) == '[{"y"}, {}, {"x"}]'
    assert imported(str(after), mesh) == '[{}, {"x", "y"}, {}]'
    assert before.tile_shape([16, 16, 16]) == (8, 16, 4)
    assert after.tile_shape([16, 16, 16]) == (16, 2, 16)
    assert moved(before, after) == [1, 2, 3, 4, 5, 6, 7]


def test_c8_the_same_without_a_mesh() -> None:
    before = hlo_of("{devices=[256,1]<=[256]}")
    after = hlo_of("{devices=[1,64,4]<=[256] last_tile_dim_replicate}")
    inferred = infer_mesh([before, after], axis_names=["a", "b"])
    assert inferred.meshes == {"mesh": MeshAttr.from_sizes({"a": 64, "b": 4})}
    assert inferred.convert(before).stripped == '<@mesh, [{"a", "b"}, {}]>'
    assert inferred.convert(after).stripped == '<@mesh, [{}, {"a"}]>'


def test_c9_a_sharding_of_another_rank() -> None:
    text = "{devices=[1,1,2,2]<=[4] last_tile_dim_replicate}"
    message = "tiles tensors of rank 3, not of rank 1"
    with pytest.raises(VerificationError, match=message):
        convert_to_sdy_sharding(hlo_of(text), mesh_of('<["x"=2, "y"=2]>'), rank=1)
    pad = (
        f"func.func @main() {{\n  %pad = stablehlo.pad %a, %b, low = [0], high = [0], interior = [0] "
        f'{{mhlo.sharding = "{text}"}} : (tensor<8xf64>, tensor<f64>) -> tensor<96xf64>\n}}\n'
    )
    with pytest.raises(VerificationError, match=message) as raised:
        import_module(pad, name="pad.mlir")
    assert str(raised.value).startswith("pad.mlir:2:88: error: ")
    assert "tensor<96xf64>" in str(raised.value)


def test_c10_an_escaped_proto() -> None:
    escaped = r"\08\03\1A\02\02\01\22\02\00\01"
    result = import_module(f'func.func @f(%a: tensor<8x8xf32> {{mhlo.sharding = "{escaped}"}}) {{\n}}\n')
    assert [sharding.before for sharding in result.shardings] == ["{devices=[2,1]0,1}"]
    assert [sharding.after for sharding in result.shardings] == ['#sdy.sharding<@mesh, [{"_axis_0"}, {}]>']
    assert str(HloSharding.from_proto(bytes.fromhex(escaped.replace("\\", "").replace('"', "")))) == (
        "{devices=[2,1]0,1}"
    )


def test_c11_other_numbers_of_tiles_and_devices() -> None:
    with pytest.raises(ParseError, match="has 4 devices, but 16 are counted") as raised:
        hlo_of("{devices=[2,2]<=[16]}")
    assert raised.value.help == "write <=[4]"


def test_c13_two_generations_of_carriers() -> None:
    """One manual computation from the attributes on the call, as once, and from those beside it, as today."""
    ins = r'xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>"'
    outs = r'xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>"'
    axes = r'xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22}>"'
    once = ("", f" {{mhlo.frontend_attributes = {{{ins}, {axes}, {outs}}}}}", "")
    today = (
        f" {{mhlo.frontend_attributes = {{{ins}, {axes}}}}}",
        "",
        f" {{mhlo.frontend_attributes = {{{axes}, {outs}}}}}",
    )
    found = {import_module(kept_computation(*where)).text for where in (once, today)}
    assert found == {
        """\
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %2 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]\
 manual_axes={"x"} (%body0_b: tensor<4xf32>) {
    sdy.return %body0_b : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
"""
    }


def kept_computation(before: str, at: str, behind: str) -> str:
    """A manual computation as calls, with these attributes."""
    local, whole = "tensor<4xf32>", "tensor<8xf32>"
    body = "@xla.sdy.manual_computation_body"
    return f"""\
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: {whole}) -> {whole} {{
  %0 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%a){before} : ({whole}) -> {local}
  %1 = call {body}(%0){at} : ({local}) -> {local}
  %2 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%1){behind} : ({local}) -> {whole}
  return %2 : {whole}
}}
func.func private {body}(%b: {local}) -> {local} {{
  return %b : {local}
}}
"""


def test_c25_subgroups_in_the_other_order() -> None:
    mesh = '<["a"=2, "b"=2, "c"=2]>'
    texts = (
        "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}",
        "{devices=[1,1,2,4]<=[4,2]T(1,0) last_tile_dims={replicated, manual}}",
    )
    assert [imported(text, mesh) for text in texts] == ["[{}, {}]"] * 2
    assert [get_manual_axes(hlo_of(text), mesh_of(mesh)) for text in texts] == [("a", "b")] * 2
    assert hlo_of(texts[0]) == hlo_of(texts[1])
    assert str(hlo_of(texts[1])) == texts[0]
    for text in texts:
        sharding = TensorShardingAttr.from_string(f"<@mesh, {imported(text, mesh)}>")
        back = convert_to_hlo_sharding(sharding, mesh_of(mesh), manual_axes=["a", "b"])
        assert str(back) == texts[0]
