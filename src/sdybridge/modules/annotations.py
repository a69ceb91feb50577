"""What a program says about its values: one record for each value that has a sharding, in every format."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.hlo import HloSharding
from sdybridge.modules.shapes import TensorShape

if TYPE_CHECKING:
    from sdybridge.sdy import MeshAttr, TensorShardingAttr

SDY = "sdy.sharding"
MHLO = "mhlo.sharding"
CARRIER = "xla.sdy.sharding"
HLO = "sharding"


@dataclass(frozen=True, slots=True)
class Annotation:
    """One value of a program, and the sharding that the program states for it.

    Attributes:
        carrier: What holds the sharding: `sdy.sharding` and `mhlo.sharding` in MLIR, `sharding` in HLO,
            and `xla.sdy.sharding` for a Shardy sharding that rides along in either.
        scope: The function or computation that the value is in.
        name: `%arg0`, `%3#1`, `result 0`; in HLO the instruction's name, with `{1}` for part of a tuple.
        opcode: The operation that the value comes from; `argument` or `result` of a function.
        shape: The shape of the whole value; None where the text does not tell, or for no tensor.
        sharding: The sharding of this one value; None for an input or output without.
        mesh: The mesh that a Shardy sharding is on; None if it is not declared, and for HLO shardings.
        offset: Where the sharding stands: in characters of a text, in bytes of a proto.
        manual_axes: The axes that are manual where a Shardy sharding stands.
        part: The shape of what each device holds, where the program says that: XLA has partitioned it.
    """

    carrier: str
    scope: str
    name: str
    opcode: str
    shape: TensorShape | None
    sharding: TensorShardingAttr | HloSharding | None
    mesh: MeshAttr | None
    offset: int
    manual_axes: tuple[str, ...] = ()
    part: TensorShape | None = None

    @property
    def stated_shape(self) -> TensorShape | None:
        """The shape that the program says: of the whole value, or of a part where it is partitioned."""
        return self.shape or self.part

    @property
    def local_shape(self) -> TensorShape | None:
        """The shape of the largest part that a device holds; None if that cannot be told.

        It cannot where the shape or mesh is not known, a size is dynamic, or the sharding has another rank.
        """
        if self.part is not None:
            return self.part
        shape, sharding = self.shape, self.sharding
        if shape is None or sharding is None or min(shape.dims, default=0) < 0:
            return None
        if isinstance(sharding, HloSharding):
            if sharding.is_tiled and sharding.data_rank != len(shape.dims):
                return None
            return TensorShape(shape.element_type, sharding.tile_shape(shape.dims))
        if self.mesh is None or (sharding.dim_shardings and sharding.rank != len(shape.dims)):
            return None
        ways = shard_counts(sharding, self.mesh)
        if ways is None:
            return None
        dims = (-(-size // count) for size, count in zip(shape.dims, ways, strict=False))
        return TensorShape(shape.element_type, tuple(dims) if ways else shape.dims)

    @property
    def devices(self) -> int | None:
        """How many devices the sharding is about; None if it does not say."""
        if isinstance(self.sharding, HloSharding):
            if self.sharding.named_sharding is not None:
                return self.sharding.named_sharding.num_devices or None
            tiles = self.sharding.tile_assignment
            return math.prod(tiles.dims) if self.sharding.is_tiled else None
        return None if self.mesh is None else self.mesh.total_size


def shard_counts(sharding: TensorShardingAttr, mesh: MeshAttr) -> tuple[int, ...] | None:
    """Into how many parts each dimension is split; None if the mesh lacks an axis, or a part is of none.

    >>> from sdybridge.sdy import MeshAttr, TensorShardingAttr
    >>> sharding = TensorShardingAttr.from_string('<@mesh, [{"x"}, {}]>')
    >>> shard_counts(sharding, MeshAttr.from_sizes({"x": 4}))
    (4, 1)
    """
    sizes = {axis.name: axis.size for axis in mesh.axes}
    counts = []
    for dim in sharding.dim_shardings:
        count = 1
        for ref in dim.axes:
            if ref.name not in sizes:
                return None
            count *= ref.sub_axis_info.size if ref.sub_axis_info else sizes[ref.name]
        if count < 1:
            return None
        counts.append(count)
    return tuple(counts)
