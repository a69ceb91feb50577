"""`sdybridge convert`: one sharding, or one per line of standard input."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, NamedTuple

import click

from sdybridge.bridge import (
    convert_to_hlo_sharding,
    convert_to_sdy_sharding,
    export_losses,
    import_losses,
    infer_mesh,
    resolve_mesh,
    to_v3_sharding,
)
from sdybridge.bridge.notations import Notation, notation_of, read_hlo_sharding
from sdybridge.cli.options import MeshType, Names, known_meshes, refuse_options, target_option
from sdybridge.cli.terminal import read_text, refuse_file_name
from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.sdy import MeshAttr, TensorShardingAttr, locate
from sdybridge.sdy.printer import symbol
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sdybridge.bridge import InferredMeshes, Loss
    from sdybridge.hlo import HloSharding

_OF_HLO = ("ranks", "open_dims", "axis_names")
"""The parameters that are about HLO shardings only."""

Known = dict[str, MeshAttr] | MeshAttr | None
"""The meshes of `--mesh`: by name, one for every name, or none."""


class Ranks(click.ParamType[tuple[int, ...]]):
    """The rank of a tensor, or of each of several: `2` or `2,0,1`."""

    name = "ranks"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The ranks."""
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        if not all(part.isdecimal() and len(part) < 4 for part in parts):
            self.fail(f"{value!r} is no rank; write 2, or 2,0,1 for the elements of a tuple", param, ctx)
        return tuple(map(int, parts))


class Options(NamedTuple):
    """What the options of the command say."""

    known: Known
    to: str | None
    manual_axes: tuple[str, ...]
    axis_names: tuple[str, ...]
    ranks: tuple[int, ...]
    open_dims: bool
    target: Target


class Converted(NamedTuple):
    """One sharding in both notations.

    Attributes:
        sdy: The Shardy form, one for each value of an HLO tuple.
        meshes: The mesh that each of them is on.
        hlo: The HLO form; None where only the Shardy form was asked for.
        losses: What the conversion loses.
    """

    sdy: tuple[TensorShardingAttr, ...]
    meshes: tuple[MeshAttr, ...]
    hlo: HloSharding | None
    losses: tuple[Loss, ...]


@click.command("convert", short_help="Convert one sharding either way, and show what is lost.")
@click.argument("text")
@click.option(
    "--mesh",
    "meshes",
    type=MeshType(),
    multiple=True,
    help="The mesh that the sharding is on: x=2,y=4 or a full <[...]>; repeat as @name=... for several. An "
    "HLO sharding does without: a mesh is inferred, and written into the result.",
)
@click.option(
    "--to",
    type=click.Choice(["sdy", "hlo", "named", "proto-hex", "proto-base64", "json"]),
    help="What to write; by default the notation that TEXT is not in. hlo is a device grid, named is an HLO "
    "sharding over a named mesh.",
)
@click.option(
    "--manual-axes", type=Names(), default="", help="Of a Shardy sharding: axes that are manual here."
)
@click.option("--rank", "ranks", type=Ranks(), default=(), help="Of an HLO sharding: the rank of the tensor.")
@click.option("--open", "open_dims", is_flag=True, help="Of an HLO sharding: let its dimensions be open.")
@click.option("--axis-names", type=Names(), default="", help="Names for the axes of an inferred mesh.")
@target_option
@click.option("-q", "--quiet", is_flag=True, help="Do not list losses on standard error.")
def command(
    text: str,
    meshes: tuple[tuple[str | None, MeshAttr], ...],
    to: str | None,
    manual_axes: tuple[str, ...],
    ranks: tuple[int, ...],
    axis_names: tuple[str, ...],
    target: Target,
    *,
    open_dims: bool,
    quiet: bool,
) -> None:
    """Convert one sharding, either way, and show what the conversion loses.

    TEXT is a Shardy sharding in any of its forms, or just its dimensions; or an HLO sharding, as text or as
    the bytes of its proto (hexadecimal, base64, or escaped as MLIR prints them). - converts each line of
    standard input; HLO shardings on several lines share one inferred mesh.

    \b
    Examples:
      sdybridge convert '[{"y"}, {}]' --mesh x=2,y=4
      sdybridge convert '#sdy.sharding<@mesh, [{"x":(1)2, ?}]>' --mesh x=8 --to json
      sdybridge convert '<@m, [{"x"}]>' --mesh '@m=<["x"=4], device_ids=[3,1,2,0]>' --to proto-hex
      sdybridge convert '{devices=[4,2]<=[2,4]T(1,0)}' --axis-names x,y
      sdybridge convert '{devices=[3,4]<=[2,3,2]T(1,0,2)}' --mesh data=2,model=6
      sdybridge convert "{mesh['x'=2,'y'=4], [{'y', ?}, {}]}"
      sdybridge convert '[{"y"}, {}]' --mesh x=2,y=4 --to named
      sdybridge convert 08031a0202024a0104520100 --to hlo
    """  # noqa: D301  (click reads the escape)
    options = Options(known_meshes(meshes), to, manual_axes, axis_names, ranks, open_dims, target)
    refuse_file_name(text, "`export` and `import` convert programs, `convert - < FILE` one sharding a line")
    source = read_text("-") if text == "-" else Source(text, "<text>")
    lines = list(_lines(source.text)) if text == "-" else [Span(0, len(text))]
    hlo = _read_hlo(source, lines, target)
    _refuse_unused(len(lines), len(hlo), to)
    inferred = _infer(source, hlo, options)
    for line in lines:
        sharding = hlo.get(line)
        if isinstance(sharding, SdyBridgeError):
            raise sharding
        if sharding is None:
            converted = _export(source, line, options)
        else:
            converted = _import(source, line, sharding, inferred, options)
        click.echo(_render(converted, to or ("hlo" if sharding is None else "sdy"), target))
        if not quiet and to != "json":
            for loss in dict.fromkeys(converted.losses):  # the elements of a tuple often lose the same
                kind = loss.kind.value.removeprefix("chosen-")
                verb = "lost" if kind == loss.kind.value else "chose"
                label = click.style(f"{verb} {kind}:", fg="yellow")
                click.echo(f"{label} {loss.detail} ({loss.kind.explanation})", err=True)


