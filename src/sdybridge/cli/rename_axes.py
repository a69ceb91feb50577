"""`sdybridge rename-axes`: new names for the axes of a whole program."""

from __future__ import annotations

import json
import time

import click

from sdybridge.cli.options import refuse_extra_summary
from sdybridge.cli.summary import as_json, describe
from sdybridge.cli.terminal import read_program, write_program
from sdybridge.modules import rename_axes


@click.command("rename-axes", short_help="Give mesh axes new names, everywhere in a program.")
@click.argument("names", metavar="OLD=NEW...", nargs=-1, required=True)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No summary on standard error.")
@click.option("--json", "in_json", is_flag=True, help="The summary on standard error as JSON.")
def command(names: tuple[str, ...], file: str, output: str | None, *, quiet: bool, in_json: bool) -> None:
    """Give mesh axes new names, in meshes, in shardings, and in what rides along in HLO.

    FILE is StableHLO/MLIR text, HLO text or an HLO proto, or - for standard input. All names change at
    once, so two axes may change places. Every other byte stays. A summary goes to standard error.

    \b
    Examples:
      sdybridge rename-axes _axis_0=data _axis_1=model step.mlir -o named.mlir
      sdybridge rename-axes x=y y=x - < module.txt
    """  # noqa: D301  (click reads the escape)
    refuse_extra_summary(quiet=quiet, in_json=in_json)
    program = read_program(file)
    renamed: dict[str, str] = {}
    for name in names:
        old, equals, new = name.partition("=")
        if not equals or not old or not new or old in renamed:
            raise click.UsageError(f"{name!r}: write OLD=NEW, each old name once, and the file last")
        renamed[old] = new
    start = time.perf_counter()
    result = rename_axes(program.data, renamed, name=program.source.name)
    seconds = time.perf_counter() - start
    write_program(output, result.program)
    if in_json:
        click.echo(json.dumps(as_json(result, program, seconds), indent=2), err=True)
    elif not quiet:
        click.echo(describe(result, program.source, seconds), err=True)
