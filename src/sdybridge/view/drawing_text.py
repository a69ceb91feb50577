"""A drawing in characters, for any width, with and without colours."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.view.drawing import few
from sdybridge.view.explanation_text import dimension_text, headline, legend, summary
from sdybridge.view.palette import terminal_colour

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sdybridge.view.drawing import Cell, Drawing, Track

    Shown = list[int | None]

_ASCII = str.maketrans("┌┬┐├┼┤└┴┘─│…⋮", "+++++++++-|~:")
_MOST_SEPARATED = 8  # rows that have a line between them
_LEVELS = 3


class _Layout(NamedTuple):
    """What is shown, and how wide.

    Attributes:
        level: How much of a cell is said: 0 all, 1 less, 2 the least.
        rows: The rows that are shown.
        columns: The columns that are shown.
        width: Of each column.
        label: Of the labels left of the rows.
        is_short: Whether these are the indices alone, without the places along axes.
    """

    level: int
    rows: Shown
    columns: Shown
    width: int
    label: int
    is_short: bool


def drawing_text(drawing: Drawing, *, width: int, height: int, colour: bool, plain: bool) -> str:
    """See `Drawing.to_text`."""
    width = max(width, 20)
    lines = [*_wrapped([headline(drawing.explanation), *_titles(drawing)], width), ""]
    slices = drawing.num_slices
    layout = _layout(drawing, width, max(4, height - len(lines)))
    each = len(layout.rows) * (2 if _is_separated(layout) else 1) + 4
    most = max(1, (height - len(lines)) // each)
    for number, fixed in enumerate(drawing.slices()):
        if number == most and slices > most:
            lines.append(f"... and {slices - most} more slices of {slices}")
            break
        if fixed:
            lines.append(_cropped(f"slice {number} of {slices}: {slice_of(drawing, fixed)}", width))
        lines += _panel(drawing, fixed, layout, colour=colour)
        if fixed:
            lines.append("")
    if lines[-1]:
        lines.append("")
    lines += _wrapped(legend(drawing.explanation), width)
    text = "\n".join(lines).rstrip()
    return text.translate(_ASCII) if plain else text


def _wrapped(texts: Iterable[str], width: int) -> list[str]:
    """Texts on as many lines as they take, those that go on with an indent."""
    return [
        line
        for text in texts
        for line in textwrap.wrap(text, width, subsequent_indent="    ", break_on_hyphens=False)
    ]


def _titles(drawing: Drawing) -> Iterator[str]:
    explanation = drawing.explanation
    yield summary(explanation)
    for word, dim in (("down", drawing.row_dim), ("across", drawing.column_dim)):
        if dim is not None:
            yield f"  {word:<7} dimension {dim}: {dimension_text(explanation.dimensions[dim])}"
    for dim in drawing.slice_dims:
        yield f"  slices  dimension {dim}: {dimension_text(explanation.dimensions[dim])}"


def slice_of(drawing: Drawing, fixed: Sequence[tuple[int, Track]]) -> str:
    """Which slice it is: `[0:8, :, :]`, or with the numbers of shards where the shape is not known."""
    where = dict(fixed)
    parts = [where[dim].range if dim in where else ":" for dim in range(len(drawing.explanation.dimensions))]
    return f"[{', '.join(parts)}]"


def _layout(drawing: Drawing, width: int, height: int) -> _Layout:
    rows = few(drawing.num_rows, max(3, height if drawing.num_rows > _MOST_SEPARATED else height // 2))
    tracks = drawing.rows([row for row in rows if row is not None])
    is_short = max(len(_row_label(track, is_short=False)) for track in tracks) > width // 3
    label = min(max(len(_row_label(track, is_short=is_short)) for track in tracks), width // 3)
    for level in range(_LEVELS):
        columns = few(drawing.num_columns, max(3, width // 3))
        cell = _width_at(drawing, level, rows, columns)
        fits = (width - label - 4) // (cell + 1)
        if fits >= drawing.num_columns or level == _LEVELS - 1:
            break
    least = min(3, drawing.num_columns)
    if fits < least:
        cell = max(1, (width - label - 4) // least - 1)
    columns = few(drawing.num_columns, max(least, fits))
    return _Layout(level, rows, columns, cell, label, is_short)


def _width_at(drawing: Drawing, level: int, rows: Shown, columns: Shown) -> int:
    """How wide a column has to be for the cells that are shown, and its heading."""
    widest = 1
    for fixed in _first_slices(drawing):
        for row in rows:
            for column in columns:
                if row is not None and column is not None:
                    widest = max(widest, len(content(drawing.cell(fixed, row, column), level)))
    for track in drawing.columns([column for column in columns if column is not None]):
        widest = max([widest, *[len(line) for line in _heading(track, level)]])
    return widest + 2


def _first_slices(drawing: Drawing) -> Iterator[Sequence[tuple[int, Track]]]:
    for number, fixed in enumerate(drawing.slices()):
        if number == 4:
            return
        yield fixed


def _heading(track: Track, level: int) -> list[str]:
    if level == 0:
        return [line for line in (track.place, track.range) if line]
    return [track.range if level == 1 else str(track.index)]


def _row_label(track: Track, *, is_short: bool) -> str:
    return f"{track.place}  {track.range}" if track.place and not is_short else track.range


def content(cell: Cell, level: int) -> str:
    """What stands in a cell: its devices, copies with commas between them."""
    if cell.count is None:
        return "every device" if level == 0 else "all"
    most = (12, 3, 1)[level]
    shown = sum(len(group) for group in cell.copies)
    texts = []
    left = most
    for group in cell.copies:
        if left <= 0:
            break
        texts.append(",".join(map(str, group[:left])))
        left -= len(group)
    text = " | ".join(texts)
    if shown > most or cell.count > shown:
        text += f" … ({cell.count})" if level < _LEVELS - 1 else "…"
    return f"({text})" if cell.is_empty else text


def _is_separated(layout: _Layout) -> bool:
    return len(layout.rows) <= _MOST_SEPARATED


def _panel(
    drawing: Drawing, fixed: Sequence[tuple[int, Track]], layout: _Layout, *, colour: bool
) -> Iterator[str]:
    """One slice: headings, then the rows with lines around them."""
    indent = " " * (layout.label + 3)
    shown = [column for column in layout.columns if column is not None]
    tracks = dict(zip(shown, drawing.columns(shown), strict=True))
    headings = [_heading(tracks[c], layout.level) if c is not None else ["…"] for c in layout.columns]
    for line in range(max(map(len, headings))):
        texts = [heading[line] if line < len(heading) else "" for heading in headings]
        if not any(texts):
            continue
        yield (indent + " " + " ".join(_centred(text, layout.width) for text in texts)).rstrip()
    bar = "─" * layout.width
    count = len(layout.columns)
    yield f"{indent}┌{'┬'.join([bar] * count)}┐"
    for number, row in enumerate(layout.rows):
        if row is None:
            yield f"{'⋮':>{layout.label + 2}} │{'│'.join([_centred('⋮', layout.width)] * count)}│"
            continue
        if number and _is_separated(layout):
            yield f"{indent}├{'┼'.join([bar] * count)}┤"
        label = _cropped(_row_label(drawing.rows([row])[0], is_short=layout.is_short), layout.label)
        cells = [_cell(drawing, fixed, row, column, layout, colour=colour) for column in layout.columns]
        yield f"  {label:>{layout.label}} │{'│'.join(cells)}│"
    yield f"{indent}└{'┴'.join([bar] * count)}┘"


def _cell(
    drawing: Drawing,
    fixed: Sequence[tuple[int, Track]],
    row: int,
    column: int | None,
    layout: _Layout,
    *,
    colour: bool,
) -> str:
    if column is None:
        return _centred("…", layout.width)
    cell = drawing.cell(fixed, row, column)
    text = _centred(content(cell, layout.level), layout.width)
    if not colour or cell.is_empty:
        return text
    code = terminal_colour(cell.number, drawing.num_columns, drawing.explanation.num_shards)
    return f"\x1b[48;5;{code}m\x1b[38;5;16m{text}\x1b[0m"


def _centred(text: str, width: int) -> str:
    return f"{_cropped(text, width):^{width}}"


def _cropped(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"
