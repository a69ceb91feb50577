"""`sdybridge rewrite`: the HLO shardings of a whole program in another spelling."""

from __future__ import annotations

import json
import time

import click

from sdybridge.cli.options import refuse_extra_summary
from sdybridge.cli.summary import as_json, describe
from sdybridge.cli.terminal import read_program, write_program
from sdybridge.modules import Spelling, rewrite_module


@click.command("rewrite", short_help="Write the HLO shardings of a program in another way.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output.")
@click.option(
    "--to",
    type=click.Choice([spelling.value for spelling in Spelling]),
    required=True,
    help="v1 lists devices, v2 counts them, named is over a named mesh, classic is for XLA before unreduced "
    "and named shardings.",
)
@click.option("-q", "--quiet", is_flag=True, help="No summary on standard error.")
@click.option("--json", "in_json", is_flag=True, help="The summary on standard error as JSON.")
def command(file: str, output: str | None, to: str, *, quiet: bool, in_json: bool) -> None:
    """Write every HLO sharding of a program in another way, with the same meaning.

    FILE is StableHLO/MLIR text, HLO text or an HLO proto, or - for standard input. What has no such form,
    such as a named one of {manual}, stays as it is, and so does every other byte. A summary goes to standard
    error.

    \b
    Examples:
      sdybridge rewrite module.txt --to v2 -o short.txt
      sdybridge rewrite module.hlo.pb --to named -o named.hlo.pb
      sdybridge rewrite - --to v1 < step.hlo.mlir
    """  # noqa: D301  (click reads the escape)
    refuse_extra_summary(quiet=quiet, in_json=in_json)
    program = read_program(file)
    start = time.perf_counter()
    result = rewrite_module(program.data, to, name=program.source.name)
    seconds = time.perf_counter() - start
    write_program(output, result.program)
    if in_json:
        click.echo(json.dumps(as_json(result, program, seconds), indent=2), err=True)
    elif not quiet:
        click.echo(describe(result, program.source, seconds), err=True)
