"""What conversions warn of: programs with shardings of two kinds, in every format."""

# ruff: noqa: E501  (a program a line)

from __future__ import annotations

import pytest
from jaxlib import _hlo
from tests.unit.checks.rule_cases import carried, carrier, constraint, hlo, sdy

from sdybridge.checks import check_module
from sdybridge.errors import VerificationError
from sdybridge.modules import CarrierForm, ConvertedModule, export_module, import_module

ANY = "(tensor<8x8xf32>) -> tensor<8x8xf32>"
CALL = f'  %0 = stablehlo.custom_call @Sharding(%a) {{mhlo.sharding = "{{replicated}}"}} : {ANY}\n'
ABS = '  %0 = stablehlo.abs %a {mhlo.sharding = "{replicated}"} : tensor<8x8xf32>\n'
HALVES, QUARTERS = "{devices=[2,1]<=[2]}", "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"
COLUMNS = "{devices=[1,2,4]<=[8] last_tile_dim_replicate}"
CONSTRAINT = constraint("[{}, {}]", "%a", "tensor<8x8xf32>")

BOTH = sdy('[{"x"}, {}]', body=CALL)
IGNORED = sdy('[{"x"}, {}]', body=ABS)
ON_ANOTHER_RESULT = (
    sdy('[{"x"}, {}]') + 'func.func @g() -> (i32 {mhlo.sharding = "{replicated}"}) {\n  return\n}\n'
)


def beside(text: str, sharding: str) -> str:
    """The program with an HLO sharding beside the Shardy one of its argument."""
    return text.replace("{sdy.", f'{{mhlo.sharding = "{sharding}", sdy.', 1)


def leftover(text: str, dims: str) -> str:
    """The program with a carrier beside the Shardy sharding of its argument."""
    kept = rf'{{xla.sdy.sharding = "#sdy.sharding<@mesh, {dims}>"}}'.replace("$", r"\22")
    return text.replace("{sdy.", f"{{mhlo.frontend_attributes = {kept}, sdy.", 1)


def in_result(kept: str, sharding: str) -> str:
    """A program whose result has a carrier and an HLO sharding."""
    text = carrier("[{}, {}]", "a = 1")
    call = (
        "  %0 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%a) {has_side_effect = true, "
        rf'mhlo.frontend_attributes = {{xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, {kept}>]>"}}}} : {ANY}'
    ).replace("$", r"\22")
    return text.replace(
        "}) {\n  return",
        f'}}) -> (tensor<8x8xf32> {{mhlo.sharding = "{sharding}"}}) {{\n{call}\n  return %0 : tensor<8x8xf32>',
    )


def more_parameters(second: str, first: str = "") -> str:
    """An HLO program with a carrier on one parameter, and another parameter."""
    return carried('[{"x"}, {}]', more=first).replace(
        "ROOT a =", f"b = f32[8,8] parameter(1){second}\n  ROOT a ="
    )


MIXED, LEFT, OTHER = "mixed-annotations", "leftover-carrier", "contradicting-shardings"
ARGUMENT = sdy('[{"x"}, {}]')
EXPORTED = [  # the program, the rules it breaks where, and one of the notes
    (BOTH, [(MIXED, "5:61")], "they turn Shardy off: line 5"),
    (IGNORED, [(MIXED, "5:42")], "other HLO shardings: line 5"),
    (ON_ANOTHER_RESULT, [(MIXED, "7:41")], "export keeps them as they are"),
    (beside(ARGUMENT, COLUMNS), [(OTHER, "4:119")], f"HLO: {COLUMNS}"),
    (leftover(ARGUMENT, "[{}, {$x$}]"), [(LEFT, "4:85"), (OTHER, "4:85")], "carriers: line 4"),
    (leftover(ARGUMENT, "[{$x$}, {}]"), [(LEFT, "4:85")], "attributes: line 4"),
    (carrier('[{}, {"x"}]', f'mhlo.sharding = "{HALVES}"'), [(OTHER, "2:85")], f"HLO: {HALVES}"),
    (in_result("[{}, {$x$}]", HALVES), [(OTHER, "3:134")], f"HLO: {HALVES}"),
    (more_parameters(", sharding={replicated}"), [(MIXED, "4:39")], "Shardy shardings: line 5"),
    (more_parameters("", ", sharding={devices=[1,2]<=[2]}"), [(OTHER, "5:104")], "HLO: {devices=[1,2]<=[2]}"),
]
IMPORTED = [
    (BOTH, [(MIXED, "5:61")], "import makes Shardy shardings of them"),
    (IGNORED, [(MIXED, "5:42")], "Shardy shardings: line 4"),
    (carrier('[{}, {"x"}]', f'mhlo.sharding = "{HALVES}"'), [(OTHER, "2:85")], f"HLO: {HALVES}"),
    (
        carrier('[{"x"}, {}]', "a = 1").replace("  return", CALL + "  return"),
        [(MIXED, "3:61")],
        "import drops HLO shardings without a Shardy sharding, but for those of calls of @Sharding",
    ),
    (in_result("[{}, {$x$}]", HALVES), [(OTHER, "3:134")], f"HLO: {HALVES}"),
    (more_parameters(", sharding={replicated}"), [(MIXED, "4:39")], "import makes Shardy shardings of them"),
    (more_parameters("", ", sharding={devices=[1,2]<=[2]}"), [(OTHER, "5:104")], "HLO: {devices=[1,2]<=[2]}"),
]
CLEAN = [
    ARGUMENT, sdy('[{"x"}, {}]', body=CONSTRAINT), beside(ARGUMENT, QUARTERS),
    carrier('[{"x"}, {}]', f'mhlo.sharding = "{HALVES}"'), in_result("[{$x$}, {}]", HALVES), carried('[{"x"}, {}]'),
    more_parameters("", ", sharding={devices=[2,1]<=[2]}"), hlo("ROOT a = f32[8] parameter(0), sharding={replicated}"),
    f'func.func @main(%a: tensor<8x8xf32> {{mhlo.sharding = "{HALVES}"}}) {{\n{CALL}  return\n}}\n',
]  # fmt: skip


