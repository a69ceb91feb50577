"""Drawings: what stands where is checked against device maps, sizes and limits for any width."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree as ET

import pytest

from sdybridge import HloSharding, SdyBridgeError, draw, explain
from sdybridge.view import Drawing, Drawings
from sdybridge.view.drawing import few

from . import device_maps
from .test_explanations import CASES, Case, device_map, explained

TILED = [case for case in CASES if case.dims or "=[" in case.text]


@pytest.mark.parametrize("case", TILED, ids=lambda case: case.name)
def test_every_shard_is_drawn_with_its_devices(case: Case) -> None:
    drawing = draw(explained(case))
    assert isinstance(drawing, Drawing)
    expected = device_map(case)
    assert drawing.num_slices * drawing.num_rows * drawing.num_columns == len({
        held.shard for held in expected.held.values()
    })  # fmt: skip
    drawn: dict[int, set[int]] = {}
    for fixed in drawing.slices():
        for row, column in itertools.product(range(drawing.num_rows), range(drawing.num_columns)):
            cell = drawing.cell(fixed, row, column)
            assert cell.count == sum(map(len, cell.copies))
            same = [{expected.held[device] for device in group} for group in cell.copies]
            assert all(len(group) == 1 for group in same)
            assert len(set().union(*same)) == len(same)
            drawn[cell.number] = {device for group in cell.copies for device in group}
    numbers: dict[int, set[int]] = {}
    for device, held in expected.held.items():
        number = 0
        for at, count in zip(held.shard, expected.shards, strict=True):
            number = number * count + at
        numbers.setdefault(number, set()).add(device)
    assert drawn == numbers


@pytest.mark.parametrize("case", TILED, ids=lambda case: case.name)
@pytest.mark.parametrize("width", [20, 37, 80, 200])
def test_any_width(case: Case, width: int) -> None:
    drawing = draw(explained(case))
    for text in (drawing.to_text(width=width), drawing.to_text(width=width, height=6, plain=True)):
        lines = text.splitlines()
        assert max(map(len, lines)) <= max(width, longest_word(case.text)), text
    assert drawing.to_text(width=width, plain=True).isascii()
    coloured = drawing.to_text(width=width, colour=True)
    assert "\x1b[" in coloured
    ET.fromstring(drawing.to_svg())


def longest_word(text: str) -> int:
    """Words are never cut, and a sharding may be one."""
    return max(map(len, text.split()))


def test_rows_and_columns_are_the_dimensions_that_are_cut() -> None:
    for text, row, column, slices in (
        ("{devices=[2,1,4]<=[8]}", 0, 2, ()),
        ("{devices=[1,8,1]<=[8]}", 1, 2, ()),
        ("{devices=[2,2,2,2]<=[16]}", 2, 3, (0, 1)),
        ("{devices=[8]<=[8]}", None, 0, ()),
        ("{devices=[1,1,2,4]<=[8] last_tile_dim_replicate}", 1, 2, ()),
        ("{replicated}", None, None, ()),
    ):
        drawing = draw(text)
        assert isinstance(drawing, Drawing)
        assert (drawing.row_dim, drawing.column_dim, drawing.slice_dims) == (row, column, slices), text


def test_lengths_are_drawn_to_scale() -> None:
    drawing = draw("{devices=[1,4]<=[4]}", shape="f32[8,700]")
    assert isinstance(drawing, Drawing)
    uneven = draw("{devices=[1,4]<=[4]}", shape="f32[8,651]")
    assert isinstance(uneven, Drawing)
    tracks = uneven.columns(range(4))
    assert [track.range for track in tracks] == ["0:163", "163:326", "326:489", "489:651"]
    assert [round(track.length, 3) for track in tracks] == [1, 1, 1, 0.994]
    assert draw("{devices=[8]<=[8]}", shape="f32[3]").to_svg().count("stroke-dasharray") == 6


def test_huge_grids() -> None:
    drawing = draw("{devices=[1048576,1048576]<=[1048576,1048576]T(1,0)}")
    text = drawing.to_text(width=80, height=20)
    assert len(text.splitlines()) < 25
    assert "1099511627775" in text
    assert len(drawing.to_svg()) < 200_000
    slices = draw(f"{{devices=[{','.join(['2'] * 30)}]<=[{2**30}]}}")
    assert "more slices of 268435456" in slices.to_text()
    assert "more slices of 268435456" in slices.to_svg()


def test_tuples_and_objects() -> None:
    drawings = draw(HloSharding.from_string("{{devices=[2]<=[2]}, {replicated}}"))
    assert isinstance(drawings, Drawings)
    assert len(drawings) == 2
    root = ET.fromstring(drawings.to_svg())
    assert len(root.findall("{http://www.w3.org/2000/svg}svg")) == 2
    assert str(draw(explain("{manual}"))) == str(draw("{manual}"))
    assert str(draw("{}")) == ""
    ET.fromstring(draw("{}").to_svg())


def test_names_that_need_escaping() -> None:
    svg = draw('[{"<&>"}]', mesh={"<&>": 2}).to_svg()
    ET.fromstring(svg)
    assert "&lt;&amp;&gt;=0" in svg


def test_errors_are_those_of_explain() -> None:
    with pytest.raises(SdyBridgeError, match="no axis named"):
        draw('[{"q"}]', mesh={"x": 2})


@pytest.mark.parametrize(
    ("count", "most", "shown"),
    [(3, 3, [0, 1, 2]), (4, 3, [0, None, 3]), (100, 5, [0, 1, 2, None, 99]), (1, 1, [0])],
)
def test_few(count: int, most: int, shown: list[int | None]) -> None:
    assert few(count, most) == shown


def test_the_maps_of_the_tests_agree() -> None:
    """The two ways to make a device map give the same one."""
    grid = device_maps.of_grid("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}")
    assert grid == device_maps.of_axes(['"y"', ""], {"x": 2, "y": 4})
