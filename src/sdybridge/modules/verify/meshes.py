"""The rules of modules: their meshes, their symbols, their attributes.

Source: shardy/dialect/sdy/ir/ops.td, `MeshOp`; mlir/lib/IR/SymbolTable.cpp; mlir/lib/IR/BuiltinDialect.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import describe, matching_bracket, parse_error, skip_trivia, symbol_end
from sdybridge.modules.verify.context import ModuleScope
from sdybridge.sdy import MeshAttr
from sdybridge.source import Span

if TYPE_CHECKING:
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.verify.checker import Checker
    from sdybridge.modules.verify.context import Context

_OF_MODULES = frozenset(("sym_name", "sym_visibility"))


def read_module(checker: Checker, operations: list[Operation], outer: ModuleScope | None) -> ModuleScope:
    """The meshes of a module with these operations; checks that its symbols differ."""
    scope = ModuleScope(outer=outer)
    symbols: dict[str, Operation] = {}
    for operation in operations:
        name = operation.full_name
        if name == "sdy.mesh":
            checker.attempt(_declare_mesh, checker, operation, scope)
        elif name != "builtin.module" and not name.endswith(".func"):
            continue
        checker.attempt(_declare, checker, operation, symbols)
    return scope


def _declare_mesh(checker: Checker, operation: Operation, scope: ModuleScope) -> None:
    name = operation.symbol or ""
    is_first = name not in scope.meshes
    if is_first:
        scope.meshes[name] = None  # for the case that the text of the mesh has an error
    mesh = read_mesh(checker, operation)
    if is_first:
        scope.meshes[name] = mesh


def _declare(checker: Checker, operation: Operation, symbols: dict[str, Operation]) -> None:
    symbol, span = operation.symbol, operation.symbol_span
    if symbol is None or span is None:
        return
    if symbol in symbols:
        raise checker.error(
            "symbol-redefinition",
            f"the module has two operations named {checker.text[span.start : span.end]}",
            span,
            notes=[f"the first is {checker.at(symbols[symbol])}"],
            help="give one of them another name",
        )
    symbols[symbol] = operation


def read_mesh(checker: Checker, operation: Operation) -> MeshAttr:
    """The mesh of an `sdy.mesh` operation.

    Raises:
        ParseError: The operation's text is malformed.
        VerificationError: The mesh is invalid.
    """
    text = checker.text
    if operation.is_generic:
        return _generic_mesh(checker, operation)
    start = skip_trivia(text, operation.name_end)
    if not text.startswith("@", start):
        word = describe(text, start)
        is_visibility = word in ("'private'", "'public'", "'nested'")
        raise parse_error(
            text,
            start,
            f"expected '@' and the mesh's name, found {word}",
            notes=("a mesh has no visibility",) if is_visibility else (),
            help="write @ in front of it" if text.startswith('"', start) else None,
        )
    pos = skip_trivia(text, symbol_end(text, start))
    if not text.startswith("=", pos):
        raise parse_error(text, pos, f"expected '=' after the mesh's name, found {describe(text, pos)}")
    mesh, end = checker.read(skip_trivia(text, pos + 1), MeshAttr)
    pos = skip_trivia(text, end)
    if text.startswith("{", pos):
        pos = skip_trivia(text, matching_bracket(text, pos))
    if pos < operation.end and not text.startswith("loc", pos):
        raise parse_error(text, pos, f"expected the end of sdy.mesh, found {describe(text, pos)}")
    return mesh


def _generic_mesh(checker: Checker, operation: Operation) -> MeshAttr:
    for key in ("mesh", "sym_name"):
        entry = operation.attribute(key)
        if not entry or not entry.value:
            start, end = operation.name_start, operation.name_end
            raise parse_error(checker.text, start, f'"sdy.mesh" has no property {key}', end=end)
        if key == "mesh":
            value = entry.value
    return checker.read(value.start, MeshAttr)[0]


def verify_mesh(checker: Checker, operation: Operation, context: Context) -> None:
    """Where an `sdy.mesh` operation stands; its text has been read with the module's, if it stands in one.

    Raises:
        VerificationError: `mesh-placement`.
    """
    parent = context.parent
    if parent is None or parent.full_name == "builtin.module":
        return
    checker.attempt(read_mesh, checker, operation)
    raise checker.error(
        "mesh-placement",
        "a mesh stands directly in a module",
        operation.name_span,
        notes=[f"this one is in {checker.at(parent)}"],
        help="move it out, next to the functions",
    )


def verify_attribute_names(checker: Checker, operation: Operation) -> None:
    """The names of a module's attributes.

    Raises:
        VerificationError: `module-attribute-name`.
    """
    for entry in operation.entries:
        if "." not in entry.key and entry.key not in _OF_MODULES:
            raise checker.error(
                "module-attribute-name",
                f"the module's attribute '{entry.key}' has no dialect in its name",
                Span(entry.span.start, entry.span.start + len(entry.key)),
                help=f"write a dialect's name in front, such as `mhlo.{entry.key}`",
            )
