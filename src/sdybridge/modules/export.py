"""Export of a whole program: MLIR text with Shardy shardings to the same text with HLO shardings.

The text is spliced, not reprinted: each place that carries a sharding is replaced, each distinct sharding
is converted once, and every other byte stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError, ParseError
from sdybridge.modules.attributes import find_aliases, without_unused_aliases
from sdybridge.modules.control_flow import add_missing_shardings
from sdybridge.modules.converted import ConvertedModule
from sdybridge.modules.custom_calls import export_custom_calls
from sdybridge.modules.export_operations import ConstraintForm
from sdybridge.modules.export_shardings import export_shardings
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdybridge.errors import SdyBridgeError


@dataclass(frozen=True, slots=True)
class ExportResult(ConvertedModule):
    """A program with HLO shardings and what was done to it.

    Attributes:
        text: The program with HLO shardings.
        shardings: Every distinct sharding, most frequent first.
        operations: How many Shardy operations of each name were rewritten or removed.
        meshes: The meshes that the program declared, by name.
        added: How many operations got a sharding that had none: control flow, which XLA gives `{replicated}`,
            and what stands in manual computations.
    """

    added: int


def export_module(
    text: str,
    *,
    name: str = "<string>",
    target: Target = Target.CURRENT,
    constraints: ConstraintForm = ConstraintForm.COPY,
    add_missing_sharding_to_control_flow: bool = True,
    progress: Callable[[int], None] | None = None,
) -> ExportResult:
    """Convert every Shardy sharding of a program to an HLO sharding, as XLA's StableHLO export does.

    Args:
        text: MLIR text, pretty or generic, of any dialects and versions.
        name: The name of the text, for errors.
        target: Whose conventions to follow; see `Target`.
        constraints: What `sdy.sharding_constraint` and `sdy.reshard` become.
        add_missing_sharding_to_control_flow: Give `{replicated}` to every `while`, `case` and `if` that has
            no sharding, as XLA does by default.
        progress: Called now and then with the number of characters that are done.

    Raises:
        ParseError: A sharding or a Shardy operation is malformed.
        VerificationError: A sharding is not valid where it stands.
        ConversionError: A sharding has no HLO form, or an operation is not supported yet.

    Example:
        >>> text = '''
        ... sdy.mesh @mesh = <["x"=2]>
        ... func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) { return }
        ... '''
        >>> print(export_module(text).text.strip())
        func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) { return }

    Source: `addStablehloExportPipeline` in xla's
    `service/spmd/shardy/stablehlo_round_trip/stablehlo_export.cc`.
    """
    if not isinstance(text, str):
        raise TypeError(f"expected the program's text, not a {type(text).__name__}")
    target, constraints = Target(target), ConstraintForm(constraints)
    source = Source(text, name)
    try:
        export, new = export_shardings(source, target, constraints, progress)
    except ParseError as error:
        raise _located(error, source) from None
    added = export.added
    try:
        if add_missing_sharding_to_control_flow:
            new, more = add_missing_shardings(new)
            added += more
        new = export_custom_calls(new)
    except (ParseError, ConversionError) as error:
        raise _placed(error, source) from None
    return ExportResult(
        text=without_unused_aliases(new) if export.has_aliases else new,
        shardings=export.shardings,
        operations=dict(export.operations),
        meshes={operation.name: operation.mesh for operation in export.meshes.operations},
        added=added,
    )


def _placed(error: SdyBridgeError, source: Source) -> SdyBridgeError:
    """The error of a pass over the converted text, at the place in the original that has the same fault."""
    try:
        add_missing_shardings(source.text)
        export_custom_calls(source.text)
    except (ParseError, ConversionError) as original:
        error = original
    return _located(error, source)


def _located(error: SdyBridgeError, source: Source) -> SdyBridgeError:
    """The error in the named text: readers of plain text, and of the value of an alias, do not know it."""
    span = error.span or Span(0, 0)
    if error.source and error.source.text != source.text:
        alias = find_aliases(source.text).get(error.source.name.removeprefix("#"))
        span = span.shifted(alias.end - len(alias.value)) if alias else Span(0, 0)
    return error.located(source, span)
