"""The findings of a check for people."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from sdybridge.checks import CHECKS, Severity
from sdybridge.cli.tables import aligned
from sdybridge.cli.terminal import excerpt_width
from sdybridge.errors import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sdybridge.checks import Finding

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def report(found: Mapping[str, Sequence[Finding]], most: int) -> Iterator[str]:
    """The findings of files, the first `most` of each rule and file, and a summary."""
    hidden: Counter[str] = Counter()
    for findings in found.values():
        shown: Counter[str] = Counter()
        for one in findings:
            shown[one.code] += 1
            if shown[one.code] <= most:
                yield from _described(one)
                yield ""
            else:
                hidden[one.code] += 1
    yield from _summary(found, hidden)


def _described(one: Finding) -> Iterator[str]:
    first, *rest = one.to_text(excerpt_width(sys.stdout)).encode("utf-8", "replace").decode().split("\n")
    colour = _COLOURS[one.severity]
    mark = f"{one.severity}[{one.code}]:"
    where, _, message = first.partition(f" {mark} ")
    yield f"{click.style(where, bold=True)} {click.style(mark, fg=colour, bold=True)} {message}"
    for line in rest:
        if line.strip().startswith("^"):
            line = click.style(line, fg=colour, bold=True)
        for label, of_label in (("note:", "cyan"), ("help:", "green")):
            if line.startswith(label):
                line = click.style(label, fg=of_label, bold=True) + line[len(label) :]
        yield line


def _summary(found: Mapping[str, Sequence[Finding]], hidden: Counter[str]) -> Iterator[str]:
    findings = [one for several in found.values() for one in several]
    files = plural(len(found), "file")
    if not findings:
        yield f"Nothing found in {files}."
        return
    counts = Counter(one.severity for one in findings)
    words = [plural(counts[severity], str(severity)) for severity in reversed(Severity) if counts[severity]]
    yield f"{', '.join(words)} in {sum(map(bool, found.values()))} of {files}"
    by_code = Counter(one.code for one in findings)
    rows = [
        (code, str(CHECKS[code].severity), CHECKS[code].name, str(count),
         f"{hidden[code]} of them not shown (--all)" if hidden[code] else "")
        for code, count in sorted(by_code.items())
    ]  # fmt: skip
    yield from aligned(rows, right=[3])
    yield f"For more about a rule: sdybridge check --explain {rows[0][0]}"
