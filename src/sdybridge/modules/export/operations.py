"""What becomes of each Shardy operation on export."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError
from sdybridge.modules.export.reductions import (
    REDUCTIONS,
    TO_UNREDUCED,
    export_reduction,
    export_unreduced_constant,
)
from sdybridge.modules.mlir.computations import NAMES, statement_start
from sdybridge.modules.mlir.dictionary import read_dictionary
from sdybridge.modules.mlir.lexer import (
    SUFFIX_ID,
    TRIVIA,
    describe,
    matching_bracket,
    parse_error,
    skip_trivia,
    type_end,
)
from sdybridge.modules.mlir.reader import parse_one
from sdybridge.modules.mlir.sdy_operations import read_parameters
from sdybridge.modules.mlir.signature import results_of_generic, sharding_rank
from sdybridge.modules.mlir.sites import SiteKind
from sdybridge.modules.splice import statement, whole_line
from sdybridge.sdy import DimensionShardingAttr, TensorShardingAttr, parse_prefix
from sdybridge.source import Span

if TYPE_CHECKING:
    from sdybridge.modules.export.shardings import ShardingExport
    from sdybridge.modules.mlir.sites import Site

CONSTRAINTS = frozenset({"sdy.reshard", "sdy.sharding_constraint"})
"""The operations that say how one value is laid out, and nothing else."""

_COLLECTIVES = frozenset(
    {"sdy.all_gather", "sdy.all_slice", "sdy.all_to_all", "sdy.collective_permute", "sdy.reduce_scatter"}
)
_FORWARDING = frozenset({"sdy.data_flow_edge", "sdy.func_data_flow_edge", "sdy.propagation_barrier"})
"""The operations whose operand takes the place of the result."""

_OPERAND = re.compile(rf"(%{SUFFIX_ID})(?:{TRIVIA}(#\d++))?")
_OUT_SHARDING = re.compile(rf"out_sharding{TRIVIA}={TRIVIA}")
_GROUP = re.compile(rf"%{SUFFIX_ID}(?:{TRIVIA}#\d++)?{TRIVIA}group_id{TRIVIA}={TRIVIA}\d++")


class ConstraintForm(enum.Enum):
    """How a sharding constraint or reshard is written after export.

    Attributes:
        COPY: `mhlo.copy`, as XLA's pipeline writes it. Needs a consumer that knows the mhlo dialect.
        CUSTOM_CALL: `stablehlo.custom_call @Sharding`, which every StableHLO consumer reads.

    >>> [form.value for form in ConstraintForm]
    ['mhlo.copy', 'stablehlo.custom_call @Sharding']
    """

    COPY = "mhlo.copy"
    CUSTOM_CALL = "stablehlo.custom_call @Sharding"


def export_operation(export: ShardingExport, site: Site) -> int:
    """Rewrite the operation at `site`; return the offset up to which it is done.

    Raises:
        ParseError: The operation is malformed.
        ConversionError: The operation is not supported yet.
    """
    kind, name, start, end, _ = site
    generic = kind is SiteKind.GENERIC_OPERATION
    if name == "sdy.return":
        if not export.computations:
            raise parse_error(export.text, start, "sdy.return ends no computation", end=end)
        return export.computations.terminator(site, end)
    export.operations[name] += 1
    if name in NAMES and export.computations:
        return export.computations.enter(site)
    if name == "sdy.mesh":
        return _remove_mesh(export, start)
    if name == "sdy.constant":
        return _constant(export, start, end, generic=generic)
    if name == "sdy.sharding_group":
        return _remove_group(export, start, end, generic=generic)
    if name in _FORWARDING:
        return _forward(export, start)
    if name in REDUCTIONS or name in TO_UNREDUCED:
        return _reduction(export, site)
    if name in CONSTRAINTS or name in _COLLECTIVES:
        return _generic_copy(export, start, end) if generic else _copy(export, name, start, end)
    raise ConversionError(
        f"{name} is not exported yet",
        source=export.source,
        span=Span(start, end),
        help="run it through XLA's own pipeline, or remove the operation",
    )


def _constant(export: ShardingExport, start: int, end: int, *, generic: bool) -> int:
    """A constant of StableHLO's; what follows makes it unreduced, if it is."""
    if export.has_unreduced:
        operation = parse_one(export.source, statement_start(export.text, start))
        if export_unreduced_constant(export, operation):
            return operation.end
    new = "stablehlo.constant"
    export.new.replace(start, end, f'"{new}"' if generic else new)
    return end


def _remove_mesh(export: ShardingExport, start: int) -> int:
    """Meshes go, but for one that a collective still names as its replica groups."""
    if start not in export.meshes.by_start:
        export.read_all_meshes()
    mesh = export.meshes.by_start[start]
    if mesh.name in export.replica_group_meshes:
        return mesh.span.end
    first, last = statement(export.text, start, mesh.span.end)
    export.new.replace(first, last, "")
    return last


def _remove_group(export: ShardingExport, start: int, end: int, *, generic: bool) -> int:
    """`sdy.sharding_group %a group_id=3 {...} : T`: the groups have done their work before export."""
    text = export.text
    at = skip_trivia(text, end)
    if generic:
        at = results_of_generic(text, skip_trivia(text, matching_bracket(text, at)))
        last = type_end(text, at)
    else:
        group = _GROUP.match(text, at)
        if not group:
            raise parse_error(text, at, f"expected `%value group_id=...`, found {describe(text, at)}")
        last = type_end(text, _type_behind(text, group.end()))
    first, last = statement(text, start, last)
    export.new.replace(first, last, "")
    return last


