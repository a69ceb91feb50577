"""Programs, and what import makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.blocks import check

from sdybridge.modules import import_module
from sdybridge.sdy import MeshAttr

FILES = sorted(Path(__file__).parent.glob("*.txt"))
MESHES: dict[str, MeshAttr | dict[str, MeshAttr]] = {
    "carriers_lost_mesh": MeshAttr.from_sizes({"x": 2, "y": 4}),
    "own_mesh": MeshAttr.from_sizes({"data": 2, "model": 6}),
    "own_meshes": {
        "a": MeshAttr.from_sizes({"x": 2, "y": 4}),
        "b": MeshAttr.from_sizes({"z": 4}),
        "c": MeshAttr.from_sizes({"p": 2, "q": 2, "r": 2}),
    },
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_import(path: Path) -> None:
    mesh = MESHES.get(path.stem)
    opens = [True] if path.stem == "open" else []

    def convert(text: str) -> str:
        result = import_module(text, mesh=mesh, open_arguments=opens, open_results=opens)
        return result.text.rstrip("\n")

    check(path, convert)
