"""Records that another MLIR lays out otherwise."""

from __future__ import annotations

import dataclasses

import pytest

from sdybridge.errors import StorageError
from sdybridge.sdy import parse_attribute
from sdybridge.storage import CURRENT, Build, BytesMemory, find_build, read_attribute, write_attribute
from sdybridge.storage.debugger import describe

ATTR = parse_attribute('#sdy.sharding<@mesh, [{"x", ?}p1]>')


def moved(offset: int) -> Build:
    dialect, type_id, name = CURRENT.record.fields
    fields = (
        dialect,
        dataclasses.replace(type_id, offset=offset - 8),
        dataclasses.replace(name, offset=offset),
    )
    return dataclasses.replace(
        CURRENT, record=dataclasses.replace(CURRENT.record, fields=fields, size=offset + 16)
    )


@pytest.mark.parametrize("offset", [0x10, 0x60, 0x88, 0x98, 0xD0, 0x1F8])
def test_another_record(offset: int) -> None:
    image = write_attribute(ATTR, build=moved(offset))
    with pytest.raises(StorageError):
        read_attribute(image, image.base)
    found = find_build(image, image.base)
    assert found.record.fields == moved(offset).record.fields
    assert read_attribute(image, image.base, build=found) is ATTR
    assert describe(image, image.base) == str(ATTR)


def test_the_record_of_the_build() -> None:
    image = write_attribute(ATTR)
    assert find_build(image, image.base) is CURRENT


@pytest.mark.parametrize("address", [0, 8, 0x10004, 0x10008, 1 << 70])
def test_no_record(address: int) -> None:
    image = write_attribute(ATTR, base=0x10000)
    assert find_build(image, address) is CURRENT


def test_a_record_without_a_name() -> None:
    """The name of the record after it is not taken for its own."""
    image = write_attribute(ATTR)
    [record] = [block for block in image.blocks if block.title == "AbstractAttribute sdy.sharding"]
    data = bytearray(image.data)
    at = record.address + 0x90 - image.base
    data[at : at + 16] = bytes(16)
    memory = BytesMemory(image.base, bytes(data))
    assert find_build(memory, image.base) is CURRENT
    with pytest.raises(StorageError):
        describe(memory, image.base)


def test_a_record_that_is_too_far_away() -> None:
    image = write_attribute(ATTR, build=moved(0x200))
    assert find_build(image, image.base) is CURRENT
