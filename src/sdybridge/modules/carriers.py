r"""Carriers: frontend attributes that keep Shardy attributes as text, beside the HLO shardings.

The attribute is text, the text is a string, and the string is written in a file. Each step may escape quotes
and backslashes. MLIR text writes a quote as `\22` and HLO text as `\"`; a tool that copies one string into
another adds a step. In the text of an attribute no backslash stands outside of a string literal. If one
does, everything is escaped once more. That tells how many steps there are, whatever the names look like.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError, SdyBridgeError, VerificationError
from sdybridge.modules.mlir.attributes import quote
from sdybridge.sdy import (
    ManualAxesAttr,
    MeshAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
    parse_attribute,
    parse_mesh_dictionary,
    print_mesh_dictionary,
)
from sdybridge.sdy import locate as locate_part
from sdybridge.source import Source, Span, utf8
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


CarrierValue = (
    TensorShardingAttr | TensorShardingPerValueAttr | ManualAxesAttr | dict[str, MeshAttr] | int | str
)
"""What a carrier keeps: an attribute, the meshes by name, a number, or the text of a sharding rule."""

SHARDING = "xla.sdy.sharding"
MESHES = "xla.sdy.meshes"
SHARDING_RULE = "xla.sdy.sharding_rule"
SHARDING_GROUP_ID = "xla.sdy.sharding_group_id"
ALLOWED_DIRECTION = "xla.sdy.allowed_direction"
IN_SHARDINGS = "xla.sdy.in_shardings"
OUT_SHARDINGS = "xla.sdy.out_shardings"
MANUAL_AXES = "xla.sdy.manual_axes"
HAS_UNREDUCED_AXES = "xla.sdy.has_unreduced_axes"
"""A mark of the older generation beside a sharding with unreduced axes; it keeps nothing."""

_KINDS: Mapping[str, tuple[type, ...]] = {
    SHARDING: (TensorShardingAttr, TensorShardingPerValueAttr),
    IN_SHARDINGS: (TensorShardingPerValueAttr,),
    OUT_SHARDINGS: (TensorShardingPerValueAttr,),
    "xla.sdy.tuple_args_shardings": (TensorShardingPerValueAttr,),
    "xla.sdy.tuple_results_shardings": (TensorShardingPerValueAttr,),
    MANUAL_AXES: (ManualAxesAttr,),
    MESHES: (dict,),
    SHARDING_RULE: (str,),
    SHARDING_GROUP_ID: (int,),
    ALLOWED_DIRECTION: (int,),
}
CARRIERS = frozenset(_KINDS)
"""The keys of all carriers."""

_BITS = {SHARDING_GROUP_ID: 64, ALLOWED_DIRECTION: 32}
_EXAMPLES: Mapping[type, str] = {
    TensorShardingAttr: '#sdy.sharding<@mesh, [{"x"}]>',
    TensorShardingPerValueAttr: '#sdy.sharding_per_value<[<@mesh, [{"x"}]>]>',
    ManualAxesAttr: '#sdy<manual_axes{"x"}>',
}
_LAYERS = 3
_INSIDE = r'[^"\\]*+(?:"(?:[^"\\]|\\.)*+"[^"\\]*+)*+'
_CODE = re.compile(_INSIDE, re.DOTALL)
_REST = r"\\(?P<code>[0-9A-Fa-f]{2})|\\(?P<char>.)|(?P<plain>[^\\]++|\\)"
_MLIR_TOKEN = re.compile(rf"(?P<octal>(?!))|{_REST}", re.DOTALL)
_C_TOKEN = re.compile(rf"\\(?P<octal>[0-3][0-7]{{2}})|{_REST}", re.DOTALL)
_NAMED = {"n": b"\n", "t": b"\t", "r": b"\r"}
_C_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "'": r"\'", "\\": r"\\"}
_C_SPECIAL = re.compile(r"""["'\\\x00-\x1f\x7f-\xff]""")
_NUMBER = re.compile(r"(0x[0-9A-Fa-f]{1,16}|-?[0-9]{1,20})\s*:\s*i(32|64)")
_JSON_LIKE = re.compile(r'[{}]|"(?:[^"\\]|\\.)*+"?', re.DOTALL)


