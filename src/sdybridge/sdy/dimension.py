"""How one tensor dimension is sharded."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, final

from sdybridge.errors import VerificationError
from sdybridge.sdy.axis_ref import AxisRefAttr
from sdybridge.sdy.fields import elements, exact_int, int64
from sdybridge.sdy.uniquing import Attribute, UniqueTable, set_field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdybridge.sdy.mesh import MeshAttr


@final
class DimensionShardingAttr(Attribute):
    """The sharding of one tensor dimension.

    Args:
        axes: The refs that the dimension is split along, major to minor; the order matters.
        is_closed: Whether propagation may not add axes. An open dimension prints with a `?`.
        priority: When propagation takes the dimension's axes up, 0 first. None counts as 0 and prints
            nothing, so it is another value than 0.

    Raises:
        VerificationError: `negative-priority`.

    >>> axes = [AxisRefAttr("x"), AxisRefAttr.sub("y", 1, 2)]
    >>> print(DimensionShardingAttr(axes, is_closed=False, priority=1))
    #sdy<dimension_sharding{"x", "y":(1)2, ?}p1>

    Source: shardy/dialect/sdy/ir/attrs.td, `DimensionShardingAttr`.
    """

    __slots__ = ("axes", "is_closed", "priority")
    __match_args__ = ("axes", "is_closed", "priority")
    mnemonic = "dimension_sharding"

    axes: tuple[AxisRefAttr, ...]
    is_closed: bool
    priority: int | None

    def __new__(
        cls,
        axes: Iterable[AxisRefAttr] = (),
        is_closed: bool = True,
        priority: int | None = None,
    ) -> DimensionShardingAttr:
        """Gives the one object with these fields."""
        if type(axes) is not tuple:
            axes = tuple(axes)
        if is_closed is not True and is_closed is not False:
            raise TypeError(f"is_closed must be a bool, not {type(is_closed).__name__}")
        if priority is not None and type(priority) is not int:
            priority = exact_int(priority, "priority")
        found = _DIMENSIONS.get((axes, is_closed, priority))
        return _new_dimension(axes, is_closed, priority) if found is None else found

    def __repr__(self) -> str:
        arguments = [repr(list(self.axes))] if self.axes else []
        if not self.is_closed:
            arguments.append("is_closed=False")
        if self.priority is not None:
            arguments.append(f"priority={self.priority}")
        return f"DimensionShardingAttr({', '.join(arguments)})"

    def _print(self) -> str:
        parts = [axis.stripped for axis in self.axes]
        if not self.is_closed:
            parts.append("?")
        priority = "" if self.priority is None else f"p{self.priority}"
        return f"{{{', '.join(parts)}}}{priority}"

    @property
    def empty_axes(self) -> bool:
        """Whether the dimension is split along no axis."""
        return not self.axes

    @property
    def priority_or_default(self) -> int:
        """The priority, 0 if there is none."""
        return 0 if self.priority is None else self.priority

    @property
    def closed_like(self) -> DimensionShardingAttr:
        """The same axes and priority, closed."""
        return DimensionShardingAttr(self.axes, True, self.priority)

    @property
    def open_like(self) -> DimensionShardingAttr:
        """The same axes and priority, open."""
        return DimensionShardingAttr(self.axes, False, self.priority)

    def drop_priority(self) -> DimensionShardingAttr:
        """The same axes and openness, without priority.

        >>> from sdybridge.sdy import AxisRefAttr
        >>> print(DimensionShardingAttr([AxisRefAttr("x")], priority=1).drop_priority())
        #sdy<dimension_sharding{"x"}>
        """
        return DimensionShardingAttr(self.axes, self.is_closed)

    def get_sharded_size(self, mesh: MeshAttr) -> int:
        """The number of pieces the dimension is split into.

        Raises:
            VerificationError: `unknown-axis`.

        Example:
            >>> from sdybridge.sdy import AxisRefAttr, MeshAttr
            >>> mesh = MeshAttr.from_sizes({"x": 8, "y": 4})
            >>> DimensionShardingAttr([AxisRefAttr("y"), AxisRefAttr.sub("x", 1, 2)]).get_sharded_size(mesh)
            8
        """
        return prod([axis.get_size(mesh) for axis in self.axes])


_DIMENSIONS: UniqueTable[DimensionShardingAttr] = UniqueTable()


def _new_dimension(
    axes: tuple[AxisRefAttr, ...], is_closed: bool, priority: int | None
) -> DimensionShardingAttr:
    elements(axes, AxisRefAttr, "axes")
    if priority is not None:
        if priority < 0:
            raise VerificationError(
                "a priority cannot be negative", rule="negative-priority", path=("priority",)
            )
        int64(priority, "priority", ("priority",))
    dimension = object.__new__(DimensionShardingAttr)
    set_field(dimension, "axes", axes)
    set_field(dimension, "is_closed", is_closed)
    set_field(dimension, "priority", priority)
    return _DIMENSIONS.add((axes, is_closed, priority), dimension)
