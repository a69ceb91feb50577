"""`sdybridge export`: a whole program from Shardy shardings to HLO shardings."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import click

from sdybridge.cli.options import (
    MeshType,
    all_functions_option,
    known_meshes,
    refuse_extra_summary,
    refuse_options,
    target_option,
)
from sdybridge.cli.summary import as_json, describe, function_table
from sdybridge.cli.terminal import ProgressBar, read_program, write_program
from sdybridge.errors import plural
from sdybridge.modules import CarrierForm, ConstraintForm, export_module
from sdybridge.modules.mlir.lexer import STRING
from sdybridge.modules.programs import is_hlo

if TYPE_CHECKING:
    from sdybridge.sdy import MeshAttr
    from sdybridge.target import Target

_NO_CODE = re.compile(rf"{STRING}|//[^\n]*+")


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
    default=None,
    show_default="add, but not with a carrier",
    help="Give {replicated} to while, case and if without a sharding, as XLA does.",
)
@click.option(
    "--carrier",
    type=click.Choice([form.value for form in CarrierForm]),
    callback=lambda _context, _option, value: value and CarrierForm(value),
    help="Keep the Shardy attributes beside the HLO shardings: sdy is frontend attributes such as "
    "xla.sdy.sharding, as between JAX and XLA. Import then gives this program again.",
)
@click.option(
    "--mesh",
    "meshes",
    type=MeshType(),
    multiple=True,
    help="Of HLO: a mesh that the program lacks, x=2,y=4 or a full <[...]>; repeat as @name=... for several.",
)
@all_functions_option
@click.option("-q", "--quiet", is_flag=True, help="No summary and no warnings on standard error.")
@click.option("--json", "in_json", is_flag=True, help="The summary on standard error as JSON.")
def command(
    file: str,
    output: str | None,
    target: Target,
    carrier: CarrierForm | None,
    meshes: tuple[tuple[str | None, MeshAttr], ...],
    *,
    portable: bool,
    add_missing_sharding_to_control_flow: bool | None,
    all_functions: bool,
    quiet: bool,
    in_json: bool,
) -> None:
    """Convert a whole program from Shardy shardings to HLO shardings.

    FILE is StableHLO/MLIR text, HLO text or an HLO proto, or - for standard input. Every `sdy.sharding`
    becomes the `mhlo.sharding` that XLA's own export writes, meshes and Shardy operations go, and every other
    byte stays. In HLO, what rides along as `xla.sdy.sharding` becomes `sharding`. A summary goes to standard
    error.

    \b
    Examples:
      sdybridge export step.mlir -o step.hlo.mlir
      sdybridge export step.mlir --portable | stablehlo-opt -
      sdybridge export step.mlir --carrier sdy -o step.hlo.mlir
      sdybridge export module_0001.before_optimizations.txt -o grids.txt
      sdybridge export - --target classic < step.mlir > old.mlir
    """  # noqa: D301  (click reads the escape)
    program = read_program(file)
    source = program.source
    if is_hlo(program.data):
        refuse_options(
            ("portable", "add_missing_sharding_to_control_flow"),
            "{} is for MLIR, and this is HLO: it has shardings only where the program has them",
        )
    else:
        refuse_options(("meshes",), "{} is for HLO; an MLIR program declares its meshes, with sdy.mesh")
    refuse_extra_summary(quiet=quiet, in_json=in_json)
    start = time.perf_counter()
    with ProgressBar(f"export {source.name}", len(source.text)) as bar:
        result = export_module(
            program.data,
            name=source.name,
            mesh=known_meshes(meshes),
            target=target,
            constraints=ConstraintForm.CUSTOM_CALL if portable else ConstraintForm.COPY,
            add_missing_sharding_to_control_flow=add_missing_sharding_to_control_flow,
            carrier=carrier,
            progress=bar.update,
        )
    seconds = time.perf_counter() - start
    write_program(output, result.program)
    if in_json:
        summary = as_json(result, program, seconds, added_replicated=result.added)
        click.echo(json.dumps(summary, indent=2), err=True)
    elif not quiet:
        operations = plural(result.added, "operation")
        details = [f"added:     a replicated sharding on {operations}"] if result.added else []
        opened = 0 if result.proto is not None else _unclosed(source.text)
        if opened:
            details.append(f"warning:   {plural(abs(opened), 'brace')} without a partner; was the file cut?")
        table = function_table(result, program, all_functions=all_functions)
        click.echo(describe(result, source, seconds, details) + table, err=True)


def _unclosed(text: str) -> int:
    """How many braces are not closed; negative if too many are."""
    if text.count("{") == text.count("}"):
        return 0
    code = _NO_CODE.sub("", text)
    return code.count("{") - code.count("}")
