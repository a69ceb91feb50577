"""Shardings for people: explained in words and numbers, compared, and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdybridge.view.drawer import draw as draw
    from sdybridge.view.drawing import Drawing as Drawing
    from sdybridge.view.drawing import Drawings as Drawings
    from sdybridge.view.explainer import Explanations as Explanations
    from sdybridge.view.explainer import explain as explain
    from sdybridge.view.explanation import Explanation as Explanation
    from sdybridge.view.resharding import Resharding as Resharding
    from sdybridge.view.resharding import Reshardings as Reshardings
    from sdybridge.view.tensor_type import TensorType as TensorType

_HOMES = {
    "Drawing": "drawing",
    "Drawings": "drawing",
    "Explanation": "explanation",
    "Explanations": "explainer",
    "Resharding": "resharding",
    "Reshardings": "resharding",
    "TensorType": "tensor_type",
    "draw": "drawer",
    "explain": "explainer",
}


def __getattr__(name: str) -> object:  # a drawing needs no explanation, and the command is to answer at once
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sdybridge.view' has no attribute {name!r}")
    from importlib import import_module as load

    value: object = getattr(load(f"sdybridge.view.{home}"), name)
    globals()[name] = value  # the next look-up finds it at once
    return value
