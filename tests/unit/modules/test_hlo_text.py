"""HLO text: which instructions carry shardings, whatever stands around them, and edits of them."""

from __future__ import annotations

import contextlib

import pytest

from sdybridge.errors import ParseError, SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding
from sdybridge.modules.hlo_program import Edit, HloSite
from sdybridge.modules.hlo_text import HloText
from sdybridge.source import Source

HEADER = "HloModule m, entry_computation_layout={(f32[8]{0})->f32[8]{0}}"
A = "a = f32[8]{0} parameter(0)"
ROWS = HloSharding.from_string("{devices=[2]<=[2]}")


def program(*lines: str, header: str = HEADER) -> str:
    return f"{header}\n\nENTRY main {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def sites(text: str) -> list[HloSite]:
    return list(HloText(Source(text, "m.hlo")).sites())


def found(text: str) -> list[tuple[str, str]]:
    return [(site.name, str(site.sharding)) for site in sites(text)]


def read_all(text: str) -> None:
    """Everything that is read of a program when it is asked for."""
    for site in sites(text):
        site.verify()
        assert isinstance(site.frontend_attributes, dict)


@pytest.mark.parametrize(
    "line",
    [
        'a = f32[8] parameter(0), metadata={op_name="x, sharding={replicated}"}',
        'a = f32[8] parameter(0), metadata={op_name="x\\", sharding={replicated}"}',
        'a = f32[8] parameter(0), backend_config={"a": {"sharding={": "}"}}',
        'a = f32[8] parameter(0), frontend_attributes={b={sharding={replicated}},c="x"}',
        'a = f32[8] parameter(0), frontend_attributes={b="xla.sdy.sharding=\'"}',
        'a = f32[8] custom-call(), custom_call_target="xla.sdy.FuncResultSharding"',
        "a = f32[8] parameter(0) // , sharding={replicated}",
        "// a = f32[8] parameter(0), sharding={replicated}\n  a = f32[8] parameter(0)",
        "a = f32[8] parameter(0) /* , sharding={replicated} */",
        "/*\n  b = f32[8] parameter(0), sharding={replicated}\n*/ a = f32[8] parameter(0)",
        "a = f32[8] call(b), to_apply=xla.sdy.manual_computation_body.3",
        "a = f32[8] parameter(0), my-sharding=x",
    ],
)
def test_what_looks_like_a_sharding(line: str) -> None:
    after = "b = f32[8] negate(a), sharding={manual}"
    assert found(program(line, after)) == [("b", "{manual}")]


@pytest.mark.parametrize(
    "line",
    [
        "a = f32[8]{0} parameter(0), sharding={devices=[2]<=[2]}",
        "%a = f32[8]{0:T(8,128)S(1)} parameter(0), sharding={devices=[2]<=[2]}",
        "ROOT a = f32[8]{0} parameter(0),sharding={devices=[2]<=[2]}",
        "a = f32[8] parameter(0), sharding= {devices=[2] <= [2]}",
        "a = f32[8] parameter(0),\n    sharding={devices=[2]<=[2]}",
        "a = f32[8] parameter(0)\n  , sharding={devices=[2]<=[2]}",
        'a = f32[8]\n  parameter(0), metadata={op_name="x"},\n  sharding={devices=[2]<=[2]}',
        "a = f32[8] parameter(0), /*c*/ sharding={devices=[2]<=[2]} // c",
        'a = f32[8] parameter(0), metadata={op_name="{ \\" }"}, sharding={devices=[2]<=[2]}',
        "a = (f32[8], /*index=1*/(f32[8]{0}, s32[])) parameter(0), sharding={devices=[2]<=[2]}",
        "a = parameter(0), sharding={devices=[2]<=[2]}",
        "a = f32[8] parameter(0), sharding={devices=[2]<=[2]}\r",
        "a = f32 [8] {0} parameter (0), sharding={devices=[2]<=[2]}",
        "a = b(f32[8]{0}) get-tuple-element(b), index=1, sharding={devices=[2]<=[2]}",
        "a = f32[8] custom-call(), custom_call_target='it\\'s, {', sharding={devices=[2]<=[2]}",
        "a = f32[4] constant({1, 2, {3}, 4}), sharding={devices=[2]<=[2]}",
        "a = f32[8] all-reduce(b), replica_groups=[2,4]<=[4,2]T(1,0), sharding={devices=[2]<=[2]}",
        "a = f32[8] all-reduce(b), replica_groups=mesh['x'=2,'y'=2] {'y'}, sharding={devices=[2]<=[2]}",
        "a = f32[8] copy(b), replica_groups=mesh['x'=2], device_ids=(1,0) {'x'},sharding={devices=[2]<=[2]}",
    ],
)
def test_forms_of_an_instruction(line: str) -> None:
    text = program(line, "b = f32[8] negate(a), sharding={manual}")
    assert found(text) == [("a", "{devices=[2]<=[2]}"), ("b", "{manual}")]
    assert HloText(Source(text)).edited(lambda _: Edit()) == text


