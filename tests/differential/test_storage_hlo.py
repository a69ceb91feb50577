"""The layouts of XLA's sharding classes, in the memory of jaxlib's own objects."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sdybridge.hlo import HloSharding
from sdybridge.storage import HLO_LAYOUTS, Kind, Layout, ProcessMemory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = {
    "jaxlib 0.6.2": ROOT / ".venv-classic" / "bin" / "python",
    "jaxlib 0.10.2": Path(sys.executable),
}
FLAGS = {
    "jaxlib 0.6.2": {"mask": 0x3F, "replicated": 0x03, "last": 0x20},
    "jaxlib 0.10.2": {"mask": 0x7F, "replicated": 0x01, "last": 0x40},
}
SIZES = {"jaxlib 0.6.2": (0x98, 0x78), "jaxlib 0.10.2": (0x180, 0x90)}  # of HloSharding, of OpMetadata

every_build = pytest.mark.parametrize(
    "build", [pytest.param("jaxlib 0.6.2", marks=pytest.mark.slow), "jaxlib 0.10.2"]
)


def read_all(build: str, inputs: Sequence[str]) -> Iterator[Fields]:
    """The object that jaxlib makes of each input, while its process lives."""
    if not PYTHONS[build].exists():
        pytest.fail(f"{PYTHONS[build]} is missing: run `make test-all`, which creates it")
    process = subprocess.Popen(
        [PYTHONS[build], "-m", "tests.differential.live_hlo"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    with process, ProcessMemory(process.pid) as memory:
        for text in inputs:
            print(text, file=process.stdin, flush=True)
            cls = "HloSharding" if text.startswith("{") else "OpSharding"
            yield Fields(memory, int(process.stdout.readline()), HLO_LAYOUTS[build][cls])
        process.stdin.close()


class Fields:
    """The fields of one object, read by a table."""

    def __init__(self, memory: ProcessMemory, address: int, layout: Layout) -> None:
        self.memory, self.address = memory, address
        self.fields = {field.name: field for field in layout.fields}

    def __getitem__(self, name: str) -> int:
        field = self.fields[name]
        raw = self.memory.read(self.address + field.offset, field.width)
        if field.kind is Kind.BOOL:
            assert raw[0] in {0, 1}
        if field.kind is Kind.VECTOR:
            begin, end, _ = struct.unpack("<QQQ", raw)
            return int(end - begin)
        return int.from_bytes(raw, "little", signed=field.kind not in {Kind.BITS, Kind.POINTER})

    def elements(self, name: str, form: str) -> tuple[Any, ...]:
        """The numbers in a list of a message."""
        count, start = self[f"{name}_size"], self[name]
        size_at = self.fields[f"{name}_size"].offset
        if size_at > self.fields[name].offset:  # the newer form, with tags in the pointer
            if start & 4 == 0:
                count, start = start & 3, self.address + size_at
            start &= ~7
        raw = self.memory.read(start, count * struct.calcsize(form)) if count else b""
        return struct.unpack(f"<{count}{form}", raw)


@every_build
def test_hlo_sharding(build: str) -> None:
    size, metadata_size = SIZES[build]
    flags = FLAGS[build]
    cases: list[tuple[str, dict[str, int]]] = [
        ("{replicated}", {"flags": flags["replicated"], "is_iota": 0, "shard_group_id": -1, "shard_as": 0}),
        ("{maximal device=3}", {"flags": 0x02, "is_iota": 0}),
        ("{manual}", {"flags": 0x08, "metadata": 0}),
        ("{unknown}", {"flags": 0x10, "tuple_elements": 0, "shard_like": 0}),
        ("{{replicated}, {manual}, {devices=[2]<=[2]}}", {"flags": 0x04, "tuple_elements": 3 * size}),
        (
            "{devices=[2,4]<=[8]}",
            {"flags": 0, "iota_ndims": 2, "iota_reshape_ndims": 1, "is_iota": 1, "array": 0},
        ),
        ("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", {"flags": flags["last"], "subgroup_types": 0}),
        ("{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}", {"subgroup_types": 8, "flags": 0}),
        ("{replicated shard_as 5}", {"shard_group_id": 5, "shard_as": 1, "shard_like": 0}),
        ("{manual shard_like 7}", {"shard_group_id": 7, "shard_as": 0, "shard_like": 1}),
        ('{manual metadata={op_name="a"}}', {"metadata": metadata_size, "flags": 0x08}),
    ]
    if build != "jaxlib 0.6.2":
        cases.append(("{unreduced}", {"flags": 0x20}))
    for (text, expected), found in zip(cases, read_all(build, [text for text, _ in cases]), strict=True):
        for name, value in expected.items():
            mask = flags["mask"] if name == "flags" else -1
            assert found[name] & mask == value, (text, name)


@every_build
def test_tile_assignments(build: str) -> None:
    texts = ["{devices=[2,3,5]<=[5,3,2]T(2,1,0)}", "{devices=[2,2]0,2,1,3}"]
    iota, dense = 0, 1
    for which, found in enumerate(read_all(build, texts)):
        if which == iota:
            assert (found["iota_ndims"], found["iota_reshape_ndims"], found["is_iota"]) == (3, 3, 1)
            data = found.memory.read(found["iota_data"], 6 * 8 + 3 * 4)
            assert struct.unpack("<6q3i", data) == (2, 3, 5, 5, 3, 2, 2, 1, 0)
        if which == dense:
            assert found["is_iota"] == 0
            assert found["array"] == found["shared_array"] != 0


@every_build
def test_op_sharding(build: str) -> None:
    """Every field of the message, whose bytes are our own."""
    full = HloSharding.from_string("{devices=[2,3,5]<=[5,3,2]T(2,1,0)}").to_proto_bytes()
    subgroups = HloSharding.from_string(
        "{devices=[2,1,3]5,1,2,3,4,0 last_tile_dims={manual}}"
    ).to_proto_bytes()
    last = HloSharding.from_string("{devices=[2,1,3]<=[6] last_tile_dim_replicate}").to_proto_bytes()
    several = HloSharding.from_string("{{replicated}, {manual}, {unknown}}").to_proto_bytes()
    group = HloSharding.from_string('{manual shard_like 7 metadata={op_name="a"}}').to_proto_bytes()
    inputs = [data.hex() for data in (full, subgroups, last, several, group)]
    found = read_all(build, inputs)
    one = next(found)
    assert one["type"] == 3
    assert one.elements("tile_assignment_dimensions", "q") == (2, 3, 5)
    assert one.elements("iota_reshape_dims", "q") == (5, 3, 2)
    assert one.elements("iota_transpose_perm", "i") == (2, 1, 0)
    assert one.elements("tile_assignment_devices", "q") == one.elements("last_tile_dims", "i") == ()
    assert one["metadata_size"] == 0
    one = next(found)
    assert one.elements("tile_assignment_devices", "q") == (5, 1, 2, 3, 4, 0)
    assert one.elements("last_tile_dims", "i") == (4,)
    assert one.elements("iota_reshape_dims", "q") == ()
    assert one["replicate_on_last_tile_dim"] == 0
    one = next(found)
    assert (one["replicate_on_last_tile_dim"], one["is_shard_group"]) == (1, 0)
    one = next(found)
    assert (one["type"], one["tuple_shardings_size"]) == (2, 3)
    one = next(found)
    names = ("type", "is_shard_group", "shard_group_id", "shard_group_type", "metadata_size")
    assert [one[name] for name in names] == [4, 1, 7, 1, 1]
    assert next(found, None) is None


def test_the_reference_has_the_offsets_of_the_older_release() -> None:
    """Whatever it calls them, they are fields there."""
    for cls, reference in HLO_LAYOUTS["neuronx_cc 2.24.5133"].items():
        older = {field.offset: field for field in HLO_LAYOUTS["jaxlib 0.6.2"][cls].fields}
        assert {field.offset for field in reference.fields} <= set(older)
