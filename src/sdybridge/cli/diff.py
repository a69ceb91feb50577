"""`sdybridge diff`: two shardings, or two programs value by value."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from sdybridge.bridge.notations import Notation, notation_of
from sdybridge.checks import Verdict, compare_programs, compare_shardings, open_program, read_sharding
from sdybridge.checks.layout import part_sizes
from sdybridge.cli.options import MeshType, Names, known_meshes, refuse_options, target_option
from sdybridge.cli.terminal import check_standard_input, is_file, read_program, refuse_file_name
from sdybridge.errors import SdyBridgeError, plural
from sdybridge.hlo import OpShardingType
from sdybridge.view.reading import parse
from sdybridge.view.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdybridge.checks import Comparison, Pair, Placed, Program
    from sdybridge.modules.annotations import Annotation
    from sdybridge.sdy import MeshAttr
    from sdybridge.target import Target
    from sdybridge.view.reading import Known

_FEW = 20
_FEW_RANGES = 12
_SAID = {
    Verdict.SAME_FORM: ("the same", "green"),
    Verdict.SAME_MEANING: ("the same meaning", "green"),
    Verdict.DIFFERENT: ("different", "red"),
}


class Shape(click.ParamType[tuple[int, ...]]):
    """The sizes of a tensor: `126`, `16x16x16`, `16,16`, or its type `f32[16,16]`."""

    name = "shape"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The sizes."""
        sizes = str(value).strip().strip("[]").replace("x", ",").split(",")
        if all(size.strip().isdecimal() and len(size.strip()) < 19 for size in sizes):
            return tuple(map(int, sizes))
        try:
            shape = TensorType.from_string(str(value)).shape
        except SdyBridgeError:
            shape = ()
        known = tuple([size for size in shape if size is not None])
        if not known or known != shape:
            self.fail(f"{value!r} is no shape; write 16x16, or 126", param, ctx)
        return known


@click.command("diff", short_help="Compare two shardings, or two programs, device by device.")
@click.argument("a")
@click.argument("b")
@click.option(
    "--mesh",
    "meshes",
    type=MeshType(),
    multiple=True,
    help="The mesh that Shardy shardings are on: x=2,y=4 or a full <[...]>; repeat as @name=... for several.",
)
@click.option("--shape", type=Shape(), help="The sizes of the tensor, 16x16: says what each part holds.")
@click.option(
    "--manual-axes", type=Names(), default="", help="Of Shardy shardings: axes that are manual there."
)
@click.option("--common", is_flag=True, help="Of programs: only values with a sharding in both.")
@click.option("--exact", is_flag=True, help="What differs in form only counts as different, too.")
@click.option("-a", "--all", "show_all", is_flag=True, help=f"Every difference, not the first {_FEW}.")
@target_option
@click.option("--json", "in_json", is_flag=True, help="Everything as JSON.")
def command(
    a: str,
    b: str,
    meshes: tuple[tuple[str | None, MeshAttr], ...],
    shape: tuple[int, ...] | None,
    manual_axes: tuple[str, ...],
    target: Target,
    *,
    common: bool,
    exact: bool,
    show_all: bool,
    in_json: bool,
) -> None:
    """Compare two shardings, or two programs, device by device.

    A and B are files with programs in any two formats, or shardings in any two notations. Programs are
    compared value by value: arguments and results by number, others by operation, shape and order. Two
    shardings are the same, differ in form only (one is open, say, or names axes of one device), or put
    different parts of a tensor on some devices, which are listed. Exit codes: 0 the same in meaning, 1
    different, 2 wrong usage.

    \b
    Examples:
      sdybridge diff '[{"x"}, {}]' '{devices=[2,1,4]<=[8] last_tile_dim_replicate}' --mesh x=2,y=4
      sdybridge diff '{devices=[2,1,4]<=[4,2]T(1,0)}' '{devices=[1,8,1]<=[8]}' --shape 16x16x16
      sdybridge diff shardy.mlir gspmd.hlo.txt
    """  # noqa: D301  (click reads the escape)
    files = [text == "-" or is_file(text) for text in (a, b)]
    if all(files):
        check_standard_input((a, b))
        refuse_options(
            ("meshes", "shape", "manual_axes"), "{} is for two shardings; programs say it themselves"
        )
        failed = _diff_programs(a, b, target, common=common, exact=exact, in_json=in_json,
                                most=sys.maxsize if show_all else _FEW)  # fmt: skip
        sys.exit(failed)
    for text, other, is_program in ((a, b, files[0]), (b, a, files[1])):
        if is_program:
            raise click.UsageError(f"{text} is a file, and {other!r} is none: compare two of a kind")
        refuse_file_name(text, "compare two programs, or two shardings")
    refuse_options(("common", "show_all"), "{} is for programs; of two shardings every difference is listed")
    known = known_meshes(meshes)
    placed = [
        read_sharding(
            _in_shardy(text, known, shape, name, target),
            known,
            manual_axes=manual_axes,
            target=target,
            name=name,
        )
        for text, name in ((a, "<A>"), (b, "<B>"))
    ]
    found = compare_shardings(placed[0], placed[1], shape=shape, target=target)
    if in_json:
        click.echo(json.dumps({"a": str(placed[0]), "b": str(placed[1]), **_as_json(found)}, indent=2))
    else:
        click.echo("\n".join(_describe(found, placed, shape, target)))
    sys.exit(_is_failure(found.verdict, exact=exact))


