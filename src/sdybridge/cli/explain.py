"""`sdybridge explain`: what shardings mean, and what moves between two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sdybridge.cli.given import REMATERIALIZATION, found_in, in_text, literal, place_found, sharding_options
from sdybridge.cli.options import known_meshes, refuse_options, target_option
from sdybridge.cli.shown import shown
from sdybridge.errors import SdyBridgeError
from sdybridge.hlo.element_types import size_text
from sdybridge.view.explainer import explain_parsed, explain_placed
from sdybridge.view.reading import parse

if TYPE_CHECKING:
    from sdybridge.sdy import MeshAttr
    from sdybridge.source import Source
    from sdybridge.target import Target
    from sdybridge.view.messages import Found
    from sdybridge.view.reading import Known
    from sdybridge.view.tensor_type import TensorType

_MOST_EXPLAINED = 10
_AROUND = 300  # characters around a pair that may say what the message is about


@click.command("explain", short_help="Say what a sharding means, or what moves between two.")
@click.argument("texts", nargs=-1, required=True)
@sharding_options
@target_option
@click.option("--json", "in_json", is_flag=True, help="The facts as JSON.")
def command(
    texts: tuple[str, ...],
    meshes: tuple[tuple[str | None, MeshAttr], ...],
    shape: TensorType | None,
    line: int | None,
    op: str | None,
    manual_axes: tuple[str, ...],
    axis_names: tuple[str, ...],
    target: Target,
    *,
    in_json: bool,
) -> None:
    """Say what a sharding means, or what moves between two.

    TEXTS are one or two shardings, in any notation: Shardy's, HLO's (a grid, a list of devices, or over a
    named mesh), the bytes of a proto, JAX's P(...). Or one text with shardings in it: a file, or - for
    standard input. Of a compiler message that names two shardings, it says what moves between them.

    \b
    Examples:
      sdybridge explain '[{"y"}, {}]' --mesh x=2,y=4 --shape f32[64,128]
      sdybridge explain '{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}'
      sdybridge explain "P('x', None)" "P(None, 'x')" --mesh x=4,y=2 --shape bf16[8,16]
      sdybridge explain step.mlir --op %arg0
      sdybridge explain step.mlir --at 12 --json
      grep rematerialization build.log | sdybridge explain - --mesh x=4,y=2
    """  # noqa: D301  (click reads the escape)
    known = known_meshes(meshes)
    if len(texts) > 2:
        raise click.UsageError(f"{len(texts)} texts are too many: one sharding, two to compare, or a file")
    found = found_in(texts, line, op, target)
    if found is not None:
        refuse_options(
            ("manual_axes",), "{} is for a sharding by itself; a program says which axes are manual"
        )
        if not found[1]:
            click.echo(f"{found[0].name}: no shardings", err=True)
        _explain_found(*found, known, shape, axis_names, target, in_json=in_json)
        return
    rank = None if shape is None else shape.rank
    names = ("<text>",) if len(texts) == 1 else ("<first>", "<second>")
    parsed = [
        parse(literal(text), known=known, rank=rank, name=name, target=target)
        for text, name in zip(texts, names, strict=True)
    ]
    explained = explain_parsed(
        parsed, known, shape, manual_axes=manual_axes, axis_names=axis_names, target=target
    )
    if in_json:
        click.echo(_json(explained.to_dict()))
    else:
        click.echo(shown(explained, colour=True))


def _explain_found(
    source: Source,
    found: list[tuple[Found, int]],
    known: Known,
    shape: TensorType | None,
    axis_names: tuple[str, ...],
    target: Target,
    *,
    in_json: bool,
) -> None:
    explained = []
    listed = found if in_json else found[:_MOST_EXPLAINED]
    for one, count in listed:
        try:
            result = explain_placed(one.parsed, place_found(one, known, shape, axis_names, target))
        except SdyBridgeError as error:
            raise in_text(error, source, one) from None
        line, column = source.location(one.span.start)
        where = {"file": source.name, "line": line, "column": column, "name": one.name, "count": count}
        explained.append((where, result, one))
    if in_json:
        click.echo(_json([{**where, **result.to_dict()} for where, result, _ in explained]))
        return
    for i, (where, result, one) in enumerate(explained):
        many = f" ({where['count']} times)" if where["count"] != 1 else ""
        name = f": {one.name}" if one.name else ""
        click.echo(
            ("\n" if i else "") + _bold(f"{source.name}:{where['line']}:{where['column']}{name}{many}")
        )
        click.echo(shown(result, colour=True))
        whole = _whole_bytes(one)
        if one.is_pair and whole and REMATERIALIZATION in _message(source, one):
            click.echo(
                f"\nThe compiler gathers the whole tensor instead: {size_text(whole)} on every device."
            )
    if len(found) > len(listed):
        click.echo(f"\n{len(found) - len(listed)} more; choose with --at LINE or --op NAME, or take --json")


def _message(source: Source, found: Found) -> str:
    """The line that a pair stands in, as far as it is near."""
    start, end = found.span.start - _AROUND, found.span.end + _AROUND
    before = source.text[max(start, 0) : found.span.start].rpartition("\n")[2]
    return before + source.text[found.span.start : end].partition("\n")[0]


def _whole_bytes(found: Found) -> int | None:
    """What the tensor takes, if it is known."""
    return found.tensors[0].bytes if len(found.tensors) == 1 else None


def _json(value: object) -> str:
    import json

    return json.dumps(value, indent=2)


def _bold(text: str) -> str:
    return click.style(text, bold=True)