def found(result: ConvertedModule) -> list[tuple[str, str]]:
    assert all(one.location.startswith("p:") for one in result.warnings)
    return [(one.rule, one.location.removeprefix("p:")) for one in result.warnings]


@pytest.mark.parametrize(("text", "expected", "note"), EXPORTED)
def test_export(text: str, expected: list[tuple[str, str]], note: str) -> None:
    result = export_module(text, name="p")
    assert found(result) == expected
    assert note in [note for one in result.warnings for note in one.notes]
    findings = check_module(text, name="p", select=["SB202", "SB203", "SB204"])
    assert sorted((one.rule.name, one.message) for one in findings) == sorted(
        (one.rule, one.message) for one in result.warnings
    )


@pytest.mark.parametrize(("text", "expected", "note"), IMPORTED)
def test_import(text: str, expected: list[tuple[str, str]], note: str) -> None:
    result = import_module(text, name="p")
    assert found(result) == expected
    assert note in [note for one in result.warnings for note in one.notes]


@pytest.mark.parametrize("text", CLEAN)
def test_what_goes_together(text: str) -> None:
    assert not export_module(text).warnings
    if text != beside(ARGUMENT, QUARTERS):  # import wants one of them
        assert not import_module(text).warnings


def test_export_with_carriers() -> None:
    program = f"module {{\n{BOTH}}}\n"
    assert found(export_module(program, name="p", carrier=CarrierForm.SDY)) == [(MIXED, "6:61")]


@pytest.mark.parametrize("text", [EXPORTED[-2][0], EXPORTED[-1][0]])
def test_protos(text: str) -> None:
    proto = bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    for convert in (export_module, import_module):
        (warning,) = convert(proto, name="p").warnings
        (same,) = convert(text, name="p").warnings
        assert (warning.rule, warning.message, warning.help) == (same.rule, same.message, same.help)
        assert warning.location in ("p: a in main", "p: b in main")
        assert str(warning).startswith(f"{warning.location}: warning: {warning.message}\nnote: ")


def test_the_whole_text() -> None:
    (warning,) = export_module(IGNORED, name="p").warnings
    assert (
        str(warning)
        == """\
p:5:42: warning: GSPMD and Shardy annotations are mixed: XLA will use Shardy, and not these
  %0 = stablehlo.abs %a {mhlo.sharding = "{replicated}"} : tensor<8x8xf32>
                                         ^~~~~~~~~~~~~~
note: where Shardy runs, an HLO sharding without a Shardy sharding on its value is not read
note: export keeps them as they are
note: other HLO shardings: line 5
note: Shardy shardings: line 4
help: `sdybridge import` makes Shardy shardings of them"""
    )


@pytest.mark.parametrize(
    ("text", "at"), [(beside(ARGUMENT, QUARTERS), "4:38"), (leftover(ARGUMENT, "[{}, {$x$}]"), "4:86")]
)
def test_import_takes_one_of_two(text: str, at: str) -> None:
    """XLA's import has no rule for it, and what the program means is not clear."""
    with pytest.raises(VerificationError) as raised:
        import_module(text, name="p")
    assert (raised.value.rule, raised.value.help) == ("sharding-twice", "keep one of them")
    assert str(raised.value).startswith(f"p:{at}: error: there is a Shardy sharding beside the ")
