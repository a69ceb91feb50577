from __future__ import annotations

from pathlib import Path

import pytest

from sdybridge.bridge import convert_to_hlo_sharding, get_ordered_axis_refs
from sdybridge.sdy import MeshAttr, TensorShardingAttr

FACTS = [
    line.split(" | ")
    for line in Path(__file__).with_name("ordered_axes.txt").read_text().splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("mesh", "sharding", "ordered", "hlo"), FACTS)
def test_ordered_axis_refs(mesh: str, sharding: str, ordered: str, hlo: str) -> None:
    """The axis refs in device order, and the grid that XLA makes of them."""
    mesh_attr, attr = MeshAttr.from_string(mesh), TensorShardingAttr.from_string(sharding)
    assert " ".join(ref.stripped for ref in get_ordered_axis_refs(attr, mesh_attr)) == ordered
    assert str(convert_to_hlo_sharding(attr, mesh_attr)) == hlo


def test_an_axis_of_size_1_stays_whole() -> None:
    mesh = MeshAttr.from_sizes({"x": 1, "y": 4})
    attr = TensorShardingAttr.from_string('<@m, [{"y":(2)2}]>')
    assert " ".join(ref.stripped for ref in get_ordered_axis_refs(attr, mesh)) == '"x" "y":(1)2 "y":(2)2'
