"""Generators of Shardy values and texts.

`attributes()` gives any value that can be built, `shardings_on(mesh)` valid ones, `attribute_texts()` text.
Generators for other packages go below, under a heading of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from sdybridge.sdy import (
    AllToAllParamAttr,
    AllToAllParamListAttr,
    AxisRefAttr,
    AxisRefListAttr,
    DimensionShardingAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    MeshAxisAttr,
    ReductionOp,
    SubAxisInfoAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
    verify_coexistence,
    verify_sharding,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.sdy import Attribute

# ---------------------------------------------------------------- Shardy: any value

INT64 = st.one_of(
    st.integers(-3, 20), st.sampled_from([-(2**63), 2**63 - 1]), st.integers(-(2**63), 2**63 - 1)
)


def names() -> st.SearchStrategy[str]:
    """Names of axes and meshes: plain ones mostly, and any bytes."""
    plain = st.sampled_from(["x", "y", "z", "data", "model", "_axis_0", "p1", "mesh", "a.b$c", "true"])
    tricky = st.text(st.sampled_from('xy "\\{}[]<>,:=?()@#/\n\té\udcff0'), max_size=6)
    anything = st.binary(max_size=8).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
    return st.one_of(plain, plain, tricky, anything)


def mesh_names() -> st.SearchStrategy[str]:
    """Names of meshes; the empty one prints as no text that parses."""
    return names().filter(bool)


@st.composite
def meshes(draw: st.DrawFn, *, max_devices: int = 64) -> MeshAttr:
    """Meshes of every kind: with axes and perhaps an order of devices, maximal, empty."""
    kind = draw(st.sampled_from(["axes", "axes", "axes", "order", "order", "maximal", "empty", "huge"]))
    if kind == "maximal":
        return MeshAttr.maximal(draw(st.integers(0, 2**63 - 1)))
    if kind == "empty":
        return MeshAttr()
    sizes: dict[str, int] = {}
    left = max_devices
    for name in draw(
        st.lists(
            names(), min_size=1, max_size=5, unique_by=lambda name: name.encode("utf-8", "surrogateescape")
        )
    ):
        sizes[name] = draw(st.integers(1, 2**63 - 1) if kind == "huge" else st.integers(1, min(left, 8)))
        left = max(1, left // sizes[name])
    mesh = MeshAttr.from_sizes(sizes)
    if kind != "order":
        return mesh
    return MeshAttr(mesh.axes, draw(st.permutations(range(mesh.total_size))))


def axis_refs() -> st.SearchStrategy[AxisRefAttr]:
    """Refs to any axis, with any numbers."""
    parts = st.builds(SubAxisInfoAttr, INT64, INT64)
    return st.builds(AxisRefAttr, names(), st.one_of(st.none(), parts))


def dimension_shardings() -> st.SearchStrategy[DimensionShardingAttr]:
    """Dimensions with any refs."""
    priorities = st.one_of(st.none(), st.integers(0, 12), st.integers(0, 2**63 - 1))
    return st.builds(DimensionShardingAttr, st.lists(axis_refs(), max_size=3), st.booleans(), priorities)


def tensor_shardings(
    *, reduction_ops: Sequence[ReductionOp] = (ReductionOp.SUM,)
) -> st.SearchStrategy[TensorShardingAttr]:
    """Shardings with any refs, on any mesh; most are invalid."""
    refs = st.lists(axis_refs(), max_size=2)
    return st.builds(
        TensorShardingAttr,
        st.one_of(mesh_names(), mesh_names(), meshes()),
        st.lists(dimension_shardings(), max_size=4),
        refs,
        refs,
        st.sampled_from(reduction_ops),
    )


def attributes() -> st.SearchStrategy[Attribute]:
    """Values of every Shardy class, as free as its constructor allows."""
    ref_lists = st.builds(AxisRefListAttr, st.lists(axis_refs(), max_size=3))
    params = st.builds(AllToAllParamAttr, st.lists(axis_refs(), min_size=1, max_size=3), INT64, INT64)
    return st.one_of(
        st.builds(MeshAxisAttr, names(), st.integers(1, 2**63 - 1)),
        meshes(),
        st.builds(SubAxisInfoAttr, INT64, INT64),
        axis_refs(),
        dimension_shardings(),
        tensor_shardings(),
        st.builds(TensorShardingPerValueAttr, st.lists(tensor_shardings(), max_size=3)),
        st.builds(ManualAxesAttr, st.lists(names(), max_size=3)),
        ref_lists,
        st.builds(ListOfAxisRefListsAttr, st.lists(ref_lists, max_size=3)),
        params,
        st.builds(AllToAllParamListAttr, st.lists(params, max_size=3)),
    )


# ---------------------------------------------------------------- Shardy: valid values


def divisors(n: int) -> list[int]:
    """The divisors of n, ascending."""
    return [k for k in range(1, n + 1) if n % k == 0]


def small_meshes(*, max_devices: int = 64) -> st.SearchStrategy[MeshAttr]:
    """Meshes with axes that are small enough to list their devices."""
    return meshes(max_devices=max_devices).filter(
        lambda mesh: bool(mesh.axes) and mesh.total_size <= max_devices
    )


@st.composite
def _pieces_of(draw: st.DrawFn, mesh: MeshAttr) -> list[AxisRefAttr]:
    """All axes of a mesh, each whole or cut into parts."""
    pieces = []
    for axis in mesh.axes:
        inner = divisors(axis.size)[1:-1]
        cuts = draw(st.sets(st.sampled_from(inner), max_size=2)) if inner else set()
        chain = [1]
        for cut in sorted(cuts):
            if cut % chain[-1] == 0:
                chain.append(cut)
        if len(chain) == 1:
            pieces.append(AxisRefAttr(axis.name))
            continue
        for start, end in zip(chain, [*chain[1:], axis.size], strict=True):
            pieces.append(AxisRefAttr.sub(axis.name, start, end // start))
    return pieces


@st.composite
def shardings_on(
    draw: st.DrawFn,
    mesh: MeshAttr,
    *,
    max_rank: int = 4,
    rank: int | None = None,
    mesh_or_ref: str | MeshAttr = "mesh",
) -> TensorShardingAttr:
    """Valid shardings on a mesh with axes, whose parts of an axis coexist."""
    if rank is None:
        rank = draw(st.integers(0, max_rank))
    places: list[list[AxisRefAttr]] = [[] for _ in range(rank + 2)]
    for piece in draw(st.permutations(draw(_pieces_of(mesh)))):
        place = draw(st.integers(-1, rank + 1))  # -1: the axis is not used
        if place >= 0 and not (places[place] and places[place][-1].can_merge(piece)):
            places[place].append(piece)
    dims = []
    for axes in places[:rank]:
        is_closed = draw(st.booleans())
        has_priority = (axes or not is_closed) and draw(st.booleans())
        dims.append(DimensionShardingAttr(axes, is_closed, draw(st.integers(0, 3)) if has_priority else None))
    replicated, unreduced = (_unmergeable(sorted(refs, key=mesh.axis_ref_key)) for refs in places[rank:])
    sharding = TensorShardingAttr(mesh_or_ref, dims, replicated, unreduced)
    verify_sharding(sharding, mesh, rank=rank)
    verify_coexistence(sharding)
    return sharding


def _unmergeable(refs: list[AxisRefAttr]) -> list[AxisRefAttr]:
    kept: list[AxisRefAttr] = []
    for ref in refs:
        if not (kept and kept[-1].can_merge(ref)):
            kept.append(ref)
    return kept


@st.composite
def meshes_and_shardings(draw: st.DrawFn, *, max_devices: int = 64) -> tuple[MeshAttr, TensorShardingAttr]:
    """A mesh with axes and a valid sharding on it."""
    mesh = draw(small_meshes(max_devices=max_devices))
    return mesh, draw(shardings_on(mesh))


# ---------------------------------------------------------------- Shardy: text

_TOKEN = re.compile(r'#sdy[.<]\w+<?|@?"[^"]*"|@?[A-Za-z_][\w$.]*|[0-9]+|->|.', re.DOTALL)
_GAPS = st.sampled_from(["", "", "", "", " ", "  ", "\t", "\n", "\r\n", " // }]>\n"])
_WORDS = [
    "mesh",
    "replicated",
    "unreduced",
    "device_ids",
    "p1",
    "p01",
    "true",
    "max",
    "x",
    "#sdy.mesh",
    "#sdy<",
    "#a",
]
_SIGNS = list('{}[]()<>,:=?-+@#"\\ \n\t0129.p/é\x00;*')


def tokens(text: str) -> list[str]:
    """The tokens of an attribute's text, its white space left out."""
    return [token for token in _TOKEN.findall(text) if token != " "]


