"""How far a reader of a large program is, told now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")

REPORT_EVERY: Final = 1 << 20
"""Characters, or bytes of a proto, between two reports."""


def reported(found: Iterable[T], offset: Callable[[T], int], progress: Callable[[int], None]) -> Iterator[T]:
    """All that is found, with a report now and then of how far in the program it is.

    >>> far = []
    >>> [*reported([0, REPORT_EVERY, REPORT_EVERY + 1], lambda at: at, far.append)] and far
    [1048576]
    """
    report_at = REPORT_EVERY
    for one in found:
        at = offset(one)
        if at >= report_at:
            progress(at)
            report_at = at + REPORT_EVERY
        yield one
