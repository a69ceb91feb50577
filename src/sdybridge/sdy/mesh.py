"""Device meshes: named axes, major to minor, and optionally an explicit device order."""

from __future__ import annotations

from math import prod
from operator import countOf
from types import MappingProxyType
from typing import TYPE_CHECKING, final

from sdybridge.errors import VerificationError
from sdybridge.sdy.fields import INT64_MAX, canonical_name, elements, exact_int, exact_str, int64
from sdybridge.sdy.printer import quote, show, show_int
from sdybridge.sdy.suggestions import closest, listing
from sdybridge.sdy.uniquing import Attribute, UniqueTable, set_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sdybridge.errors import Path
    from sdybridge.sdy.axis_ref import AxisRefAttr


@final
class MeshAxisAttr(Attribute):
    """One axis of a mesh.

    Args:
        name: Any string; bytes that are not UTF-8 as lone surrogates (`surrogateescape`).
        size: The number of devices along the axis, at least 1.

    Raises:
        VerificationError: `axis-size`.

    >>> print(MeshAxisAttr("x", 2))
    #sdy<mesh_axis"x"=2>

    Source: shardy/dialect/sdy/ir/attrs.td, `MeshAxisAttr`.
    """

    __slots__ = ("name", "size")
    __match_args__ = ("name", "size")
    mnemonic = "mesh_axis"

    name: str
    size: int

    def __new__(cls, name: str, size: int) -> MeshAxisAttr:
        """Gives the one object with these fields."""
        if type(name) is not str:
            name = exact_str(name, "axis name")
        if type(size) is not int:
            size = exact_int(size, "axis size")
        found = _AXES.get((name, size))
        return _new_axis(name, size) if found is None else found

    def __repr__(self) -> str:
        return f"MeshAxisAttr({self.name!r}, {self.size})"

    def _print(self) -> str:
        return f"{quote(self.name)}={self.size}"


_AXES: UniqueTable[MeshAxisAttr] = UniqueTable()


def _new_axis(name: str, size: int) -> MeshAxisAttr:
    name = canonical_name(name, "axis name", ("name",))
    if size < 1:
        raise VerificationError(
            f"axis {show(name)} has size {show_int(size)}, but a size must be at least 1",
            rule="axis-size",
            path=("size",),
        )
    int64(size, "axis size", ("size",))
    axis = object.__new__(MeshAxisAttr)
    set_field(axis, "name", name)
    set_field(axis, "size", size)
    return _AXES.add((name, size), axis)


