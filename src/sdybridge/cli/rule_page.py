"""The page about one rule of `sdybridge check`: for its `--explain`, for SARIF, and in the documentation."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

import click

from sdybridge.checks import Severity, check_module
from sdybridge.cli.check_report import report

if TYPE_CHECKING:
    from sdybridge.checks import Rule

_WIDTH = 100
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


def rule_page(rule: Rule) -> str:
    """What the rule finds, why it matters, an example with what is found in it, and how to get rid of it.

    It is Markdown, with links between pages of the documentation.
    """
    asked = "" if rule.is_default else f", checked on request: `--select {rule.code}`"
    sections = [
        f"# {rule.code} {rule.name}",
        f"**{rule.summary}** ({rule.severity}{asked})",
        "## What it finds",
        wrapped(rule.finds),
        "## Why it matters",
        wrapped(rule.matters),
        "## Example",
        f"```mlir\n{rule.bad.rstrip()}\n```",
        f"```console\n{example_output(rule)}\n```",
        "## How to fix it",
        wrapped(rule.fix),
        f"```mlir\n{rule.good.rstrip()}\n```",
        "## How to silence it",
        wrapped(silence(rule)),
    ]
    return "\n\n".join(sections) + "\n"


def wrapped(text: str) -> str:
    """A paragraph in lines; a link stays on one."""
    tied = _LINK.sub(lambda link: link[0].replace(" ", "\0"), text)
    return textwrap.fill(tied, _WIDTH, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def without_links(text: str) -> str:
    """The text for readers outside of the documentation."""
    return _LINK.sub(r"\1", text)


def example_output(rule: Rule) -> str:
    """The command that checks the example, and what it answers."""
    selected = "" if rule.is_default else f" --select {rule.code}"
    found = check_module(rule.bad, name="example.mlir", select=[] if rule.is_default else [rule.code])
    lines = [click.unstyle(line) for line in report({"example.mlir": found}, len(found))]
    return "\n".join([f"$ sdybridge check example.mlir{selected}", *lines])


def silence(rule: Rule) -> str:
    """The options that leave the rule out, or make it count less."""
    if not rule.is_default:
        return "It is quiet unless you ask for it."
    if rule.severity is Severity.INFO:
        kept = "It never fails a run, unless you say `--fail-on info`."
    else:
        kept = "`--fail-on never` still reports it, with exit code 0."
    return f"`--ignore {rule.code}` leaves it out. {kept} {rule.silence}".rstrip()


def plain(text: str) -> str:
    """The text without Markdown's links and marks."""
    return without_links(text).replace("`", "")
