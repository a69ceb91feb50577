"""Export of a whole program: MLIR text with Shardy shardings to the same text with HLO shardings.

The text is spliced, not reprinted: each place that carries a sharding is replaced, each distinct sharding
is converted once, and every other byte stays.
"""

from __future__ import annotations

import enum
import functools
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError, ParseError, SdyBridgeError, VerificationError
from sdybridge.modules.conversion_warnings import is_mixed
from sdybridge.modules.converted import ConvertedModule
from sdybridge.modules.export.control_flow import add_missing_shardings, may_have_control_flow
from sdybridge.modules.export.custom_calls import export_custom_calls, may_have_special_calls
from sdybridge.modules.export.hlo import HloExport
from sdybridge.modules.export.operations import ConstraintForm
from sdybridge.modules.export.shardings import export_shardings
from sdybridge.modules.mlir.attributes import find_aliases, without_unused_aliases
from sdybridge.modules.mlir.computations import has_computations
from sdybridge.modules.programs import named, read_hlo, text_of
from sdybridge.modules.splice import Origins
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sdybridge.modules.hlo_program import HloProgram
    from sdybridge.sdy import MeshAttr


@dataclass(frozen=True, slots=True)
class ExportResult(ConvertedModule):
    r"""A program with HLO shardings and what was done to it.

    Attributes:
        text: The program with HLO shardings.
        shardings: Every distinct sharding, most frequent first.
        operations: How many Shardy operations of each name were rewritten or removed.
        meshes: The meshes that the program declared, by name.
        added: How many operations got a sharding that had none: control flow, which XLA gives `{replicated}`,
            and what stands in manual computations.

    >>> from sdybridge import export_module
    >>> program = (
    ...     'sdy.mesh @m = <["x"=2]>\n'
    ...     'func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})')
    >>> result = export_module(program)
    >>> result.sites, dict(result.operations), [one.after for one in result.shardings]
    (1, {'sdy.mesh': 1}, ['{devices=[2]<=[2]}'])
    """

    added: int


class CarrierForm(enum.Enum):
    r"""What keeps the Shardy attributes of an exported program beside the HLO shardings.

    Attributes:
        SDY: Frontend attributes such as `xla.sdy.sharding`, as between JAX and XLA.

    >>> from sdybridge import export_module
    >>> program = 'module {\n  sdy.mesh @m = <["x"=2]>\n  func.func @f() { return }\n}'
    >>> "xla.sdy.meshes" in export_module(program, carrier=CarrierForm.SDY).text
    True
    """

    SDY = "sdy"