@final
class MeshAttr(Attribute):
    """A device mesh.

    Args:
        axes: The axes, major to minor.
        device_ids: The logical device ids in row-major order over `axes`, a permutation of
            `0 .. total_size - 1`. Empty means just that range, and the range given explicitly becomes
            empty. Without axes: at most one id, of the single device that a maximal mesh stands for.

    Attributes:
        axes: The axes, as a tuple.
        device_ids: The explicit ids, as a tuple of int; empty for the range.
        axis_sizes: The sizes by axis name, in mesh order.
        total_size: The number of devices: the exact product of the axis sizes, 1 without axes.

    Raises:
        VerificationError: `negative-device-id`, `maximal-device-count`, `duplicate-axis-name`,
            `device-count`, `device-permutation`, in this order.

    >>> mesh = MeshAttr([MeshAxisAttr("x", 2), MeshAxisAttr("y", 4)])
    >>> print(mesh, mesh.total_size)
    #sdy.mesh<["x"=2, "y"=4]> 8

    Source: shardy/dialect/sdy/ir/attrs.td, `MeshAttr`; verifiers.cc, `MeshAttr::verify`.
    """

    __slots__ = ("_positions", "axes", "axis_sizes", "device_ids", "total_size")
    __match_args__ = ("axes", "device_ids")
    mnemonic = "mesh"
    is_dotted = True

    axes: tuple[MeshAxisAttr, ...]
    device_ids: tuple[int, ...]
    axis_sizes: Mapping[str, int]
    total_size: int
    _positions: dict[str, int]

    def __new__(cls, axes: Iterable[MeshAxisAttr] = (), device_ids: Iterable[int] = ()) -> MeshAttr:
        """Gives the one object with these fields."""
        return trusted_mesh(elements(axes, MeshAxisAttr, "axes"), _exact_ids(device_ids))

    @classmethod
    def from_sizes(cls, sizes: Mapping[str, int], device_ids: Iterable[int] = ()) -> MeshAttr:
        """The mesh with these axes, major to minor.

        >>> print(MeshAttr.from_sizes({"x": 2, "y": 2}, device_ids=[3, 2, 1, 0]))
        #sdy.mesh<["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>
        """
        return cls((MeshAxisAttr(name, size) for name, size in sizes.items()), device_ids)

    @classmethod
    def maximal(cls, device_id: int) -> MeshAttr:
        """The mesh of one device, and no axes.

        >>> print(MeshAttr.maximal(3))
        #sdy.mesh<[], device_ids=[3]>
        """
        return cls((), (device_id,))

    def __repr__(self) -> str:
        if self.is_maximal:
            return f"MeshAttr.maximal({self.device_ids[0]})"
        ids = f", device_ids={list(self.device_ids)}" if self.device_ids else ""
        return f"MeshAttr.from_sizes({dict(self.axis_sizes)}{ids})"

    def _print(self) -> str:
        axes = ", ".join([axis.stripped for axis in self.axes])
        if not self.device_ids:
            return f"<[{axes}]>"
        return f"<[{axes}], device_ids=[{', '.join(map(str, self.device_ids))}]>"

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The axis names, major to minor."""
        return tuple(self.axis_sizes)

    @property
    def is_empty(self) -> bool:
        """Whether there are neither axes nor device ids."""
        return not self.axes and not self.device_ids

    @property
    def is_maximal(self) -> bool:
        """Whether this stands for one device: no axes, one id. A mesh of one axis of size 1 does not."""
        return not self.axes and len(self.device_ids) == 1

    @property
    def maximal_device_id(self) -> int | None:
        """The device of a maximal mesh; None for any other."""
        return self.device_ids[0] if self.is_maximal else None

    def has_axis(self, name: str) -> bool:
        """Whether an axis has this name.

        >>> mesh = MeshAttr.from_sizes({"x": 8, "y": 4})
        >>> mesh.has_axis("y"), mesh.has_axis("z")
        (True, False)
        """
        return name in self.axis_sizes

    def axis_size(self, name: str) -> int:
        """The size of an axis.

        Raises:
            VerificationError: `unknown-axis`.

        Example:
            >>> MeshAttr.from_sizes({"x": 8, "y": 4}).axis_size("y")
            4
        """
        size = self.axis_sizes.get(name)
        if size is None:
            raise unknown_axis(name, self, ())
        return size

    def axis_index(self, name: str) -> int:
        """The position of an axis, 0 for the most major one.

        Raises:
            VerificationError: `unknown-axis`.

        Example:
            >>> MeshAttr.from_sizes({"x": 8, "y": 4}).axis_index("y")
            1
        """
        index = self._positions.get(name)
        if index is None:
            raise unknown_axis(name, self, ())
        return index

    def axis_ref_key(self, ref: AxisRefAttr) -> tuple[int, int, bool, int]:
        """A sort key for axis refs: by position in the mesh (unknown names last), then as `<` has it.

        >>> from sdybridge.sdy.axis_ref import AxisRefAttr
        >>> mesh = MeshAttr.from_sizes({"y": 8, "x": 2})
        >>> parts = [AxisRefAttr.sub("y", 4, 2), AxisRefAttr.sub("y", 1, 2)]
        >>> refs = [AxisRefAttr("x"), AxisRefAttr("y"), *parts]
        >>> [ref.stripped for ref in sorted(refs, key=mesh.axis_ref_key)]
        ['"y":(1)2', '"y"', '"y":(4)2', '"x"']

        Source: `AxisRefAttr::getMeshComparator`.
        """
        sub = ref.sub_axis_info
        position = self._positions.get(ref.name, len(self.axes))
        return (position, 1, True, 0) if sub is None else (position, sub.pre_size, False, sub.size)

    def equals(self, other: MeshAttr, *, ignore_device_ids: bool = False) -> bool:
        """Whether two meshes are the same, or the same up to the order of the devices.

        >>> mesh = MeshAttr.from_sizes({"x": 2})
        >>> other = MeshAttr.from_sizes({"x": 2}, device_ids=[1, 0])
        >>> mesh.equals(other), mesh.equals(other, ignore_device_ids=True)
        (False, True)

        Source: `MeshAttr::equals`.
        """
        if not ignore_device_ids:
            return self is other
        return self.is_maximal == other.is_maximal and self.axes == other.axes


_MESHES: UniqueTable[MeshAttr] = UniqueTable()


def trusted_mesh(axes: tuple[MeshAxisAttr, ...], ids: tuple[int, ...]) -> MeshAttr:
    """The mesh with these fields, known to be of the right types: the parser's short cut."""
    if axes and ids and _is_range(ids) and len(ids) == prod(axis.size for axis in axes):
        ids = ()
    found = _MESHES.get((axes, ids))
    if found is not None:
        return found
    _verify(axes, ids)
    mesh = object.__new__(MeshAttr)
    set_field(mesh, "axes", axes)
    set_field(mesh, "device_ids", ids)
    set_field(mesh, "axis_sizes", MappingProxyType({axis.name: axis.size for axis in axes}))
    set_field(mesh, "total_size", prod(axis.size for axis in axes))
    set_field(mesh, "_positions", {axis.name: i for i, axis in enumerate(axes)})
    return _MESHES.add((axes, ids), mesh)


