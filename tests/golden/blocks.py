"""Golden files of blocks: `=== title`, the input, a line `---`, the exact output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UPDATE_VARIABLE = "SDYBRIDGE_UPDATE_GOLDEN"


class Block(NamedTuple):
    """One case of a golden file."""

    title: str
    given: str
    expected: str


def read_blocks(path: Path) -> list[Block]:
    """The cases of a file; lines before the first are comments."""
    blocks = []
    for block in f"\n{path.read_text(encoding='utf-8')}".split("\n=== ")[1:]:
        head, _, expected = block.partition("\n---\n")
        title, _, given = head.partition("\n")
        blocks.append(Block(title, given, expected.rstrip("\n")))
    return blocks


def check(path: Path, result: Callable[[str], str]) -> None:
    """Compares every case with its result; with SDYBRIDGE_UPDATE_GOLDEN=1 writes the results instead."""
    blocks = read_blocks(path)
    assert blocks, f"{path} has no cases"
    results = [result(block.given) for block in blocks]
    if os.environ.get(UPDATE_VARIABLE) == "1":
        write(path, [Block(b.title, b.given, r) for b, r in zip(blocks, results, strict=True)])
        return
    for block, actual in zip(blocks, results, strict=True):
        assert actual == block.expected, f"{path.name}: {block.title}"


def write(path: Path, blocks: list[Block]) -> None:
    """Writes a file, keeping the comment on its top."""
    top = path.read_text(encoding="utf-8").partition("=== ")[0] if path.exists() else ""
    cases = "\n".join(f"=== {b.title}\n{b.given}\n---\n{b.expected}\n" for b in blocks)
    path.write_text(top + cases, encoding="utf-8")
