from __future__ import annotations

import random

import pytest
from tests.unit.modules.programs import random_program

from sdybridge.bridge import LossKind
from sdybridge.errors import SdyBridgeError
from sdybridge.modules import ConstraintForm, export_module, import_module, round_trip
from sdybridge.modules.import_.shardings import ShardingImport
from sdybridge.sdy import DimensionShardingAttr, TensorShardingAttr
from sdybridge.target import Target

MESHES = """sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @other = <["p"=4, "q"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
sdy.mesh @single = <[], device_ids=[3]>
"""


def function(sharding: str) -> str:
    return f"{MESHES}func.func @f(%a: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding{sharding}}}) {{\n}}\n"


# a sharding, what it comes back as, and what was lost on the way
TRIPS = [
    ('<@mesh, [{"x"}, {"y"}]>', None, {"chosen-openness"}),
    ('<@mesh, [{"y", "x"}, {}]>', None, {"chosen-openness"}),
    ('<@mesh, [{"y":(2)2}, {"x"}]>', None, {"chosen-openness"}),
    ('<@other, [{"q"}, {"p"}]>', None, {"chosen-openness"}),
    ("<@single, []>", None, set()),
    ("<@mesh, [{}, {}]>", None, {"chosen-openness"}),
    ('<@mesh, [{"x"}, {}], unreduced={"y"}>', None, {"chosen-openness"}),
    ('<@mesh, [{"x", ?}, {?}]>', '<@mesh, [{"x"}, {}]>', {"openness", "chosen-openness"}),
    ('<@mesh, [{"x"}p1, {}]>', '<@mesh, [{"x"}, {}]>', {"priority", "chosen-openness"}),
    (
        '<@mesh, [{"x"}, {}], replicated={"y"}>',
        '<@mesh, [{"x"}, {}]>',
        {"explicit-replication", "chosen-openness"},
    ),
    ("<@other, [{}, {}]>", "<@mesh, [{}, {}]>", {"chosen-openness", "device-order"}),
    ('<mesh<["z"=8]>, [{"z"}, {}]>', '<@mesh, [{"x", "y"}, {}]>', {"chosen-openness"}),
]


@pytest.mark.parametrize(("before", "after", "losses"), TRIPS)
def test_one_sharding(before: str, after: str | None, losses: set[str]) -> None:
    trip = round_trip(function(before))
    [sharding] = trip.shardings
    assert sharding.before == (TensorShardingAttr.from_string(before),)
    assert sharding.after == (TensorShardingAttr.from_string(after or before),)
    assert sharding.is_same == (after is None)
    assert {loss.kind.value for loss in sharding.losses} == losses
    assert trip.is_stable
    assert trip.differences == (() if after is None else (sharding,))


@pytest.mark.parametrize("attributes", ["", "k = 1 : i64"])
def test_calls_that_hold_their_sharding_inside(attributes: str) -> None:
    call = f"%0 = stablehlo.custom_call @mhlo.erf(%a) {{mhlo.attributes = {{{attributes}}}"
    sharding = '#sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>'
    types = "(tensor<8x8xf32>) -> tensor<8x8xf32>"
    trip = round_trip(f"{MESHES}{call}, mhlo.version = 1 : i64, sdy.sharding = {sharding}}} : {types}\n")
    assert trip.exported.text.count("mhlo.sharding") == 1
    assert trip.is_stable
    assert trip.shardings[0].is_same
    assert f"{{{attributes}}}, sdy.sharding = {sharding}, mhlo.version" in trip.imported.text


def test_inferred_meshes() -> None:
    trip = round_trip(function('<@mesh, [{"y"}, {"x"}]>'), keep_meshes=False)
    assert [mesh.stripped for mesh in trip.imported.meshes.values()] == ['<["_axis_0"=2, "_axis_1"=4]>']
    [difference] = trip.differences
    assert difference.after == (TensorShardingAttr.from_string('<@mesh, [{"_axis_1"}, {"_axis_0"}]>'),)
    assert LossKind.AXIS_NAMES in {loss.kind for loss in difference.losses}
    assert trip.is_stable


