"""What is wrong with memory, and what the error says."""

from __future__ import annotations

import pickle
import struct

import pytest

from sdybridge.errors import StorageError
from sdybridge.sdy import parse_attribute
from sdybridge.storage import BytesMemory, Image, Symbol, read_attribute, read_value, reader, write_attribute
from sdybridge.storage.reader import shown_path

BASE = 0x10000
SHARDING = '#sdy.sharding<@mesh, [{"x"}, {"y":(1)2, ?}p1], replicated={"z"}>'


def patched(text: str, owner: str, name: str, value: int) -> BytesMemory:
    """The image of an attribute, with another value in a part of it."""
    image: Image = write_attribute(parse_attribute(text), base=BASE)
    [part] = [
        part for block in image.blocks if block.title == owner for part in block.parts if part.name == name
    ]
    data = bytearray(image.data)
    struct.pack_into({1: "<B", 8: "<Q"}[part.size], data, part.address - BASE, value)
    return BytesMemory(BASE, bytes(data))


ORDERED = '#sdy.mesh<["x"=2], device_ids=[1, 0]>'
ROOT = f"TensorShardingAttr {SHARDING.removeprefix('#sdy.sharding')}"
DIM = 'DimensionShardingAttr {"y":(1)2, ?}p1'
SYMBOL, RECORD = "SymbolRefAttr @mesh", "AbstractAttribute sdy.axis_ref"
REF = 'AxisRefAttr "y":(1)2'


@pytest.mark.parametrize(
    ("owner", "name", "value", "where", "path", "message"),
    [
        (ROOT, "mesh_or_ref", 0, "TensorShardingAttr.mesh_or_ref", "mesh_or_ref", "the pointer is null"),
        (ROOT, "mesh_or_ref", 0x10004, "TensorShardingAttr.mesh_or_ref", "mesh_or_ref",
         "it is no multiple of 8"),
        (ROOT, "mesh_or_ref", 0x10060, "TensorShardingAttr.mesh_or_ref", "mesh_or_ref",
         "at 0x10060 is `builtin.string`, not `builtin.symbol_ref` or `sdy.mesh`"),
        (ROOT, "mesh_or_ref", BASE, "TensorShardingAttr.mesh_or_ref", "mesh_or_ref",
         "at 0x10000 is `sdy.sharding`, not `builtin.symbol_ref` or `sdy.mesh`"),
        (ROOT, "mesh_or_ref", 0x7FFF0000, "TensorShardingAttr.mesh_or_ref", "mesh_or_ref",
         "cannot read 8 bytes at 0x7fff0000: the image is from 0x10000"),
        (ROOT, "mesh_or_ref", 2**64 - 8, "TensorShardingAttr.mesh_or_ref", "mesh_or_ref",
         "cannot read 8 bytes"),
        (ROOT, "dim_shardings, pointer", 0, "TensorShardingAttr.dim_shardings", "dim_shardings",
         "the pointer is null, but the length is 2"),
        (ROOT, "dim_shardings, pointer", 0x10092, "TensorShardingAttr.dim_shardings", "dim_shardings",
         "the pointer 0x10092 is no multiple of 8"),
        (ROOT, "dim_shardings, length", 2**63, "TensorShardingAttr.dim_shardings", "dim_shardings",
         "the length is 9223372036854775808, and no more than 1048576 are read"),
        (ROOT, "dim_shardings, length", 2**20, "TensorShardingAttr.dim_shardings", "dim_shardings",
         "cannot read 8388608 bytes"),
        (ROOT, "abstract", 8, "", "", "no attribute is at 0x10000: the word there, 0x8, is no record"),
        (DIM, "is_closed", 2, "DimensionShardingAttr.is_closed", "dim_shardings[1].is_closed",
         "a flag is 0 or 1, found 2"),
        (DIM, "priority, is there", 255, "DimensionShardingAttr.priority", "dim_shardings[1].priority",
         "a flag is 0 or 1, found 255"),
        (DIM, "priority", 2**64 - 5, "DimensionShardingAttr", "dim_shardings[1]",
         "a priority cannot be negative"),
        (REF, "sub_axis_info", BASE, "AxisRefAttr.sub_axis_info", "dim_shardings[1].axes[0].sub_axis_info",
         "at 0x10000 is `sdy.sharding`, not `sdy.sub_axis_info`"),
        (REF, "name, length", 2**40, "AxisRefAttr.name", "dim_shardings[1].axes[0].name",
         "the length is 1099511627776, and no more than 1048576 are read"),
        (REF, "name, pointer", 5, "AxisRefAttr.name", "dim_shardings[1].axes[0].name",
         "cannot read 1 byte at 0x5"),
        (SYMBOL, "root_reference", 0x10040, "SymbolRefAttr.root_reference", "mesh_or_ref.root_reference",
         "at 0x10040 is `builtin.symbol_ref`, not `builtin.string`"),
        ('StringAttr "mesh"', "value, pointer", 0, "StringAttr.value", "mesh_or_ref.root_reference.value",
         "the pointer is null, but the length is 4"),
        (RECORD, "name, length", 257, "DimensionShardingAttr.axes", "dim_shardings[0].axes[0]",
         "is no record of a class"),
        (RECORD, "name, length", 4, "DimensionShardingAttr.axes", "dim_shardings[0].axes[0]",
         "is no record of a class"),
        (RECORD, "name, length", 8, "DimensionShardingAttr.axes", "dim_shardings[0].axes[0]",
         "is `sdy.axis`, not `sdy.axis_ref`"),
    ],
)  # fmt: skip
def test_broken_memory(owner: str, name: str, value: int, where: str, path: str, message: str) -> None:
    with pytest.raises(StorageError) as raised:
        read_attribute(patched(SHARDING, owner, name, value), BASE)
    error = raised.value
    assert message in error.message
    assert f"{error.struct}.{error.field}".strip(".") == where
    assert shown_path(error.path) == path
    assert pickle.loads(pickle.dumps(error)).path == error.path


