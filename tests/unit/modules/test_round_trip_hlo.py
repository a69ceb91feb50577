"""Round trips of HLO, as text and as a proto."""

# ruff: noqa: E501  (lines of HLO)

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from jaxlib import _hlo

from sdybridge.cli import cli
from sdybridge.modules import round_trip

if TYPE_CHECKING:
    from pathlib import Path

HLO = """\
HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=2, "y"=2]>}}

ENTRY main {
  a = f32[8,8]{1,0} parameter(0), frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"x\\"}, {DIM}]>"}
  ROOT b = (f32[8,8]{1,0}, f32[]) custom-call(a), custom_call_target="c", \
frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{\\"y\\"}, {}]>, <@mesh, []>]>"}
}
"""


def proto(text: str) -> bytes:
    return bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())


@pytest.mark.parametrize("is_proto", [False, True])
@pytest.mark.parametrize(("dim", "same"), [("", True), ("?", False)])
def test_round_trip(dim: str, same: bool, is_proto: bool) -> None:
    text = HLO.replace("DIM", dim)
    trip = round_trip(proto(text) if is_proto else text)
    assert trip.is_stable
    assert [one.is_same for one in trip.shardings] == [same, True]
    assert [one.hlo for one in trip.shardings] == [
        "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
        "{{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}, {replicated}}",
    ]
    assert isinstance(trip.imported.program, bytes if is_proto else str)
    assert dict(trip.imported.meshes) == dict(trip.exported.meshes)


def test_onto_inferred_meshes() -> None:
    trip = round_trip(HLO.replace("DIM", ""), keep_meshes=False)
    assert trip.is_stable
    assert trip.shardings[0].after is not None
    assert trip.shardings[0].after[0].stripped == '<@mesh, [{"_axis_0"}, {}]>'


def test_the_command(tmp_path: Path) -> None:
    file, output = tmp_path / "m.pb", tmp_path / "back.pb"
    file.write_bytes(proto(HLO.replace("DIM", "?")))
    result = CliRunner().invoke(cli, ["roundtrip", str(file), "-o", str(output)])
    assert result.exit_code == 1
    assert "1 of them different at 1 site" in result.stdout
    assert f"{file}:byte " in result.stdout
    assert output.read_bytes() == round_trip(file.read_bytes()).imported.proto
