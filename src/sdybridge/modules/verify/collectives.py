"""The rules of sdy collectives: what each makes of its operand's sharding.

Source: shardy/dialect/sdy/ir/verifiers.cc, `verifyCollectiveOp` and the `verify` of each operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError, plural
from sdybridge.modules.verify.context import AlreadyReportedError, Placed, Where
from sdybridge.modules.verify.value_shardings import sharding_of
from sdybridge.sdy import AxisRefAttr, TensorShardingAttr, locate
from sdybridge.sdy.mesh import unknown_axis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdybridge.errors import Path, SdyBridgeError
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.mlir.sdy_operations import Parameter
    from sdybridge.modules.verify.checker import Checker
    from sdybridge.modules.verify.context import Context
    from sdybridge.sdy import AllToAllParamListAttr, AxisRefListAttr, ListOfAxisRefListsAttr, MeshAttr

Axes = tuple[AxisRefAttr, ...]


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective, when its operand and its result are known to be well-formed.

    Attributes:
        checker: The text.
        axes: Its axes or moves; none for a permutation.
        operand: The operand's sharding; none if it has none, which counts as no axes.
        result: The result's sharding.
        mesh: The result's mesh.
    """

    checker: Checker
    axes: Parameter | None
    operand: TensorShardingAttr | None
    result: Placed
    mesh: MeshAttr

    @property
    def operand_dims(self) -> list[Axes]:
        """The axes of the operand's dimensions."""
        if self.operand is None:
            return [()] * self.result.sharding.rank
        return [dim.axes for dim in self.operand.dim_shardings]

    @property
    def operand_unreduced(self) -> Axes:
        """The operand's unreduced axes."""
        return self.operand.unreduced_axes if self.operand else ()

    def error(
        self,
        rule: str,
        message: str,
        path: Path = (),
        *,
        help: str | None = None,  # noqa: A002
    ) -> SdyBridgeError:
        """An error about the axes or moves at `path`."""
        return self.in_axes(VerificationError(message, rule=rule, path=path, help=help))

    def in_axes(self, error: VerificationError) -> SdyBridgeError:
        """The error, located in the axes or moves."""
        checker, axes = self.checker, self.axes
        if axes is None:
            return checker.in_place(error, self.result)
        error.notes = (*error.notes, *self.notes, f"in {self.result.where}")
        return locate(
            error,
            checker.source,
            axes.start,
            type(axes.value),
            target=checker.target,
            aliases=checker.aliases,
        )

    def result_error(
        self,
        rule: str,
        message: str,
        path: Path,
        *,
        help: str | None = None,  # noqa: A002
    ) -> SdyBridgeError:
        """An error about the result's sharding."""
        return self.checker.error_at(self.result, rule, message, path, notes=self.notes, help=help)

    @property
    def notes(self) -> list[str]:
        """What the operand has."""
        has = f"the operand has {self.operand.stripped}" if self.operand else "the operand has no sharding"
        return [has]


def verify_collective(
    checker: Checker,
    operation: Operation,
    parameters: dict[str, Parameter],
    type_text: str | None,
    context: Context,
) -> None:
    """All rules of one collective, in upstream's order.

    Raises:
        VerificationError: The first rule that is broken.
        AlreadyReportedError: Something that it depends on has an error of its own.
    """
    out = parameters["out_sharding"]
    where = checker.at(operation)
    result = Placed(out.value, out.start, TensorShardingAttr, (), Where(checker, operation, "the result"))
    operand = _operand_sharding(checker, operation, context)
    if operand is None and operation.name not in _MAY_START_FROM_NONE:
        raise checker.error(
            "collective-operand",
            "the operand of the collective has no sharding to start from",
            operation.operand_span(0),
            notes=[f"in {where}"],
            help="give it one, with an sdy.sharding attribute or an sdy.reshard in front",
        )
    checker.verify(result, type_text, context)
    mesh = checker.mesh_of(result, context)
    axes = next((p for key, p in parameters.items() if key != "out_sharding"), None)
    collective = Collective(checker, axes, operand, result, mesh)
    _verify_mesh(collective, context, ignore_ids=operation.name == "sdy.collective_permute")
    if axes is None:
        _collective_permute(collective)
    else:
        _RULES[operation.name](collective, axes.value)


