"""Carriers of programs: what the results of export and import say of them."""

from __future__ import annotations

import pytest

from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.modules import CarrierForm, export_module, import_module, verify_module
from sdybridge.modules.splice import Origins, splice
from sdybridge.sdy import MeshAttr
from sdybridge.target import Target

SDY = """\
module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {?}]>}, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {?}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
    %0 = sdy.sharding_constraint %a <@mesh, [{"y"}, {?}]> : tensor<8x8xf32>
    %1 = stablehlo.while(%i = %0) : tensor<8x8xf32> cond {
      %2 = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      stablehlo.return %i : tensor<8x8xf32>
    }
    return %1 : tensor<8x8xf32>
  }
}
"""  # noqa: E501


def test_export_says_what_it_did() -> None:
    result = export_module(SDY, carrier=CarrierForm.SDY)
    assert result.losses == ()
    assert result.operations == {"sdy.mesh": 1, "sdy.sharding_constraint": 1}
    assert result.added == 0
    assert [(one.after, one.count) for one in result.shardings] == [
        ("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", 2),
        ("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", 1),
        ("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", 1),
    ]
    assert SDY.startswith('#sdy.sharding<@mesh, [{"x", ?}p1', result.shardings[0].first)
    assert SDY.startswith('#sdy.sharding<@mesh, [{}, {"y"}]>', result.shardings[1].first)


def test_missing_shardings_are_added_on_request_only() -> None:
    assert "replicated}" not in export_module(SDY, carrier=CarrierForm.SDY).text.replace(
        "tile_dim_replicate", ""
    )
    result = export_module(SDY, carrier=CarrierForm.SDY, add_missing_sharding_to_control_flow=True)
    assert result.added == 1
    assert import_module(result.text).text == SDY


@pytest.mark.parametrize("target", Target)
def test_import_says_what_it_did(target: Target) -> None:
    exported = export_module(SDY, carrier=CarrierForm.SDY, target=target).text
    result = import_module(exported, target=target)
    assert result.text == SDY
    assert (result.carried, result.dropped, result.removed) == (4, 0, 0)
    assert result.losses == ()
    assert result.meshes == {"mesh": MeshAttr.from_sizes({"x": 2, "y": 4})}
    assert result.operations == {
        "stablehlo.custom_call @Sharding": 1,
        "stablehlo.custom_call @xla.sdy.FuncResultSharding": 1,
    }
    assert [one.count for one in result.shardings] == [2, 1, 1]
    assert exported.startswith('"#sdy.sharding<@mesh, [{', result.shardings[0].first)
    assert verify_module(result.text) == []


def test_without_carriers_the_hlo_shardings_count() -> None:
    exported = export_module(SDY, carrier=CarrierForm.SDY).text
    result = import_module(exported, carriers=False, axis_names=["x", "y"])
    assert (result.carried, result.dropped) == (0, 0)
    assert "xla.sdy.meshes" in result.text
    assert 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>' in result.text


def test_hlo_shardings_without_a_carrier_are_counted() -> None:
    exported = export_module(SDY, carrier=CarrierForm.SDY).text
    text = exported.replace(
        "%2 = stablehlo.constant dense", '%2 = stablehlo.constant {mhlo.sharding = "{replicated}"} dense'
    )
    result = import_module(text)
    assert result.dropped == 1
    assert result.text == SDY


# A program that export with carriers rejects, what stands where it does so, and why.
REJECTED = [
    (SDY.replace('"y"}, {?}]> : ', '"z"}, {?}]> : '), '"z"}, {?}]> : ', 'no axis named "z"'),
    (SDY.replace("p1, {?}]>}, %b", "p1, ]>}, %b"), "]>}, %b", "expected a dimension sharding after ','"),
    (SDY.replace("@mesh, [{}, ", "@other, [{}, "), "@other, [{}, ", "unknown mesh @other"),
]


@pytest.mark.parametrize(("text", "there", "message"), REJECTED)
def test_export_errors_are_placed_in_the_program(text: str, there: str, message: str) -> None:
    with pytest.raises(SdyBridgeError) as caught:
        export_module(text, carrier=CarrierForm.SDY, name="f.mlir")
    assert message in caught.value.message
    assert caught.value.source
    assert (caught.value.source.name, caught.value.source.text) == ("f.mlir", text)
    assert caught.value.span
    assert text.startswith(there, caught.value.span.start)


def test_the_callers_meshes_supply_what_is_lost() -> None:
    exported = export_module(SDY, carrier=CarrierForm.SDY).text
    lost = exported.replace(exported[exported.index(" attributes") : exported.index("}} {") + 2], "")
    assert "xla.sdy.meshes" not in lost
    with pytest.raises(VerificationError) as caught:
        import_module(lost)
    assert caught.value.rule == "unknown-mesh"
    assert import_module(lost, mesh=MeshAttr.from_sizes({"x": 2, "y": 4})).text == SDY
    assert import_module(lost, mesh={"mesh": MeshAttr.from_sizes({"x": 2, "y": 4})}).text == SDY


def test_origins() -> None:
    text, edits = "abcdef", [(0, 0, "XY"), (1, 3, ""), (4, 5, "long"), (6, 6, "end")]
    new = splice(text, edits)
    assert new == "XYadlongfend"
    origin = Origins(edits)
    assert [origin(at) for at in range(len(new) + 1)] == [0, 0, 0, 3, 4, 4, 4, 4, 5, 6, 6, 6, 6]
