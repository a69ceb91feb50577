"""How one dimension of a tensor is cut: by which axes, into how many shards of what length."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a sharded tensor.

    Attributes:
        shards: How many shards it is cut into.
        axes: The axes that cut it, major to minor, such as `"x"` or `"x":(1)2`; None if they are not known.
        is_open: Whether propagation may cut it further; None where the notation does not say.
        priority: When propagation takes it up; None for the default.
        size: How many elements it has; None if that is not known.

    >>> Dimension(8, ('"x"',), True, None, 17).runs
    ((3, 5), (2, 1), (0, 2))
    """

    shards: int
    axes: tuple[str, ...] | None = None
    is_open: bool | None = None
    priority: int | None = None
    size: int | None = None

    @property
    def shard_size(self) -> int | None:
        """The elements along it in the buffer on each device: the longest shard."""
        return None if self.size is None else -(-self.size // self.shards)

    @property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """The lengths of the shards, as (length, how many shards in a row have it); empty if not known."""
        length = self.shard_size
        if self.size is None or length is None:
            return ()
        if length == 0:
            return ((0, self.shards),)
        full, rest = divmod(self.size, length)
        runs = [(length, full)]
        if rest:
            runs.append((rest, 1))
        empty = self.shards - full - (1 if rest else 0)
        if empty:
            runs.append((0, empty))
        return tuple(runs)

    @property
    def padding(self) -> int | None:
        """The elements that the buffers of all shards have more than the dimension."""
        length = self.shard_size
        return None if length is None or self.size is None else length * self.shards - self.size

    @property
    def empty_shards(self) -> int:
        """How many shards hold no element."""
        return sum(count for length, count in self.runs if length == 0)
