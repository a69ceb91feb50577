"""Which arguments and results of `@main` propagation may shard further."""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError, VerificationError
from sdybridge.hlo.checks import as_tuple, shown
from sdybridge.modules.mlir.lexer import items, matching_bracket, skip_trivia
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdybridge.source import Source

_MAIN = re.compile(r"func\.func\s++(?:(?:public|private|nested)\s++)?+@main\s*+(?=\()")


class OpenValues:
    """Which arguments and results of `@main` are open; those of other functions never are.

    Args:
        source: The program.
        arguments: One flag per argument, or one for all; none for none.
        results: The same for the results.

    Raises:
        VerificationError: A flag is no bool, or there are fewer flags than values.

    >>> from sdybridge.source import Source
    >>> text = "func.func @main(%a: i32 {}, %b: i32 {}) { return }"
    >>> values = OpenValues(Source(text), [True, False], [])
    >>> [values.is_open(text.index(name)) for name in ("%a", "%b")]
    [True, False]
    """

    def __init__(self, source: Source, arguments: Sequence[bool], results: Sequence[bool]) -> None:
        flags = [_flags(arguments, "open_arguments"), _flags(results, "open_results")]
        self._starts: list[int] = []
        self._open: list[bool] = []
        if not any(flags):
            return
        for kind, spans, wanted in zip(("argument", "result"), _main(source), flags, strict=True):
            for i, span in enumerate(spans):
                if len(wanted) > 1 and i >= len(wanted):
                    raise VerificationError(
                        f"open_{kind}s has {len(wanted)} flags, and @main has {len(spans)} {kind}s",
                        rule="open-values",
                        source=source,
                        span=span,
                        help="give one flag for each of them, or one for all",
                    )
                self._starts += (span.start, span.end)
                self._open += (bool(wanted) and wanted[i if len(wanted) > 1 else 0], False)

    def is_open(self, at: int) -> bool:
        """Whether the value that the text at `at` is about is open."""
        i = bisect.bisect_right(self._starts, at) - 1
        return i >= 0 and self._open[i]

    @property
    def span(self) -> Span:
        """The part of the text in which `is_open` may hold."""
        return Span(self._starts[0], self._starts[-1]) if self._starts else Span(-1, -1)


def _flags(flags: Sequence[bool], name: str) -> tuple[bool, ...]:
    for flag in as_tuple(flags, name, "bool"):
        if not isinstance(flag, bool):
            raise VerificationError(f"{name} must hold bools, got {shown(flag)}", rule="open-values")
    return tuple(flags)


def _main(source: Source) -> tuple[Sequence[Span], Sequence[Span]]:
    """The arguments and results of the first function `@main`."""
    text = source.text
    for hit in _MAIN.finditer(text):
        line = text.rfind("\n", 0, hit.start()) + 1
        if text.count('"', line, hit.start()) & 1 or "//" in text[line : hit.start()]:
            continue
        end = matching_bracket(text, hit.end())
        arrow = skip_trivia(text, end)
        at = skip_trivia(text, arrow + 2)
        results: Iterable[Span] = ()
        if text.startswith("->", arrow) and text.startswith("(", at):
            results = items(text, at + 1, matching_bracket(text, at) - 1)
        return list(items(text, hit.end() + 1, end - 1)), list(results)
    if "func.func" not in text or "main" not in text:
        return (), ()
    try:
        operations = parse_operations(source).walk()
        function = next(f for f in operations if f.full_name == "func.func" and f.symbol == "main")
    except (ParseError, StopIteration):
        return (), ()
    spans = [
        [value.dictionary or value.span for value in values]
        for values in (function.arguments, function.function_results)
    ]
    return spans[0], spans[1]
