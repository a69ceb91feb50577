"""What an unknown name may have meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.sdy.printer import show

if TYPE_CHECKING:
    from collections.abc import Sequence

_LISTED = 12
_COMPARED = 200  # names, of at most that many characters: the comparison is quadratic


def closest(name: str, known: Sequence[str]) -> str | None:
    """The known name that `name` most likely stands for, if any is close.

    >>> closest("modle", ["data", "model"])
    'model'
    """
    from difflib import get_close_matches  # slow to import, and needed for errors only

    near = [k for k in known[:_COMPARED] if len(k) <= _COMPARED]
    if len(name) > _COMPARED:
        return None
    same_but_case = [k for k in near if k.lower() == name.lower()]
    return next(iter(same_but_case or get_close_matches(name, near, n=1)), None)


def listing(names: Sequence[str]) -> str:
    """Names for a note, the first dozen.

    >>> listing(["x", "y"])
    '"x", "y"'
    """
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(show, names[:_LISTED])) + more
