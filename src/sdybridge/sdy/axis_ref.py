"""References to mesh axes, whole or in part, and their algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from sdybridge.errors import VerificationError
from sdybridge.sdy.fields import canonical_name, exact_int, exact_str, int64
from sdybridge.sdy.printer import quote
from sdybridge.sdy.uniquing import Attribute, UniqueTable, set_field

if TYPE_CHECKING:
    from collections.abc import Hashable

    from sdybridge.sdy.mesh import MeshAttr


@final
class SubAxisInfoAttr(Attribute):
    """Which part of an axis: the axis is split into `pre_size` x `size` x rest, and this is the middle.

    Args:
        pre_size: The product of the sizes of what is major to the part.
        size: The number of devices along the part.

    Any integers are accepted, as upstream; the rules are checked against a mesh, by `verify_sharding`.

    >>> info = SubAxisInfoAttr(2, 4)
    >>> print(info, info.next_pre_size)
    #sdy<sub_axis_info(2)4> 8

    Source: shardy/dialect/sdy/ir/attrs.td, `SubAxisInfoAttr`.
    """

    __slots__ = ("pre_size", "size")
    __match_args__ = ("pre_size", "size")
    mnemonic = "sub_axis_info"

    pre_size: int
    size: int

    def __new__(cls, pre_size: int, size: int) -> SubAxisInfoAttr:
        """Gives the one object with these fields."""
        if type(pre_size) is not int:
            pre_size = exact_int(pre_size, "pre-size")
        if type(size) is not int:
            size = exact_int(size, "size")
        found = _INFOS.get((pre_size, size))
        return _new_info(pre_size, size) if found is None else found

    def __repr__(self) -> str:
        return f"SubAxisInfoAttr({self.pre_size}, {self.size})"

    def _print(self) -> str:
        return f"({self.pre_size}){self.size}"

    @property
    def next_pre_size(self) -> int:
        """The pre-size of the part that follows: `pre_size * size`."""
        return self.pre_size * self.size


_INFOS: UniqueTable[SubAxisInfoAttr] = UniqueTable()


def _new_info(pre_size: int, size: int) -> SubAxisInfoAttr:
    int64(pre_size, "pre-size", ("pre_size",))
    int64(size, "sub-axis size", ("size",))
    info = object.__new__(SubAxisInfoAttr)
    set_field(info, "pre_size", pre_size)
    set_field(info, "size", size)
    return _INFOS.add((pre_size, size), info)


@final
class AxisRefAttr(Attribute):
    """A mesh axis, whole or in part.

    In the methods below, `a` and `b` are refs to one axis of size 8; refs to different axes contain, overlap
    and merge with nothing of each other, and always coexist. Only what is said to depend on the mesh does.

    Args:
        name: The axis.
        sub_axis_info: Which part of it; None for the whole.

    >>> print(AxisRefAttr("x"), AxisRefAttr.sub("x", 2, 4))
    #sdy<axis_ref"x"> #sdy<axis_ref"x":(2)4>

    Source: shardy/dialect/sdy/ir/attrs.td, `AxisRefAttr`; dialect.cc.
    """

    __slots__ = ("name", "sub_axis_info")
    __match_args__ = ("name", "sub_axis_info")
    mnemonic = "axis_ref"

    name: str
    sub_axis_info: SubAxisInfoAttr | None

    def __new__(cls, name: str, sub_axis_info: SubAxisInfoAttr | None = None) -> AxisRefAttr:
        """Gives the one object with these fields."""
        if type(name) is not str:
            name = exact_str(name, "axis name")
        found = _REFS.get(name if sub_axis_info is None else (name, sub_axis_info))
        return _new_ref(name, sub_axis_info) if found is None else found

    @classmethod
    def sub(cls, name: str, pre_size: int, size: int) -> AxisRefAttr:
        """The part of an axis that has `pre_size` in front and is `size` long.

        >>> print(AxisRefAttr.sub("x", 2, 4))
        #sdy<axis_ref"x":(2)4>
        """
        return cls(name, SubAxisInfoAttr(pre_size, size))

    def __repr__(self) -> str:
        sub = self.sub_axis_info
        if sub is None:
            return f"AxisRefAttr({self.name!r})"
        return f"AxisRefAttr.sub({self.name!r}, {sub.pre_size}, {sub.size})"

    def _print(self) -> str:
        sub = self.sub_axis_info
        return quote(self.name) if sub is None else f"{quote(self.name)}:{sub.stripped}"

    def __lt__(self, other: object) -> bool:
        """By name in byte order; a whole axis after its prefixes and before its other parts.

        >>> sorted([AxisRefAttr("x"), AxisRefAttr.sub("x", 2, 4), AxisRefAttr.sub("x", 1, 4)]) == [
        ...     AxisRefAttr.sub("x", 1, 4), AxisRefAttr("x"), AxisRefAttr.sub("x", 2, 4)]
        True
        """
        if type(other) is not AxisRefAttr:
            return NotImplemented
        if self.name != other.name:
            return self.name.encode("utf-8", "surrogateescape") < other.name.encode(
                "utf-8", "surrogateescape"
            )
        mine, theirs = self.sub_axis_info, other.sub_axis_info
        if mine is None:
            return theirs is not None and theirs.pre_size > 1
        if theirs is None:
            return mine.pre_size == 1
        return (mine.pre_size, mine.size) < (theirs.pre_size, theirs.size)

    def get_size(self, mesh: MeshAttr) -> int:
        """The number of devices along the ref: a part's own size, without asking the mesh.

        Raises:
            VerificationError: `unknown-axis`, for a whole axis.

        Example:
            >>> from sdybridge.sdy import MeshAttr
            >>> mesh = MeshAttr.from_sizes({"x": 8, "y": 4})
            >>> AxisRefAttr("x").get_size(mesh), AxisRefAttr.sub("x", 2, 4).get_size(mesh)
            (8, 4)
        """
        return mesh.axis_size(self.name) if self.sub_axis_info is None else self.sub_axis_info.size

    def contains(self, other: AxisRefAttr) -> bool:
        """Whether `other` is part of this or equal to it.

        | a | b | `a.contains(b)` |
        |---|---|---|
        | `"x"` | `"x":(2)2` | true |
        | `"x":(1)4` | `"x":(2)2` | true |
        | `"x":(2)2` | `"x":(2)2` | true |
        | `"x":(1)4` | `"x":(2)4` | false |
        | `"x":(2)2` | `"x"` | false |
        """
        if self.name != other.name:
            return False
        mine, theirs = self.sub_axis_info, other.sub_axis_info
        if mine is None:
            return True
        if theirs is None:
            return False
        return mine.pre_size <= theirs.pre_size and mine.next_pre_size >= theirs.next_pre_size

    def strictly_contains(self, other: AxisRefAttr) -> bool:
        """Whether `other` is part of this, and not equal to it.

        >>> whole, part = AxisRefAttr("x"), AxisRefAttr.sub("x", 2, 2)
        >>> whole.strictly_contains(part), whole.strictly_contains(whole)
        (True, False)
        """
        return self is not other and self.contains(other)

    def prefix_of(self, other: AxisRefAttr) -> bool:
        """Whether this is part of `other` and starts where it starts.

        | a | b | `a.prefix_of(b)` |
        |---|---|---|
        | `"x":(1)2` | `"x"` | true |
        | `"x":(2)2` | `"x":(2)4` | true |
        | `"x"` | `"x"` | true |
        | `"x":(2)2` | `"x"` | false |
        | `"x"` | `"x":(1)2` | false |
        """
        return other.contains(self) and self._pre_size == other._pre_size

    def strict_prefix_of(self, other: AxisRefAttr) -> bool:
        """Whether this is a prefix of `other`, and not equal to it.

        >>> whole, part = AxisRefAttr("x"), AxisRefAttr.sub("x", 1, 2)
        >>> part.strict_prefix_of(whole), whole.strict_prefix_of(whole)
        (True, False)
        """
        return self is not other and self.prefix_of(other)

    def suffix_of(self, other: AxisRefAttr, mesh: MeshAttr) -> bool:
        """Whether this is part of `other` and ends where it ends, which for a whole axis is its size.

        | a | b | `a.suffix_of(b, mesh)` |
        |---|---|---|
        | `"x":(4)2` | `"x"` | true |
        | `"x":(2)2` | `"x":(1)4` | true |
        | `"x"` | `"x"` | true |
        | `"x":(1)2` | `"x":(1)4` | false |
        | `"x"` | `"x":(4)2` | false |
        """
        return other.contains(self) and self._next_pre_size(mesh) == other._next_pre_size(mesh)

    def strict_suffix_of(self, other: AxisRefAttr, mesh: MeshAttr) -> bool:
        """Whether this is a suffix of `other`, and not equal to it.

        >>> from sdybridge.sdy import MeshAttr
        >>> mesh = MeshAttr.from_sizes({"x": 8, "y": 4})
        >>> AxisRefAttr.sub("x", 4, 2).strict_suffix_of(AxisRefAttr("x"), mesh)
        True
        """
        return self is not other and self.suffix_of(other, mesh)

    def overlaps(self, other: AxisRefAttr) -> bool:
        """Whether the two have a part in common.

        | a | b | `a.overlaps(b)` |
        |---|---|---|
        | `"x"` | `"x":(2)2` | true |
        | `"x":(1)4` | `"x":(2)4` | true |
        | `"x":(1)2` | `"x":(2)2` | false |
        """
        if self.name != other.name:
            return False
        mine, theirs = self.sub_axis_info, other.sub_axis_info
        if mine is None or theirs is None:
            return True
        return mine.pre_size < theirs.next_pre_size and theirs.pre_size < mine.next_pre_size

    def can_coexist(self, other: AxisRefAttr) -> bool:
        """Whether one factorisation of the axis has both as products of its factors.

        | a | b | `a.can_coexist(b)` |
        |---|---|---|
        | `"x":(1)4` | `"x":(2)4` | true: 2 x 2 x 2 |
        | `"x":(1)2` | `"x":(4)2` | true: 2 x 2 x 2 |
        | `"x"` | anything | true |
        | `"x":(1)2` | `"x":(3)2` | false: 3 is no multiple of 2 |
        | `"x":(1)4` | `"x":(6)2` | false: 6 is no multiple of 4 |
        """
        if self.name != other.name:
            return True
        mine, theirs = self.sub_axis_info, other.sub_axis_info
        if mine is None or theirs is None:
            return True
        if min(mine.pre_size, mine.size, theirs.pre_size, theirs.size) < 1:
            return False
        low, high = sorted((mine.pre_size, theirs.pre_size))
        low_next, high_next = sorted((mine.next_pre_size, theirs.next_pre_size))
        if low_next > high:
            return low_next % high == 0 and high % low == 0 and high_next % low_next == 0
        return high % low_next == 0

    def get_overlap(self, other: AxisRefAttr) -> AxisRefAttr | None:
        """The common part: `"x":(2)2` for `"x":(1)4` and `"x":(2)4`; None if there is none.

        >>> print(AxisRefAttr.sub("x", 1, 4).get_overlap(AxisRefAttr.sub("x", 2, 4)))
        #sdy<axis_ref"x":(2)2>
        """
        if self.name != other.name:
            return None
        mine, theirs = self.sub_axis_info, other.sub_axis_info
        if mine is None:
            return other
        if theirs is None:
            return self
        if not (self.overlaps(other) and self.can_coexist(other)):
            return None
        start = max(mine.pre_size, theirs.pre_size)
        return AxisRefAttr.sub(self.name, start, min(mine.next_pre_size, theirs.next_pre_size) // start)

    def get_prefix_without_overlap(self, other: AxisRefAttr) -> AxisRefAttr | None:
        """What of this lies before `other`.

        | a | b | `a.get_prefix_without_overlap(b)` |
        |---|---|---|
        | `"x"` | `"x":(4)2` | `"x":(1)4` |
        | `"x":(1)4` | `"x":(2)4` | `"x":(1)2` |
        | `"x":(1)2` | `"x":(4)2` | `"x":(1)2` (no overlap: all of it) |
        | `"x":(2)4` | `"x":(1)4` | None |
        """
        if not self.can_coexist(other):
            return None
        if not self.overlaps(other):
            return self
        start, end = self._pre_size, other._pre_size
        return None if start >= end else AxisRefAttr.sub(self.name, start, end // max(start, 1))

    def get_suffix_without_overlap(self, other: AxisRefAttr, mesh: MeshAttr) -> AxisRefAttr | None:
        """What of this lies after `other`.

        | a | b | `a.get_suffix_without_overlap(b, mesh)` |
        |---|---|---|
        | `"x"` | `"x":(1)2` | `"x":(2)4` |
        | `"x":(2)4` | `"x":(1)4` | `"x":(4)2` |
        | `"x":(4)2` | `"x":(1)2` | `"x":(4)2` (no overlap: all of it) |
        | `"x":(1)4` | `"x":(2)4` | None |
        """
        if not self.can_coexist(other):
            return None
        if not self.overlaps(other):
            return self
        start, end = other._next_pre_size(mesh), self._next_pre_size(mesh)
        return None if start >= end or start < 1 else AxisRefAttr.sub(self.name, start, end // start)

    def get_greatest_common_prefix(self, other: AxisRefAttr) -> AxisRefAttr | None:
        """The one of the two that is a prefix of the other, if either is.

        >>> print(AxisRefAttr("x").get_greatest_common_prefix(AxisRefAttr.sub("x", 1, 2)))
        #sdy<axis_ref"x":(1)2>
        """
        if not self.can_coexist(other):
            return None
        if self.prefix_of(other):
            return self
        return other if other.prefix_of(self) else None

    def can_merge(self, other: AxisRefAttr) -> bool:
        """Whether `other` is the part that follows this one directly.

        | a | b | `a.can_merge(b)` |
        |---|---|---|
        | `"x":(1)2` | `"x":(2)4` | true |
        | `"x":(2)4` | `"x":(1)2` | false: the major part comes first |
        | `"x":(1)2` | `"x":(4)2` | false |
        | `"x"` | anything | false |
        """
        if self.name != other.name:
            return False
        mine, theirs = self.sub_axis_info, other.sub_axis_info
        return mine is not None and theirs is not None and mine.next_pre_size == theirs.pre_size

    def merge(self, other: AxisRefAttr, mesh: MeshAttr) -> AxisRefAttr:
        """This and the part that follows it as one ref; the whole axis if they make it up.

        | a | b | `a.merge(b, mesh)` |
        |---|---|---|
        | `"x":(1)2` | `"x":(2)2` | `"x":(1)4` |
        | `"x":(1)2` | `"x":(2)4` | `"x"` |

        Raises:
            VerificationError: `not-mergeable`.
        """
        mine, theirs = self.sub_axis_info, other.sub_axis_info
        if mine is None or theirs is None or not self.can_merge(other):
            raise VerificationError(
                f"{self.stripped} and {other.stripped} are not consecutive parts of one axis",
                rule="not-mergeable",
            )
        size = mine.size * theirs.size
        if size == mesh.axis_size(self.name):
            return AxisRefAttr(self.name)
        return AxisRefAttr.sub(self.name, mine.pre_size, size)

    @property
    def _pre_size(self) -> int:
        return 1 if self.sub_axis_info is None else self.sub_axis_info.pre_size

    def _next_pre_size(self, mesh: MeshAttr) -> int:
        sub = self.sub_axis_info
        return mesh.axis_size(self.name) if sub is None else sub.next_pre_size


_REFS: UniqueTable[AxisRefAttr] = UniqueTable()


def _new_ref(name: str, sub_axis_info: SubAxisInfoAttr | None) -> AxisRefAttr:
    if sub_axis_info is not None and type(sub_axis_info) is not SubAxisInfoAttr:
        raise TypeError(f"sub_axis_info must be a SubAxisInfoAttr, not {type(sub_axis_info).__name__}")
    name = canonical_name(name, "axis name", ("name",))
    key: Hashable = name if sub_axis_info is None else (name, sub_axis_info)
    ref = object.__new__(AxisRefAttr)
    set_field(ref, "name", name)
    set_field(ref, "sub_axis_info", sub_axis_info)
    return _REFS.add(key, ref)
