"""The functions that manual computations call: what is manual around a call is manual in the function."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import (
    SYMBOL,
    TRIVIA,
    matching_bracket,
    next_code,
    places,
    skip_trivia,
    type_end,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdybridge.modules.mlir.computations import Computation, ManualScope

_CALL = re.compile(rf"call(?:ee{TRIVIA}=)?+{TRIVIA}({SYMBOL})")
_BEFORE_CALL = frozenset({"", " ", "\t", "\n", ".", "{", ",", "}", ")", "="})
_FUNCTION = re.compile(
    rf"func\.func(?![\w.$\-]){TRIVIA}(?:(?P<visibility>public|private|nested)(?![\w.$\-]){TRIVIA})?"
    rf"(?P<symbol>{SYMBOL}){TRIVIA}(?=\()"
)


@dataclass(slots=True, eq=False)
class CalledFunction:
    """A function of the text.

    Attributes:
        symbol: Its name as it is written, with the `@`.
        start: Where its text starts.
        arguments: Where the parentheses of its arguments open.
        is_private: Whether only calls in the text reach it.
        end: Where it ends, once that is known.
        scopes: What is manual around the calls that reach it, None for nothing. The first is what the
            function itself is for, the others are for copies of it.
        names: The symbol for each of the scopes.
    """

    symbol: str
    start: int
    arguments: int
    is_private: bool
    end: int = -1
    scopes: list[ManualScope | None] = field(default_factory=list)
    names: dict[ManualScope | None, str] = field(default_factory=dict)


def find_called_functions(
    text: str, computations: Sequence[Computation], spans: Sequence[tuple[int, int]]
) -> dict[str, CalledFunction]:
    """The functions that are reached from inside a manual computation, by their symbol.

    Args:
        text: The program.
        computations: All its computations, outer ones first.
        spans: The text but for what is repeated in it.

    Raises:
        ParseError: Brackets of such a function do not pair up.
    """
    if not any(_CALL.search(text, c.body.start, c.body.end) for c in computations if not c.outer):
        return {}
    functions = [*_functions(text, spans)]
    starts = [function.start for function in functions]
    by_symbol = {function.symbol: function for function in reversed(functions)}
    calls: dict[str, list[tuple[str, Computation | None]]] = {}
    called = set()
    inside = Innermost(computations)
    for at, symbol in _calls(text, spans):
        i = bisect.bisect_right(starts, at) - 1
        if i >= 0 and symbol in by_symbol:
            calls.setdefault(functions[i].symbol, []).append((symbol, inside.at(at)))
            called.add(symbol)
    waiting: list[tuple[str, ManualScope | None]] = [
        (function.symbol, None)
        for function in functions
        if not function.is_private or function.symbol not in called
    ]
    reached = dict.fromkeys(waiting)  # in order
    while waiting:
        symbol, scope = waiting.pop()
        for callee, computation in calls.get(symbol, ()):
            one = callee, _compose(scope, computation)
            if one not in reached:
                reached[one] = None
                waiting.append(one)
    for symbol, scope in reached:
        by_symbol[symbol].scopes.insert(0 if scope is None else len(functions), scope)
    found = {f.symbol: f for f in functions if f.scopes and f.scopes != [None]}
    for function in found.values():
        function.end = _end(text, function.arguments)
    return found


def rename_calls(text: str, functions: dict[str, CalledFunction], scope: ManualScope | None) -> str:
    """`text`, in which `scope` is manual, with each call of a copied function as one of the right copy."""
    pieces: list[str] = []
    last = 0
    for at, symbol in _calls(text, [(0, len(text))]):
        name = functions[symbol].names.get(scope, symbol) if symbol in functions else symbol
        if name != symbol:
            pieces += (text[last:at], name)
            last = at + len(symbol)
    return "".join([*pieces, text[last:]]) if pieces else text


class Innermost:
    """Answers which computation is the innermost around an offset, for offsets that only grow."""

    def __init__(self, computations: Sequence[Computation]) -> None:
        self._waiting = [*reversed(computations)]
        self._around: list[Computation] = []

    def at(self, at: int) -> Computation | None:
        """The innermost computation around an offset; None if there is none."""
        waiting, around = self._waiting, self._around
        while waiting and waiting[-1].body.start < at:
            around.append(waiting.pop())
        while around and around[-1].body.end <= at:
            around.pop()
        return around[-1] if around else None


def _compose(scope: ManualScope | None, computation: Computation | None) -> ManualScope | None:
    """What is manual in a computation of a function that is itself called where `scope` is."""
    chain = []
    while computation:
        chain.append(computation)
        computation = computation.outer
    for one in reversed(chain):
        scope = one.scope_inside(scope)
    return scope


def _calls(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """Each call of a symbol, outside strings and comments: where that stands, and the symbol."""
    code = 0
    for at in places(text, "call", spans):
        hit = _CALL.match(text, at)
        if not hit or at < code or text[at - 1 : at] not in _BEFORE_CALL:
            continue
        if text[at - 1 : at] == "." and not text.endswith("func.", 0, at):
            continue
        code = next_code(text, code, at)
        if code == at:
            yield hit.start(1), hit[1]


def _functions(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[CalledFunction]:
    code = 0
    for at in places(text, "func.func", spans):
        hit = _FUNCTION.match(text, at)
        if hit and hit.start() >= code:
            code = next_code(text, code, hit.start())
            if code == hit.start():
                yield CalledFunction(hit["symbol"], code, hit.end(), hit["visibility"] == "private")


def _end(text: str, arguments: int) -> int:
    """Where the function ends whose arguments open there: behind its body or its types."""
    at = end = matching_bracket(text, arguments)
    at = skip_trivia(text, at)
    if text.startswith("->", at):
        end = type_end(text, skip_trivia(text, at + 2))
        at = skip_trivia(text, end)
    if text.startswith("attributes", at):
        at = skip_trivia(text, at + len("attributes"))
        end = matching_bracket(text, at)
        at = skip_trivia(text, end)
    return matching_bracket(text, at) if text.startswith("{", at) else end
