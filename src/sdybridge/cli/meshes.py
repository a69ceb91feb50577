"""Meshes as they are given: `x=2,y=4`, or in full."""

from __future__ import annotations

import re

from sdybridge.sdy import MeshAttr

_SHORT_AXIS = re.compile(r'\s*(?:"(?P<quoted>[^"]*)"|(?P<bare>[^"=,\s]+))\s*=\s*(?P<size>[0-9]+)\s*')
_NAMED = re.compile(r'@(?:([\w$.]+)|"([^"]*)")\s*=\s*')


def read_mesh(text: str) -> tuple[str | None, MeshAttr]:
    """The name before `=`, None if there is none, and the mesh.

    Raises:
        ValueError: The text is something else, or a name comes twice.
        SdyBridgeError: The mesh is malformed.

    >>> read_mesh("@m=x=2,y=4")
    ('m', MeshAttr.from_sizes({'x': 2, 'y': 4}))
    """
    text = text.strip()
    name = None
    named = _NAMED.match(text)
    if named:
        name = named[1] or named[2]
        text = text[named.end() :]
    if text.startswith(("<", "#")):
        return name, MeshAttr.from_string(text)
    return name, MeshAttr.from_sizes(_short_form(text))


def _short_form(text: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for part in text.split(","):
        axis = _SHORT_AXIS.fullmatch(part)
        name = axis and (axis["quoted"] or axis["bare"])
        if not axis or not name or name in sizes:
            raise ValueError(text)
        sizes[name] = int(axis["size"])
    return sizes