def _refuse_unused(lines: int, hlo: int, to: str | None) -> None:
    """Check that no options are given that none of the lines needs, of which so many are HLO shardings."""
    if hlo == 0 and lines:
        refuse_options(_OF_HLO, "{} is for HLO shardings; a Shardy sharding says it itself")
    if hlo == lines:
        refuse_options(("manual_axes",), "{} is for Shardy shardings; an HLO sharding says it itself")
        if to not in {None, "sdy", "json"}:
            refuse_options(("meshes", *_OF_HLO), "{} is for the way to Shardy; --to asks for an HLO sharding")


def _lines(text: str) -> Iterator[Span]:
    """Every line that is not blank."""
    start = 0
    for line in text.split("\n"):
        if line.strip():
            yield Span(start, start + len(line))
        start += len(line) + 1


def _read_hlo(
    source: Source, lines: Sequence[Span], target: Target
) -> dict[Span, HloSharding | SdyBridgeError]:
    """The HLO shardings among the lines, or what is wrong with them, which is said when it is their turn."""
    read: dict[Span, HloSharding | SdyBridgeError] = {}
    for line in lines:
        notation = notation_of(source.text[line.start : line.end])
        if notation is not Notation.SDY:
            try:
                read[line] = read_hlo_sharding(source, line, notation, target)
            except SdyBridgeError as error:
                read[line] = error
    return read


def _export(source: Source, line: Span, options: Options) -> Converted:
    """The HLO form of the Shardy sharding on a line; if that is not asked for, only the sharding."""
    known, target = options.known, options.target
    text = source.text[line.start : line.end].rstrip()
    line = Span(line.start, line.start + len(text))
    text = text.lstrip()
    shift = line.end - len(text)  # from an offset in what is parsed to one in the source
    if text.startswith("["):  # dimensions alone are on the only mesh
        only = next(iter(known)) if isinstance(known, dict) and len(known) == 1 else "mesh"
        opening = f"<{symbol(only)}, "
        text = f"{opening}{text}>"
        shift -= len(opening)
    try:
        sharding = TensorShardingAttr.from_string(text, target=target)
        if options.to == "sdy":
            return Converted((sharding,), (), None, ())
        if options.to == "named":
            target = Target.NAMED
        mesh = resolve_mesh(sharding, known)
        hlo = convert_to_hlo_sharding(sharding, mesh, manual_axes=options.manual_axes, target=target)
    except VerificationError as error:
        if error.rule == "unknown-mesh":
            name = f"{symbol(str(sharding.mesh_or_ref))}=" if isinstance(known, dict) else ""
            error.help = f"give it with --mesh, such as --mesh {name}x=2,y=4"
        located = error if error.span else locate(error, Source(text), 0, TensorShardingAttr, target=target)
        raise located.located(source, _shifted(located.span, shift, line)) from None
    except SdyBridgeError as error:
        if error.span and error.span.start + shift >= line.end:
            error.message = error.message.replace("found '>'", "found the end of the text")
        raise error.located(source, _shifted(error.span, shift, line)) from None
    return Converted((sharding,), (mesh,), hlo, export_losses(sharding, mesh, target=target))


def _infer(
    source: Source, hlo: Mapping[Span, HloSharding | SdyBridgeError], options: Options
) -> InferredMeshes:
    """The meshes for all HLO shardings that are to be imported."""
    wanted = {}
    if options.to in {None, "sdy", "json"}:
        wanted = {line: one for line, one in hlo.items() if not isinstance(one, SdyBridgeError)}
    try:
        return infer_mesh(wanted.values(), mesh=options.known, axis_names=options.axis_names)
    except SdyBridgeError as whole:
        for line, sharding in wanted.items():  # the first one that has an error by itself
            try:
                infer_mesh([sharding], mesh=options.known, axis_names=options.axis_names)
            except SdyBridgeError as error:
                raise error.located(source, line) from None
        raise whole from None


