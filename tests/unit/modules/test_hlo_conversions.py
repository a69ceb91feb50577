"""Conversions of HLO programs: export, import, other spellings, new names, and programs without shardings."""

from __future__ import annotations

import pytest

from sdybridge.checks import check_module
from sdybridge.errors import ConversionError, ParseError, SdyBridgeError, VerificationError
from sdybridge.modules import (
    CarrierForm,
    export_module,
    import_module,
    inspect_module,
    read_hlo,
    rename_axes,
    rewrite_module,
    strip_shardings,
)
from sdybridge.modules.programs import is_hlo_text, is_proto
from sdybridge.sdy import MeshAttr

HEADER = "HloModule m, num_partitions=8"
MESHES = ', frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=4, "y"=2]>}}'
CARRIER = 'xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"x\\"}, {}]>"'
ROWS = "sharding={devices=[4,1,2]<=[8] last_tile_dim_replicate}"
MESH = MeshAttr.from_sizes({"x": 4, "y": 2})


def module(*lines: str, header: str = HEADER) -> str:
    return f"{header}\n\nENTRY main {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def listed(*shardings: str) -> str:
    """The frontend attributes with a carrier of these dimensions on @mesh."""
    attribute = f"#sdy.sharding_per_value<[{', '.join(f'<@mesh, {one}>' for one in shardings)}]>"
    escaped = attribute.replace('"', '\\"')
    return f'frontend_attributes={{xla.sdy.sharding="{escaped}"}}'


@pytest.mark.parametrize(
    ("line", "after"),
    [
        (
            f"a = f32[8,4] parameter(0), frontend_attributes={{{CARRIER}}}",
            f"a = f32[8,4] parameter(0), {ROWS}",
        ),
        (
            f'a = f32[8,4] add(b), sharding={{manual}}, frontend_attributes={{b="1",{CARRIER}}}',
            f'a = f32[8,4] add(b), {ROWS}, frontend_attributes={{b="1"}}',
        ),
        (
            "a = (f32[8], s32[]) while(b), " + listed('[{"x", "y"}]', "[]"),
            "a = (f32[8], s32[]) while(b), sharding={{devices=[8]<=[8]}, {replicated}}",
        ),
        (
            "a = s32[8] get-tuple-element(b), index=1, " + listed("[]", '[{"x", "y"}]'),
            "a = s32[8] get-tuple-element(b), index=1, sharding={devices=[8]<=[8]}",
        ),
        ("a = () custom-call(b), " + listed("[]"), "a = () custom-call(b), sharding={{replicated}}"),
        (
            'a = f32[8,4] dot(b, c), frontend_attributes={xla.sdy.sharding_rule="#sdy.op_sharding_rule<..>"}',
            "a = f32[8,4] dot(b, c)",
        ),
        ("a = f32[8,4] parameter(0), sharding={manual}", "a = f32[8,4] parameter(0), sharding={manual}"),
    ],
)
def test_export(line: str, after: str) -> None:
    result = export_module(module(line, header=HEADER + MESHES))
    assert result.text == module(after)
    assert result.sites == ("xla.sdy.sharding=" in line)


TWO = listed("[]", '[{"x", "y"}]')


@pytest.mark.parametrize(
    ("value", "sharding"),
    [
        ("(s32[], f32[8], f32[8]) while(b)", "{{replicated}, {devices=[8]<=[8]}, {replicated}}"),
        (
            "(s32[], f32[8], s32[], s32[]) tuple(b, c, d, e)",
            "{{replicated}, {devices=[8]<=[8]}, {replicated}, {replicated}}",
        ),
        ("(s32[]) while(b)", ""),
        ("(s32[], f32[8], f32[8]) conditional(b)", ""),
        ("f32[8] get-tuple-element(b), index=2", ""),
    ],
)
def test_another_number_of_results(value: str, sharding: str) -> None:
    """XLA replicates what a loop captures; what else has other results than in StableHLO it passes over."""
    result = export_module(module(f"a = {value}, {TWO}", header=HEADER + MESHES))
    assert result.text == module(f"a = {value}" + (f", sharding={sharding}" if sharding else ""))
    kinds = [loss.kind.value for loss, _ in result.losses]
    assert ("result-count" in kinds) is (not sharding)


