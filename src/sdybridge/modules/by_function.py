"""What a conversion did, function by function."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError, ProtoError
from sdybridge.modules.carriers import SHARDING
from sdybridge.modules.mlir.lexer import SYMBOL, TRIVIA, matching_bracket, next_code, symbol_name, unescape
from sdybridge.modules.programs import read_hlo, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.modules.converted import ConvertedModule, ConvertedSharding
    from sdybridge.modules.hlo_program import HloProgram, HloSite

_FUNCTION = re.compile(
    rf"func\.func(?![\w.$\-]){TRIVIA}(?:(?:public|private|nested)(?![\w.$\-]){TRIVIA})?({SYMBOL}){TRIVIA}\("
)
_PLAIN = r"<[^<>\n]*+>"
# Patterns that start with letters, not with a choice, are found at the speed of a search for text.
_HLO = re.compile(r'mhlo\.sharding = ("[^"\n]*+")')
_SHARDY = re.compile(
    rf"sdy\.(?:(?<=#sdy\.)sharding(?P<plain>{_PLAIN}|_per_value<\[(?:{_PLAIN}(?:, )?+)*+\]>)"
    r"|(?<=#sdy\.)sharding(?:_per_value)?(?=<)"
    r'|(?<!#sdy\.)(?<!xla\.sdy\.)(?P<operation>[a-z]\w*+)"?(?=[ (])(?! =))'
)
_BESIDE = re.compile(r"[^{}\"\n]*\bsdy\.sharding =")
_CALL = re.compile(r"custom_call @([\w.$]+)\(")
_PARAMETER = re.compile(r"_sharding(s?)=(?=[<\[])")
_CONSTRAINTS = ("sdy.reshard", "sdy.sharding_constraint")


@dataclass(slots=True)
class FunctionReport:
    """What was done in one function, or in one computation of HLO.

    Attributes:
        name: Its name; empty for what is in no function.
        shardings: How many of its shardings were converted.
        operations: How many operations of it were rewritten or removed, by name.
        losses: At how many of its shardings something was lost, by kind.
        kept: How many of its shardings stay as they are.
    """

    name: str
    shardings: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    losses: Counter[str] = field(default_factory=Counter)
    kept: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to do in it, and nothing to leave."""
        return not (self.shardings or self.operations or self.kept)


def report_functions(program: str | bytes, result: ConvertedModule) -> list[FunctionReport]:
    """What a conversion did in each function or computation of the program, in the order of the program.

    Args:
        program: The program before the conversion, in any format.
        result: What the conversion answered.

    >>> from sdybridge.modules import export_module
    >>> text = '''sdy.mesh @mesh = <["x"=2]>
    ... func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) { return }
    ... func.func @g() { return }'''
    >>> [(one.name, one.shardings, *one.losses) for one in report_functions(text, export_module(text))]
    [('', 0), ('f', 1, 'axis-names', 'openness'), ('g', 0)]
    """
    known = {sharding.before: sharding for sharding in result.shardings}
    hlo = read_hlo(program)
    if hlo is not None:
        return _of_computations(hlo, known)
    text = text_of(program)
    reports = [FunctionReport("")]
    starts = [0]
    for hit in _FUNCTION.finditer(text):
        if next_code(text, starts[-1], hit.start()) == hit.start():
            starts.append(hit.start())
            reports.append(FunctionReport(symbol_name(hit[1])))
    for at, spelled, operation in _sites(text):
        report = reports[bisect.bisect_right(starts, at) - 1]
        if operation in result.operations:
            report.operations[operation] += 1
        sharding = known.get(spelled)
        if sharding:
            report.shardings += 1
            report.losses.update(_kinds(sharding))
        elif spelled and not operation:
            report.kept += 1
    return [one for one in reports if one.name or not one.is_empty]


def _sites(text: str) -> Iterator[tuple[int, str, str]]:
    """Where a sharding or a Shardy operation stands, the sharding as results list it, and the operation."""
    for hit in _in_code(_HLO, text):
        if _BESIDE.match(text, hit.end()):
            continue  # the Shardy sharding of the same value counts
        yield hit.start(), unescape(hit[1]), ""
    for hit in _in_code(_SHARDY, text):
        operation = f"sdy.{hit['operation']}" if hit["operation"] else ""
        if not operation:
            body = "" if hit["plain"] else _in_brackets(text, hit.end())
            yield hit.start() - 1, f"#{hit[0]}{body}", ""
        else:  # what a generic one has is an attribute
            has_sharding = operation in _CONSTRAINTS and not text.startswith('"', hit.start() - 1)
            yield hit.start(), _constraint(text, hit.end()) if has_sharding else "", operation
    for hit in _in_code(_CALL, text):
        yield hit.start(), "", f"stablehlo.custom_call @{hit[1]}"
    for hit in _in_code(_PARAMETER, text):
        value = _in_brackets(text, hit.end())
        yield hit.start(), f"#sdy.sharding_per_value<{value}>" if hit[1] else f"#sdy.sharding{value}", ""


def _in_code(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches that start in no comment and in no string, the names of generic operations aside."""
    code = 0
    for hit in pattern.finditer(text):
        at = hit.start() - text.startswith('"', hit.start() - 1)
        if at >= code:
            code = next_code(text, code, at)
            if code == at:
                yield hit


def _constraint(text: str, at: int) -> str:
    """The sharding of a constraint whose operand follows at `at`."""
    start = text.find("<", at)
    if start < 0 or "\n" in text[at:start]:
        return ""
    return f"#sdy.sharding{_in_brackets(text, start)}"


def _in_brackets(text: str, at: int) -> str:
    """The text from the bracket at an offset to its partner; the bracket alone if that is missing."""
    try:
        return text[at : matching_bracket(text, at)]
    except ParseError:
        return text[at : at + 1]


def _of_computations(program: HloProgram, known: dict[str, ConvertedSharding]) -> list[FunctionReport]:
    """The same for the computations of HLO that have shardings."""
    reports: dict[str, FunctionReport] = {}
    for site in program.sites():
        carrier = site.carrier(SHARDING) if SHARDING in site.frontend_attributes else None
        if not carrier and not site.has_sharding:
            continue
        report = reports.setdefault(site.computation, FunctionReport(site.computation))
        sharding = known.get(carrier.text) if carrier else None
        if sharding is None and not carrier:
            sharding = known.get(_spelled(site))
        if sharding:
            report.shardings += 1
            report.losses.update(_kinds(sharding))
        else:
            report.kept += 1
    return list(reports.values())


def _spelled(site: HloSite) -> str:
    """The HLO sharding of a site; empty if it has none, or one that is malformed, which export keeps."""
    try:
        return "" if site.sharding is None else site.sharding.to_string()
    except (ParseError, ProtoError):
        return ""


def _kinds(sharding: ConvertedSharding) -> list[str]:
    return sorted({loss.kind.value for loss in sharding.losses})
