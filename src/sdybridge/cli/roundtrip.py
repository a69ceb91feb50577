"""`sdybridge roundtrip`: a program exported, imported back, and compared."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import click

from sdybridge.cli.options import refuse_options, target_option
from sdybridge.cli.summary import place
from sdybridge.cli.terminal import ProgressBar, read_program, write_program
from sdybridge.errors import plural
from sdybridge.modules import ConstraintForm, round_trip
from sdybridge.modules.programs import is_hlo

if TYPE_CHECKING:
    from sdybridge.modules import RoundTrip, RoundTripSharding
    from sdybridge.source import Source
    from sdybridge.target import Target


@click.command("roundtrip", short_help="Export a program, import it back, and compare its shardings.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("-o", "--output", metavar="FILE", help="Write the imported program here.")
@click.option(
    "--infer-meshes",
    is_flag=True,
    help="Import onto inferred meshes, as XLA does, not onto the program's own.",
)
@click.option(
    "--portable",
    is_flag=True,
    help="Export constraints as `stablehlo.custom_call @Sharding`, which come back as constraints.",
)
@target_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing; the exit code tells.")
@click.option("--json", "in_json", is_flag=True, help="The comparison as JSON.")
def command(
    file: str,
    output: str | None,
    target: Target,
    *,
    infer_meshes: bool,
    portable: bool,
    quiet: bool,
    in_json: bool,
) -> None:
    """Export a program, import it back, and compare its shardings.

    FILE is StableHLO/MLIR text with Shardy shardings; HLO text or an HLO proto, in which they ride along; or
    - for standard input. What comes back different is listed with the losses that made it so. The exit code
    is 1 if anything does, 0 if nothing does.

    \b
    Examples:
      sdybridge roundtrip step.mlir
      sdybridge roundtrip step.mlir --infer-meshes -o imported.mlir
      sdybridge roundtrip - --portable --json < step.mlir
    """  # noqa: D301  (click reads the escape)
    program = read_program(file)
    source = program.source
    if is_hlo(program.data):
        refuse_options(("portable",), "{} is for MLIR, and this is HLO, which has calls of Sharding already")
    if in_json:
        refuse_options(("quiet",), "{} is for the comparison in words; --json has everything")
    start = time.perf_counter()
    with ProgressBar(f"roundtrip {source.name}", len(source.text)) as bar:
        trip = round_trip(
            program.data,
            name=source.name,
            keep_meshes=not infer_meshes,
            target=target,
            constraints=ConstraintForm.CUSTOM_CALL if portable else ConstraintForm.COPY,
            progress=bar.update,
        )
    seconds = time.perf_counter() - start
    if output:
        write_program(output, trip.imported.program)
    if in_json:
        click.echo(json.dumps(_as_json(trip, source, seconds), indent=2))
    elif not quiet:
        click.echo(_describe(trip, source, seconds))
    sys.exit(0 if trip.is_stable and not trip.differences else 1)


def _describe(trip: RoundTrip, source: Source, seconds: float) -> str:
    sites = sum(sharding.count for sharding in trip.shardings)
    differences = trip.differences
    places = plural(sum(one.count for one in differences), "site")
    counts = [
        plural(sites, "site"),
        plural(len(trip.shardings), "distinct sharding"),
        f"{len(differences)} of them different at {places}" if differences else "none of them different",
    ]
    stable = "the same" if trip.is_stable else "NOT the same"
    lines = [
        f"{source.name}: {', '.join(counts)}, {seconds * 1e3:.1f} ms",
        f"  exported again: {stable}",
    ]
    for sharding in differences:
        at = place(trip.exported, source, sharding.first)
        lines += [
            f"{source.name}:{at}: at {plural(sharding.count, 'site')}",
            f"  before: {_before(sharding)}",
            f"  hlo:    {sharding.hlo}",
            f"  after:  {_after(sharding)}",
        ]
        lines += [f"  lost:   {loss.kind.value}: {loss.detail}" for loss in dict.fromkeys(sharding.losses)]
    return "\n".join(lines)


def _as_json(trip: RoundTrip, source: Source, seconds: float) -> dict[str, object]:
    """The comparison for machines; the keys are stable."""
    return {
        "file": source.name,
        "is_stable": trip.is_stable,
        "meshes": {name: mesh.stripped for name, mesh in trip.exported.meshes.items()},
        "imported_meshes": {name: mesh.stripped for name, mesh in trip.imported.meshes.items()},
        "shardings": [
            {
                "before": _before(sharding),
                "hlo": sharding.hlo,
                "after": _after(sharding) if sharding.after is not None else None,
                "is_same": sharding.is_same,
                "count": sharding.count,
                "first": place(trip.exported, source, sharding.first),
                "losses": [{"kind": loss.kind.value, "detail": loss.detail} for loss in sharding.losses],
            }
            for sharding in trip.shardings
        ],
        "seconds": round(seconds, 6),
    }


def _before(sharding: RoundTripSharding) -> str:
    return ", ".join(value.stripped for value in sharding.before)


def _after(sharding: RoundTripSharding) -> str:
    if sharding.after is None:
        return "left as it is"
    return ", ".join(value.stripped for value in sharding.after)
