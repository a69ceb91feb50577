"""The rules of `sdy.manual_computation` and `sdy.named_computation`.

Source: shardy/dialect/sdy/ir/verifiers.cc, `ManualComputationOp::verify`, `NamedComputationOp::verify`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.result_types import expand_type
from sdybridge.modules.mlir.types import element_of, shape_of, with_shape
from sdybridge.modules.verify.checker import count
from sdybridge.sdy import ManualAxesAttr
from sdybridge.sdy.printer import show
from sdybridge.sdy.suggestions import closest, listing

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.mlir.sdy_operations import Parameter
    from sdybridge.modules.verify.checker import Checker
    from sdybridge.modules.verify.context import Context, Placed, Where
    from sdybridge.sdy import MeshAttr, TensorShardingAttr
    from sdybridge.source import Span


@dataclass(frozen=True, slots=True)
class _Values:
    """The operands (or results) of a computation and what they are in its body.

    Attributes:
        kind: `operand` or `result`.
        names: How many of them the text names.
        outside: The types of the operation's operands (or results).
        inside: The types of the body's arguments (or returned values), each with its place.
        place: Where an error about their number is.
    """

    kind: str
    names: int
    outside: list[str]
    inside: list[tuple[str, Span]]
    place: Span


def verify_named_computation(
    checker: Checker, operation: Operation, parameters: dict[str, Parameter], context: Context
) -> None:
    """All rules of one named computation.

    Raises:
        VerificationError: The first rule that is broken.
    """
    where = checker.at(operation)
    for values, key in zip(_both(checker, operation), ("in_shardings", "out_shardings"), strict=True):
        _verify_count(checker, values, where)
        for index, (outside, (inside, span)) in enumerate(zip(values.outside, values.inside, strict=True)):
            if _spaceless(outside) != _spaceless(inside):
                raise checker.error(
                    "region-type",
                    f"{values.kind} {index} is {outside} outside, but {inside} in the body",
                    span,
                    notes=[f"in {where}"],
                )
        if key in parameters:
            found = parameters[key]
            checker.verify_per_value(found.value, found.start, values.outside, context, where, values.kind)


def verify_manual_computation(
    checker: Checker, operation: Operation, parameters: dict[str, Parameter], context: Context
) -> None:
    """All rules of one manual computation, in upstream's order.

    Raises:
        VerificationError: The first rule that is broken.
        AlreadyReportedError: A mesh has an error of its own.
    """
    where = checker.at(operation)
    manual_axes: ManualAxesAttr = parameters["manual_axes"].value
    _verify_not_nested(checker, parameters["manual_axes"], context, where)
    all_placed: list[Placed] = []
    for values, key in zip(_both(checker, operation), ("in_shardings", "out_shardings"), strict=True):
        _verify_count(checker, values, where)
        found = parameters[key]
        placed = checker.verify_per_value(
            found.value, found.start, values.outside, context, where, values.kind
        )
        for one, outside, inside in zip(placed, values.outside, values.inside, strict=True):
            mesh = checker.mesh_of(one, context)
            _verify_axis_order(checker, one, manual_axes.value)
            _verify_local_type(checker, one, mesh, manual_axes.value, outside, inside)
        all_placed += placed
    if manual_axes.value and all_placed:
        mesh = _common_mesh(checker, all_placed, context)
        _verify_known(checker, parameters["manual_axes"], mesh, where)


def _both(checker: Checker, operation: Operation) -> tuple[_Values, _Values]:
    """The operands and arguments, and the results and returned values."""
    text, aliases = checker.text, checker.tree.aliases

    def cut(spans: Sequence[Span] | None) -> list[str]:
        return [expand_type(text[span.start : span.end], text, aliases) for span in spans or ()]

    before, after = operation.signature_types
    arguments = []
    returned: Sequence[Span] = ()
    body_end = operation.name_span
    if operation.regions:
        block = operation.regions[0].blocks[0]
        arguments = [argument.type for argument in operation.block_arguments(block)]
        if block.operations:
            last = block.operations[-1]
            returned = last.signature_types[0] if last.full_name == "sdy.return" else ()
            body_end = last.name_span
    inside = list(zip(cut(arguments), arguments, strict=True))
    outside = list(zip(cut(returned), returned, strict=True))
    return (
        _Values("operand", len(operation.operands), cut(before), inside, operation.name_span),
        _Values("result", sum(count for _, count in operation.results), cut(after), outside, body_end),
    )


def _verify_count(checker: Checker, values: _Values, where: Where) -> None:
    # A text may leave out the names of results.
    if values.names != len(values.outside) and (values.names or values.kind == "operand"):
        raise checker.error(
            "region-arguments",
            f"{count(values.names, values.kind)}, but {count(len(values.outside), 'type')}",
            where.operation.name_span,
            notes=[f"in {where}"],
        )
    if len(values.outside) == len(values.inside):
        return
    inside = "argument" if values.kind == "operand" else "returned value"
    raise checker.error(
        "region-arguments",
        f"{count(len(values.outside), values.kind)}, but {count(len(values.inside), inside)} in the body",
        values.place,
        notes=[f"in {where}"],
    )


def _verify_axis_order(checker: Checker, placed: Placed, manual_axes: Collection[str]) -> None:
    for i, dim in enumerate(placed.sharding.dim_shardings):
        free = None
        for j, ref in enumerate(dim.axes):
            if ref.name not in manual_axes:
                free = ref
            elif free is not None:
                manual = [r.stripped for r in dim.axes if r.name in manual_axes]
                rest = [r.stripped for r in dim.axes if r.name not in manual_axes]
                raise checker.error_at(
                    placed,
                    "manual-axis-order",
                    f"the manual axis {ref.stripped} stands after the free axis {free.stripped}",
                    ("dim_shardings", i, "axes", j),
                    help=f"write {{{', '.join(manual + rest)}}}",
                )


def _verify_local_type(
    checker: Checker,
    placed: Placed,
    mesh: MeshAttr,
    manual_axes: Collection[str],
    outside: str,
    inside: tuple[str, Span],
) -> None:
    """The body's type is the one outside with each size divided by its manual axes."""
    shape = shape_of(outside)
    if shape is None:
        return
    local = list(shape)
    sharding: TensorShardingAttr = placed.sharding
    for i, dim in enumerate(sharding.dim_shardings):
        pieces = 1
        for ref in dim.axes:
            pieces *= ref.get_size(mesh) if ref.name in manual_axes else 1
        size = shape[i]
        if size is None:
            continue
        if size % pieces:
            raise checker.error_at(
                placed,
                "manual-divisibility",
                f"the manual axes cut dimension {i} into {pieces}, which does not divide its size {size}",
                ("dim_shardings", i),
            )
        local[i] = size // pieces
    actual, span = inside
    if shape_of(actual) == tuple(local) and _spaceless(element_of(actual)) == _spaceless(element_of(outside)):
        return
    expected = with_shape(outside, tuple(local))
    message = f"the manual axes make {expected} of {outside}, but the body has {actual}"
    if tuple(local) == shape:
        message = f"no manual axis divides {outside}, but the body has {actual}"
    raise checker.error(
        "manual-shape",
        message,
        span,
        notes=[f"by the sharding {sharding.stripped} of {placed.where}"],
        help=f"write {expected}",
    )