def result_call(name: str, of: str, dims: str) -> str:
    """A call that carries the sharding of a result."""
    target = 'custom_call_target="xla.sdy.FuncResultSharding"'
    return f"{name} = f32[8,4] custom-call({of}), {target}, {listed(dims)}"


X, Y = '[{"x"}, {}]', '[{"y"}, {}]'
COLUMNS = ROWS.removeprefix("sharding=")
TUPLE = "(f32[8,4], f32[8,4])"
BY_Y = "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}"


@pytest.mark.parametrize(
    ("lines", "roots"),
    [
        ([result_call("ROOT r", "a", X)], [f"ROOT r = , {ROWS}"]),
        (
            [result_call("r", "a", X), f"ROOT t = {TUPLE} tuple(r, a)"],
            [f"t = , sharding={{{COLUMNS}, {{replicated}}}}"],
        ),
        (
            [result_call("r", "a", X), f"ROOT t = {TUPLE} tuple(%r, r)"],
            [f"t = , sharding={{{COLUMNS}, {COLUMNS}}}"],
        ),
        (
            [
                result_call("r", "a", X),
                f"ROOT t = {TUPLE} tuple(f32[8,4] r, /*index=1*/a), sharding={{{{manual}}, {BY_Y}}}",
            ],
            [f"t = , sharding={{{COLUMNS}, {BY_Y}}}"],
        ),
        (
            [result_call("r", "a", X), result_call("s", "b", Y), f"ROOT t = {TUPLE} tuple(s, r)"],
            [f"t = , sharding={{{BY_Y}, {COLUMNS}}}"],
        ),
        (
            [
                result_call("r", "a", X),
                "t = (f32[8,4]) tuple(r)",
                "ROOT g = f32[8,4] get-tuple-element(t), index=0",
            ],
            [f"g = , {ROWS}"],
        ),
        ([result_call("r", "a", X), "ROOT n = f32[8,4] negate(r)"], [f"r = , {ROWS}"]),
        ([result_call("r", "a", X), f"ROOT t = ({TUPLE}, f32[]) tuple(r, b)"], [f"r = , {ROWS}"]),
        ([result_call("r", "a", X), "n = f32[8,4] negate(r)"], [f"r = , {ROWS}"]),
    ],
)
def test_results_are_sharded_where_they_are_returned(lines: list[str], roots: list[str]) -> None:
    """As in what XLA's front end writes; a value that is returned in another way keeps its own."""
    text = module("a = f32[8,4] parameter(0)", *lines, header=HEADER + MESHES)
    for program in (text, text.replace("\n", " \r\n")):  # searched, and read one by one
        exported = export_module(program).text
        program_ = read_hlo(exported)
        assert program_ is not None
        found = [(site.name, str(site.sharding)) for site in program_.sites() if site.has_sharding]
        wanted = [root.removeprefix("ROOT ").split(" = , sharding=") for root in roots]
        assert found == [tuple(one) for one in wanted]
        kept = export_module(program, carrier=CarrierForm.SDY)
        without = [line for line in lines if "sharding={{" not in line]
        if without == lines:
            assert import_module(kept.text).text == program


def test_a_root_with_more_than_what_calls_carry_is_imported() -> None:
    call = result_call("r", "a", X)
    root = f"ROOT t = {TUPLE} tuple(r, a), sharding={{{COLUMNS}, {BY_Y}}}"
    text = module("a = f32[8,4] parameter(0)", call, root, header=HEADER + MESHES)
    assert import_module(text).text.count("xla.sdy.sharding=") == 2


def test_export_keeps_carriers() -> None:
    line = f"a = f32[8,4] parameter(0), frontend_attributes={{{CARRIER}}}"
    result = export_module(module(line, header=HEADER + MESHES), carrier=CarrierForm.SDY)
    after = f"a = f32[8,4] parameter(0), {ROWS}, frontend_attributes={{{CARRIER}}}"
    assert result.text == module(after, header=HEADER + MESHES)
    assert import_module(result.text).text == module(line, header=HEADER + MESHES)


