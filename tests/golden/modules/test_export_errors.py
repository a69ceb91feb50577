"""Programs that export rejects, and the whole error about each."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.blocks import check

from sdybridge.errors import ConversionError, ParseError, SdyBridgeError, VerificationError
from sdybridge.modules import export_module

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'


def test_export_errors() -> None:
    def error(text: str) -> str:
        with pytest.raises(SdyBridgeError) as raised:
            export_module(text if "sdy.mesh" in text else MESH + text, name="model.mlir")
        assert type(raised.value) in {ConversionError, ParseError, VerificationError}
        kind = type(raised.value).__name__
        if isinstance(raised.value, VerificationError):
            kind += f" {raised.value.rule}"
        return f"{kind}\n{raised.value}"

    check(Path(__file__).with_name("export_errors.txt"), error)
