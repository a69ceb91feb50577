"""Where the meshes of an import are declared in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.lexer import skip_trivia
from sdybridge.sdy.printer import symbol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdybridge.sdy import MeshAttr

_REST_OF_LINE = re.compile(r"[ \t]*+(?://[^\n]*+)?+\r?(?:\n|\Z)")
_SPACE = re.compile(r"[ \t]*+")


@dataclass(frozen=True, slots=True)
class Opening:
    """The place for declarations at the top of a module's body, or of a text without a module.

    Attributes:
        offset: Where they go.
        before: What to write before each of them.
        after: What to write behind each of them.
    """

    offset: int
    before: str
    after: str

    def declare(self, meshes: Iterable[tuple[str, MeshAttr]]) -> str:
        """The text of the declarations."""
        lines = [f"sdy.mesh {symbol(name)} = {mesh.stripped}" for name, mesh in meshes]
        return "".join([f"{self.before}{line}{self.after}" for line in lines])


def opening(text: str, brace: int) -> Opening:
    r"""The place at the top of the module body that opens at `brace`; for -1, of the text.

    >>> opening("module {\n  func.func @f() {", 7)
    Opening(offset=9, before='  ', after='\n')
    >>> opening("module { }", 7)
    Opening(offset=8, before='\n  ', after='\n')
    """
    at = brace + 1
    rest = _REST_OF_LINE.match(text, at)
    if brace >= 0 and rest is None:
        return Opening(at, "\n  ", "\n")
    if brace >= 0 and rest is not None:
        at = rest.end()
    first = text.rfind("\n", 0, skip_trivia(text, at)) + 1
    indent = _SPACE.match(text, first)
    return Opening(max(at, first) if brace < 0 else at, indent[0] if indent else "", "\n")
