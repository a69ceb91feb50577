"""What an import has read so far, for each set of meshes that its shardings may be on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdybridge.modules.import_.found_shardings import FoundShardings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.modules.import_.found_shardings import Found
    from sdybridge.modules.mlir.meshes import Meshes, MeshOperation
    from sdybridge.sdy import MeshAttr
    from sdybridge.source import Source
    from sdybridge.target import Target


@dataclass(eq=False, slots=True)
class Seen:
    """What was read of the modules that share one set of meshes.

    Attributes:
        found: The shardings.
        declared: The meshes that these modules declare.
        values: Shardings of arguments and results, by the type and the string.
        results: Those of operations, by what follows and the string, and whether they need one result.
        calls: Those of calls, with the type and the entries to keep, by the dictionary and the types.
        lines: Those of operations with one result, and the lengths of their entries, by the rest of the line.
        meshes: All meshes, once they are known.
    """

    found: FoundShardings
    declared: Sequence[MeshOperation]
    values: dict[tuple[str, str], Found] = field(default_factory=dict)
    results: dict[tuple[str, str], tuple[Found, bool]] = field(default_factory=dict)
    calls: dict[str, tuple[Found, str, str]] = field(default_factory=dict)
    lines: dict[str, tuple[Found, int]] = field(default_factory=dict)
    meshes: Mapping[str, MeshAttr] = field(default_factory=dict)


def seen_by_scope(source: Source, target: Target, declared: Meshes) -> list[Seen]:
    """One for all modules; or one for each, if a name stands for several meshes."""
    return [Seen(FoundShardings(source, target), operations) for operations in _by_scope(declared)]


def _by_scope(declared: Meshes) -> list[Sequence[MeshOperation]]:
    """The mesh operations of each module, if a name stands for several meshes; otherwise all at once."""
    names = {operation.name: operation.mesh for operation in declared.operations}
    if all(names[operation.name] == operation.mesh for operation in declared.operations):
        return [declared.operations]
    found: list[list[MeshOperation]] = [[] for _ in declared.scopes]
    for operation in declared.operations:
        found[declared.scope_index(operation.span.start)].append(operation)
    return [*found]
