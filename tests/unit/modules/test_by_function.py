"""What conversions did function by function, in every format."""

from __future__ import annotations

import pytest
from tests.unit.checks.rule_cases import carried

from sdybridge.modules import export_module, import_module, report_functions

PROGRAM = """\
sdy.mesh @mesh = <["x"=2, "y"=4]>
#alias = #sdy.sharding<@mesh, [{}]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}, %b: i32 {sdy.sharding = #alias}) {
  // func.func @fake(%a: i32 {sdy.sharding = #sdy.sharding<@mesh, []>})
  %0 = sdy.reshard %a <@mesh, [{"y"}]> : tensor<8xf32>
  %1 = sdy.all_gather [{"y"}] %0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
  %2 = stablehlo.abs %1 {mhlo.sharding = "{manual}"} : tensor<8xf32>
  %3 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%c: tensor<4xf32>) {
    sdy.return %c : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}
func.func private @"a b"(%a: tensor<8xf32> {mhlo.sharding = "{replicated}", sdy.sharding = #sdy.sharding<@mesh, [{}]>})
func.func @none() { return }
"""  # noqa: E501
HLO = """\
HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=2]>}}

f {
  ROOT p = f32[8] parameter(0), sharding={devices=[2]<=[2]}
}

ENTRY main {
  a = f32[8] parameter(0), frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"x\\", ?}]>"}
  ROOT b = f32[8] call(a), to_apply=f
}
"""


def test_export() -> None:
    reports = report_functions(PROGRAM, export_module(PROGRAM.replace("%b: i32", "%b: tensor<8xf32>")))
    assert [(one.name, one.shardings, dict(one.operations), one.kept) for one in reports] == [
        ("", 1, {"sdy.mesh": 1}, 0),
        ("main", 5, {"sdy.reshard": 1, "sdy.all_gather": 1, "sdy.manual_computation": 1}, 1),
        ("a b", 1, {}, 0),
        ("none", 0, {}, 0),
    ]
    assert dict(reports[1].losses) == {"axis-names": 4, "openness": 1}
    assert [one.is_empty for one in reports] == [False, False, False, True]


def test_import() -> None:
    program = """\
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<8xf32>
  return
}
func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) { return }
sdy.mesh @mesh = <["x"=2]>
"""
    reports = report_functions(program, import_module(program))
    assert [(one.name, one.shardings, dict(one.operations), one.kept) for one in reports] == [
        ("main", 2, {"stablehlo.custom_call @Sharding": 1}, 0),
        ("f", 0, {}, 1),
    ]
    assert dict(reports[0].losses) == {"chosen-openness": 2, "manual": 1}


@pytest.mark.parametrize(
    ("convert", "expected"),
    [
        (export_module, [("f", 0, 1, []), ("main", 1, 0, ["axis-names", "openness"])]),
        (import_module, [("f", 1, 0, ["chosen-openness"]), ("main", 0, 1, [])]),
    ],
)
def test_hlo(convert: object, expected: list[tuple[str, int, int, list[str]]]) -> None:
    assert callable(convert)
    reports = report_functions(HLO, convert(HLO))
    assert [(one.name, one.shardings, one.kept, sorted(one.losses)) for one in reports] == expected


def test_hlo_of_one_computation() -> None:
    text = carried('[{"x"}, {}]')
    (report,) = report_functions(text, export_module(text))
    assert (report.name, report.shardings) == ("main", 1)


def test_as_many_as_the_whole() -> None:
    result = export_module(PROGRAM.replace("%b: i32", "%b: tensor<8xf32>"))
    assert sum(one.shardings for one in report_functions(PROGRAM, result)) == result.sites


def test_what_is_no_code_counts_nothing() -> None:
    program = """\
sdy.mesh @mesh = <["x"=2]>
// #sdy.sharding<@mesh, [{"x"}]>, #sdy.sharding<@mesh, [{"x
// sdy.reshard %a <@mesh, [{"x
func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  // in_shardings=[<@mesh, [{ custom_call @Sharding( mhlo.sharding = "{manual}"
  %0 = "sdy.sharding_constraint"(%a) <{sharding = #sdy.sharding<@mesh, [{"x"}]>}> : \
(tensor<8xf32>) -> tensor<8xf32>
  "a.b"() {c = "#sdy.sharding<"} : () -> ()
}
"""
    [reported] = [one for one in report_functions(program, export_module(program)) if one.name]
    assert (reported.shardings, dict(reported.operations), reported.kept) == (
        2,
        {"sdy.sharding_constraint": 1},
        0,
    )


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("%0 = a.b %1 in_shardings=[<@mesh, [{}]} : tensor<8xf32>", 1),
        ("%0 = a.b %1 #sdy.sharding<@mesh, [{}]} : tensor<8xf32>", 1),
        ("%0 = sdy.reshard %1 <@mesh, [{}]} : tensor<8xf32>", 0),
    ],
)
def test_malformed_shardings_that_import_leaves(line: str, kept: int) -> None:
    program = f"func.func @f() {{\n  {line}\n}}"
    assert [one.kept for one in report_functions(program, import_module(program)) if one.name] == [kept]


def test_malformed_shardings_that_export_leaves() -> None:
    program = HLO.replace("{devices=[2]<=[2]}", "{devices=[2]0,99999999999999999999}")
    reports = report_functions(program, export_module(program))
    assert [(one.name, one.shardings, one.kept) for one in reports] == [("f", 0, 1), ("main", 1, 0)]
