"""The axes that a manual computation works on itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from sdybridge.sdy.fields import canonical_name, exact_str
from sdybridge.sdy.printer import quote
from sdybridge.sdy.uniquing import Attribute, UniqueTable, set_field

if TYPE_CHECKING:
    from collections.abc import Iterable


@final
class ManualAxesAttr(Attribute):
    """Names of whole mesh axes.

    Args:
        value: The names. Neither order nor repetition is checked, as upstream.

    Raises:
        TypeError: `value` is one string, or a name is none.

    >>> print(ManualAxesAttr(["a", "b"]))
    #sdy<manual_axes{"a", "b"}>

    Source: shardy/dialect/sdy/ir/attrs.td, `ManualAxesAttr`.
    """

    __slots__ = ("value",)
    __match_args__ = ("value",)
    mnemonic = "manual_axes"

    value: tuple[str, ...]

    def __new__(cls, value: Iterable[str] = ()) -> ManualAxesAttr:
        """Gives the one object with these fields."""
        if isinstance(value, str):
            raise TypeError("value must be several axis names, not one str")
        names = tuple(exact_str(name, "manual axis name") for name in value)
        found = _MANUAL_AXES.get(names)
        return _new_manual_axes(names) if found is None else found

    def __repr__(self) -> str:
        return f"ManualAxesAttr({list(self.value)})"

    def _print(self) -> str:
        return f"{{{', '.join(map(quote, self.value))}}}"


_MANUAL_AXES: UniqueTable[ManualAxesAttr] = UniqueTable()


def _new_manual_axes(names: tuple[str, ...]) -> ManualAxesAttr:
    names = tuple(canonical_name(name, "axis name", ("value", i)) for i, name in enumerate(names))
    manual_axes = object.__new__(ManualAxesAttr)
    set_field(manual_axes, "value", names)
    return _MANUAL_AXES.add(names, manual_axes)
