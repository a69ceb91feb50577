"""The results of a computation of HLO whose Shardy sharding rides along on a call: where it returns them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdybridge.hlo import HloSharding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.modules.hlo_program import HloProgram, HloSite


@dataclass(eq=False, slots=True)
class ReturnedValues:
    """What a computation returns.

    Attributes:
        root: The instruction whose value it has.
        indices: At which elements of the result each value is returned, by what operands call it.
        shardings: The shardings of elements that calls gave, by index.
    """

    root: HloSite
    indices: Mapping[object, Sequence[int]]
    shardings: dict[int, HloSharding] = field(default_factory=dict)

    def sharding(self, own: HloSharding | None) -> HloSharding:
        """The sharding of the root: elements without one have that of their own, or are replicated."""
        if not self.root.is_tuple:
            return self.shardings[0]
        count = len(self.root.tensors or ())
        if own is None:
            leaves = [HloSharding.replicate()] * count
        else:
            leaves = list(own.tuple_elements) if own.is_tuple else [own] * count
        return HloSharding.flat_tuple([self.shardings.get(i, leaf) for i, leaf in enumerate(leaves)])


def returned_values(program: HloProgram, computation: str) -> ReturnedValues | None:
    """What the computation of that name returns; None if it has no root, or returns tuples in a tuple."""
    root = program.root(computation)
    if root is None:
        return None
    returned: Sequence[object] = (root.value,)
    if root.opcode == "tuple":
        returned = root.operands
    elif root.opcode == "get-tuple-element":  # XLA's front end wraps a single result
        returned = _element(program, root) or returned
    if root.is_tuple and len(returned) != len(root.tensors or ()):
        return None
    indices: dict[object, list[int]] = {}
    for index, value in enumerate(returned):
        indices.setdefault(value, []).append(index)
    return ReturnedValues(root, indices)


def _element(program: HloProgram, root: HloSite) -> Sequence[object]:
    """The element that a `get-tuple-element` takes out of a tuple that is made in front of it."""
    index = root.tuple_index
    for site in program.instructions(root.computation):
        if site.value in root.operands and site.opcode == "tuple" and index is not None:
            return site.operands[index : index + 1]
    return ()