def test_export_keeps_the_meshes_of_other_carriers() -> None:
    text = module(
        f"a = f32[8,4] parameter(0), frontend_attributes={{{CARRIER}}}",
        'b = f32[2,4] custom-call(a), frontend_attributes={xla.sdy.manual_axes="#sdy<manual_axes{\\"x\\"}>"}',
        header=HEADER + MESHES,
    )
    assert MESHES in export_module(text).text


@pytest.mark.parametrize(
    ("meshes", "carrier"),
    [
        (r'"{mesh = #sdy.mesh<[\22x\22=4, \22y\22=2]>}"', r'"#sdy.sharding<@mesh, [{\22x\22}, {}]>"'),
        (r'"{mesh = #sdy.mesh<[\"x\"=4, \"y\"=2]>}"', r'"#sdy.sharding<@mesh, [{\\22x\\22}, {}]>"'),
        (
            r'"\"{mesh = #sdy.mesh<[\\\"x\\\"=4, \\\"y\\\"=2]>}\""',
            r'"#sdy.sharding<@mesh, [{\\\"x\\\"}, {}]>"',
        ),
    ],
)
def test_levels_of_escapes(meshes: str, carrier: str) -> None:
    """C14: tools that copy one string into another escape it once more."""
    text = module(
        f"a = f32[8,4] parameter(0), frontend_attributes={{xla.sdy.sharding={carrier}}}",
        header=f"{HEADER}, frontend_attributes={{xla.sdy.meshes={meshes}}}",
    )
    assert export_module(text).text == module(f"a = f32[8,4] parameter(0), {ROWS}")


def test_export_on_a_mesh_that_is_given() -> None:
    text = module(f"a = f32[8,4] parameter(0), frontend_attributes={{{CARRIER}}}")
    for mesh in (MESH, {"mesh": MESH}):
        assert export_module(text, mesh=mesh).text == module(f"a = f32[8,4] parameter(0), {ROWS}")


@pytest.mark.parametrize(
    ("shardings", "said"),
    [
        (["[]"], "unknown mesh @mesh at a"),
        (['[{"z"}]'], '"z"'),
        (['[{"x"}, {}]'], "rank"),
        (['[{"x"}]', "[]"], "2 shardings for 1 values"),
        (['[{"x"'], "expected"),
    ],
)
def test_errors_of_export_name_the_place(shardings: list[str], said: str) -> None:
    header = HEADER + (MESHES if "mesh" not in said else MESHES.replace("{mesh", "{other"))
    text = module(f"a = f32[8] parameter(0), {listed(*shardings)}", header=header)
    with pytest.raises(SdyBridgeError) as caught:
        export_module(text, name="m.hlo")
    assert said in str(caught.value)
    assert caught.value.location.startswith("m.hlo:4:")


def test_an_outfeed_lists_the_shardings_of_its_operands() -> None:
    both = "sharding={{devices=[4,1,2]<=[8] last_tile_dim_replicate}, {maximal device=0}}"
    text = module(f"o = token[] outfeed(a, t), outfeed_shape=f32[8,4]{{1,0}}, {both}")
    assert import_module(text).text == text
    found = inspect_module(text).shardings
    assert [(one.text, one.count) for one in found] == [
        ("{devices=[4,1,2]<=[8] last_tile_dim_replicate}", 1),
        ("{maximal device=0}", 1),
    ]


def test_a_sharding_may_tell_the_rank_that_the_shape_does_not() -> None:
    line = "a = copy(b), sharding={devices=[4,1,2]<=[8] last_tile_dim_replicate}"
    assert '[{\\"_axis_0\\"}, {}]' in import_module(module(line)).text
    assert "@maximal_mesh_3, []" in import_module(module("a = copy(b), sharding={maximal device=3}")).text
    with pytest.raises(VerificationError, match="a does not say its shape"):
        import_module(module("a = copy(b), sharding={replicated}"))


