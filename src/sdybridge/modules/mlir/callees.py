"""What an operation calls, in the pretty and the generic form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import symbol_name, unescape

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdybridge.modules.mlir.operations import Operation


CUSTOM_CALLS = frozenset({"stablehlo.custom_call", "mhlo.custom_call"})
"""The custom calls that XLA knows."""


def callee_of(operation: Operation) -> str:
    r"""The function that an operation calls; empty for other operations.

    >>> from sdybridge.modules.mlir.reader import parse_operations
    >>> [callee_of(one) for one in parse_operations("call @f() : () -> ()\nfoo.bar").operations]
    ['f', '']
    """
    return _called(operation, "callee", symbol_name) if operation.full_name == "func.call" else ""


def target_of(operation: Operation) -> str:
    """The target of a custom call; empty for other operations.

    >>> from sdybridge.modules.mlir.reader import parse_operations
    >>> text = '"stablehlo.custom_call"() <{call_target_name = "f"}> : () -> ()'
    >>> [target_of(one) for one in parse_operations(text).operations]
    ['f']
    """
    is_call = operation.full_name.endswith(".custom_call")
    return _called(operation, "call_target_name", unescape) if is_call else ""


def _called(operation: Operation, key: str, read: Callable[[str], str]) -> str:
    """The symbol of the pretty form, or what `read` makes of the generic form's attribute."""
    if not operation.is_generic:
        return operation.symbol or ""
    entry = operation.attribute(key)
    text = operation.source.text
    return read(text[entry.value.start : entry.value.end]) if entry and entry.value else ""