def _operand_sharding(checker: Checker, operation: Operation, context: Context) -> TensorShardingAttr | None:
    operands = operation.operands
    definition = context.scope.find(operands[0]) if operands else None
    if definition is None:
        raise AlreadyReportedError
    return sharding_of(checker, definition)


def _verify_mesh(collective: Collective, context: Context, *, ignore_ids: bool) -> None:
    if collective.operand is None:
        return
    operand = Placed(collective.operand, 0, TensorShardingAttr, (), collective.result.where)
    ref = operand.sharding.mesh_or_ref
    if isinstance(ref, str) and context.module.meshes.get(ref) is None:
        raise AlreadyReportedError
    mesh = collective.checker.mesh_of(operand, context)
    if not mesh.equals(collective.mesh, ignore_device_ids=ignore_ids):
        message = f"the result's mesh {'has other axes than' if ignore_ids else 'is not'} the operand's"
        raise collective.result_error("collective-mesh", message, ("mesh_or_ref",))
    if ignore_ids and ref != collective.result.sharding.mesh_or_ref and mesh is collective.mesh:
        message = (
            "the result's mesh has another name than the operand's, but the same devices in the same order"
        )
        raise collective.result_error("collective-mesh", message, ("mesh_or_ref",))
    if collective.operand.rank != collective.result.sharding.rank:
        raise AlreadyReportedError


def _verify_refs(collective: Collective, refs: Axes, path: Path, seen: dict[AxisRefAttr, Path]) -> None:
    """The rules of one list of axes. Sizes of sub-axes are not among them, as upstream."""
    previous: AxisRefAttr | None = None
    for i, ref in enumerate(refs):
        at = (*path, i)
        if not collective.mesh.has_axis(ref.name):
            raise collective.in_axes(unknown_axis(ref.name, collective.mesh, at))
        if ref in seen:
            raise collective.error("duplicate-axis", f"axis {ref.stripped} stands twice", at)
        seen[ref] = at
        if previous is not None and previous.can_merge(ref):
            raise collective.error(
                "mergeable-sub-axes",
                f"{previous.stripped} and {ref.stripped} follow one another and have to be written as one",
                at,
                help=f"write {previous.merge(ref, collective.mesh).stripped}",
            )
        previous = ref


def _per_dimension(collective: Collective, lists: ListOfAxisRefListsAttr) -> list[Axes]:
    """The axes per dimension, after the rules of such a list."""
    rank = collective.result.sharding.rank
    if len(lists.value) != rank:
        count = f"{plural(len(lists.value), 'list')} of axes"
        raise collective.error(
            "collective-rank",
            f"{count} for {rank} dimensions",
            help="write one list per dimension, `{}` for one without axes",
        )
    seen: dict[AxisRefAttr, Path] = {}
    for i, refs in enumerate(lists.value):
        _verify_refs(collective, refs.value, ("value", i, "value"), seen)
    return [refs.value for refs in lists.value]


def _ordered(collective: Collective, refs: Axes) -> None:
    """The rules of the axes of a reduction: those of a list, in mesh order."""
    mesh = collective.mesh
    for i in range(1, len(refs)):
        ref, before = refs[i], refs[i - 1]
        key, key_before = mesh.axis_ref_key(ref), mesh.axis_ref_key(before)
        if ref < before if ref.name == before.name else key[0] < key_before[0]:
            in_order = ", ".join(ref.stripped for ref in sorted(refs, key=mesh.axis_ref_key))
            message = f"in the mesh {ref.stripped} comes before {before.stripped}, so it has to here"
            raise collective.error("collective-order", message, ("value", i), help=f"write {{{in_order}}}")
    _verify_refs(collective, refs, ("value",), {})


