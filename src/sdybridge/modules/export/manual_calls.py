"""The text that takes the place of a computation, and the function that its body becomes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError
from sdybridge.modules.mlir.lexer import STRING, SUFFIX_ID, TRIVIA
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.types import is_shaped
from sdybridge.modules.verify.value_shardings import without_axes
from sdybridge.sdy import TensorShardingAttr
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.modules.export.computations import ComputationExport
    from sdybridge.modules.mlir.computations import Computation, ManualScope
    from sdybridge.modules.mlir.operations import Operation

BODY_NAME = "xla.sdy.inlinable_manual_computation_body"

_TOKEN = re.compile(rf"(%{SUFFIX_ID})|{STRING}|//[^\n]*+")
_NAMES = rf"%{SUFFIX_ID}(?:{TRIVIA}:{TRIVIA}\d++)?"
_DEFINED = re.compile(
    rf"%(?:({SUFFIX_ID})(?=(?:{TRIVIA}:{TRIVIA}\d++)?(?:{TRIVIA},{TRIVIA}{_NAMES})*+{TRIVIA}=(?!=))"
    rf"|(?<=[(,\s]%)({SUFFIX_ID}):(?= ?[\w!(]))"
)
"""Pattern of a value where it is defined, or of an argument."""

Names = list[tuple[str, int, str]]
"""Values that others replace: a name, a number under it or -1, and what takes its place."""


Operand = tuple[str, TensorShardingAttr, str, str]
"""What goes into a manual computation: its name, sharding, type, and type in the body."""

Result = tuple[str, int, TensorShardingAttr, str, str]
"""What comes out: its name, number under it or -1, sharding, type in the body, and type."""


def call_of(
    work: ComputationExport, computation: Computation, scope: ManualScope | None, body: str
) -> tuple[str, Names]:
    """The new text of a computation, whose function joins those of the module; and the values to rename.

    Args:
        work: The export.
        computation: The computation.
        scope: What is manual in its body.
        body: The new text of the body, with its terminator.
    """
    if computation.is_inlined:
        return _inlined(work, computation, body), []
    verify_captures(computation, body)
    if computation.is_manual and scope:
        return _call_manual(work, computation, scope, body)
    return _call_named(work, computation, scope, body), []


def _call_manual(
    work: ComputationExport, computation: Computation, scope: ManualScope, body: str
) -> tuple[str, Names]:
    _convert(work, computation)
    operands, results = [*computation.operands()], [*computation.results()]
    around = [(before, after) for before, after, _ in computation.arguments()]
    lines, renamed, head = manual_call(work, computation.operation, scope, operands, results, around)
    work.add_function(computation, head, body, scope)
    return computation.join(lines), renamed


def manual_call(
    work: ComputationExport,
    operation: Operation,
    scope: ManualScope,
    operands: Sequence[Operand],
    results: Sequence[Result],
    arguments: Sequence[tuple[str, str]],
) -> tuple[list[str], Names, str]:
    """The operations that call a manual computation's body, the values to rename, and the function's head.

    Args:
        work: The export.
        operation: The operation that these take the place of.
        scope: What is manual in the body.
        operands: What goes in.
        results: What comes out.
        arguments: The text of each of the body's arguments up to its type, and what follows that.

    Source: `convertManualComputation` in xla's `stablehlo_round_trip/shard_map_export.cc`.
    """
    export, at = work.export, operation.name_start
    outer_axes = export.scope.axes if export.scope else ()

    def full(sharding: TensorShardingAttr) -> str:
        return export.attribute(sharding, at, outer_axes)

    def local(sharding: TensorShardingAttr) -> str:
        return export.attribute(without_axes(sharding, scope.axes), at, scope.axes)

    lines = []
    given = []
    for name, sharding, outside, inside in operands:
        if not is_shaped(outside):
            given.append(name)
            continue
        copied, inner = export.new.fresh(2)
        lines.append(_copy(work, copied, name, full(sharding), outside))
        lines.append(_custom_call(inner, "SPMDFullToShardShape", copied, local(sharding), outside, inside))
        given.append(inner)

    symbol = work.symbols.make(BODY_NAME)
    entries = [local(sharding) for _, _, sharding, _, _ in results]
    is_plain = len(results) == 1 and not is_shaped(results[0][4])
    call = results[0][0] if is_plain else export.new.fresh()[0] if results else ""
    left = f"{call}:{len(results)} = " if len(results) > 1 else f"{call} = " if call else ""
    lines.append(
        f"{left}func.call {symbol}({', '.join(given)}){f' {{{of_all(entries)}}}' if entries else ''}"
        f" : ({', '.join(inside for *_, inside in operands)})"
        f" -> {_listed([inside for *_, inside, _ in results])}"
    )
    renamed: Names = []
    for k, (name, number, sharding, inside, outside) in enumerate(results):
        value = call if len(results) == 1 else f"{call}#{k}"
        if not is_shaped(outside):
            if name and value != name:
                renamed.append((name, number, value))
            continue
        (copied,) = export.new.fresh()
        new = name
        if number >= 0 or not name:
            (new,) = export.new.fresh()
            renamed += [(name, number, new)] if name else []
        lines.append(_copy(work, copied, value, entries[k], inside))
        lines.append(_custom_call(new, "SPMDShardToFullShape", copied, full(sharding), inside, outside))

    inputs = [
        f"{before} {{{local(sharding)}}}{after}"
        for (before, after), (_, sharding, _, _) in zip(arguments, operands, strict=True)
    ]
    outputs = [f"{inside} {{{entry}}}" for entry, (*_, inside, _) in zip(entries, results, strict=True)]
    arrow = f" -> ({', '.join(outputs)})" if outputs else ""
    return lines, renamed, f"func.func private {symbol}({', '.join(inputs)}){arrow}"


def _call_named(
    work: ComputationExport, computation: Computation, scope: ManualScope | None, body: str
) -> str:
    """Source: `ExportNamedComputationsPass` in shardy's `transforms/export/export_named_computations.cc`."""
    export, operation = work.export, computation.operation
    text, at = export.text, operation.name_start
    axes = scope.axes if scope else ()
    _convert(work, computation)
    symbol = work.symbols.make(computation.symbol)
    outs = computation.parameters.get("out_shardings")
    ins = computation.parameters.get("in_shardings")
    inputs = []
    for k, (before, after, of_type) in enumerate(computation.arguments()):
        entry = (
            export.attribute(ins.value.shardings[k], at, axes) if ins else work.missing(of_type, scope, at)
        )
        inputs.append(f"{before}{f' {{{entry}}}' if entry else ''}{after}")
    left, right = operation.signature_types
    types = [text[span.start : span.end] for span in right or ()]
    outputs = [
        f"{of_type} {{{entry}}}" if (entry := work.missing(of_type, scope, at)) else of_type
        for of_type in types
    ]
    listed = _listed(outputs) if outputs == types else f"({', '.join(outputs)})"
    arrow = f" -> {listed}" if types else ""
    work.add_function(computation, f"func.func private {symbol}({', '.join(inputs)}){arrow}", body, scope)
    entries = [
        text[entry.span.start : entry.span.end]
        for entry in operation.entries
        if not entry.key.startswith(("sdy.", "xla.sdy."))
    ]
    if outs and outs.value.shardings:
        entries.append(of_all([export.attribute(s, at, axes) for s in outs.value.shardings]))
    dictionary = f" {{{', '.join(entries)}}}" if entries else ""
    operand_types = ", ".join(text[span.start : span.end] for span in left)
    names = text[operation.start : operation.name_start]
    call = f"{names}func.call {symbol}({', '.join(operation.operands)}){dictionary}"
    return computation.join([f"{call} : ({operand_types}) -> {_listed(types)}"])


