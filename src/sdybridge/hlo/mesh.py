"""Meshes as XLA has them: devices in a grid whose dimensions have names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo.checks import as_int, as_tuple, cropped, shown
from sdybridge.hlo.tile_assignment import TileAssignment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.hlo.axis_ref import AxisRef

_EMPTY = TileAssignment.empty()


class Mesh:
    """Devices in a grid with named axes; or one device without axes, or nothing at all.

    Args:
        device_assignment: The grid: its dims are the sizes of the axes. A device list must be needed: it
            holds each of `0..n - 1` once, and not in this order.
        axis_names: One name per axis, each once.

    Raises:
        VerificationError: The names do not fit the grid, or the devices are not those of a mesh.

    Example:
        >>> print(Mesh.from_sizes({"a": 2, "b": 4}))
        mesh['a'=2,'b'=4]
        >>> print(Mesh(TileAssignment.iota([2, 4], [4, 2], [1, 0]), ["a", "b"]))
        mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0))
        >>> print(Mesh.maximal(3))
        maximal_mesh[device_id=3]

    Source: `Mesh` in xla's `hlo/ir/mesh_and_axis.h`.
    """

    __slots__ = ("_axis_names", "_device_assignment")

    _axis_names: tuple[str, ...]
    _device_assignment: TileAssignment

    def __init__(self, device_assignment: TileAssignment, axis_names: Sequence[str]) -> None:
        if not isinstance(device_assignment, TileAssignment):
            raise VerificationError(
                f"device_assignment must be a TileAssignment, got {shown(device_assignment)}",
                rule="tile-assignment",
            )
        names = as_tuple(axis_names, "axis_names", "str")
        _check_names(names)
        if not names or len(names) != device_assignment.num_dimensions or device_assignment is _EMPTY:
            raise VerificationError(
                f"{len(names)} axis names do not fit a grid of {device_assignment.num_dimensions} dimensions",
                rule="mesh-rank",
                help=None if names else "use Mesh.maximal(device_id), or Mesh.empty()",
            )
        if not device_assignment.is_iota:
            _check_devices(device_assignment)
        self._axis_names = names
        self._device_assignment = device_assignment

    @classmethod
    def from_sizes(cls, sizes: Mapping[str, int]) -> Mesh:
        """The mesh whose axes have these names and sizes, with the devices in order.

        Raises:
            VerificationError: A size is below 1, or they multiply to more than 2**63 - 1 devices.

        Example:
            >>> Mesh.from_sizes({"a": 2, "b": 4}).num_devices
            8
        """
        return cls(TileAssignment.iota(list(sizes.values())), list(sizes)) if sizes else cls.empty()

    @classmethod
    def maximal(cls, device_id: int) -> Mesh:
        """The mesh that stands for one device; it has no axes.

        >>> Mesh.maximal(3).num_devices
        1
        """
        return cls._make(TileAssignment.from_array([as_int(device_id, "device_id")]), ())

    @classmethod
    def empty(cls) -> Mesh:
        """The mesh without axes and devices, on which everything is replicated.

        >>> Mesh.empty().axis_names
        ()
        """
        return cls._make(_EMPTY, ())

    @classmethod
    def _make(cls, device_assignment: TileAssignment, axis_names: tuple[str, ...]) -> Mesh:
        self = cls.__new__(cls)
        self._device_assignment = device_assignment
        self._axis_names = axis_names
        return self

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The names of the axes, major to minor."""
        return self._axis_names

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        """The number of devices along each axis."""
        return self._device_assignment._dims if self._axis_names else ()

    @property
    def device_assignment(self) -> TileAssignment:
        """Which device is where; of a mesh without axes `[device]`, or the empty grid."""
        return self._device_assignment

    @property
    def device_id(self) -> int | None:
        """The device that a maximal mesh stands for."""
        return self._device_assignment._device_at(0) if self.is_maximal else None

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return self._device_assignment.num_elements

    @property
    def is_maximal(self) -> bool:
        """Whether it stands for one device."""
        return not self._axis_names and self._device_assignment is not _EMPTY

    @property
    def has_simple_order(self) -> bool:
        """Whether its devices are in the order 0, 1, 2, ..., so that nothing lists them."""
        iota = self._device_assignment.iota_form
        return iota is not None and len(iota.reshape_dims) == 1

    def covers_all_axes_in_order(self, axes: Sequence[AxisRef]) -> bool:
        """Whether `axes` are all axes of the mesh, whole and in order; those of size 1 may be left out.

        >>> from sdybridge.hlo import AxisRef
        >>> mesh = Mesh.from_sizes({"a": 2, "b": 4})
        >>> mesh.covers_all_axes_in_order([AxisRef(0), AxisRef(1)])
        True
        """
        at = 0
        for index, size in enumerate(self.axis_sizes):
            axis = axes[at] if at < len(axes) else None
            if axis is not None and axis.mesh_axis_index == index:
                if axis.sub_axis_info is not None:
                    return False
                at += 1
            elif size != 1:
                return False
        return at == len(axes)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Mesh):
            return NotImplemented
        return self._axis_names == other._axis_names and self._device_assignment == other._device_assignment

    def __hash__(self) -> int:
        return hash((self._axis_names, self._device_assignment))

    def __copy__(self) -> Mesh:
        return self

    def __deepcopy__(self, memo: object) -> Mesh:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return Mesh._make, (self._device_assignment, self._axis_names)

    def __str__(self) -> str:
        if self.is_maximal:
            return f"maximal_mesh[device_id={self.device_id}]"
        sizes = zip(self._axis_names, self.axis_sizes, strict=True)
        axes = ",".join([f"'{name}'={size}" for name, size in sizes])
        text = f"mesh[{axes}]"
        if not self._axis_names or self.has_simple_order:
            return text
        iota = self._device_assignment.iota_form
        order = str(iota).partition("<=")[2] if iota else str(self._device_assignment).partition("]")[2]
        return f"{text}, device_ids=({order})"

    def __repr__(self) -> str:
        if self.is_maximal:
            return f"Mesh.maximal({self.device_id})"
        if not self._axis_names:
            return "Mesh.empty()"
        if self.has_simple_order:
            return f"Mesh.from_sizes({dict(zip(self._axis_names, self.axis_sizes, strict=True))!r})"
        return f"Mesh({self._device_assignment!r}, {self._axis_names!r})"