def test_halves_of_a_result_have_the_sharding_of_the_whole() -> None:
    call = 'r = (u32[8,4], u32[8,4]) custom-call(t), custom_call_target="xla.sdy.FuncResultSharding", '
    result = call + listed('[{"x"}, {}]')
    text = module("t = (u32[8,4], u32[8,4]) parameter(0)", result, header=HEADER + MESHES)
    half = ROWS.removeprefix("sharding=")
    assert f"{call}sharding={{{half}, {half}}}" in export_module(text).text


def test_a_mesh_that_the_module_lost() -> None:
    """C12: the error names the instruction and the mesh, and says how to supply it."""
    text = module(f"Arg_0 = f64[8,3] parameter(0), frontend_attributes={{{CARRIER}}}")
    with pytest.raises(VerificationError) as caught:
        export_module(text)
    assert caught.value.message == "unknown mesh @mesh at Arg_0"
    assert "--mesh @mesh=x=2,y=4" in (caught.value.help or "")
    assert "no frontend attribute xla.sdy.meshes" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "carrier"),
    [
        (f"a = f32[8,4] parameter(0), {ROWS}", '"#sdy.sharding<@mesh, [{\\"x\\"}, {}]>"'),
        (f"a = f32[8,4] negate(b), {ROWS}", '"#sdy.sharding_per_value<[<@mesh, [{\\"x\\"}, {}]>]>"'),
        (
            "a = f32[8] negate(b), sharding={maximal device=3}",
            '"#sdy.sharding_per_value<[<@maximal_mesh_3, []>]>"',
        ),
        (
            "a = (f32[8], s32[]) while(b), sharding={{devices=[8]<=[8]}, {replicated}}",
            '"#sdy.sharding_per_value<[<@mesh, [{\\"x\\", \\"y\\"}]>, <@mesh, []>]>"',
        ),
        (
            "a = (f32[8], s32[]) while(b), sharding={replicated}",
            '"#sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, []>]>"',
        ),
        ("a = () custom-call(b), sharding={{replicated}}", '"#sdy.sharding_per_value<[<@mesh, []>]>"'),
    ],
)
def test_import(line: str, carrier: str) -> None:
    result = import_module(module(line), mesh=MESH)
    head = line.partition(", sharding=")[0]
    assert result.text.splitlines()[3] == f"  {head}, frontend_attributes={{xla.sdy.sharding={carrier}}}"
    assert 'mesh = #sdy.mesh<["x"=4, "y"=2]>' in result.text.splitlines()[0]


def test_import_infers_a_mesh() -> None:
    text = module(
        "a = f32[8,4] parameter(0), sharding={devices=[4,1,2]<=[8] last_tile_dim_replicate}",
        "b = f32[8,4] negate(a), sharding={devices=[1,4,2]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}",
    )
    result = import_module(text, axis_names=["x", "y"])
    assert [mesh.stripped for mesh in result.meshes.values()] == ['<["x"=2, "y"=2, "_axis_2"=2]>']


def test_what_rides_along_wins() -> None:
    text = module(
        f"a = f32[8,4] parameter(0), sharding={{manual}}, frontend_attributes={{{CARRIER}}}",
        header=HEADER + MESHES,
    )
    assert import_module(text).text == text.replace(" sharding={manual},", "")


def test_open_arguments_and_results() -> None:
    text = module(
        f"a = f32[8,4] parameter(0), {ROWS}",
        f"b = f32[8,4] parameter(1), {ROWS}",
        f"ROOT c = f32[8,4] add(a, b), {ROWS}",
    )
    lines = import_module(
        text, mesh=MESH, open_arguments=[False, True], open_results=[True]
    ).text.splitlines()
    assert [line.count("?") for line in lines[3:6]] == [0, 2, 2]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a = f32[8] parameter(0), sharding={devices=[2,2]<=[4]}", "tiles tensors of rank 2, not of rank 1"),
        ("a = (f32[], f32[]) parameter(0), sharding={{replicated}}", "a tuple of 1 shardings on 2 tensors"),
        ("a = f32[8] parameter(0), sharding={devices=[2]0,0}", "device"),
        ("a = parameter(0), sharding={manual}", "does not say its shape"),
    ],
)
def test_errors_of_import_name_the_place(line: str, said: str) -> None:
    with pytest.raises(SdyBridgeError) as caught:
        import_module(module(line), name="m.hlo")
    assert said in str(caught.value)
    assert caught.value.location.startswith("m.hlo:4:")


