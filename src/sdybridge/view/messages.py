"""Shardings in any text: compiler messages, logs, HLO, lines of programs.

XLA's partitioner, for one, says of a tensor that it "was not able to go from sharding {...} to {...} without
doing a full rematerialization of the tensor for HLO operation: %copy = f32[16,16] ...". The operation is
partitioned by then: its shape is that of one device's part.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.bridge.notations import Notation
from sdybridge.errors import SdyBridgeError
from sdybridge.hlo import parse_prefix as parse_hlo
from sdybridge.modules.shapes import parse_shape
from sdybridge.sdy import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr
from sdybridge.sdy import parse_prefix as parse_sdy
from sdybridge.source import Source, Span
from sdybridge.view.reading import Parsed, parse
from sdybridge.view.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdybridge.hlo import HloSharding
    from sdybridge.target import Target

_START = re.compile(
    r"(?P<sdy>#sdy\.sharding(?:_per_value)?<)"
    r'|(?P<short><@(?:[\w$.\-]+|"[^"\n]*"), \[)'
    r"|(?P<hlo>\{(?:\{|devices=|replicated\b|maximal[ }]|manual\}|unknown\}|unreduced\b|(?:maximal_)?mesh\[))"
    r"|(?P<jax>\b(?:PartitionSpec|(?<![\w.])P)\()"
)
_JAX_SPEC = re.compile(r"\w++\((?:[^()\n]++|\((?:[^()\n]++|\([^()\n]*+\))*+\))*+\)")
_JAX_MESH = re.compile(
    r"Mesh\((?P<axes>(?:'[^']+': \d+,? ?)+)"
    r"|axis_sizes=\((?P<sizes>[^)]*)\), axis_names=\((?P<names>[^)]*)\)"
)
_TYPE = r"(?:\((?:[^()]++|\([^()]*+\))*+\)|[a-z]\w*+\[[^\]]*+\])"
_INSTRUCTION = re.compile(rf"(?P<name>%?[\w.\-]++) = (?P<type>{_TYPE})")
_TYPE_AT = re.compile(_TYPE)
_ROOT = re.compile(r"[ \t]*+(?:ROOT )?+")
_NAME_END = re.compile(r"%?[\w.\-]++\Z")
_BEFORE = 2000  # characters before a sharding that are looked at
_LONGEST_NAME = 200
_MOST_EQUALS = 6
_MLIR_TYPE = re.compile(r"tensor<[^<>\n]*+(?:<[^<>\n]*+>[^<>\n]*+)*+>")
_FROM = re.compile(r"\bfrom(?: sharding)?:? ?\Z")
_TO = re.compile(r"\s*to(?: sharding)?:? ?\Z")
_STRING_END = re.compile(r'(?<!\\)"|\n|\Z')
_LONGEST_STRING = 4000
_PARTITIONED = "HLO operation"
_AFTER = 400  # characters behind a message in which the operation is named


@dataclass(frozen=True, slots=True)
class Found:
    """A sharding in a text, or a pair that a message says a tensor goes from and to.

    Attributes:
        parsed: The sharding; two for a pair.
        span: Where it stands.
        tensors: The tensor that it is of, several for a tuple; empty if the text does not tell.
        name: The operation or value that it is of, if the text tells.
        mesh: The mesh, where the text has it.
        manual_axes: The axes that are manual there.
        opcode: The operation that the value comes from, or `argument` or `result` of a function.
        scope: The function that it is in.
    """

    parsed: tuple[Parsed, ...]
    span: Span
    tensors: tuple[TensorType, ...] = ()
    name: str = ""
    mesh: MeshAttr | None = None
    manual_axes: tuple[str, ...] = ()
    opcode: str = ""
    scope: str = ""

    @property
    def is_pair(self) -> bool:
        """Whether a tensor goes from one sharding to another."""
        return len(self.parsed) == 2

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two of them the same for a reader."""
        return (*[one.source.text for one in self.parsed], self.tensors, self.mesh)