def _inlined(work: ComputationExport, computation: Computation, body: str) -> str:
    """The operations of a body that nothing goes into and nothing comes out of, under names of their own."""
    fresh: dict[str, str] = {}

    def name(hit: re.Match[str]) -> str:
        if not hit[1]:
            return hit[0]
        if hit[1] not in fresh:
            (fresh[hit[1]],) = work.export.new.fresh()
        return fresh[hit[1]]

    fresh.update((value, value) for value in _captured(computation, body))
    inner = len(computation.body_indent) - len(computation.indent)
    body = re.sub(rf"\n {{{inner}}}", "\n", body) if inner > 0 else body
    return _TOKEN.sub(name, body).strip()


def verify_captures(computation: Computation, body: str) -> None:
    """Raises if the new text of the body uses values from outside."""
    captured = _captured(computation, body)
    if not captured:
        return
    source, inside = computation.operation.source, computation.inside
    for hit in _TOKEN.finditer(source.text, inside.start, inside.end):
        if hit[1] in captured:
            raise ConversionError(
                f"{hit[1]} is defined outside of the body",
                source=source,
                span=Span(*hit.span()),
                notes=["the body becomes a function, which sees its arguments only"],
                help=f"make {hit[1]} an operand of {computation.operation.full_name}",
            )


def _captured(computation: Computation, body: str) -> set[str]:
    """The values that a body uses and does not define."""
    used = {hit[1] for hit in _TOKEN.finditer(body) if hit[1]} - {*computation.argument_names}
    printed = used - {f"%{name or argument}" for name, argument in _DEFINED.findall(body)}
    if not printed:
        return printed
    defined: set[str | None] = set()  # what is spaced in another way needs a closer look
    for operation in parse_operations(Source(body)).walk():
        defined.update(name for name, _ in operation.results)
        for region in operation.regions:
            for block in region.blocks:
                defined.update(argument.name for argument in operation.block_arguments(block))
    return used - defined


def _convert(work: ComputationExport, computation: Computation) -> None:
    """Converts the shardings of the operands and results, as part of what the export did."""
    text, operation = work.export.text, computation.operation
    for key, side in zip(("in_shardings", "out_shardings"), operation.signature_types, strict=True):
        found = computation.parameters.get(key)
        if found and found.value.shardings:
            types = [text[span.start : span.end] for span in side or ()]
            work.export.convert(found.value, found.start, types)


def _copy(work: ComputationExport, result: str, operand: str, entry: str, of_type: str) -> str:
    head, tail = work.export.copy_of(entry, of_type)
    return f"{result} = {head}{operand}{tail}"


def _custom_call(result: str, target: str, operand: str, entry: str, of_type: str, new_type: str) -> str:
    return f"{result} = stablehlo.custom_call @{target}({operand}) {{{entry}}} : ({of_type}) -> {new_type}"


def of_all(entries: Sequence[str]) -> str:
    """One entry for all results, of those for each."""
    if len(entries) == 1:
        return entries[0]
    values = [entry.partition(' = "')[2][:-1] for entry in entries]
    return f'mhlo.sharding = "{{{", ".join(values)}}}"'


def _listed(types: Sequence[str]) -> str:
    return types[0] if len(types) == 1 and not types[0].startswith("(") else f"({', '.join(types)})"
