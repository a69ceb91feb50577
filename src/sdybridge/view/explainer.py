"""`explain`: what one sharding means, or what moves between two."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from sdybridge.errors import ConversionError
from sdybridge.source import Span
from sdybridge.target import Target
from sdybridge.view.explanation import Explanation, explanation_of
from sdybridge.view.notebook import ShownAsText
from sdybridge.view.reading import as_meshes, as_tensor, parse
from sdybridge.view.sharded import place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.sdy import MeshAttr
    from sdybridge.view.reading import Parsed
    from sdybridge.view.resharding import Resharding, Reshardings
    from sdybridge.view.sharded import Sharded
    from sdybridge.view.tensor_type import TensorType

    Mesh = MeshAttr | Mapping[str, MeshAttr] | Mapping[str, int] | None


class Explanations(ShownAsText, tuple[Explanation, ...]):
    """The explanations of a tuple's elements; `str` gives one text after the other.

    >>> from sdybridge import explain
    >>> len(explain("{{devices=[2]<=[2]}, {replicated}}"))
    2
    """

    __slots__ = ()

    def __str__(self) -> str:
        texts = [f"element {i}\n{element}" for i, element in enumerate(self)]
        return "\n\n".join(texts) or "the tuple is empty"

    def to_dict(self) -> dict[str, object]:
        """The facts as JSON values.

        >>> from sdybridge import explain
        >>> explain("{{replicated}}").to_dict()["type"]
        'tuple'
        """
        return {"type": "tuple", "elements": [element.to_dict() for element in self]}


@overload
def explain(
    sharding: object,
    after: None = None,
    *,
    mesh: Mesh = None,
    shape: object = None,
    manual_axes: Sequence[str] = (),
    axis_names: Sequence[str] = (),
    target: Target = Target.CURRENT,
) -> Explanation | Explanations: ...


@overload
def explain(
    sharding: object,
    after: object,
    *,
    mesh: Mesh = None,
    shape: object = None,
    manual_axes: Sequence[str] = (),
    axis_names: Sequence[str] = (),
    target: Target = Target.CURRENT,
) -> Resharding | Reshardings: ...


def explain(
    sharding: object,
    after: object = None,
    *,
    mesh: Mesh = None,
    shape: object = None,
    manual_axes: Sequence[str] = (),
    axis_names: Sequence[str] = (),
    target: Target = Target.CURRENT,
) -> Explanation | Explanations | Resharding | Reshardings:
    """What a sharding means: which axes cut what, who holds which part, and the same in every notation.

    Args:
        sharding: A sharding in any notation: text (`[{"y"}, {}]`, `#sdy.sharding<...>`, `{devices=...}`,
            `P('x', None)`, proto bytes in hexadecimal, base64 or escaped), an attribute, an `HloSharding`,
            bytes, or JAX's `PartitionSpec` and `NamedSharding`.
        after: A second one: then the answer is what moves between them.
        mesh: The mesh: a `MeshAttr`, sizes by axis name, several meshes by name, or JAX's. Device grids do
            without; a mesh is inferred, one for both where there is one.
        shape: The tensor: `"f32[64,128]"`, `"tensor<64x128xf32>"`, its sizes, or anything with shape and
            dtype.
        manual_axes: Axes that a manual computation around a Shardy sharding binds.
        axis_names: Names for the axes of an inferred mesh.
        target: Whose conventions to follow.

    Returns:
        An `Explanation`, or a `Resharding` for two shardings; `str` makes a text of it, `to_dict` JSON. A
        tuple gives a tuple of them.

    Raises:
        SdyBridgeError: A sharding is malformed, or not valid on its mesh.

    Example:
        >>> explanation = explain('[{"y"}, {}]', mesh={"x": 2, "y": 4}, shape="f32[64,128]")
        >>> explanation.shard, explanation.copies, explanation.bytes_per_device
        (TensorType(shape=(16, 128), element='f32'), 2, 8192)
        >>> moves = explain('[{"y"}, {}]', '[{}, {"y"}]', mesh={"x": 2, "y": 4})
        >>> [step.kind for step in moves.steps]
        ['all-to-all']
    """
    known = as_meshes(_mesh_of(sharding) if mesh is None else mesh)
    tensor = as_tensor(shape)
    rank = None if tensor is None else tensor.rank
    given = [sharding] if after is None else [sharding, after]
    parsed = [parse(one, known=known, rank=rank, target=target) for one in given]
    return explain_parsed(
        parsed, known, tensor, manual_axes=manual_axes, axis_names=axis_names, target=target
    )


def _mesh_of(sharding: object) -> object:
    """The mesh that one of JAX's `NamedSharding`s brings along."""
    return getattr(sharding, "mesh", None) if type(sharding).__name__ == "NamedSharding" else None


def explain_parsed(
    parsed: Sequence[Parsed],
    known: MeshAttr | Mapping[str, MeshAttr] | None,
    tensor: TensorType | None,
    *,
    manual_axes: Sequence[str] = (),
    axis_names: Sequence[str] = (),
    target: Target = Target.CURRENT,
) -> Explanation | Explanations | Resharding | Reshardings:
    """`explain` for one or two shardings that are read already."""
    placed = place(
        parsed,
        known,
        tensor=tensor,
        manual_axes=manual_axes,
        axis_names=axis_names,
        target=target,
    )
    return explain_placed(parsed, placed)


def explain_placed(
    parsed: Sequence[Parsed], placed: Sequence[Sequence[Sharded]]
) -> Explanation | Explanations | Resharding | Reshardings:
    """`explain` for one or two shardings that are on their meshes already."""
    first = [explanation_of(sharded) for sharded in placed[0]]
    is_tuple = _is_tuple(parsed[0])
    if len(placed) == 1:
        return Explanations(first) if is_tuple else first[0]
    from sdybridge.view.resharding import Reshardings, resharding_of

    second = [explanation_of(sharded) for sharded in placed[1]]
    if is_tuple is not _is_tuple(parsed[1]) or len(first) != len(second):
        raise _misfit(parsed[1], f"the first is of {len(first)} tensors, the second of {len(second)}")
    for a, b in zip(first, second, strict=True):
        if a.dimensions and b.dimensions and len(a.dimensions) != len(b.dimensions):
            ranks = f"rank {len(a.dimensions)}, the second of rank {len(b.dimensions)}"
            raise _misfit(parsed[1], f"the first is of {ranks}: they are not of one tensor")
    moves = [resharding_of(a, b) for a, b in zip(first, second, strict=True)]
    return Reshardings(moves) if is_tuple else moves[0]


def _misfit(second: Parsed, message: str) -> ConversionError:
    source = second.source
    return ConversionError(message, source=source, span=Span(0, max(1, len(source.text))))


def _is_tuple(parsed: Parsed) -> bool:
    return len(parsed.sdy) != 1 if parsed.hlo is None else parsed.hlo.is_tuple
