"""`sdybridge storage`, as a user types it."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.unit.storage.cores import core_of

from sdybridge.cli import cli
from sdybridge.errors import SdyBridgeError
from sdybridge.sdy import parse_attribute
from sdybridge.storage import BUILDS, CURRENT, HLO_LAYOUTS, write_attribute

if TYPE_CHECKING:
    from click.testing import Result

SHARDING = '#sdy.sharding<@mesh, [{"x", ?}p1, {}]>'


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["storage", *arguments])


def test_layout() -> None:
    assert (
        run("layout", "DimensionShardingAttr").output
        == """\
DimensionShardingAttr (sdy.dimension_sharding), 48 bytes

  +0x00   8  abstract   AbstractAttribute *
             says what it is: dialect, TypeID, name
  +0x08  16  axes       ArrayRef<AxisRefAttr>
             major to minor
  +0x18   1  is_closed  bool
             one byte; the 7 after it hold anything
  +0x20   9  priority   optional<int64_t>
             the value, then if there is one: one byte; the 7 after it hold
             anything

         0   1   2   3   4   5   6   7
       +---+---+---+---+---+---+---+---+
 +0x00 |            pointer            | abstract
       +-------------------------------+
 +0x08 |            pointer            | axes
       +-------------------------------+
 +0x10 |            length             |
       +-------------------------------+
 +0x18 | b |...........................| is_closed
       +-------------------------------+
 +0x20 |            int64_t            | priority
       +-------------------------------+
 +0x28 | b |...........................| whether there is one
       +-------------------------------+
live, read from the memory of a running process
"""
    )


def test_layouts_of_several_builds() -> None:
    output = run("layout", "hlosharding").output
    for build in ("neuronx_cc 2.24.5133", "jaxlib 0.6.2", "jaxlib 0.10.2"):
        assert f"HloSharding (xla::HloSharding in {build}), " in output
    neuron = output.partition("\n\nHloSharding")[0]
    assert neuron.count("~           not known           ~") == 2
    assert "flags: strong, implied by what calls and is called in neuronx_cc 2.24.5133\n" in output


@pytest.mark.parametrize("name", ["MeshAttr", "meshattr", "sdy.mesh", "mesh", "MESH"])
def test_names_of_a_layout(name: str) -> None:
    assert run("layout", name).output.startswith("MeshAttr (sdy.mesh), 40 bytes\n")


def test_all_layouts() -> None:
    output = run("layout").output
    for layout in (
        *CURRENT.layouts.values(),
        *HLO_LAYOUTS["jaxlib 0.6.2"].values(),
        CURRENT.record,
        CURRENT.dialect,
    ):
        assert f"{layout.cls} ({layout.name}), " in output
    assert max(map(len, output.splitlines())) <= 90


def test_layout_of_another_build() -> None:
    assert "reduction_op" not in run("layout", "sharding").output
    newer = run("layout", "sharding", "--build", "newer").output
    assert "+0x40" in newer
    assert "reduction_op: source, upstream's source code" in newer


def test_layouts_as_json() -> None:
    for build in BUILDS:
        found = {
            layout["name"]: layout for layout in json.loads(run("layout", "--json", "--build", build).output)
        }
        assert {field["name"]: field["offset"] for field in found["sdy.axis_ref"]["fields"]} == {
            "abstract": 0,
            "name": 8,
            "sub_axis_info": 24,
        }
        assert found["xla::OpSharding in jaxlib 0.6.2"]["size"] == 0xD8


def test_unknown_layout() -> None:
    result = run("layout", "nosuch")
    assert result.exit_code == 2
    assert "no layout of 'nosuch'; known: MeshAxisAttr, MeshAttr," in result.output


def test_dump() -> None:
    assert (
        run("dump", "#sdy<dimension_sharding{?}p1>", "--base", "0x1000").output
        == """\
0x1000  DimensionShardingAttr {?}p1
  +0x00  58 10 00 00 00 00 00 00  abstract                    -> 0x1058 sdy.dimension_sharding
  +0x08  00 00 00 00 00 00 00 00  axes, pointer               null
  +0x10  00 00 00 00 00 00 00 00  axes, length                0
  +0x18  00                       is_closed                   false
  +0x20  01 00 00 00 00 00 00 00  priority                    1
  +0x28  01                       priority, is there          true
"""
    )


def test_dump_with_records() -> None:
    plain, whole = run("dump", SHARDING).output, run("dump", SHARDING, "--records").output
    assert whole.startswith(plain)
    assert "AbstractAttribute sdy.sharding\n" in whole.removeprefix(plain)
    assert (
        '  +0x00  73 64 79 2e 73 68 61 72  characters                  "sdy.sharding"\n  +0x08  64 69'
        in whole
    )


def test_dump_of_other_texts() -> None:
    assert run("dump", SHARDING.removeprefix("#sdy.sharding")).output == run("dump", SHARDING).output
    reduced = '#sdy.sharding<@mesh, [], unreduced=max{"x"}>'
    assert "reduction_op                max" in run("dump", reduced, "--build", "newer").output
    for text in (reduced, "[{", "", "#sdy.mesh<"):
        assert isinstance(run("dump", text).exception, SdyBridgeError)


@pytest.mark.parametrize("base", ["0", "4", "0xffffffffffffffff"])
def test_dump_where_nothing_can_be(base: str) -> None:
    error = run("dump", SHARDING, "--base", base).exception
    assert "no attribute can be at" in str(error)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="this system has no /proc/PID/mem")
def test_read_a_process() -> None:
    attr = parse_attribute(SHARDING)
    buffer = ctypes.create_string_buffer(len(write_attribute(attr).data) + 8)
    base = ctypes.addressof(buffer) + 7 & ~7
    image = write_attribute(attr, base=base)
    ctypes.memmove(base, image.data, len(image.data))
    symbol = next(block.address for block in image.blocks if block.title.startswith("SymbolRefAttr"))
    result = run("read", "--pid", str(os.getpid()), hex(base), str(base), hex(symbol), hex(symbol + 0x20))
    assert result.output == f'{SHARDING}\n{SHARDING}\n@mesh\n"mesh"\n'
    result = run("read", "--pid", str(os.getpid()), hex(base + 8))
    assert isinstance(result.exception, SdyBridgeError)


def test_read_a_core_dump(tmp_path: Path) -> None:
    image = write_attribute(parse_attribute(SHARDING))
    core = tmp_path / "core"
    core.write_bytes(core_of([(image.base, image.data)]))
    assert run("read", "--core", str(core), hex(image.base)).output == f"{SHARDING}\n"
    assert "image" not in str(run("read", "--core", str(core), "0x8").exception)
    assert isinstance(run("read", "--core", str(tmp_path / "missing"), "0x8").exception, SdyBridgeError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["0x1000"], "give either --pid or --core"),
        (["--pid", "1", "--core", "x", "0x1000"], "give either --pid or --core"),
        (["--pid", "1"], "Missing argument"),
        (["--pid", "0", "0x1000"], "0 is not in the range"),
        (["--pid", "1", "0x"], "'0x' is no address; write 0x and hexadecimal digits"),
        (["--pid", "1", "abc"], "'abc' is no address"),
        (["--pid", "1", "0x1_0"], "'0x1_0' is no address"),
        (["--pid", "1", "\u0663"], "is no address"),
        (["--pid", "1", "0x10000000000000000"], "is no address"),
        (["--core", "x", "--sysroot", "/no/such", "0x8"], "does not exist"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str) -> None:
    result = run("read", *arguments)
    assert result.exit_code == 2
    assert message in result.output