@pytest.mark.parametrize(
    "text",
    [
        "a = f32[8] parameter(0), sharding={manual}",
        "%a = f32[8] parameter(0), sharding={manual}\n",
        "ENTRY e { ROOT %a = f32[8] parameter(0), sharding={manual} }",
        "ENTRY /* the first */ e // and last\n { ROOT %a = f32[8] parameter(0), sharding={manual} }",
        f"{HEADER}\n ENTRY e (a: f32[8]) -> (s32[]) {{\n  a = f32[] parameter(0), sharding={{manual}}\n  }}",
        f"{HEADER}\n\n%e (a: f32[8]) -> f32[8]{{0}} {{\n  a = f32[8] parameter(0), sharding={{manual}}\n}}\n",
        f'// c\n{HEADER}\n\ne {{\n  a = f32[8] parameter(0), sharding={{manual}}\n}}, execution_thread="t"\n',
        f'{HEADER}\n\nFileNames\n1 "a{{"\n\ne {{\n  a = f32[8] parameter(0), sharding={{manual}}\n}}\n',
    ],
)
def test_forms_of_a_module(text: str) -> None:
    assert found(text) == [("a", "{manual}")]


@pytest.mark.parametrize("groups", ["[2,2]<=[4]", "mesh['x'=2,'y'=2] {'y'}", "mesh['x'=2] /* c */ {'x'}"])
def test_what_stands_behind_replica_groups(groups: str) -> None:
    attributes = 'frontend_attributes={k="1"}, metadata={op_name="x"}'
    text = program(f"a = f32[8] all-gather(b), replica_groups={groups}, sharding={{manual}}, {attributes}")
    (site,) = sites(text)
    assert site.frontend_attributes == {"k": "1"}
    new = HloText(Source(text)).edited(lambda _: Edit(keeps_sharding=False, attributes={"k": "2"}))
    assert new == text.replace(", sharding={manual}", "").replace('k="1"', 'k="2"')


def test_what_a_site_knows() -> None:
    text = program(
        "a = (f32[8,<=4]{1,0}, s32[]) parameter(1), sharding={{devices=[2,1]<=[2]}, {replicated}}, "
        'frontend_attributes={x="1",xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"x\\"}, {}]>"}',
        "ROOT get-tuple-element.2 = f32[8]{0} get-tuple-element(a), index=3, sharding={manual}",
        'c = f32[8] custom-call(a), custom_call_target="Sharding", sharding={manual}',
    )
    first, second, third = sites(text)
    assert (first.opcode, first.parameter_number, first.shape) == (
        "parameter",
        1,
        "(f32[8,<=4]{1,0}, s32[])",
    )
    assert [str(tensor) for tensor in first.tensors or ()] == ["f32[8,4]", "s32[]"]
    assert first.frontend_attributes == {"x": "1", "xla.sdy.sharding": '#sdy.sharding<@mesh, [{"x"}, {}]>'}
    assert (first.computation, first.is_entry, first.is_root) == ("main", True, False)
    assert (second.is_root, second.tuple_index, third.target) == (True, 3, "Sharding")