def _import(
    source: Source, line: Span, hlo: HloSharding, inferred: InferredMeshes, options: Options
) -> Converted:
    """The Shardy form of the HLO sharding on a line, if that is asked for."""
    if options.to not in {None, "sdy", "json"}:
        return Converted((), (), _in_form(source, line, hlo, options), ())
    leaves = hlo.tuple_elements if hlo.is_tuple else (hlo,)
    ranks: tuple[int | None, ...] = options.ranks or (None,)
    ranks = ranks * len(leaves) if len(ranks) == 1 else ranks
    if len(ranks) != len(leaves):
        raise click.UsageError(f"--rank has {len(ranks)} ranks, and the tuple has {len(leaves)} elements")
    meshes = tuple([_mesh_of(leaf, inferred, options.known) for leaf in leaves])
    losses: list[Loss] = []
    shardings = []
    try:
        for leaf, mesh, rank in zip(leaves, meshes, ranks, strict=True):
            name = inferred.mesh_name(leaf) if options.known is not None else None
            if leaf.named_sharding is not None and not mesh.is_maximal and mesh not in _given(options.known):
                name = None  # a mesh of its own, which nobody has a name for
            sharding = convert_to_sdy_sharding(
                leaf,
                mesh,
                rank=rank,
                mesh_name=name,
                device_id_to_maximal_mesh_name=None if name is None else _names(inferred),
                open_dims=options.open_dims,
                target=options.target,
            )
            shardings.append(sharding)
            losses += import_losses(leaf, mesh, open_dims=options.open_dims, target=options.target)
    except SdyBridgeError as error:
        if isinstance(error, VerificationError) and error.help and "rank=" in error.help:
            error.help = "give the number of dimensions of the tensor, such as --rank 2"
        raise error.located(source, line) from None
    return Converted(tuple(shardings), meshes, hlo, tuple(losses))


def _in_form(source: Source, line: Span, hlo: HloSharding, options: Options) -> HloSharding:
    """An HLO sharding over a device grid or over a named mesh, whichever is asked for."""
    try:
        if options.to == "named" or options.target is Target.NAMED:
            return to_v3_sharding(hlo)
    except SdyBridgeError as error:
        raise error.located(source, line) from None
    return hlo.v3_to_v2_sharding() if options.to == "hlo" else hlo


def _mesh_of(leaf: HloSharding, inferred: InferredMeshes, known: Known) -> MeshAttr:
    """The mesh to import on: a known one if there are any, even if the sharding does not fit on it."""
    mesh = inferred.mesh(leaf)
    given = _given(known)
    if not given or mesh in given or leaf.is_single_device or leaf.named_sharding is not None:
        return mesh
    return given[0]


def _given(known: Known) -> list[MeshAttr]:
    return [known] if isinstance(known, MeshAttr) else list((known or {}).values())


def _names(inferred: InferredMeshes) -> dict[int, str]:
    """The name of the mesh that stands for each single device."""
    return {
        mesh.device_ids[0]: name
        for name, mesh in inferred.meshes.items()
        if not mesh.axes and mesh.device_ids
    }


def _shifted(span: Span | None, shift: int, line: Span) -> Span:
    """A span of the text that was parsed, in the line that it came from."""
    if span is None:
        return line
    start, end = (min(line.end, max(line.start, offset + shift)) for offset in (span.start, span.end))
    return Span(start, end)


def _render(converted: Converted, to: str, target: Target) -> str:
    sdy, meshes, hlo, losses = converted
    if to == "sdy" and len(sdy) != 1:
        return f"#sdy.sharding_per_value<[{', '.join([sharding.stripped for sharding in sdy])}]>"
    if to == "sdy" or hlo is None:
        return str(sdy[0])
    if to in {"hlo", "named"}:
        return hlo.to_string(include_metadata=target is Target.NEWER, target=target)
    data = hlo.to_proto_bytes(target=target)
    if to == "proto-hex":
        return data.hex()
    if to == "proto-base64":
        return base64.b64encode(data).decode()
    one = len(sdy) == 1 and not hlo.is_tuple
    return json.dumps(
        {
            "sharding": str(sdy[0]) if one else [str(sharding) for sharding in sdy],
            "mesh": str(meshes[0]) if one else [str(mesh) for mesh in meshes],
            "target": target.value,
            "hlo": str(hlo),
            "proto_hex": data.hex(),
            "losses": [
                {"kind": loss.kind.value, "path": list(loss.path), "detail": loss.detail} for loss in losses
            ],
        }
    )