def _in_shardy(text: str, known: Known, shape: tuple[int, ...] | None, name: str, target: Target) -> str:
    """JAX's `P(...)` as Shardy writes it, anything else as it is."""
    if notation_of(text) is not Notation.PARTITION_SPEC:
        return text
    rank = None if shape is None else len(shape)
    return parse(text, known=known, rank=rank, name=name, target=target).sdy[0].stripped


def _is_failure(verdict: Verdict, *, exact: bool) -> int:
    return int(verdict is Verdict.DIFFERENT or (exact and verdict is not Verdict.SAME_FORM))


def _describe(
    found: Comparison, placed: Sequence[Placed], shape: tuple[int, ...] | None, target: Target
) -> Iterator[str]:
    words, colour = _SAID[found.verdict]
    yield click.style(words, fg=colour, bold=True) + _tail(found)
    for name, one in zip("AB", placed, strict=True):
        grid = one.grid(target)
        form = "" if str(one) == str(grid) else f"  {grid}"
        yield f"  {name}: {one}{form}"
        if shape is not None and grid.type is OpShardingType.OTHER and not grid.is_tuple:
            counts = grid.tile_assignment.dims[: grid.data_rank]
            cut = [
                f"dimension {i} of {size}: {part_sizes(size, count)}"
                for i, (size, count) in enumerate(zip(shape, counts, strict=True))
                if count > 1
            ]
            yield from (f"     {line}" for line in cut or ["whole"])
    yield from (f"  {line}" for line in _differences(found))


def _tail(found: Comparison) -> str:
    if found.verdict is Verdict.SAME_MEANING:
        return ": they differ in form only"
    return ""


