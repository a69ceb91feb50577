"""What a conversion warns of: shardings of two kinds that do not go together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdybridge.errors import diagnostic
from sdybridge.modules.mlir.lexer import holds

if TYPE_CHECKING:
    from sdybridge.source import Source, Span

_CARRIERS = ("xla.sdy.sharding", "xla.sdy.tuple_")
_STARTS = frozenset(' \t\n{(,"')  # what stands before a key or an operation, not `#` or `xla.`


@dataclass(frozen=True, slots=True)
class ConversionWarning:
    r"""What XLA would read differently than the program seems to say.

    Attributes:
        rule: The rule that is broken: the name of one of those of `sdybridge check`.
        message: What is wrong, in one line.
        source: The text; without characters for a proto, which has no lines.
        span: Where in the text.
        where: The place in a program without lines.
        notes: What XLA does, what the conversion did, and where the other shardings are.
        help: What to do.

    >>> from sdybridge import export_module
    >>> program = (
    ...     'sdy.mesh @m = <["x"=2]>\n'
    ...     'func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {\n'
    ...     '  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{replicated}"}'
    ...     ' : (tensor<8xf32>) -> tensor<8xf32>\n'
    ...     '  return\n}')
    >>> [(one.rule, one.message) for one in export_module(program).warnings]
    [('mixed-annotations', 'GSPMD and Shardy annotations are mixed: XLA will use GSPMD')]
    """

    rule: str
    message: str
    source: Source = field(repr=False)
    span: Span | None = None
    where: str = ""
    notes: tuple[str, ...] = ()
    help: str | None = None

    @property
    def location(self) -> str:
        """`file:line:column`, or the file and the instruction."""
        if not self.span:
            return f"{self.source.name}: {self.where}"
        line, column = self.source.location(self.span.start)
        return f"{self.source.name}:{line}:{column}"

    def __str__(self) -> str:
        head = f"{self.location}: warning: {self.message}"
        excerpt = self.source.excerpt(self.span) if self.span else ""
        return diagnostic(head, excerpt, self.notes, self.help)


def is_mixed(text: str) -> bool:
    """Whether an MLIR program may have shardings of two kinds.

    >>> is_mixed("mhlo.sharding call @xla.sdy.body"), is_mixed("mhlo.sharding xla.sdy.sharding")
    (False, True)
    """
    has_hlo = holds(text, "mhlo.sharding")
    has_carriers = holds(text, "xla.sdy.") and any(holds(text, key) for key in _CARRIERS)
    return (has_hlo and has_carriers) or ((has_hlo or has_carriers) and has_attributes(text))


def has_attributes(text: str) -> bool:
    """Whether an MLIR program may have Shardy's own attributes or operations.

    >>> has_attributes("sdy.sharding"), has_attributes("xla.sdy.sharding")
    (True, False)
    """
    at = text.find("sdy.") if holds(text, "sdy.") else -1
    while at >= 0:
        before = text[at - 1 : at]
        if not before or before in _STARTS:
            return True
        at = text.find("sdy.", at + 1)
    return False