def test_sites_are_found_again_behind_instructions_over_several_lines() -> None:
    text = """HloModule m

%f {
  ROOT %a = f32[8] parameter(0)
}

ENTRY %main {
  %a = f32[8] parameter(0), sharding={devices=[2]<=[2]}
  %b = f32[8] negate(%a),
    sharding={replicated}
  ROOT %c = f32[8] call(%b), to_apply=%f, sharding={manual}
}

%g {
  ROOT %d = f32[8] parameter(0), sharding={replicated}
}
"""
    program = HloText(Source(text))
    for _ in range(2):
        names = []
        for site in program.sites():
            names.append(site.name)
            assert program.output() is not None  # which reads to the end
        assert names == ["a", "b", "c", "d"]


def test_inputs_and_output() -> None:
    text = program(
        "b = f32[4] parameter(1)", "a = f32[8] parameter(0), sharding={manual}", "ROOT c = f32[] add(a, b)"
    )
    module = HloText(Source(text))
    assert [(site.name, site.shape) for site in module.inputs()] == [("a", "f32[8]"), ("b", "f32[4]")]
    output = module.output()
    assert output is not None
    assert (output.name, output.has_sharding) == ("c", False)


@pytest.mark.parametrize(
    ("line", "message", "column"),
    [
        ("a = f32[8] parameter(0), sharding={devices=[2,2]<=[16]}", "but 16 are counted", 53),
        ("a = f32[96]{0} pad(b), sharding={devices=[1,1,2,2]<=[4] last_tile_dim_replicate}", "rank 3", 35),
        ("a = (f32[], f32[]) parameter(0), sharding={{replicated}}", "a tuple of 1 shardings on 2", 45),
        ("a = f32[] parameter(0), sharding={{replicated}}", "the sharding of a tuple on a f32", 36),
        ("a = f32[8] parameter(0), sharding={replicated}, sharding={manual}", "a second attribute", 51),
        ("a = f32[8] parameter(0), sharding={{replicated", "never closed", 37),
        ("a = f32[8] parameter(0), sharding=replicated", "expected '{' to start a sharding", 37),
        ("a f32[8] parameter(0), sharding={replicated}", "expected an instruction", 3),
        ("a = f32[8] parameter, sharding={replicated}", "expected an opcode", 14),
        ('a = f32[8] parameter(0), metadata={op_name="x}, sharding={replicated}', "never closed", 46),
        ("a = f32[8] parameter(0), =, sharding={replicated}", "expected an attribute", 28),
    ],
)
def test_errors_say_where(line: str, message: str, column: int) -> None:
    with pytest.raises((ParseError, VerificationError), match=message) as caught:
        read_all(program(line))
    assert caught.value.location == f"m.hlo:4:{column}", str(caught.value)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sharding={manual}", "sharding={devices=[2]<=[2]}"),
        ('sharding={manual}, metadata={op_name="x"}', 'sharding={devices=[2]<=[2]}, metadata={op_name="x"}'),
        (
            'frontend_attributes={xla.sdy.a="1"}',
            'sharding={devices=[2]<=[2]}, frontend_attributes={xla.sdy.a="1"}',
        ),
        (
            'index=0, origin={x}, frontend_attributes={xla.sdy.a="1"}',
            'index=0, sharding={devices=[2]<=[2]}, origin={x}, frontend_attributes={xla.sdy.a="1"}',
        ),
    ],
)
def test_a_sharding_goes_where_xla_prints_it(before: str, after: str) -> None:
    text = program(f"a = f32[8] parameter(0), {before}")
    new = HloText(Source(text)).edited(lambda _: Edit(keeps_sharding=False, sharding=ROWS))
    assert new == program(f"a = f32[8] parameter(0), {after}")


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("sharding={manual}", {"k": "v"}, 'sharding={manual}, frontend_attributes={k="v"}'),
        ("sharding={manual}", {"k": '{a = "}"}'}, 'sharding={manual}, frontend_attributes={k={a = "}"}}'),
        ("sharding={manual}", {"k": '"'}, 'sharding={manual}, frontend_attributes={k="\\""}'),
        (
            "sharding={manual}, origin={x}",
            {"k": "v"},
            'sharding={manual}, frontend_attributes={k="v"}, origin={x}',
        ),
        (
            'sharding={manual}, frontend_attributes={a="1",c="3"}',
            {"b": "2", "d": "4", "c": None},
            'sharding={manual}, frontend_attributes={a="1",b="2",d="4"}',
        ),
        (
            'sharding={manual}, frontend_attributes={a="1"}, origin={x}',
            {"a": None},
            "sharding={manual}, origin={x}",
        ),
        (
            'sharding={manual}, frontend_attributes={b="1", a="2"}',
            {"b": "3"},
            'sharding={manual}, frontend_attributes={b="3", a="2"}',
        ),
        ("sharding={manual}", {"k": None}, "sharding={manual}"),
        ("sharding={manual}", {}, "sharding={manual}"),
    ],
)
def test_edits_of_frontend_attributes(before: str, changes: dict[str, str | None], after: str) -> None:
    text = program(f"a = f32[8] parameter(0), {before}")
    assert HloText(Source(text)).edited(lambda _: Edit(attributes=changes)) == program(
        f"a = f32[8] parameter(0), {after}"
    )


