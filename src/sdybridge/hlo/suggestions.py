"""What an unknown word may have meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMPARED = 100  # characters of a word at most: the comparison is quadratic


def closest(word: str, known: Sequence[str]) -> str | None:
    """The known word that `word` most likely stands for, if any is close.

    >>> closest("Replicated", ["replicated", "manual"])
    'replicated'
    """
    if len(word) > _COMPARED:
        return None
    from difflib import get_close_matches  # slow to import, and needed for errors only

    lower = word.lower()
    return lower if lower in known else next(iter(get_close_matches(lower, known, n=1, cutoff=0.7)), None)