def _gathered(collective: Collective, dim: int, axes: Axes, path: Path, verb: str) -> Axes:
    """What is left of a dimension of the operand without `axes`, which stand at `path`, at its end."""
    left = list(collective.operand_dims[dim])
    for i in reversed(range(len(axes))):
        if not left or not axes[i].suffix_of(left[-1], collective.mesh):
            rest = ", ".join(ref.stripped for ref in left)
            message = f"{axes[i].stripped} cannot be {verb} dimension {dim}: "
            message += f"it is not at the end of [{rest}]" if left else "no axes are left there"
            raise collective.error("collective-axis", message, (*path, i))
        before = left.pop().get_prefix_without_overlap(axes[i])
        if before is not None:
            left.append(before)
    return tuple(left)


def _sliced(collective: Collective, dim: int, axes: Axes) -> Axes:
    """A dimension of the operand with `axes` appended."""
    dims = collective.operand_dims[dim]
    if dims and axes and dims[-1].can_merge(axes[0]):
        return (*dims[:-1], dims[-1].merge(axes[0], collective.mesh), *axes[1:])
    return (*dims, *axes)


def _verify_dimension(collective: Collective, dim: int, expected: Axes) -> None:
    """Whether the result has the axes that the collective makes of a dimension."""
    sharding = collective.result.sharding.dim_shardings[dim]
    if sharding.axes == expected:
        return
    wanted = ", ".join(ref.stripped for ref in expected)
    raise collective.result_error(
        "collective-result",
        f"the collective makes {{{wanted}}} of dimension {dim}, not {sharding.stripped}",
        ("dim_shardings", dim),
        help=f"write {{{wanted}}}",
    )


def _verify_same_dimensions(collective: Collective) -> None:
    for dim, axes in enumerate(collective.operand_dims):
        _verify_dimension(collective, dim, axes)


def _verify_equal_dimensions(collective: Collective) -> None:
    """Whether operand and result have the same dimension shardings, openness and priority included."""
    _verify_same_dimensions(collective)
    dims = collective.operand.dim_shardings if collective.operand else ()
    for i, (before, after) in enumerate(zip(dims, collective.result.sharding.dim_shardings, strict=False)):
        if before is not after:
            raise collective.result_error(
                "collective-result",
                f"dimension {i} is {before.stripped} in the operand and has to stay so, not {after.stripped}",
                ("dim_shardings", i),
                help=f"write {before.stripped}",
            )


def _verify_unreduced(collective: Collective, axes: Iterator[AxisRefAttr]) -> None:
    """The result's unreduced axes are the operand's with `axes`, in mesh order and merged."""
    expected: list[AxisRefAttr] = []
    for ref in sorted((*collective.operand_unreduced, *axes), key=collective.mesh.axis_ref_key):
        if expected and expected[-1].can_merge(ref):
            ref = expected.pop().merge(ref, collective.mesh)
        expected.append(ref)
    if tuple(expected) != collective.result.sharding.unreduced_axes:
        wanted = ", ".join(ref.stripped for ref in expected)
        raise collective.result_error(
            "unreduced-result",
            "the result's unreduced axes are not the operand's together with those of the collective",
            ("unreduced_axes",),
            help=f"write unreduced={{{wanted}}}" if wanted else "leave them out",
        )


def _all_gather(collective: Collective, lists: ListOfAxisRefListsAttr) -> None:
    _gather(collective, lists, "gathered from")


def _gather(collective: Collective, lists: ListOfAxisRefListsAttr, verb: str) -> None:
    for dim, axes in enumerate(_per_dimension(collective, lists)):
        _verify_dimension(collective, dim, _gathered(collective, dim, axes, ("value", dim, "value"), verb))


def _all_slice(collective: Collective, lists: ListOfAxisRefListsAttr) -> None:
    for dim, axes in enumerate(_per_dimension(collective, lists)):
        _verify_dimension(collective, dim, _sliced(collective, dim, axes))


def _sharded_to_unreduced(collective: Collective, lists: ListOfAxisRefListsAttr) -> None:
    _gather(collective, lists, "taken off")
    _verify_unreduced(collective, (ref for refs in lists.value for ref in refs.value))


