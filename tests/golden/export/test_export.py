"""Programs, and what export makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.blocks import check

from sdybridge.modules import CarrierForm, ConstraintForm, export_module
from sdybridge.target import Target

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'
FILES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_export(path: Path) -> None:
    constraints = ConstraintForm.CUSTOM_CALL if path.stem == "portable" else ConstraintForm.COPY
    target = Target.NAMED if path.stem == "named" else Target.CURRENT

    def export(text: str) -> str:
        declares = "sdy.mesh @mesh" in text or "sdy.mesh @m " in text or '"sdy.mesh"' in text
        if path.stem == "carriers":
            return export_module(text, carrier=CarrierForm.SDY).text.rstrip("\n")
        text = text if declares else MESH + text
        return export_module(text, constraints=constraints, target=target).text.rstrip("\n")

    check(path, export)
