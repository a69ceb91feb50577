"""Figures side by side, with their ratio and their goal, as aligned text and as JSON."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B"))
_RATES = ((1e6, "MB/s"),)
_MULTIPLES = ((1.0, "x"),)
_HEADERS = ("measure", "sdybridge", "ratio", "goal", "holds")


class Unit(enum.Enum):
    """What a figure counts; the value is its name in JSON."""

    SECONDS = "s"
    BYTES = "B"
    BYTES_PER_SECOND = "B/s"
    MULTIPLE = "x"
    COUNT = "count"

    def show(self, figure: float) -> str:
        """Three significant digits, in the prefix that suits.

        >>> Unit.SECONDS.show(0.0314159), Unit.BYTES.show(11_036_193), Unit.MULTIPLE.show(3.5)
        ('31.4 ms', '11.0 MB', '3.50x')
        """
        if self is Unit.COUNT:
            return f"{figure:.0f}"
        prefixes = {
            Unit.SECONDS: _SECONDS,
            Unit.BYTES: _BYTES,
            Unit.BYTES_PER_SECOND: _RATES,
            Unit.MULTIPLE: _MULTIPLES,
        }[self]
        scale, name = next((p for p in prefixes if abs(figure) >= p[0]), prefixes[-1])
        return f"{_digits(figure / scale)}{'' if self is Unit.MULTIPLE else ' '}{name}"


@dataclass(frozen=True)
class AtMost:
    """Our figure must not pass a limit."""

    limit: float

    def holds(self, row: Row) -> bool:
        """Whether the row meets the goal."""
        return row.ours <= self.limit

    def show(self, unit: Unit) -> str:
        """The goal as the table has it."""
        return f"<= {unit.show(self.limit)}"


@dataclass(frozen=True)
class AtLeast:
    """Our figure must reach a limit."""

    limit: float

    def holds(self, row: Row) -> bool:
        """Whether the row meets the goal."""
        return row.ours >= self.limit

    def show(self, unit: Unit) -> str:
        """The goal as the table has it."""
        return f">= {unit.show(self.limit)}"


@dataclass(frozen=True)
class Ratio:
    """We must be so many times better than the other."""

    limit: float

    def holds(self, row: Row) -> bool:
        """Whether the row meets the goal."""
        return row.ratio is not None and row.ratio >= self.limit

    def show(self, unit: Unit) -> str:  # noqa: ARG002  (the ratio has no unit)
        """The goal as the table has it."""
        return f">= {self.limit:g}x"


@dataclass(frozen=True)
class Row:
    """One measure.

    Attributes:
        what: The measure's name.
        ours: Our figure, in `unit`.
        other: The other's figure, or None where it has none.
        unit: The unit of both.
        goal: What our figure or the ratio should be, if there is a goal.
    """

    what: str
    ours: float
    other: float | None = None
    unit: Unit = Unit.SECONDS
    goal: AtLeast | AtMost | Ratio | None = None

    @property
    def ratio(self) -> float | None:
        """How many times better we are than the other: more than 1 is in our favour.

        >>> Row("", ours=2.0, other=50.0).ratio
        25.0
        """
        if self.other is None:
            return None
        better, worse = (
            (self.other, self.ours) if self.unit is Unit.BYTES_PER_SECOND else (self.ours, self.other)
        )
        return worse / better if better > 0 else None

    @property
    def holds(self) -> bool | None:
        """Whether the goal is met now; None without a goal."""
        return None if self.goal is None else self.goal.holds(self)

    def cells(self) -> tuple[str, ...]:
        """The row as text; the second to last columns are figures."""
        return (
            self.what,
            self.unit.show(self.ours),
            "-" if self.other is None else self.unit.show(self.other),
            "-" if self.ratio is None else f"{_digits(self.ratio)}x",
            "" if self.goal is None else self.goal.show(self.unit),
            {True: "yes", False: "NO", None: ""}[self.holds],
        )

    def as_json(self) -> dict[str, Any]:
        """The row with plain numbers."""
        return {
            "what": self.what,
            "unit": self.unit.value,
            "ours": self.ours,
            "other": self.other,
            "ratio": self.ratio,
            "goal": None if self.goal is None else self.goal.show(self.unit),
            "holds": self.holds,
        }


@dataclass(frozen=True)
class Table:
    """Measures of one kind.

    Attributes:
        title: What was measured, on which input.
        other: Whose figures stand beside ours.
        rows: The measures.
        note: How to read them.
    """

    title: str
    other: str
    rows: list[Row]
    note: str = ""

    def __str__(self) -> str:
        header = (_HEADERS[0], _HEADERS[1], self.other, *_HEADERS[2:])
        lines = [header, *(row.cells() for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            "  ".join(
                cell.ljust(width) if k == 0 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join(
            [self.title, *(f"  {line}" for line in shown), *([f"  {self.note}"] if self.note else [])]
        )

    def as_json(self) -> dict[str, Any]:
        """The table with plain numbers."""
        return {
            "title": self.title,
            "other": self.other,
            "note": self.note,
            "rows": [row.as_json() for row in self.rows],
        }


def _digits(figure: float) -> str:
    """Three significant digits, or all digits before the point."""
    decimals = 2 if abs(figure) < 10 else 1 if abs(figure) < 100 else 0
    return f"{figure:.{decimals}f}"
