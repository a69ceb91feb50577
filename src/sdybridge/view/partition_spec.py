"""JAX's `PartitionSpec` as text: `P('x', None, ('y', 'z'), unreduced={'w'})`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.bridge import Loss, LossKind
from sdybridge.errors import ConversionError, ParseError
from sdybridge.sdy import AxisRefAttr, DimensionShardingAttr, TensorShardingAttr
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    from sdybridge.sdy import MeshAttr

_LONGEST = 10_000
_HELP = "write the axis of each dimension: P('x', None, ('y', 'z'))"


def parse_partition_spec(
    text: str, mesh: MeshAttr | None, *, rank: int | None = None, mesh_name: str = "mesh"
) -> TensorShardingAttr:
    """The Shardy sharding that JAX makes of a `PartitionSpec`.

    Args:
        text: `P(...)` or `PartitionSpec(...)`. Dimensions that it leaves out are not split.
        mesh: The mesh, whose order the unreduced axes are put in.
        rank: The rank of the tensor, to fill it up to; by default that of the text.
        mesh_name: The name of the mesh in the result.

    Raises:
        ParseError: The text is no `PartitionSpec`, or has more dimensions than the tensor.

    >>> parse_partition_spec("P('x', None, ('y', 'z'))", None).stripped
    '<@mesh, [{"x"}, {}, {"y", "z"}]>'
    """
    source = Source(text)
    call = _call(source)
    dims = [_dimension(source, argument) for argument in call.args]
    if rank is not None and len(dims) > rank:
        raise _error(
            source,
            call.args[rank],
            f"the spec has {len(dims)} dimensions, the tensor {rank}",
            f"drop {len(dims) - rank}",
        )
    dims += [DimensionShardingAttr()] * ((rank or 0) - len(dims))
    sets: dict[str, list[AxisRefAttr]] = {"unreduced": [], "reduced": []}
    for keyword in call.keywords:
        if keyword.arg not in sets:
            raise _error(source, keyword.value, f"a spec has no {keyword.arg!r}", "leave it out")
        sets[keyword.arg] = [AxisRefAttr(name) for name in _names(source, keyword.value)]
    unreduced = sets["unreduced"]
    if mesh is not None:
        unreduced = sorted(unreduced, key=mesh.axis_ref_key)
    return TensorShardingAttr(mesh_name, dims, (), unreduced)


def format_partition_spec(sharding: TensorShardingAttr) -> str:
    """The `PartitionSpec` of a sharding.

    Raises:
        ConversionError: It has parts of axes, or open dimensions with axes, which JAX cannot say.

    >>> format_partition_spec(TensorShardingAttr.from_string('<@m, [{"x", "y"}, {}, {?}], unreduced={"z"}>'))
    "P(('x', 'y'), None, P.UNCONSTRAINED, unreduced={'z'})"
    """
    parts = []
    for dim in sharding.dim_shardings:
        _check_whole(dim.axes)
        names = [ref.name for ref in dim.axes]
        if not names:
            parts.append("None" if dim.is_closed else "P.UNCONSTRAINED")
        else:
            parts.append(repr(names[0]) if len(names) == 1 else repr(tuple(names)))
    if sharding.unreduced_axes:
        _check_whole(sharding.unreduced_axes)
        unreduced = ", ".join(repr(ref.name) for ref in sharding.unreduced_axes)
        parts.append(f"unreduced={{{unreduced}}}")
    return f"P({', '.join(parts)})"


def partition_spec_losses(sharding: TensorShardingAttr) -> tuple[Loss, ...]:
    """What the `PartitionSpec` of a sharding does not say."""
    losses = []
    for i, dim in enumerate(sharding.dim_shardings):
        if dim.axes and not dim.is_closed:
            losses.append(Loss(LossKind.OPENNESS, ("dim_shardings", i), dim.stripped))
        if dim.priority is not None:
            losses.append(Loss(LossKind.PRIORITY, ("dim_shardings", i), f"p{dim.priority}"))
    for i, ref in enumerate(sharding.replicated_axes):
        losses.append(Loss(LossKind.EXPLICIT_REPLICATION, ("replicated_axes", i), ref.stripped))
    if sharding.unreduced_axes and sharding.reduction_op.name != "SUM":
        losses.append(Loss(LossKind.REDUCTION_OP, ("reduction_op",), sharding.reduction_op.name.lower()))
    return tuple(losses)


def _check_whole(refs: Iterable[AxisRefAttr]) -> None:
    for ref in refs:
        if ref.sub_axis_info is not None:
            raise ConversionError(
                f"a PartitionSpec names whole axes only, and {ref.stripped} is a part of one"
            )


def _call(source: Source) -> ast.Call:
    import ast

    text = source.text.strip()
    shift = source.text.find(text)
    if len(text) > _LONGEST:
        raise ParseError("the spec is too long", source=source, span=Span(shift, shift + 1), help=_HELP)
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = getattr(error, "offset", None) or 1
        line = text.split("\n")[0]
        start = shift + min(max(at - 1, 0), max(0, len(line) - 1))
        raise ParseError(
            "this is no PartitionSpec", source=source, span=Span(start, start + 1), help=_HELP
        ) from None
    if isinstance(tree, ast.Call) and ast.unparse(tree.func).endswith("NamedSharding"):
        inner = [
            argument
            for argument in (*tree.args, *[keyword.value for keyword in tree.keywords])
            if isinstance(argument, ast.Call) and ast.unparse(argument.func).split(".")[-1] in _SPEC_NAMES
        ]
        tree = inner[0] if inner else tree
    if not isinstance(tree, ast.Call) or ast.unparse(tree.func).split(".")[-1] not in _SPEC_NAMES:
        raise ParseError(
            "this is no PartitionSpec", source=source, span=Span(shift, shift + len(text)), help=_HELP
        )
    return tree


_SPEC_NAMES = ("P", "PartitionSpec")


def _dimension(source: Source, node: ast.expr) -> DimensionShardingAttr:
    import ast

    if ast.unparse(node).endswith("UNCONSTRAINED"):
        return DimensionShardingAttr(is_closed=False)
    if isinstance(node, ast.Constant) and node.value is None:
        return DimensionShardingAttr()
    return DimensionShardingAttr([AxisRefAttr(name) for name in _names(source, node)])


def _names(source: Source, node: ast.expr) -> list[str]:
    """The axis names in `'x'`, `('x', 'y')`, `{'x'}` or `frozenset({'x'})`."""
    import ast

    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("frozenset", "set") and len(node.args) < 2:
        return _names(source, node.args[0]) if node.args else []
    nodes = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    names = []
    for element in nodes:
        if not isinstance(element, ast.Constant) or not isinstance(element.value, str):
            raise _error(source, element, f"{ast.unparse(element)} is no axis name", _HELP)
        names.append(element.value)
    return names


def _error(source: Source, node: ast.expr, message: str, help_text: str) -> ParseError:
    """The error at a node; offsets count bytes of a line, which are characters in all but odd names."""
    shift = len(source.text) - len(source.text.lstrip())
    lines = source.text.strip().split("\n")
    before = sum(len(line) + 1 for line in lines[: node.lineno - 1])
    start = min(shift + before + node.col_offset, max(0, len(source.text) - 1))
    end = start + 1
    if node.end_lineno == node.lineno and node.end_col_offset is not None:
        end = max(end, min(len(source.text), start + node.end_col_offset - node.col_offset))
    return ParseError(message, source=source, span=Span(start, end), help=help_text)
