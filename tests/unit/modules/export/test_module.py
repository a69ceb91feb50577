"""The export of whole programs: what it reports, and laws on texts of many shapes."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import pytest
from tests.unit.modules import programs

from sdybridge.bridge import LossKind
from sdybridge.errors import ConversionError, SdyBridgeError
from sdybridge.modules import ConstraintForm, ExportResult, export_module
from sdybridge.modules.export import shardings as export_shardings
from sdybridge.sdy import MeshAttr
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'
X = 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>'
LIST = 'sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>'
TYPE = "tensor<8xf32>"
HLO = 'mhlo.sharding = "{devices=[2,4]<=[8] last_tile_dim_replicate}"'


def answer(text: str, **options: object) -> tuple[object, ...]:
    """Everything that export says about a text, or its error."""
    try:
        result = export_module(text, **options)  # type: ignore[arg-type]
    except SdyBridgeError as error:
        return type(error), str(error)
    return (result.text, *facts(result))


def facts(result: ExportResult) -> tuple[object, ...]:
    shardings = {(s.before, s.after, s.count, s.first, s.losses) for s in result.shardings}
    return shardings, result.operations, result.meshes, result.added


@pytest.fixture
def carefully(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[object, ...]]:
    """`answer` without the short cuts: nothing is converted by its context, or as part of a line."""

    def careful(text: str, **options: object) -> tuple[object, ...]:
        with monkeypatch.context() as patch:
            patch.setattr(export_shardings.ShardingExport, "_repeat", lambda *_: False)
            patch.setattr(export_shardings.ShardingExport, "_signature", lambda *_: False)
            patch.setattr(export_shardings.ShardingExport, "_scan_lines", lambda *_: 0)
            init = export_shardings.ShardingExport.__init__

            def forgetful(
                export: export_shardings.ShardingExport, *arguments: object, **options: object
            ) -> None:
                init(export, *arguments, **options)  # type: ignore[arg-type]
                export._copies = Forgetful()
                export._contexts = Forgetful()

            patch.setattr(export_shardings.ShardingExport, "__init__", forgetful)
            return answer(text, **options)

    return careful


class Forgetful(dict):  # type: ignore[type-arg]
    """A dictionary that keeps nothing."""

    def __setitem__(self, key: object, value: object) -> None:
        pass


LINE = '%0 = s.op %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x8xf32>\n'
TAIL = LINE[LINE.index("{sdy") :]
RULE = "sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>"
LIKE_IT = [
    LINE,
    f"%5 = s.op %a, dims = [1] {TAIL}",
    LINE.replace("\n", ' loc("a":1:2)\n'),
    LINE.replace("{sdy", "{b = [1], sdy"),
    LINE.replace("{sdy", '{b = "{", sdy'),
    LINE.replace("{sdy", 'mhlo.sharding = "{replicated}", sdy'),
    LINE.replace("} :", f", {RULE}}} :"),
    LINE.replace("} :", ', xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} :'),
    LINE.replace("\n", f" // {TAIL}"),
    LINE.rstrip("\n") + f" %1 = s.op %a {TAIL}",
    f"%0 = s.op %a {{{RULE}}} : tensor<8xf32>\n{LINE}",
    f"%0 = s.op %a {{{RULE}}} : tensor<8xf32> // {{\n{LINE}",
    f'%0 = s.op %a {{{RULE}}} : tensor<8xf32>\n%2 = s.op %a {{b = "//", {RULE}}} : tensor<8xf32>\n{LINE}',
    f"%0 = sdy.reshard %a <@m, [{{}}, {{}}]> {{{RULE}}} : tensor<8x8xf32>\n{LINE}",
    f"%0 = sdy.propagation_barrier %a allowed_direction=NONE {TAIL}",
    f"%0:2 = s.op %a {TAIL}",
    f"// %0 = s.op %a {TAIL}",
    f"%0 = s.op n = {TAIL}",
    f"%0 = stablehlo.custom_call @other(%a) {TAIL}".replace(": ", ": (tensor<8x8xf32>) -> "),
    f"func.func @f(%a: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{}}]>}}) {{\n{LINE}}}\n",
    LINE.rstrip("\n") + f" {LINE}%1 = sdy.reshard %a <@m, [{{}}, {{}}]> : tensor<8x8xf32>\n{LINE}",
    LINE.rstrip("\n"),
    LINE.rstrip("\n").removesuffix(">") + "xf32>",
]


@pytest.mark.parametrize("line", LIKE_IT)
def test_a_line_like_known_ones(line: str, carefully: Callable[..., tuple[object, ...]]) -> None:
    mesh = 'sdy.mesh @m = <["x"=2, "y"=4]>\n'
    known = LINE + LINE.replace("tensor<8x8xf32>", "(tensor<8x8xf32>) -> tensor<8x8xf32>")
    for text in (f"{mesh}{known}{line}", f"{mesh}{line}\n{known}{known}{line}\n{known}"):
        assert answer(text) == carefully(text)


# ---------------------------------------------------------------- the result


def test_result() -> None:
    text = f"""{MESH}func.func @f(%a: {TYPE} {{{X}}}, %b: {TYPE} {{{X}}}) {{
  %0 = stablehlo.abs %a {{{LIST}}} : {TYPE}
  %1 = sdy.reshard %0 <@mesh, [{{"y", ?}}p1]> : {TYPE}
  %2 = sdy.reshard %1 <@mesh, [{{"x"}}]> : {TYPE}
  %3 = sdy.constant dense<1.0> : {TYPE}
  %4 = stablehlo.while(%i = %3) : {TYPE}
  cond {{
    stablehlo.return %p : tensor<i1>
  }} do {{
    stablehlo.return %i : {TYPE}
  }}
}}
"""
    result = export_module(text)
    assert [(s.before, s.count, s.first) for s in result.shardings] == [
        ('#sdy.sharding<@mesh, [{"x"}]>', 3, text.index("#sdy.sharding<")),
        ('#sdy.sharding_per_value<[<@mesh, [{"x"}]>]>', 1, text.index("#sdy.sharding_per_value<")),
        ('#sdy.sharding<@mesh, [{"y", ?}p1]>', 1, text.index('<@mesh, [{"y"')),
    ]
    assert result.sites == 5
    assert result.operations == {"sdy.mesh": 1, "sdy.reshard": 2, "sdy.constant": 1}
    assert result.meshes == {"mesh": MeshAttr.from_sizes({"x": 2, "y": 4})}
    assert result.added == 1
    assert {(loss.kind, count) for loss, count in result.losses} == {
        (LossKind.AXIS_NAMES, 4),
        (LossKind.AXIS_NAMES, 1),
        (LossKind.OPENNESS, 1),
        (LossKind.PRIORITY, 1),
    }


def test_options() -> None:
    text = f"""{MESH}%0 = sdy.reshard %a <@mesh, [{{}}], unreduced={{"x"}}> : {TYPE}
