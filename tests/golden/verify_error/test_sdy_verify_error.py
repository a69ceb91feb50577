"""Shardings that do not fit their mesh: the rule, the path to the part, and the error in the text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.blocks import check

from sdybridge.errors import VerificationError
from sdybridge.sdy import ManualAxesAttr, MeshAttr, TensorShardingAttr, locate, verify_sharding
from sdybridge.source import Source


def error(given: str) -> str:
    *head, text = given.split("\n")
    fields = dict(line.split(": ", 1) for line in head)
    mesh = MeshAttr.from_string(fields["mesh"])
    rank = int(fields["rank"]) if "rank" in fields else None
    manual_axes = ManualAxesAttr.from_string(f"{{{fields.get('manual', '')}}}").value
    with pytest.raises(VerificationError) as raised:
        verify_sharding(TensorShardingAttr.from_string(text), mesh, rank=rank, manual_axes=manual_axes)
    located = locate(raised.value, Source(text))
    return f"{raised.value.rule} at {'.'.join(map(str, raised.value.path))}\n{located}"


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("sdy_*.txt")), ids=lambda path: path.stem)
def test_error(path: Path) -> None:
    check(path, error)
