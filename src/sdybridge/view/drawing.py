"""A tensor as a grid of shards with the devices that hold them: what is drawn, whatever it is drawn with."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.hlo import OpShardingType
from sdybridge.view.devices import group_dim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdybridge.view.dimensions import Dimension
    from sdybridge.view.explanation import Explanation

_MOST_COPIES = 64  # devices of one cell that are looked at


@dataclass(frozen=True, slots=True)
class Cell:
    """One shard in a drawing.

    Attributes:
        number: Which shard it is, counted row-major over all dimensions; shards have a colour each.
        copies: The devices that hold it, in groups of copies: several groups where devices are told apart by
            a manual computation, or hold partial values. The first ones where they are many.
        count: How many devices these are in all; None if that is not known.
        is_empty: Whether the shard has no elements.
    """

    number: int
    copies: tuple[tuple[int, ...], ...]
    count: int | None
    is_empty: bool


@dataclass(frozen=True, slots=True)
class Track:
    """A row or a column of a drawing.

    Attributes:
        index: The number of the shard along the dimension.
        place: Its place along the axes, such as `x=0 y=1`; empty where they are not known.
        start: Its first index; None if the shape is not known.
        limit: The index behind its last one.
        length: How long it is compared to the longest, from 0 to 1.
        is_whole: Whether it is the only one.
    """

    index: int
    place: str
    start: int | None
    limit: int | None
    length: float
    is_whole: bool

    @property
    def range(self) -> str:
        """The indices, or the number of the shard; nothing for a whole dimension of unknown size."""
        if self.start is None or self.limit is None:
            return "" if self.is_whole else str(self.index)
        return f"{self.start}:{self.limit}" if self.start < self.limit else "empty"


@dataclass(frozen=True, slots=True)
class Drawing:
    """The picture of one tensor's sharding, as text and as SVG; in notebooks it shows itself.

    Rows and columns are the dimensions that are cut, or the last ones; further dimensions that are cut make
    several slices.

    Attributes:
        explanation: The facts.
        row_dim: The dimension that goes down; None for a tensor of rank 0 or 1, or of unknown rank.
        column_dim: The dimension that goes across; None as well.
        slice_dims: The other dimensions that are cut.

    >>> from sdybridge import draw
    >>> drawing = draw("P('x', 'y')", mesh={"x": 2, "y": 2}, shape="f32[4,6]")
    >>> drawing.row_dim, drawing.column_dim, drawing.slice_dims
    (0, 1, ())
    """

    explanation: Explanation
    row_dim: int | None
    column_dim: int | None
    slice_dims: tuple[int, ...]

    def __str__(self) -> str:
        return self.to_text()

    def to_text(
        self, *, width: int = 100, height: int = 50, colour: bool = False, plain: bool = False
    ) -> str:
        """The drawing in characters.

        Args:
            width: The most columns to take.
            height: About how many lines to take; what does not fit is left out, and said to be.
            colour: Whether to colour the shards, with the codes of a terminal.
            plain: Whether to use ASCII only.

        Example:
            >>> from sdybridge import draw
            >>> print(draw("P('x')", mesh={"x": 2}, shape="f32[4]").to_text(plain=True))
            P('x') on x=2
            Tiled: 2 devices, 2 shards.
              across  dimension 0: 4 in 2 shards of 2 by "x"
            <BLANKLINE>
                 x=0   x=1
                 0:2   2:4
               +-----+-----+
               |  0  |  1  |
               +-----+-----+
        """
        from sdybridge.view.drawing_text import drawing_text

        return drawing_text(self, width=width, height=height, colour=colour, plain=plain)

    def to_svg(self) -> str:
        """The drawing as an SVG document, for light and dark backgrounds.

        >>> from sdybridge import draw
        >>> draw("P('x')", mesh={"x": 2}).to_svg()[:4]
        '<svg'
        """
        from sdybridge.view.drawing_svg import drawing_svg

        return drawing_svg(self)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_html_(self) -> str:
        return self.to_svg()

    @property
    def num_slices(self) -> int:
        """How many slices there are."""
        return math.prod(self._shards(dim) for dim in self.slice_dims)

    @property
    def num_rows(self) -> int:
        """How many rows each slice has."""
        return self._shards(self.row_dim)

    @property
    def num_columns(self) -> int:
        """How many columns each slice has."""
        return self._shards(self.column_dim)

    def rows(self, shown: Sequence[int]) -> list[Track]:
        """The rows with these numbers.

        >>> from sdybridge import draw
        >>> drawing = draw("P('x', 'y')", mesh={"x": 2, "y": 2}, shape="f32[4,6]")
        >>> for row in drawing.rows([0, 1]):
        ...     print(row)
        Track(index=0, place='x=0', start=0, limit=2, length=1.0, is_whole=False)
        Track(index=1, place='x=1', start=2, limit=4, length=1.0, is_whole=False)
        """
        return [self._track(self.row_dim, index) for index in shown]

    def columns(self, shown: Sequence[int]) -> list[Track]:
        """The columns with these numbers.

        >>> from sdybridge import draw
        >>> drawing = draw("P('x', 'y')", mesh={"x": 2, "y": 2}, shape="f32[4,6]")
        >>> [(column.start, column.limit) for column in drawing.columns([0, 1])]
        [(0, 3), (3, 6)]
        """
        return [self._track(self.column_dim, index) for index in shown]

    def slices(self) -> Iterator[tuple[tuple[int, Track], ...]]:
        """The dimensions that a slice fixes, and where; one by one, as there may be many.

        >>> from sdybridge import draw
        >>> drawing = draw("P('x', 'y')", mesh={"x": 2, "y": 2}, shape="f32[4,6]")
        >>> list(drawing.slices())
        [()]
        """
        ranges = [range(self._shards(dim)) for dim in self.slice_dims]
        for index in itertools.product(*ranges):
            yield tuple([
                (dim, self._track(dim, at)) for dim, at in zip(self.slice_dims, index, strict=True)
            ])  # fmt: skip

    def cell(self, fixed: Sequence[tuple[int, Track]], row: int, column: int) -> Cell:
        """The shard in a slice.

        >>> from sdybridge import draw
        >>> drawing = draw("P('x', 'y')", mesh={"x": 2, "y": 2}, shape="f32[4,6]")
        >>> drawing.cell((), 1, 0)
        Cell(number=2, copies=((2,),), count=1, is_empty=False)
        """
        dims = self.explanation.dimensions
        index = [0] * len(dims)
        for dim, track in fixed:
            index[dim] = track.index
        if self.row_dim is not None:
            index[self.row_dim] = row
        if self.column_dim is not None:
            index[self.column_dim] = column
        number = 0
        for at, dim_ in zip(index, dims, strict=True):
            number = number * dim_.shards + at
        is_empty = any(_is_empty(dim_, at) for at, dim_ in zip(index, dims, strict=True))
        return Cell(number, *self._holders(number), is_empty)

    def _shards(self, dim: int | None) -> int:
        return 1 if dim is None else self.explanation.dimensions[dim].shards

    def _track(self, dim: int | None, index: int) -> Track:
        if dim is None:
            return Track(index, "", None, None, 1, True)
        of = self.explanation.dimensions[dim]
        place = self._place(of, index)
        longest = of.shard_size
        if of.size is None or longest is None:
            return Track(index, place, None, None, 1, of.shards == 1)
        start, limit = (min((index + i) * longest, of.size) for i in (0, 1))
        length = (limit - start) / longest if longest else 1
        return Track(index, place, start, limit, length, of.shards == 1)

    def _place(self, dim: Dimension, index: int) -> str:
        """The place along the axes of a dimension: its number, taken apart."""
        if not dim.axes or dim.shards < 2:
            return ""
        sizes = [self._axis_size(axis) for axis in dim.axes]
        if math.prod(sizes) != dim.shards:
            return ""
        places = []
        for axis, size in zip(reversed(dim.axes), reversed(sizes), strict=True):
            index, at = divmod(index, size)
            places.append(f"{axis.replace(chr(34), '')}={at}")
        return " ".join(reversed(places))

    def _axis_size(self, axis: str) -> int:
        name, _, part = axis.rpartition('":(')
        if part and name:
            return int(part.partition(")")[2])
        mesh = self.explanation.mesh
        return 1 if mesh is None else mesh.axis_sizes.get(axis.strip('"'), 1)

    def _holders(self, number: int) -> tuple[tuple[tuple[int, ...], ...], int | None]:
        """The devices that hold a shard. In a grid they stand one behind the other, copies side by side."""
        hlo = self.explanation.sharded.hlo
        if hlo.type is OpShardingType.MAXIMAL:
            return ((hlo.unique_device or 0,),), 1
        devices = self.explanation.num_devices
        if hlo.type is not OpShardingType.OTHER:
            if devices is None:
                return (), None
            return (tuple(range(min(devices, _MOST_COPIES))),), devices
        tiles = hlo.tile_assignment
        inside = math.prod(tiles.dims[hlo.data_rank :])
        copies = group_dim(hlo, OpShardingType.REPLICATED)
        each = 1 if copies is None else tiles.dims[copies]
        shown = range(number * inside, number * inside + min(inside, _MOST_COPIES))
        found = [tiles._device_at(at) for at in shown]
        groups = tuple([tuple(found[i : i + each]) for i in range(0, len(found), each)])
        return groups, inside


def _is_empty(dim: Dimension, index: int) -> bool:
    length = dim.shard_size
    return dim.size is not None and length is not None and index * length >= dim.size and dim.size > 0


class Drawings(tuple[Drawing, ...]):
    """The pictures of several tensors, one below the other.

    >>> from sdybridge import draw
    >>> drawings = draw("{{devices=[2]<=[2]}, {replicated}}")
    >>> len(drawings)
    2
    """

    __slots__ = ()

    def __str__(self) -> str:
        return self.to_text()

    def to_text(
        self, *, width: int = 100, height: int = 50, colour: bool = False, plain: bool = False
    ) -> str:
        """The drawings in characters; see `Drawing.to_text`.

        >>> from sdybridge import draw
        >>> drawings = draw("{{devices=[2]<=[2]}, {replicated}}")
        >>> drawings.to_text(plain=True).splitlines()[0]
        '{devices=[2]<=[2]} on _axis_0=2 (inferred)'
        """
        return "\n\n".join(
            drawing.to_text(width=width, height=height, colour=colour, plain=plain) for drawing in self
        )

    def to_svg(self) -> str:
        """The drawings as one SVG document.

        >>> from sdybridge import draw
        >>> drawings = draw("{{devices=[2]<=[2]}, {replicated}}")
        >>> drawings.to_svg()[:4]
        '<svg'
        """
        from sdybridge.view.drawing_svg import stacked

        return stacked([drawing.to_svg() for drawing in self])

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_html_(self) -> str:
        return self.to_svg()


def drawing_of(explanation: Explanation) -> Drawing:
    """The drawing of an explained sharding."""
    dims = explanation.dimensions
    cut = [i for i, dim in enumerate(dims) if dim.shards > 1]
    whole = [i for i, dim in enumerate(dims) if dim.shards == 1]
    if len(dims) == 1:
        return Drawing(explanation, None, 0, ())
    shown = sorted([*whole[len(whole) - max(0, 2 - len(cut)) :], *cut[-2:]]) if len(cut) < 2 else cut[-2:]
    row, column = shown if len(shown) == 2 else (None, None)
    return Drawing(explanation, row, column, tuple(cut[:-2]))


def few(count: int, most: int) -> list[int | None]:
    """The numbers from 0 to `count` that are shown where only `most` fit; None stands for what is left out.

    >>> few(4, 4), few(9, 4)
    ([0, 1, 2, 3], [0, 1, None, 8])
    """
    if count <= most:
        return list(range(count))
    first = max(1, most - 2)
    return [*range(first), None, count - 1]
