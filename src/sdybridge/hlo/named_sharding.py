"""Named shardings: which axes of a mesh split each dimension of a tensor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo.axis_ref import AxisRef, check_axis
from sdybridge.hlo.checks import as_tuple, shown
from sdybridge.hlo.mesh import Mesh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.errors import Path

    Axes = tuple[AxisRef, ...]


@dataclass(frozen=True, slots=True)
class DimensionSharding:
    """How one dimension of a tensor is split.

    Attributes:
        axes: The axes that split it, major to minor.
        is_closed: Whether propagation may not split it further.

    >>> from sdybridge.hlo import AxisRef
    >>> DimensionSharding((AxisRef(1),), is_closed=False).is_closed
    False

    Source: `NamedSharding::DimensionSharding` in xla's `hlo/ir/named_sharding.h`.
    """

    axes: tuple[AxisRef, ...] = ()
    is_closed: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", as_axes(self.axes, "axes"))

    def sharded_size(self, mesh: Mesh) -> int:
        """How many parts the dimension is cut into.

        >>> from sdybridge.hlo import AxisRef, Mesh
        >>> DimensionSharding((AxisRef(1),)).sharded_size(Mesh.from_sizes({"a": 2, "b": 4}))
        4
        """
        return math.prod([axis.size(mesh) for axis in self.axes])

    def to_string(self, mesh: Mesh) -> str:
        """Its text, in which the axes of `mesh` have their names.

        >>> from sdybridge.hlo import AxisRef, Mesh
        >>> DimensionSharding((AxisRef(1),), is_closed=False).to_string(Mesh.from_sizes({"a": 2, "b": 4}))
        "{'b', ?}"
        """
        parts = [axis.to_string(mesh) for axis in self.axes]
        return f"{{{', '.join(parts if self.is_closed else [*parts, '?'])}}}"


class NamedSharding:
    """A sharding of one tensor over the named axes of a mesh: the third form of XLA's shardings.

    Equality is XLA's: the names of axes and explicitly replicated axes do not count, the sizes of the axes
    and the order of the devices do. All shardings that replicate everything are equal.

    Args:
        mesh: The mesh.
        dim_shardings: One for each dimension of the tensor; none where the rank does not matter.
        replicated_axes: Axes along which the tensor stays replicated. This and the next two lists are sorted
            by axis and pre-size.
        unreduced_axes: Axes along which the devices hold partial values.
        manual_axes: Axes that the program itself works along.

    Raises:
        VerificationError: The mesh lacks an axis, an axis is used twice or cut in two ways, parts that
            follow each other are not merged, or a list is not sorted.

    Example:
        >>> from sdybridge.hlo.axis_ref import AxisRef
        >>> mesh = Mesh.from_sizes({"a": 2, "b": 4})
        >>> print(NamedSharding(mesh, [DimensionSharding([AxisRef(1)]), DimensionSharding()]))
        {mesh['a'=2,'b'=4], [{'b'}, {}]}

    Source: `NamedSharding` in xla's `hlo/ir/named_sharding.h`.
    """

    __slots__ = (
        "_dim_shardings",
        "_manual_axes",
        "_mesh",
        "_replicated_axes",
        "_unreduced_axes",
    )

    _dim_shardings: tuple[DimensionSharding, ...]
    _manual_axes: Axes
    _mesh: Mesh
    _replicated_axes: Axes
    _unreduced_axes: Axes

    def __init__(
        self,
        mesh: Mesh,
        dim_shardings: Sequence[DimensionSharding] = (),
        *,
        replicated_axes: Sequence[AxisRef] = (),
        unreduced_axes: Sequence[AxisRef] = (),
        manual_axes: Sequence[AxisRef] = (),
    ) -> None:
        if not isinstance(mesh, Mesh):
            raise VerificationError(f"mesh must be a Mesh, got {shown(mesh)}", rule="named-sharding")
        dims = as_tuple(dim_shardings, "dim_shardings", "DimensionSharding")
        for i, dim in enumerate(dims):
            if not isinstance(dim, DimensionSharding):
                raise VerificationError(
                    f"dim_shardings[{i}] must be a DimensionSharding, got {shown(dim)}",
                    rule="named-sharding",
                    path=("dim_shardings", i),
                )
        self._mesh = mesh
        self._dim_shardings = dims
        self._replicated_axes = as_axes(replicated_axes, "replicated_axes")
        self._unreduced_axes = as_axes(unreduced_axes, "unreduced_axes")
        self._manual_axes = as_axes(manual_axes, "manual_axes")
        _verify(self)

    @property
    def mesh(self) -> Mesh:
        """The mesh."""
        return self._mesh

    @property
    def dim_shardings(self) -> tuple[DimensionSharding, ...]:
        """How each dimension of the tensor is split."""
        return self._dim_shardings

    @property
    def replicated_axes(self) -> tuple[AxisRef, ...]:
        """The axes along which the tensor stays replicated."""
        return self._replicated_axes

    @property
    def unreduced_axes(self) -> tuple[AxisRef, ...]:
        """The axes along which the devices hold partial values."""
        return self._unreduced_axes

    @property
    def manual_axes(self) -> tuple[AxisRef, ...]:
        """The axes that the program itself works along."""
        return self._manual_axes

    @property
    def used_axis_names(self) -> tuple[str, ...]:
        """The names of the axes that the sharding says something about, each once, as they come up."""
        dims = [dim.axes for dim in self._dim_shardings]
        lists = (*dims, self._replicated_axes, self._unreduced_axes, self._manual_axes)
        indices = dict.fromkeys(axis.mesh_axis_index for axes in lists for axis in axes)
        return tuple([self._mesh.axis_names[index] for index in indices])

    @property
    def dimensions(self) -> tuple[int, ...]:
        """How many parts each dimension is cut into."""
        return tuple([dim.sharded_size(self._mesh) for dim in self._dim_shardings])

    @property
    def num_devices(self) -> int:
        """The number of devices of the mesh."""
        return self._mesh.num_devices

    @property
    def is_replicated(self) -> bool:
        """Whether every device holds everything; axes may be listed as replicated."""
        return (
            not self._unreduced_axes
            and not self._manual_axes
            and not self._mesh.is_maximal
            and all(size == 1 for size in self.dimensions)
        )

    @property
    def is_single_device(self) -> bool:
        """Whether the tensor is whole on one device."""
        return self._mesh.is_maximal

    @property
    def is_manual(self) -> bool:
        """Whether all axes are manual."""
        return bool(self._manual_axes) and self._mesh.covers_all_axes_in_order(self._manual_axes)

    @property
    def is_unreduced(self) -> bool:
        """Whether all axes are unreduced."""
        return bool(self._unreduced_axes) and self._mesh.covers_all_axes_in_order(self._unreduced_axes)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, NamedSharding):
            return NotImplemented
        if self.is_replicated and other.is_replicated:
            return True
        return (
            self._dim_shardings == other._dim_shardings
            and self._unreduced_axes == other._unreduced_axes
            and self._manual_axes == other._manual_axes
            and self._mesh.device_assignment == other._mesh.device_assignment
        )

    def __hash__(self) -> int:
        if self.is_replicated:
            return hash("replicated")
        return hash((self._dim_shardings, self._unreduced_axes, self._manual_axes))

    def __copy__(self) -> NamedSharding:
        return self

    def __deepcopy__(self, memo: object) -> NamedSharding:
        return self

    def __str__(self) -> str:
        from sdybridge.hlo.named_text import format_named

        return f"{{{format_named(self)}}}"

    def __repr__(self) -> str:
        arguments = [repr(self._mesh)]
        if self._dim_shardings:
            arguments.append(repr(self._dim_shardings))
        for name in ("replicated_axes", "unreduced_axes", "manual_axes"):
            axes = getattr(self, name)
            if axes:
                arguments.append(f"{name}={axes!r}")
        return f"NamedSharding({', '.join(arguments)})"


def as_axes(axes: Sequence[AxisRef], name: str) -> tuple[AxisRef, ...]:
    """The entries, each of them an `AxisRef`."""
    entries = as_tuple(axes, name, "AxisRef")
    for i, axis in enumerate(entries):
        if not isinstance(axis, AxisRef):
            raise VerificationError(
                f"{name}[{i}] must be an AxisRef, got {shown(axis)}", rule="named-sharding", path=(name, i)
            )
    return entries


def _verify(sharding: NamedSharding) -> None:
    """The first rule that is broken; the lists are looked at in the order in which they are printed."""
    seen: dict[int, list[AxisRef]] = {}
    for i, dim in enumerate(sharding._dim_shardings):
        _verify_list(dim.axes, ("dim_shardings", i, "axes"), sharding._mesh, seen)
    for name in ("replicated_axes", "unreduced_axes", "manual_axes"):
        axes: Axes = getattr(sharding, f"_{name}")
        _verify_list(axes, (name,), sharding._mesh, seen)
        for i in range(1, len(axes)):
            if _position(axes[i]) < _position(axes[i - 1]):
                first, second = (axis.to_string(sharding._mesh) for axis in axes[i - 1 : i + 1])
                raise VerificationError(
                    f"the {name.replace('_', ' ')} are sorted by axis and pre-size, but {second} stands "
                    f"behind {first}",
                    rule="axis-order",
                    path=(name, i),
                )


def _verify_list(axes: Axes, path: Path, mesh: Mesh, seen: dict[int, list[AxisRef]]) -> None:
    """`seen` holds the axes of the lists before, by their index."""
    for i, axis in enumerate(axes):
        try:
            check_axis(axis, mesh)
        except VerificationError as error:
            error.path = (*path, i)
            raise
        others = seen.setdefault(axis.mesh_axis_index, [])
        for other in others:
            if not axis.can_coexist_without_overlap(other):
                raise _conflict(axis, other, mesh, (*path, i))
        others.append(axis)
        if i and axes[i - 1].can_merge(axis):
            raise VerificationError(
                f"{axes[i - 1].to_string(mesh)} and {axis.to_string(mesh)} follow each other",
                rule="axis-merge",
                path=(*path, i),
                help=f"write {_merged(axes[i - 1], axis, mesh)} for both",
            )


def _conflict(axis: AxisRef, other: AxisRef, mesh: Mesh, path: Path) -> VerificationError:
    a, b = axis.sub_axis_info, other.sub_axis_info
    if a and b and (a.next_pre_size <= b.pre_size or b.next_pre_size <= a.pre_size):
        message = (
            f"no cutting of the axis into parts has both {axis.to_string(mesh)} and {other.to_string(mesh)}"
        )
    elif axis == other:
        message = f"{axis.to_string(mesh)} is used twice"
    else:
        message = f"{axis.to_string(mesh)} overlaps {other.to_string(mesh)}"
    return VerificationError(message, rule="axis-overlap", path=path)


def _merged(first: AxisRef, second: AxisRef, mesh: Mesh) -> str:
    name = mesh.axis_names[first.mesh_axis_index]
    pre_size = first.sub_axis_info.pre_size if first.sub_axis_info else 1
    size = first.size(mesh) * second.size(mesh)
    is_whole = size == mesh.axis_sizes[first.mesh_axis_index]
    return f"'{name}'" if is_whole else f"'{name}':({pre_size}){size}"


def _position(axis: AxisRef) -> tuple[int, int]:
    sub = axis.sub_axis_info
    return axis.mesh_axis_index, 1 if sub is None else sub.pre_size
