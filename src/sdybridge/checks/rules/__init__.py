"""All rules that programs are checked against: what they are called, what they say, and an example each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.checks.rules import exports, layouts, readers, shardings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdybridge.checks.finding import Rule

CHECKS: Mapping[str, Rule] = {
    rule.code: rule
    for rules in (shardings.RULES, readers.RULES, layouts.RULES, exports.RULES)
    for rule in rules
}
"""All rules by their codes."""