def find_shardings(source: Source, target: Target, start: int = 0, end: int | None = None) -> list[Found]:
    """Every sharding in a part of a text, in order; pairs as one.

    What only looks like a sharding, or is malformed, is passed over.

    >>> from sdybridge.target import Target
    >>> text = "cannot go from sharding {devices=[2]<=[2]} to {replicated} for op: %a = f32[8]{0} copy"
    >>> found = find_shardings(Source(text), Target.CURRENT)
    >>> [[one.source.text for one in pair.parsed] for pair in found], str(found[0].tensors[0]), found[0].name
    ([['{devices=[2]<=[2]}', '{replicated}']], 'f32[8]', '%a')
    >>> found = find_shardings(Source(text.replace("for op:", "for HLO operation:")), Target.CURRENT)
    >>> str(found[0].tensors[0])
    'f32[16]'
    """
    singles = deque(_singles(source, target, start, len(source.text) if end is None else end))
    found: list[Found] = []
    while singles:
        first = singles.popleft()
        if singles and _is_pair(source.text, first.span, singles[0].span):
            second = singles.popleft()
            span = Span(first.span.start, second.span.end)
            tensors, name = _named_behind(source.text, span.end, first.parsed[0].hlo)
            found.append(Found(first.parsed + second.parsed, span, tensors, name, first.mesh or second.mesh))
        else:
            found.append(first)
    return found


def _is_pair(text: str, first: Span, second: Span) -> bool:
    between = text[first.end : second.start]
    before = text[max(0, first.start - 20) : first.start]
    return _TO.fullmatch(between) is not None and _FROM.search(before) is not None


def _singles(source: Source, target: Target, start: int, end: int) -> Iterator[Found]:
    text = source.text
    at = start
    line = _line_at(text, at)
    while hit := _START.search(text, at, end):
        if hit.start() > line.end:
            line = _line_at(text, hit.start())
        read = _read(source, hit, target)
        if read is None:
            at = hit.start() + 1
            continue
        parsed, stop = read
        tensors, name = _owner(text, line, hit.start(), stop)
        mesh = _mesh_beside(text, line, hit.start()) if hit["jax"] else None
        yield Found((parsed,), Span(hit.start(), stop), tensors, name, mesh)
        at = stop


class _Line(NamedTuple):
    """A line: where it starts and ends, and the HLO instruction that it starts with."""

    start: int
    end: int
    instruction: re.Match[str] | None


def _line_at(text: str, at: int) -> _Line:
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    root = _ROOT.match(text, start, end)
    return _Line(start, end, _INSTRUCTION.match(text, root.end() if root else start, end))


def _read(source: Source, hit: re.Match[str], target: Target) -> tuple[Parsed, int] | None:
    """The sharding at a place that looks like one, and where it ends."""
    text, start = source.text, hit.start()
    try:
        if hit["jax"]:
            spec = _JAX_SPEC.match(text, start)
            if spec is None:
                return None
            return parse(spec[0], target=target), spec.end()
        if hit["hlo"]:
            hlo, end = parse_hlo(source, start, target=target)
            return Parsed(Source(text[start:end]), Notation.HLO, (), hlo), end
        return _read_sdy(source, start, target, per_value=text.startswith("#sdy.sharding_per_value", start))
    except SdyBridgeError:
        return _read_escaped(text, start, target) if hit["sdy"] else None


def _read_sdy(source: Source, start: int, target: Target, *, per_value: bool) -> tuple[Parsed, int]:
    if per_value:
        values, end = parse_sdy(source, start, TensorShardingPerValueAttr, target=target)
        shardings = values.shardings
    else:
        sharding, end = parse_sdy(source, start, TensorShardingAttr, target=target)
        shardings = (sharding,)
    return Parsed(Source(source.text[start:end]), Notation.SDY, shardings), end


def _read_escaped(text: str, start: int, target: Target) -> tuple[Parsed, int] | None:
    r"""A sharding inside a string, whose own quotes are escaped: `"#sdy.sharding<@mesh, [{\"x\"}]>"`."""
    other = text.find("#sdy.", start + 1, start + _LONGEST_STRING)
    end = _STRING_END.search(text, start, start + _LONGEST_STRING if other < 0 else other)
    if end is None or "\\" not in text[start : end.start()]:
        return None
    inside = re.sub(r'\\+(?:22|")', '"', text[start : end.start()])
    try:
        per_value = inside.startswith("#sdy.sharding_per_value")
        parsed, _ = _read_sdy(Source(inside), 0, target, per_value=per_value)
    except SdyBridgeError:
        return None
    return parsed, end.start()


