"""Export of manual and named computations: what is repeated, how it scales, and what it counts."""

from __future__ import annotations

import pytest
from tests.differential.random_computations import random_computations

from sdybridge.errors import ConversionError, SdyBridgeError
from sdybridge.modules import ExportResult, export_module, import_module
from sdybridge.modules.export import missing_shardings
from sdybridge.modules.mlir.printed_computations import PrintedComputations

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'
TYPE, LOCAL = "tensor<8xf32>", "tensor<4xf32>"
BORDERS = (
    'in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"}'
)


def layer(k: int, operation: str = "abs") -> str:
    a, b, c, r = (f"%{name}{k}" for name in "abcr")
    return f"""\
  {r}:2 = sdy.manual_computation({"%start" if k == 0 else f"%r{k - 1}#1"}) {BORDERS} ({a}: {LOCAL}) {{
    {b} = stablehlo.{operation} {a} : {LOCAL}
    {c} = sdy.sharding_constraint {b} <@mesh, [{{"y"}}]> : {LOCAL}
    sdy.return {b}, {c} : {LOCAL}, {LOCAL}
  }} : ({TYPE}) -> ({TYPE}, {TYPE})
"""


def program(layers: list[str]) -> str:
    last = f"%r{len(layers) - 1}#0"
    body = "".join(layers)
    return f"{MESH}func.func @main(%start: {TYPE}) -> {TYPE} {{\n{body}  return {last} : {TYPE}\n}}\n"


def one_by_one(text: str, monkeypatch: pytest.MonkeyPatch) -> ExportResult:
    """The export that takes no computation for a repetition, and reads each line as an operation."""
    with monkeypatch.context() as patch:
        patch.setattr(PrintedComputations, "at", lambda *_: None)
        patch.setattr(missing_shardings, "add_to_lines", lambda *_: None)
        return export_module(text)


def expect_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick, slow = export_module(text), one_by_one(text, monkeypatch)
    assert quick.text == slow.text
    assert (quick.operations, quick.added, quick.sites) == (slow.operations, slow.added, slow.sites)
    assert [(s.before, s.count) for s in quick.shardings] == [(s.before, s.count) for s in slow.shardings]


def test_repeated_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = [layer(k, "abs" if k % 3 else "negate") for k in range(8)]
    expect_same(program(layers), monkeypatch)
    assert export_module(program(layers)).text.count("func.func private") == 8


def test_names_that_are_equal_in_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    expect_same(program([layer(0), layer(1).replace("%b1, %c1", "%c1, %c1")]), monkeypatch)


@pytest.mark.parametrize("seed", range(30))
def test_random_computations(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expect_same(random_computations(seed), monkeypatch)


@pytest.mark.parametrize("name", ['"a.b"(%b0) <{c = 1 : i64}>', '"a.b"(%b0) ({\n    a.return\n    })'])
def test_locations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = layer(0).replace("    sdy.return", f"    %d = {name} : ({LOCAL}) -> {LOCAL}\n    sdy.return")
    text = program([plain.replace(f"-> {LOCAL}\n", f"-> {LOCAL} loc(#loc3)\n")]) + "#loc3 = loc(unknown)\n"
    assert text.count("loc(#loc3)") == 1
    expect_same(text, monkeypatch)
    bare = export_module(text).text.replace(" loc(#loc3)", "").replace("#loc3 = loc(unknown)\n", "")
    assert bare == export_module(program([plain])).text


def test_thousands_there_and_back() -> None:
    exported = export_module(program([layer(k) for k in range(1500)]))
    assert exported.operations["sdy.manual_computation"] == 1500
    back = import_module(exported.text)
    assert (back.operations["sdy.manual_computation"], back.kept) == (1500, ())


@pytest.mark.parametrize("depth", [3, 90])
def test_nested(depth: int) -> None:
    exported = export_module(nested(depth)).text
    assert exported.count("func.func private") == depth
    assert exported.count("@xla.sdy.inlinable_manual_computation_body_0(") == 2


def test_nested_too_deep() -> None:
    with pytest.raises(ConversionError, match="regions nest more than 100 deep"):
        export_module(nested(5000))


def nested(depth: int) -> str:
    borders = "in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={}"
    lines = [f"%r{k} = sdy.manual_computation(%a{k}) {borders} (%a{k + 1}: {TYPE}) {{" for k in range(depth)]
    ends = [
        f"sdy.return %{'r' if k < depth else 'a'}{k} : {TYPE}\n}} : ({TYPE}) -> {TYPE}"
        for k in range(depth, 0, -1)
    ]
    head = f"{MESH}func.func @main(%a0: {TYPE}) -> {TYPE} {{"
    return "\n".join([head, *lines, *ends, f"return %r0 : {TYPE}", "}"])


@pytest.mark.parametrize("cut", range(0, 330, 15))
def test_cut_off_programs_are_errors(cut: int) -> None:
    text = program([layer(0)])
    with pytest.raises(SdyBridgeError):
        export_module(text[: len(MESH) + 80 + cut])


def test_repeated_word_by_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """As MLIR numbers them: sibling bodies have the same names, and results are used much later."""
    body = layer(0).partition("\n")[2]
    operands = ["%start", *(f"%r{k}#1" for k in range(5))]
    heads = [
        f"  %r{k}:2 = sdy.manual_computation({operand}) {BORDERS} (%a0: {LOCAL}) {{\n"
        for k, operand in enumerate(operands)
    ]
    uses = "".join(f"  %s{k} = stablehlo.add %r{k}#0, %r{5 - k}#1 : {TYPE}\n" for k in range(6))
    text = program([head + body for head in heads])
    text = text.replace("  return %r5#0", f"{uses}  return %s0")
    expect_same(text, monkeypatch)
    exported = export_module(text).text
    assert "#" not in exported.split("%s0 = ")[1].split("return")[0]


def test_results_of_another_function_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    other = (
        f"func.func @other(%start: {TYPE}) -> {TYPE} {{\n"
        f"  %r0:2 = call @two(%start) : ({TYPE}) -> ({TYPE}, {TYPE})\n"
        f"  return %r0#1 : {TYPE}\n}}\n"
        f"func.func private @two({TYPE}) -> ({TYPE}, {TYPE})\n"
    )
    text = program([layer(0)]) + other
    expect_same(text, monkeypatch)
    exported = export_module(text).text
    assert "return %r0#1" in exported
    assert "return %r0#0" not in exported


def test_names_in_strings_and_comments_stay() -> None:
    use = f'  %s = stablehlo.abs %r0#0 {{a = "%r0#0"}} : {TYPE} // %r0#0\n'
    exported = export_module(program([layer(0)]).replace("  return", f"{use}  return")).text
    assert '{a = "%r0#0"}' in exported
    assert "// %r0#0" in exported
    assert "abs %r0#0" not in exported