def test_both_are_removed_and_both_are_added() -> None:
    bare, full = (
        program(f"{A}, origin={{x}}"),
        program(f'{A}, sharding={{manual}}, frontend_attributes={{xla.sdy.k="v"}}, origin={{x}}'),
    )
    removed = HloText(Source(full)).edited(
        lambda _: Edit(keeps_sharding=False, attributes={"xla.sdy.k": None})
    )
    assert removed == bare
    text = program(f'{A}, frontend_attributes={{xla.sdy.k="v"}}, origin={{x}}')
    swapped = HloText(Source(text)).edited(
        lambda _: Edit(keeps_sharding=False, sharding=ROWS, attributes={"xla.sdy.k": None, "b": "1"})
    )
    assert swapped == program(
        f'{A}, sharding={{devices=[2]<=[2]}}, frontend_attributes={{b="1"}}, origin={{x}}'
    )


@pytest.mark.parametrize(
    ("header", "changes", "after"),
    [
        ("HloModule m", {"k": "{}"}, "HloModule m, frontend_attributes={k={}}"),
        (
            "HloModule m, num_partitions=8",
            {"k": "v"},
            'HloModule m, num_partitions=8, frontend_attributes={k="v"}',
        ),
        (
            'HloModule m, frontend_attributes={k={a},z="1"}',
            {"k": None},
            'HloModule m, frontend_attributes={z="1"}',
        ),
        ("HloModule m, frontend_attributes={k={a}}", {"k": None}, "HloModule m"),
    ],
)
def test_attributes_of_the_module(header: str, changes: dict[str, str | None], after: str) -> None:
    text = program(A, header=header)
    assert HloText(Source(text)).edited(lambda _: None, changes) == program(A, header=after)


def test_the_module() -> None:
    module = HloText(
        Source(program(A, header='HloModule jit_f.1, num_partitions=8, frontend_attributes={a="\\303\\251"}'))
    )
    assert (module.name, module.num_partitions, module.frontend_attributes) == ("jit_f.1", 8, {"a": "é"})


@pytest.mark.parametrize("cut", range(0, 260, 7))
def test_a_text_cut_off_anywhere(cut: int) -> None:
    text = program(
        "a = (f32[8]{0}, s32[]) parameter(0), sharding={{devices=[2]<=[2]}, {manual}}, origin={x}",
        'b = f32[8]{0} custom-call(a), custom_call_target="x", frontend_attributes={xla.sdy.sharding="#\\""}',
    )
    with contextlib.suppress(SdyBridgeError):  # and nothing else
        read_all(text[:cut])
