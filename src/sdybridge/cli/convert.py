"""`sdybridge convert`: one sharding, or one per line of standard input."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import click

from sdybridge.bridge import convert_to_hlo_sharding, export_losses, resolve_mesh
from sdybridge.cli.options import MeshType, target_option
from sdybridge.cli.terminal import read_text
from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.sdy import MeshAttr, TensorShardingAttr, locate
from sdybridge.sdy.printer import symbol
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sdybridge.hlo import HloSharding


@click.command("convert", short_help="Convert one sharding, and show what the conversion loses.")
@click.argument("text")
@click.option(
    "--mesh",
    "meshes",
    type=MeshType(),
    multiple=True,
    help="The mesh that the sharding is on: x=2,y=4 or a full <[...]>; repeat as @name=... for several.",
)
@click.option(
    "--to",
    type=click.Choice(["hlo", "proto-hex", "proto-base64", "json"]),
    default="hlo",
    show_default=True,
    help="What to write.",
)
@click.option("--manual-axes", metavar="NAMES", default="", help="Axes that are manual here: x,y.")
@target_option
@click.option("-q", "--quiet", is_flag=True, help="Do not list losses on standard error.")
def command(
    text: str,
    meshes: tuple[tuple[str | None, MeshAttr], ...],
    to: str,
    manual_axes: str,
    target: Target,
    *,
    quiet: bool,
) -> None:
    """Convert one sharding, and show what the conversion loses.

    TEXT is a Shardy sharding in any of its forms, or just its dimensions; - converts each line of standard
    input.

    \b
    Examples:
      sdybridge convert '[{"y"}, {}]' --mesh x=2,y=4
      sdybridge convert '#sdy.sharding<@mesh, [{"x":(1)2, ?}]>' --mesh x=8 --to json
      sdybridge convert '<@m, [{"x"}]>' --mesh '@m=<["x"=4], device_ids=[3,1,2,0]>' --to proto-hex
    """  # noqa: D301  (click reads the escape)
    known = _known_meshes(meshes)
    names = tuple(filter(None, (name.strip() for name in manual_axes.split(","))))
    source = read_text("-") if text == "-" else Source(text, "<text>")
    for line in _lines(source.text) if text == "-" else [Span(0, len(text))]:
        sharding, mesh, hlo = _convert(source, line, known, names, target)
        click.echo(_render(sharding, mesh, hlo, to, target))
        if not quiet and to != "json":
            for loss in export_losses(sharding, mesh, target=target):
                label = click.style(f"lost {loss.kind.value}:", fg="yellow")
                click.echo(f"{label} {loss.detail} ({loss.kind.explanation})", err=True)


def _lines(text: str) -> Iterator[Span]:
    """Every line that is not blank."""
    start = 0
    for line in text.split("\n"):
        if line.strip():
            yield Span(start, start + len(line))
        start += len(line) + 1


def _known_meshes(
    meshes: tuple[tuple[str | None, MeshAttr], ...],
) -> Mapping[str, MeshAttr] | MeshAttr | None:
    """One unnamed mesh stands for every name; several need names."""
    if len(meshes) == 1 and meshes[0][0] is None:
        return meshes[0][1]
    known = {}
    for name, mesh in meshes:
        if name is None:
            raise click.UsageError("several meshes need names: --mesh @first=x=2 --mesh @second=y=4")
        if name in known:
            raise click.UsageError(f"the mesh @{name} is given twice")
        known[name] = mesh
    return known or None


def _convert(
    source: Source,
    line: Span,
    known: Mapping[str, MeshAttr] | MeshAttr | None,
    manual_axes: tuple[str, ...],
    target: Target,
) -> tuple[TensorShardingAttr, MeshAttr, HloSharding]:
    text = source.text[line.start : line.end].rstrip()
    line = Span(line.start, line.start + len(text))
    text = text.lstrip()
    shift = line.end - len(text)  # from an offset in what is parsed to one in the source
    if text.startswith("["):  # dimensions alone
        text = f"<@mesh, {text}>"
        shift -= len("<@mesh, ")
    try:
        sharding = TensorShardingAttr.from_string(text, target=target)
        mesh = resolve_mesh(sharding, known)
        hlo = convert_to_hlo_sharding(sharding, mesh, manual_axes=manual_axes, target=target)
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
    return sharding, mesh, hlo


def _shifted(span: Span | None, shift: int, line: Span) -> Span:
    """A span of the text that was parsed, in the line that it came from."""
    if span is None:
        return line
    start, end = (min(line.end, max(line.start, offset + shift)) for offset in (span.start, span.end))
    return Span(start, end)


def _render(sharding: TensorShardingAttr, mesh: MeshAttr, hlo: HloSharding, to: str, target: Target) -> str:
    if to == "hlo":
        return hlo.to_string(include_metadata=target is Target.NEWER, target=target)
    data = hlo.to_proto_bytes(target=target)
    if to == "proto-hex":
        return data.hex()
    if to == "proto-base64":
        return base64.b64encode(data).decode()
    losses = [
        {"kind": loss.kind.value, "path": list(loss.path), "detail": loss.detail}
        for loss in export_losses(sharding, mesh, target=target)
    ]
    return json.dumps(
        {
            "sharding": str(sharding),
            "mesh": str(mesh),
            "target": target.value,
            "hlo": str(hlo),
            "proto_hex": data.hex(),
            "losses": losses,
        }
    )
