"""Aligned tables of plain text."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import TextIO

_GAP = "  "
_LEAST = 12
_ENOUGH = 40  # characters of the column that gives way from which on nothing is left out


def aligned(
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    crop: int | None = None,
    drop: Sequence[int] = (),
    width: int | None = None,
    indent: str = "  ",
) -> list[str]:
    """The rows as lines with aligned columns; what a terminal would obey, not show, is replaced.

    Args:
        rows: The cells; every row has as many.
        right: The columns that are aligned on the right.
        crop: The column that gives way where lines would be wider than `width`.
        drop: The columns that are left out for it, one after the other, before it gets too narrow.
        width: How wide a line may be; None for any.
        indent: What every line starts with.

    >>> aligned([("count", "what"), ("7", "x")], right=[0])
    ['  count  what', '      7  x']
    """
    rows = [[_visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    shown = [*range(len(widths))]
    if crop is not None and width is not None:
        for dropped in (*drop, None):
            rest = len(indent) + sum(len(_GAP) + widths[i] for i in shown if i != crop)
            if dropped is None or width - rest >= min(widths[crop], _ENOUGH):
                break
            shown.remove(dropped)
        widths[crop] = min(widths[crop], max(_LEAST, width - rest))
    lines = []
    for row in rows:
        cells = [
            _cropped(row[i], widths[i]).rjust(widths[i])
            if i in right
            else _cropped(row[i], widths[i]).ljust(widths[i])
            for i in shown
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


def terminal_width(stream: TextIO | None = None) -> int | None:
    """The width of the terminal that a stream is; None for a file or pipe, which takes any width."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return None
    try:
        return int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        import shutil  # slow to load, and hardly ever needed

        return shutil.get_terminal_size().columns
