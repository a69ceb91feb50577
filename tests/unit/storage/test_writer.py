"""Images: every accessor of the C++ classes finds its field in them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from tests.unit.storage.accessors import Accessors, as_tuples

from sdybridge.errors import StorageError
from sdybridge.sdy import MeshAttr, SubAxisInfoAttr, TensorShardingAttr, parse_attribute
from sdybridge.storage import read_attribute, write_attribute

if TYPE_CHECKING:
    from sdybridge.sdy import Attribute
    from sdybridge.storage import Image

TEXTS = [
    '#sdy<mesh_axis"x"=2>',
    '#sdy<mesh_axis""=9223372036854775807>',
    "#sdy.mesh<[]>",
    "#sdy.mesh<[], device_ids=[0]>",
    '#sdy.mesh<["x"=2, "y"=4]>',
    '#sdy.mesh<["x"=2, "y"=2], device_ids=[3, 1, 2, 0]>',
    "#sdy<sub_axis_info(-9223372036854775808)9223372036854775807>",
    '#sdy<axis_ref"x">',
    r'#sdy<axis_ref"\00\C3\A9\FF":(1)2>',
    "#sdy<dimension_sharding{}>",
    "#sdy<dimension_sharding{?}p0>",
    '#sdy<dimension_sharding{"x", "y":(1)2, "x", ?}p9223372036854775807>',
    "#sdy.sharding<@mesh, []>",
    '#sdy.sharding<@"a b", [{"x", "y":(2)2, ?}p1, {}], replicated={"z":(1)2}, unreduced={"w", "z":(2)2}>',
    '#sdy.sharding<mesh<["x"=2], device_ids=[1, 0]>, [{"x"}, {"x"}]>',
    "#sdy.sharding_per_value<[]>",
    '#sdy.sharding_per_value<[<@a, [{"x"}]>, <@b, [{"x"}]>, <@a, [{"x"}]>]>',
    "#sdy<manual_axes{}>",
    '#sdy<manual_axes{"a", "", "a"}>',
    '#sdy<axis_ref_list{"x", "y":(1)2}>',
    '#sdy<list_of_axis_ref_lists[{"x"}, {}]>',
    '#sdy<all_to_all_param{"x"}: 0->1>',
    '#sdy<all_to_all_param_list[{"x"}: 0->1, {"y"}: 1->0]>',
]
ATTRIBUTES = [parse_attribute(text) for text in TEXTS]
BASES = [0x8, 0x10000, 0x7FFF_F7D0_1238, (1 << 62) - 8]


@pytest.mark.parametrize("base", BASES, ids=hex)
@pytest.mark.parametrize("attr", ATTRIBUTES, ids=str)
def test_what_was_written_is_read(attr: Attribute, base: int) -> None:
    image = write_attribute(attr, base=base)
    assert Accessors(image).read(base) == as_tuples(attr)
    assert read_attribute(image, base) is attr


def test_accessors_that_compute() -> None:
    mesh = write_attribute(MeshAttr.from_sizes({"x": 2, "y": 8}))
    a = Accessors(mesh)
    assert [a.get_axis_size(mesh.base, name) for name in "xy"] == [2, 8]
    assert not a.is_maximal(mesh.base)
    maximal = write_attribute(MeshAttr.maximal(3))
    assert Accessors(maximal).is_maximal(maximal.base)
    assert Accessors(maximal).get_maximal_device_id(maximal.base) == 3
    sharding = write_attribute(
        TensorShardingAttr.from_string('<mesh<["x"=2, "y"=8]>, [{"y", "y":(2)4}p3, {}]>')
    )
    a = Accessors(sharding)
    inline = a.load(sharding.base + 0x08)
    first, second = a.array(sharding.base + 0x10)
    assert [a.get_size(ref, inline) for ref in a.array(first + 0x08)] == [8, 4]
    assert [a.get_priority(first), a.get_priority(second)[1]] == [(3, 1), 0]


def test_equal_parts_are_stored_once() -> None:
    image = write_attribute(
        parse_attribute('#sdy.sharding_per_value<[<@a, [{"x"}]>, <@b, [{"x"}]>, <@a, [{"x"}]>]>')
    )
    titles = [block.title for block in image.blocks]
    assert titles.count('AxisRefAttr "x"') == 1
    assert len([title for title in titles if title.startswith("TensorShardingAttr")]) == 2
    a = Accessors(image)
    one, two, three = a.array(image.base + 0x08)
    assert one == three != two


@pytest.mark.parametrize("attr", ATTRIBUTES, ids=str)
def test_blocks_describe_the_bytes(attr: Attribute) -> None:
    image: Image = write_attribute(attr)
    parts = [part for block in image.blocks for part in block.parts]
    covered = {at for part in parts for at in range(part.address, part.address + part.size)}
    assert len(covered) == sum(part.size for part in parts)
    rest = set(range(image.base, image.base + len(image.data))) - covered
    assert not any(image.data[at - image.base] for at in rest), "bytes that no part describes are padding"
    for block, after in itertools.pairwise(image.blocks):
        assert block.address % 8 == 0
        assert block.parts[-1].address + block.parts[-1].size <= after.address
    assert [block.address < image.records for block in image.blocks] == sorted(
        [block.address < image.records for block in image.blocks], reverse=True
    )


@pytest.mark.parametrize("base", [0, -8, 4, 0x1001, 1 << 62, 1 << 70])
def test_no_attribute_can_be_there(base: int) -> None:
    with pytest.raises(StorageError, match="no attribute can be at"):
        write_attribute(SubAxisInfoAttr(1, 2), base=base)
