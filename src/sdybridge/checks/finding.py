"""What a check finds: a rule, a place, and words."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdybridge.errors import diagnostic
from sdybridge.source import EXCERPT_WIDTH

if TYPE_CHECKING:
    from sdybridge.source import Source, Span


class Severity(enum.IntEnum):
    """How bad a finding is.

    >>> Severity.WARNING < Severity.ERROR, str(Severity.INFO)
    (True, 'info')
    """

    INFO = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule that programs are checked against.

    Attributes:
        code: Its short name, `SB102`, for `select` and `ignore`.
        name: Its name in words, `unknown-mesh`.
        severity: How bad it is to break it.
        summary: What holds, in a sentence, in Markdown.
        finds: What it finds, in Markdown.
        matters: What XLA does with such a program, in Markdown.
        fix: What to do, in Markdown.
        bad: A program, or the lines of one, that breaks it.
        good: The same as it should be.
        silence: How to quieten it, apart from the options that all rules have.
        is_default: Whether it is checked unless it is asked for.

    >>> from sdybridge.checks import CHECKS
    >>> CHECKS["SB402"].name, CHECKS["SB402"].summary
    ('empty-parts', 'Every device holds a part of a sharded tensor.')
    """

    code: str
    name: str
    severity: Severity
    summary: str
    finds: str
    matters: str
    fix: str
    bad: str
    good: str
    silence: str = ""
    is_default: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule in one place.

    Attributes:
        rule: The rule.
        message: What is wrong, in one line.
        source: The text; without characters for a proto, which has no lines.
        span: Where in the text.
        where: The place in a program without lines: an instruction.
        notes: What else there is to know.
        help: What to do.
        line: The line, from 1; 0 without one.
        column: The column, from 1.

    >>> from sdybridge import check_module
    >>> [found] = check_module("func.func @f() {", name="f.mlir")
    >>> found.code, found.location, found.message
    ('SB100', 'f.mlir:1:16', "'{' is never closed")
    """

    rule: Rule
    message: str
    source: Source = field(repr=False)
    span: Span | None = None
    where: str = ""
    notes: tuple[str, ...] = ()
    help: str | None = None
    line: int = 0
    column: int = 0

    @property
    def code(self) -> str:
        """The code of the rule."""
        return self.rule.code

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return self.rule.severity

    @property
    def location(self) -> str:
        """`file:line:column`, or the file and the instruction."""
        if self.line:
            return f"{self.source.name}:{self.line}:{self.column}"
        return f"{self.source.name}: {self.where}" if self.where else self.source.name

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = EXCERPT_WIDTH) -> str:
        """The finding with its excerpt, notes and help; of a long line `width` characters are shown.

        >>> from sdybridge import check_module
        >>> [found] = check_module("func.func @f() {", name="f.mlir")
        >>> print(found.to_text(width=12))
        f.mlir:1:16: error[SB100]: '{' is never closed
        ...  @f() {
                  ^
        help: close it with `}`
        """
        head = f"{self.location}: {self.severity}[{self.code}]: {self.message}"
        excerpt = self.source.excerpt(self.span, width) if self.span and self.source.text else ""
        return diagnostic(head, excerpt, self.notes, self.help)
