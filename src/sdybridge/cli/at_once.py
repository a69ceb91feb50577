"""The plainest questions, answered without click, which takes longer to load than the answer to find."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_TEXTS = 2
_SHARDING = ("{", "[", "<", "#sdy.sharding<", "P(", "PartitionSpec(")
_MESSAGE = ("sharding {", "rematerialization")


def answer(arguments: Sequence[str]) -> str | None:
    """What `sdybridge explain` prints of one or two shardings, with or without a mesh and a shape.

    None for everything else, errors included: then click reads the arguments.
    """
    given = _given(arguments)
    if given is None:
        return None
    from sdybridge.cli.meshes import read_mesh
    from sdybridge.cli.shown import shown
    from sdybridge.target import Target
    from sdybridge.view.explainer import explain_parsed
    from sdybridge.view.reading import parse
    from sdybridge.view.tensor_type import TensorType

    texts, options = given
    try:
        mesh = read_mesh(options["--mesh"]) if "--mesh" in options else None
        known = None if mesh is None else mesh[1] if mesh[0] is None else {mesh[0]: mesh[1]}
        shape = TensorType.from_string(options["--shape"]) if "--shape" in options else None
        rank = None if shape is None else shape.rank
        parsed = [parse(text, known=known, rank=rank, target=Target.CURRENT) for text in texts]
        explained = explain_parsed(parsed, known, shape, target=Target.CURRENT)
        return shown(explained, colour=sys.stdout.isatty())
    except (SdyBridgeError, ValueError):
        return None


def _given(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]] | None:
    """The shardings, and the options by name, each once; None if there is more to read in the arguments."""
    texts: list[str] = []
    options: dict[str, str] = {}
    rest = iter(arguments[1:])
    for argument in rest:
        if argument in ("--mesh", "--shape") and argument not in options:
            options[argument] = next(rest, "")
        elif argument.startswith(_SHARDING) and not any(words in argument for words in _MESSAGE):
            texts.append(argument)
        else:
            return None
    is_plain = arguments[:1] == ["explain"] and 1 <= len(texts) <= _MOST_TEXTS
    return (texts, options) if is_plain and not any(map(_is_file, texts)) else None


def _is_file(text: str) -> bool:
    try:
        return os.access(text, os.F_OK)
    except ValueError:
        return False