@st.composite
def spaced(draw: st.DrawFn, text: str) -> str:
    """The same text with other white space and comments between its tokens."""
    first, *rest = tokens(text)
    return "".join([first, *(draw(_GAPS) + token for token in rest)])


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """The text with a few tokens or characters lost, doubled, replaced or swapped."""
    for _ in range(draw(st.integers(1, 3))):
        parts = draw(st.sampled_from([_TOKEN.findall(text), list(text)]))
        if not parts:
            return text
        i = draw(st.integers(0, len(parts) - 1))
        j = draw(st.integers(0, len(parts) - 1))
        other = draw(st.sampled_from([*_WORDS, *_SIGNS, parts[j]]))
        change = draw(st.sampled_from(["drop", "insert", "replace", "swap", "cut"]))
        if change == "drop":
            del parts[i]
        elif change == "insert":
            parts.insert(i, other)
        elif change == "replace":
            parts[i] = other
        elif change == "swap":
            parts[i], parts[j] = parts[j], parts[i]
        else:
            del parts[min(i, j) : max(i, j)]
        text = "".join(parts)
    return text


def attribute_texts() -> st.SearchStrategy[str]:
    """Texts that are attributes, or nearly."""
    exact = attributes().map(str)
    return st.one_of(exact, exact.flatmap(spaced), exact.flatmap(mutated), exact.flatmap(mutated))


def random_texts() -> st.SearchStrategy[str]:
    """Texts made of the grammar's own words and signs, mostly nonsense."""
    starts = st.sampled_from(
        ["", "#sdy.sharding<@m, [", "#sdy.mesh<[", "#sdy<", "<", "[", "{", "#sdy.sharding_per_value<["]
    )
    return st.builds(
        lambda start, rest: start + "".join(rest),
        starts,
        st.lists(st.sampled_from([*_WORDS, *_SIGNS]), max_size=12),
    )
