"""The check of a program by all rules."""

from __future__ import annotations

import bisect
import dataclasses
import re
from typing import TYPE_CHECKING

from sdybridge.checks import layout, losses, manual, partitioner, validity
from sdybridge.checks.finding import Finding
from sdybridge.checks.hlo import Proto, Text
from sdybridge.checks.mlir import MlirText
from sdybridge.checks.program import LARGE, Options, Problem
from sdybridge.checks.reduced import quick_problems
from sdybridge.checks.rules import CHECKS
from sdybridge.errors import SdyBridgeError
from sdybridge.modules.programs import is_hlo_text, is_proto, text_of
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from sdybridge.checks.program import Program
    from sdybridge.modules.mlir.condensed import Condensed

_FAMILIES = (validity, partitioner, manual, layout, losses)
_CODE = re.compile(r"SB\d{0,3}", re.IGNORECASE)


def check_module(
    program: str | bytes,
    *,
    name: str = "<string>",
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    replicated_bytes: int = LARGE,
    target: Target = Target.CURRENT,
    progress: Callable[[int], None] | None = None,
) -> list[Finding]:
    """Everything that is wrong or doubtful about the shardings of a program, in the order of the text.

    Args:
        program: MLIR text, HLO text, or the bytes of an HLO proto.
        name: What findings call it.
        select: Codes (`SB102`) or their beginnings (`SB4`) of the only rules to check, `ALL` for every one;
            none means those that are checked by default.
        ignore: Codes or their beginnings of rules not to check.
        replicated_bytes: From how many bytes on a replicated tensor counts as large.
        target: Whose grammar and conventions to follow.
        progress: Called now and then with the number of characters (or, of a proto, bytes) that are read.

    Raises:
        ValueError: A code in `select` or `ignore` is that of no rule.

    Example:
        >>> text = 'func.func @f(%a: tensor<4xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"}) { return }'
        >>> print(check_module(text)[0])
        <string>:1:49: error[SB104]: the grid tiles 2 dimensions, but the tensor has rank 1
        func.func @f(%a: tensor<4xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"}) { return }
                                                        ^~~~~~~~~~~~~~~~~~~~~~
        note: on %a (argument, f32[4])
        help: give it 1 dimension before those of replicas and subgroups
    """
    codes = selected(select, ignore)
    options = Options(Target(target), replicated_bytes, progress)
    if not isinstance(program, str | bytes):
        raise TypeError(f"expected a program's text or bytes, not a {type(program).__name__}")
    if isinstance(program, bytes) and not is_proto(program):
        program = text_of(program)
    source = Source("" if isinstance(program, bytes) else program, name)
    if isinstance(program, str) and not is_hlo_text(program):
        return _check_mlir(source, options, codes)
    return _check_whole(program, source, options, codes)


def check_condensed(condensed: Condensed, *, target: Target = Target.CURRENT) -> list[Finding]:
    """What `check_module` finds in the MLIR program that a condensed text stands for."""
    return _check_mlir(condensed.whole, Options(Target(target)), selected((), ()), condensed)


def _check_mlir(
    source: Source, options: Options, codes: Collection[str], condensed: Condensed | None = None
) -> list[Finding]:
    silent = dataclasses.replace(options, progress=None)
    quick = quick_problems(
        source, lambda shorter: _problems(MlirText(shorter, silent), codes), condensed, options.progress
    )
    return _check_whole(source.text, source, options, codes) if quick is None else _in_order(source, quick)


def _check_whole(
    program: str | bytes, source: Source, options: Options, codes: Collection[str]
) -> list[Finding]:
    try:
        problems = _problems(open_program(program, source.name, options), codes)
    except SdyBridgeError as error:
        return [unreadable(error, source)] if "SB100" in codes else []
    return _in_order(source, problems)


def unreadable(error: SdyBridgeError, source: Source) -> Finding:
    """What is found in a program that cannot be read at all.

    >>> from sdybridge import ParseError
    >>> from sdybridge.source import Source, Span
    >>> source = Source("module {", "step.mlir")
    >>> print(unreadable(ParseError("'{' is never closed", source=source, span=Span(7, 8)), source))
    step.mlir:1:8: error[SB100]: '{' is never closed
    module {
           ^
    """
    problem = dataclasses.replace(validity.as_problem(error), code="SB100")
    return _in_order(error.source or source, [problem])[0]


def open_program(program: str | bytes, name: str, options: Options | None = None) -> Program:
    """A program in any format, for checks and comparisons.

    Raises:
        ParseError: Its operations or instructions cannot be told apart.
        ProtoError: Its bytes are no program.

    Example:
        >>> program = open_program("ENTRY e { ROOT a = f32[8] parameter(0), sharding={replicated} }", "m")
        >>> [str(one.sharding) for one in program.annotations]
        ['{replicated}']
    """
    options = options or Options()
    if isinstance(program, bytes):
        if is_proto(program):
            return Proto(program, name, options)
        program = text_of(program)
    source = Source(program, name)
    return Text(source, options) if is_hlo_text(program) else MlirText(source, options)


def selected(select: Iterable[str], ignore: Iterable[str]) -> frozenset[str]:
    """The codes of the rules to check.

    Raises:
        ValueError: One is no code, nor the beginning of any.

    >>> sorted(selected(["SB40"], ["SB401", "SB402"]))
    ['SB403', 'SB404', 'SB405', 'SB406', 'SB407']
    """
    wanted = set(_expanded(select)) or {code for code, rule in CHECKS.items() if rule.is_default}
    return frozenset(wanted - set(_expanded(ignore)))


def _expanded(prefixes: Iterable[str]) -> Iterator[str]:
    for prefix in prefixes:
        found = [code for code in CHECKS if code.startswith(prefix.upper())]
        if prefix.upper() == "ALL":
            found = list(CHECKS)
        elif not found or not _CODE.fullmatch(prefix):
            raise ValueError(f"no rule has the code {prefix}; `sdybridge check --rules` lists them")
        yield from found


def _problems(program: Program, codes: Collection[str]) -> list[Problem]:
    return [one for family in _FAMILIES for one in family.check(program) if one.code in codes]


def _in_order(source: Source, problems: list[Problem]) -> list[Finding]:
    """The findings in the order of the text, with their lines."""
    starts = [0, *(found.end() for found in re.finditer("\n", source.text))] if problems else [0]
    findings = []
    for one in problems:
        span, where = one.place
        finding = Finding(
            CHECKS[one.code], one.message, source, span, where, tuple(filter(None, one.notes)), one.help
        )
        if span and source.text:
            line = bisect.bisect_right(starts, span.start)
            finding = dataclasses.replace(finding, line=line, column=span.start - starts[line - 1] + 1)
        findings.append(finding)
    findings.sort(key=lambda one: (one.span or Span(0, 0)).start)
    return findings
