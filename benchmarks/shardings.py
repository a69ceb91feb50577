"""Distinct shardings like those of real programs, as Shardy text for us and as objects for JAX."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sdybridge import MeshAttr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

AXES = ("data", "fsdp", "tensor", "expert")
RANKS = (2, 3, 4)
MOST_AXES = 3
_SIZES = (2, 4, 8, 16)


@dataclass(frozen=True)
class Piece:
    """A mesh axis or a part of one, as a dimension may be sharded over it.

    Attributes:
        axis: The axis.
        pre_size: The product of the sizes of the parts left of this one.
        size: The number of devices along it.
        is_part: Whether it is less than its axis.
    """

    axis: str
    pre_size: int
    size: int
    is_part: bool

    def __str__(self) -> str:
        return f'"{self.axis}":({self.pre_size}){self.size}' if self.is_part else f'"{self.axis}"'

    @property
    def name(self) -> str:
        """The name of the axis that stands for it in JAX, which has no parts of axes."""
        return f"{self.axis}_{self.pre_size}"

    def continues(self, other: Piece) -> bool:
        """Whether this is the part right after `other`: Shardy wants the two written as one."""
        return self.axis == other.axis and self.pre_size == other.pre_size * other.size


Dims = tuple[tuple[Piece, ...], ...]
"""The pieces that each dimension is sharded over."""


@dataclass(frozen=True)
class Cases:
    """Distinct shardings on one mesh.

    Attributes:
        mesh: The mesh.
        pieces: Its axes, some of them in parts.
        dims: The shardings.
    """

    mesh: MeshAttr
    pieces: tuple[Piece, ...]
    dims: tuple[Dims, ...]

    def texts(self) -> list[str]:
        """The shardings in Shardy's notation."""
        return [_text(dims) for dims in self.dims]

    def named_shardings(self) -> list[tuple[Any, int]]:
        """The same as JAX's `NamedSharding`, with their ranks."""
        from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

        mesh = AbstractMesh(
            tuple(piece.size for piece in self.pieces), tuple(piece.name for piece in self.pieces)
        )
        return [
            (
                NamedSharding(mesh, PartitionSpec(*(tuple(p.name for p in dim) or None for dim in dims))),
                len(dims),
            )
            for dims in self.dims
        ]


def make_cases(
    sizes: Mapping[str, int], *, cut: Sequence[str] = (), most: int, ranks: Sequence[int] = RANKS
) -> Cases:
    """A sample of all shardings with 1 to 3 pieces of a mesh.

    Args:
        sizes: The mesh.
        cut: The axes that are used in two parts.
        most: The size of the sample.
        ranks: The ranks of the tensors.
    """
    pieces = tuple(
        itertools.chain.from_iterable(_pieces(axis, size, axis in cut) for axis, size in sizes.items())
    )
    every = [dims for rank in ranks for dims in arrangements(pieces, rank)]
    if cut:
        every = [dims for dims in every if any(piece.is_part for dim in dims for piece in dim)]
    sample = random.Random(most).sample(every, min(most, len(every)))
    return Cases(MeshAttr.from_sizes(sizes), pieces, tuple(sample))


def random_sizes(seed: int, axes: int, *, least: int = 2) -> dict[str, int]:
    """A mesh whose axis names nobody has seen before, so that no cache knows a piece of its shardings."""
    generator = random.Random(seed)
    sizes = [size for size in _SIZES if size >= least]
    return {f"{axis}_{seed}": generator.choice(sizes) for axis in AXES[:axes]}


def arrangements(pieces: Sequence[Piece], rank: int) -> Iterator[Dims]:
    """Every way to shard a tensor over 1 to 3 of the pieces.

    >>> one = Piece("x", 1, 2, is_part=False)
    >>> [[len(dim) for dim in dims] for dims in arrangements([one], 2)]
    [[0, 1], [1, 0]]
    """
    for count in range(1, MOST_AXES + 1):
        for used in itertools.permutations(pieces, count):
            for ends in itertools.combinations_with_replacement(range(count + 1), rank - 1):
                borders = itertools.pairwise((0, *ends, count))
                dims = tuple(used[start:end] for start, end in borders)
                if not any(b.continues(a) for dim in dims for a, b in itertools.pairwise(dim)):
                    yield dims


def _pieces(axis: str, size: int, is_cut: bool) -> Iterator[Piece]:
    if not is_cut:
        yield Piece(axis, 1, size, is_part=False)
        return
    major = 1 << (size.bit_length() - 1) // 2
    yield Piece(axis, 1, major, is_part=True)
    yield Piece(axis, major, size // major, is_part=True)


def _text(dims: Dims) -> str:
    lists = [", ".join(map(str, dim)) for dim in dims]
    return f"#sdy.sharding<@mesh, [{', '.join(f'{{{pieces}}}' for pieces in lists)}]>"
