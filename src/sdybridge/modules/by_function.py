"""What a conversion did, function by function."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import SYMBOL, TRIVIA, matching_bracket, next_code, symbol_name, unescape

if TYPE_CHECKING:
    from sdybridge.modules.converted import ConvertedModule, ConvertedSharding

_FUNCTION = re.compile(
    rf"func\.func(?![\w.$\-]){TRIVIA}(?:(?:public|private|nested)(?![\w.$\-]){TRIVIA})?({SYMBOL}){TRIVIA}\("
)
_SITE = re.compile(
    r'mhlo\.sharding = (?P<hlo>"[^"\n]*+")|(?P<full>#sdy\.sharding(?:_per_value)?)(?=<)'
    r"|out_sharding=(?=<)|(?:in|out)_shardings=(?=\[)"
    r'|"?(?P<operation>sdy\.[a-z]\w*+)"?(?=[ (])(?! =)'
)


@dataclass(slots=True)
class FunctionReport:
    """What was done in one function.

    Attributes:
        name: Its name; empty for what is in no function.
        shardings: How many of its shardings were converted.
        operations: How many Shardy operations it had, by name.
        losses: At how many of its shardings something was lost, by kind.
    """

    name: str
    shardings: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    losses: Counter[str] = field(default_factory=Counter)


def report_functions(text: str, result: ConvertedModule) -> list[FunctionReport]:
    """What a conversion did in each function of the program, in the order of the text.

    Args:
        text: The program as MLIR text, before the conversion.
        result: What the conversion answered.

    >>> from sdybridge.modules import export_module
    >>> text = '''sdy.mesh @mesh = <["x"=2]>
    ... func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) { return }
    ... func.func @g() { return }'''
    >>> [(one.name, one.shardings, *one.losses) for one in report_functions(text, export_module(text))]
    [('', 0), ('f', 1, 'axis-names', 'openness'), ('g', 0)]
    """
    reports = [FunctionReport("")]
    starts = [0]
    for hit in _FUNCTION.finditer(text):
        if next_code(text, starts[-1], hit.start()) == hit.start():
            starts.append(hit.start())
            reports.append(FunctionReport(symbol_name(hit[1])))
    known = {sharding.before: sharding for sharding in result.shardings}
    for hit in _SITE.finditer(text):
        report = reports[bisect.bisect_right(starts, hit.start()) - 1]
        if hit["operation"]:
            report.operations[hit["operation"]] += 1
        if hit["operation"] not in (None, "sdy.reshard", "sdy.sharding_constraint"):
            continue
        sharding = known.get(_spelled(text, hit))
        if sharding:
            report.shardings += 1
            report.losses.update(_kinds(sharding))
    return [one for one in reports if one.name or one.operations or one.shardings or len(reports) > 1]


def _spelled(text: str, hit: re.Match[str]) -> str:
    """The sharding at a site, as results list it."""
    if hit["hlo"]:
        return unescape(hit["hlo"])
    start = hit.end()
    if hit["operation"]:
        start = text.find("<", start)
        if start < 0 or "\n" in text[hit.end() : start]:
            return ""
    end = matching_bracket(text, start)
    body = text[start:end]
    if body.startswith("["):
        return f"#sdy.sharding_per_value<{body}>"
    return f"{hit['full'] or '#sdy.sharding'}{body}"


def _kinds(sharding: ConvertedSharding) -> list[str]:
    return sorted({loss.kind.value for loss in sharding.losses})
