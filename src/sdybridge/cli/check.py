"""`sdybridge check`: everything wrong or doubtful about the shardings of programs."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from sdybridge.checks import CHECKS, Finding, Severity, check_module, selected, unreadable
from sdybridge.cli.check_formats import as_github, as_json, as_sarif
from sdybridge.cli.check_report import report
from sdybridge.cli.options import Names, refuse_options, target_option
from sdybridge.cli.rule_page import rule_page, without_links
from sdybridge.cli.tables import aligned, terminal_width
from sdybridge.cli.terminal import ProgressBar, check_standard_input, read_program
from sdybridge.errors import SdyBridgeError
from sdybridge.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.target import Target

_FEW = 10
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_FORMATS = {"json": as_json, "github": as_github, "sarif": as_sarif}


class Size(click.ParamType[int]):
    """A number of bytes: `1000000`, `256MiB`, `1.5G`."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes; units count 1024 of the next smaller one."""
        found = _SIZE.fullmatch(str(value).strip())
        if not found:
            self.fail(f"{value!r} is no size; write 256MiB, or a number of bytes", param, ctx)
        return int(float(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " "))


@click.command("check", short_help="Find what is wrong or doubtful about the shardings of programs.")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--select",
    type=Names(),
    default="",
    metavar="CODES",
    help="Check these rules only: SB103, or SB4 for all that start with it, or ALL.",
)
@click.option("--ignore", type=Names(), default="", metavar="CODES", help="Do not check these.")
@click.option(
    "--fail-on",
    type=click.Choice([*map(str, Severity), "never"]),
    default="warning",
    show_default=True,
    help="From which severity on findings make the exit code 1.",
)
@click.option(
    "--replicated-bytes",
    type=Size(),
    default="256MiB",
    show_default=True,
    help="From which size on a replicated tensor is reported (SB403).",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["human", *_FORMATS]),
    default="human",
    show_default=True,
    help="json and sarif for tools, github for annotations in GitHub's CI.",
)
@click.option(
    "-a", "--all", "show_all", is_flag=True, help=f"Every finding, not the first {_FEW} of each rule."
)
@target_option
@click.option("--rules", is_flag=True, help="List the rules.")
@click.option(
    "--explain",
    metavar="CODE",
    help="Print the page about a rule.",
)
def command(
    files: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    replicated_bytes: int,
    form: str,
    target: Target,
    explain: str | None,
    *,
    show_all: bool,
    rules: bool,
) -> None:
    """Find what is wrong or doubtful about the shardings of programs.

    FILES are MLIR text or bytecode, HLO text or HLO protos, or - for standard input. Errors are what no
    program may say; warnings what XLA reads otherwise than meant, or what wastes devices; the rest is worth
    knowing. Exit codes: 0 nothing from --fail-on up, 1 something, 2 wrong usage.

    \b
    Examples:
      sdybridge check step.mlir
      sdybridge check dumps/*.txt --select SB1,SB2 --format github
      sdybridge check - --ignore SB401 --replicated-bytes 1GiB < step.mlir
      sdybridge check --explain SB202
    """  # noqa: D301  (click reads the escape)
    _refuse_unused(form, explain, rules=rules)
    if rules:
        click.echo("\n".join(_rule_table()))
        return
    if explain:
        rule = CHECKS.get(explain.upper())
        if rule is None:
            raise click.UsageError(f"no rule has the code {explain}; --rules lists them")
        click.echo(without_links(rule_page(rule)), nl=False)
        return
    if not files:
        raise click.UsageError("missing argument 'FILES...'")
    try:
        selected(select, ignore)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    check_standard_input(files)
    found: dict[str, list[Finding]] = {}
    for file in files:
        try:
            program = read_program(file)
        except SdyBridgeError as error:
            found[file] = [unreadable(error, Source("", file))]
            continue
        with ProgressBar(f"check {program.source.name}", len(program.data)) as bar:
            found[program.source.name] = check_module(
                program.data,
                name=program.source.name,
                select=select,
                ignore=ignore,
                replicated_bytes=replicated_bytes,
                target=target,
                progress=bar.update,
            )
    findings = [one for several in found.values() for one in several]
    if form == "human":
        click.echo("\n".join(report(found, sys.maxsize if show_all else _FEW)))
    elif findings or form != "github":
        click.echo(_FORMATS[form](findings))
    if fail_on != "never" and any(one.severity >= Severity[fail_on.upper()] for one in findings):
        sys.exit(1)


def _rule_table() -> Sequence[str]:
    rows = [
        (
            rule.code,
            str(rule.severity),
            rule.name,
            rule.summary + ("" if rule.is_default else " (on request)"),
        )
        for rule in CHECKS.values()
    ]
    return aligned(rows, crop=3, width=terminal_width(), indent="")


def _refuse_unused(form: str, explain: str | None, *, rules: bool) -> None:
    """Check that no options are given that would do nothing."""
    if rules or explain:
        others = ("files", "select", "ignore", "fail_on", "replicated_bytes", "form", "show_all", "target")
        refuse_options(others, f"{{}} is for a check, and --{'rules' if rules else 'explain'} makes none")
    if form != "human":
        refuse_options(("show_all",), "{} is for people; the other formats have every finding")
