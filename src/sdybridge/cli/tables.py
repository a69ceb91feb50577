"""Aligned tables of plain text."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_GAP = "  "
_LEAST = 12


def aligned(
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    crop: int | None = None,
    width: int | None = None,
    indent: str = "  ",
) -> list[str]:
    """The rows as lines with aligned columns; what a terminal would obey, not show, is replaced.

    Args:
        rows: The cells; every row has as many.
        right: The columns that are aligned on the right.
        crop: The column that gives way where lines would be wider than `width`.
        width: How wide a line may be; None for any.
        indent: What every line starts with.

    >>> aligned([("count", "what"), ("7", "x")], right=[0])
    ['  count  what', '      7  x']
    """
    rows = [[_visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if crop is not None and width is not None:
        rest = len(indent) + sum(widths) - widths[crop] + len(_GAP) * (len(widths) - 1)
        widths[crop] = min(widths[crop], max(_LEAST, width - rest))
    lines = []
    for row in rows:
        cells = [
            _cropped(cell, size).rjust(size) if i in right else _cropped(cell, size).ljust(size)
            for i, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + _GAP.join(cells)).rstrip())
    return lines


def _visible(cell: str) -> str:
    """One printable character per character: names in a program may be control codes."""
    return (
        cell
        if cell.isprintable()
        else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in cell)
    )


def _cropped(cell: str, width: int) -> str:
    return cell if len(cell) <= width else cell[: width - 3] + "..."


def terminal_width() -> int | None:
    """The width of the terminal that standard output is; None for a file or pipe, which takes any width."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
