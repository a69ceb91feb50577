"""Compares two MLIR modules the way jaxlib reads them: SSA names, order of keys and spacing do not count."""

from __future__ import annotations

import difflib
import itertools
from typing import TYPE_CHECKING

import pytest
from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 400


def reprint(text: str) -> str:
    """The module as jaxlib prints it; verified on the way."""
    with make_ir_context():
        printed: str = ir.Module.parse(text).operation.get_asm()
    return printed


def expect_same_module(ours: str, theirs: str, *, what: str) -> None:
    """Fails with the first lines that differ."""
    try:
        printed = reprint(ours)
    except ir.MLIRError as error:
        pytest.fail(f"{what}: jaxlib rejects our module: {error}\n{rejected_lines(ours, str(error))}")
    expected = reprint(theirs)
    if printed != expected:
        diff = difflib.unified_diff(
            expected.splitlines(), printed.splitlines(), "XLA's", "ours", lineterm="", n=0
        )
        pytest.fail(f"{what}: our module differs from XLA's:\n" + "\n".join(shorten(diff)))


def shorten(diff: Iterable[str], lines: int = 12) -> list[str]:
    """The first lines, each cut around the place where it differs from its counterpart."""
    shown = list(diff)[:lines]
    for k, (old, new) in enumerate(itertools.pairwise(shown)):
        if old.startswith("-") and new.startswith("+") and not old.startswith("---"):
            at = next((i for i in range(1, min(len(old), len(new))) if old[i] != new[i]), 1)
            start = max(1, at - _SHOWN // 2)
            shown[k], shown[k + 1] = (f"{x[0]} ...{x[start : start + _SHOWN]}" for x in (old, new))
    return [line[: _SHOWN + 10] for line in shown]


def rejected_lines(text: str, error: str) -> str:
    """The line of `text` that an error message of MLIR names."""
    parts = error.partition('"-":')[2].split(":")
    number = int(parts[0]) if parts[0].isdigit() else 0
    return text.splitlines()[number - 1][:_SHOWN] if number else ""
