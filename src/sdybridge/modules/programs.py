"""Programs in every format: MLIR text, HLO text and HLO protos, told apart by what they hold."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError, SdyBridgeError
from sdybridge.modules.hlo_proto import HloProto
from sdybridge.modules.hlo_text import HloText
from sdybridge.modules.hlo_text.tokens import TRIVIA
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from sdybridge.modules.hlo_program import HloProgram

    T = TypeVar("T")

_LOOK = 1 << 16
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SHAPE = r"\(?\s*+(?:/\*[^*]*+\*/)?[a-z]\w{1,12}\["
_HLO = re.compile(
    rf"{TRIVIA}(?:HloModule\b|ENTRY\b|(?:ROOT\s+)?%?[\w.\-]++\s*+=\s*+{_SHAPE}"
    rf"|%?[\w.\-]++\s*+\{{\s*+(?:ROOT\s+)?%?[\w.\-]++\s*+=\s*+{_SHAPE}"
    rf"|%?[\w.\-]++\s++\([\w.\-]*+(?::\s*+{_SHAPE}|\)\s*+->))",
    re.DOTALL,
)

_QUOTED = re.compile(rf"\s*+(?P<mark>[>|`]++)[^\n]*?(?:\n[\s>|]*+)?+(?:ROOT\s+)?%?[\w.\-]++ = {_SHAPE}")


def is_proto(data: bytes) -> bool:
    r"""Whether bytes are a proto, not text: those of an HLO proto hold control characters.

    >>> is_proto(b"\x0a\x01m\x12\x04main"), is_proto(b"HloModule m")
    (True, False)
    """
    return _BINARY.search(data, 0, _LOOK) is not None


def is_hlo_text(text: str) -> bool:
    r"""Whether a text is HLO, not MLIR.

    >>> is_hlo_text("// c\nHloModule m"), is_hlo_text("a = f32[8] parameter(0)"), is_hlo_text("module {}")
    (True, True, False)
    """
    return _HLO.match(text) is not None


def is_hlo(data: str | bytes) -> bool:
    """Whether a program is HLO, as text or as a proto; otherwise it is MLIR.

    >>> is_hlo("HloModule m"), is_hlo(b"module {}")
    (True, False)
    """
    if isinstance(data, bytes):
        return is_proto(data) or is_hlo_text(text_of(data))
    return is_hlo_text(data)


def read_hlo(data: str | bytes, name: str = "<program>") -> HloProgram | None:
    r"""The HLO program that `data` holds; None if it is text of another kind.

    Args:
        data: HLO text, or the bytes of an `HloModuleProto`, `HloProto` or `HloSnapshot`.
        name: What errors call it.

    Raises:
        ProtoError: The bytes are no HLO proto.
        ParseError: The text is HLO in quotation: in backquotes, or behind `>`.

    Example:
        >>> text = "HloModule m\nENTRY e {\n  ROOT a = f32[8] parameter(0), sharding={devices=[2]<=[2]}\n}"
        >>> program = read_hlo(text)
        >>> [(site.name, site.opcode, site.shape, str(site.sharding)) for site in program.sites()]
        [('a', 'parameter', 'f32[8]', '{devices=[2]<=[2]}')]
    """
    if isinstance(data, bytes):
        if is_proto(data):
            return named(name, functools.partial(HloProto, data, name))
        data = data.decode("utf-8", "surrogateescape")
    if is_hlo_text(data):
        return HloText(Source(data, name))
    quoted = _QUOTED.match(data)
    if quoted:
        raise ParseError(
            "lines of HLO are in quotation",
            source=Source(data, name),
            span=Span(*quoted.span("mark")),
            help="take out what is in front of the first instruction, and of each line",
        )
    return None


def text_of(data: str | bytes) -> str:
    """The text that `data` holds; bytes that are not UTF-8 survive."""
    return data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data


def named(name: str, work: Callable[[], T]) -> T:
    """What `work` answers; errors about the bytes of a proto get to know its name.

    Raises:
        SdyBridgeError: What `work` raises.
    """
    try:
        return work()
    except SdyBridgeError as error:
        if error.source is None:
            error.source = Source("", name)
        raise
