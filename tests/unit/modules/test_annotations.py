"""What programs say about their values: every carrier, every place, shapes and parts."""

from __future__ import annotations

import pytest

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.mlir.annotations import MlirProgram
from sdybridge.source import Source

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'


def told(text: str, mesh: str = MESH) -> list[str]:
    """One line per annotation; the mesh is in front of the text."""
    program = MlirProgram(Source(mesh + text))
    return [
        f"{one.carrier} {one.scope} {one.name} {one.opcode} {one.shape} {one.local_shape}"
        for one in program.annotations()
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            'func.func @f(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> '
            '(tensor<8xi1> {jax.info = "r", sdy.sharding = #sdy.sharding<@mesh, [{"y":(2)2, ?}]>}) {'
            " return }",
            [
                "sdy.sharding f %a argument f32[8,6] f32[4,2]",
                "sdy.sharding f result 0 result pred[8] pred[4]",
            ],
            id="signature",
        ),
        pytest.param(
            'func.func @f(%a: tensor<8xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %b: tensor<4xf32>)',
            ["mhlo.sharding f %a argument f32[8] f32[3]"],
            id="declaration, uneven",
        ),
        pytest.param(
            'func.func @f(%a: tensor<8xbf16> {mhlo.frontend_attributes = {xla.sdy.sharding = '
            '"#sdy.sharding<@mesh, [{\\22x\\22}]>"}, mhlo.sharding = "{replicated}"}) { return }',
            [
                "mhlo.sharding f %a argument bf16[8] bf16[8]",
                "xla.sdy.sharding f %a argument bf16[8] bf16[4]",
            ],
            id="two carriers",
        ),
        pytest.param(
            "func.func @f(%a: tensor<8xf32>) {\n"
            '  %0:2 = "a.b"(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, []>]>} : '
            "(tensor<8xf32>) -> (tensor<8xf32>, !a.token)\n  return\n}",
            ["sdy.sharding f %0#0 a.b f32[8] f32[4]", "sdy.sharding f %0#1 a.b None None"],
            id="several results",
        ),
        pytest.param(
            "func.func @f(%a: tensor<8xf32>) {\n"
            '  %0:2 = "a.b"(%a) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> '
            "(tensor<8xf32>, tensor<2xf32>)\n  return\n}",
            ["mhlo.sharding f %0#0 a.b f32[8] f32[8]", "mhlo.sharding f %0#1 a.b f32[2] f32[2]"],
            id="one for all results",
        ),
        pytest.param(
            "func.func @f(%a: tensor<8xf32>) {\n"
            '  "a.send"(%a) {mhlo.sharding = "{maximal device=1}"} : (tensor<8xf32>) -> ()\n  return\n}',
            ["mhlo.sharding f a.send a.send None None"],
            id="no results",
        ),
        pytest.param(
            "func.func @f(%a: tensor<8xf32>) {\n"
            '  %0 = sdy.sharding_constraint %a <@mesh, [{"y"}]> : tensor<8xf32>\n  return\n}',
            ["sdy.sharding f %0 sdy.sharding_constraint f32[8] f32[2]"],
            id="constraint",
        ),
        pytest.param(
            "func.func @f(%a: tensor<8xf32>) {\n"
            '  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings='
            '[<@mesh, [{"y"}]>] manual_axes={"x", "y"} (%b: tensor<4xf32>) {\n'
            '    %1 = stablehlo.abs %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} '
            ": tensor<4xf32>\n"
            "    sdy.return %1 : tensor<2xf32>\n  } : (tensor<8xf32>) -> tensor<8xf32>\n  return\n}",
            [
                "sdy.sharding f %a sdy.manual_computation f32[8] f32[4]",
                "sdy.sharding f %0 sdy.manual_computation f32[8] f32[2]",
                "sdy.sharding f %1 stablehlo.abs f32[4] f32[4]",
            ],
            id="manual computation",
        ),
        pytest.param(
            '#s = #sdy.sharding<@mesh, [{"x"}]>\n!t = tensor<8xf32>\n'
            "func.func @f(%a: !t {sdy.sharding = #s}) { return }",
            ["sdy.sharding f %a argument f32[8] f32[4]"],
            id="aliases",
        ),
        pytest.param(
            '#h = "{devices=[2]<=[2]}"\nfunc.func @f(%a: tensor<8xf32> {mhlo.sharding = #h}) { return }',
            ["mhlo.sharding f %a argument f32[8] f32[4]"],
            id="alias of a string",
        ),
        pytest.param(
            'func.func @f(%a: tensor<?xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) { return }',
            ["sdy.sharding f %a argument f32[?] None"],
            id="dynamic size",
        ),
        pytest.param(
            'func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@other, [{"x"}]>}) { return }',
            ["sdy.sharding f %a argument f32[8] None"],
            id="unknown mesh",
        ),
        pytest.param(
            'func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["z"=8]>, [{"z"}]>}) {'
            " return }",
            ["sdy.sharding f %a argument f32[8] f32[1]"],
            id="inlined mesh",
        ),
        pytest.param(
            """func.func @f(%a: tensor<8x8xf32> {mhlo.sharding = "{mesh['x'=2], [{'x', ?}, {}]}"}) {}""",
            ["mhlo.sharding f %a argument f32[8,8] f32[4,8]"],
            id="named mesh",
        ),
        pytest.param(
            """func.func @f(%a: tensor<8x8xf32> {mhlo.sharding = "{mesh['x'=2,'y'=2], [{'y'}]}"}) {}""",
            ["mhlo.sharding f %a argument f32[8,8] None"],
            id="named mesh of another rank",
        ),
        pytest.param(
            'func.func @f(%a: tensor<8xf32> {a = "sdy.sharding = #sdy.sharding<@mesh, []>"}) { return }',
            [],
            id="in a string",
        ),
    ],
)  # fmt: skip
def test_annotations(text: str, expected: list[str]) -> None:
    assert told(text) == expected


