"""A drawing as SVG: one document without scripts, fonts or links, for light and dark backgrounds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from sdybridge.view.drawing import few
from sdybridge.view.drawing_text import content, slice_of
from sdybridge.view.explanation_text import dimension_text, headline, legend, summary
from sdybridge.view.palette import svg_colour

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdybridge.view.drawing import Cell, Drawing, Track

_MOST_TRACKS = 24  # rows and columns of a slice
_MOST_SLICES = 12
_CHAR = 7.3  # pixels that a character takes, in the text of cells and labels
_SMALL_CHAR = 6.7
_MARGIN = 16
_LINE = 18
_GAP = 24  # between slices
_PAGE = 1100  # pixels that slices beside each other take at most
_LONGEST = 120  # characters of a title
_TIMES = "\N{MULTIPLICATION SIGN}"
_MOST_PLACED = 12  # columns that say their place along the axes
_GAP_SIZE = 26  # of a column or row that stands for others

_STYLE = """\
.sdy-drawing { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace }
.sdy-drawing text { font-size: 12px; fill: #1f2328 }
.sdy-drawing .sdy-title { font-weight: bold; font-size: 13px }
.sdy-drawing .sdy-quiet { fill: #59636e }
.sdy-drawing .sdy-label { font-size: 11px; fill: #59636e }
.sdy-drawing .sdy-small { font-size: 9px }
.sdy-drawing .sdy-page { fill: #ffffff }
.sdy-drawing .sdy-line { stroke: #59636e; fill: none }
@media (prefers-color-scheme: dark) {
.sdy-drawing text { fill: #f0f6fc }
.sdy-drawing .sdy-quiet, .sdy-drawing .sdy-label { fill: #9198a1 }
.sdy-drawing .sdy-on-colour { fill: #1f2328 }
.sdy-drawing .sdy-page { fill: #0d1117 }
.sdy-drawing .sdy-line { stroke: #9198a1 }
}"""

_PATTERNS = """\
<pattern id="sdy-manual" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
<line x1="0" y1="0" x2="0" y2="7" stroke="#1f2328" stroke-width="1.4" stroke-opacity="0.28"/></pattern>
<pattern id="sdy-unreduced" width="7" height="7" patternUnits="userSpaceOnUse">\
<circle cx="2" cy="2" r="1.2" fill="#1f2328" fill-opacity="0.3"/></pattern>"""


class _Size(NamedTuple):
    """The pixels of a slice: rows and columns (None for what is left out), and the labels around them."""

    level: int
    rows: list[tuple[int | None, float]]
    columns: list[tuple[int | None, float]]
    label: float
    heading: float
    has_places: bool

    @property
    def width(self) -> float:
        return self.label + sum(width for _, width in self.columns)

    @property
    def height(self) -> float:
        return self.heading + sum(height for _, height in self.rows)


def drawing_svg(drawing: Drawing) -> str:
    """See `Drawing.to_svg`."""
    titles = list(_titles(drawing))
    size = _size(drawing)
    caption = _LINE if drawing.slice_dims else 0
    slices = []
    for number, fixed in enumerate(drawing.slices()):
        if number == _MOST_SLICES:
            break
        slices.append((number, fixed))
    beside = max(1, int((_PAGE + _GAP) // (size.width + _GAP)))
    beside = min(beside, len(slices))
    top = _MARGIN + _LINE * len(titles) + 10
    body: list[str] = []
    for i, (number, fixed) in enumerate(slices):
        x = _MARGIN + i % beside * (size.width + _GAP)
        y = top + i // beside * (size.height + caption + _GAP)
        if caption:
            text = _cropped(f"slice {number}: {slice_of(drawing, fixed)}", int(size.width / _CHAR))
            body.append(_text(x, y + 12, text, "sdy-quiet"))
        body += _panel(drawing, fixed, size, x, y + caption)
    rows_of_slices = -(-len(slices) // beside)
    y = top + rows_of_slices * (size.height + caption + _GAP) - _GAP + 14
    if len(slices) < drawing.num_slices:
        y += _LINE
        more = drawing.num_slices - len(slices)
        body.append(_text(_MARGIN, y - 6, f"and {more} more slices of {drawing.num_slices}", "sdy-quiet"))
    notes = list(legend(drawing.explanation))
    for kind, note in zip(_kinds(drawing), notes, strict=False):
        y += _LINE
        body += _swatch(kind, _MARGIN, y - 10)
        body.append(_text(_MARGIN + 24, y, _cropped(note, _LONGEST), "sdy-quiet"))
    lines = [(line, i) for i, line in enumerate(titles)]
    head = [
        _text(
            _MARGIN, _MARGIN + 12 + i * _LINE, line, "sdy-title" if i == 0 else "sdy-quiet" if i == 1 else ""
        )
        for line, i in lines
    ]
    longest = max([len(line) * (7.9 if i == 0 else _CHAR) for line, i in lines] + [
        24 + len(_cropped(note, _LONGEST)) * _CHAR for note in notes
    ])  # fmt: skip
    width = max(longest, beside * (size.width + _GAP) - _GAP) + 2 * _MARGIN
    return _document(width, y + _MARGIN, titles[0], [*head, *body])


def stacked(documents: Sequence[str]) -> str:
    """Several documents as one, one below the other."""
    y = width = 0.0
    parts = []
    for document in documents:
        found = re.match(r'<svg [^>]*width="([\d.]+)" height="([\d.]+)"', document)
        if found:
            parts.append(document.replace("<svg ", f'<svg y="{_number(y)}" ', 1))
            width = max(width, float(found[1]))
            y += float(found[2])
    return _document(max(width, 1), max(y, 1), "a tuple of shardings", parts)


def _document(width: float, height: float, title: str, body: Sequence[str]) -> str:
    w, h = _number(width), _number(height)
    size = f'width="{w}" height="{h}" viewBox="0 0 {w} {h}"'
    return "\n".join([
        f'<svg class="sdy-drawing" xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{_PATTERNS}</defs>",
        f'<rect class="sdy-page" width="{w}" height="{h}" fill="#ffffff"/>',
        *body,
        "</svg>",
        "",
    ])  # fmt: skip


def _titles(drawing: Drawing) -> Iterator[str]:
    explanation = drawing.explanation
    yield _cropped(headline(explanation), _LONGEST)
    yield _cropped(summary(explanation), _LONGEST)
    for arrow, dim in (("↓", drawing.row_dim), ("→", drawing.column_dim)):
        if dim is not None:
            line = f"{arrow} dimension {dim}: {dimension_text(explanation.dimensions[dim])}"
            yield _cropped(line, _LONGEST)
    for dim in drawing.slice_dims:
        yield _cropped(f"slices dimension {dim}: {dimension_text(explanation.dimensions[dim])}", _LONGEST)


def _size(drawing: Drawing) -> _Size:
    rows = few(drawing.num_rows, _MOST_TRACKS)
    columns = few(drawing.num_columns, _MOST_TRACKS)
    row_tracks = {track.index: track for track in drawing.rows([row for row in rows if row is not None])}
    has_places = len(columns) <= _MOST_PLACED and any(track.place for track in drawing.columns([0]))
    level, text = _fitting(drawing, rows, columns)
    column_tracks = {track.index: track for track in drawing.columns([c for c in columns if c is not None])}
    headings = [
        max(len(track.place) * 5.5 if has_places else 0, len(track.range) * _SMALL_CHAR) + 10
        for track in column_tracks.values()
    ]
    text = max(text, *headings, 30)
    columns = few(drawing.num_columns, max(4, min(_MOST_TRACKS, int(_PAGE // text))))
    column_tracks |= {track.index: track for track in drawing.columns([c for c in columns if c is not None])}
    widest = max(text, 40, min(150, 330 / len(columns)))
    tallest = max(28, min(72, 210 / len(rows)))
    label = max(len(_label(track)) for track in row_tracks.values()) * _SMALL_CHAR
    sized = []
    for column in columns:
        track = None if column is None else column_tracks[column]
        sized.append((column, _GAP_SIZE if track is None else _shorter(widest, track, text)))
    return _Size(
        level,
        [(row, _GAP_SIZE if row is None else _shorter(tallest, row_tracks[row], 24)) for row in rows],
        sized,
        label + 10 if label else 0,
        32 if has_places else 18,
        has_places,
    )


def _fitting(
    drawing: Drawing, rows: Sequence[int | None], columns: Sequence[int | None]
) -> tuple[int, float]:
    """How much of the cells there is room for, and the pixels that the widest of them takes."""
    first = next(iter(drawing.slices()))
    level, widest = 0, 0.0
    for level in range(3):
        texts = [
            content(drawing.cell(first, row, column), level)
            for row in rows
            for column in columns
            if row is not None and column is not None
        ]
        widest = max(len(text) for text in texts) * _CHAR + 16
        if widest * len(columns) <= _PAGE:
            break
    return level, widest


def _shorter(full: float, track: Track, least: float) -> float:
    """The size of a row or column: as its length is to the longest one, but with room for its text."""
    return full if track.length >= 1 else max(min(full, least), full * track.length)


def _label(track: Track) -> str:
    return f"{track.place}  {track.range}" if track.place else track.range


def _panel(
    drawing: Drawing, fixed: Sequence[tuple[int, Track]], size: _Size, x: float, y: float
) -> Iterator[str]:
    """One slice: headings, labels, and a rectangle for each shard."""
    at = x + size.label
    for column, width in size.columns:
        if column is not None:
            track = drawing.columns([column])[0]
            if size.has_places:
                yield _text(at + width / 2, y + 10, track.place, "sdy-small", middle=True)
            yield _text(at + width / 2, y + size.heading - 5, track.range, "sdy-label", middle=True)
        at += width
    top = y + size.heading
    for row, height in size.rows:
        if row is not None:
            label = _label(drawing.rows([row])[0])
            yield _text(x + size.label - 6, top + height / 2 + 4, label, "sdy-label", end=True)
        at = x + size.label
        for column, width in size.columns:
            if row is None or column is None:
                yield _text(
                    at + width / 2, top + height / 2 + 4, "⋯" if row is not None else "⋮", "", middle=True
                )
            else:
                yield from _cell(
                    drawing, drawing.cell(fixed, row, column), size.level, (at, top, width, height)
                )
            at += width
        top += height


def _cell(drawing: Drawing, cell: Cell, level: int, box: tuple[float, float, float, float]) -> Iterator[str]:
    x, y, width, height = box
    place = f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}"'
    text = content(cell, level)
    yield f"<g><title>{escape(f'shard {cell.number}: ' + content(cell, 0))}</title>"
    if cell.is_empty:
        yield f'<rect class="sdy-line" {place} stroke="#59636e" fill="none" stroke-dasharray="3 3"/>'
        yield _text(x + width / 2, y + height / 2 + 4, text, "sdy-label", middle=True)
        yield "</g>"
        return
    colour = svg_colour(cell.number, drawing.num_columns, drawing.explanation.num_shards)
    yield f'<rect {place} fill="{colour}" stroke="#59636e"/>'
    for kind in ("manual", "unreduced"):
        if kind in _kinds(drawing):
            yield f'<rect {place} fill="url(#sdy-{kind})"/>'
    yield _text(x + width / 2, y + height / 2 + 4, text, "sdy-on-colour", middle=True)
    copies = drawing.explanation.copies
    if copies > 1 and cell.count:
        yield _text(x + width - 3, y + 9, f"{_TIMES}{copies}", "sdy-small sdy-on-colour", end=True)
    yield "</g>"


def _kinds(drawing: Drawing) -> list[str]:
    """What the legend is about, in its order."""
    kinds = [group.kind for group in drawing.explanation.groups]
    return [*kinds, "empty"] if drawing.explanation.num_empty_devices else kinds


def _swatch(kind: str, x: float, y: float) -> Iterator[str]:
    place = f'x="{_number(x)}" y="{_number(y)}" width="16" height="12"'
    if kind == "empty":
        yield f'<rect class="sdy-line" {place} stroke="#59636e" fill="none" stroke-dasharray="3 3"/>'
        return
    yield f'<rect {place} fill="{svg_colour(0, 1, 1)}" stroke="#59636e"/>'
    if kind == "replicated":
        yield _text(x + 8, y + 9, f"{_TIMES}n", "sdy-small sdy-on-colour", middle=True)
    else:
        yield f'<rect {place} fill="url(#sdy-{kind})"/>'


def _text(x: float, y: float, text: str, kind: str, *, middle: bool = False, end: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ' text-anchor="end"' if end else ""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{_number(x)}" y="{_number(y)}"{anchor}{named}>{escape(text)}</text>'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _cropped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