def _all_to_all(collective: Collective, moves: AllToAllParamListAttr) -> None:
    if not moves.value:
        raise collective.error(
            "collective-empty", "an all-to-all makes at least one move", help="write `{axes}: source->target`"
        )
    rank = collective.result.sharding.rank
    seen: dict[AxisRefAttr, Path] = {}
    taken: set[int] = set()
    expected = collective.operand_dims
    for k, move in enumerate(moves.value):
        _verify_refs(collective, move.axes, ("value", k, "axes"), seen)
        for what, dim in (("source", move.src_dim), ("target", move.tgt_dim)):
            if not 0 <= dim < rank:
                message = f"there is no {what} dimension {dim}: the tensor has {rank} dimensions"
                raise collective.error("move-range", message, ("value", k))
            if dim in taken:
                message = f"dimension {dim} takes part twice in the all-to-all"
                raise collective.error("move-overlap", message, ("value", k))
            taken.add(dim)
        if k and move.src_dim < (before := moves.value[k - 1].src_dim):
            message = f"the move from dimension {move.src_dim} stands after that from dimension {before}"
            fix = "sort the moves by their sources"
            raise collective.error("move-order", message, ("value", k), help=fix)
    for k, move in enumerate(moves.value):
        axes, source = move.axes, move.src_dim
        expected[source] = _gathered(collective, source, axes, ("value", k, "axes"), "moved from")
        expected[move.tgt_dim] = _sliced(collective, move.tgt_dim, axes)
    for dim, refs in enumerate(expected):
        _verify_dimension(collective, dim, refs)


def _all_reduce(collective: Collective, refs: AxisRefListAttr) -> None:
    _verify_same_dimensions(collective)
    _ordered(collective, refs.value)
    operand = collective.operand
    in_use = [ref for axes in collective.operand_dims for ref in axes]
    in_use += operand.replicated_axes if operand else ()
    for i, ref in enumerate(refs.value):
        if any(ref.overlaps(other) for other in in_use):
            message = f"{ref.stripped} cannot be reduced over: the operand is sharded or replicated along it"
            raise collective.error("collective-overlap", message, ("value", i))
        if any(ref.overlaps(other) for other in collective.result.sharding.unreduced_axes):
            message = f"{ref.stripped} is reduced over, but the result is unreduced along it"
            raise collective.error("collective-overlap", message, ("value", i))


def _replicated_to_unreduced(collective: Collective, refs: AxisRefListAttr) -> None:
    _verify_equal_dimensions(collective)
    if not refs.value:
        raise collective.error("collective-empty", "at least one axis becomes unreduced")
    _ordered(collective, refs.value)
    in_dims = [ref for axes in collective.operand_dims for ref in axes]
    for i, ref in enumerate(refs.value):
        if any(ref.overlaps(other) for other in in_dims):
            message = f"{ref.stripped} cannot become unreduced: the operand is sharded along it"
            raise collective.error("collective-overlap", message, ("value", i))
        if any(ref.overlaps(other) for other in collective.operand_unreduced):
            message = f"{ref.stripped} cannot become unreduced: the operand is so already"
            raise collective.error("collective-overlap", message, ("value", i))
    _verify_unreduced(collective, iter(refs.value))


def _collective_permute(collective: Collective) -> None:
    mesh = collective.mesh
    for i, dim in enumerate(collective.result.sharding.dim_shardings):
        size = dim.get_sharded_size(mesh)
        before = 1
        for ref in collective.operand_dims[i]:
            before *= ref.get_size(mesh)
        if size != before:
            raise collective.result_error(
                "collective-size",
                f"a permutation cannot turn {before} pieces of dimension {i} into {size}",
                ("dim_shardings", i),
            )


_RULES: dict[str, Callable[..., None]] = {
    "sdy.all_gather": _all_gather,
    "sdy.all_reduce": _all_reduce,
    "sdy.all_slice": _all_slice,
    "sdy.all_to_all": _all_to_all,
    "sdy.reduce_scatter": _all_slice,
    "sdy.replicated_to_unreduced": _replicated_to_unreduced,
    "sdy.sharded_to_unreduced": _sharded_to_unreduced,
}
COLLECTIVES = frozenset((*_RULES, "sdy.collective_permute"))
"""The names of the operations that `verify_collective` knows."""

_MAY_START_FROM_NONE = frozenset(("sdy.all_slice", "sdy.all_reduce", "sdy.reduce_scatter"))
