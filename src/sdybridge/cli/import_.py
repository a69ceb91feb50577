"""`sdybridge import`: a whole program from HLO shardings to Shardy shardings."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import click

from sdybridge.cli.options import (
    MeshType,
    Names,
    all_functions_option,
    known_meshes,
    refuse_extra_summary,
    refuse_options,
    target_option,
)
from sdybridge.cli.summary import as_json, describe, function_table, place
from sdybridge.cli.terminal import ProgressBar, read_program, write_program
from sdybridge.errors import plural
from sdybridge.modules import import_module
from sdybridge.modules.programs import is_hlo

if TYPE_CHECKING:
    from sdybridge.sdy import MeshAttr
    from sdybridge.target import Target

_OPEN = re.compile(r"(args|results|all)(?:=([01](?:,[01])*))?")


@click.command("import", short_help="Convert a whole program from HLO shardings to Shardy shardings.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output.")
@click.option(
    "--mesh",
    "meshes",
    type=MeshType(),
    multiple=True,
    help="Your mesh: x=2,y=4 or a full <[...]>; repeat as @name=... for several. Without one, or for what it "
    "cannot express, a mesh is inferred.",
)
@click.option(
    "--axis-names", type=Names(), default="", help="Names for the axes of an inferred mesh, major to minor."
)
@click.option(
    "--open-dims",
    multiple=True,
    metavar="args|results|all",
    help="What of @main propagation may shard further; args=1,0,1 says it for each. Everything else is "
    "closed.",
)
@click.option(
    "--remove-added-sharding-from-control-flow/--no-remove-added-sharding-from-control-flow",
    default=True,
    show_default=True,
    help="Remove the {replicated} that export adds to while, case and if without a sharding.",
)
@click.option(
    "--carriers/--no-carriers",
    default=True,
    show_default=True,
    help="Put back the Shardy attributes that frontend attributes such as xla.sdy.sharding keep.",
)
@target_option
@all_functions_option
@click.option("-q", "--quiet", is_flag=True, help="No summary and no warnings on standard error.")
@click.option("--json", "in_json", is_flag=True, help="The summary on standard error as JSON.")
def command(
    file: str,
    output: str | None,
    meshes: tuple[tuple[str | None, MeshAttr], ...],
    axis_names: tuple[str, ...],
    open_dims: tuple[str, ...],
    target: Target,
    *,
    remove_added_sharding_from_control_flow: bool,
    carriers: bool,
    all_functions: bool,
    quiet: bool,
    in_json: bool,
) -> None:
    """Convert a whole program from HLO shardings to Shardy shardings.

    FILE is StableHLO/MLIR text, HLO text or an HLO proto, or - for standard input. Every `mhlo.sharding`
    becomes an `sdy.sharding` on a mesh that is declared at the top, calls of `@Sharding` become constraints,
    and every other byte stays. In HLO, every `sharding` becomes an `xla.sdy.sharding`. Where frontend
    attributes keep the Shardy shardings, these are put back, with their meshes. A summary goes to standard
    error.

    \b
    Examples:
      sdybridge import step.hlo.mlir -o step.mlir
      sdybridge import step.hlo.mlir --mesh data=2,model=4 | less
      sdybridge import - --axis-names data,model --open-dims args < step.hlo.mlir
    """  # noqa: D301  (click reads the escape)
    open_arguments, open_results = _open_values(open_dims)
    known = known_meshes(meshes)
    program = read_program(file)
    source = program.source
    if is_hlo(program.data):
        refuse_options(
            ("remove_added_sharding_from_control_flow",),
            "{} is for MLIR, and this is HLO, where every sharding is imported",
        )
    refuse_extra_summary(quiet=quiet, in_json=in_json)
    start = time.perf_counter()
    with ProgressBar(f"import {source.name}", len(source.text)) as bar:
        result = import_module(
            program.data,
            name=source.name,
            mesh=known,
            axis_names=axis_names,
            open_arguments=open_arguments,
            open_results=open_results,
            remove_added_sharding_from_control_flow=remove_added_sharding_from_control_flow,
            carriers=carriers,
            target=target,
            progress=bar.update,
        )
    seconds = time.perf_counter() - start
    write_program(output, result.program)
    if in_json:
        summary = as_json(
            result,
            program,
            seconds,
            removed_replicated=result.removed,
            from_carriers=result.carried,
            dropped_without_carrier=result.dropped,
            kept=[
                {
                    "symbol": kept.symbol,
                    "at": "{}:{}".format(*source.location(kept.at)),
                    "reason": kept.reason,
                }
                for kept in result.kept
            ],
        )
        click.echo(json.dumps(summary, indent=2), err=True)
    elif not quiet:
        details = [f"mesh:      @{name} = {mesh.stripped}" for name, mesh in result.meshes.items()]
        if result.removed:
            operations = plural(result.removed, "control-flow operation")
            details.append(f"removed:   {{replicated}} from {operations}")
        if result.carried:
            details.append(f"carriers:  {plural(result.carried, 'sharding')} put back as they were")
        if result.dropped:
            details.append(f"dropped:   {plural(result.dropped, 'HLO sharding')} without a carrier")
        details += [
            f"kept:      the call of @{kept.symbol} at {place(result, source, kept.at)}: {kept.reason}"
            for kept in result.kept
        ]
        table = function_table(result, program, all_functions=all_functions)
        click.echo(describe(result, source, seconds, details) + table, err=True)


def _open_values(options: tuple[str, ...]) -> tuple[list[bool], list[bool]]:
    """The flags of arguments and results that the values of `--open-dims` ask for."""
    flags: dict[str, list[bool]] = {"args": [], "results": []}
    for option in options:
        found = _OPEN.fullmatch(option)
        if not found:
            raise click.UsageError(
                f"--open-dims {option}: write args, results or all; args=1,0,1 for single ones"
            )
        values = [value == "1" for value in (found[2] or "1").split(",")]
        for name in flags if found[1] == "all" else (found[1],):
            flags[name] = values
    return flags["args"], flags["results"]