%1 = "stablehlo.if"(%p) ({{
  stablehlo.return %0 : {TYPE}
}}) : (tensor<i1>) -> {TYPE}
"""
    assert "mhlo.copy %a" in export_module(text).text
    portable = export_module(text, constraints=ConstraintForm.CUSTOM_CALL).text
    assert "stablehlo.custom_call @Sharding(%a)" in portable
    assert "mhlo.copy" not in portable
    assert export_module(text).text.count("{replicated}") == 1
    without = export_module(text, add_missing_sharding_to_control_flow=False)
    assert "{replicated}" not in without.text
    assert without.added == 0
    assert "last_tile_dims={unreduced, replicated}}" in export_module(text).text
    classic = export_module(text, target=Target.CLASSIC, add_missing_sharding_to_control_flow=False).text
    assert 'mhlo.copy %a {mhlo.sharding = "{replicated}"}' in classic
    newer = export_module(text, target=Target.NEWER).text
    assert r"metadata={op_type=\22sdy::reduction_op\22 op_name=\22SUM\22}}" in newer


def test_progress() -> None:
    text = MESH + "".join(f"%{i} = stablehlo.abs %a {{{LIST}}} : {TYPE}\n" for i in range(40_000))
    seen: list[int] = []
    result = export_module(text, progress=seen.append)
    assert seen == sorted(seen)
    assert len(seen) == len(text) >> 20
    assert all(0 < offset < len(text) for offset in seen)
    assert result.text == export_module(text).text


@pytest.mark.parametrize("text", ["", "\n", "module {}", "module {\n}\n", "// only a comment", "\t\r\n"])
def test_without_shardings(text: str) -> None:
    result = export_module(text)
    assert result.text == text
    assert (result.sites, result.added, result.shardings, result.meshes) == (0, 0, (), {})


def test_errors_name_the_operation() -> None:
    with pytest.raises(ConversionError, match=r"^model:3:8: error: sdy.later is not") as raised:
        export_module(f"{MESH}\n  %0 = sdy.later %a <@mesh, []> : {TYPE}", name="model")
    assert raised.value.source is not None
    assert raised.value.source.text[raised.value.span.start : raised.value.span.end] == "sdy.later"  # type: ignore[union-attr]


# ---------------------------------------------------------------- bytes that stay


@pytest.mark.parametrize(
    "raw", [b"\xff\xfe", b"\xc3\x28", "\u2028\u0085é世界🙂".encode(), b"\x00", b"\x0b\x0c"]
)
def test_any_bytes_survive(raw: bytes) -> None:
    note = raw.decode("utf-8", "surrogateescape")
    text = f'{MESH}// {note}\n%0 = stablehlo.abs %a {{s = "{note}", {LIST}}} : {TYPE} loc("{note}")\n'
    assert export_module(text).text == text.removeprefix(MESH).replace(LIST, HLO)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n", " ", "\t\n"])
def test_the_end_of_the_text(end: str) -> None:
    for body in (f"%0 = stablehlo.abs %a {{{LIST}}} : {TYPE}", f"func.func @f(%a: {TYPE} {{{X}}})"):
        assert export_module(MESH + body + end).text == (body + end).replace(LIST, HLO).replace(X, HLO)
    constraint = f'%0 = sdy.reshard %a <@mesh, [{{"x"}}]> : {TYPE}'
    assert export_module(MESH + constraint + end).text == f"%0 = mhlo.copy %a {{{HLO}}} : {TYPE}{end}"


# ---------------------------------------------------------------- laws on many texts


@pytest.mark.parametrize("seed", range(60))
def test_short_cuts_change_nothing(seed: int, carefully: Callable[..., tuple[object, ...]]) -> None:
    """Contexts and whole lines give what a look at every single site gives."""
    text = programs.random_program(random.Random(seed))
    for options in ({}, {"constraints": ConstraintForm.CUSTOM_CALL}):
        assert answer(text, **options) == carefully(text, **options)


@pytest.mark.parametrize("seed", range(20))
def test_line_ends_change_nothing(seed: int) -> None:
    text = programs.random_program(random.Random(seed))
    expected, converted = answer(text), answer(text.replace("\n", "\r\n"))
    if isinstance(expected[0], str):
        assert str(converted[0]).replace("\r\n", "\n") == expected[0]
        assert converted[2:] == expected[2:]
    else:
        assert converted[0] is expected[0]


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 6])
def test_cut_anywhere(seed: int) -> None:
    """Whatever part of a program is there, the answer is a text or an error of ours."""
    text = programs.random_program(random.Random(seed))
    for end in range(seed, len(text), 50):
        assert answer(text[:end])
        assert answer(text[end:])


@pytest.mark.parametrize("seed", range(40))
def test_changed_anywhere(seed: int) -> None:
    rng = random.Random(seed)
    text = programs.random_program(rng)
    signs = [
        '"',
        "{",
        "}",
        "<",
        ">",
        "[",
        "]",
        "(",
        ")",
        "\\",
        "//",
        "\n",
        ",",
        "=",
        "#",
        "@",
        "%",
        "sdy.",
        "é",
        "",
    ]
    for _ in range(30):
        at, size = rng.randrange(len(text)), rng.choice((0, 1, 1, 5, 40))
        assert answer(text[:at] + rng.choice(signs) + text[at + size :])


@pytest.mark.parametrize("seed", range(20))
def test_again_changes_nothing(seed: int) -> None:
    once = answer(programs.random_program(random.Random(seed)))
    if isinstance(once[0], str) and "callback" not in once[0]:
        assert answer(once[0])[0] == once[0]


# ---------------------------------------------------------------- long signatures

ARGUMENTS = {
    "plain": f"{TYPE} {{{X}}}",
    "open": f'{TYPE} {{sdy.sharding = #sdy.sharding<@mesh, [{{"y", ?}}p2]>}}',
    "other type": 'tensor<4x4xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}',
    "bare": TYPE,
    "attributes": f'{TYPE} {{jax.buffer_donor = true, n = "a b", {X}, tf.aliasing_output = 1 : i32}}',
    "empty attributes": f"{TYPE} {{}}",
    "location": f"{TYPE} {{{X}}} loc(#loc1)",
}
ODD = {
    "string between": f'{TYPE} {{{X}}} loc("x")',
    "string with a name": f'{TYPE} {{s = "sdy.sharding", {X}}}',
    "string with a brace": f'{TYPE} {{s = "}}{{", {X}}}',
    "escape": rf'{TYPE} {{s = "\22 {{", {X}}}',
    "slash": f'{TYPE} {{s = "a/b", {X}}}',
    "comment sign": f'{TYPE} {{s = "//", {X}}}',
    "nested": f"{TYPE} {{a = {{b = {{c = {{d}}}}}}, {X}}}",
    "nested sharding": f"{TYPE} {{a = {{{X}}}, {X}}}",
    "spaces": f"{TYPE}  {{ {X} }}",
    "inline mesh": f'{TYPE} {{sdy.sharding = #sdy.sharding<mesh<["q"=2]>, [{{"q"}}]>}}',
    "quoted mesh": f'{TYPE} {{sdy.sharding = #sdy.sharding<@"mesh", [{{"x"}}]>}}',
    "alias": f"{TYPE} {{sdy.sharding = #s}}",
    "type with brackets": f"tensor<8xcomplex<f32>> {{{X}}}",
    "tuple": f"tuple<{TYPE}, {TYPE}> {{{X}}}",
    "token": "!stablehlo.token {sdy.sharding = #sdy.sharding<@mesh, []>}",
    "another key": f"{TYPE} {{xla.{X}}}",
    "a key like it": f"{TYPE} {{sdy.sharding_x = 1 : i32, {X}}}",
    "unsorted": f"{TYPE} {{z, {X}, a}}",
    "manual axes": f'{TYPE} {{{X}, xla.sdy.manual_axes = #sdy<manual_axes{{"y"}}>}}',
    "wrong rank": f"tensor<8x8xf32> {{{X}}}",
    "unknown axis": f'{TYPE} {{sdy.sharding = #sdy.sharding<@mesh, [{{"z"}}]>}}',
    "unknown mesh": f'{TYPE} {{sdy.sharding = #sdy.sharding<@nope, [{{"x"}}]>}}',
    "a list": f"{TYPE} {{{LIST}}}",
    "malformed": f'{TYPE} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}} {{}}]>}}',
}


def signature(arguments: list[str], separator: str) -> str:
    listed = separator.join(f"%arg{i}: {argument}" for i, argument in enumerate(arguments))
    return f'#s = #sdy.sharding<@mesh, [{{"y"}}]>\n{MESH}func.func @f({listed}) -> ({TYPE} {{{X}}}) {{\n}}\n'


@pytest.mark.parametrize("odd", [None, *ODD])
@pytest.mark.parametrize("place", [0, 50, -1])
def test_one_long_line(odd: str | None, place: int) -> None:
    """A signature on one line converts as the same one argument per line, also with an odd one in it."""
    arguments = list(itertools.islice(itertools.cycle(ARGUMENTS.values()), 120))
    if odd:
        arguments[place] = ODD[odd]
    one_line, many_lines = signature(arguments, ", "), signature(arguments, ",\n")
    assert max(map(len, one_line.splitlines())) > 8000
    expected, found = answer(many_lines), answer(one_line)
    if isinstance(expected[0], str):
        assert isinstance(found[0], str)
        assert found[0] == expected[0].replace(",\n", ", ")
        assert [s[:3] for s in sorted(found[1])] == [s[:3] for s in sorted(expected[1])]  # type: ignore[call-overload]
    else:
        assert found[0] is expected[0]
        at = str(found[1]).partition(" error: ")[2]
        assert at.splitlines()[0] == str(expected[1]).partition(" error: ")[2].splitlines()[0]
        assert f"{argument_at(one_line, found)}" == f"{argument_at(many_lines, expected)}"


def argument_at(text: str, failure: tuple[object, ...]) -> str:
    """The argument that an error points to."""
    line, column = str(failure[1]).split(":")[1:3]
    offset = sum(len(line) + 1 for line in text.split("\n")[: int(line) - 1]) + int(column)
    return text[text.rindex("%arg", 0, offset) : offset].partition(":")[0]


def test_several_long_lines() -> None:
    """Functions whose long signatures follow one another, and what stands between them."""
    one = signature(list(ARGUMENTS.values()) * 12, ", ").partition("func.func")[2]
    text = f'#s = #sdy.sharding<@mesh, [{{"y"}}]>\n{MESH}' + "".join(
        f"func.func{one}%{i} = stablehlo.abs %a {{{LIST}}} : {TYPE}\n" for i in range(4)
    )
    result = export_module(text)
    assert "sdy." not in result.text
    assert result.text.count("mhlo.sharding") == result.sites == text.count("sdy.sharding = ")


# ---------------------------------------------------------------- texts that take a careless scanner hours

MANY = 20_000
HOSTILE: dict[str, Callable[[], str]] = {
    "odd arguments on one line": lambda: (
        "func.func @f("
        + ", ".join(f"%a{i}: {TYPE} {{a = {{b = {{c = {{d = {{}}}}}}}}, {X}}}" for i in range(MANY))
        + ")"
    ),
    "escapes on one line": lambda: (
        "func.func @f(" + ", ".join(f'%a{i}: {TYPE} {{a = "\\22", {X}}}' for i in range(MANY)) + ")\n"
    ),
    "one line without an end": lambda: "".join(f"%{i} = a.b %a {{{LIST}}} : {TYPE} " for i in range(MANY)),
    "a file name in every location": lambda: "".join(
        f'%{i} = a.b %a {{{LIST}}} : {TYPE} loc("dir/a.py":{i}:1)\n' for i in range(MANY)
    ),
    "nested brackets": lambda: "a.b " + "(" * MANY + f"{{{LIST}}}" + ")" * MANY,
    "brackets that never close": lambda: "a.b " + "{[(<" * MANY + f"{{{LIST}}}",
    "brackets that never open": lambda: "a.b " + "}])>" * MANY + f"{{{LIST}}}",
    "one large dictionary": lambda: (
        "a.b {" + ",\n".join(f"sdy.k{i} = {{c = {{d}}}}" for i in range(MANY)) + "}"
    ),
    "look-alikes in strings": lambda: "".join(
        f"%{i} = a.b {{s = \"sdy.sharding = #sdy.sharding<@m, [{{'x'}}]>\"}}\n" for i in range(5 * MANY)
    ),
    "look-alikes in one string": lambda: '"' + "sdy.sharding = #sdy.sharding<@m, []> " * (5 * MANY) + '"',
    "look-alikes in one comment": lambda: "//" + "sdy.sharding = #sdy.sharding<@m, []> " * (5 * MANY),
    "look-alikes in names": lambda: "xsdy.sharding = #sdy.sharding<@m, []> " * (5 * MANY),
    "strings that never close": lambda: '"sdy.sharding = \n' * MANY,
    "shardings that never close": lambda: "sdy.a = #sdy.sharding<" * MANY,
    "rules that never close": lambda: "{sdy.sharding_rule = #sdy.op_sharding_rule<" * MANY,
    "loops on one line": lambda: "".join(
        f"%{i} = stablehlo.while(%x = %a) : {TYPE} cond {{ stablehlo.return %p : i1 }} do {{ }} "
        for i in range(MANY)
    ),
    "a chain of aliases": lambda: (
        f"#s0 = {X.partition(' = ')[2]}\n"
        + "".join(f"#s{i + 1} = #sdy.sharding_per_value<[#s{i}]>\n" for i in range(MANY))
    ),
    "many meshes": lambda: "".join(f'sdy.mesh @m{i} = <["x"=2]>\n' for i in range(MANY)) + "func.func @f()",
    "many meshes at the end": lambda: (
        "func.func @f()\n" + "".join(f'sdy.mesh @m{i} = <["x"=2]>\n' for i in range(MANY))
    ),
    "many groups on one line": lambda: f"sdy.sharding_group %a group_id=1 : {TYPE} " * MANY,
    "many constraints on one line": lambda: "".join(
        f'%{i} = sdy.reshard %a <@mesh, [{{"x"}}]> : tensor<{i}x!q<1>> ' for i in range(MANY)
    ),
    "modules side by side": lambda: (
        "module {\n"
        + "".join(
            f'module @m{i} {{\nsdy.mesh @mesh = <["x"=2]>\nfunc.func @f(%a: {TYPE} {{{X}}})\n}}\n'
            for i in range(4000)
        )
        + "}"
    ),
    "wide spaces": lambda: f"a.b{' ' * 50 * MANY}{{{LIST}{' ' * 50 * MANY}}} : {TYPE}",
    "a long name": lambda: (
        f'a.b {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"{"x" * 50 * MANY}"}}]>]>}}'
    ),
}


FOUND: dict[str, int | str] = {
    "odd arguments on one line": MANY,
    "escapes on one line": MANY,
    "one line without an end": MANY,
    "a file name in every location": MANY,
    "nested brackets": 1,
    "brackets that never close": 1,
    "brackets that never open": 1,
    "strings that never close": "ParseError",
    "shardings that never close": "ParseError",
    "rules that never close": "ParseError",
    "many constraints on one line": MANY,
    "modules side by side": 4000,
    "wide spaces": 1,
    "a long name": "VerificationError",
}
"""At how many places of a hostile text a sharding is converted, 0 unless said here, or the error about it."""


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_take_no_time(name: str) -> None:
    """Each takes about a second, and would take hours if time grew with the square of the text."""
    try:
        found: int | str = export_module(MESH + HOSTILE[name]()).sites
    except SdyBridgeError as error:
        found = type(error).__name__
    assert found == FOUND.get(name, 0)
