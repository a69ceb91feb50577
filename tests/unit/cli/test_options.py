"""Options that would do nothing for what is given are wrong usage, in every command and format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from jaxlib import _hlo

from sdybridge.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

MLIR = """\
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) { return }
"""
HLO = """\
HloModule m

ENTRY main {
  ROOT a = f32[8]{0} parameter(0), sharding={devices=[2]<=[2]}
}
"""
SHARDY, GRID = '[{"x"}]', "{devices=[2]<=[2]}"
UNUSED = [
    ("export HLO --portable", "--portable is for MLIR, and this is HLO"),
    ("export PROTO --portable", "--portable is for MLIR, and this is HLO"),
    (
        "export HLO --no-add-missing-sharding-to-control-flow",
        "to-control-flow is for MLIR",
    ),
    ("export MLIR --mesh x=2", "--mesh is for HLO; an MLIR program declares its meshes"),
    ("export MLIR --all --quiet", "--all is for the summary, which --quiet leaves out"),
    ("export MLIR --all --json", "--all is for the summary in words"),
    ("export MLIR -q --json", "--quiet is for the summary in words; --json has everything"),
    ("import HLO --no-remove-added-sharding-from-control-flow", "is for MLIR, and this is HLO"),
    ("import PROTO --remove-added-sharding-from-control-flow", "is for MLIR, and this is HLO"),
    ("import MLIR --json -q", "--quiet is for the summary in words"),
    ("rewrite HLO --to v1 --json -q", "--quiet is for the summary in words"),
    ("strip HLO --json -q", "--quiet is for the summary in words"),
    ("rename-axes x=y MLIR --json -q", "--quiet is for the summary in words"),
    ("convert SHARDY --mesh x=2 --rank 1", "--rank is for HLO shardings; a Shardy sharding says it itself"),
    ("convert SHARDY --mesh x=2 --open", "--open is for HLO shardings"),
    ("convert SHARDY --mesh x=2 --axis-names y", "--axis-names is for HLO shardings"),
    ("convert GRID --manual-axes x", "--manual-axes is for Shardy shardings"),
    ("convert GRID --to named --mesh x=2", "--mesh is for the way to Shardy; --to asks for an HLO sharding"),
    ("convert GRID --to proto-hex --rank 1", "--rank is for the way to Shardy"),
    ("diff MLIR HLO --mesh x=2", "--mesh is for two shardings"),
    ("diff MLIR HLO --shape 8", "--shape is for two shardings"),
    ("diff SHARDY GRID --mesh x=2 --common", "--common is for programs"),
    ("diff SHARDY GRID --mesh x=2 --all", "--all is for programs"),
    ("draw SHARDY --mesh x=2 -o a.svg --width 80", "--width is for text; an SVG has a size"),
    ("draw SHARDY --mesh x=2 -o a.svg --plain", "--plain is for text; an SVG has a size"),
    ("draw MLIR --manual-axes x", "--manual-axes is for a sharding by itself"),
    ("explain MLIR --manual-axes x", "--manual-axes is for a sharding by itself"),
    ("inspect MLIR --all --json", "--all is for the tables"),
    ("check MLIR --rules", "FILES is for a check, and --rules makes none"),
    ("check --explain SB102 --format json", "--format is for a check, and --explain makes none"),
    ("check MLIR --format json --all", "--all is for people; the other formats have every finding"),
    ("roundtrip HLO --portable", "--portable is for MLIR, and this is HLO"),
    ("roundtrip PROTO --portable", "--portable is for MLIR, and this is HLO"),
    ("roundtrip MLIR --json -q", "--quiet is for the comparison in words"),
]


@pytest.mark.parametrize(("command", "said"), UNUSED)
def test_an_option_that_would_do_nothing(
    command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "MLIR").write_text(MLIR)
    (tmp_path / "HLO").write_text(HLO)
    (tmp_path / "PROTO").write_bytes(_hlo.hlo_module_from_text(HLO).as_serialized_hlo_module_proto())
    given = [{"SHARDY": SHARDY, "GRID": GRID}.get(word, word) for word in command.split()]
    result = CliRunner().invoke(cli, given, prog_name="sdybridge")
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert not (tmp_path / "a.svg").exists()


def test_options_that_do_something_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "m.mlir"
    file.write_text(MLIR)
    for options in (["--portable"], ["--no-add-missing-sharding-to-control-flow"], ["--all"]):
        assert CliRunner().invoke(cli, ["export", str(file), *options]).exit_code == 0
