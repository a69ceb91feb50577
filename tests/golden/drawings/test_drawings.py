"""Drawings as they are to look, in characters and as SVG; one file each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from sdybridge import draw

HERE = Path(__file__).parent
IMAGES = HERE.parents[2] / "docs" / "images"
UPDATE = os.environ.get("SDYBRIDGE_UPDATE_GOLDEN") == "1"
XY = {"x": 2, "y": 4}

CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "rows": ('[{"y"}, {}]', {"mesh": XY, "shape": "f32[64,128]"}, {}),
    "rows_in_colour": ('[{"y"}, {}]', {"mesh": XY, "shape": "f32[64,128]"}, {"colour": True}),
    "rows_in_ascii": ('[{"y"}, {}]', {"mesh": XY, "shape": "f32[64,128]"}, {"plain": True}),
    "parts_of_axes": (
        "{devices=[3,4]<=[2,3,2]T(1,0,2)}",
        {"mesh": {"data": 2, "model": 6}, "shape": "6,4"},
        {},
    ),
    "empty_shards": ("{devices=[8,1]<=[8]}", {"shape": "f32[17,16]", "axis_names": ["x"]}, {}),
    "slices": ("{devices=[2,2,4]<=[16]}", {"shape": "f32[4,6,8]", "axis_names": "abc"}, {}),
    "many_slices": ("{devices=[4,4,2,2]<=[64]}", {"axis_names": "abcd"}, {"height": 30}),
    "manual_and_replicated": ("{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}", {}, {}),
    "unreduced": ('<@m, [{"x"}, {}], unreduced={"y"}>', {"mesh": {"x": 2, "y": 2, "z": 2}}, {}),
    "hundreds": ("{devices=[16,32]<=[512]}", {"axis_names": "xy"}, {"width": 80, "height": 24}),
    "narrow": ("{devices=[4,8]<=[32]}", {"shape": "f32[4000,8000]", "axis_names": "xy"}, {"width": 30}),
    "many_copies": ('[{"x"}]', {"mesh": {"x": 4, "y": 64}, "shape": "f32[7]"}, {}),
    "replicated": ("{replicated}", {"mesh": {"x": 4}, "shape": "f32[3,3]"}, {}),
    "single_device": ("{maximal device=3}", {}, {}),
    "permuted_devices": ("{devices=[4,2]4,7,6,3,0,1,2,5}", {"shape": "f32[8,6]"}, {}),
    "tuple": ("{{devices=[2]<=[2]}, {replicated}}", {}, {}),
}


def check(path: Path, text: str) -> None:
    if UPDATE:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    text, known, options = CASES[name]
    drawn = draw(text, **known).to_text(**options)
    check(HERE / f"{name}.txt", drawn + "\n")
    if not options.get("colour"):
        assert all(len(line) <= options.get("width", 100) for line in drawn.splitlines())


@pytest.mark.parametrize("name", [name for name, (_, _, options) in CASES.items() if not options])
def test_svg(name: str) -> None:
    text, known, _ = CASES[name]
    drawing = draw(text, **known)
    svg = drawing.to_svg()
    check(HERE / f"{name}.svg", svg)
    assert drawing._repr_svg_() == drawing._repr_html_() == svg
    root = ET.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for element in root.iter():
        if "transform" in element.attrib or "x" not in element.attrib:
            continue
        assert 0 <= float(element.attrib["x"]) <= width
        assert 0 <= float(element.attrib["y"]) <= height
    assert "href" not in svg
    assert "<script" not in svg


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*.svg")), ids=lambda path: path.stem)
def test_images_of_the_documentation_are_current(path: Path) -> None:
    drawn = (HERE / path.name).read_text(encoding="utf-8")
    if UPDATE:
        path.write_text(drawn, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == drawn


def test_every_file_is_tested() -> None:
    stems = {path.stem for path in HERE.iterdir() if path.suffix in (".txt", ".svg")}
    assert stems == set(CASES)
