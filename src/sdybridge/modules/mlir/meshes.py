"""The `sdy.mesh` operations of a program, and which of them a place in the text sees."""

from __future__ import annotations

import bisect
import functools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.modules.mlir.attributes import Aliases
from sdybridge.modules.mlir.dictionary import read_dictionary
from sdybridge.modules.mlir.lexer import (
    TRIVIA,
    matching_bracket,
    matching_brackets,
    next_code,
    parse_error,
    places,
    skip_trivia,
    string_end,
    symbol_end,
    symbol_name,
    unescape,
)
from sdybridge.modules.mlir.signature import results_of_generic
from sdybridge.modules.mlir.sites import MESH_NAME, SiteKind, code_end, find_sites
from sdybridge.sdy import MeshAttr, parse_prefix
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.source import Source

_MODULE = re.compile(rf'(?<![\w.$@%"-])(?:builtin\.)?module(?![\w.$-])|"builtin\.module"(?={TRIVIA}\()')


@dataclass(frozen=True, slots=True)
class MeshOperation:
    """One `sdy.mesh` operation: its symbol, its mesh, and the text that declares it."""

    name: str
    mesh: MeshAttr
    span: Span


@dataclass(slots=True)
class Scope:
    """The part of the text inside one module operation, and the meshes declared directly in it.

    Attributes:
        start: Where the brace of the module opens.
        end: Behind its closing brace.
        outer: The number of the scope around it; -1 for the whole text.
        meshes: The meshes by name.
    """

    start: int
    end: int
    outer: int = -1
    meshes: dict[str, MeshAttr] = field(default_factory=dict)


@dataclass(frozen=True)
class Meshes:
    """All meshes of a program.

    Attributes:
        operations: Every mesh operation, in the order of the text.
        scopes: One per module operation, in the order of the text; the first spans everything.
    """

    operations: tuple[MeshOperation, ...]
    scopes: tuple[Scope, ...]

    @functools.cached_property
    def by_start(self) -> Mapping[int, MeshOperation]:
        """Every mesh operation by the offset at which it starts."""
        return {operation.span.start: operation for operation in self.operations}

    def at(self, offset: int) -> Mapping[str, MeshAttr]:
        """The meshes that a symbol at `offset` can name: those of the nearest module around it only."""
        return self.scopes[self.scope_index(offset)].meshes

    def scope_index(self, offset: int) -> int:
        """Which of `scopes` is the innermost around `offset`."""
        at = bisect.bisect_right(self.scopes, offset, key=lambda scope: scope.start) - 1
        while self.scopes[at].end <= offset:
            at = self.scopes[at].outer
        return at


def find_meshes(source: Source, end: int = -1) -> Meshes:
    """Read every mesh operation of a program, or those before `end`.

    Raises:
        ParseError: A mesh operation is malformed.
        VerificationError: A mesh is not valid, or two meshes of one module have one name.
    """
    aliases = Aliases(source.text)
    operations = tuple(
        (_read_generic if site.kind is SiteKind.GENERIC_OPERATION else _read)(
            source, site.start, site.end, aliases
        )
        for site in find_sites(source.text, MESH_NAME, end)
        if site.kind in {SiteKind.OPERATION, SiteKind.GENERIC_OPERATION}
    )
    one = len({operation.name for operation in operations}) == len(operations)  # then any look-up is clear
    meshes = Meshes(operations, (Scope(0, len(source.text) + 1),) if one else find_scopes(source.text))
    for operation in operations:
        known = meshes.scopes[meshes.scope_index(operation.span.start)].meshes
        if operation.name in known:
            raise VerificationError(
                f"mesh @{operation.name} is declared twice in one module",
                rule="symbol-redefinition",
                source=source,
                span=operation.span,
                notes=[f"the first @{operation.name} is {known[operation.name]}"],
                help="rename or remove one of them",
            )
        known[operation.name] = operation.mesh
    return meshes


def own_meshes(meshes: Meshes, operations: Iterable[Operation]) -> dict[str, MeshAttr]:
    """The meshes that these operations declare, by name."""
    names = [operation.name_start for operation in operations if operation.full_name == "sdy.mesh"]
    found = [meshes.by_start.get(start) for start in names]
    return {mesh.name: mesh.mesh for mesh in found if mesh}


