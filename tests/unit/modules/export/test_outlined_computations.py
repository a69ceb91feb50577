"""Computations with carriers: the calls that they become, and what comes back."""

from __future__ import annotations

import pytest

from sdybridge.errors import ConversionError, ParseError, SdyBridgeError, VerificationError
from sdybridge.modules import CarrierForm, export_module, import_module, verify_module
from sdybridge.target import Target

MANUAL = """\
module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}p1]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<4xf32>) {
      %1 = stablehlo.abs %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>} : tensor<4xf32>
      sdy.return %1 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""  # noqa: E501

CALLS = r"""module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22x\22=2, \22y\22=4]>}"}} {
  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %manual_0 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%a) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22, ?}p1]>]>", xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22}>"}} : (tensor<8xf32>) -> tensor<4xf32>
    %manual_1 = func.call @xla.sdy.manual_computation_body(%manual_0) {mhlo.frontend_attributes = {inlineable = "false"}} : (tensor<4xf32>) -> tensor<4xf32>
    %0 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%manual_1) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>"}} : (tensor<4xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func @xla.sdy.manual_computation_body(%b: tensor<4xf32>) -> tensor<4xf32> {
    %1 = stablehlo.abs %b {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22y\22}]>]>"}, mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"} : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
"""  # noqa: E501

BACK = MANUAL.replace("%b", "%body0_b").replace("%1", "%body0_1")


def exported(text: str, target: Target = Target.CURRENT) -> str:
    return export_module(text, carrier=CarrierForm.SDY, target=target).text


def test_a_manual_computation_becomes_calls() -> None:
    result = export_module(MANUAL, carrier=CarrierForm.SDY)
    assert result.text == CALLS
    assert result.operations == {"sdy.manual_computation": 1, "sdy.mesh": 1}
    assert result.losses == ()
    assert [one.count for one in result.shardings] == [1]
    assert MANUAL.startswith('#sdy.sharding_per_value<[<@mesh, [{"y"', result.shardings[0].first)


@pytest.mark.parametrize("target", Target)
def test_and_back(target: Target) -> None:
    result = import_module(exported(MANUAL, target), target=target)
    assert result.text == BACK
    assert result.kept == ()
    assert verify_module(result.text) == []


def test_the_older_generation_marks_fewer_calls() -> None:
    text = exported(MANUAL, Target.CLASSIC)
    assert "inlineable" not in text
    assert text.count("has_side_effect") == 1


def manual(body: str, results: str = "%0 = ", indent: str = "    ") -> str:
    """A manual computation on `%a` with this body."""
    sides = 'in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"}'
    lines = (
        f"{results}sdy.manual_computation(%a) {sides} (%b: tensor<4xf32>) {{\n{body}\n}}"
        " : (tensor<8xf32>) -> tensor<8xf32>"
    )
    return lines.replace("\n", f"\n{indent}")


def program(operation: str, mesh: str = '["x"=2, "y"=4]') -> str:
    return (
        f"module {{\n  sdy.mesh @mesh = <{mesh}>\n"
        f"  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {{\n    {operation}\n"
        "    return %0 : tensor<8xf32>\n  }\n}\n"
    )


RETURN = "  sdy.return %b : tensor<4xf32>"
NAMED = (
    '%0 = sdy.named_computation<"{}">(%a){} (%b: tensor<8xf32>) {{\n'
    "      sdy.return %b : tensor<8xf32>\n    }} : (tensor<8xf32>) -> tensor<8xf32>"
)

# What stands in the program, and lines of what it becomes.
OUTLINED = [
    (
        NAMED.format("f", ' in_shardings=[<@mesh, [{"x", ?}]>] out_shardings=[<@mesh, [{?}]>]'),
        '"#sdy.sharding_per_value<[<@mesh, [{?}]>]>"}, mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> ',
    ),
    (
        NAMED.format("f", ' in_shardings=[<@mesh, [{"x", ?}]>]'),
        r'"#sdy.sharding<@mesh, [{\22x\22, ?}]>"}, mhlo.sharding = "{devices=[2,4]<=[8] last_tile_dim_repl',
    ),
    (NAMED.format("main", ""), "    %0 = func.call @main_0(%a) : (tensor<8xf32>) -> tensor<8xf32>\n"),
    (NAMED.format("a b", ""), '  func.func private @"a b"(%b: tensor<8xf32>) -> tensor<8xf32> {\n'),
    (manual(RETURN), "  func.func @xla.sdy.manual_computation_body("),
    (
        manual(RETURN) + ' loc("here")',
        '{mhlo.frontend_attributes = {inlineable = "false"}} : (tensor<4xf32>) -> tensor<4xf32> loc("here")',
    ),
    (
        "%manual = stablehlo.abs %a : tensor<8xf32>\n    " + manual(RETURN),
        "    %manual__0 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%a) ",
    ),
    (manual("  // why\n" + RETURN), "  {\n    // why\n    return %b : tensor<4xf32>\n  }\n".lstrip(" {")),
]


@pytest.mark.parametrize(("operation", "line"), OUTLINED)
def test_outlined(operation: str, line: str) -> None:
    text = exported(program(operation))
    assert line in text
    assert verify_module(text) == []
    assert verify_module(import_module(text).text) == []


def test_without_anything_in_or_out_the_call_keeps_the_axes() -> None:
    empty = "sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {"
    text = program(f"{empty}\n      sdy.return\n    }} : () -> ()\n    %0 = stablehlo.abs %a : tensor<8xf32>")
    new = exported(text)
    assert (
        'call @xla.sdy.manual_computation_body() {mhlo.frontend_attributes = {xla.sdy.manual_axes = "' in new
    )
    assert import_module(new).text == text


def test_each_module_gets_its_functions() -> None:
    inner = program(manual(RETURN)).replace("\n", "\n  ").replace("module", "module @inner").rstrip()
    text = program(manual(RETURN)).replace("  func.func", f"  {inner}\n  func.func", 1)
    new = exported(text)
    assert new.count("func.func @xla.sdy.manual_computation_body(") == 1
    assert new.count("func.func @xla.sdy.manual_computation_body_0(") == 1
    assert "\n    func.func @xla.sdy.manual_computation_body(" in new
    assert import_module(new).text == text.replace("(%b", "(%body0_b", 1).replace(
        "return %b", "return %body0_b", 1
    ).replace("(%b:", "(%body1_b:").replace("return %b ", "return %body1_b ")


def test_a_call_in_a_body_names_its_dialect_when_it_comes_back() -> None:
    body = "  %1 = func.call @f(%b) : (tensor<4xf32>) -> tensor<4xf32>\n  sdy.return %1 : tensor<4xf32>"
    text = program(manual(body)).replace(
        "  func.func", "  func.func private @f(tensor<4xf32>) -> tensor<4xf32>\n  func.func", 1
    )
    new = exported(text).replace("func.call", "call")
    assert "%body0_1 = func.call @f(%body0_b)" in import_module(new).text


# What the body of a computation holds, the error, and where it is.
REJECTED: list[tuple[str, type[SdyBridgeError], str, str]] = [
    (
        "  sdy.return %a : tensor<4xf32>",
        ConversionError,
        "%a is defined outside of the body",
        "%a : tensor<4",
    ),
    ("  sdy.return %b : tensor<5xf32>", VerificationError, "the body has tensor<5xf32>", "tensor<5xf32>"),
    (
        "  stablehlo.return %b : tensor<4xf32>",
        ParseError,
        "expected `sdy.return` at the end",
        "} : (tensor<8",
    ),
    (
        '  %1 = sdy.sharding_constraint %b <@mesh, [{"q"}]> : tensor<4xf32>\n' + RETURN,
        VerificationError,
        'no axis named "q"',
        '"q"}]',
    ),
    (
        '  %1 = sdy.sharding_constraint %b <@mesh, [{"y"]> : tensor<4xf32>\n' + RETURN,
        ParseError,
        "expected",
        "]> : tensor<4",
    ),
    (
        '  %1 = "a.b"(%b) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}]>]>} : (tensor<4xf32>) -> i1\n'
        + RETURN,
        VerificationError,
        "unknown mesh @m",
        "@m, [{}]",
    ),
]


@pytest.mark.parametrize(("body", "kind", "message", "there"), REJECTED)
def test_errors_are_where_the_fault_is(
    body: str, kind: type[SdyBridgeError], message: str, there: str
) -> None:
    text = program(manual(body))
    with pytest.raises(kind) as caught:
        export_module(text, carrier=CarrierForm.SDY, name="f.mlir")
    error = caught.value
    assert message in error.message
    assert error.source
    assert error.span
    assert (error.source.name, error.source.text) == ("f.mlir", text)
    assert text.startswith(there, error.span.start)


def test_the_axes_of_an_outer_computation_are_not_for_an_inner_one() -> None:
    inner = (
        manual(RETURN, "%1 = ", "      ")
        .replace("%a", "%c")
        .replace("<8x", "<4x")
        .replace("(%b: tensor<4x", "(%b: tensor<2x")
        .replace("%b : tensor<4x", "%b : tensor<2x")
    )
    body = f"  {inner}\n  sdy.return %1 : tensor<4xf32>"
    text = program(manual(body).replace("(%b: tensor<4xf32>) {", "(%c: tensor<4xf32>) {", 1))
    with pytest.raises(VerificationError) as caught:
        exported(text)
    assert caught.value.rule == "axis-is-manual"
