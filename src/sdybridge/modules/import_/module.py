"""Import of a whole program: MLIR text with HLO shardings to the same text with Shardy shardings.

The text is spliced, not reprinted: each place that carries a sharding is replaced, each distinct sharding
is converted once, and every other byte stays.
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError, SdyBridgeError
from sdybridge.modules.conversion_warnings import has_attributes, is_mixed
from sdybridge.modules.converted import ConvertedModule, most_frequent_first
from sdybridge.modules.import_.carriers import CARRIED, SWITCH, CarriersImport, import_carriers
from sdybridge.modules.import_.computations import (
    CALLED,
    ComputationsImport,
    import_computations,
)
from sdybridge.modules.import_.hlo import HloImport
from sdybridge.modules.import_.meshes import convert_found, infer_meshes, known_meshes
from sdybridge.modules.import_.open_values import OpenValues
from sdybridge.modules.import_.shard_map import import_shard_maps, mark_shard_maps
from sdybridge.modules.import_.shardings import ShardingImport
from sdybridge.modules.mixed_programs import warnings_of_import
from sdybridge.modules.mlir.lexer import holds
from sdybridge.modules.programs import named, read_hlo, text_of
from sdybridge.modules.splice import Origins, splice
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sdybridge.modules.converted import ConvertedSharding
    from sdybridge.modules.hlo_program import HloProgram
    from sdybridge.modules.import_.calls import KeptCall
    from sdybridge.sdy import MeshAttr


@dataclass(frozen=True, slots=True)
class ImportResult(ConvertedModule):
    """A program with Shardy shardings and what was done to it.

    Attributes:
        text: The program with Shardy shardings, and the meshes that they are on.
        shardings: Every distinct sharding, most frequent first.
        operations: How many calls of `@Sharding` became constraints.
        meshes: The meshes that the program declares now, by name; of different ones with one name, the last.
        removed: How many control-flow operations lost the `{replicated}` that export adds.
        carried: At how many places a carrier kept the Shardy sharding, so that nothing of it is lost.
        dropped: How many HLO shardings without a carrier were removed, since the program has carriers.
        kept: The calls of bodies of manual computations that stay as they are, and why.

    >>> from sdybridge import import_module
    >>> program = 'func.func @f(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"})'
    >>> result = import_module(program)
    >>> result.sites, {name: mesh.stripped for name, mesh in result.meshes.items()}
    (1, {'mesh': '<["_axis_0"=2]>'})
    """

    removed: int
    carried: int = 0
    dropped: int = 0
    kept: tuple[KeptCall, ...] = ()


def import_module(
    text: str | bytes,
    *,
    name: str = "<string>",
    mesh: MeshAttr | Mapping[str, MeshAttr] | None = None,
    mesh_name: str = "mesh",
    axis_names: Sequence[str] = (),
    open_arguments: Sequence[bool] = (),
    open_results: Sequence[bool] = (),
    remove_added_sharding_from_control_flow: bool = True,
    carriers: bool = True,
    target: Target = Target.CURRENT,
    list_replicated_axes: bool | None = None,
    progress: Callable[[int], None] | None = None,
) -> ImportResult:
    """Convert every HLO sharding of a program to a Shardy sharding, as XLA's import of StableHLO does.

    The meshes are those of `infer_mesh`: one for all shardings where there is one, declared at the top of
    the module. XLA aborts where there is none, and on devices in another order; here further meshes follow.
    A program that only has shardings without axes gets a mesh without axes, where XLA drops the shardings.
    Shardings over named meshes keep those, and the openness of their dimensions.
    A sharding in the `mhlo.attributes` of a call to `@mhlo.erf` or `@mhlo.topk`, where export puts it,
    becomes that of the call. Inside another attribute it is that of something else and stays.

    Where frontend attributes keep the Shardy shardings, these are put back as they were: names, openness and
    priorities, and with them groups, barriers, rules, meshes and manual computations. Then HLO shardings
    without such a carrier are removed, as in XLA, but for those of `@Sharding`.

    Args:
        text: MLIR text, pretty or generic, of any dialects and versions; HLO text; or the bytes of an HLO
            proto. In HLO, the Shardy shardings ride along as `xla.sdy.sharding`, and one that does so already
            counts, not the HLO sharding beside it. In MLIR, an `mhlo.sharding` holds the text of a sharding,
            or the bytes of its proto.
        name: The name of the text, for errors.
        mesh: Your own mesh, or meshes by name. Each sharding goes on the first one that can express it, then
            on those that the program declares, and else on one that is made.
        mesh_name: The name of `mesh`, or of the mesh that is made.
        axis_names: Names for the axes of meshes that are made, major to minor.
        open_arguments: Which arguments of `@main` propagation may shard further: one flag for each, one for
            all, or none for none. Everything else is closed.
        open_results: The same for its results.
        remove_added_sharding_from_control_flow: Remove one `{replicated}` for several results of a `while`,
            `case` or `if`. Export writes it where there is no sharding, and a tuple where there is one.
            Otherwise it is taken for a sharding of each result.
        carriers: Whether to read the frontend attributes that keep Shardy attributes. A module that has the
            frontend attribute `xla.sdy.import_mhlo_shardings` asks for its HLO shardings instead.
        target: Whose conventions to follow; see `Target`.
        list_replicated_axes: Whether to list `replicated={...}` axes, whatever the target does.
        progress: Called now and then with the number of characters that are done.

    Raises:
        ParseError: A sharding is malformed.
        ProtoError: The bytes of a sharding are no proto.
        VerificationError: A sharding does not fit the values that it stands on.
        ConversionError: A sharding is on devices that no mesh has.

    Example:
        >>> text = '''
        ... func.func @main(%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"}) { return }
        ... '''
        >>> print(import_module(text, axis_names=["x", "y"]).text.strip())
        sdy.mesh @mesh = <["x"=2, "y"=4]>
        func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) { return }

    Source: `ImportShardingsPass` in xla's
    `service/spmd/shardy/stablehlo_round_trip/stablehlo_import.cc`.
    """
    if not isinstance(text, str | bytes):
        raise TypeError(f"expected the program's text or bytes, not a {type(text).__name__}")
    program = read_hlo(text, name)
    if program is not None:
        hlo = HloImport(
            program,
            Target(target),
            open_arguments,
            open_results,
            list_replicated_axes=list_replicated_axes,
            read_carriers=carriers,
        )
        return named(name, functools.partial(_import_hlo, program, name, hlo, mesh, mesh_name, axis_names))
    text = text_of(text)
    source = Source(text, name)
    read = source  # what the later steps read
    carried = computations = None
    steps: list[Origins] = []
    try:
        may_be_carried = carriers and holds(text, "xla.sdy.")
        if may_be_carried and CARRIED.search(text) and not holds(text, SWITCH):
            carried = import_carriers(source, known_meshes(source, (), mesh, mesh_name), target)
            steps, read = [Origins(carried.edits)], Source(carried.text, name)
        if may_be_carried and holds(read.text, CALLED):
            computations = import_computations(read, target)
            steps, read = [*steps, Origins(computations.edits)], Source(computations.text, name)
        marks = mark_shard_maps(read)
        if marks:
            steps, read = [*steps, Origins(marks)], Source(splice(read.text, marks), name)
        work = ShardingImport(
            read,
            target,
            OpenValues(read, open_arguments, open_results),
            remove_added_sharding_from_control_flow=remove_added_sharding_from_control_flow,
        )
        result = _imported(work, mesh, mesh_name, axis_names, list_replicated_axes, progress)
    except SdyBridgeError as error:
        raise _located(error, source, read, steps) from None
    result = _together(result, carried, computations, steps) if steps else result
    result = _with_shard_maps(result, source, target) if marks else result
    if not is_mixed(text):
        return result
    known = carried.mixed.program() if carried and not has_attributes(text) else None
    return replace(result, warnings=warnings_of_import(source, target, known))


def _with_shard_maps(result: ImportResult, source: Source, target: Target) -> ImportResult:
    """The result, with the manual computations in GSPMD's form as operations."""
    found = import_shard_maps(Source(result.text), target)
    kept = [
        replace(one, at=_same_mention(one.symbol, result.text, one.at, source.text)) for one in found.kept
    ]
    return replace(
        result,
        text=found.text,
        operations=dict(Counter(result.operations) + found.operations),
        kept=(*result.kept, *kept),
    )


