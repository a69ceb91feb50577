"""`sdybridge report`: one HTML page about a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sdybridge.cli.options import target_option
from sdybridge.cli.terminal import ProgressBar, read_program, write_program
from sdybridge.view.report import render_report

if TYPE_CHECKING:
    from sdybridge.target import Target


@click.command("report", short_help="Write one HTML page about a program.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output.")
@click.option(
    "--check/--no-check", default=True, show_default=True, help="What `sdybridge check` finds, too."
)
@target_option
def command(file: str, output: str | None, target: Target, *, check: bool) -> None:
    """Write one HTML page about a program.

    FILE is StableHLO/MLIR text, HLO text or an HLO proto, or - for standard input. The page has the meshes,
    what checks find, the largest tensors that devices hold copies of, and a table of all values to search
    and sort; a value is drawn and explained when it is chosen. It needs no network, so it can be mailed, or
    attached to an issue.

    \b
    Examples:
      sdybridge report step.mlir -o step.html
      sdybridge report module_0001.txt -o before.html
      sdybridge export step.mlir | sdybridge report - -o exported.html
    """  # noqa: D301  (click reads the escape)
    program = read_program(file)
    with ProgressBar(f"report {program.source.name}", len(program.data)) as bar:
        page = render_report(
            program.data, name=program.source.name, target=target, check=check, progress=bar.update
        )
    write_program(output, page)
