"""Whole modules that break a rule: every error with its rule, and the same verdict as jaxlib's."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from tests.golden.blocks import check, read_blocks

from sdybridge.errors import VerificationError
from sdybridge.modules.verify.module import verify_module
from sdybridge.modules.verify.rules import MODULE_RULES
from sdybridge.sdy import RULES

PATHS = sorted(Path(__file__).parent.glob("module_*.txt"))
BLOCKS = [
    pytest.param(block, id=f"{path.stem}-{block.title}") for path in PATHS for block in read_blocks(path)
]


def errors(text: str) -> str:
    found = [
        f"{error.rule if isinstance(error, VerificationError) else 'syntax'}\n{error}"
        for error in verify_module(text)
    ]
    return "\n\n".join(found) or "valid"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_errors(path: Path) -> None:
    check(path, errors)


@functools.cache
def context() -> Any:
    from jax._src.interpreters.mlir import make_ir_context

    return make_ir_context()


@pytest.mark.parametrize("block", BLOCKS)
def test_jaxlib_agrees(block: Any) -> None:
    from jaxlib.mlir import ir

    if block.expected == "valid":
        ir.Module.parse(block.given, context=context())
    else:
        with pytest.raises(ir.MLIRError):
            ir.Module.parse(block.given, context=context())


def test_every_module_rule_has_a_case() -> None:
    seen = {line for block in BLOCKS for line in block.values[0].expected.split("\n")}  # type: ignore[union-attr]
    assert set(MODULE_RULES) <= seen
    assert not set(MODULE_RULES) & set(RULES)
