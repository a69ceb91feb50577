"""`draw`: the picture of a sharding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.target import Target
from sdybridge.view.drawing import Drawing, Drawings, drawing_of
from sdybridge.view.explainer import Explanations, explain
from sdybridge.view.explanation import Explanation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.sdy import MeshAttr


def draw(
    sharding: object,
    *,
    mesh: MeshAttr | Mapping[str, MeshAttr] | Mapping[str, int] | None = None,
    shape: object = None,
    manual_axes: Sequence[str] = (),
    axis_names: Sequence[str] = (),
    target: Target = Target.CURRENT,
) -> Drawing | Drawings:
    """The picture of a sharding: the tensor as a grid of shards, with the devices that hold each of them.

    Args:
        sharding: A sharding in any notation, as for `explain`; or an `Explanation`.
        mesh: The mesh, as for `explain`.
        shape: The tensor, as for `explain`; uneven shards show only with it.
        manual_axes: Axes that a manual computation around a Shardy sharding binds.
        axis_names: Names for the axes of an inferred mesh.
        target: Whose conventions to follow.

    Returns:
        A `Drawing`: `str` and `to_text` give characters, `to_svg` an SVG document, and notebooks show it. A
        tuple gives a tuple of them.

    Raises:
        SdyBridgeError: As `explain`.

    Example:
        >>> print(draw('[{"y"}, {"x"}]', mesh={"x": 2, "y": 2}, shape="f32[4,6]"))
        [{"y"}, {"x"}] on x=2,y=2
        Tiled: 4 devices, 4 shards.
          down    dimension 0: 4 in 2 shards of 2 by "y"
          across  dimension 1: 6 in 2 shards of 3 by "x"
        <BLANKLINE>
                      x=0   x=1
                      0:3   3:6
                    ┌─────┬─────┐
           y=0  0:2 │  0  │  2  │
                    ├─────┼─────┤
           y=1  2:4 │  1  │  3  │
                    └─────┴─────┘
    """
    if isinstance(sharding, Explanation):
        return drawing_of(sharding)
    explained = explain(
        sharding, mesh=mesh, shape=shape, manual_axes=manual_axes, axis_names=axis_names, target=target
    )
    if isinstance(explained, Explanations):
        return Drawings(map(drawing_of, explained))
    return drawing_of(explained)