def _check_names(names: tuple[object, ...]) -> None:
    seen = set()
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise VerificationError(
                f"the name of an axis is a str, got {shown(name)}", rule="mesh-axis", path=("axis_names", i)
            )
        if name in seen:
            raise VerificationError(
                f"the mesh has two axes named '{cropped(name)}'", rule="mesh-axis", path=("axis_names", i)
            )
        seen.add(name)


def _check_devices(grid: TileAssignment) -> None:
    """A list of devices holds each once, and is not just a count."""
    import numpy as np

    ids = grid.array.reshape(-1)
    count = ids.size
    wrong = (ids < 0) | (ids >= count)
    if wrong.any():
        raise VerificationError(
            f"a mesh of {count} devices has 0..{count - 1}, not device {int(ids[wrong.argmax()])}",
            rule="mesh-devices",
            path=("device_ids", int(wrong.argmax())),
        )
    order = np.argsort(ids, kind="stable")
    repeated = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
    if repeated.size:
        at = int(order[repeated[0] + 1])
        raise VerificationError(
            f"the mesh has device {int(ids[at])} twice", rule="mesh-devices", path=("device_ids", at)
        )
    if (ids[:-1] < ids[1:]).all():
        raise VerificationError(
            "the devices are listed in their usual order",
            rule="mesh-devices",
            path=("device_ids",),
            help="leave the list out",
        )