def test_a_whole_message() -> None:
    with pytest.raises(StorageError) as raised:
        read_attribute(patched(SHARDING, REF, "sub_axis_info", 0x7FFF0000), BASE)
    assert str(raised.value) == (
        "AxisRefAttr.sub_axis_info at 0x10138: "
        "cannot read 8 bytes at 0x7fff0000: the image is from 0x10000 to 0x10650\n"
        "note: reached as dim_shardings[1].axes[0].sub_axis_info"
    )


@pytest.mark.parametrize(
    ("text", "owner", "name", "value", "message"),
    [
        ('#sdy<mesh_axis"x"=2>', 'MeshAxisAttr "x"=2', "size", 0, 'axis "x" has size 0'),
        ('#sdy.mesh<["x"=2]>', 'MeshAxisAttr "x"=2', "size", 2**64 - 1, 'axis "x" has size -1'),
        (ORDERED, f"device_ids of MeshAttr {ORDERED[9:]}", "[0]", 7,
         "device id 7 is too large"),
        (ORDERED, f"MeshAttr {ORDERED[9:]}", "device_ids, length",
         2**26, "the length is 67108864, and no more than 8388608 are read"),
        ('#sdy<all_to_all_param{"x"}: 0->1>', 'AllToAllParamAttr {"x"}: 0->1', "axes, length", 0,
         "an all-to-all moves at least one axis"),
    ],
)  # fmt: skip
def test_values_that_no_attribute_has(text: str, owner: str, name: str, value: int, message: str) -> None:
    """The bindings of jaxlib build some of them, unverified."""
    with pytest.raises(StorageError) as raised:
        read_attribute(patched(text, owner, name, value), BASE)
    assert message in raised.value.message


def test_nested_symbol() -> None:
    """A nested reference names no mesh; one that leads back to itself is no endless loop."""
    memory = patched(SHARDING, SYMBOL, "nested_references, length", 1)
    data = bytearray(memory.data)
    struct.pack_into("<Q", data, 0x50, 0x10090)  # the list of dimensions, made a list of one symbol
    struct.pack_into("<Q", data, 0x90, 0x10040)
    with pytest.raises(StorageError, match="leads back to itself"):
        read_value(BytesMemory(BASE, bytes(data)), 0x10040)
    other = write_attribute(parse_attribute("#sdy.sharding<@other, []>"), base=0x20000)
    struct.pack_into("<Q", data, 0x90, 0x20040)
    both = Pieces(BytesMemory(BASE, bytes(data)), other)
    with pytest.raises(
        StorageError, match="a mesh is named by a flat symbol reference, and this one is nested"
    ):
        read_value(both, 0x10040)