INLINE = (
    'frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<'
    '[<mesh<[\\"_axis_0\\"=2]>, [{\\"_axis_0\\"}]>]>"}'
)
FRAGMENTS = {
    "an instruction": "{}\n",
    "instructions": "  %b = f32[8] copy(%x)\n  ROOT {}\n\n  %d = f32[8] copy(%c)",
    "under a comment": "// from the dump\n{}",
    "an entry": "ENTRY %main (p: f32[8]) -> f32[8] {{\n  ROOT {}\n}}\n",
    "a computation": "%region_0.1 (p: f32[8], q: (f32[8], s32[])) -> f32[8] {{\n  {}\n}}\n",
    "a computation without types": "region_0.1 {{\n  ROOT {}\n}}\n",
    "the end of one": "  {}\n}}\n\nENTRY main {{\n  ROOT b = f32[8] parameter(0)\n}}\n",
    "two": "f {{\n  ROOT {}\n}}\n\n%g () -> f32[8] {{\n  ROOT b = f32[8] constant({{...}})\n}}\n",
}


@pytest.mark.parametrize("fragment", FRAGMENTS.values(), ids=FRAGMENTS)
def test_fragments(fragment: str) -> None:
    """What people paste out of a dump, without its first line: the meshes stand in the shardings."""
    value = "%a = f32[8]{{0}} negate(%b), {}"
    text = fragment.format(value.format("sharding={devices=[2]<=[2]}")).replace("{{0}}", "{0}")
    bare = text.replace(", sharding={devices=[2]<=[2]}", "")
    carried = import_module(text)
    assert carried.text == text.replace("sharding={devices=[2]<=[2]}", INLINE)
    assert {name: str(mesh) for name, mesh in carried.meshes.items()} == {"mesh": '#sdy.mesh<["_axis_0"=2]>'}
    assert export_module(carried.text).text == text
    assert strip_shardings(text).text == strip_shardings(carried.text).text == bare
    assert rewrite_module(text, "v1").text == text.replace("<=[2]", "0,1")
    assert inspect_module(text).carriers == {"sharding": 1}
    assert check_module(text) == []


@pytest.mark.parametrize("sharding", ["{maximal device=3}", "{replicated}", "{devices=[2]1,0}"])
def test_fragments_on_other_meshes(sharding: str) -> None:
    text = f"ROOT a = f32[8] parameter(0), sharding={sharding}"
    carried = import_module(text).text
    assert "mesh<[" in carried
    assert export_module(carried).text == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ENTRY e {\n  a = f32[8] parameter(0), sharding={manual}\n", "is the text cut? close it with `}`"),
        ("a = f32[8] parameter(0)\n  ...\nb = f32[8] copy(a), sharding={manual}", "take the line out"),
        (
            "> a = f32[8] parameter(0), sharding={manual}",
            "take out what is in front of the first instruction",
        ),
        ("```\na = f32[8] parameter(0), sharding={manual}\n```", "take out what is in front of the first"),
    ],
)
def test_errors_of_fragments_help(text: str, said: str) -> None:
    for work in (import_module, export_module, strip_shardings, inspect_module):
        with pytest.raises(ParseError) as caught:
            work(text)
        assert said in (caught.value.help or "")
        assert caught.value.span is not None


def test_a_mesh_of_another_meaning() -> None:
    text = module(f"a = f32[8,4] parameter(0), {ROWS}", header=HEADER + MESHES)
    with pytest.raises(ConversionError, match="@mesh is the name of two meshes"):
        import_module(text, mesh={"mesh": MeshAttr.from_sizes({"z": 8})})


