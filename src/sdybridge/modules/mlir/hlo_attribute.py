"""The value of an `mhlo.sharding` key: a string that holds a sharding's text, or the bytes of its proto."""

from __future__ import annotations

import re

from sdybridge.errors import ParseError, SdyBridgeError
from sdybridge.hlo import HloSharding
from sdybridge.modules.mlir.lexer import items, unescape
from sdybridge.source import Source, Span, utf8
from sdybridge.target import Target

_ESCAPE = re.compile(r"\\(?:[0-9A-Fa-f]{2}|.)")


def parse_hlo_attribute(literal: str, *, target: Target = Target.CURRENT) -> HloSharding:
    r"""The sharding that a string literal holds, quotes included.

    Errors name the literal's characters, or have no place if they are about all of it.

    Raises:
        ParseError: It is no sharding.
        ProtoError: It is neither text nor the bytes of a proto.

    >>> print(parse_hlo_attribute(r'"\08\03\1A\02\02\01\22\02\00\01"'))
    {devices=[2,1]0,1}
    """
    value = unescape(literal)
    if not value.lstrip().startswith("{"):  # XLA tries the proto first, and no proto starts with a brace
        try:
            return HloSharding.from_proto(utf8(value), target=target)
        except SdyBridgeError:
            if not value.isprintable():
                raise
    try:
        return HloSharding.from_string(value, target=target)
    except ParseError as error:
        span = error.span or Span(0, len(value))
        raise error.located(Source(literal), _in_literal(literal, value, span)) from None


def element_span(literal: str, index: int) -> Span:
    """Where an element stands in a literal that holds the text of a tuple; else all that is inside it.

    >>> element_span('"{{replicated}, {manual}}"', 1)
    Span(start=16, end=24)
    """
    whole = Span(1, len(literal) - 1)
    value = unescape(literal)
    inside = value.strip()
    if not inside.startswith("{") or not inside[1:].lstrip().startswith("{"):
        return whole
    start = value.index("{") + 1
    try:
        elements = list(items(value, start, start + len(inside) - 2))
    except ParseError:
        return whole
    return _in_literal(literal, value, elements[index]) if index < len(elements) else whole


def _in_literal(literal: str, value: str, span: Span) -> Span:
    """A span of the value of a string literal, in the literal."""
    if len(value) == len(literal) - 2:
        return span.shifted(1)
    starts = []  # of each byte of the value
    at = 1
    for escape in _ESCAPE.finditer(literal, 1, len(literal) - 1):
        starts += _bytes_at(literal, at, escape.start())
        starts.append(escape.start())
        at = escape.end()
    starts += [*_bytes_at(literal, at, len(literal) - 1), len(literal) - 1]
    first, last = (len(utf8(value[:offset])) for offset in (span.start, span.end))
    return Span(starts[min(first, len(starts) - 1)], starts[min(last, len(starts) - 1)])


def _bytes_at(text: str, start: int, end: int) -> list[int]:
    """The offset of the character that each byte of `text[start:end]` belongs to."""
    return [i for i in range(start, end) for _ in utf8(text[i])]
