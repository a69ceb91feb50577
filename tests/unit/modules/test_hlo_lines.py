"""Lines of HLO text as XLA prints them: they say what their tokens say, and equal ones are not confused."""

from __future__ import annotations

import pytest

from sdybridge.checks import check_module
from sdybridge.errors import ParseError, SdyBridgeError
from sdybridge.hlo import HloSharding
from sdybridge.modules import export_module, import_module, inspect_module, rewrite_module, strip_shardings
from sdybridge.modules.hlo_annotations import HloAnnotations
from sdybridge.modules.hlo_program import Edit, HloProgram, HloSite
from sdybridge.modules.hlo_text import HloText
from sdybridge.modules.hlo_text.line import LINE, LineSite
from sdybridge.source import Source

HEADER = (
    'HloModule m, num_partitions=8, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=4, "y"=2]>}}'
)
COMMENT = "  /* not one line after the other */\n"  # such a computation is read instruction by instruction
ROWS = HloSharding.from_string("{devices=[8]<=[8]}")
EDITS = [
    Edit(keeps_sharding=False),
    Edit(keeps_sharding=False, sharding=ROWS, attributes={"b": '"', "xla.sdy.sharding": None}),
    Edit(attributes={"xla.sdy.sharding": "x", "z": "1"}),
]
CARRIED = r'frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\"x\"}]>"}'


def program(*lines: str) -> str:
    return f"{HEADER}\n\nENTRY main {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def read(text: str) -> HloText:
    return HloText(Source(text, "m.hlo"))


def everything(site: HloSite) -> tuple[object, ...]:
    return (
        *(site.name, site.opcode, site.shape, site.tensors, site.is_root, site.is_tuple, site.computation),
        *(site.parameter_number, site.tuple_index, site.target, site.has_carriers, str(site.sharding)),
        *site.frontend_attributes.items(),
        str(site.locate(SdyBridgeError(""))).partition("error: ")[2],
    )


