"""The tables: they fit together, and say what the reference says."""

from __future__ import annotations

import dataclasses
import itertools
from types import MappingProxyType

import pytest

from sdybridge.errors import StorageError
from sdybridge.sdy import AxisRefAttr, ReductionOp, SubAxisInfoAttr, TensorShardingAttr
from sdybridge.storage import (
    BUILDS,
    CURRENT,
    HLO_LAYOUTS,
    NEWER,
    Build,
    BytesMemory,
    Confidence,
    Field,
    Kind,
    Layout,
    read_attribute,
    write_attribute,
)
from sdybridge.storage.reader import CLASSES

EVERY = [
    layout
    for build in BUILDS.values()
    for layout in (
        *build.layouts.values(),
        build.record,
        build.dialect,
        *(layout for layouts in HLO_LAYOUTS.values() for layout in layouts.values()),
    )
]


@pytest.mark.parametrize("layout", EVERY, ids=lambda layout: layout.cls)
def test_fields_are_aligned_and_apart(layout: Layout) -> None:
    for field in layout.fields:
        assert field.offset % min(8, field.width if field.width in {1, 2, 4} else 8) == 0
    for one, next_one in itertools.pairwise(layout.fields):
        assert one.offset + one.width <= next_one.offset
    last = layout.fields[-1]
    assert layout.size is None or last.offset + last.width <= layout.size <= last.offset + last.width + 8


@pytest.mark.parametrize("build", BUILDS.values(), ids=lambda build: build.name)
def test_tables_are_whole(build: object) -> None:
    assert isinstance(build, type(CURRENT))
    assert set(CLASSES) < set(build.layouts)
    for name, layout in build.layouts.items():
        assert layout.name == name
        assert layout.fields[0].kind is Kind.ABSTRACT
        assert layout.fields[0].offset == 0
        for field in layout.fields:
            assert set(field.targets) <= set(build.layouts)
        if name in CLASSES:
            assert layout.cls == CLASSES[name].__name__
            arguments = [field.name for field in layout.fields[1:]]
            missing = {"reduction_op"} if build is CURRENT and name == "sdy.sharding" else set[str]()
            assert set(CLASSES[name].__match_args__) == set(arguments) | missing


REFERENCE = [
    ("sdy.mesh_axis", {"name": 0x08, "size": 0x18}),
    ("sdy.mesh", {"axes": 0x08, "device_ids": 0x18}),
    ("sdy.sub_axis_info", {"pre_size": 0x08, "size": 0x10}),
    ("sdy.axis_ref", {"name": 0x08, "sub_axis_info": 0x18}),
    ("sdy.dimension_sharding", {"axes": 0x08, "is_closed": 0x18, "priority": 0x20}),
    (
        "sdy.sharding",
        {"mesh_or_ref": 0x08, "dim_shardings": 0x10, "replicated_axes": 0x20, "unreduced_axes": 0x30},
    ),
]


@pytest.mark.parametrize(("name", "offsets"), REFERENCE)
def test_offsets_of_the_reference(name: str, offsets: dict[str, int]) -> None:
    """Section A of the reference, read from another compiler than the memory of jaxlib."""
    assert {field.name: field.offset for field in CURRENT.layouts[name].fields[1:]} == offsets


def test_documented_offsets_of_xla() -> None:
    """Sections B.3 and D.1 of the reference, with its confidence."""
    reference = HLO_LAYOUTS["neuronx_cc 2.24.5133"]
    sharding = {field.offset: field for field in reference["HloSharding"].fields}
    assert list(sharding) == [0x00, 0x80, 0x88, 0x90]
    assert sharding[0x80].confidence is Confidence.STRONG
    assert sharding[0x90].width == 2
    message = {field.name: field.offset for field in reference["OpSharding"].fields}
    assert message["type"] == 0xC0
    assert message["tuple_shardings"] == message["tuple_shardings_size"] + 8 == 0x50
    assert message["last_tile_dims"] == message["last_tile_dims_size"] + 8 == 0x90


def test_the_reduction_operator_is_in_the_newer_build_only() -> None:
    refs = (AxisRefAttr("x"),)
    attr = TensorShardingAttr("mesh", (), (), refs, ReductionOp.MAX)
    with pytest.raises(StorageError, match=r"no place for reduction_op, which is ReductionOp\.MAX") as raised:
        write_attribute(attr)
    assert (raised.value.struct, raised.value.field) == ("TensorShardingAttr", "reduction_op")
    image = write_attribute(attr, build=NEWER)
    assert read_attribute(image, image.base, build=NEWER) is attr
    assert read_attribute(image, image.base) is TensorShardingAttr("mesh", (), (), refs)
    wrong = bytearray(image.data)
    wrong[0x40] = 3
    with pytest.raises(StorageError, match="a reduction operator is 0, 1 or 2, found 3"):
        read_attribute(BytesMemory(image.base, bytes(wrong)), image.base, build=NEWER)


def other_build(layout: Layout) -> Build:
    """The current build with another layout of one class."""
    return dataclasses.replace(
        CURRENT, name="other", layouts=MappingProxyType({**CURRENT.layouts, layout.name: layout})
    )


def test_another_build_is_data() -> None:
    """All that has to be said of a build whose axis refs have their fields the other way round."""
    ref = CURRENT.layouts["sdy.axis_ref"]
    abstract, name, info = ref.fields
    turned = (abstract, dataclasses.replace(info, offset=0x08), dataclasses.replace(name, offset=0x10))
    other = other_build(dataclasses.replace(ref, fields=turned))
    attr = AxisRefAttr.sub("x", 1, 2)
    image = write_attribute(attr, build=other)
    assert image.data[0x08:0x18] != write_attribute(attr).data[0x08:0x18]
    assert read_attribute(image, image.base, build=other) is attr


def test_another_build_with_narrow_and_unknown_fields() -> None:
    info = CURRENT.layouts["sdy.sub_axis_info"]
    fields = (
        info.fields[0],
        Field(0x08, "pre_size", Kind.INT16),
        Field(0x0C, "size", Kind.INT32),
        Field(0x10, "hash", Kind.INT64),
    )
    other = other_build(dataclasses.replace(info, fields=fields))
    attr = SubAxisInfoAttr(-2, 2**31 - 1)
    image = write_attribute(attr, build=other)
    assert image.data[0x08:0x18].hex() == "feff0000ffffff7f" + "00" * 8
    assert read_attribute(image, image.base, build=other) is attr
    with pytest.raises(StorageError, match="pre_size does not fit 2 bytes"):
        write_attribute(SubAxisInfoAttr(2**15, 1), build=other)


def test_another_build_that_lacks_a_field() -> None:
    info = CURRENT.layouts["sdy.sub_axis_info"]
    other = other_build(dataclasses.replace(info, fields=info.fields[:2]))
    with pytest.raises(StorageError, match="have no place for size, which is 2"):
        write_attribute(SubAxisInfoAttr(1, 2), build=other)
    image = write_attribute(SubAxisInfoAttr(1, 2))
    with pytest.raises(StorageError, match="the layout has no field for size"):
        read_attribute(image, image.base, build=other)
