"""Whether a sharding fits its mesh, its tensor's rank, and the manual computation around it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.sdy.mesh import unknown_axis
from sdybridge.sdy.printer import quote, show
from sdybridge.sdy.sharding import rank_mismatch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sdybridge.errors import Path
    from sdybridge.sdy.axis_ref import AxisRefAttr, SubAxisInfoAttr
    from sdybridge.sdy.mesh import MeshAttr
    from sdybridge.sdy.sharding import TensorShardingAttr

_MAX_SHOWN = 100  # characters of a list in a help
_MAX_TRIED = 4096  # sizes, when a legal one is looked for


def verify_sharding(
    sharding: TensorShardingAttr,
    mesh: MeshAttr,
    *,
    rank: int | None = None,
    manual_axes: Collection[str] = (),
) -> None:
    """Raises for the first rule, in upstream's order, that `sharding` breaks.

    That a dimension's size is divisible by its number of pieces is no rule.

    Args:
        sharding: The sharding.
        mesh: The mesh that its `mesh_or_ref` stands for.
        rank: The tensor's number of dimensions; None to leave that unchecked.
        manual_axes: The axes that are manual where the tensor is.

    Raises:
        VerificationError: See `RULES` for the rules and their order.

    >>> from sdybridge.sdy.mesh import MeshAttr
    >>> from sdybridge.sdy.sharding import TensorShardingAttr
    >>> mesh = MeshAttr.from_sizes({"x": 4})
    >>> verify_sharding(TensorShardingAttr.from_string('<@mesh, [{"x":(2)4}]>'), mesh)
    Traceback (most recent call last):
    sdybridge.errors.VerificationError: "x":(2)4 does not fit: 2 * 4 does not divide the axis size 4
    help: write "x":(2)2

    Source: shardy/dialect/sdy/ir/verifiers.cc, `verifyTensorShardingAttr`.
    """
    if _is_plain(sharding, mesh, rank, manual_axes):
        return
    if mesh.is_maximal:
        _verify_on_maximal(sharding)
        return
    if rank is not None and rank != len(sharding.dim_shardings):
        raise rank_mismatch(sharding, rank)
    seen: dict[AxisRefAttr, Path] = {}
    for i, dim in enumerate(sharding.dim_shardings):
        if dim.priority is not None and dim.is_closed and not dim.axes:
            raise _empty_with_priority(i, dim.priority)
        _verify_refs(dim.axes, ("dim_shardings", i, "axes"), mesh, seen)
    for field in ("replicated", "unreduced"):
        refs = sharding.replicated_axes if field == "replicated" else sharding.unreduced_axes
        _verify_order(refs, field, mesh)
        _verify_refs(refs, (f"{field}_axes",), mesh, seen)
    _verify_sub_axes(seen, mesh)
    for ref, path in seen.items():
        if ref.name in manual_axes:
            raise VerificationError(
                f"axis {show(ref.name)} is manual here",
                rule="axis-is-manual",
                path=path,
                notes=["inside a manual computation its manual axes are already taken apart"],
            )


def verify_coexistence(sharding: TensorShardingAttr) -> None:
    """Raises unless all parts of each axis are products of the factors of one split of it.

    Upstream does not check this, and then exports a sharding over too few devices: on an axis of size 12,
    `"x":(1)2` splits it into 2 x 6 and `"x":(3)2` into 3 x 2 x 2, which have no common refinement.

    Raises:
        VerificationError: `coexistence`.

    Example:
        >>> from sdybridge.sdy import TensorShardingAttr
        >>> verify_coexistence(TensorShardingAttr.from_string('<@mesh, [{"x":(1)2}, {"x":(2)2}]>'))

    Source: `AxisRefAttr::canCoexist`.
    """
    parts: dict[str, dict[int, tuple[AxisRefAttr, Path]]] = {}
    for ref, path in _refs(sharding):
        sub = ref.sub_axis_info
        if sub is not None and sub.pre_size > 0 and sub.size > 1:
            cuts = parts.setdefault(ref.name, {})
            cuts.setdefault(sub.pre_size, (ref, path))
            cuts.setdefault(sub.next_pre_size, (ref, path))
    for cuts in parts.values():
        # the parts fit together when their ends, sorted, each divide the next
        ends = sorted(cuts)
        for low, high in pairwise(ends):
            if high % low:
                raise _not_coexisting(low, high, cuts)


def _not_coexisting(low: int, high: int, cuts: dict[int, tuple[AxisRefAttr, Path]]) -> VerificationError:
    (one, _), (other, path) = cuts[low], cuts[high]
    return VerificationError(
        f"{one.stripped} and {other.stripped} are not parts of one split of the axis",
        rule="coexistence",
        path=path,
        notes=[f"one of them cuts the axis at {low}, the other at {high}, which is no multiple of {low}"],
    )


def _is_plain(
    sharding: TensorShardingAttr, mesh: MeshAttr, rank: int | None, manual_axes: Collection[str]
) -> bool:
    """Whether the sharding is valid and of the common kind, whole axes only: no order of checks needed."""
    if sharding.replicated_axes or sharding.unreduced_axes or mesh.is_maximal:
        return False
    if rank is not None and rank != len(sharding.dim_shardings):
        return False
    sizes = mesh.axis_sizes
    refs: list[AxisRefAttr] = []
    for dim in sharding.dim_shardings:
        if dim.axes:
            refs += dim.axes
        elif dim.priority is not None:
            return False
    for ref in refs:
        if ref.sub_axis_info is not None or ref.name not in sizes:
            return False
        if manual_axes and ref.name in manual_axes:
            return False
    return len(refs) == len(set(refs))


def _refs(sharding: TensorShardingAttr) -> Iterator[tuple[AxisRefAttr, Path]]:
    for i, dim in enumerate(sharding.dim_shardings):
        for j, ref in enumerate(dim.axes):
            yield ref, ("dim_shardings", i, "axes", j)
    for j, ref in enumerate(sharding.replicated_axes):
        yield ref, ("replicated_axes", j)
    for j, ref in enumerate(sharding.unreduced_axes):
        yield ref, ("unreduced_axes", j)


def _place(path: Path) -> str:
    """A path in words."""
    return f"dimension {path[1]}" if path[0] == "dim_shardings" else f"the {path[0]}".replace("_", " ")


def _verify_on_maximal(sharding: TensorShardingAttr) -> None:
    for what in ("dimension shardings", "replicated axes", "unreduced axes"):
        field = what.replace("dimension", "dim").replace(" ", "_")
        if getattr(sharding, field):
            raise VerificationError(
                f"a sharding on a maximal mesh has no {what}",
                rule="maximal-rank",
                path=(field,),
                notes=["the mesh is one device, which holds the whole tensor"],
                help="write `[]` and no axis lists",
            )


def _empty_with_priority(i: int, priority: int) -> VerificationError:
    return VerificationError(
        f"dimension {i} has a priority, but it is closed and has no axes",
        rule="empty-dimension-priority",
        path=("dim_shardings", i, "priority"),
        help=f"write `{{}}`, or `{{?}}p{priority}` to let propagation add axes",
    )


def _verify_refs(
    refs: tuple[AxisRefAttr, ...], path: Path, mesh: MeshAttr, seen: dict[AxisRefAttr, Path]
) -> None:
    """The rules of one list, from left to right; `seen` are the refs of this list and the ones before it."""
    previous: AxisRefAttr | None = None
    for i, ref in enumerate(refs):
        at = (*path, i)
        if ref.name not in mesh.axis_sizes:
            raise unknown_axis(ref.name, mesh, at)
        if ref in seen:
            raise VerificationError(
                f"axis {ref.stripped} stands twice",
                rule="duplicate-axis",
                path=at,
                notes=[f"first in {_place(seen[ref])}"],
            )
        seen[ref] = at
        if previous is not None and previous.can_merge(ref):
            raise _mergeable(previous, ref, at, mesh)
        previous = ref


def _mergeable(one: AxisRefAttr, other: AxisRefAttr, path: Path, mesh: MeshAttr) -> VerificationError:
    try:
        merged = f"write {one.merge(other, mesh).stripped}"
    except VerificationError:
        merged = None  # the sizes are out of range anyway
    return VerificationError(
        f"{one.stripped} and {other.stripped} follow one another and have to be written as one",
        rule="mergeable-sub-axes",
        path=path,
        help=merged,
    )


def _verify_order(refs: tuple[AxisRefAttr, ...], field: str, mesh: MeshAttr) -> None:
    for i in range(1, len(refs)):
        if not _precedes(refs[i], refs[i - 1], mesh):
            continue
        raise _out_of_order(refs, i, field, mesh)


def _out_of_order(refs: tuple[AxisRefAttr, ...], i: int, field: str, mesh: MeshAttr) -> VerificationError:
    unknown = [ref.name for ref in refs if ref.name not in mesh.axis_sizes]
    in_order = ", ".join([ref.stripped for ref in sorted(refs, key=mesh.axis_ref_key)])
    return VerificationError(
        f"the {field} axes are not in mesh order: the mesh has no axis named {show(unknown[0])}"
        if unknown
        else f"{refs[i].stripped} comes before {refs[i - 1].stripped} in mesh order, so it has to here",
        rule=f"{field}-order",
        path=(f"{field}_axes", i),
        help=f"write {field}={{{in_order}}}" if len(in_order) < _MAX_SHOWN and not unknown else None,
    )


def _precedes(ref: AxisRefAttr, other: AxisRefAttr, mesh: MeshAttr) -> bool:
    if ref.name == other.name:
        return ref < other
    return mesh.axis_ref_key(ref)[0] < mesh.axis_ref_key(other)[0]


def _verify_sub_axes(seen: dict[AxisRefAttr, Path], mesh: MeshAttr) -> None:
    parts: dict[str, list[AxisRefAttr]] = {}
    wholes: dict[str, AxisRefAttr] = {}
    for ref in seen:
        if ref.sub_axis_info is None:
            wholes[ref.name] = ref
        else:
            parts.setdefault(ref.name, []).append(ref)
    for name, refs in parts.items():
        if name in wholes:
            raise _whole_and_part(wholes[name], refs[0], seen)
        previous: AxisRefAttr | None = None
        for ref in sorted(refs):
            _verify_sub_axis(ref, mesh.axis_sizes[name], seen[ref])
            if previous is not None and previous.overlaps(ref):
                raise VerificationError(
                    f"{previous.stripped} and {ref.stripped} overlap",
                    rule="sub-axis-overlap",
                    path=seen[ref],
                    notes=[f"the former stands in {_place(seen[previous])}"],
                )
            previous = ref


def _whole_and_part(
    whole: AxisRefAttr, part: AxisRefAttr, seen: dict[AxisRefAttr, Path]
) -> VerificationError:
    first, second = sorted((whole, part), key=list(seen).index)
    return VerificationError(
        f"axis {whole.stripped} is used both as a whole and in part, as {part.stripped}",
        rule="whole-and-part",
        path=seen[second],
        notes=[f"{first.stripped} stands in {_place(seen[first])}"],
    )


def _verify_sub_axis(ref: AxisRefAttr, axis_size: int, path: Path) -> None:
    sub = ref.sub_axis_info
    if sub is None:
        return
    if sub.pre_size < 1:
        raise VerificationError(
            f"the pre-size of {ref.stripped} must be at least 1",
            rule="sub-axis-pre-size",
            path=path,
            notes=["it is the number of pieces that the axis is cut into before this cut, 1 at its start"],
        )
    if sub.size <= 1:
        raise VerificationError(
            f"the size of {ref.stripped} must be greater than 1",
            rule="sub-axis-size",
            path=path,
            help="leave it out: a part of size 1 splits nothing" if sub.size == 1 else None,
        )
    if axis_size % sub.next_pre_size:
        product = f"{sub.pre_size} * {sub.size}"
        legal = _legal_part(sub, axis_size)
        raise VerificationError(
            f"{ref.stripped} does not fit: {product} does not divide the axis size {axis_size}",
            rule="sub-axis-divides",
            path=path,
            help=None if legal is None else f"write {quote(ref.name)}{legal}",
        )
    if sub.size == axis_size:
        raise VerificationError(
            f"{ref.stripped} is the whole axis",
            rule="sub-axis-whole",
            path=path,
            help=f"write {quote(ref.name)}",
        )


def _legal_part(sub: SubAxisInfoAttr, axis_size: int) -> str | None:
    """The largest legal part with the same pre-size that is not larger; empty for the whole axis."""
    rest, remainder = divmod(axis_size, sub.pre_size)
    if remainder:
        return None
    largest = min(sub.size, rest)
    for size in range(largest, max(1, largest - _MAX_TRIED), -1):
        if rest % size == 0:
            return "" if size == axis_size else f":({sub.pre_size}){size}"
    return None