def _differences(found: Comparison) -> Iterator[str]:
    yield from found.differences
    if found.changed:
        yield (f"{len(found.changed)} of {found.devices} devices hold another part: {ranges(found.changed)}")
        if len(found.receiving) == len(found.changed):
            yield "all of them need elements that they did not hold"
        elif found.receiving:
            need = "needs elements that it" if len(found.receiving) == 1 else "need elements that they"
            yield f"{len(found.receiving)} {need} did not hold: {ranges(found.receiving)}"
        else:
            yield "each of them holds less than before: nothing is sent"


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers, neighbours joined.

    >>> ranges([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7-8'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    return ", ".join(words[:_FEW_RANGES]) + (", ..." if len(words) > _FEW_RANGES else "")


def _diff_programs(
    a: str, b: str, target: Target, *, common: bool, exact: bool, in_json: bool, most: int
) -> int:
    programs = []
    for path in (a, b):
        file = read_program(path)
        programs.append(open_program(file.data, file.source.name))
    pairs = compare_programs(programs[0], programs[1], target=target)
    if common:
        pairs = [pair for pair in pairs if pair.comparison]
    if in_json:
        click.echo(json.dumps(_pairs_as_json(pairs, programs), indent=2))
    else:
        click.echo("\n".join(_describe_pairs(pairs, programs, most, exact=exact)))
    return int(any(pair.verdict is None or _is_failure(pair.verdict, exact=exact) for pair in pairs))


def _describe_pairs(
    pairs: Sequence[Pair], programs: Sequence[Program], most: int, *, exact: bool
) -> Iterator[str]:
    shown = 0
    for pair in pairs:
        if pair.verdict is Verdict.SAME_FORM or (pair.verdict is Verdict.SAME_MEANING and not exact):
            continue
        shown += 1
        if shown <= most:
            yield from _describe_pair(pair, programs)
    if shown > most:
        yield f"... and {shown - most} more (--all)"
    if shown:
        yield ""
    counts = Counter(pair.verdict for pair in pairs)
    alone = [pair for pair in pairs if pair.verdict is None]
    one_sided = [
        sum(value is not None and value.sharding is not None for value in side)
        for side in ([pair.a for pair in alone], [pair.b for pair in alone])
    ]
    words = [f"{counts[verdict]} {_SAID[verdict][0]}" for verdict in Verdict if counts[verdict]]
    words += [
        f"{count} in {program.source.name} only"
        for count, program in zip(one_sided, programs, strict=True)
        if count
    ]
    yield f"{plural(len(pairs), 'value')} with a sharding: {', '.join(words) or 'nothing to compare'}"


def _describe_pair(pair: Pair, programs: Sequence[Program]) -> Iterator[str]:
    one = pair.a or pair.b
    if one is None:
        return
    words, colour = _SAID[pair.verdict] if pair.verdict else ("in one program only", "yellow")
    name = pair.a.name if pair.a else one.name
    yield f"{click.style(f'{name}', bold=True)} ({one.opcode}, {one.shape}): {click.style(words, fg=colour)}"
    rows = []
    for value, program in zip((pair.a, pair.b), programs, strict=True):
        where = program.source.name if value is None else f"{program.source.name}, {program.line(value)}"
        rows.append((where, "-" if value is None or value.sharding is None else _text(value)))
    width = max(len(where) for where, _ in rows)
    yield from (f"  {where:<{width}}  {text}" for where, text in rows)
    if pair.comparison:
        yield from (f"  {line}" for line in _differences(pair.comparison))


def _text(one: Annotation) -> str:
    sharding = one.sharding
    return str(getattr(sharding, "stripped", sharding))


def _as_json(found: Comparison) -> dict[str, object]:
    return {
        "verdict": found.verdict.value,
        "equal": found.is_equal,
        "differences": list(found.differences),
        "devices": found.devices,
        "changed": list(found.changed),
        "receiving": list(found.receiving),
    }


def _pairs_as_json(pairs: Sequence[Pair], programs: Sequence[Program]) -> dict[str, object]:
    counts = Counter("one-sided" if pair.verdict is None else pair.verdict.value for pair in pairs)
    values = []
    for pair in pairs:
        sides = {
            key: value
            and {"name": value.name, "opcode": value.opcode, "shape": value.shape and str(value.shape),
                 "place": program.line(value), "sharding": value.sharding and _text(value)}
            for key, value, program in zip("ab", (pair.a, pair.b), programs, strict=True)
        }  # fmt: skip
        told = _as_json(pair.comparison) if pair.comparison else {"verdict": "one-sided"}
        values.append({**sides, **told})
    return {"a": programs[0].source.name, "b": programs[1].source.name, "counts": counts, "values": values}
