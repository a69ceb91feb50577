"""Programs that import rejects, and the whole error about each."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.blocks import check

from sdybridge.errors import ConversionError, ParseError, ProtoError, SdyBridgeError, VerificationError
from sdybridge.modules import import_module
from sdybridge.sdy import MeshAttr

OPEN = [True, True]
KINDS = {ConversionError, ParseError, ProtoError, VerificationError}
MESH = {"own": MeshAttr.from_sizes({"x": 2, "y": 4})}


def test_import_errors() -> None:
    def error(text: str) -> str:
        with pytest.raises(SdyBridgeError) as raised:
            import_module(text, name="model.mlir", mesh=MESH if "own" in text else None, open_arguments=OPEN)
        assert type(raised.value) in KINDS
        kind = type(raised.value).__name__
        if isinstance(raised.value, VerificationError):
            kind += f" {raised.value.rule}"
        return f"{kind}\n{raised.value}"

    check(Path(__file__).with_name("import_errors.txt"), error)