@pytest.mark.parametrize(
    ("sharding", "v1", "v2", "named"),
    [
        (
            "{devices=[2,2]0,2,1,3}",
            "{devices=[2,2]0,2,1,3}",
            "{devices=[2,2]<=[2,2]T(1,0)}",
            "{mesh['axis_0'=2,'axis_1'=2], [{'axis_1'}, {'axis_0'}]}",
        ),
        (
            "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
            "{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}",
            "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
            "{mesh['axis_0'=2,'axis_1'=2], [{'axis_0'}, {}]}",
        ),
        ("{devices=[2,2]3,0,1,2}", "{devices=[2,2]3,0,1,2}", "{devices=[2,2]3,0,1,2}", None),
        (
            "{mesh['a'=2,'b'=2], [{'b'}, {'a'}]}",
            "{devices=[2,2]0,2,1,3}",
            "{devices=[2,2]<=[2,2]T(1,0)}",
            None,
        ),
        ("{manual}", "{manual}", "{manual}", "{manual}"),
        ("{replicated}", "{replicated}", "{replicated}", "{replicated}"),
        ("{maximal device=3}", "{maximal device=3}", "{maximal device=3}", "{maximal_mesh[device_id=3]}"),
    ],
)
def test_spellings(sharding: str, v1: str, v2: str, named: str | None) -> None:
    line = "a = f32[8,8] parameter(0), sharding=%s, origin={x}"
    expected = {"v1": v1, "v2": v2} | ({"named": named} if named else {})
    for to, new in expected.items():
        assert rewrite_module(module(line % sharding), to).text == module(line % new)
        if sharding.startswith("{mesh"):
            continue
        mlir = f'func.func @main(%a: tensor<8x8xf32> {{mhlo.sharding = "{sharding}"}}) {{ return }}\n'
        assert rewrite_module(mlir, to).text == mlir.replace(sharding, new)
    assert rewrite_module(module(line % sharding), "classic").sites == 1


def test_classic_xla_has_no_unreduced_shardings() -> None:
    text = module("a = f32[8] parameter(0), sharding={devices=[1,8]<=[8] last_tile_dims={unreduced}}")
    with pytest.raises(ConversionError, match="classic XLA has no unreduced shardings") as caught:
        rewrite_module(text, "classic", name="m.hlo")
    assert caught.value.location == "m.hlo:4:37"


def test_strip() -> None:
    text = module(
        f'a = f32[8,4] parameter(0), {ROWS}, frontend_attributes={{b="1",{CARRIER}}}',
        'b = f32[8,4] custom-call(a), custom_call_target="Sharding", sharding={manual}',
        header=HEADER + MESHES,
    )
    assert strip_shardings(text).text == module(
        'a = f32[8,4] parameter(0), frontend_attributes={b="1"}',
        'b = f32[8,4] custom-call(a), custom_call_target="Sharding"',
    )
    with pytest.raises(ConversionError, match="only HLO programs"):
        strip_shardings("module {}")


