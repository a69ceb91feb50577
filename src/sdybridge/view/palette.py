"""The colours of shards: neighbours differ, and dark text is readable on all of them."""

from __future__ import annotations

import colorsys

_TERMINAL = (153, 222, 157, 217, 183, 229, 159, 216, 193, 225, 195, 223, 151, 189, 187, 182, 152, 186)
_GOLDEN_ANGLE = 137.508


def terminal_colour(number: int, columns: int, shards: int) -> int:
    """The colour of a shard among the 256 of a terminal; all different where that is possible."""
    return _TERMINAL[_slot(number, columns, shards)]


def svg_colour(number: int, columns: int, shards: int) -> str:
    """The colour of a shard as hexadecimal digits.

    >>> svg_colour(0, 2, 4), svg_colour(1, 2, 4)
    ('#b3daf2', '#f2b3c7')
    """
    slot = _slot(number, columns, shards)
    hue = (203 + slot * _GOLDEN_ANGLE) % 360 / 360
    channels = colorsys.hls_to_rgb(hue, 0.825, 0.7)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)


def _slot(number: int, columns: int, shards: int) -> int:
    if shards <= len(_TERMINAL):
        return number
    row, column = divmod(number, columns)
    return (row * 5 + column) % len(_TERMINAL)
