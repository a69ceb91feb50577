"""The distinct HLO shardings of a program under import, read and checked where they stand."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge.named_import import tensor_rank
from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.hlo.checks import cropped
from sdybridge.modules.mlir.attributes import Aliases, attribute_end, expanded
from sdybridge.modules.mlir.hlo_attribute import element_span, parse_hlo_attribute
from sdybridge.modules.mlir.signature import sharding_rank
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdybridge.hlo import HloSharding
    from sdybridge.source import Source
    from sdybridge.target import Target


class Form(enum.Enum):
    """How an imported sharding is written: what stands before and behind its text without the keyword."""

    VALUE = ("sdy.sharding = #sdy.sharding", "")
    RESULTS = ("sdy.sharding = #sdy.sharding_per_value<[", "]>")
    CONSTRAINT = ("", "")
    GENERIC_CONSTRAINT = ("#sdy.sharding", "")


@dataclass(eq=False, slots=True)
class Found:
    """One distinct sharding under import.

    Attributes:
        hlo: The sharding.
        form: How its import is written.
        ranks: One per value; None where it is not known.
        open_dims: Whether all dimensions are open, or which.
        first: Where its string first stands.
        literal: That string.
        count: At how many places it stands.
        new: What takes their place, once the meshes are known.
    """

    hlo: HloSharding
    form: Form
    ranks: tuple[int | None, ...]
    open_dims: bool | frozenset[int]
    first: int
    literal: str
    count: int = 0
    new: str = ""

    @property
    def leaves(self) -> tuple[HloSharding, ...]:
        """The sharding of each value: a single one stands for all."""
        return self.hlo.tuple_elements if self.hlo.is_tuple else (self.hlo,) * len(self.ranks)


class FoundShardings:
    """Every distinct sharding that a program holds so far."""

    def __init__(self, source: Source, target: Target) -> None:
        self.source = source
        self.text = source.text
        self.target = target
        self.aliases = Aliases(source.text)
        self._parsed: dict[str, HloSharding] = {}
        self._found: dict[tuple[object, ...], Found] = {}

    def __iter__(self) -> Iterator[Found]:
        return iter(self._found.values())

    def __bool__(self) -> bool:
        return bool(self._found)

    def literal(self, at: int, end: int) -> str:
        """The string at `at`, which may be an alias."""
        spelled = expanded(self.text[at:end], self.aliases)
        if spelled.startswith('"'):
            return spelled
        raise VerificationError(
            "`mhlo.sharding` must hold a string",
            rule="sharding-kind",
            source=self.source,
            span=Span(at, end),
            help='write `"{devices=[2,4]<=[8]}"`',
        )

    def parse(self, literal: str, at: int) -> HloSharding:
        """The sharding in a string at `at`."""
        hlo = self._parsed.get(literal)
        if hlo is None:
            try:
                hlo = self._parsed[literal] = parse_hlo_attribute(literal, target=self.target)
            except SdyBridgeError as error:
                span = error.span if error.source and error.source.text == literal else None
                raise error.located(self.source, self.span(literal, at, span)) from None
        return hlo

    def span(self, literal: str, at: int, part: Span | None = None) -> Span:
        """Where a string at `at` is, or a part of it; behind an alias, where that is used."""
        if not self.text.startswith(literal, at):
            return Span(at, attribute_end(self.text, at))
        return (part or Span(0, len(literal))).shifted(at)

    def place(self, found: Found, index: int) -> Span:
        """Where the sharding of that value first stands."""
        return self.span(found.literal, found.first, element_span(found.literal, index))

    def add(
        self,
        literal: str,
        at: int,
        form: Form,
        types: Sequence[str | None],
        open_dims: bool | frozenset[int] = False,
    ) -> Found:
        """The sharding in a string at `at` of values of `types` (None: not known)."""
        ranks = tuple([sharding_rank(of_type) for of_type in types])
        key = (literal, form, ranks, open_dims)
        found = self._found.get(key)
        if found is None:
            hlo = self.parse(literal, at)
            if form is Form.VALUE and hlo.is_tuple:
                raise self._several(hlo, literal, at)
            found = Found(hlo, form, ranks, open_dims, at, literal)
            for i, (leaf, rank) in enumerate(zip(found.leaves, ranks, strict=True)):
                self._check_rank(leaf, rank, types[i], found, i)
            self._found[key] = found
        return found

    def _several(self, hlo: HloSharding, literal: str, at: int) -> VerificationError:
        """The error about a tuple where there is one value."""
        return VerificationError(
            "an argument or result takes one sharding, not a tuple of them",
            rule="sharding-kind",
            source=self.source,
            span=self.span(literal, at),
            help=f"write `{hlo.tuple_elements[0]}`" if len(hlo.tuple_elements) == 1 else None,
        )

    def _check_rank(
        self, leaf: HloSharding, rank: int | None, of_type: str | None, found: Found, index: int
    ) -> None:
        own = tensor_rank(leaf)
        if own is not None and rank not in (None, own):
            message = f"{cropped(leaf)} tiles tensors of rank {own}, not of rank {rank}"
            notes = (
                ["it is on an operation without results"] if of_type == "none" else [f"it is on a {of_type}"]
            )
        elif own is None and rank is None and not leaf.is_single_device:
            message = f"the rank of the tensor is not known, and {cropped(leaf)} does not tell it"
            notes = [
                f"the type is {of_type}" if of_type else "the type of the value cannot be told from the text"
            ]
        else:
            return
        raise VerificationError(
            message,
            rule="sharding-rank",
            source=self.source,
            span=self.place(found, index),
            notes=notes,
        )