@pytest.mark.parametrize(
    "text",
    [
        module(
            f"a = f32[8,4] parameter(0), {ROWS}, frontend_attributes={{{CARRIER}}}", header=HEADER + MESHES
        ),
        module("a = f32[8,4] parameter(0), sharding={mesh['x'=4,'y'=2], [{'x':(1)2}, {'y'}]}"),
        'sdy.mesh @x = <["x"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 4 : i64}]}}\n',
        '%0 = sdy.reshard %a <@"x", [{"x"}, {"y":(1)2}], replicated={"y":(2)2}> {b = "x"} : tensor<8xf32>\n',
        '%0 = sdy.all_gather [{"x"}, {}] %a out_sharding=<@m, [{}, {"y"}]> {b = ["x"]} : tensor<8xf32>\n',
        'sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}]>]\n  manual_axes={"x"} (%b: f) {\n',
        '"a"() {c = "x", sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=4]>, [{"x"}]>]>, d = ["x"]}\n',
        '"sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "x"}> : () -> ()\n',
        'a.b {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@x, [{\\22x\\22}]>"}}\n',
        "a.b {mhlo.sharding = \"{mesh['x'=4], [{'x'}]}\", c = \"x\"}\n",
        '// #sdy.mesh<["x"=4]>\nsdy.mesh @m = <["x"=4, "y"=2]>\n',
    ],
)
def test_new_names_of_axes(text: str) -> None:
    renamed = rename_axes(text, {"x": "data"}).text
    assert "data" in renamed
    assert rename_axes(renamed, {"data": "x"}).text == text
    for kept in ('b = "x"', 'b = ["x"]', 'c = "x"', 'd = ["x"]', 'sym_name = "x"', "@x", '@"x"', "// #sdy"):
        assert (kept in renamed) == (kept in text)
    if '"y"' in text:
        swapped = rename_axes(text, {"x": "y", "y": "x"}).text
        assert swapped != text
        assert rename_axes(swapped, {"x": "y", "y": "x"}).text == text


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"mesh_idx_1": "y"}, 'no mesh has an axis "mesh_idx_1"\nnote: the axes are "x", "y"'),
        ({"x": "y"}, 'two axes named "y"'),
    ],
)
def test_names_that_cannot_be(names: dict[str, str], said: str) -> None:
    """C16: the error lists the known axes."""
    text = module(f"a = f32[8,4] parameter(0), frontend_attributes={{{CARRIER}}}", header=HEADER + MESHES)
    with pytest.raises(VerificationError) as caught:
        rename_axes(text, names)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "mesh",
    [
        'sdy.mesh @mesh = <["x"=2, "y"=4]>',
        '"sdy.mesh"() {mesh = #sdy.mesh<["y"=4, "z"=1, "x" = 2]>, sym_name = "mesh"} : () -> ()',
        '%0 = "a"() {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=1], device_ids=[1,0]>, [{}]>} : () -> f32',
    ],
)
def test_two_axes_of_one_name_in_mlir(mesh: str) -> None:
    with pytest.raises(VerificationError, match='the mesh would have two axes named "y"') as caught:
        rename_axes(mesh, {"x": "y"}, name="a.mlir")
    assert str(caught.value).startswith("a.mlir:1:")
    two = 'sdy.mesh @a = <["x"=2]>\nsdy.mesh @b = <["y"=2]>'
    assert rename_axes(two, {"x": "y"}).text == two.replace("x", "y")


def test_new_names_are_counted_in_mlir() -> None:
    text = """\
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, \
%b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<8xf32>
  %1 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<8xf32>
}
"""
    result = rename_axes(text, {"x": "z"})
    assert result.text == text.replace('"x"', '"z"')
    assert (result.sites, len(result.shardings)) == (4, 3)
    assert '#sdy.sharding<@mesh, [{"z"}]>' in [sharding.after for sharding in result.shardings]
    assert dict(result.meshes) == {"mesh": MeshAttr.from_sizes({"z": 2, "y": 4})}


def test_errors_of_new_names_name_the_file() -> None:
    with pytest.raises(ParseError, match=r"^a\.mlir:1:31: error: the string does not end"):
        rename_axes('sdy.mesh @mesh = <["a"b"=2, "y"=4]>', {"y": "z"}, name="a.mlir")


def test_axes_in_comments_keep_their_names() -> None:
    text = """\
sdy.mesh @mesh = <["x"=2]>
// #sdy.sharding<@mesh, [{"x"}]>, #sdy.sharding<@mesh, [{"x
%0 = a.b {c = "// #sdy.sharding<", sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>} : f32 // "#sdy.mesh<
"""
    result = rename_axes(text, {"x": "z"})
    assert result.text.count('"z"') == 2
    assert text.splitlines()[1] in result.text
    assert result.sites == 2


def test_errors_of_new_spellings_name_the_file() -> None:
    with pytest.raises(ParseError, match=r"^a\.mlir:1:27: error: the string does not end"):
        rewrite_module('%0 = a.b {mhlo.sharding = "{replicated}', "v1", name="a.mlir")


def test_formats_are_told_apart() -> None:
    assert not is_hlo_text("module @m { func.func @f() { return } }")
    assert not is_hlo_text("%0 = stablehlo.add %a, %b : tensor<8xf32>")
    assert not is_hlo_text('#loc = loc("a")\n')
    assert is_hlo_text("\n// c\nHloModule m")
    assert is_hlo_text("%pad = (f32[8], s32[]) pad(a)")
    assert is_hlo_text("%f (a: f32[]) -> f32[] {")
    assert not is_proto("é HloModule".encode())
    assert read_hlo(b"module {}", "m") is None
