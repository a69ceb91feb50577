"""Which notation the text of one sharding is in, and the HLO shardings among these, read."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError, SdyBridgeError
from sdybridge.hlo import HloSharding, decode_proto_text
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from sdybridge.target import Target

PARTITION_SPECS = ("P(", "PartitionSpec(", "jax.P(", "jax.sharding.PartitionSpec(", "NamedSharding(")
"""What JAX's own notation starts with."""

_HLO_WORDS = re.compile(r"(?:devices|device|replicated|manual|maximal|unknown|unreduced|mesh|maximal_mesh)\b")
_READ_AS_PROTO = "this was read as a proto; Shardy shardings start with `<` or `[`, HLO shardings with `{`"


class Notation(enum.Enum):
    """How a sharding is spelled."""

    SDY = "sdy"
    HLO = "hlo"
    HLO_NAMED = "hlo-named"
    PROTO = "proto"
    PARTITION_SPEC = "partition-spec"


def notation_of(text: str) -> Notation:
    r"""The notation of a text, as far as its beginning tells: `HLO` for all text of HLO.

    >>> [notation_of(text).value for text in ('[{"x"}]', "{replicated}", r"\08\04", "P('x')")]
    ['sdy', 'hlo', 'proto', 'partition-spec']
    """
    text = text.strip()
    if not text or text.startswith(("#sdy", "<", "[")):
        return Notation.SDY
    if text.startswith(("{", "/")) or _HLO_WORDS.match(text):
        return Notation.HLO
    return Notation.PARTITION_SPEC if text.startswith(PARTITION_SPECS) else Notation.PROTO


def read_hlo_sharding(source: Source, span: Span, notation: Notation, target: Target) -> HloSharding:
    """The HLO sharding in a part of a text: as text, or else as proto bytes in some form of text.

    Raises:
        ParseError: It is malformed.
        ProtoError: The bytes are no sharding.
    """
    text = source.text[span.start : span.end]
    try:
        if notation is Notation.HLO:
            return HloSharding.from_string(text.rstrip(), target=target)
        return HloSharding.from_proto(decode_proto_text(text), target=target)
    except SdyBridgeError as error:
        inner = error.span if isinstance(error, ParseError) and error.span else Span(0, len(text))
        if notation is not Notation.HLO:
            error.notes = (*error.notes, _READ_AS_PROTO)
        raise error.located(source, inner.shifted(span.start)) from None