class Pieces:
    """Several images."""

    def __init__(self, *images: BytesMemory) -> None:
        self.images = images

    def read(self, address: int, size: int) -> bytes:
        [image] = [one for one in self.images if one.base <= address < one.base + len(one.data)]
        return image.read(address, size)


def test_a_long_chain_of_symbols() -> None:
    """As deep as no attribute is: an error, and no `RecursionError`."""
    image = write_attribute(parse_attribute("#sdy.sharding<@mesh, []>"), base=BASE)
    symbol, string = 0x10040, 0x10060
    record = struct.unpack_from("<Q", image.data, symbol - BASE)[0]
    count, start = 5000, 0x100000
    chain = b"".join(
        struct.pack("<QQQQQ", record, string, start + 40 * i + 32, 1, start + 40 * (i + 1))
        for i in range(count)
    )
    with pytest.raises(StorageError, match="is more than 32 levels deep"):
        read_value(Pieces(image, BytesMemory(start, chain)), start)


def test_how_much_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    image = write_attribute(parse_attribute(SHARDING))
    assert read_attribute(image, image.base) is parse_attribute(SHARDING)
    monkeypatch.setattr(reader, "MOST_BYTES", 300)
    with pytest.raises(StorageError, match="the attribute is larger than 300 bytes"):
        read_attribute(image, image.base)


def test_many_pointers_to_one_attribute_are_read_once() -> None:
    """Memory that is small can still spell a value of any size: lists of lists of lists of one attribute."""
    text = '#sdy.sharding_per_value<[<@mesh, [{"x"}]>]>'
    image = write_attribute(parse_attribute(text), base=BASE)
    data = bytearray(image.data)
    count = 100_000
    pointer = struct.unpack_from("<Q", data, struct.unpack_from("<Q", data, 0x08)[0] - BASE)[0]
    struct.pack_into("<QQ", data, 0x08, BASE + len(data), count)
    memory = BytesMemory(BASE, bytes(data) + struct.pack("<Q", pointer) * count)
    found = read_attribute(memory, BASE)
    assert len(found.shardings) == count  # type: ignore[attr-defined]


def test_little_memory_that_spells_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many shardings of many dimensions: as text, a million each would be larger than any disk."""
    monkeypatch.setattr(reader, "MOST_BYTES", 1 << 22)
    image = write_attribute(parse_attribute('#sdy.sharding_per_value<[<@mesh, [{"x"}]>]>'), base=BASE)
    data = bytearray(image.data)
    count, end = 1 << 16, BASE + len(data)
    [sharding] = struct.unpack_from("<Q", data, struct.unpack_from("<Q", data, 0x08)[0] - BASE)
    [dimension] = struct.unpack_from(
        "<Q", data, struct.unpack_from("<Q", data, sharding + 0x10 - BASE)[0] - BASE
    )
    struct.pack_into("<QQ", data, 0x08, end, count)
    struct.pack_into("<QQ", data, sharding + 0x10 - BASE, end + 8 * count, count)
    lists = struct.pack("<Q", sharding) * count + struct.pack("<Q", dimension) * count
    with pytest.raises(StorageError, match="the attribute is larger than 4194304 bytes"):
        read_attribute(BytesMemory(BASE, bytes(data) + lists), BASE)


def test_texts() -> None:
    image = write_attribute(parse_attribute("#sdy.sharding<@mesh, []>"), base=BASE)
    assert read_value(image, BASE) is parse_attribute("#sdy.sharding<@mesh, []>")
    symbol, text = read_value(image, 0x10040), read_value(image, 0x10060)
    assert (symbol, type(symbol)) == ("mesh", Symbol)
    assert (text, type(text)) == ("mesh", str)
    with pytest.raises(StorageError, match=r"builtin\.symbol_ref`, not an attribute of Shardy"):
        read_attribute(image, 0x10040)


@pytest.mark.parametrize("address", [0, -8, 8, BASE - 8, BASE + 4, 1 << 64, -(1 << 70), 1 << 62])
def test_wrong_addresses(address: int) -> None:
    image = write_attribute(parse_attribute(SHARDING), base=BASE)
    with pytest.raises(StorageError):
        read_attribute(image, address)
