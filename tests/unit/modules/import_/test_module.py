from __future__ import annotations

import pytest

from sdybridge.bridge import LossKind
from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.modules import export_module, import_module
from sdybridge.sdy import MeshAttr
from sdybridge.target import Target

T = "tensor<8x8xf32>"
TILED = "{devices=[2,4]<=[8]}"
PARTLY = "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"


def argument(literal: str, of_type: str = "tensor<8x8xf32>") -> str:
    return f'func.func @main(%a: {of_type} {{mhlo.sharding = "{literal}"}}) {{\n}}\n'


def test_result() -> None:
    text = f"""module {{
  func.func @main(
      %a: tensor<8x8xf32> {{mhlo.sharding = "{TILED}"}},
      %b: tensor<8x8xf32> {{mhlo.sharding = "{TILED}"}}) {{
    %0 = stablehlo.custom_call @Sharding(%a) {{mhlo.sharding = "{{replicated}}"}} : ({T}) -> {T}
    %1 = stablehlo.abs %b {{mhlo.sharding = "{{maximal device=3}}"}} : tensor<8x8xf32>
  }}
}}
"""
    result = import_module(text)
    assert result.sites == 4
    assert dict(result.operations) == {"stablehlo.custom_call @Sharding": 1}
    assert {name: mesh.stripped for name, mesh in result.meshes.items()} == {
        "mesh": '<["_axis_0"=2, "_axis_1"=4]>',
        "maximal_mesh_3": "<[], device_ids=[3]>",
    }
    assert [(one.before, one.after, one.count, text[one.first]) for one in result.shardings] == [
        (TILED, '#sdy.sharding<@mesh, [{"_axis_0"}, {"_axis_1"}]>', 2, '"'),
        ("{replicated}", "<@mesh, [{}, {}]>", 1, '"'),
        ("{maximal device=3}", "#sdy.sharding_per_value<[<@maximal_mesh_3, []>]>", 1, '"'),
    ]
    assert [(loss.kind, count) for loss, count in result.losses] == [(LossKind.CHOSEN_OPENNESS, 3)]


def test_names() -> None:
    result = import_module(argument(PARTLY), mesh_name="my mesh", axis_names=["x", "y"])
    assert result.text == (
        'sdy.mesh @"my mesh" = <["x"=2, "y"=4]>\n'
        'func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@"my mesh", [{"y"}, {}]>}) {\n}\n'
    )


@pytest.mark.parametrize("literal", ["{manual}", "{devices=[1,1,8]<=[8] last_tile_dims={manual}}"])
def test_manual_devices_are_a_listed_loss(literal: str) -> None:
    result = import_module(argument(literal))
    assert LossKind.MANUAL in {loss.kind for loss, _ in result.losses}


@pytest.mark.parametrize(
    ("target", "list_replicated_axes", "expected"),
    [
        (Target.CURRENT, None, False),
        (Target.CLASSIC, None, True),
        (Target.CURRENT, True, True),
        (Target.CLASSIC, False, False),
    ],
)
def test_replicated_axes(target: Target, list_replicated_axes: bool | None, expected: bool) -> None:
    result = import_module(argument(PARTLY), target=target, list_replicated_axes=list_replicated_axes)
    assert ('replicated={"_axis_0"}' in result.text) == expected


FUNCTION = """func.func @main(
    %a: tensor<8xf32> {mhlo.sharding = "{devices=[8]<=[8]}"},
    %b: tensor<8xf32> {mhlo.sharding = "{devices=[8]<=[8]}"}
  ) -> (
    tensor<8xf32> {mhlo.sharding = "{devices=[8]<=[8]}"}, i32,
    tensor<8xf32> {mhlo.sharding = "{replicated}"}
  ) {
}
"""


@pytest.mark.parametrize(
    ("arguments", "results", "expected"),
    [
        ([], [], "c c c c"),
        ([True], [], "o o c c"),
        ([False, True], [], "c o c c"),
        ([], [True], "c c o o"),
        ([True, False], [False, False, True], "o c c o"),
        ([False], [True, True, False], "c c o c"),
        ([True, True, True], [True] * 9, "o o o o"),  # more than there are
    ],
)
@pytest.mark.parametrize("separator", ["\n", " "])
def test_open_values(arguments: list[bool], results: list[bool], expected: str, separator: str) -> None:
    text = FUNCTION.replace("\n", separator)
    new = import_module(text, open_arguments=arguments, open_results=results).text
    shardings = new.split("#sdy.sharding<@mesh, [{")[1:]
    assert " ".join("o" if "?" in one.partition("}")[0] else "c" for one in shardings) == expected


@pytest.mark.parametrize("flags", [[1], ["yes"], 5, "all"])
def test_open_values_are_bools(flags: object) -> None:
    with pytest.raises(VerificationError):
        import_module(FUNCTION, open_arguments=flags)  # type: ignore[arg-type]