def _exact_ids(values: Iterable[int]) -> tuple[int, ...]:
    if isinstance(values, (list, tuple)):
        ids = tuple(values)
    else:
        to_list = getattr(values, "tolist", None)  # a NumPy array, all at once
        ids = tuple(to_list() if to_list else values)
    if countOf(map(type, ids), int) == len(ids):
        return ids
    return tuple(exact_int(i, "device id") for i in ids)


def _is_range(ids: tuple[int, ...]) -> bool:
    # the ends decide nearly always, so that the whole is rarely compared
    return ids[0] == 0 and ids[-1] == len(ids) - 1 and ids == tuple(range(len(ids)))


def _verify(axes: tuple[MeshAxisAttr, ...], ids: tuple[int, ...]) -> None:
    if not axes:
        _verify_not_negative(ids)
        _verify_maximal(ids)
        return
    total = prod(axis.size for axis in axes)
    is_permutation = not ids or (len(ids) == total and set(ids).issuperset(range(total)))
    if not is_permutation:
        _verify_not_negative(ids)
    _verify_names(axes)
    if not is_permutation:
        raise _not_a_permutation(total, ids)


def _verify_not_negative(ids: tuple[int, ...]) -> None:
    for i, device in enumerate(ids):
        if device < 0:
            raise VerificationError(
                f"device id {show_int(device)} is negative", rule="negative-device-id", path=("device_ids", i)
            )


def _verify_names(axes: tuple[MeshAxisAttr, ...]) -> None:
    seen: set[str] = set()
    for i, axis in enumerate(axes):
        if axis.name in seen:
            raise VerificationError(
                f"the mesh has two axes named {show(axis.name)}",
                rule="duplicate-axis-name",
                path=("axes", i, "name"),
                help="give every axis its own name",
            )
        seen.add(axis.name)


def _verify_maximal(ids: tuple[int, ...]) -> None:
    if len(ids) > 1:
        raise VerificationError(
            f"a mesh without axes can name one device, not {len(ids)}",
            rule="maximal-device-count",
            path=("device_ids", 1),
            help=f'name an axis, such as `["x"={len(ids)}]`, or keep one id',
        )
    if ids and ids[0] > INT64_MAX:
        int64(ids[0], "device id", ("device_ids", 0))


def _not_a_permutation(total: int, ids: tuple[int, ...]) -> VerificationError:
    if len(ids) != total:
        return VerificationError(
            f"{'one device id is' if len(ids) == 1 else f'{len(ids)} device ids are'} given,"
            f" but the axis sizes multiply to {show_int(total)} devices",
            rule="device-count",
            path=("device_ids",),
        )
    seen: set[int] = set()
    at = 0
    while ids[at] < total and ids[at] not in seen:
        seen.add(ids[at])
        at += 1
    what = "stands twice" if ids[at] < total else f"is too large for {total} device{'s' * (total > 1)}"
    return VerificationError(
        f"device id {show_int(ids[at])} {what}",
        rule="device-permutation",
        path=("device_ids", at),
        notes=[
            "the only id of this mesh is 0"
            if total == 1
            else f"the ids of this mesh are the numbers from 0 to {total - 1}, each once, in any order"
        ],
    )


def unknown_axis(name: str, mesh: MeshAttr, path: Path) -> VerificationError:
    """The error about an axis that `mesh` does not have, with what may have been meant."""
    known: Sequence[str] = mesh.axis_names
    meant = closest(name, known)
    return VerificationError(
        f"the mesh has no axis named {show(name)}",
        rule="unknown-axis",
        path=path,
        notes=[f"its axes are {listing(known)}" if known else "it has no axes"],
        help=None if meant is None else f"did you mean {show(meant)}?",
    )
