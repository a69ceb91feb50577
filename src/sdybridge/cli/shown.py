"""Explanations as a terminal shows them: as wide as that is, labels and headings set off."""

from __future__ import annotations

import re

from sdybridge.cli.tables import terminal_width
from sdybridge.view.explanation_text import WIDTH, in_width

_NARROWEST = 40  # characters in a line
_LABEL = re.compile(
    r"(?m)^  (?:dimension \d+|replicated|unreduced|manual|empty|on a device|note|axes|tile dims|reshape"
    r"|transpose|in NumPy|written|Shardy|HLO list|HLO named|HLO|proto \(hex\)|JAX|not held|before"
    r"|after|in form|copies|at least|\d+\.)(?= )"
)
_HEADING = re.compile(
    r"(?m)^(?:From axes to grid|In every notation|Who holds what|How it can be done|No axes have both.*"
    r"|Devices that move)"
)


def shown(explained: object, *, colour: bool) -> str:
    """The text in the width of the terminal, with codes for colours or without."""
    text = in_width(explained, max(_NARROWEST, min(WIDTH, terminal_width() or WIDTH)))
    if not colour:
        return text
    text = _HEADING.sub("\x1b[1m\x1b[4m\\g<0>\x1b[0m", text)  # bold and underlined
    return _LABEL.sub("\x1b[36m\\g<0>\x1b[0m", text)  # cyan