def _owner(text: str, line: _Line, start: int, end: int) -> tuple[tuple[TensorType, ...], str]:
    """The tensors and the name of the value that a sharding on a line is of."""
    instruction = _instruction_before(text, line, start)
    if instruction is not None:
        return instruction
    before = text[max(line.start, start - _BEFORE) : start]
    after = text[end : end + _BEFORE].partition("\n")[0]
    types = list(_MLIR_TYPE.finditer(before))
    if types and re.fullmatch(r"\s*\{[^{}]*", before[types[-1].end() :]):  # an argument's or result's
        name = re.search(r"(%[\w$.#\-]+)\s*:\s*\Z", before[: types[-1].start()])
        return _type(types[-1][0]), name[1] if name else ""
    value = re.match(r"\s*(%[\w$.\-]+)(?::\d+)?\s*=", before)
    results = after.rpartition("->")[2] if "->" in after else after.rpartition(" : ")[2]
    of_results = _MLIR_TYPE.findall(results)
    tensors = tuple([tensor for of_result in of_results for tensor in _type(of_result)])
    return tensors, value[1] if value else ""


def _instruction_before(text: str, line: _Line, start: int) -> tuple[tuple[TensorType, ...], str] | None:
    """The type and the name in `%name = type op(...), sharding=` on an HLO line."""
    found = line.instruction
    if found is not None and found.end() <= start:
        return _type(found["type"]), found["name"]
    at = start
    for _ in range(_MOST_EQUALS):  # or somewhere in a log
        at = text.rfind(" = ", max(line.start, start - _BEFORE), at)
        if at < 0:
            break
        of_type = _TYPE_AT.match(text, at + len(" = "), start)
        name = _NAME_END.search(text, max(line.start, at - _LONGEST_NAME), at)
        if of_type and name:
            return _type(of_type[0]), name[0]
    return None


def _named_behind(text: str, end: int, before: HloSharding | None) -> tuple[tuple[TensorType, ...], str]:
    """The tensors and the name of the operation that a message goes on about."""
    stop = text.find("\n", end, end + _AFTER)
    stop = min(len(text), end + _AFTER) if stop < 0 else stop
    found = _INSTRUCTION.search(text, end, stop)
    if (
        found is None and _PARTITIONED in text[end:stop]
    ):  # named, but not on this line: the message is wrapped
        found = _INSTRUCTION.search(text, end, end + _AFTER)
    if found is None:
        return (), ""
    tensors = _type(found["type"])
    if before is not None and _PARTITIONED in text[end : found.start()]:
        tensors = tuple([_whole(tensor, before) for tensor in tensors])
    return tensors, found["name"]


def _whole(part: TensorType, sharding: HloSharding) -> TensorType:
    """The tensor that `part` is one device's part of, padding included."""
    if sharding.named_sharding is not None:
        sharding = sharding.v3_to_v2_sharding()
    if not sharding.is_tiled or sharding.is_tuple or sharding.data_rank != len(part.shape):
        return part
    ways = sharding.tile_assignment.dims
    sizes = [None if size is None else size * n for size, n in zip(part.shape, ways, strict=False)]
    return TensorType(tuple(sizes), part.element)


def _type(text: str) -> tuple[TensorType, ...]:
    if text.startswith("tensor"):
        try:
            return (TensorType.from_string(text),)
        except SdyBridgeError:
            return ()
    leaves = parse_shape(text)
    return tuple([
        TensorType(tuple([None if n < 0 else n for n in leaf.dims]), leaf.element_type) for leaf in leaves
    ])  # fmt: skip


def _mesh_beside(text: str, line: _Line, start: int) -> MeshAttr | None:
    """The mesh of a `NamedSharding(mesh=Mesh('x': 4, 'y': 2, ...), spec=...)` that a spec is in."""
    last = None
    for hit in _JAX_MESH.finditer(text, max(line.start, start - _BEFORE), start):
        last = hit
    if last is None:
        return None
    try:
        if last["axes"]:
            sizes = {name: int(size) for name, size in re.findall(r"'([^']+)': (\d{1,18})", last["axes"])}
        else:
            numbers = map(int, re.findall(r"\d{1,18}", last["sizes"]))
            sizes = dict(zip(re.findall(r"'([^']+)'", last["names"]), numbers, strict=False))
        return MeshAttr.from_sizes(sizes)
    except SdyBridgeError:
        return None


def distinct(found: Sequence[Found]) -> list[tuple[Found, int]]:
    """The first of each that say the same, and how many do."""
    counts: dict[tuple[object, ...], tuple[Found, int]] = {}
    for one in found:
        first, count = counts.get(one.key, (one, 0))
        counts[one.key] = first, count + 1
    return list(counts.values())
