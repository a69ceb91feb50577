"""A program under check: what it says about its values, in one form for all formats."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.annotations import CARRIER, MHLO, SDY
from sdybridge.modules.attributes import attribute_end
from sdybridge.modules.mlir_annotations import MlirProgram
from sdybridge.modules.reader import parse_operations
from sdybridge.source import Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sdybridge.modules.annotations import Annotation
    from sdybridge.modules.operations import Operation, OperationTree
    from sdybridge.sdy import MeshAttr
    from sdybridge.source import Source


@dataclass(frozen=True, slots=True)
class Options:
    """What the checks are told.

    Attributes:
        target: Whose grammar and conventions to follow.
        replicated_bytes: From how many bytes on a replicated tensor is large.
    """

    target: Target = Target.CURRENT
    replicated_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True)
class Problem:
    """What a check found; the rule is told by its code.

    Attributes:
        code: The rule.
        message: What is wrong, in one line.
        span: Where in the text.
        where: The place in a program without lines.
        notes: What else there is to know.
        help: What to do.
    """

    code: str
    message: str
    span: Span | None = None
    where: str = ""
    notes: tuple[str, ...] = ()
    help: str | None = None


@dataclass(slots=True, eq=False)
class Mlir:
    """An MLIR program under check.

    Attributes:
        source: The text.
        tree: Its operations.
        options: What the checks are told.
        errors: What is wrong with single meshes and shardings; the checks pass over these.
    """

    source: Source
    tree: OperationTree
    options: Options
    errors: list[SdyBridgeError] = field(default_factory=list)
    _cache: dict[str, object] = field(default_factory=dict)
