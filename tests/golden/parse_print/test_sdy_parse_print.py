"""Accepted attribute texts, and what they print as."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.blocks import check

from sdybridge.sdy import parse_attribute

HERE = Path(__file__).parent
CANONICAL = [
    line
    for path in sorted(HERE.glob("sdy_*_canonical.txt"))
    for line in path.read_text(encoding="utf-8").splitlines()
    if not line.startswith("# ")
]


@pytest.mark.parametrize("text", CANONICAL)
def test_canonical_text_prints_as_written(text: str) -> None:
    assert str(parse_attribute(text)) == text


@pytest.mark.parametrize("path", sorted(HERE.glob("sdy_*_normalised.txt")), ids=lambda path: path.stem)
def test_other_text_is_normalised(path: Path) -> None:
    check(path, lambda text: str(parse_attribute(text)))