class Quoting(enum.Enum):
    """How a text writes the string of a frontend attribute."""

    MLIR = "MLIR"
    HLO = "HLO"
    PLAIN = "plain"
    """The string itself, as a proto holds it."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """The value of a carrier, free of escapes, and where it stands.

    Attributes:
        key: The name of the frontend attribute.
        text: The text of the Shardy attribute.
        source: The text around it.
        span: Where its value stands there, with its quotes.
        quoting: How it is written there.
    """

    key: str
    text: str
    source: Source
    span: Span
    quoting: Quoting

    def parse(self, *, target: Target = Target.CURRENT) -> CarrierValue:
        """The value.

        Raises:
            ParseError: The text does not follow the grammar.
            VerificationError: It is another kind of attribute than the key takes, or holds an invalid mesh.
        """
        kinds = _KINDS.get(self.key)
        if kinds is None or str in kinds:
            return self.text
        if int in kinds:
            return self._number()
        try:
            if dict in kinds:
                return parse_mesh_dictionary(self.text)
            value = parse_attribute(self.text, target=target)
        except SdyBridgeError as error:
            raise self.located(error) from None
        if isinstance(value, kinds):
            return value  # type: ignore[return-value]  # what the table says
        raise self._wrong_kind(f"expected `{_EXAMPLES[kinds[0]]}`")

    def located(self, error: SdyBridgeError) -> SdyBridgeError:
        """The error about the attribute, where that stands in the text around it."""
        if isinstance(error, VerificationError) and error.span is None:
            error = locate_part(error, Source(self.text))
        return error.located(self.source, self.place(error.span or Span(0, len(self.text))))

    def place(self, part: Span) -> Span:
        r"""Where a part of the attribute's text stands in the text around it.

        >>> source = Source(r'{xla.sdy.sharding = "#sdy.sharding<@m, [{\22x\22}]>"}')
        >>> carrier = read_carrier("xla.sdy.sharding", source, Span(20, 52), Quoting.MLIR)
        >>> carrier.place(Span(20, 23)), source.text[41:48]
        (Span(start=41, end=48), '\\22x\\22')
        """
        text = self.source.text[self.span.start : self.span.end]
        origins = [*range(len(text) + 1)]
        for escaped, is_c in _layers(text, self.quoting):
            text, offsets = _undone_with_offsets(escaped, is_c=is_c)
            origins = [origins[offset] for offset in offsets]
        start, end = (min(at, len(text)) for at in (part.start, part.end))
        return Span(origins[start], max(origins[start], origins[end])).shifted(self.span.start)

    def _number(self) -> int:
        found = _NUMBER.fullmatch(self.text)
        bits = _BITS[self.key]
        if not found or int(found[2]) != bits:
            raise self._wrong_kind(f"expected a number of {bits} bits, such as `1 : i{bits}`")
        value = int(found[1], 0 if found[1].startswith("0x") else 10)
        if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise self._wrong_kind(f"the number does not fit {bits} bits")
        return value

    def _wrong_kind(self, message: str) -> VerificationError:
        return VerificationError(
            message,
            rule="carrier-kind",
            source=self.source,
            span=self.place(Span(0, len(self.text))),
            notes=[f"it is the value of the frontend attribute {self.key}"],
        )


def read_carrier(key: str, source: Source, span: Span, quoting: Quoting) -> Carrier:
    r"""The carrier under `key` whose value is written at `span`, with its quotes if it has any.

    Args:
        key: The name of the frontend attribute.
        source: The text around it; for a proto, the string alone.
        span: Where the value stands: a string literal, or in HLO text a bare `{...}`.
        quoting: How the text writes it. More steps of escaping are found and undone.

    Raises:
        ParseError: There is no string.

    >>> for literal in r'"{m = #sdy.mesh<[\22x\22=2]>}"', r'"{m = #sdy.mesh<[\\\22x\\\22=2]>}"':
    ...     span = Span(0, len(literal))
    ...     print(read_carrier("xla.sdy.meshes", Source(literal), span, Quoting.MLIR).text)
    {m = #sdy.mesh<["x"=2]>}
    {m = #sdy.mesh<["x"=2]>}
    """
    text = source.text[span.start : span.end]
    if quoting is Quoting.MLIR and not text.startswith('"'):
        raise ParseError(f"the frontend attribute {key} must be a string", source=source, span=span)
    for escaped, is_c in _layers(text, quoting):
        text = _undone(escaped, is_c=is_c)
    return Carrier(key, text, source, span, quoting)


def print_carrier(key: str, value: CarrierValue) -> str:
    """The string that XLA writes into the frontend attribute `key`.

    >>> print_carrier("xla.sdy.sharding_group_id", 5)
    '5 : i64'
    """
    if isinstance(value, dict):
        return print_mesh_dictionary(value)
    return f"{value} : i{_BITS[key]}" if isinstance(value, int) else str(value)


def write_carrier(key: str, value: CarrierValue, quoting: Quoting) -> str:
    r"""The value of the frontend attribute `key`, as XLA writes it into a text of that kind.

    >>> sharding = TensorShardingAttr.from_string('#sdy.sharding<@mesh, [{"x"}]>')
    >>> for quoting in Quoting:
    ...     print(write_carrier("xla.sdy.sharding", sharding, quoting))
    "#sdy.sharding<@mesh, [{\22x\22}]>"
    "#sdy.sharding<@mesh, [{\"x\"}]>"
    #sdy.sharding<@mesh, [{"x"}]>
    """
    return write_string(print_carrier(key, value), quoting)


def write_string(value: str, quoting: Quoting) -> str:
    r"""The string of any frontend attribute, as XLA writes it into a text of that kind.

    HLO text escapes as C does, except for what looks like a JSON dictionary: that stands there bare.

    >>> print(write_string("it's", Quoting.HLO), write_string('{"a}": "\\""}', Quoting.HLO))
    "it\'s" {"a}": "\""}

    Source: `FrontendAttributesToString` in xla's `hlo/ir/hlo_instruction.cc`.
    """
    if quoting is Quoting.MLIR:
        return quote(value)
    if quoting is Quoting.PLAIN or _is_json_like(value):
        return value
    return f'"{_C_SPECIAL.sub(_c_escape, utf8(value).decode("latin-1"))}"'


def _c_escape(found: re.Match[str]) -> str:
    return _C_ESCAPES.get(found[0]) or f"\\{ord(found[0]):03o}"


def _is_json_like(value: str) -> bool:
    """Whether the braces of a dictionary open at the start of the text, and close at its end."""
    depth = 0
    for found in _JSON_LIKE.finditer(value) if value.startswith("{") else ():
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth -= 1
            if depth == 0:
                return found.end() == len(value)
        elif len(found[0]) == 1 or not found[0].endswith('"'):
            return False
    return False


def _layers(text: str, quoting: Quoting) -> Iterator[tuple[str, bool]]:
    """Each text that is still escaped, from the outermost on, and whether as in C or as in MLIR."""
    is_c = quoting is Quoting.HLO and text.startswith('"')
    for _ in range(_LAYERS):
        if not _is_escaped(text):
            return
        yield text, is_c
        text = _undone(text, is_c=is_c)
        is_c = False  # names in attributes are ASCII, and then both escape alike


def _is_escaped(text: str) -> bool:
    """Whether the text is a string literal, or has a backslash outside of the string literals in it."""
    if text.startswith('"'):
        return True
    if "\\" not in text:
        return False
    code = _CODE.match(text)
    return code is not None and text.startswith("\\", code.end())


def _undone(text: str, *, is_c: bool) -> str:
    """The text with one step of escaping undone."""
    inside = _inside(text)
    if "\\" not in inside:
        return inside
    return b"".join([piece for _, piece in _pieces(inside, is_c=is_c)]).decode("utf-8", "surrogateescape")


def _undone_with_offsets(text: str, *, is_c: bool) -> tuple[str, list[int]]:
    """The same, and for each of its characters and its end the offset where that stands in `text`."""
    quoted = text.startswith('"')
    inside = _inside(text)
    undone = _undone(text, is_c=is_c)
    origins: list[int] = []  # of each byte
    for found, piece in _pieces(inside, is_c=is_c):
        if found["plain"] is None:
            origins += [found.start()] * len(piece)
        else:
            origins += [found.start() + i for i, char in enumerate(found[0]) for _ in utf8(char)]
    offsets: list[int] = []
    byte = 0
    for char in undone:
        offsets.append(quoted + origins[byte])
        byte += len(utf8(char))
    return undone, [*offsets, quoted + len(inside)]


def _inside(text: str) -> str:
    """The text without the quotes around it."""
    if not text.startswith('"'):
        return text
    return text[1:-1] if len(text) > 1 and text.endswith('"') else text[1:]


def _pieces(text: str, *, is_c: bool) -> Iterator[tuple[re.Match[str], bytes]]:
    """The escapes in the text, and what is between them, with the bytes that each stands for."""
    for found in (_C_TOKEN if is_c else _MLIR_TOKEN).finditer(text):
        octal, code, char, plain = found.group("octal", "code", "char", "plain")
        if plain is not None:
            yield found, utf8(plain)
        elif octal:
            yield found, bytes([int(octal, 8)])
        elif code:
            yield found, bytes.fromhex(code)
        else:
            yield found, _NAMED.get(char) or utf8(char)
