"""References to the axes of a mesh, and to parts of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo.checks import as_int, shown

if TYPE_CHECKING:
    from sdybridge.hlo.mesh import Mesh


@dataclass(frozen=True, slots=True)
class SubAxis:
    """The part of an axis that has `size` devices along it, with `pre_size` parts major to it.

    Attributes:
        pre_size: How many such parts the axis is cut into before this one; at least 1.
        size: How many devices there are along it; at least 2.

    Raises:
        VerificationError: A number is too small.

    >>> SubAxis(pre_size=2, size=2)
    SubAxis(pre_size=2, size=2)

    Source: `AxisRef` in xla's `hlo/ir/mesh_and_axis.h`.
    """

    pre_size: int
    size: int

    def __post_init__(self) -> None:
        for name, low in (("pre_size", 1), ("size", 2)):
            value = as_int(getattr(self, name), name)
            if value < low:
                raise VerificationError(
                    f"the {name} of a sub-axis is at least {low}, not {value}", rule="sub-axis", path=(name,)
                )
            object.__setattr__(self, name, value)

    @property
    def next_pre_size(self) -> int:
        """The `pre_size` of the sub-axis that follows directly."""
        return self.pre_size * self.size


@dataclass(frozen=True, slots=True)
class AxisRef:
    """An axis of a mesh, by its index, or a part of that axis.

    Attributes:
        mesh_axis_index: The index of the axis in its mesh.
        sub_axis_info: Which part of it; None for the whole axis.

    Raises:
        VerificationError: The index is negative.

    Example:
        >>> AxisRef(1, SubAxis(1, 2))
        AxisRef(mesh_axis_index=1, sub_axis_info=SubAxis(pre_size=1, size=2))

    Source: `AxisRef` in xla's `hlo/ir/mesh_and_axis.h`.
    """

    mesh_axis_index: int
    sub_axis_info: SubAxis | None = None

    def __post_init__(self) -> None:
        index = as_int(self.mesh_axis_index, "mesh_axis_index")
        if index < 0:
            raise VerificationError(
                f"axes are counted from 0, so there is none at {index}",
                rule="axis-index",
                path=("mesh_axis_index",),
            )
        object.__setattr__(self, "mesh_axis_index", index)
        if self.sub_axis_info is not None and not isinstance(self.sub_axis_info, SubAxis):
            raise VerificationError(
                f"sub_axis_info must be a SubAxis, got {shown(self.sub_axis_info)}",
                rule="sub-axis",
                path=("sub_axis_info",),
            )

    def size(self, mesh: Mesh) -> int:
        """The number of devices along it.

        >>> from sdybridge.hlo import Mesh
        >>> mesh = Mesh.from_sizes({"a": 2, "b": 4})
        >>> AxisRef(1).size(mesh), AxisRef(1, SubAxis(1, 2)).size(mesh)
        (4, 2)
        """
        sub = self.sub_axis_info
        return mesh.axis_sizes[self.mesh_axis_index] if sub is None else sub.size

    def to_string(self, mesh: Mesh) -> str:
        """Its text, in which the axes of `mesh` have their names.

        >>> from sdybridge.hlo import Mesh
        >>> AxisRef(1, SubAxis(1, 2)).to_string(Mesh.from_sizes({"a": 2, "b": 4}))
        "'b':(1)2"
        """
        name = f"'{mesh.axis_names[self.mesh_axis_index]}'"
        sub = self.sub_axis_info
        return name if sub is None else f"{name}:({sub.pre_size}){sub.size}"

    def can_coexist_without_overlap(self, other: AxisRef) -> bool:
        """Whether one sharding can use both: they share no device step, and cut their axis alike.

        >>> low, high = AxisRef(0, SubAxis(1, 2)), AxisRef(0, SubAxis(2, 2))
        >>> low.can_coexist_without_overlap(high), low.can_coexist_without_overlap(low)
        (True, False)
        """
        if self.mesh_axis_index != other.mesh_axis_index:
            return True
        a, b = self.sub_axis_info, other.sub_axis_info
        if a is None or b is None:
            return False
        if a.pre_size > b.pre_size:
            a, b = b, a
        return b.pre_size % a.next_pre_size == 0

    def can_merge(self, other: AxisRef) -> bool:
        """Whether `other` continues this one, so that the two together are one ref.

        >>> low, high = AxisRef(0, SubAxis(1, 2)), AxisRef(0, SubAxis(2, 2))
        >>> low.can_merge(high), high.can_merge(low)
        (True, False)
        """
        a, b = self.sub_axis_info, other.sub_axis_info
        return (
            self.mesh_axis_index == other.mesh_axis_index
            and a is not None
            and b is not None
            and a.next_pre_size == b.pre_size
        )


def check_axis(axis: AxisRef, mesh: Mesh) -> None:
    """Raise unless `mesh` has this axis, and this part of it."""
    index, sub = axis.mesh_axis_index, axis.sub_axis_info
    count = len(mesh.axis_names)
    if index >= count:
        raise VerificationError(
            f"the mesh has {count} axes, and none with the index {index}"
            if count
            else "the mesh has no axes",
            rule="axis-index",
        )
    if sub is None:
        return
    size = mesh.axis_sizes[index]
    if size % sub.next_pre_size:
        raise VerificationError(
            f"the axis '{mesh.axis_names[index]}' of size {size} cannot be cut behind {sub.next_pre_size} "
            f"({sub.pre_size} times {sub.size}), which does not divide it",
            rule="sub-axis",
        )
    if sub.size == size:
        raise VerificationError(
            f"a part of the axis '{mesh.axis_names[index]}' is smaller than its size {size}",
            rule="sub-axis",
            help="name the whole axis without ':(1)'",
        )
