"""Programs with one blank, line end or comment more between two tokens, and whether XLA reads them."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from jaxlib.mlir import ir

from sdybridge.errors import SdyBridgeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CASES = 300  # per program and run
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|::|[@%#!^]?[A-Za-z0-9_$.]+|\s+|.')
_INSERTED = (" ", "\n", " // c\n", "\r\n", ' // "{<(\n')


def assert_spacing_changes_nothing(text: str, convert: Callable[[str], str], seed: int) -> None:
    """Convert `text` in many spacings; what comes out must print alike. Needs a context of jaxlib's."""
    expected = printed(text, convert)
    assert "sharding" in expected, expected
    every = list(spacings(text))
    different = {
        spot: outcome
        for spot, spaced in random.Random(seed).sample(every, min(CASES, len(every)))
        if is_valid(spaced) and (outcome := printed(spaced, convert)) != expected
    }
    assert not different, "\n".join(f"{spot}: {outcome[:300]}" for spot, outcome in different.items())


def spacings(text: str) -> Iterator[tuple[str, str]]:
    """The text with one insertion at one border of two tokens, after a description of the spot."""
    for token in _TOKEN.finditer(text):
        at = token.end()
        for new in _INSERTED:
            yield f"{text[max(0, at - 40) : at]}[{new!r}]{text[at : at + 20]}", text[:at] + new + text[at:]


def is_valid(text: str) -> bool:
    try:
        ir.Module.parse(text)
    except ir.MLIRError:
        return False
    return True


def printed(text: str, convert: Callable[[str], str]) -> str:
    """What `convert` makes of the text, as jaxlib prints it, or what is wrong with it."""
    try:
        asm: str = ir.Module.parse(convert(text)).operation.get_asm()
    except (SdyBridgeError, ir.MLIRError) as error:
        return f"{type(error).__name__}: {error}"
    return asm
