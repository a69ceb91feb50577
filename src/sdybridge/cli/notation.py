"""Which notation one sharding is in, and what it says."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError, SdyBridgeError
from sdybridge.hlo import HloSharding, decode_proto_text
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from sdybridge.target import Target

_HLO_WORDS = re.compile(r"(?:devices|device|mesh|maximal_mesh|replicated|manual|maximal|unknown|unreduced)\b")
_OTHER_NOTATIONS = "this was read as a proto; Shardy shardings start with `<` or `[`, HLO shardings with `{`"


class Notation(enum.Enum):
    """How a sharding is spelled."""

    SDY = "sdy"
    HLO = "hlo"
    PROTO = "proto"


def notation_of(text: str) -> Notation:
    r"""The notation of a text, as far as its beginning tells.

    >>> notation_of('[{"x"}]').value, notation_of("{replicated}").value, notation_of(r"\08\04").value
    ('sdy', 'hlo', 'proto')
    """
    text = text.strip()
    if not text or text.startswith(("#sdy", "<", "[")):
        return Notation.SDY
    if text.startswith(("{", "/")) or _HLO_WORDS.match(text):
        return Notation.HLO
    return Notation.PROTO


def read_hlo(source: Source, line: Span, notation: Notation, target: Target) -> HloSharding:
    """The HLO sharding on a line, as text or as proto bytes in some form of text.

    Raises:
        ParseError: It is malformed.
        ProtoError: The bytes are no sharding.
    """
    text = source.text[line.start : line.end]
    try:
        if notation is Notation.HLO:
            return HloSharding.from_string(text.rstrip(), target=target)
        return HloSharding.from_proto(decode_proto_text(text), target=target)
    except SdyBridgeError as error:
        span = error.span if isinstance(error, ParseError) and error.span else Span(0, len(text))
        if notation is Notation.PROTO:
            error.notes = (*error.notes, _OTHER_NOTATIONS)
        raise error.located(source, span.shifted(line.start)) from None
