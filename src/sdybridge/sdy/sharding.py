"""How tensors are sharded: one tensor, and one per value of an operation."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, TypeAlias, final

from sdybridge.errors import VerificationError
from sdybridge.sdy.axis_ref import AxisRefAttr
from sdybridge.sdy.dimension import DimensionShardingAttr
from sdybridge.sdy.fields import canonical_name, elements
from sdybridge.sdy.mesh import MeshAttr
from sdybridge.sdy.printer import symbol
from sdybridge.sdy.uniquing import Attribute, UniqueTable, set_field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


_Fields: TypeAlias = (
    "tuple[str | MeshAttr, tuple[DimensionShardingAttr, ...], tuple[AxisRefAttr, ...],"
    " tuple[AxisRefAttr, ...], ReductionOp]"
)


class ReductionOp(enum.Enum):
    """How the pieces along unreduced axes combine. Only `Target.NEWER` writes anything but the sum.

    >>> [op.value for op in ReductionOp]
    ['sum', 'max', 'min']

    Source: the reduction of `TensorShardingAttr` on Shardy's main branch.
    """

    SUM = "sum"
    MAX = "max"
    MIN = "min"

    __hash__ = object.__hash__  # members are single objects; the name's hash, as Enum has it, takes longer

    def __repr__(self) -> str:
        return f"ReductionOp.{self.name}"


@final
class TensorShardingAttr(Attribute):
    """The sharding of one tensor.

    Args:
        mesh_or_ref: The mesh, or the name of one, without the `@`.
        dim_shardings: One per tensor dimension, in order.
        replicated_axes: Axes that the tensor is explicitly replicated along, so that propagation may not
            use them; in mesh order.
        unreduced_axes: Axes along which the tensor still is to be reduced; in mesh order.
        reduction_op: By what. Without unreduced axes it means nothing and becomes `SUM`.

    Raises:
        TypeError: A part is of another class.

    Nothing is checked against a mesh here: see `verify_sharding`.

    >>> x, y = AxisRefAttr("x"), AxisRefAttr("y")
    >>> sharding = TensorShardingAttr("mesh", [DimensionShardingAttr([x]), DimensionShardingAttr()], [y])
    >>> print(sharding)
    #sdy.sharding<@mesh, [{"x"}, {}], replicated={"y"}>

    Source: shardy/dialect/sdy/ir/attrs.td, `TensorShardingAttr`.
    """

    __slots__ = ("dim_shardings", "mesh_or_ref", "reduction_op", "replicated_axes", "unreduced_axes")
    __match_args__ = ("mesh_or_ref", "dim_shardings", "replicated_axes", "unreduced_axes", "reduction_op")
    mnemonic = "sharding"
    is_dotted = True

    mesh_or_ref: str | MeshAttr
    dim_shardings: tuple[DimensionShardingAttr, ...]
    replicated_axes: tuple[AxisRefAttr, ...]
    unreduced_axes: tuple[AxisRefAttr, ...]
    reduction_op: ReductionOp

    def __new__(
        cls,
        mesh_or_ref: str | MeshAttr,
        dim_shardings: Iterable[DimensionShardingAttr] = (),
        replicated_axes: Iterable[AxisRefAttr] = (),
        unreduced_axes: Iterable[AxisRefAttr] = (),
        reduction_op: ReductionOp = ReductionOp.SUM,
    ) -> TensorShardingAttr:
        """Gives the one object with these fields."""
        if type(mesh_or_ref) is not str and type(mesh_or_ref) is not MeshAttr:
            mesh_or_ref = _exact_mesh(mesh_or_ref)
        if type(dim_shardings) is not tuple:
            dim_shardings = tuple(dim_shardings)
        if type(replicated_axes) is not tuple:
            replicated_axes = tuple(replicated_axes)
        if type(unreduced_axes) is not tuple:
            unreduced_axes = tuple(unreduced_axes)
        if type(reduction_op) is not ReductionOp:
            raise TypeError(f"reduction_op must be a ReductionOp, not {type(reduction_op).__name__}")
        if not unreduced_axes:
            reduction_op = _SUM
        key = (mesh_or_ref, dim_shardings, replicated_axes, unreduced_axes, reduction_op)
        found = _SHARDINGS.get(key)
        return _check_sharding(key) if found is None else found

    @classmethod
    def fully_closed(cls, rank: int, mesh_or_ref: str | MeshAttr) -> TensorShardingAttr:
        """The sharding of `rank` dimensions that are split along nothing, for good.

        >>> print(TensorShardingAttr.fully_closed(2, "mesh"))
        #sdy.sharding<@mesh, [{}, {}]>
        """
        return cls(mesh_or_ref, (DimensionShardingAttr(),) * rank)

    @classmethod
    def fully_open(cls, rank: int, mesh_or_ref: str | MeshAttr) -> TensorShardingAttr:
        """The sharding of `rank` dimensions that are split along nothing yet.

        >>> print(TensorShardingAttr.fully_open(2, "mesh"))
        #sdy.sharding<@mesh, [{?}, {?}]>
        """
        return cls(mesh_or_ref, (DimensionShardingAttr(is_closed=False),) * rank)

    def __repr__(self) -> str:
        arguments = [repr(self.mesh_or_ref), repr(list(self.dim_shardings))]
        if self.replicated_axes:
            arguments.append(f"replicated_axes={list(self.replicated_axes)}")
        if self.unreduced_axes:
            arguments.append(f"unreduced_axes={list(self.unreduced_axes)}")
        if self.reduction_op is not ReductionOp.SUM:
            arguments.append(f"reduction_op={self.reduction_op}")
        return f"TensorShardingAttr({', '.join(arguments)})"

    def _print(self) -> str:
        ref = self.mesh_or_ref
        mesh = symbol(ref) if isinstance(ref, str) else f"mesh{ref.stripped}"
        parts = [f"<{mesh}, [{', '.join([dim.stripped for dim in self.dim_shardings])}]"]
        if self.replicated_axes:
            parts.append(f", replicated={{{', '.join([axis.stripped for axis in self.replicated_axes])}}}")
        if self.unreduced_axes:
            op = "" if self.reduction_op is ReductionOp.SUM else self.reduction_op.value
            parts.append(f", unreduced={op}{{{', '.join([axis.stripped for axis in self.unreduced_axes])}}}")
        return "".join([*parts, ">"])

    @property
    def mesh_name(self) -> str | None:
        """The name of the mesh; None for an inline mesh."""
        return self.mesh_or_ref if isinstance(self.mesh_or_ref, str) else None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dim_shardings)

    @property
    def axis_refs(self) -> tuple[AxisRefAttr, ...]:
        """All refs: of the dimensions in order, then replicated, then unreduced.

        Source: `TensorShardingAttr::forEachAxisRef`.
        """
        refs = [ref for dim in self.dim_shardings for ref in dim.axes]
        return (*refs, *self.replicated_axes, *self.unreduced_axes)

    @property
    def empty_axes(self) -> bool:
        """Whether no axis occurs anywhere: in no dimension, and neither replicated nor unreduced."""
        return self.is_fully_replicated and not self.replicated_axes and not self.unreduced_axes

    @property
    def is_fully_closed(self) -> bool:
        """Whether every dimension is closed."""
        return all(dim.is_closed for dim in self.dim_shardings)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether no dimension has axes. Openness, replicated and unreduced axes do not count."""
        return not any(dim.axes for dim in self.dim_shardings)

    @property
    def is_fully_replicated_and_open(self) -> bool:
        """Whether every dimension is open and without axes."""
        return not any(dim.axes or dim.is_closed for dim in self.dim_shardings)

    @property
    def closed_like(self) -> TensorShardingAttr:
        """The same with all dimensions closed, and hence without the replicated axes."""
        dims = tuple(dim.closed_like for dim in self.dim_shardings)
        return TensorShardingAttr(self.mesh_or_ref, dims, (), self.unreduced_axes, self.reduction_op)

    @property
    def open_like(self) -> TensorShardingAttr:
        """The same with all dimensions open."""
        dims = tuple(dim.open_like for dim in self.dim_shardings)
        return TensorShardingAttr(
            self.mesh_or_ref, dims, self.replicated_axes, self.unreduced_axes, self.reduction_op
        )

    def any_of_axis_ref(self, predicate: Callable[[AxisRefAttr], bool]) -> bool:
        """Whether `predicate` holds for any of `axis_refs`.

        >>> sharding = TensorShardingAttr.from_string('<@mesh, [{"x"}, {"y":(1)2}]>')
        >>> sharding.any_of_axis_ref(lambda axis: axis.sub_axis_info is not None)
        True
        """
        return any(map(predicate, self.axis_refs))

    def is_bound(self, axis_name: str) -> bool:
        """Whether the axis occurs anywhere, whole or in part.

        >>> sharding = TensorShardingAttr.from_string('<@mesh, [{"x"}, {"y":(1)2}]>')
        >>> sharding.is_bound("y"), sharding.is_bound("z")
        (True, False)
        """
        return any(ref.name == axis_name for ref in self.axis_refs)

    def is_equivalent(self, other: TensorShardingAttr) -> bool:
        """Whether both place the data alike, so far as the attributes alone tell.

        Openness, priorities and replicated axes do not count, nor does the mesh when nothing is sharded.

        >>> a, b = map(TensorShardingAttr.from_string, ("<@mesh, [{?}]>", "<@other, [{}]>"))
        >>> a.is_equivalent(b)
        True
        """
        if self is other:
            return True
        if self.unreduced_axes != other.unreduced_axes or self.reduction_op is not other.reduction_op:
            return False
        mine = [dim.axes for dim in self.dim_shardings]
        theirs = [dim.axes for dim in other.dim_shardings]
        if not self.unreduced_axes and not any(mine) and not any(theirs):
            return True
        return self.mesh_or_ref == other.mesh_or_ref and mine == theirs

    def get_mesh(self, meshes: Mapping[str, MeshAttr]) -> MeshAttr | None:
        """The inline mesh, or the one of that name in `meshes`, or None.

        >>> from sdybridge.sdy import MeshAttr
        >>> sharding = TensorShardingAttr.from_string('<@mesh, [{"x"}, {"y":(1)2}]>')
        >>> sharding.get_mesh({"mesh": MeshAttr.from_sizes({"x": 2, "y": 4})})
        MeshAttr.from_sizes({'x': 2, 'y': 4})
        """
        return meshes.get(self.mesh_or_ref) if isinstance(self.mesh_or_ref, str) else self.mesh_or_ref

    def get_local_shape(self, shape: Sequence[int | None], mesh: MeshAttr) -> tuple[int | None, ...]:
        """The shape of one device's piece: every size divided by its number of pieces, rounded up.

        Args:
            shape: The tensor's sizes; a dynamic one (None or negative) stays as it is. A sharding of rank 0
                leaves any shape as it is.
            mesh: The mesh that `mesh_or_ref` stands for.

        Raises:
            VerificationError: `rank-mismatch`, `unknown-axis`, `sub-axis-size`.

        >>> mesh = MeshAttr.from_sizes({"x": 2, "y": 4})
        >>> TensorShardingAttr.from_string('<@mesh, [{"y"}, {"x"}, {}]>').get_local_shape((7, None, 3), mesh)
        (2, None, 3)

        Source: `TensorShardingAttr::getLocalType`.
        """
        if not self.dim_shardings:
            return tuple(shape)
        if len(shape) != len(self.dim_shardings):
            raise rank_mismatch(self, len(shape))
        local: list[int | None] = []
        for i, (size, dim) in enumerate(zip(shape, self.dim_shardings, strict=True)):
            pieces = dim.get_sharded_size(mesh)
            if pieces < 1:
                raise VerificationError(
                    f"dimension {i} is split into {pieces} pieces",
                    rule="sub-axis-size",
                    path=("dim_shardings", i),
                )
            local.append(size if size is None or size < 0 else -(-size // pieces))
        return tuple(local)


_SHARDINGS: UniqueTable[TensorShardingAttr] = UniqueTable()
_SUM = ReductionOp.SUM
# The slots' own setters: twice as fast as going through object.__setattr__.
_set_mesh, _set_dims, _set_replicated, _set_unreduced, _set_op = [
    TensorShardingAttr.__dict__[field].__set__ for field in TensorShardingAttr.__match_args__
]


def _exact_mesh(value: object) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"mesh_or_ref must be a str or a MeshAttr, not {type(value).__name__}")


def _check_sharding(key: _Fields) -> TensorShardingAttr:
    mesh_or_ref, dim_shardings, replicated_axes, unreduced_axes, reduction_op = key
    if isinstance(mesh_or_ref, str):
        mesh_or_ref = canonical_name(mesh_or_ref, "mesh name", ("mesh_or_ref",))
    elements(dim_shardings, DimensionShardingAttr, "dim_shardings")
    elements(replicated_axes, AxisRefAttr, "replicated_axes")
    elements(unreduced_axes, AxisRefAttr, "unreduced_axes")
    return trusted_sharding((mesh_or_ref, dim_shardings, replicated_axes, unreduced_axes, reduction_op))


def trusted_sharding(fields: _Fields) -> TensorShardingAttr:
    """The sharding with these fields, known to be of the right types: the parser's short cut."""
    entry = _SHARDINGS.entries.get(fields)
    found = None if entry is None else entry()
    if found is not None:
        return found
    sharding = object.__new__(TensorShardingAttr)
    _set_mesh(sharding, fields[0])
    _set_dims(sharding, fields[1])
    _set_replicated(sharding, fields[2])
    _set_unreduced(sharding, fields[3])
    _set_op(sharding, fields[4])
    return _SHARDINGS.add(fields, sharding)


def rank_mismatch(sharding: TensorShardingAttr, rank: int) -> VerificationError:
    """The error about a sharding of another rank than its tensor."""
    mine = sharding.rank
    return VerificationError(
        f"the sharding is of rank {mine}, the tensor of rank {rank}",
        rule="rank-mismatch",
        path=("dim_shardings",),
        help=f"give one `{{..}}` per tensor dimension: {'add' if mine < rank else 'drop'} {abs(rank - mine)}",
    )


@final
class TensorShardingPerValueAttr(Attribute):
    """The shardings of the operands or results of an operation, one per value.

    Args:
        shardings: In order; their meshes may differ.

    >>> shardings = [TensorShardingAttr("mesh"), TensorShardingAttr.fully_open(1, "m2")]
    >>> print(TensorShardingPerValueAttr(shardings))
    #sdy.sharding_per_value<[<@mesh, []>, <@m2, [{?}]>]>

    Source: shardy/dialect/sdy/ir/attrs.td, `TensorShardingPerValueAttr`.
    """

    __slots__ = ("shardings",)
    __match_args__ = ("shardings",)
    mnemonic = "sharding_per_value"
    is_dotted = True

    shardings: tuple[TensorShardingAttr, ...]

    def __new__(cls, shardings: Iterable[TensorShardingAttr] = ()) -> TensorShardingPerValueAttr:
        """Gives the one object with these fields."""
        shardings = tuple(shardings)
        found = _PER_VALUES.get(shardings)
        return _new_per_value(shardings) if found is None else found

    @classmethod
    def fully_open(cls, ranks: Iterable[int], mesh_or_ref: str | MeshAttr) -> TensorShardingPerValueAttr:
        """One fully open sharding per rank.

        >>> print(TensorShardingPerValueAttr.fully_open([1, 2], "mesh"))
        #sdy.sharding_per_value<[<@mesh, [{?}]>, <@mesh, [{?}, {?}]>]>
        """
        return cls(TensorShardingAttr.fully_open(rank, mesh_or_ref) for rank in ranks)

    def __repr__(self) -> str:
        return f"TensorShardingPerValueAttr({list(self.shardings)})"

    def _print(self) -> str:
        return f"<[{', '.join([sharding.stripped for sharding in self.shardings])}]>"


_PER_VALUES: UniqueTable[TensorShardingPerValueAttr] = UniqueTable()


def _new_per_value(shardings: tuple[TensorShardingAttr, ...]) -> TensorShardingPerValueAttr:
    elements(shardings, TensorShardingAttr, "shardings")
    per_value = object.__new__(TensorShardingPerValueAttr)
    set_field(per_value, "shardings", shardings)
    return _PER_VALUES.add(shardings, per_value)
