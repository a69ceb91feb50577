"""`sdybridge strip`: an HLO program without shardings."""

from __future__ import annotations

import json
import time

import click

from sdybridge.cli.options import refuse_extra_summary
from sdybridge.cli.summary import as_json, describe
from sdybridge.cli.terminal import read_program, write_program
from sdybridge.modules import strip_shardings


@click.command("strip", short_help="Remove every sharding of an HLO program.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No summary on standard error.")
@click.option("--json", "in_json", is_flag=True, help="The summary on standard error as JSON.")
def command(file: str, output: str | None, *, quiet: bool, in_json: bool) -> None:
    """Remove every sharding of an HLO program, and everything of Shardy's that rides along.

    FILE is HLO text or an HLO proto, or - for standard input. Instructions stay, and so does every other
    byte. A summary goes to standard error.

    \b
    Examples:
      sdybridge strip module.txt -o plain.txt
      sdybridge strip module.hlo.pb -o plain.hlo.pb
    """  # noqa: D301  (click reads the escape)
    refuse_extra_summary(quiet=quiet, in_json=in_json)
    program = read_program(file)
    start = time.perf_counter()
    result = strip_shardings(program.data, name=program.source.name)
    seconds = time.perf_counter() - start
    write_program(output, result.program)
    if in_json:
        click.echo(json.dumps(as_json(result, program, seconds), indent=2), err=True)
    elif not quiet:
        click.echo(describe(result, program.source, seconds), err=True)
