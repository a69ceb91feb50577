"""How many results an operation has and of which types, as far as its text tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.source import Span

# In these dialects a single type after the colon is the type of the operands and of each result.
_UNIFORM_DIALECTS = frozenset(("arith", "chlo", "math", "mhlo", "sdy", "stablehlo"))
_LISTED = frozenset(("while", "optimization_barrier"))
_NO_RESULTS = frozenset(
    ("func.func", "builtin.module", "sdy.mesh", "sdy.sharding_group", "stablehlo.trace", "mhlo.trace")
)
_MOST_RESULTS = 1 << 16  # no operation has more, and a text of a few characters may say that one has
_TERMINATORS = ("return", "yield", "br", "cond_br")


def result_types(operation: Operation, aliases: Mapping[str, Span]) -> list[str | None] | None:
    """One type per result, None for one that the text does not tell; None if not even the number is known.

    Args:
        operation: The operation.
        aliases: The type aliases of its text, with their `!`.
    """
    text = operation.source.text
    named = sum(count for _, count in operation.results)
    left, right = operation.signature_types
    if named > _MOST_RESULTS:
        return None
    if right is not None:
        types = [expand_type(text[span.start : span.end], text, aliases) for span in right]
        return [*types] if named in (0, len(types)) else [None] * named
    name = operation.full_name
    dialect, _, mnemonic = name.partition(".")
    if named == 0 and (name in _NO_RESULTS or name.endswith(".func") or mnemonic in _TERMINATORS):
        return []
    if dialect not in _UNIFORM_DIALECTS:
        return [None] * named if named else None
    types = [expand_type(text[span.start : span.end], text, aliases) for span in left]
    if not types:
        return [None] * named
    if mnemonic in _LISTED or (named > 1 and named == len(types)):
        return [*types]
    return [types[-1]] * (named or 1)  # the last one, for select: its first type is the predicate's


def expand_type(text: str, whole: str, aliases: Mapping[str, Span]) -> str:
    """The type that `text` is or, through aliases defined in `whole`, stands for."""
    for _ in range(len(aliases) + 1):
        if text not in aliases:
            return text
        span = aliases[text]
        text = whole[span.start : span.end]
    return text
