"""What `explain` and `draw` are given: shardings, or texts and programs that have some in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from sdybridge.cli.options import MeshType, Names
from sdybridge.cli.terminal import check_standard_input, is_file, read_program, read_text, refuse_file_name
from sdybridge.errors import SdyBridgeError
from sdybridge.source import Source
from sdybridge.view.reading import parse
from sdybridge.view.sharded import place
from sdybridge.view.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdybridge.target import Target
    from sdybridge.view.messages import Found
    from sdybridge.view.reading import Known
    from sdybridge.view.sharded import Sharded

REMATERIALIZATION = "full rematerialization"
"""What XLA's partitioner says when it finds no way from one sharding to another."""

_COLOUR = re.compile(r"\x1b\[[0-9;:]*[mK]")


class TensorParameter(click.ParamType[TensorType]):
    """The type of a tensor: `f32[64,128]`, `tensor<64x128xf32>` or `64,128`."""

    name = "type"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> TensorType:
        """The type."""
        if isinstance(value, TensorType):
            return value
        try:
            return TensorType.from_string(str(value))
        except SdyBridgeError as error:
            self.fail(f"{value!r} is no type of a tensor; {error.help}", param, ctx)


_OPTIONS = (
    click.option(
        "--mesh",
        "meshes",
        type=MeshType(),
        multiple=True,
        help="The mesh: x=2,y=4 or a full <[...]>; repeat as @name=... for several. A device grid does "
        "without: a mesh is inferred.",
    ),
    click.option(
        "--shape", type=TensorParameter(), help="The tensor: f32[64,128], tensor<64x128xf32> or 64,128."
    ),
    click.option(
        "--at", "line", type=click.IntRange(1), help="Explain the shardings on this line of a program."
    ),
    click.option(
        "--op", "op", metavar="NAME", help="Take those of this value or operation: %arg0, dot_general."
    ),
    click.option(
        "--manual-axes", type=Names(), default="", help="Axes that are manual around a Shardy sharding."
    ),
    click.option("--axis-names", type=Names(), default="", help="Names for the axes of an inferred mesh."),
)


def sharding_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that say what is known of a sharding, and where it stands."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def literal(text: str) -> str:
    """The text of a sharding: `-` stands for standard input.

    Raises:
        click.UsageError: It is the name of a file.
    """
    refuse_file_name(text, "give it alone, or choose one of its shardings")
    return _without_colours(read_text("-").text.strip() if text == "-" else text)


def found_in(
    texts: tuple[str, ...], line: int | None, op: str | None, target: Target
) -> tuple[Source, list[tuple[Found, int]]] | None:
    """The shardings in a file or a message; None if the texts are shardings themselves."""
    check_standard_input(texts)
    first = texts[0]
    data: str | bytes
    if len(texts) > 1:
        if line is not None or op is not None:
            raise click.UsageError("--at and --op look into one program")
        return None
    if line is not None and op is not None:
        raise click.UsageError("--at and --op choose each for itself: give one of them")
    is_program = first == "-" or is_file(first)
    if not is_program and line is None and op is None:
        if not _is_message(first):
            return None
        data = first
        source = Source(_without_colours(first), "<text>")
    elif not is_program:
        raise click.UsageError(f"there is no file {first!r} for --at and --op to look into")
    else:
        data, source = read_program(first)
        source = Source(_without_colours(source.text), source.name)
    from sdybridge.modules.programs import is_hlo_text
    from sdybridge.view.messages import distinct, find_shardings
    from sdybridge.view.sites import all_shardings, shardings_at, shardings_of

    proto = data if isinstance(data, bytes) else None
    if line is not None:
        if proto is not None:
            raise click.UsageError("a proto has no lines; choose with --op NAME")
        return source, distinct(shardings_at(source, line, target))
    if op is not None:
        return source, distinct(shardings_of(source, op, target, proto))
    found = [] if proto is not None else find_shardings(source, target)
    stripped = source.text.strip()
    is_line = proto is None and "\n" not in stripped and len(found) < 2
    is_whole = found[0].parsed[0].source.text == stripped if found else not is_hlo_text(stripped)
    if is_line and is_whole:
        return source, [(_whole(source, target), 1)]
    pairs = [one for one in found if one.is_pair]
    return source, distinct(pairs or all_shardings(source, target, proto))


def place_found(
    found: Found, known: Known, shape: TensorType | None, axis_names: Sequence[str], target: Target
) -> list[list[Sharded]]:
    """Put the shardings that were found in a text on meshes; what is given goes before what the text says.

    Raises:
        SdyBridgeError: As `place`.
    """
    tensors = found.tensors if shape is None else (shape,)
    return place(
        found.parsed,
        found.mesh if known is None else known,
        tensor=tensors[0] if len(tensors) == 1 else None,
        tensors=tensors,
        manual_axes=found.manual_axes,
        axis_names=axis_names,
        target=target,
    )


def in_text(error: SdyBridgeError, source: Source, found: Found) -> SdyBridgeError:
    """An error about a sharding, placed in the text that the sharding was found in."""
    inner = error.source.text if error.source else ""
    line_end = source.text.find("\n", found.span.start)
    at = source.text.find(inner, found.span.start, max(line_end, found.span.end)) if inner else -1
    span = error.span.shifted(at) if error.span and at >= 0 else found.span
    return error.located(source, span)


def _whole(source: Source, target: Target) -> Found:
    """A text that is a sharding and nothing else."""
    from sdybridge.source import Span
    from sdybridge.view.messages import Found

    text = source.text.rstrip("\n")
    return Found((parse(text, name=source.name, target=target),), Span(0, len(text)))


def _without_colours(text: str) -> str:
    """A text as a terminal shows it: logs keep the codes for colours."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def _is_message(text: str) -> bool:
    return "sharding {" in text or REMATERIALIZATION in text