def _same_mention(symbol: str, new: str, at: int, old: str) -> int:
    """Where the old text mentions a symbol that the new one mentions behind `at`: both do so in one order."""
    number = new.count(symbol, 0, at) + 1
    place = -1
    for _ in range(number):
        place = old.find(symbol, place + 1)
    return max(place, 0)


def _imported(
    work: ShardingImport,
    mesh: MeshAttr | Mapping[str, MeshAttr] | None,
    mesh_name: str,
    axis_names: Sequence[str],
    list_replicated_axes: bool | None,
    progress: Callable[[int], None] | None,
) -> ImportResult:
    """The import of the HLO shardings."""
    work.read(progress)
    merged: dict[tuple[str, str], ConvertedSharding] = {}
    meshes: dict[str, MeshAttr] = {}
    for seen in work.seen:
        known = known_meshes(work.source, seen.declared, mesh, mesh_name)
        if seen.found:
            inferred = infer_meshes(seen.found, known, mesh_name, axis_names)
            convert_found(seen.found, inferred, merged, list_replicated_axes=list_replicated_axes)
            seen.meshes = inferred.meshes
        meshes.update(seen.meshes or {one.name: one.mesh for one in seen.declared})
    return ImportResult(
        text=work.write(),
        shardings=most_frequent_first([*merged.values()]),
        operations=dict(work.operations),
        meshes=meshes,
        removed=work.removed,
    )


