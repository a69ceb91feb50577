"""The command with shardings over named meshes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.cli.test_cli import PROGRAM, run

from sdybridge.errors import SdyBridgeError

if TYPE_CHECKING:
    from pathlib import Path

NAMED = "{mesh['x'=2,'y'=4], [{'y', ?}, {}]}"


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ([NAMED], '#sdy.sharding<mesh<["x"=2, "y"=4]>, [{"y", ?}, {}]>'),
        ([NAMED, "--mesh", "x=2,y=4"], '#sdy.sharding<@mesh, [{"y", ?}, {}]>'),
        ([NAMED, "--mesh", "@m=x=2,y=4"], '#sdy.sharding<@m, [{"y", ?}, {}]>'),
        ([NAMED, "--mesh", "x=8"], '#sdy.sharding<mesh<["x"=2, "y"=4]>, [{"y", ?}, {}]>'),
        ([NAMED, "--to", "named"], NAMED),
        ([NAMED, "--to", "hlo"], "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"),
        ([NAMED, "--to", "hlo", "--target", "named"], NAMED),
        ([NAMED, "--to", "proto-hex"], "721a120e0a050a017810020a050a017910041a040a0208011a021001"),
        (["721a120e0a050a017810020a050a017910041a040a0208011a021001", "--to", "named"], NAMED),
        (["{mesh[x=2,y=4], [{y, ?}, {}]}", "--to", "named"], NAMED),
        (['[{"y", ?}p1, {}]', "--mesh", "x=2,y=4", "--to", "named"], NAMED),
        (['[{"y", ?}, {}]', "--mesh", "x=2,y=4", "--target", "named"], NAMED),
        (
            ["{devices=[4,2]<=[8]}", "--to", "named"],
            "{mesh['axis_0'=4,'axis_1'=2], [{'axis_0'}, {'axis_1'}]}",
        ),
        (["{maximal_mesh[device_id=3]}", "--mesh", "x=8"], "#sdy.sharding<@maximal_mesh_3, []>"),
        (["{mesh[], replicated}", "--mesh", "x=8", "--rank", "1"], "#sdy.sharding<mesh<[]>, [{}]>"),
        (
            ["{{mesh['x'=2], [{'x'}]}, {devices=[2]<=[2]}}"],
            '#sdy.sharding_per_value<[<mesh<["x"=2]>, [{"x"}]>, <mesh<["x"=2]>, [{"x"}]>]>',
        ),
    ],
)
def test_convert(arguments: list[str], result: str) -> None:
    assert run("convert", "-q", *arguments).stdout == f"{result}\n"


def test_what_is_lost() -> None:
    result = run("convert", '[{"y", ?}p1, {}]', "--mesh", "x=2,y=4", "--to", "named")
    assert result.stderr.startswith("lost priority: p1")
    assert result.stderr.count("\n") == 1
    assert not run("convert", NAMED).stderr


def test_json() -> None:
    found = json.loads(run("convert", NAMED, "--to", "json").stdout)
    assert found["hlo"] == NAMED
    assert found["losses"] == []
    found = json.loads(
        run("convert", '[{"y"}]', "--mesh", "x=2,y=4", "--target", "named", "--to", "json").stdout
    )
    assert found["hlo"] == "{mesh['x'=2,'y'=4], [{'y'}]}"
    assert found["target"] == "named"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["{mesh['x'=2], [{'z'}]}"], "<text>:1:17: error: the mesh has no axis named 'z'\n"),
        (["{manual}", "--to", "named"], "<text>:1:1: error: {manual} does not tell on which mesh it is\n"),
        (
            ["{mesh['x'=2], replicated}"],
            "<text>:1:1: error: {mesh['x'=2], replicated} does not",
        ),
    ],
)
def test_errors(arguments: list[str], error: str) -> None:
    result = run("convert", *arguments)
    assert isinstance(result.exception, SdyBridgeError)
    assert str(result.exception).startswith(error)


def test_there_and_back(tmp_path: Path) -> None:
    path = tmp_path / "step.mlir"
    path.write_text(PROGRAM)
    exported = run("export", str(path), "--target", "named").stdout
    assert """{mhlo.sharding = "{mesh['x'=2,'y'=4], [{'x', ?}]}"}""" in exported
    assert """{mhlo.sharding = "{mesh[], replicated}"}""" in exported
    path.write_text(exported)
    imported = run("import", str(path)).stdout
    assert imported.startswith('sdy.mesh @mesh = <["x"=2, "y"=4]>\n')
    assert '#sdy.sharding<@mesh, [{"x", ?}]>' in imported
    path.write_text(PROGRAM)
    assert run("roundtrip", str(path), "--target", "named").exit_code == 0
    assert run("roundtrip", str(path)).exit_code == 1
