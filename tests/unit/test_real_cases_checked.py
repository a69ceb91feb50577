"""Inputs that people struggled with, reduced, and what `check`, `diff` and other commands say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.differential.programs import PROGRAMS

from sdybridge.cli import cli

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str, given: str | None = None) -> tuple[int, str]:
    """The exit code and everything that the command prints."""
    result = CliRunner().invoke(cli, arguments, input=given, prog_name="sdybridge")
    error = "" if isinstance(result.exception, SystemExit | None) else str(result.exception)
    return result.exit_code, result.output + error


def check(text: str, *options: str) -> tuple[int, str]:
    return run("check", "-", *options, given=text)


def function(arguments: str, *lines: str, mesh: str = "") -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return f"{mesh}func.func @main({arguments}) {{\n{body}  return\n}}\n"


def test_c9_a_sharding_of_another_rank() -> None:
    code, said = check(
        "HloModule m\n\nENTRY main {\n  %Arg_0 = f64[8]{0} parameter(0)\n  %c = f64[] constant(0)\n"
        "  %pad = f64[96]{0} pad(f64[8]{0} %Arg_0, f64[] %c), padding=44_44, "
        "sharding={devices=[1,1,2,2]<=[4] last_tile_dim_replicate}\n}\n"
    )
    assert code == 1
    assert "<stdin>:6:78: error[SB104]" in said
    assert "tiles tensors of rank 3, not of rank 1" in said
    assert "note: pad is a f64[96]{0}" in said


def test_c11_other_numbers_of_tiles_and_devices() -> None:
    for text in (
        "HloModule m\n\nENTRY main {\n  a = f32[8,8] parameter(0), sharding={devices=[2,2]<=[16]}\n}\n",
        function('%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,2]<=[16]}"}'),
    ):
        code, said = check(text)
        assert code == 1
        assert "error[SB106]: the grid [2,2] has 4 devices, but 16 are counted" in said
        assert "help: write <=[4]" in said


def test_c12_a_mesh_that_the_module_lost() -> None:
    code, said = check(
        "HloModule m\n\nENTRY main {\n  Arg_0 = f64[8,3] parameter(0), "
        'frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"x\\"}, {}]>"}\n}\n'
    )
    assert code == 1
    assert "error[SB102]: unknown mesh @mesh" in said
    assert "note: on Arg_0\nnote: the meshes in the frontend attribute xla.sdy.meshes: none" in said
    assert (
        "help: put it back into the module's frontend attributes: xla.sdy.meshes = {mesh = #sdy.mesh<[..]>}"
        in said
    )


MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'


def test_c15_mixed_annotations() -> None:
    code, said = check(
        function(
            '%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}',
            '%0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[2,4]<=[8]}"} : '
            "(tensor<8x8xf32>) -> tensor<8x8xf32>",
            mesh=MESH,
        )
    )
    assert code == 1
    assert "<stdin>:3:61: warning[SB202]: GSPMD and Shardy annotations are mixed: XLA will use GSPMD" in said
    assert "note: they turn Shardy off: line 3\nnote: Shardy shardings: line 2\n" in said


def test_c16_an_unknown_axis_and_how_to_rename_it() -> None:
    text = function(
        "%a: tensor<8x8xf32>",
        '%1 = sdy.sharding_constraint %a <@mesh, [{"mesh_idx_1"}, {}]> : tensor<8x8xf32>',
        mesh='sdy.mesh @mesh = <["_axis_0"=2, "_axis_1"=4]>\n',
    )
    code, said = check(text)
    assert code == 1
    assert 'error[SB103]: the mesh has no axis named "mesh_idx_1"' in said
    assert 'note: its axes are "_axis_0", "_axis_1"' in said
    assert "help: `sdybridge rename-axes` gives axes new names, everywhere in a program" in said
    good = text.replace("mesh_idx_1", "_axis_1")
    code, renamed = run("rename-axes", "_axis_0=data", "_axis_1=model", "-", given=good)
    assert code == 0
    assert '<["data"=2, "model"=4]>' in renamed
    assert '[{"model"}, {}]' in renamed


def test_c17_an_axis_of_size_1() -> None:
    code, said = run("diff", '[{"batch"}, {"model"}]', '[{}, {"model"}]', "--mesh", "batch=1,model=8")
    assert code == 0
    assert said.startswith("the same meaning: they differ in form only\n")
    assert "{devices=[1,8]<=[8]}" in said
    assert 'axes of dimension 0: "batch" in A, none in B' in said


def test_c18_a_part_of_an_axis_chosen_silently() -> None:
    text = function(
        '%a: tensor<126xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}]>}',
        mesh='sdy.mesh @mesh = <["x"=4]>\n',
    )
    code, said = check(text, "--select", "SB407", "--fail-on", "info")
    assert code == 1
    assert 'info[SB407]: %a is split 2 ways by "x", which has 4\n' in said
    assert "note: 2 devices along it hold the same part" in said
    code, said = run("diff", '[{"x":(1)2}]', "{devices=[4]<=[4]}", "--mesh", "x=4", "--shape", "126")
    assert code == 1
    assert "{devices=[2,2]<=[4] last_tile_dim_replicate}" in said
    assert "dimension 0 of 126: 63, 63\n" in said
    assert "dimension 0 of 126: 32, 32, 32, 30\n" in said


def test_c19_which_rows_each_device_holds() -> None:
    text = function(
        '%a: tensor<7x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"data"}]>}',
        mesh='sdy.mesh @mesh = <["data"=2, "model"=4]>\n',
    )
    code, said = check(text)
    assert code == 0
    assert "note: dimension 0 of 7 in 4 parts: 2, 2, 2, 1\n" in said
    _, said = run(
        "diff", '[{"model"}, {"data"}]', "{replicated}", "--mesh", "data=2,model=4", "--shape", "7x2"
    )
    assert "{devices=[4,2]<=[2,4]T(1,0)}\n     dimension 0 of 7: 2, 2, 2, 1\n" in said


def test_c20_devices_that_hold_nothing() -> None:
    code, said = check(function('%a: tensor<17x16xf32> {mhlo.sharding = "{devices=[8,1]<=[8]}"}'))
    assert code == 1
    assert "warning[SB402]: devices without any element in %a (f32[17,16])" in said
    assert "note: dimension 0 of 17 in 8 parts: 3, 3, 3, 3, 3, 2, 0, 0\n" in said


def test_c21_a_reduction_that_nobody_asked_for() -> None:
    grid = '{devices=[4,2]<=[2,4]T(1,0) metadata={op_type="sdy::reduction_op" op_name="MAX"}}'
    code, said = check(
        f"HloModule m\n\nENTRY main {{\n  ROOT a = f32[8,8] parameter(0), sharding={grid}\n}}\n"
    )
    assert code == 1
    assert "warning[SB405]: the sharding of a has the reduction max, and nothing to reduce" in said
    code, said = run("diff", grid, "{devices=[4,2]<=[2,4]T(1,0)}")
    assert (code, said.splitlines()[0]) == (0, "the same meaning: they differ in form only")


def test_c22_openness_lost() -> None:
    code, said = run("diff", '[{?}, {?}, {"data", ?}]', '[{?}, {}, {"data"}]', "--mesh", "data=4")
    assert code == 0
    assert "  dimension 1: open in A, closed in B\n  dimension 2: open in A, closed in B\n" in said
    assert run("diff", '[{?}, {"data", ?}]', '[{?}, {"data"}]', "--mesh", "data=4", "--exact")[0] == 1
    _, said = check(
        function(
            '%a: tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}, {"data", ?}]>}',
            mesh='sdy.mesh @mesh = <["data"=4]>\n',
        ),
        "--select", "SB501",
    )  # fmt: skip
    assert 'info[SB501]: export loses openness {?}, openness {?}, openness {"data", ?}' in said


def test_c23_an_axis_that_is_manual() -> None:
    code, said = check(
        function(
            "%a: tensor<8x8xf32>",
            '%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"data"}, {}]>] '
            'out_shardings=[<@mesh, [{"data"}, {}]>] manual_axes={"data"} (%b: tensor<2x8xf32>) {',
            '  %1 = sdy.sharding_constraint %b <@mesh,[{"data"},{}]> : tensor<2x8xf32>',
            "  sdy.return %1 : tensor<2x8xf32>",
            "} : (tensor<8x8xf32>) -> tensor<8x8xf32>",
            mesh='sdy.mesh @mesh = <["data"=4]>\n',
        )
    )
    assert code == 1
    assert 'error[SB108]: axis "data" is manual here' in said
    assert "note: by sdy.manual_computation at 3:3" in said


def test_c24_a_part_that_does_not_fit() -> None:
    code, said = check(
        function(
            '%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"x":(2)4}]>}',
            mesh='sdy.mesh @mesh = <["x"=4]>\n',
        )
    )
    assert code == 1
    assert 'error[SB101]: "x":(2)4 does not fit: 2 * 4 does not divide the axis size 4' in said
    assert 'help: write "x":(2)2' in said


def test_c25_subgroups_in_the_other_order() -> None:
    code, said = run(
        "diff",
        "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}",
        "{devices=[1,1,2,4]<=[4,2]T(1,0) last_tile_dims={replicated, manual}}",
    )
    assert code == 0
    assert said.startswith("the same meaning: they differ in form only\n")
    assert "they are written differently; XLA reads both as {devices=[1,1,4,2]<=[8] " in said


@pytest.mark.parametrize("name", ["transformer_step", "linear_algebra"])
def test_c26_twins_of_two_dialects(name: str, tmp_path: Path) -> None:
    shardy, gspmd = tmp_path / "shardy.mlir", tmp_path / "gspmd.mlir"
    shardy.write_text(PROGRAMS[name].text(8))
    assert (
        run("export", str(shardy), "-o", str(gspmd), "-q", "--no-add-missing-sharding-to-control-flow")[0]
        == 0
    )
    code, said = run("diff", str(shardy), str(gspmd))
    assert code == 0
    count = said.split()[0]
    assert int(count) > 3
    assert said == f"{count} values with a sharding: {count} the same meaning\n"
