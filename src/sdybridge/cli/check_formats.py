"""The findings of a check for tools: JSON, GitHub's annotations, SARIF."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import sdybridge
from sdybridge.checks import CHECKS, Severity
from sdybridge.cli.rule_page import plain, rule_page, without_links

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.checks import Finding

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = _DATA | {":": "%3A", ",": "%2C"}


def as_json(findings: Sequence[Finding]) -> str:
    """An object with all findings, and how many there are of each severity; the keys are stable."""
    counts = Counter(str(one.severity) for one in findings)
    return json.dumps(
        {
            "counts": {str(severity): counts[str(severity)] for severity in reversed(Severity)},
            "findings": [
                {
                    "file": one.source.name,
                    "line": one.line or None,
                    "column": one.column or None,
                    "end_column": _end_column(one),
                    "where": one.where,
                    "code": one.code,
                    "rule": one.rule.name,
                    "severity": str(one.severity),
                    "message": one.message,
                    "notes": list(one.notes),
                    "help": one.help,
                }
                for one in findings
            ],
        },
        indent=2,
    )


def as_github(findings: Sequence[Finding]) -> str:
    """One workflow command per finding, which GitHub shows at its line."""
    lines = []
    for one in findings:
        place = {"file": one.source.name}
        if one.line:
            place |= {"line": str(one.line), "col": str(one.column), "endColumn": str(_end_column(one))}
        place["title"] = f"{one.code} {one.rule.name}"
        text = "\n".join([one.message, *one.notes, *([f"help: {one.help}"] if one.help else [])])
        if not one.line and one.where:
            text = f"{one.where}: {text}"
        properties = ",".join(f"{key}={_escaped(value, _PROPERTY)}" for key, value in place.items())
        lines.append(f"::{_GITHUB[one.severity]} {properties}::{_escaped(text, _DATA)}")
    return "\n".join(lines)


def as_sarif(findings: Sequence[Finding]) -> str:
    """A SARIF 2.1.0 log with one run."""
    codes = list(CHECKS)
    rules = [
        {
            "id": rule.code,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "fullDescription": {"text": plain(rule.finds)},
            "help": {
                "text": plain(f"{rule.matters}\n\n{rule.fix}"),
                "markdown": without_links(rule_page(rule)),
            },
            "defaultConfiguration": {"level": _LEVELS[rule.severity], "enabled": rule.is_default},
        }
        for rule in CHECKS.values()
    ]
    results = [
        {
            "ruleId": one.code,
            "ruleIndex": codes.index(one.code),
            "level": _LEVELS[one.severity],
            "message": {"text": "\n".join([one.message, *one.notes, *([one.help] if one.help else [])])},
            "locations": [_location(one)],
        }
        for one in findings
    ]
    driver = {"name": "sdybridge", "version": sdybridge.__version__, "rules": rules}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }
    return json.dumps(log, indent=2)


def _location(one: Finding) -> dict[str, object]:
    physical: dict[str, object] = {"artifactLocation": {"uri": one.source.name}}
    if one.line:
        physical["region"] = {
            "startLine": one.line, "startColumn": one.column, "endColumn": _end_column(one)
        }  # fmt: skip
    location: dict[str, object] = {"physicalLocation": physical}
    if one.where:
        location["logicalLocations"] = [{"fullyQualifiedName": one.where}]
    return location


def _end_column(one: Finding) -> int | None:
    """The column behind the finding on its first line."""
    if not one.line or not one.span:
        return None
    line_end = one.source.text.find("\n", one.span.start)
    end = min(one.span.end, line_end if line_end >= 0 else len(one.source.text))
    return one.column + max(end - one.span.start, 1)


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(char, char) for char in text)