def test_too_few_flags_for_results() -> None:
    with pytest.raises(
        VerificationError, match="open_results has 2 flags, and @main has 3 results"
    ) as raised:
        import_module(FUNCTION, open_results=[True, False])
    assert raised.value.span is not None
    assert FUNCTION.startswith("tensor<8xf32>", raised.value.span.start)


def test_long_signatures_are_read_as_short_ones_are() -> None:
    shardings = [TILED, "{replicated}", PARTLY, "{maximal device=2}"]
    arguments = [
        f'%a{i}: tensor<{8 + i % 3}x8xf32> {{a.b = "c", mhlo.sharding = "{shardings[i % 4]}", z = {i} : i64}}'
        for i in range(300)
    ]
    long = f"func.func @main({', '.join(arguments)}) {{\n}}\n"
    short = "func.func @main(" + ",\n".join(arguments) + ") {\n}\n"
    one, other = import_module(long), import_module(short)
    assert one.text.replace(", %", ",\n%") == other.text
    assert [(s.before, s.after, s.count) for s in one.shardings] == [
        (s.before, s.after, s.count) for s in other.shardings
    ]
    assert one.sites == 300


@pytest.mark.parametrize("bad", ["{replicatd}", "{devices=[2,2,2]<=[8]}"])
def test_an_error_in_a_long_signature_stands_where_it_is(bad: str) -> None:
    arguments = [f'%a{i}: tensor<8x8xf32> {{mhlo.sharding = "{TILED}"}}' for i in range(300)]
    arguments[200] = arguments[200].replace(TILED, bad)
    text = f"func.func @main({', '.join(arguments)}) {{\n}}\n"
    with pytest.raises(SdyBridgeError) as raised:
        import_module(text)
    assert raised.value.span is not None
    assert text.rfind("%a200:", 0, raised.value.span.start) > text.rfind("%a199:", 0, raised.value.span.start)
    assert raised.value.span.start < text.index("%a201:")


def test_progress() -> None:
    line = f'  %0 = stablehlo.abs %a {{mhlo.sharding = "{TILED}"}} : tensor<8x8xf32>\n'
    seen: list[int] = []
    import_module(line * 40_000, progress=seen.append)
    assert len(seen) >= 2
    assert seen == sorted(seen)


def test_added_control_flow_shardings_can_stay() -> None:
    text = """%1:2 = "stablehlo.case"(%i) ({
  stablehlo.return %y : tensor<8xf32>
}) {mhlo.sharding = "{replicated}"} : (tensor<i32>) -> (tensor<i32>, tensor<8xf32>)
"""
    removed = import_module(text)
    assert removed.removed == 1
    assert "sharding" not in removed.text
    kept = import_module(text, remove_added_sharding_from_control_flow=False)
    assert kept.removed == 0
    assert "{sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}]>]>}" in kept.text


@pytest.mark.parametrize(
    "mesh",
    [
        MeshAttr.from_sizes({"x": 2, "y": 4}),
        {"a": MeshAttr.from_sizes({"p": 8}), "b": MeshAttr.from_sizes({"q": 2})},
        None,
    ],
    ids=["one", "several", "none"],
)
@pytest.mark.parametrize(
    "literal", [TILED, PARTLY, "{replicated}", "{maximal device=5}", "{devices=[8,1]<=[8]}"]
)
def test_exported_again_it_is_as_before(mesh: MeshAttr | dict[str, MeshAttr] | None, literal: str) -> None:
    text = argument(literal) + f'%0 = mhlo.copy %a {{mhlo.sharding = "{literal}"}} : tensor<8x8xf32>\n'
    assert export_module(import_module(text, mesh=mesh).text).text == text


def test_an_unused_mesh_of_the_caller_is_not_declared() -> None:
    text = "func.func @main(%a: i32) { return }\n"
    assert import_module(text, mesh=MeshAttr.from_sizes({"x": 2})).text == text


def test_deep_nesting_and_long_lines() -> None:
    deep = "a.b {" * 2000 + f'%0 = c.d %a {{mhlo.sharding = "{TILED}"}} : tensor<8x8xf32>\n' + "}" * 2000
    assert import_module(deep).sites == 1
    line = " ".join(f'%{i} = c.d %a {{mhlo.sharding = "{TILED}"}} : tensor<8x8xf32>' for i in range(500))
    assert import_module(line).sites == 500


def test_kept_shard_maps_say_where_and_why() -> None:
    lines = [
        "func.func @main(%a: t) {",
        '%0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[8]<=[8]}"} : (t) -> t',
        '%1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (t) -> s',
        "return }",
    ]
    text = "\n".join(lines).replace("t)", "tensor<8xf32>)").replace("-> t", "-> tensor<8xf32>")
    text = text.replace("-> s", "-> tensor<1xf32>")
    (kept,) = import_module(text).kept
    assert kept.symbol == "SPMDFullToShardShape"
    assert text[kept.at :].startswith("SPMDFullToShardShape(%0)")
    assert kept.reason == "its body is not a function of its own, called with its result"
