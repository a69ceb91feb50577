"""Lists of axis refs, as collective operations carry them."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from sdybridge.errors import VerificationError
from sdybridge.sdy.axis_ref import AxisRefAttr
from sdybridge.sdy.fields import elements, int64
from sdybridge.sdy.uniquing import Attribute, UniqueTable, set_field

if TYPE_CHECKING:
    from collections.abc import Iterable


@final
class AxisRefListAttr(Attribute):
    """Axis refs, such as the axes of an `sdy.all_reduce`.

    >>> print(AxisRefListAttr([AxisRefAttr("x"), AxisRefAttr.sub("y", 1, 2)]))
    #sdy<axis_ref_list{"x", "y":(1)2}>

    Source: shardy/dialect/sdy/ir/attrs.td, `AxisRefListAttr`.
    """

    __slots__ = ("value",)
    __match_args__ = ("value",)
    mnemonic = "axis_ref_list"

    value: tuple[AxisRefAttr, ...]

    def __new__(cls, value: Iterable[AxisRefAttr] = ()) -> AxisRefListAttr:
        """Gives the one object with these fields."""
        refs = elements(value, AxisRefAttr, "value")
        return _REF_LISTS.get(refs) or _new_ref_list(refs)

    def __repr__(self) -> str:
        return f"AxisRefListAttr({list(self.value)})"

    def _print(self) -> str:
        return f"{{{', '.join([ref.stripped for ref in self.value])}}}"


_REF_LISTS: UniqueTable[AxisRefListAttr] = UniqueTable()


def _new_ref_list(refs: tuple[AxisRefAttr, ...]) -> AxisRefListAttr:
    attr = object.__new__(AxisRefListAttr)
    set_field(attr, "value", refs)
    return _REF_LISTS.add(refs, attr)


@final
class ListOfAxisRefListsAttr(Attribute):
    """Axis refs per tensor dimension, such as the gathered axes of an `sdy.all_gather`.

    >>> print(ListOfAxisRefListsAttr([AxisRefListAttr([AxisRefAttr("x")]), AxisRefListAttr()]))
    #sdy<list_of_axis_ref_lists[{"x"}, {}]>

    Source: shardy/dialect/sdy/ir/attrs.td, `ListOfAxisRefListsAttr`.
    """

    __slots__ = ("value",)
    __match_args__ = ("value",)
    mnemonic = "list_of_axis_ref_lists"

    value: tuple[AxisRefListAttr, ...]

    def __new__(cls, value: Iterable[AxisRefListAttr] = ()) -> ListOfAxisRefListsAttr:
        """Gives the one object with these fields."""
        lists = elements(value, AxisRefListAttr, "value")
        return _LISTS_OF_LISTS.get(lists) or _new_list_of_lists(lists)

    def __repr__(self) -> str:
        return f"ListOfAxisRefListsAttr({list(self.value)})"

    def _print(self) -> str:
        return f"[{', '.join([refs.stripped for refs in self.value])}]"


_LISTS_OF_LISTS: UniqueTable[ListOfAxisRefListsAttr] = UniqueTable()


def _new_list_of_lists(lists: tuple[AxisRefListAttr, ...]) -> ListOfAxisRefListsAttr:
    attr = object.__new__(ListOfAxisRefListsAttr)
    set_field(attr, "value", lists)
    return _LISTS_OF_LISTS.add(lists, attr)


@final
class AllToAllParamAttr(Attribute):
    """One move of an `sdy.all_to_all`: the axes go from one dimension to another.

    Args:
        axes: The axes, major to minor; at least one.
        src_dim: The tensor dimension that they are sliced off.
        tgt_dim: The tensor dimension that they are appended to.

    Raises:
        VerificationError: `all-to-all-axes`.

    >>> print(AllToAllParamAttr([AxisRefAttr("x")], 0, 1))
    #sdy<all_to_all_param{"x"}: 0->1>

    Source: shardy/dialect/sdy/ir/attrs.td, `AllToAllParamAttr`.
    """

    __slots__ = ("axes", "src_dim", "tgt_dim")
    __match_args__ = ("axes", "src_dim", "tgt_dim")
    mnemonic = "all_to_all_param"

    axes: tuple[AxisRefAttr, ...]
    src_dim: int
    tgt_dim: int

    def __new__(cls, axes: Iterable[AxisRefAttr], src_dim: int, tgt_dim: int) -> AllToAllParamAttr:
        """Gives the one object with these fields."""
        refs = elements(axes, AxisRefAttr, "axes")
        source = int64(src_dim, "source dimension", ("src_dim",))
        target = int64(tgt_dim, "target dimension", ("tgt_dim",))
        return _PARAMS.get((refs, source, target)) or _new_param(refs, source, target)

    def __repr__(self) -> str:
        return f"AllToAllParamAttr({list(self.axes)}, {self.src_dim}, {self.tgt_dim})"

    def _print(self) -> str:
        return f"{{{', '.join([ref.stripped for ref in self.axes])}}}: {self.src_dim}->{self.tgt_dim}"


_PARAMS: UniqueTable[AllToAllParamAttr] = UniqueTable()


def _new_param(refs: tuple[AxisRefAttr, ...], src_dim: int, tgt_dim: int) -> AllToAllParamAttr:
    if not refs:
        raise VerificationError(
            "an all-to-all moves at least one axis, found none", rule="all-to-all-axes", path=("axes",)
        )
    attr = object.__new__(AllToAllParamAttr)
    set_field(attr, "axes", refs)
    set_field(attr, "src_dim", src_dim)
    set_field(attr, "tgt_dim", tgt_dim)
    return _PARAMS.add((refs, src_dim, tgt_dim), attr)


@final
class AllToAllParamListAttr(Attribute):
    """The moves of an `sdy.all_to_all`.

    >>> print(AllToAllParamListAttr([AllToAllParamAttr([AxisRefAttr("x")], 0, 1)]))
    #sdy<all_to_all_param_list[{"x"}: 0->1]>

    Source: shardy/dialect/sdy/ir/attrs.td, `AllToAllParamListAttr`.
    """

    __slots__ = ("value",)
    __match_args__ = ("value",)
    mnemonic = "all_to_all_param_list"

    value: tuple[AllToAllParamAttr, ...]

    def __new__(cls, value: Iterable[AllToAllParamAttr] = ()) -> AllToAllParamListAttr:
        """Gives the one object with these fields."""
        params = elements(value, AllToAllParamAttr, "value")
        return _PARAM_LISTS.get(params) or _new_param_list(params)

    def __repr__(self) -> str:
        return f"AllToAllParamListAttr({list(self.value)})"

    def _print(self) -> str:
        return f"[{', '.join([param.stripped for param in self.value])}]"


_PARAM_LISTS: UniqueTable[AllToAllParamListAttr] = UniqueTable()


def _new_param_list(params: tuple[AllToAllParamAttr, ...]) -> AllToAllParamListAttr:
    attr = object.__new__(AllToAllParamListAttr)
    set_field(attr, "value", params)
    return _PARAM_LISTS.add(params, attr)