def _read(source: Source, start: int, end: int, aliases: Aliases) -> MeshOperation:
    """Read `sdy.mesh @name = <[...]> {...}`."""
    text = source.text
    at = skip_trivia(text, end)
    symbol = symbol_end(text, at)
    name = symbol_name(text[at:symbol])
    at = skip_trivia(text, symbol)
    if not text.startswith("=", at):
        raise parse_error(
            text, at, "expected '=' after the name of the mesh", help=f"write `@{name} = <[...]>`"
        )
    mesh, at = parse_prefix(source, skip_trivia(text, at + 1), MeshAttr, aliases=aliases)
    after = skip_trivia(text, at)
    if text.startswith("{", after):
        at = matching_bracket(text, after)
    return MeshOperation(name, mesh, Span(start, at))


def _read_generic(source: Source, start: int, end: int, aliases: Aliases) -> MeshOperation:
    """Read `"sdy.mesh"() <{mesh = #sdy.mesh<...>, sym_name = "name"}> : () -> ()`."""
    text = source.text
    at = skip_trivia(text, matching_bracket(text, skip_trivia(text, end)))
    brace = at + 1 if text.startswith("<", at) else at
    brace = skip_trivia(text, brace)
    if not text.startswith("{", brace):
        raise parse_error(
            text, at, "expected the mesh's properties", help='write `<{mesh = ..., sym_name = "..."}>`'
        )
    name = mesh = None
    for entry in read_dictionary(text, brace):
        if entry.value is None:
            continue
        if entry.key == "sym_name":
            name = unescape(text[entry.value.start : string_end(text, entry.value.start)])
        elif entry.key == "mesh":
            mesh, _ = parse_prefix(source, entry.value.start, MeshAttr, aliases=aliases)
    if name is None or mesh is None:
        raise parse_error(text, brace, "a mesh needs the properties `mesh` and `sym_name`")
    return MeshOperation(name, mesh, Span(start, matching_bracket(text, results_of_generic(text, at))))


def find_scopes(text: str, spans: Sequence[tuple[int, int]] = ()) -> tuple[Scope, ...]:
    """The whole text, and the body of every module operation in it, in the order of the text.

    Args:
        text: The program.
        spans: Where modules may start and end, if that is known.

    >>> [(scope.start, scope.end) for scope in find_scopes("module @m { module { } }")]
    [(0, 25), (10, 24), (19, 22)]
    """
    braces = []
    code = 0
    spans = spans or [(0, len(text))]
    for at in places(text, "module", spans):
        start = at - len("builtin.") if text.endswith("builtin.", 0, at) else at
        start -= text.endswith('"', 0, start)
        found = _MODULE.match(text, start)
        if found and start >= code:
            code = next_code(text, code, start)
            brace = _body(text, found.end()) if code == start else -1
            if brace >= 0:
                braces.append(brace)
    whole = Scope(0, len(text) + 1)
    if len(braces) == 1:  # almost always, and then the last brace of the text closes it
        close = text.rfind("}", braces[0], code_end(text))
        lines = [(max(start, braces[0]), min(end, close)) for start, end in spans if end > braces[0]]
        if text.startswith("\n", close - 1) and all(text.rfind("\n}", *line) < 0 for line in lines):
            return whole, Scope(braces[0], close + 1, 0)
    scopes = [whole]
    around = [0]
    for brace, end in zip(braces, matching_brackets(text, braces), strict=True):
        while scopes[around[-1]].end <= brace:
            around.pop()
        scopes.append(Scope(brace, end, around[-1]))
        around.append(len(scopes) - 1)
    return tuple(scopes)


def _body(text: str, at: int) -> int:
    """Where the region of the module operation opens whose name ends at `at`; -1 if this is no module."""
    at = skip_trivia(text, at)
    if text.startswith("(", at):  # the generic form: `"builtin.module"() <{...}> ({...})`
        at = skip_trivia(text, matching_bracket(text, at))
        if text.startswith("<", at):
            at = skip_trivia(text, matching_bracket(text, at))
        at = skip_trivia(text, at + 1)
    if text.startswith("@", at):
        at = skip_trivia(text, symbol_end(text, at))
    if text.startswith("attributes", at):
        at = skip_trivia(text, matching_bracket(text, skip_trivia(text, at + len("attributes"))))
    return at if text.startswith("{", at) else -1
