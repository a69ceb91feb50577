"""Rejected attribute texts, and the whole error about each."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.blocks import check

from sdybridge.errors import SdyBridgeError
from sdybridge.sdy import parse_attribute


def error(text: str) -> str:
    with pytest.raises(SdyBridgeError) as raised:
        parse_attribute(text)
    return str(raised.value)


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("sdy_*.txt")), ids=lambda path: path.stem)
def test_error(path: Path) -> None:
    check(path, error)
