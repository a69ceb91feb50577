"""The metadata of a sharding: `{op_name="matmul" source_line=7}`, or a list of such entries in braces.

Source: `HloParserImpl::ParseMetadata` in xla's `hlo/parser/hlo_parser.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sdybridge.hlo.checks import INT32_MAX
from sdybridge.hlo.metadata import PRINTED_FIELDS, OpMetadata
from sdybridge.hlo.suggestions import closest
from sdybridge.target import Target

if TYPE_CHECKING:
    from sdybridge.hlo.lexer import Lexer

_INTEGERS = frozenset(
    {"source_line", "source_end_line", "source_column", "source_end_column", "stack_frame_id"}
)
_CLASSIC_FIELDS = (
    "op_type",
    "op_name",
    "source_file",
    "source_line",
    "profile_type",
    "deduplicated_name",
    "scheduling_name",
)
_PROFILE_TYPES = range(4)
_EMPTY_PAYLOAD = bytes.fromhex("a201020a00")  # XLA tells an empty payload from none


def parse_metadata(p: Lexer, target: Target) -> list[OpMetadata]:
    """`metadata := entry | '{' entry (',' entry)* '}'`."""
    if not p.at("{"):
        raise p.expected("'{'", 'write metadata={op_name="..."}')
    probe = p.pos
    p.advance()
    if not p.at("{"):
        p.pos = probe
        return [_entry(p, target)]
    entries = [_entry(p, target)]
    while p.take(","):
        if p.at("}"):
            raise p.expected("a metadata entry", "remove the ','")
        entries.append(_entry(p, target))
    if p.at("{"):
        raise p.expected("',' or '}'", "separate the entries with ','")
    p.expect("}", "add a '}'")
    return entries


def _entry(p: Lexer, target: Target) -> OpMetadata:
    """`entry := '{' (','? name '=' value)* '}'`."""
    p.expect("{")
    values: dict[str, Any] = {}
    while not p.at("}"):
        if p.take(",") and p.at("}"):
            raise p.expected("a field of the metadata", "remove the ','")
        name = _field_name(p, target)
        if name in values:
            raise p.error(f"the metadata has {name} twice", help="remove one of them")
        p.advance()
        values[name] = _value(p, name)
    p.advance()
    if values.get("metadata_payload") == "":
        values["other_fields"] = _EMPTY_PAYLOAD
    return OpMetadata(**values)


def _field_name(p: Lexer, target: Target) -> str:
    """The name before the `=` that comes next; it is not taken yet."""
    known = _CLASSIC_FIELDS if target is Target.CLASSIC else PRINTED_FIELDS
    if p.kind != "attribute":
        is_apart = p.kind == "word" and p.lexeme in known
        raise p.expected("a field of the metadata", f"write {p.lexeme}= without a gap" if is_apart else None)
    name = p.lexeme[:-1]
    if name in known:
        return name
    if name in PRINTED_FIELDS:
        raise p.error(f"the classic XLA's metadata has no {name}", help="read it for Target.CURRENT")
    meant = closest(name, known)
    raise p.error(
        f"metadata has no field named {name[:60]}",
        notes=[f"the fields are {', '.join(known)}"],
        help=None if meant is None else f"did you mean {meant}?",
    )


def _value(p: Lexer, name: str) -> Any:
    if name == "profile_type":
        return _profile_types(p)
    if name not in _INTEGERS:
        return p.expect_string(name)
    start = p.start
    value = p.expect_integer(f"the number for {name}")
    if not -INT32_MAX - 1 <= value <= INT32_MAX:
        raise p.error(f"{name} does not fit 32 bits", start, p.pos, notes=[f"the largest is {INT32_MAX}"])
    return value


def _profile_types(p: Lexer) -> tuple[int, ...]:
    """`'{' [INT (',' INT)*] '}'`."""
    p.expect("{", "write the number in braces" if p.kind == "integer" else None)
    numbers: list[int] = []
    while (not numbers and not p.at("}")) or p.take(","):
        start = p.start
        number = p.expect_integer("a profile type")
        if number not in _PROFILE_TYPES:
            raise p.error(
                f"there is no profile type {number}", start, p.pos, notes=["they are 0, 1, 2 and 3"]
            )
        numbers.append(number)
    p.expect("}", "add a '}'")
    return tuple(numbers)
