"""The text that an import writes: old text, shardings whose form is not known yet, and meshes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.import_.mesh_declarations import Opening, opening
from sdybridge.modules.mlir.meshes import Scope, find_scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from sdybridge.modules.import_.found_shardings import Found
    from sdybridge.modules.mlir.long_lines import LongLine
    from sdybridge.sdy import MeshAttr


@dataclass(eq=False, slots=True)
class Declarations:
    """The meshes to declare in one module.

    Attributes:
        scope: The module, or the whole text.
        index: Its number among the modules of the text.
        opening: Where in it they go.
        is_needed: Whether a sharding stands directly in it.
        new: Their text, once they are known.
    """

    scope: Scope
    index: int
    opening: Opening
    is_needed: bool = False
    new: str = ""


@dataclass(frozen=True, slots=True)
class ImportedLine:
    """The rest of a line with many arguments.

    Attributes:
        line: What it was.
        found: Its shardings.
    """

    line: LongLine
    found: Mapping[tuple[str, str], Found]

    @property
    def new(self) -> str:
        """Its new text, once every sharding has its own."""
        return "".join(self.line.filled({argument: found.new for argument, found in self.found.items()}))


class ImportedText:
    """The new text so far; everything is added in the order of the old one.

    Attributes:
        end: Where the part of the old text ends that the new one stands for.
        border: From here on in the old text, another module may be the innermost.
        module: The innermost module at `end`.
    """

    def __init__(self, text: str) -> None:
        self.end = 0
        self.border = 0
        self.pieces: list[str | Found | Declarations | ImportedLine] = []
        self._text = text
        self._scopes = [
            Declarations(scope, i, opening(text, scope.start if i else -1))
            for i, scope in enumerate(find_scopes(text))
        ]
        self._next = 0  # the first of them that lies behind `end`
        self._inside: list[Declarations] = []  # those around `end`
        self.module = self._scopes[0]

    def put(self, start: int, end: int, new: Found | str = "") -> None:
        """Let `new` take the place of `text[start:end]`."""
        self.reach(start)
        self.pieces += (self._text[self.end : start], new)
        self.end = end

    def reach(self, at: int) -> None:
        """Note that a sharding stands at `at`."""
        if at >= self.border:
            self.enter(at)
        self.module.is_needed = True

    def enter(self, at: int) -> None:
        """Let `module` be the innermost one at `at`."""
        scopes = self._scopes
        while self._next < len(scopes) and scopes[self._next].opening.offset <= at:
            opened = scopes[self._next]
            self._next += 1
            self._inside.append(opened)
            self.pieces += (self._text[self.end : opened.opening.offset], opened)
            self.end = opened.opening.offset
        while self._inside and self._inside[-1].scope.end <= at:
            self._inside.pop()
        self.module = self._inside[-1] if self._inside else scopes[0]
        following = [one.opening.offset for one in scopes[self._next : self._next + 1]]
        self.border = min([self.module.scope.end, *following])

    def write(self, meshes: Callable[[int], tuple[Mapping[str, MeshAttr], Collection[str]]]) -> str:
        """The new text, once every sharding has its own.

        Args:
            meshes: For the number of a module, what is to be declared in it, and the names that already are.
        """
        for one in self._scopes:
            if one.is_needed:
                needed, known = meshes(one.index)
                one.new = one.opening.declare([mesh for mesh in needed.items() if mesh[0] not in known])
        new = [piece if isinstance(piece, str) else piece.new for piece in self.pieces]
        return "".join([*new, self._text[self.end :]])
