"""`sdybridge draw`: shardings as pictures, in the terminal and as SVG."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import click

from sdybridge.cli.given import found_in, in_text, literal, place_found, sharding_options
from sdybridge.cli.options import known_meshes, refuse_options, target_option
from sdybridge.cli.terminal import write_program
from sdybridge.errors import SdyBridgeError
from sdybridge.view.drawing import Drawing, Drawings, drawing_of
from sdybridge.view.explanation import explanation_of
from sdybridge.view.reading import parse
from sdybridge.view.sharded import place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.sdy import MeshAttr
    from sdybridge.source import Source
    from sdybridge.target import Target
    from sdybridge.view.messages import Found
    from sdybridge.view.reading import Known
    from sdybridge.view.tensor_type import TensorType

_MOST_DRAWN = 12
_WIDTH = 100  # where there is no terminal


@click.command("draw", short_help="Draw the tensor as a grid of shards, with the devices that hold them.")
@click.argument("texts", nargs=-1, required=True)
@sharding_options
@target_option
@click.option(
    "-o", "--output", metavar="FILE", help="Write here: an SVG if the name ends in .svg, else text."
)
@click.option(
    "--width", type=click.IntRange(20), help="Columns to use; by default those of the terminal, or 100."
)
@click.option("--height", type=click.IntRange(5), default=50, show_default=True, help="About how many lines.")
@click.option("--plain", is_flag=True, help="ASCII characters only.")
def command(
    texts: tuple[str, ...],
    meshes: tuple[tuple[str | None, MeshAttr], ...],
    shape: TensorType | None,
    line: int | None,
    op: str | None,
    manual_axes: tuple[str, ...],
    axis_names: tuple[str, ...],
    target: Target,
    output: str | None,
    width: int | None,
    height: int,
    *,
    plain: bool,
) -> None:
    """Draw the tensor as a grid of shards, with the devices that hold them.

    TEXTS are shardings in any notation, as for `explain`, or one text with shardings in it: a file, or - for
    standard input. Several are drawn one below the other, on one inferred mesh where that is needed.

    \b
    Examples:
      sdybridge draw '[{"y"}, {}]' --mesh x=2,y=4 --shape f32[64,128]
      sdybridge draw '{devices=[2,2,4]<=[16]}' -o grid.svg
      sdybridge draw "P('x', None)" "P(None, 'x')" --mesh x=4,y=2
      sdybridge draw step.mlir --op %arg0 -o arg0.svg
    """  # noqa: D301  (click reads the escape)
    known = known_meshes(meshes)
    found = found_in(texts, line, op, target)
    if found is None:
        rank = None if shape is None else shape.rank
        parsed = [parse(literal(text), known=known, rank=rank, target=target) for text in texts]
        placed = place(
            parsed, known, tensor=shape, manual_axes=manual_axes, axis_names=axis_names, target=target
        )
        drawings = [drawing_of(explanation_of(one)) for several in placed for one in several]
    else:
        refuse_options(
            ("manual_axes",), "{} is for a sharding by itself; a program says which axes are manual"
        )
        drawings = _drawn(*found, known, shape, axis_names, target)
    picture = drawings[0] if len(drawings) == 1 else Drawings(drawings)
    if output and output.lower().endswith(".svg"):
        refuse_options(("width", "height", "plain"), "{} is for text; an SVG has a size and lines of its own")
        write_program(output, picture.to_svg())
    else:
        _write(picture, output, width, height, plain=plain)


def _drawn(
    source: Source,
    found: Sequence[tuple[Found, int]],
    known: Known,
    shape: TensorType | None,
    axis_names: tuple[str, ...],
    target: Target,
) -> list[Drawing]:
    if len(found) > _MOST_DRAWN:
        raise click.UsageError(
            f"{source.name} has {len(found)} different shardings; choose with --at LINE or --op NAME"
        )
    drawings = []
    for one, _ in found:
        try:
            placed = place_found(one, known, shape, axis_names, target)
        except SdyBridgeError as error:
            raise in_text(error, source, one) from None
        drawings += [drawing_of(explanation_of(sharded)) for several in placed for sharded in several]
    return drawings


def _write(
    picture: Drawing | Drawings, output: str | None, width: int | None, height: int, *, plain: bool
) -> None:
    to_file = output not in (None, "-")
    if width is None:
        is_terminal = not to_file and sys.stdout.isatty()
        width = shutil.get_terminal_size((_WIDTH, 24)).columns if is_terminal else _WIDTH
    encoding = "utf-8" if to_file else (sys.stdout.encoding or "ascii")
    text = picture.to_text(width=width, height=height, colour=not to_file, plain=plain)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:  # no frames on this terminal
        text = picture.to_text(width=width, height=height, colour=not to_file, plain=True)
        text = text.encode(encoding, "replace").decode(encoding)
    if to_file:
        write_program(output, text + "\n")
    else:
        click.echo(text)