def _common_mesh(checker: Checker, all_placed: list[Placed], context: Context) -> MeshAttr:
    """The one mesh of all shardings; an empty one only if they all are."""
    common = checker.mesh_of(all_placed[0], context)
    first = all_placed[0]
    for placed in all_placed[1:]:
        mesh = checker.mesh_of(placed, context)
        if common.is_empty:
            common, first = mesh, placed
        elif not mesh.is_empty and mesh is not common:
            raise checker.error_at(
                placed,
                "manual-mesh",
                "the shardings of a manual computation are on different meshes",
                ("mesh_or_ref",),
                notes=[f"{first.where} is on {common.stripped}, this is on {mesh.stripped}"],
            )
    return common


def _verify_not_nested(checker: Checker, parameter: Parameter, context: Context, where: Where) -> None:
    for i, name in enumerate(parameter.value.value):
        if name in context.manual_axes:
            raise checker.error(
                "axis-is-manual",
                f"axis {show(name)} is manual here already",
                checker.place_of(parameter.start, ManualAxesAttr, ("value", i)),
                notes=[f"by {checker.at(context.manual_axes[name])}", f"in {where}"],
            )


def _verify_known(checker: Checker, parameter: Parameter, mesh: MeshAttr, where: Where) -> None:
    for i, name in enumerate(parameter.value.value):
        if not mesh.has_axis(name):
            meant = closest(name, mesh.axis_names)
            known = f"its axes are {listing(mesh.axis_names)}" if mesh.axes else "it has no axes"
            raise checker.error(
                "unknown-manual-axis",
                f"the mesh has no axis named {show(name)}",
                checker.place_of(parameter.start, ManualAxesAttr, ("value", i)),
                notes=[known, f"in {where}"],
                help=f"did you mean {show(meant)}?" if meant else None,
            )


def _spaceless(text: str) -> str:
    return "".join(text.split())
