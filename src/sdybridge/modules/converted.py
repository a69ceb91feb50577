"""What a conversion of a whole program answers: the new text, and what became of each sharding."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdybridge.bridge import Loss
    from sdybridge.modules.conversion_warnings import ConversionWarning
    from sdybridge.sdy import MeshAttr


@dataclass(eq=False)
class ConvertedSharding:
    r"""One distinct sharding text of a program, and what became of it.

    Attributes:
        before: The text that was converted. A Shardy sharding is `#sdy.sharding<...>`,
            `#sdy.sharding_per_value<...>` or `<...>`, an HLO sharding `{...}`.
        after: The text in the other notation; an HLO tuple `{{...}, {...}}` for several values.
        count: At how many places it stands.
        first: The offset of the first of them.
        losses: What the other notation does not hold.
        attribute: The dictionary entry that holds the new text.

    >>> from sdybridge import export_module
    >>> program = (
    ...     'sdy.mesh @m = <["x"=2]>\n'
    ...     'func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})')
    >>> [one] = export_module(program).shardings
    >>> one.before, one.after, one.count
    ('#sdy.sharding<@m, [{"x"}]>', '{devices=[2]<=[2]}', 1)
    """

    before: str
    after: str
    count: int
    first: int
    losses: tuple[Loss, ...]
    attribute: str


@dataclass(frozen=True, slots=True)
class ConvertedModule:
    r"""A converted program and what was done to it.

    Attributes:
        text: The new program; empty for a proto.
        shardings: Every distinct sharding, most frequent first.
        operations: How many operations of each name were rewritten or removed.
        meshes: The meshes that the Shardy side of the conversion declares, by name.
        proto: The new program, if it is a proto.
        warnings: Shardings of two kinds that do not go together, and what XLA makes of them.

    >>> from sdybridge import export_module
    >>> program = (
    ...     'sdy.mesh @m = <["x"=2]>\n'
    ...     'func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})')
    >>> result = export_module(program)
    >>> result.sites, [(loss.kind.value, places) for loss, places in result.losses]
    (1, [('axis-names', 1)])
    """

    text: str
    shardings: tuple[ConvertedSharding, ...]
    operations: Mapping[str, int]
    meshes: Mapping[str, MeshAttr]
    proto: bytes | None = field(default=None, kw_only=True)
    warnings: tuple[ConversionWarning, ...] = field(default=(), kw_only=True)

    @property
    def program(self) -> str | bytes:
        """The new program, in the format of the old one."""
        return self.text if self.proto is None else self.proto

    @property
    def sites(self) -> int:
        """At how many places a sharding was converted."""
        return sum(sharding.count for sharding in self.shardings)

    @property
    def losses(self) -> tuple[tuple[Loss, int], ...]:
        """Each distinct loss, and at how many places it happened."""
        counts: Counter[Loss] = Counter()
        for sharding in self.shardings:
            for loss in sharding.losses:
                counts[loss] += sharding.count
        return tuple(counts.items())


def most_frequent_first(shardings: list[ConvertedSharding]) -> tuple[ConvertedSharding, ...]:
    """The order in which results list shardings."""
    return tuple(sorted(shardings, key=lambda sharding: (-sharding.count, sharding.first)))