def test_meshes_that_ride_along() -> None:
    program = MlirProgram(
        Source(
            "module @jit_f attributes {mhlo.frontend_attributes = "
            '{xla.sdy.meshes = "{mesh = #sdy.mesh<[\\22x\\22=2]>}"}, mhlo.num_partitions = 2 : i32} {}'
        )
    )
    assert {name: str(mesh) for name, mesh in program.meshes.items()} == {"mesh": '#sdy.mesh<["x"=2]>'}
    assert (program.name, program.num_partitions) == ("jit_f", 2)


def test_inputs_and_outputs() -> None:
    program = MlirProgram(
        Source(
            "func.func private @g(%a: tensor<2xf32>) { return }\n"
            "func.func public @main(%a: tensor<8xf32>, %b: tensor<4xf32> {mhlo.sharding = "
            '"{devices=[2]<=[2]}"}) -> tensor<8xf32> { return }'
        )
    )
    assert [(one.name, str(one.shape), str(one.sharding)) for one in program.inputs()] == [
        ("%a", "f32[8]", "None"),
        ("%b", "f32[4]", "{devices=[2]<=[2]}"),
    ]
    assert [(one.name, str(one.shape), one.sharding) for one in program.outputs()] == [
        ("result 0", "f32[8]", None)
    ]


@pytest.mark.parametrize(
    ("sharding", "message"),
    [
        ('sdy.sharding = #sdy.sharding<@mesh, [{"x"]>', "<string>:2:74: error: expected"),
        ('mhlo.sharding = "{devices=[2,2]<=[5]}"', "<string>:2:66: error: the grid"),
        ("mhlo.sharding = 3 : i32", "<string>:2:49: error: `mhlo.sharding` must hold a string"),
        ('mhlo.sharding = "{{replicated}, {replicated}}"', "<string>:2:49: error: 2 shardings for 1 values"),
        (
            'mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{x}]>"}',
            "<string>:2:104: error: expected",
        ),
    ],
)
def test_errors(sharding: str, message: str) -> None:
    with pytest.raises(SdyBridgeError) as caught:
        told(f"func.func @f(%a: tensor<8xf32> {{{sharding}}}) {{ return }}")
    assert str(caught.value).startswith(message), str(caught.value)


def test_errors_are_kept_and_reading_goes_on() -> None:
    text = (
        f'{MESH}sdy.mesh @bad = <["x"=0]>\n'
        'func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x" "y"}]>}, '
        '%b: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[4]}"}, '
        '%c: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) { return }'
    )
    errors: list[tuple[str, SdyBridgeError]] = []
    program = MlirProgram(Source(text), errors=errors)
    assert [one.name for one in program.annotations()] == ["%c"]
    assert [(carrier, error.location) for carrier, error in errors] == [
        ("sdy.sharding", "<string>:2:23"),
        ("sdy.sharding", "<string>:3:75"),
        ("mhlo.sharding", "<string>:3:134"),
    ]


def test_manual_axes_are_those_of_the_computations_around() -> None:
    text = (
        f"{MESH}func.func @f(%a: tensor<8xf32>) {{\n"
        '  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] '
        'manual_axes={"x"} (%b: tensor<4xf32>) {\n'
        '    %1 = sdy.sharding_constraint %b <@mesh, [{"y"}]> : tensor<4xf32>\n'
        "    sdy.return %1 : tensor<4xf32>\n  } : (tensor<8xf32>) -> tensor<8xf32>\n"
        "  %2 = sdy.sharding_constraint %0 <@mesh, [{}]> : tensor<8xf32>\n  return\n}"
    )
    found = [(one.name, one.manual_axes) for one in MlirProgram(Source(text)).annotations()]
    assert found == [("%a", ()), ("%0", ()), ("%1", ("x",)), ("%2", ())]


def test_a_number_of_results_that_no_operation_has() -> None:
    (one,) = MlirProgram(
        Source('%0:999999999 = a.b(%x) {mhlo.sharding = "{replicated}"} : (i32) -> (i32)')
    ).annotations()
    assert (one.name, one.shape) == ("a.b", None)


def test_tuples_are_told_element_by_element() -> None:
    text = (
        '%0 = a.b(%x) {mhlo.sharding = "{{devices=[2]<=[2]}, {replicated}, {manual}}"} : (i32) -> '
        "tuple<tensor<8xf32>, tuple<tensor<2xi8>, !a.token>>"
    )
    found = [(one.name, str(one.local_shape)) for one in MlirProgram(Source(text)).annotations()]
    assert found == [("%0{0}", "f32[4]"), ("%0{1}{0}", "s8[2]"), ("%0{1}{1}", "None")]
    whole = text.replace("{{devices=[2]<=[2]}, {replicated}, {manual}}", "{replicated}")
    assert [one.name for one in MlirProgram(Source(whole)).annotations()] == ["%0{0}", "%0{1}{0}", "%0{1}{1}"]


def test_an_element_of_a_tuple_has_the_carriers_of_the_whole() -> None:
    text = (
        "%1 = stablehlo.get_tuple_element %0[0] {mhlo.frontend_attributes = {xla.sdy.sharding = "
        '"#sdy.sharding_per_value<[<@m, []>, <@m, []>]>"}, mhlo.sharding = "{replicated}"} : '
        "(tuple<i32, i32>) -> i32"
    )
    assert [one.carrier for one in MlirProgram(Source(text)).annotations()] == ["mhlo.sharding"]
