"""A program under check: what the rules ask of it, whatever its format."""

from __future__ import annotations

import abc
import functools
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sdybridge.errors import SdyBridgeError
    from sdybridge.modules.annotations import Annotation
    from sdybridge.sdy import MeshAttr
    from sdybridge.source import Lines, Source, Span


LARGE = 256 << 20
"""From how many bytes on a replicated tensor is large, unless the caller says otherwise."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the checks are told.

    Attributes:
        target: Whose grammar and conventions to follow.
        replicated_bytes: From how many bytes on a replicated tensor counts as large.
        progress: Called now and then with the number of characters, or bytes, that are read.
    """

    target: Target = Target.CURRENT
    replicated_bytes: int = LARGE
    progress: Callable[[int], None] | None = None


class Place(NamedTuple):
    """Where something stands: in the text, or in words where there are no lines."""

    span: Span | None
    where: str

    @property
    def key(self) -> object:
        """What tells it from other places."""
        return self.span or self.where


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule found; the rule is told by its code.

    Attributes:
        code: The code of the rule.
        message: What is wrong, in one line.
        place: Where.
        notes: What else there is to know.
        help: What to do.
    """

    code: str
    message: str
    place: Place
    notes: tuple[str, ...] = ()
    help: str | None = None


class Call(NamedTuple):
    """A call of one of GSPMD's custom calls.

    Attributes:
        target: What it calls.
        has_sharding: Whether it has a sharding of any kind.
        place: Where it stands.
    """

    target: str
    has_sharding: bool
    place: Place


class Use(NamedTuple):
    """A value with an HLO sharding that is an operand of an operation with one.

    Attributes:
        value: The operand.
        user: What uses it: the annotation of the first result.
        target: What the user calls, if it is a custom call.
    """

    value: Annotation
    user: Annotation
    target: str


class Program(abc.ABC):
    """A program under check.

    Attributes:
        source: Its text; without characters for a proto.
        options: What the checks are told.
        errors: What is wrong with single meshes and shardings; the rules pass over these.
        annotations: What it says about its values.
        inputs: The arguments of its main function, those without a sharding too.
        outputs: The results of that.
        meshes: Its meshes by name.
        num_partitions: How many devices it is partitioned over, if it says so.
        is_mlir: Whether it is MLIR.
        carried_results: In MLIR, for results whose Shardy sharding a call on their value carries, by function
            and name, the name of that value.
    """

    source: Source
    options: Options
    errors: list[SdyBridgeError]
    annotations: tuple[Annotation, ...]
    inputs: Sequence[Annotation]
    outputs: Sequence[Annotation]
    meshes: Mapping[str, MeshAttr]
    num_partitions: int | None
    is_mlir: bool = False
    carried_results: Mapping[tuple[str, str], str] = MappingProxyType({})

    @abc.abstractmethod
    def place(self, annotation: Annotation) -> Place:
        """Where a sharding stands."""

    @abc.abstractmethod
    def calls(self) -> Iterator[Call]:
        """The calls of `Sharding`, `SPMDFullToShardShape` and `SPMDShardToFullShape`."""

    @property
    @abc.abstractmethod
    def sharding_calls(self) -> frozenset[int]:
        """The offsets of the annotations with an HLO sharding that calls of `Sharding` have."""

    @abc.abstractmethod
    def uses(self) -> Iterator[Use]:
        """Which values with an HLO sharding operations with an HLO sharding use."""

    @abc.abstractmethod
    def unsharded_results(self) -> Iterator[tuple[str, Place, Annotation]]:
        """The results of a program without a sharding whose value has an HLO sharding.

        Gives what to call the result, where it stands, and its value.
        """

    @abc.abstractmethod
    def manual_escapes(self) -> Iterator[Problem]:
        """The uses of a value of a manual computation outside of it."""

    def repeats_result(self, annotation: Annotation) -> bool:  # noqa: ARG002
        """Whether a value is there only to give a result its Shardy sharding on the way through HLO."""
        return False

    def line(self, annotation: Annotation) -> str:
        """In words where a sharding stands, for notes."""
        span, where = self.place(annotation)
        return f"line {self._lines.location(span.start)[0]}" if span else where

    @functools.cached_property
    def _lines(self) -> Lines | Source:
        return self.source.lines()


GSPMD_CALLS = frozenset(("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"))
"""The custom calls that GSPMD handles, each with a sharding."""
