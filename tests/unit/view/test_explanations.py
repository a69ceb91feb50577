"""Explanations of one sharding: every fact is checked against a device map that NumPy makes of the text."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from sdybridge import HloSharding, MeshAttr, SdyBridgeError, Target, TensorShardingAttr, explain
from sdybridge.view import Explanation, Explanations

from . import device_maps

if TYPE_CHECKING:
    from collections.abc import Mapping


class Case(NamedTuple):
    """A sharding, and what a reader has to be told."""

    name: str
    text: str
    dims: tuple[str, ...] | None = None  # the axes of each dimension; None: read the grid in `text`
    mesh: Mapping[str, int] | None = None
    shape: str | None = None
    ids: tuple[int, ...] = ()
    inner: tuple[str, ...] = ()
    says: tuple[str, ...] = ()


XY = {"x": 2, "y": 4}
XYZ = {"x": 2, "y": 2, "z": 2}
ABC = {"a": 2, "b": 4, "c": 8}
LIST_C6 = ",".join(str(i) for k in range(0, 32, 8) for j in (0, 32) for i in range(k + j, k + j + 8))

CASES = [
    Case("major axis", '[{"y"}, {}]', ('"y"', ""), XY, "f32[64,128]", says=('64 in 4 shards of 16 by "y"',)),
    Case("both axes", '[{"x"}, {"y"}]', ('"x"', '"y"'), XY, "f32[64,128]", says=("{devices=[2,4]<=[8]}",)),
    Case("full text", '#sdy.sharding<@m, [{"x"}, {"y"}]>', ('"x"', '"y"'), XY, "bf16[3,5]"),
    Case(
        "C1 no mesh", "{devices=[3,4]<=[2,3,2]T(1,0,2)}", None, None, "tensor<6x4xf32>", says=("(inferred)",)
    ),
    Case(
        "C1 finer than the mesh",
        "{devices=[3,4]<=[2,3,2]T(1,0,2)}",
        ('"model":(1)3', '"data", "model":(3)2'),
        {"data": 2, "model": 6},
        "tensor<6x4xf32>",
        says=('[{"model":(1)3}, {"data", "model":(3)2}]', "a PartitionSpec names whole axes only"),
    ),
    Case(
        "C1 another mesh",
        "{devices=[3,4]<=[2,3,2]T(1,0,2)}",
        ('"p":(2)3', '"p":(1)2, "q"'),
        {"p": 6, "q": 2},
        says=('[{"p":(2)3}, {"p":(1)2, "q"}]',),
    ),
    Case(
        "C2 distorted",
        "{devices=[1,4,2]<=[8] last_tile_dim_replicate}",
        ("", '"batch", "model":(1)2'),
        {"batch": 2, "model": 4},
        "f32[3,8]",
        says=('[{}, {"batch", "model":(1)2}]',),
    ),
    Case(
        "C2 meant",
        "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
        ("", '"model"'),
        {"batch": 2, "model": 4},
        says=('[{}, {"model"}]',),
    ),
    Case("C3 columns", "{devices=[4,2]<=[2,4]T(1,0)}", ('"y"', '"x"'), XY, "f32[8,8]"),
    Case(
        "C3 listed",
        "{devices=[4,2]0,4,1,5,2,6,3,7}",
        ('"y"', '"x"'),
        XY,
        "f32[8,8]",
        says=("is the one that the short form counts", "{devices=[4,2]<=[2,4]T(1,0)}"),
    ),
    Case(
        "C4 steps",
        '[{"y"}, {}]',
        ('"y"', ""),
        XY,
        says=(
            'device = 4*"x" + "y"',
            '[4,1,2]: "y"=4 for dimension 0, 1 for dimension 1, "x"=2 for copies',
            "[2,4]: the count of devices, along the axes",
            '(1,0): "y" "x", as the tile dims take the axes',
            "np.arange(8).reshape(2,4).transpose(1,0).reshape(4,1,2)",
        ),
    ),
    Case(
        "C4 merged",
        '[{"z"}, {"x", "y"}]',
        ('"z"', '"x", "y"'),
        XYZ,
        says=("(2,0,1)", "<=[4,2]T(1,0): axes that stay neighbours count as one"),
    ),
    Case(
        "C5 list that is an iota",
        "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}",
        says=("{devices=[2,1,4]<=[8] last_tile_dim_replicate}",),
    ),
    Case(
        "C5 permuted devices",
        '[{"data"}, {"model"}]',
        ('"data"', '"model"'),
        {"data": 4, "model": 2},
        "f32[8,8]",
        ids=(4, 7, 6, 3, 0, 1, 2, 5),
        says=("{devices=[4,2]4,7,6,3,0,1,2,5}", "because the mesh has them in an order of its own"),
    ),
    Case(
        "C6 long list",
        f"{{devices=[1,4,2,1,1,1,8]{LIST_C6} last_tile_dim_replicate}}",
        ("", '"b"', '"a"', "", "", ""),
        ABC,
        says=(
            "{devices=[1,4,2,1,1,1,8]<=[2,4,8]T(1,0,2) last_tile_dim_replicate}",
            '[{}, {"b"}, {"a"}, {}, {}, {}]',
        ),
    ),
    Case("C6 beside it", "{devices=[4,8,2]<=[2,32]T(1,0)}", ('"b"', '"c"', '"a"'), ABC, "s8[4,8,2]"),
    Case(
        "C7 before", "{devices=[2,1,4]<=[4,2]T(1,0)}", ('"y"', "", '"x"'), {"x": 4, "y": 2}, "f32[16,16,16]"
    ),
    Case("C7 after", "{devices=[1,8,1]<=[8]}", ("", '"x", "y"', ""), {"x": 4, "y": 2}, "f32[16,16,16]"),
    Case(
        "C17 axis of size 1",
        '[{"batch"}, {"model"}]',
        ('"batch"', '"model"'),
        {"batch": 1, "model": 8},
        "f32[4,16]",
        says=('"batch" has one device: it splits nothing', "{devices=[1,8]<=[8]}"),
    ),
    Case(
        "C18 part of an axis",
        '[{"x":(1)2}]',
        ('"x":(1)2',),
        {"x": 4},
        "126",
        says=("126 in 2 shards of 63", "the other factor of 2 holds copies", "would give 32,32,32,30"),
    ),
    Case("C18 the whole", '[{"x"}]', ('"x"',), {"x": 4}, "126", says=("126 in 4 shards of 32,32,32,30",)),
    Case(
        "C19 uneven rows",
        '[{"model"}, {"data"}]',
        ('"model"', '"data"'),
        {"data": 2, "model": 4},
        "tensor<7x2xf32>",
        says=("7 in 4 shards of 2,2,2,1", "{devices=[4,2]<=[2,4]T(1,0)}"),
    ),
    Case(
        "C20 empty shards",
        "{devices=[8,1]<=[8]}",
        None,
        None,
        "17,16",
        says=("3,3,3,3,3,2,0,0", "devices 6, 7 hold nothing", "2 of 8 devices hold no element"),
    ),
    Case(
        "C21 stray reduction",
        '{devices=[4,2]<=[2,4]T(1,0) metadata={op_type="sdy::reduction_op" op_name="MAX"}}',
        says=("the reduction MAX means nothing here",),
    ),
    Case(
        "C22 openness",
        '<@mesh, [{?}, {?}, {"data", ?}]>',
        ("", "", '"data"'),
        {"data": 2},
        says=("open: propagation may cut it further", "openness {?}", "HLO named"),
    ),
    Case(
        "C25 one order",
        "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}",
        says=("manual over 4 devices, 2 copies",),
    ),
    Case("C25 the other", "{devices=[1,1,2,4]<=[4,2]T(1,0) last_tile_dims={replicated, manual}}"),
    Case("unreduced", '<@m, [{"x"}, {}], unreduced={"y"}>', ('"x"', ""), XY, "f32[4,4]", inner=('"y"',)),
    Case("named", "{mesh['x'=2,'y'=4], [{'y', ?}, {}]}", ("'y'", ""), XY, "f32[64,128]", says=("open",)),
    Case("named part", "{mesh['x'=8], [{'x':(2)2}]}", ("'x':(2)2",), {"x": 8}, "f32[8]"),
    Case(
        "named manual", "{mesh['x'=2,'y'=4], [{'y'}], manual={'x'}}", ("'y'",), XY, "f32[8]", inner=("'x'",)
    ),
    Case("JAX", "P('x', None, ('y', 'z'))", ('"x"', "", '"y", "z"'), XYZ, "bf16[4,4,4]"),
    Case("JAX shorter than the tensor", "P('x')", ('"x"', "", ""), XY, "f32[4,4,4]"),
    Case("JAX long name", "PartitionSpec(None, 'y')", ("", '"y"'), XY),
    Case("JAX unreduced", "P('x', unreduced={'y'})", ('"x"',), XY, "f32[4]", inner=('"y"',)),
    Case("proto in hex", "08031a0304010230014a02020452020100", ('"y"', ""), XY, "f32[8,8]"),
    Case("proto in base64", "CAMaAwQBAjABSgICBFICAQA=", ('"y"', ""), XY),
    Case("proto as MLIR escapes it", r"\08\03\1A\02\02\01\22\02\00\01", ('"x"', ""), {"x": 2}, "f32[6,6]"),
    Case("4-bit elements", '[{"x"}]', ('"x"',), {"x": 2}, "s4[10]", says=("s4[5], 3 B",)),
    Case("complex elements", '[{"x"}]', ('"x"',), {"x": 2}, "tensor<4xcomplex<f32>>", says=("16 B",)),
    Case("a scalar", "[]", (), XY, "f32[]", says=("all 8 devices hold the whole tensor",)),
    Case("an empty tensor", '[{"x"}]', ('"x"',), {"x": 2}, "f32[0]"),
    Case("a list that no iota is", "{devices=[2,2]0,1,3,2}", says=("no reshape and transpose of a count",)),
    Case("a grid that no axes make", "{devices=[2,3]<=[2,3]T(1,0)}", None, None, "f32[4,6]"),
    Case("a mesh that does not fit", "{devices=[3,4]<=[2,3,2]T(1,0,2)}", None, {"a": 3, "b": 4}, "f32[6,4]"),
]


def explained(case: Case) -> Explanation:
    mesh = None if case.mesh is None else MeshAttr.from_sizes(case.mesh, case.ids)
    result = explain(case.text, mesh=mesh, shape=case.shape)
    assert isinstance(result, Explanation)
    return result


def device_map(case: Case) -> device_maps.DeviceMap:
    if case.dims is None:
        text = case.text
        return device_maps.of_grid(text)
    return device_maps.of_axes(case.dims, case.mesh or {}, case.ids, case.inner)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.dims is not None or "=[" in case.text], ids=lambda c: c.name
)
def test_facts(case: Case) -> None:
    explanation = explained(case)
    expected = device_map(case)
    count = len(expected.held)
    assert explanation.num_devices == count
    assert tuple(dim.shards for dim in explanation.dimensions) == expected.shards
    assert explanation.num_shards == math.prod(expected.shards)
    assert explanation.shards is not None
    assert {device: one.index for one in explanation.shards for device in one.devices} == {
        device: held.shard for device, held in expected.held.items()
    }
    same: dict[device_maps.Held, list[int]] = {}
    for device, held in sorted(expected.held.items()):
        same.setdefault(held, []).append(device)
    copies = {len(devices) for devices in same.values()}
    assert copies == {explanation.copies}
    for group in explanation.groups:
        assert group.size * group.count == count
        if group.kind == "replicated":
            assert sorted(map(sorted, group.devices)) == sorted(same.values())
    check_shape(explanation, expected)
    text = str(explanation)
    for phrase in case.says:
        assert phrase in " ".join(text.split()), text


def check_shape(explanation: Explanation, expected: device_maps.DeviceMap) -> None:
    tensor = explanation.tensor
    if tensor is None:
        assert explanation.shard is None
        assert explanation.bytes_per_device is None
        return
    shape = [size or 0 for size in tensor.shape]
    parts = {
        device: device_maps.slices(held.shard, expected.shards, shape)
        for device, held in expected.held.items()
    }
    assert explanation.shards is not None
    found = {
        device: tuple(zip(one.start or (), one.limit or (), strict=True))
        for one in explanation.shards
        for device in one.devices
    }
    assert found == parts
    longest = [max(part[i][1] - part[i][0] for part in parts.values()) for i in range(len(shape))]
    assert explanation.shard is not None
    assert list(explanation.shard.shape) == longest
    if tensor.element_bits is not None:
        each = math.ceil(math.prod(longest) * tensor.element_bits / 8)
        assert explanation.bytes_per_device == each
        assert explanation.total_bytes == each * len(parts)
    if math.prod(shape):
        empty = [device for device, part in sorted(parts.items()) if any(a == b for a, b in part)]
        assert list(explanation.empty_devices) == empty
        assert explanation.num_empty_devices == len(empty)
    for i, dim in enumerate(explanation.dimensions):
        lengths = [length for length, times in dim.runs for _ in range(times)]
        by_index = {held.shard[i]: parts[device][i] for device, held in expected.held.items()}
        assert lengths == [high - low for _, (low, high) in sorted(by_index.items())]
        assert dim.padding == longest[i] * dim.shards - shape[i]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_steps_lead_to_the_grid(case: Case) -> None:
    explanation = explained(case)
    steps = explanation.steps
    if steps is None:
        return
    device_ids = list(steps.device_ids)
    grid = eval(steps.numpy, {"np": np, "device_ids": device_ids})
    assert grid.tolist() == explanation.sharded.hlo.tile_assignment.array.tolist()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_every_form_reads_back_to_the_same_placement(case: Case) -> None:
    explanation = explained(case)
    mesh = explanation.mesh
    for form in explanation.forms:
        assert (form.text is None) == bool(form.reason)
        if form.text is None:
            continue
        again = explain(
            form.text or b"", mesh=mesh, shape=case.shape, manual_axes=explanation.sharded.manual_axes
        )
        assert isinstance(again, Explanation)
        if form.name == "shardy" or form.name == "partition-spec" or "metadata" not in case.text:
            assert again.sharded.hlo == explanation.sharded.hlo, form
        assert again.num_shards == explanation.num_shards


def test_an_explanation_for_the_named_target_is_that_of_the_grid() -> None:
    mesh = MeshAttr.from_sizes({"x": 2, "y": 4})
    named, grid = (
        explain('[{"y", ?}, {}]', mesh=mesh, target=target) for target in (Target.NAMED, Target.CURRENT)
    )
    assert str(named) == str(grid)


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("{replicated}", "replicated", "every device holds the whole tensor"),
        ("{maximal device=3}", "maximal", "On device 3 alone"),
        ("{manual}", "manual", "the partitioner leaves it alone"),
        ("{unknown}", "unknown", "the compiler may choose"),
        ("{unreduced}", "unreduced", "a partial value of the whole tensor"),
        ("0801220103", "maximal", "On device 3 alone"),
        ("{mesh['x'=2], replicated}", "replicated", "all 2 devices hold the whole tensor"),
        ("{maximal_mesh[device_id=5]}", "maximal", "On device 5 alone"),
    ],
)
def test_without_tiles(text: str, kind: str, says: str) -> None:
    explanation = explain(text)
    assert isinstance(explanation, Explanation)
    assert explanation.kind == kind
    assert says in str(explanation)
    assert "\n\n\n" not in str(explanation)
    shaped = explain(text, shape="f32[4,4]", mesh=None if "mesh" in text else {"x": 2})
    assert isinstance(shaped, Explanation)
    assert shaped.bytes_per_device == 64
    assert str(shaped)


def test_large_grids_cost_nothing() -> None:
    explanation = explain(
        "{devices=[1048576,1048576]<=[1048576,1048576]T(1,0)}", shape="f32[1048576,1048576]"
    )
    assert isinstance(explanation, Explanation)
    assert explanation.shards is None
    assert explanation.bytes_per_device == 4
    assert "it would list 1099511627776 devices" in str(explanation)


def test_large_groups() -> None:
    explanation = explain('[{"x"}]', mesh={"x": 2, "y": 2**30}, shape="f32[8]")
    assert isinstance(explanation, Explanation)
    assert explanation.copies == 2**30
    assert [len(group) for group in explanation.groups[0].devices] == [4096]
    assert str(explanation)


def test_targets() -> None:
    text, mesh = '<@m, [{"y"}, {}], unreduced=max{"x"}>', XY
    with pytest.raises(SdyBridgeError):
        explain(text, mesh=mesh)  # older grammars know sums only
    for target, grid, lost in (
        (Target.CLASSIC, "last_tile_dim_replicate", "unreduced"),
        (Target.CURRENT, "last_tile_dims={unreduced}", "axis-names"),
        (Target.NAMED, "last_tile_dims={unreduced}", "axis-names"),
        (Target.NEWER, 'op_name="SUM"', "axis-names"),
    ):
        found = explain(text.replace("max", ""), mesh=mesh, target=target)
        assert isinstance(found, Explanation)
        form = {form.name: form for form in found.forms}["hlo"]
        assert grid in (form.text or "")
        assert lost in [loss.kind.value for loss in form.losses], target


def test_a_tuple() -> None:
    explanations = explain("{{replicated}, {devices=[2]<=[2]}}")
    assert isinstance(explanations, Explanations)
    assert [one.kind for one in explanations] == ["replicated", "tiled"]
    assert "element 1" in str(explanations)
    assert explanations.to_dict()["type"] == "tuple"
    assert explain("{}") == explain("#sdy.sharding_per_value<[]>") == ()


def test_objects() -> None:
    mesh = MeshAttr.from_sizes(XY)
    sharding = TensorShardingAttr.from_string('<@m, [{"y"}, {}]>')
    hlo = HloSharding.from_string("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}")
    texts = [str(explain(one, mesh=mesh)).partition("\n")[2] for one in (hlo, hlo.to_proto_bytes())]
    assert texts[0] == texts[1]
    assert explain(sharding, mesh={"m": mesh}).num_shards == 4  # type: ignore[union-attr]


def test_objects_of_jax() -> None:
    jax = pytest.importorskip("jax")
    mesh = jax.sharding.AbstractMesh((2, 4), ("x", "y"))
    spec = jax.sharding.PartitionSpec("y", None)
    shape = jax.ShapeDtypeStruct((64, 128), jax.numpy.bfloat16)
    found = explain(jax.sharding.NamedSharding(mesh, spec), shape=shape)
    assert isinstance(found, Explanation)
    assert str(found.sharded.sdy) == '#sdy.sharding<@mesh, [{"y"}, {}]>'
    assert found.bytes_per_device == 16 * 128 * 2
    assert explain(spec, mesh=mesh, shape=shape).to_dict() == found.to_dict()
    from jaxlib.xla_client import HloSharding as Theirs

    found = explain(Theirs.iota_tile((2, 4)))
    assert isinstance(found, Explanation)
    assert str(found.sharded.hlo) == "{devices=[2,4]<=[8]}"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ('[{"y"}, {}]', {}, "unknown mesh @mesh"),
        ('[{"q"}]', {"mesh": XY}, 'no axis named "q"'),
        ('[{"x":(2)4}]', {"mesh": {"x": 4}}, "does not fit"),
        ('[{"x"} {}]', {"mesh": XY}, "expected"),
        ('[{"x"}]', {"mesh": XY, "shape": "f32[4,4]"}, "rank 1, not of rank 2"),
        ("{devices=[2]<=[2]}", {"shape": "f32[4,4]"}, "rank 1, not of rank 2"),
        ("{devices=[2,2]<=[16]}", {}, "16"),
        ("P('x', 3)", {"mesh": XY}, "3 is no axis name"),
        ("P('x'", {"mesh": XY}, "no PartitionSpec"),
        ("P('x', 'y')", {"mesh": XY, "shape": "f32[4]"}, "the spec has 2 dimensions, the tensor 1"),
        ("hello", {}, "proto"),
        ("", {}, "expected"),
        ('[{"x"}]', {"mesh": XY, "shape": "f32[4"}, "no type of a tensor"),
        ("{devices=[2]<=[2]", {}, "expected"),
    ],
)
def test_errors_are_placed_in_the_text(text: str, options: Mapping[str, object], message: str) -> None:
    with pytest.raises(SdyBridgeError, match=r".") as caught:
        explain(text, **options)  # type: ignore[call-overload]
    error = caught.value
    assert message in str(error)
    assert error.source is not None
    assert error.span is not None
    assert 0 <= error.span.start <= len(error.source.text)


@pytest.mark.parametrize(
    "given",
    [
        ("P('x', None)",),
        ("P('x', None)", "P(None, 'x')"),
        ("{{devices=[4,1]<=[4]}, {replicated}}",),
        ("{{devices=[4,1]<=[4]}, {replicated}}", "{{devices=[1,4]<=[4]}, {replicated}}"),
    ],
)
def test_a_notebook_shows_the_text(given: tuple[str, ...]) -> None:
    explained = explain(*given, mesh={"x": 4})
    shown = explained._repr_html_()
    assert shown == f"<pre>{html.escape(str(explained))}</pre>"
    assert "<pre>" not in shown[5:]