def _forward(export: ShardingExport, start: int) -> int:
    """`%1 = sdy.propagation_barrier %0 ...`: what uses the result uses the operand now."""
    text = export.text
    operation = parse_one(export.source, statement_start(text, start))
    read_parameters(export.checker, operation)
    results, operands = operation.results, operation.operands
    if len(operands) != 1 or [count for _, count in results] not in ([1], []):
        raise parse_error(text, start, f"{operation.name} takes one value and returns one")
    first, last = whole_line(text, operation.start, operation.end)
    export.new.replace(first, last, "")
    export.new.append("", [(name, -1, operands[0]) for name, _ in results])
    return last


def _reduction(export: ShardingExport, site: Site) -> int:
    """A reduction, or what undoes one: a manual computation where a value is unreduced."""
    _, name, start, end, _ = site
    operation = parse_one(export.source, statement_start(export.text, start))
    operand = export.operands.sharding(operation) if export.has_unreduced else None
    if operand and (name in TO_UNREDUCED or operand.unreduced_axes):
        export_reduction(export, operation, operand)
        return operation.end
    if name == "sdy.all_reduce":
        return _forward(export, start)
    if name == "sdy.reduce_scatter":
        return _generic_copy(export, start, end) if operation.is_generic else _copy(export, name, start, end)
    raise ConversionError(
        f"{name} cannot be exported: the text does not tell the sharding of its operand",
        source=export.source,
        span=operation.name_span,
        help="give what computes the operand a sharding",
    )


def _copy(export: ShardingExport, name: str, start: int, end: int) -> int:
    """`sdy.reshard %a <...> {...} : T` and the collectives, `sdy.all_gather [...] %a out_sharding=<...> : T`.

    The new operation carries its sharding only, as XLA's does.
    """
    text = export.text
    at = skip_trivia(text, end)
    collective = name in _COLLECTIVES
    if collective and text.startswith("[", at):
        at = skip_trivia(text, matching_bracket(text, at))
    operand = _OPERAND.match(text, at)
    if not operand:
        raise parse_error(text, at, f"expected the operand of {name}, found {describe(text, at)}")
    at = skip_trivia(text, operand.end())
    if collective:
        keyword = _OUT_SHARDING.match(text, at)
        if not keyword:
            raise parse_error(text, at, f"expected `out_sharding=<...>`, found {describe(text, at)}")
        at = keyword.end()
    if not text.startswith("<", at) and not (collective and text.startswith("#", at)):
        raise parse_error(
            text, at, f"expected the sharding of {name} as `<@mesh, [...]>`, found {describe(text, at)}"
        )
    attr, after = parse_prefix(
        export.source,
        at,
        TensorShardingAttr,
        target=export.target,
        aliases=export.aliases,
    )
    at_type = _type_behind(text, after)
    end = type_end(text, at_type)
    of_type = text[at_type:end]
    attr = _of_scope(export, attr, at, of_type)
    converted = export.convert(attr, at, [of_type])
    head, tail = export.copy(converted, text[at:after], of_type)
    export.new.replace(start, end, f"{head}{operand[1]}{operand[2] or ''}{tail}")
    return end


def _generic_copy(export: ShardingExport, start: int, end: int) -> int:
    """`"sdy.reshard"(%a) <{sharding = #sdy.sharding<...>}> {...} : (T) -> T` and the collectives."""
    text = export.text
    operands = skip_trivia(text, end)
    arguments_end = matching_bracket(text, operands)
    at = skip_trivia(text, arguments_end)
    arguments = text[operands:arguments_end]
    brace = skip_trivia(text, at + 1) if text.startswith("<", at) else at
    sharding = None
    if text.startswith("{", brace):
        for entry in read_dictionary(text, brace):
            if entry.key in {"sharding", "out_sharding"} and entry.value:
                sharding = entry.value
    if sharding is None:
        raise parse_error(text, start, "the operation has no property `sharding` or `out_sharding`", end=end)
    after = skip_trivia(text, matching_bracket(text, at))
    at_type = results_of_generic(text, at)
    if text.startswith("{", after):
        after = skip_trivia(text, matching_bracket(text, after))
    attr, _ = parse_prefix(
        export.source, sharding.start, TensorShardingAttr, target=export.target, aliases=export.aliases
    )
    if text.startswith("(", at_type):
        at_type = skip_trivia(text, at_type + 1)
    of_type = text[at_type : type_end(text, at_type)]
    attr = _of_scope(export, attr, sharding.start, of_type)
    converted = export.convert(attr, sharding.start, [of_type])
    name = '"mhlo.copy"'
    properties = ""
    if export.constraints is ConstraintForm.CUSTOM_CALL:
        name = '"stablehlo.custom_call"'
        properties = ' <{call_target_name = "Sharding"}>'
    new = f"{name}{arguments}{properties} {{{converted.attribute}}} "
    export.new.replace(start, after, new)
    return after


def _of_scope(export: ShardingExport, attr: TensorShardingAttr, at: int, of_type: str) -> TensorShardingAttr:
    """The sharding; in a manual computation, instead of one without axes on another mesh, one on its own."""
    if not export.scope or not export.is_foreign(attr, at=at):
        return attr
    closed = [DimensionShardingAttr((), is_closed=True)] * (sharding_rank(of_type) or 0)
    return TensorShardingAttr(export.scope.mesh, closed)


def _type_behind(text: str, at: int) -> int:
    """Where the type starts behind `at`, past a dictionary and the colon."""
    colon = skip_trivia(text, at)
    if text.startswith("{", colon):
        colon = skip_trivia(text, matching_bracket(text, colon))
    if not text.startswith(":", colon):
        raise parse_error(text, colon, f"expected ':' and a type, found {describe(text, colon)}")
    return skip_trivia(text, colon + 1)
