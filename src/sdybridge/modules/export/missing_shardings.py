"""Operations without a sharding, and where their text takes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import ConversionError
from sdybridge.modules.export.body_lines import add_to_lines
from sdybridge.modules.mlir.lexer import back_over_trivia, skip_trivia
from sdybridge.modules.mlir.reader import parse_one, parse_operations
from sdybridge.modules.mlir.result_types import result_types
from sdybridge.modules.splice import splice
from sdybridge.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sdybridge.modules.mlir.operations import Argument, Operation
    from sdybridge.modules.splice import Edit

    Attribute = Callable[[Sequence[str | None]], str | None]

_TERMINATORS = frozenset({"return", "yield", "br", "cond_br"})
_DICTIONARY_FIRST = frozenset(
    {"stablehlo.constant", "sdy.constant", "arith.constant", "stablehlo.optimization_barrier"}
)
_HLO = "mhlo.sharding"


def add_shardings(text: str, attribute: Attribute) -> tuple[str, int]:
    """Give a sharding to every operation, argument and result in `text` without one, but for terminators.

    Args:
        text: Operations, whose shardings are converted already.
        attribute: Makes the dictionary entry for an operation with results of these types, or for a value of
            one type. A type that the text does not tell is None; if it matters, so is what this returns.

    Returns:
        The new text, and how many shardings were added.

    Raises:
        ParseError: The text cannot be read as operations.
        ConversionError: It does not tell what an operation returns, or where it takes attributes.

    >>> add_shardings("%0 = a.b %x : i32", lambda types: f"s = {len(types)}")
    ('%0 = a.b %x {s = 1} : i32', 1)
    """
    lines = add_to_lines(text, lambda line: _entry_of(line, attribute)) if text.endswith("\n") else None
    return _add_to_operations(text, attribute) if lines is None else lines


def _entry_of(line: str, attribute: Attribute) -> str | None:
    """The entry for the operation on one line, of which the regions may be missing."""
    types = result_types(parse_one(Source(line), skip_trivia(line, 0)), {})
    return None if types is None else attribute(types)


def _add_to_operations(text: str, attribute: Attribute) -> tuple[str, int]:
    edits: list[Edit] = []
    for operation in parse_operations(Source(text)).walk():
        name = operation.full_name
        if name.endswith(".func"):
            edits += _function_edits(operation, attribute)
        elif name.rpartition(".")[2] not in _TERMINATORS and not operation.attribute(_HLO):
            types = result_types(operation, {})
            entry = None if types is None else attribute(types)
            if entry is None:
                raise _unclear(operation, "what it returns")
            edits.append(_edit(operation, entry))
    return splice(text, edits), len(edits)


def _edit(operation: Operation, entry: str) -> Edit:
    """The edit that adds an entry to the attributes of an operation."""
    text = operation.source.text
    if operation.dictionaries:
        return _into(text, operation.dictionaries[0].start, entry)
    if operation.full_name in _DICTIONARY_FIRST and not operation.is_generic:
        return operation.name_end, operation.name_end, f" {{{entry}}}"
    if not operation.signature:
        raise _unclear(operation, "where it takes attributes")
    if operation.full_name in ("stablehlo.while", "mhlo.while") and not operation.is_generic:
        end = operation.signature.end
        return end, end, f" attributes {{{entry}}}"
    colon = text.rfind(":", operation.name_end, operation.signature.start)
    at = back_over_trivia(text, colon, operation.name_end)
    return at, at, f" {{{entry}}}"


def _function_edits(function: Operation, attribute: Attribute) -> Iterator[Edit]:
    """The edits that add an entry to each argument and result of a function without a sharding."""
    text = function.source.text
    for value in function.arguments:
        if not function.entry_of(value.dictionary, _HLO):
            yield _value_edit(text, value, attribute)
    for value in function.function_results:
        if function.entry_of(value.dictionary, _HLO):
            continue
        start, end, new = _value_edit(text, value, attribute)
        if value.span == function.results_span and not value.dictionary:  # it stands without parentheses
            start, new = value.span.start, f"({text[value.span.start : end]}{new})"
        yield start, end, new


def _value_edit(text: str, value: Argument, attribute: Attribute) -> Edit:
    entry = attribute([text[value.type.start : value.type.end]]) or ""  # a type in the text is known
    if value.dictionary:
        return _into(text, value.dictionary.start, entry)
    return value.type.end, value.type.end, f" {{{entry}}}"


def _into(text: str, brace: int, entry: str) -> Edit:
    """The edit that puts an entry first into the dictionary at `brace`."""
    is_empty = text.startswith("}", skip_trivia(text, brace + 1))
    return brace + 1, brace + 1, entry if is_empty else f"{entry}, "


def _unclear(operation: Operation, what: str) -> ConversionError:
    return ConversionError(
        f"the text of {operation.full_name} does not tell {what}",
        source=operation.source,
        span=operation.name_span,
        notes=["it stands in a manual computation, where each operation gets a sharding"],
        help=f'write it in the generic form, `"{operation.full_name}"(%a) : (T) -> T`',
    )
