"""`sdybridge export`: a whole program from Shardy shardings to HLO shardings."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import click

from sdybridge.cli.options import target_option
from sdybridge.cli.terminal import ProgressBar, read_text, write_text
from sdybridge.modules import ConstraintForm, ExportResult, export_module

if TYPE_CHECKING:
    from sdybridge.source import Source
    from sdybridge.target import Target


@click.command("export", short_help="Convert a whole program from Shardy shardings to HLO shardings.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output.")
@target_option
@click.option(
    "--portable",
    is_flag=True,
    help="Write StableHLO operations only: constraints become `stablehlo.custom_call @Sharding` instead of "
    "`mhlo.copy`.",
)
@click.option(
    "--add-missing-sharding-to-control-flow/--no-add-missing-sharding-to-control-flow",
    default=True,
    show_default=True,
    help="Give {replicated} to while, case and if without a sharding, as XLA does.",
)
@click.option("-q", "--quiet", is_flag=True, help="No summary on standard error.")
@click.option("--json", "as_json", is_flag=True, help="The summary on standard error as JSON.")
def command(
    file: str,
    output: str | None,
    target: Target,
    *,
    portable: bool,
    add_missing_sharding_to_control_flow: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Convert a whole program from Shardy shardings to HLO shardings.

    FILE is StableHLO/MLIR text, or - for standard input. Every `sdy.sharding` becomes the `mhlo.sharding`
    that XLA's own export writes, meshes and Shardy operations go, and every other byte stays. A summary goes
    to standard error.

    \b
    Examples:
      sdybridge export step.mlir -o step.hlo.mlir
      sdybridge export step.mlir --portable | stablehlo-opt -
      sdybridge export - --target classic < step.mlir > old.mlir
    """  # noqa: D301  (click reads the escape)
    source = read_text(file)
    start = time.perf_counter()
    with ProgressBar(f"export {source.name}", len(source.text)) as bar:
        result = export_module(
            source.text,
            name=source.name,
            target=target,
            constraints=ConstraintForm.CUSTOM_CALL if portable else ConstraintForm.COPY,
            add_missing_sharding_to_control_flow=add_missing_sharding_to_control_flow,
            progress=bar.update,
        )
    seconds = time.perf_counter() - start
    write_text(output, result.text)
    if as_json:
        click.echo(json.dumps(_summary(result, source, seconds), indent=2), err=True)
    elif not quiet:
        click.echo(_describe(result, source, seconds), err=True)


def _summary(result: ExportResult, source: Source, seconds: float) -> dict[str, object]:
    """The summary for machines; the keys are stable."""
    return {
        "file": source.name,
        "sites": result.sites,
        "meshes": {name: mesh.stripped for name, mesh in result.meshes.items()},
        "operations": dict(result.operations),
        "added_replicated": result.added,
        "shardings": [
            {
                "before": sharding.before,
                "after": sharding.after,
                "count": sharding.count,
                "first": "{}:{}".format(*source.location(sharding.first)),
                "losses": [{"kind": loss.kind.value, "detail": loss.detail} for loss in sharding.losses],
            }
            for sharding in result.shardings
        ],
        "losses": {kind: count for kind, count, _ in _losses_by_kind(result)},
        "seconds": round(seconds, 6),
    }


def _losses_by_kind(result: ExportResult) -> list[tuple[str, int, str]]:
    """Each kind of loss with how many sites have it, and its explanation."""
    counts: dict[str, tuple[int, str]] = {}
    for sharding in result.shardings:
        for kind in dict.fromkeys(loss.kind for loss in sharding.losses):
            counts[kind.value] = counts.get(kind.value, (0, ""))[0] + sharding.count, kind.explanation
    return [(kind, count, explanation) for kind, (count, explanation) in counts.items()]


def _describe(result: ExportResult, source: Source, seconds: float) -> str:
    counts = [
        _plural(result.sites, "site"),
        _plural(len(result.shardings), "distinct sharding"),
        _plural(len(result.meshes), "mesh", "meshes"),
    ]
    lines = [f"{source.name}: {', '.join(counts)}, {seconds * 1e3:.1f} ms"]
    rewritten = ", ".join(f"{count} {name}" for name, count in sorted(result.operations.items()))
    if rewritten:
        lines.append(f"  rewritten: {rewritten}")
    if result.added:
        lines.append(f"  added:     {{replicated}} on {_plural(result.added, 'control-flow operation')}")
    losses = _losses_by_kind(result)
    width = max((len(kind) for kind, _, _ in losses), default=0)
    for i, (kind, count, explanation) in enumerate(losses):
        lines.append(f"  {'lost:     ' if i == 0 else ' ' * 10} {kind:<{width}} at {count:>6}: {explanation}")
    return "\n".join(lines)


def _plural(count: int, noun: str, nouns: str | None = None) -> str:
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"