def _origin(steps: Sequence[Origins], at: int) -> int:
    """Where in the program that stood what is at an offset after these steps."""
    for before in reversed(steps):
        at = before(at)
    return at


def _located(error: SdyBridgeError, source: Source, read: Source, steps: Sequence[Origins]) -> SdyBridgeError:
    """The error where it is in the program: readers of plain text do not know its name."""
    span = error.span if error.source and error.source.text == read.text else None
    if span is None and not isinstance(error, ParseError):
        return error
    if span:
        start = _origin(steps, span.start)
        span = Span(start, max(start, _origin(steps, span.end)))
    return error.located(source, span or Span(0, 0))


def _together(
    result: ImportResult,
    carried: CarriersImport | None,
    computations: ComputationsImport | None,
    steps: Sequence[Origins],
) -> ImportResult:
    """What the carriers gave, and what the HLO shardings gave after that."""
    shardings = [replace(one, first=_origin(steps, one.first)) for one in result.shardings]
    operations = Counter(result.operations)
    if carried:
        shardings = [*carried.shardings, *shardings]
        operations += Counter(carried.operations)
    kept = []
    if computations:
        operations += computations.operations
        before = steps[:-1]
        kept = [replace(one, at=_origin(before, one.at)) for one in computations.kept]
    return replace(
        result,
        shardings=most_frequent_first(shardings),
        operations=dict(operations),
        carried=sum(one.count for one in carried.shardings if one.after) if carried else 0,
        dropped=carried.dropped if carried else 0,
        kept=tuple(kept),
    )


def _import_hlo(
    program: HloProgram,
    name: str,
    hlo: HloImport,
    mesh: MeshAttr | Mapping[str, MeshAttr] | None,
    mesh_name: str,
    axis_names: Sequence[str],
) -> ImportResult:
    hlo.read(mesh, mesh_name, axis_names)
    new = program.edited(hlo.edit, hlo.attributes)
    return ImportResult(
        text=new if isinstance(new, str) else "",
        proto=new if isinstance(new, bytes) else None,
        shardings=hlo.shardings,
        operations={},
        meshes=hlo.meshes,
        removed=0,
        carried=hlo.carried,
        warnings=hlo.mixed.warnings(name, is_import=True),
    )