LINES = [
    "a = f32[8]{0} parameter(0), sharding={manual}",
    f"ROOT %a = f32[8]{{0:T(8,128)(2,1)S(1)}} parameter(12), {CARRIED}",
    f'\t%a.1-b = f32[<=8] add(f32[8]{{0:T(256)}} %b), sharding={{manual}}, {CARRIED}, metadata={{op="//"}}',
    "a = (f32[8], /*index=1*/(s8[], s8[2]{0:T(2)})) c(), sharding={{manual}, {manual}, /*index=2*/{manual}}",
    'a = () custom-call(), sharding={{manual}}, metadata={op_name="x, sharding={replicated} \\" {"}',
    "a = f32[8] get-tuple-element((f32[8], f32[8]) b), index=3, sharding={manual}  ",
    'a = f32[8] custom-call(b), custom_call_target="Sharding", version=A_1, sharding={manual}, origin={{x}}',
    "a = f32[8] all-reduce(b), replica_groups={{0,1},{2,3}}, to_apply=add.1, sharding={maximal device=1}",
    "a = f32[8] all-gather(b), replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}, sharding={manual}",
    "a = f32[8] all-reduce(b), replica_groups=mesh['x'=2], device_ids=([2]T(0)) {'x'}, sharding={manual}",
    "a = f32[8] parameter(0), sharding={mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)), [{'b', ?}]}",
    "a = f32[8] parameter(0), sharding={mesh['{\\''=2], [{'{\\''}]}",
    'a = f32[8] parameter(0), sharding={devices=[2]<=[2] metadata={op_name="}"}}',
    'a = f32[8] custom-call(b), sharding={manual}, backend_config={"a":[{"b":"}"}],"c":{"d":{"e":1}}}',
    'a = f32[8] copy(b), sharding={manual}, frontend_attributes={d={e = "}" , {"\'"}},xla.sdy.x="",f="\\""}',
    f"a = f32[8] parameter(0), {CARRIED}, sharding={{manual}}",
    "a = f32[8] parameter(0), sharding={manual}, index=1",
    'a = f32[8] parameter(0), sharding={manual}, unheard_of={x}, metadata={op_name="x"}',
    "a = f32[8] parameter(0), control-predecessors={%b, %c}, sharding={manual}",
    "a = f32[8] parameter(0),sharding={manual}",
    "a = f32[8] parameter(0), sharding={manual} // c",
    f"a = f32[8] parameter(0), sharding={{manual}}\n  , {CARRIED}",
    "a = f32[8] parameter(0), sharding={manual}\n\n",
    "a = f32[2,2] constant({ { 1, -2e5 }, { inf, nan } }), sharding={manual}",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_a_line_says_what_its_tokens_say(line: str) -> None:
    other = "b = f32[4] abs(a), sharding={devices=[2]<=[2]}"
    text = program(line, other)
    tokens = program(COMMENT.strip(), line, other)
    printed, written = list(read(text).sites()), list(read(tokens).sites())
    assert isinstance(printed[1], LineSite)
    assert not isinstance(written[1], LineSite)
    assert [everything(site) for site in printed] == [everything(site) for site in written]
    for edit in EDITS:
        edited = read(text).edited(lambda _: edit)  # noqa: B023  (it is called at once)
        assert edited == read(tokens).edited(lambda _: edit).replace(COMMENT, "")  # noqa: B023
    for change in (strip_shardings, import_module):
        assert change(text).text == change(tokens).text.replace(COMMENT, "")


@pytest.mark.parametrize(
    "line",
    [
        "a = f32[8] parameter(0), sharding={manual}, sharding={replicated}",
        'a = f32[8] abs(b), sharding={manual}, frontend_attributes={a="1"}, frontend_attributes={b="1"}',
        'a = f32[8] parameter(0), sharding={manual}, metadata={op_name="x',
        "a = f32[8] parameter(0), sharding={manual}, metadata",
        "a = f32[8] parameter(0), sharding={manual},",
        "a = f32[8] parameter(0), sharding={manual}}",
        "a = f32[8] parameter(0, sharding={manual}",
        "a = f32[8] parameter(0) /* c */, sharding={manual}",
        "a = f32[8] parameter(0), sharding={manual}\n  , metadata={}",
    ],
)
def test_lines_that_are_read_closer(line: str) -> None:
    assert LINE.match(f"  {line}\n  b = f32[] parameter(1)\n") is None


def test_an_example_of_a_line() -> None:
    assert LINE.match("  a = f32[8] parameter(0), sharding={manual}, metadata={}\n  b = f32[] parameter(1)\n")


def test_reading_goes_on_behind_a_broken_instruction() -> None:
    text = program(
        "a = f32[8] parameter(0), sharding={manual}",
        "b = f32[8] abs(a, sharding={manual}",
        "c = f32[8] abs(a), sharding={manual}",
        "ROOT d = f32[8] abs(c), =, sharding={manual}",
    )
    errors: list[SdyBridgeError] = []
    view = HloAnnotations(read(text), errors=errors)
    assert [one.name for one in view.annotations()] == ["a", "c"]
    assert [error.location for error in errors] == ["m.hlo:5:17", "m.hlo:7:27"]
    assert [(found.line, found.column) for found in check_module(text)] == [(5, 17), (7, 27)]
    for change in (strip_shardings, import_module, inspect_module):
        with pytest.raises(ParseError, match="'\\(' is never closed"):
            change(text)


def test_programs_are_read_again() -> None:
    text = program(COMMENT.strip(), "a = f32[8] parameter(0), sharding={manual}") + "\nf {\n}\n"
    module = read(text.replace("ENTRY ", "") + f"\nENTRY e {{\n{COMMENT}  ROOT b = f32[8] parameter(0)\n}}\n")
    for _ in range(2):
        assert [site.name for site in module.sites()] == ["a"]
        assert [one.name for one in module.computations()] == ["main", "f", "e"]
    assert [site.name for site in module.inputs()] == ["b"]


@pytest.mark.parametrize(
    "lines",
    [
        ["a = s8[]\n    parameter(0), sharding={manual}", "b = s8[] parameter(1)", "ROOT c = s8[] abs(a)"],
        ['a = s8[] parameter(0), metadata={a=" parameter("}', "b = s8[] parameter(1)", "ROOT c = s8[] a()"],
    ],
)  # fmt: skip
def test_inputs_and_output_however_they_are_written(lines: list[str]) -> None:
    module = read(program(*lines))
    output = module.output()
    assert [site.name for site in module.inputs()] == ["a", "b"]
    assert output is not None
    assert output.name == "c"


def after(text: str) -> list[str]:
    """The attributes of each instruction."""
    return [line.partition("), ")[2] for line in text.split("ENTRY")[1].splitlines()[1:-1]]


# What becomes of instructions whose shardings are written alike may still differ.


def test_equal_shardings_on_other_shapes() -> None:
    lines = [
        "a = f32[8] abs(p), sharding={replicated}",
        "b = f32[8,8] abs(p), sharding={replicated}",
        "c = (f32[8], s32[]) tuple(p), sharding={replicated}",
        "d = f32[8] abs(p), sharding={replicated}",
    ]
    assert [one.partition("#")[2] for one in after(import_module(program(*lines)).text)] == [
        'sdy.sharding_per_value<[<@mesh, [{}]>]>"}',
        'sdy.sharding_per_value<[<@mesh, [{}, {}]>]>"}',
        'sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, []>]>"}',
        'sdy.sharding_per_value<[<@mesh, [{}]>]>"}',
    ]
    uses = inspect_module(program(*lines)).shardings
    assert [(use.count, use.bytes_per_device) for use in uses] == [(5, 3 * 32 + 256 + 4)]
    with pytest.raises(SdyBridgeError, match=r"^m.hlo:5:33: .*tiles tensors of rank 1, not of rank 2"):
        import_module(
            program(*[line.replace("replicated", "devices=[8]<=[8]") for line in lines]), name="m.hlo"
        )


def test_parameters_are_values_and_others_have_lists() -> None:
    lines = ["a = f32[8] parameter(0), sharding={manual}", "b = f32[8] abs(a), sharding={manual}"]
    first, second = after(import_module(program(*lines)).text)
    assert '"#sdy.sharding<' in first
    assert '"#sdy.sharding_per_value<' in second


def test_open_results_of_the_entry_only() -> None:
    root = "ROOT a = f32[8] abs(b), sharding={devices=[8]<=[8]}"
    text = (
        f"{HEADER}\n\nf {{\n  {root}\n}}\n\nENTRY main {{\n  {root[5:].replace('a =', 'c =')}\n  {root}\n}}\n"
    )
    new = import_module(text, open_results=[True]).text
    assert [("?" in line) for line in new.splitlines() if "xla.sdy.sharding=" in line] == [False, False, True]
    parameters = [f"p{i} = f32[8] parameter({i}), sharding={{devices=[8]<=[8]}}" for i in range(3)]
    new = import_module(program(*parameters), open_arguments=[False, True, False]).text
    assert ["?" in line for line in after(new)] == [False, True, False]


def test_elements_of_a_tuple() -> None:
    carried = (
        r'frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<'
        r'[<@mesh, [{\"x\"}]>, <@mesh, [{\"y\"}]>]>"}'
    )
    lines = [f"a{i} = f32[8] get-tuple-element(t), index={i}, {carried}" for i in (0, 1, 0)]
    first, second, third = after(export_module(program(*lines)).text)
    assert first == third == "index=0, sharding={devices=[4,2]<=[8] last_tile_dim_replicate}"
    assert second == "index=1, sharding={devices=[2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"


def test_an_outfeed_lists_the_shardings_of_its_operands() -> None:
    sharding = "sharding={{devices=[8]<=[8]}, {replicated}}"
    text = program(f"a = token[] outfeed(b, c), {sharding}", f"d = token[] send-done(e), {sharding}")
    for read_it in (inspect_module, import_module):
        with pytest.raises(SdyBridgeError, match=r"^<string>:5:"):
            read_it(text)


def test_halves_of_a_result() -> None:
    carried = r'frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{\"x\"}]>]>"}'
    line = f'a = (f32[8], f32[8]) custom-call(b), custom_call_target="xla.sdy.FuncResultSharding", {carried}'
    grid = "{devices=[4,2]<=[8] last_tile_dim_replicate}"
    assert export_module(program(line, line)).text.count(f"sharding={{{grid}, {grid}}}") == 2
    with pytest.raises(SdyBridgeError, match="1 shardings for 2 values"):
        export_module(program(line, line.replace("FuncResult", "")))


def test_what_stands_around_is_kept_on_each_line() -> None:
    targets = [f'custom_call_target="t{i}"' for i in range(3)]
    metadata = [f'metadata={{op_name="{i}"}}' for i in range(3)]
    lines = [
        f"a = f32[8]{{0}} custom-call(b), {target}, sharding={{manual}}, {CARRIED}, {other}"
        for target, other in zip(targets, metadata, strict=True)
    ]
    kept = [f"{target}, {other}" for target, other in zip(targets, metadata, strict=True)]
    assert after(strip_shardings(program(*lines)).text) == kept


def test_equal_shardings_in_two_spellings() -> None:
    texts = ["{devices=[2]<=[2]}", "{devices=[2]0,1}", "{devices=[2]<=[2]}"]
    lines = [f"a{i} = f32[8] abs(p), sharding={text}" for i, text in enumerate(texts)]
    result = rewrite_module(program(*lines), "v2")
    assert [(one.before, one.count) for one in result.shardings] == [(texts[0], 2), (texts[1], 1)]
    module: HloProgram = read(program(*lines))
    assert module.edited(lambda site: Edit(keeps_sharding=False, sharding=site.sharding)) == program(*lines)


def test_counts_of_equal_lines() -> None:
    lines = [f"a{i} = f32[8] abs(p), sharding={{manual}}, {CARRIED}, metadata={{line={i}}}" for i in range(4)]
    for change in (export_module, strip_shardings):
        [converted] = change(program(*lines)).shardings
        assert converted.count == 4
    assert import_module(program(*lines)).carried == 4
    assert import_module(program(*lines), carriers=False).sites == 4
