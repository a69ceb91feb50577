"""What an export has done up to some point."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections import Counter

    from sdybridge.modules.converted import ConvertedSharding


class Tally(NamedTuple):
    """What was done up to some point, or since then.

    Attributes:
        counts: How often each sharding was converted.
        operations: How many operations were rewritten.
        added: How many shardings were added.
        names: How many values got new names.
        symbols: How many functions were made.
    """

    counts: Counter[ConvertedSharding]
    operations: Counter[str]
    added: int
    names: int
    symbols: int

    def since(self, before: Tally) -> Tally:
        """What was done after what `before` tells, but for new names and functions."""
        return Tally(
            self.counts - before.counts,
            self.operations - before.operations,
            self.added - before.added,
            0,
            0,
        )