def export_module(
    text: str | bytes,
    *,
    name: str = "<string>",
    target: Target = Target.CURRENT,
    constraints: ConstraintForm = ConstraintForm.COPY,
    add_missing_sharding_to_control_flow: bool | None = None,
    carrier: CarrierForm | None = None,
    mesh: MeshAttr | Mapping[str, MeshAttr] | None = None,
    progress: Callable[[int], None] | None = None,
) -> ExportResult:
    """Convert every Shardy sharding of a program to an HLO sharding, as XLA's StableHLO export does.

    Args:
        text: MLIR text, pretty or generic, of any dialects and versions; HLO text; or the bytes of an HLO
            proto. In HLO, the Shardy shardings are those that ride along as `xla.sdy.sharding`.
        name: The name of the text, for errors.
        target: Whose conventions to follow; see `Target`.
        constraints: What `sdy.sharding_constraint` and `sdy.reshard` become.
        add_missing_sharding_to_control_flow: Give `{replicated}` to every `while`, `case` and `if` that has
            no sharding; None does as XLA: yes, but not with a carrier.
        carrier: What keeps the Shardy attributes, so that the import of the result is this program again;
            None to keep nothing. With it, `constraints` become calls of `@Sharding` in any case.
        mesh: Of HLO: meshes by name that the program does not declare, or one for all shardings.
        progress: Of MLIR text: called now and then with the number of characters that are done.

    Raises:
        ParseError: A sharding or a Shardy operation is malformed.
        ProtoError: The bytes are no HLO proto.
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
    if not isinstance(text, str | bytes):
        raise TypeError(f"expected the program's text or bytes, not a {type(text).__name__}")
    program = read_hlo(text, name)
    if program is not None:
        export = functools.partial(_export_hlo, program, name, Target(target), mesh)
        return named(name, functools.partial(export, keep_carriers=carrier is not None))
    text = text_of(text)
    target, constraints = Target(target), ConstraintForm(constraints)
    source = Source(text, name)
    if carrier is not None:
        add_missing = add_missing_sharding_to_control_flow is True
        result = _with_carriers(source, target, progress, add_missing=add_missing)
    else:
        add_missing = add_missing_sharding_to_control_flow is not False
        result = _exported(source, target, constraints, progress, add_missing=add_missing, retuple=True)
    if not is_mixed(text):
        return result
    from sdybridge.modules.mixed_programs import warnings_of_export  # few programs need it

    return replace(result, warnings=warnings_of_export(source, target))


def _with_carriers(
    source: Source,
    target: Target,
    progress: Callable[[int], None] | None,
    *,
    add_missing: bool,
) -> ExportResult:
    """The export of the program with its carriers, and what was done to it."""
    from sdybridge.modules.export.carriers import add_carriers  # they need the reader of operations
    from sdybridge.modules.export.outlined_computations import OutlinedComputations, outline_computations

    outlined = OutlinedComputations(source)
    try:
        if has_computations(source.text):
            _verify_bodies(source, target)
            outlined = outline_computations(source, target)
        carriers = add_carriers(outlined.source, target)
    except SdyBridgeError as error:
        error = _located(error, source if not outlined.steps else outlined.source)
        raise error.located(source, outlined.origin(error.span or Span(0, 0))) from None
    before = Origins(carriers.edits)
    new = Source(carriers.text, source.name)

    def origin(span: Span) -> Span:
        start, end = before(span.start), before(span.end)
        return outlined.origin(Span(start, max(start, end)))

    try:
        result = _exported(
            new, target, ConstraintForm.CUSTOM_CALL, progress, add_missing=add_missing, retuple=False
        )
    except SdyBridgeError as error:
        if error.source and error.source.text == new.text and error.span:
            error = error.located(source, origin(error.span))
        raise error from None
    shardings = [
        # what has a carrier loses nothing
        replace(
            one,
            first=origin(Span(one.first, one.first)).start,
            losses=() if one.before in carriers.kept else one.losses,
        )
        for one in result.shardings
    ]
    operations = outlined.operations + Counter(carriers.operations) + Counter(result.operations)
    return replace(result, shardings=tuple(shardings), operations=dict(operations))


def _verify_bodies(source: Source, target: Target) -> None:
    """Check what holds in the bodies of manual computations, which become functions before the export."""
    from sdybridge.modules.verify.module import verify_module

    for error in verify_module(source.text, name=source.name, target=target):
        if isinstance(error, VerificationError) and error.rule == "axis-is-manual":
            raise error


def _exported(
    source: Source,
    target: Target,
    constraints: ConstraintForm,
    progress: Callable[[int], None] | None,
    *,
    add_missing: bool,
    retuple: bool,
) -> ExportResult:
    """The export of every sharding."""
    try:
        export, new = export_shardings(source, target, constraints, progress)
    except ParseError as error:
        raise _located(error, source) from None
    added = export.added
    distinct = export.new.distinct_text
    try:
        if add_missing and may_have_control_flow(distinct):
            new, more = add_missing_shardings(new, target)
            added += more
        if may_have_special_calls(distinct):
            new = export_custom_calls(new, retuple=retuple)
    except (ParseError, ConversionError) as error:
        raise _placed(error, source) from None
    return ExportResult(
        text=without_unused_aliases(new) if export.has_aliases else new,
        shardings=export.shardings,
        operations=dict(export.operations),
        meshes={operation.name: operation.mesh for operation in export.meshes.operations},
        added=added,
    )


def _export_hlo(
    program: HloProgram,
    name: str,
    target: Target,
    mesh: MeshAttr | Mapping[str, MeshAttr] | None,
    *,
    keep_carriers: bool,
) -> ExportResult:
    export = HloExport(program, target, mesh, keep_carriers=keep_carriers)
    new = program.edited(export.edit, export.attributes, target=target, more=export.roots)
    return ExportResult(
        text=new if isinstance(new, str) else "",
        proto=new if isinstance(new, bytes) else None,
        shardings=export.shardings,
        operations={},
        meshes=export.meshes,
        added=0,
        warnings=export.mixed.warnings(name, is_import=False),
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