def test_a_manual_computation_on_the_second_mesh() -> None:
    text = """sdy.mesh @mesh = <["x"=2]>
sdy.mesh @other = <["p"=2, "q"=4]>
func.func @main(%a: tensor<8x8xf32>, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@other, [{"p", "q"}, {}]>] out_shardings=[<@other, [{"p", "q"}, {}]>] manual_axes={"p", "q"} (%c: tensor<1x8xf32>) {
    %1 = stablehlo.constant dense<1.0> : tensor<f32>
    %2 = stablehlo.abs %c : tensor<1x8xf32>
    sdy.return %2 : tensor<1x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""  # noqa: E501
    result = round_trip(text)
    assert "#sdy.sharding_per_value<[<@other, []>]>} dense<1.0>" in result.imported.text
    assert not any(one.before != one.after for one in result.shardings)


def test_errors_name_the_program() -> None:
    with pytest.raises(SdyBridgeError, match=r"^p\.mlir:4:"):
        round_trip(function('<@mesh, [{"z"}, {}]>'), name="p.mlir")


SEEDS = range(150)


def programs(seed: int) -> str | None:
    """A random program with HLO shardings, if it is a valid one."""
    try:
        return export_module(random_program(random.Random(seed))).text
    except SdyBridgeError:
        return None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("constraints", ConstraintForm)
def test_random_programs_export_to_the_same_text_again(seed: int, constraints: ConstraintForm) -> None:
    text = random_program(random.Random(seed))
    try:
        export_module(text)
    except SdyBridgeError:
        return  # some are invalid
    for keep_meshes in (True, False):
        trip = round_trip(text, constraints=constraints, keep_meshes=keep_meshes)
        is_manual = LossKind.MANUAL in {loss.kind for loss, _ in trip.imported.losses}
        assert trip.is_stable != is_manual
    for sharding in round_trip(text, constraints=constraints).shardings:
        assert sharding.after is not None
        pairs = zip(sharding.before, sharding.after, strict=True)
        assert all(normal(one) == normal(other) for one, other in pairs if names_its_mesh(one))


def names_its_mesh(sharding: TensorShardingAttr) -> bool:
    """Whether an HLO sharding tells which of the program's meshes the sharding is on."""
    return isinstance(sharding.mesh_or_ref, str) and any(dim.axes for dim in sharding.dim_shardings)


def normal(sharding: TensorShardingAttr) -> TensorShardingAttr:
    """What an HLO sharding holds of it: not openness, priorities and explicit replication."""
    return TensorShardingAttr(
        sharding.mesh_or_ref, [DimensionShardingAttr(dim.axes) for dim in sharding.dim_shardings]
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_known_contexts_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = programs(seed)
    if text is None:
        return
    check_known_contexts(text, monkeypatch)


def check_known_contexts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at every sharding closely must give the same."""
    fast = import_module(text)
    monkeypatch.setattr(ShardingImport, "_repeat", lambda *_: False)
    monkeypatch.setattr(ShardingImport, "_signature", lambda *_: False)
    monkeypatch.setattr(ShardingImport, "_read_lines", lambda work, end, _: work._scan(0, end, None))
    slow = import_module(text)
    monkeypatch.undo()
    assert fast.text == slow.text
    assert [(s.before, s.after, s.count, s.first) for s in fast.shardings] == [
        (s.before, s.after, s.count, s.first) for s in slow.shardings
    ]
    assert fast.operations == slow.operations


LINE = '%0 = s.op %a {mhlo.sharding = "{devices=[2,4]<=[8]}"} : tensor<8x8xf32>\n'
TAIL = LINE[LINE.index("{mhlo") :]
LIKE_IT = [
    LINE,
    f"%5 = s.op %a, dims = [1] {TAIL}",
    LINE.replace("\n", ' loc("a":1:2)\n'),
    LINE.replace("{mhlo", "{b = [1], mhlo"),
    LINE.replace("{mhlo", '{b = "{", mhlo'),
    LINE.replace("\n", ' // mhlo.sharding = "{replicated}"\n'),
    f'%1 = s.op %a {{"mhlo.sharding" = "{{replicated}}"}} : tensor<8xf32>\n{LINE}',
    f'{LINE}%1 = s.op %a {{mhlo.sharding\n = "{{replicated}}"}} : tensor<8xf32>\n{LINE}',
    f"%0:2 = s.op %a {TAIL}",
    f"%0, %1 = s.op %a {TAIL}",
    f"// %0 = s.op %a {TAIL}",
    f"%0 = s.op %a // {TAIL}  {TAIL}",
    f'%0 = s.op "// " {TAIL}',
    f"%0 =\n  s.op %a {TAIL}",
    f"%0 = s.op n = {TAIL}",
    LINE.replace("%a {", "n = [{a}, {").replace("} :", "}] :"),
    f"%0 = stablehlo.custom_call @Sharding(%a) {TAIL}".replace(": ", ": (tensor<8x8xf32>) -> "),
    f"%0 = stablehlo.custom_call @other(%a) {TAIL}".replace(": ", ": (tensor<8x8xf32>) -> "),
    LINE.rstrip("\n") + f' {LINE}%1 = s.op %a {{mhlo.sharding  = "{{replicated}}"}} : tensor<8xf32>\n{LINE}',
    LINE.rstrip("\n"),
    LINE.rstrip("\n").removesuffix(">") + "xf32>",
]


@pytest.mark.parametrize("line", LIKE_IT)
def test_a_line_like_known_ones(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    types = "(tensor<8x8xf32>) -> tensor<8x8xf32>"
    known = LINE + LINE.replace("tensor<8x8xf32>", types) + LINE
    check_known_contexts(f"{known}{line}", monkeypatch)
    check_known_contexts(f"module {{\n{known}{line}\n}}\nmodule {{\n{known}}}\n", monkeypatch)


@pytest.mark.parametrize("target", Target)
def test_every_target_reads_what_it_writes(target: Target) -> None:
    text = function('<@mesh, [{"y"}, {}], unreduced={"x"}>')
    trip = round_trip(text, target=target)
    assert trip.is_stable
    assert trip.shardings[0].is_same == (target is not Target.CLASSIC)
