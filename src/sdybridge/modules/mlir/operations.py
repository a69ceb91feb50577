"""Operations, blocks and regions of module text: a shallow tree of spans over it.

The tree knows where every operation, attribute dictionary, region and type signature stands, of any dialect,
without knowing what the operation means. `reader.parse_operations` builds it.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.dictionary import Entry, read_array, read_dictionary
from sdybridge.modules.mlir.lexer import (
    SUFFIX_ID,
    SYMBOL,
    WITH_PARAMETERS,
    back_over_trivia,
    groups,
    items,
    matching_bracket,
    placed,
    skip_trivia,
    symbol_name,
    unescape,
)
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.source import Source

_DOTLESS = {
    "call": "func.call",
    "call_indirect": "func.call_indirect",
    "constant": "func.constant",
    "module": "builtin.module",
    "return": "func.return",
    "unrealized_conversion_cast": "builtin.unrealized_conversion_cast",
}
_CALL_LIKE = frozenset(("sdy.manual_computation", "sdy.named_computation"))
_RESULT = re.compile(rf"(%{SUFFIX_ID})(?:[ \t]*+:[ \t]*+([0-9]++))?+")
_MOST_DIGITS = 9  # of a number of results
_USE = re.compile(rf'(%{SUFFIX_ID}(?:#[0-9]++)?+)(?![ \t]*+=)|"(?:[^"\\\n]++|\\[^\n])*+"|//[^\n]*+')
_SYMBOL = re.compile(rf"[\sa-z]*+({SYMBOL})")
_ARGUMENT = re.compile(rf"(%{SUFFIX_ID})\s*+:\s*+")
_BINDING = re.compile(rf"(%{SUFFIX_ID})\s*+=\s*+%")
_ARROW = re.compile(r"//[^\n]*+|(->|\bto\b)")
_TYPE_HEAD = re.compile(r"[!A-Za-z_0-9$.\-]*+")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a function or a block, or a result of a function.

    Attributes:
        name: `%name`; none for a function result and in a declaration.
        span: The whole of it: name, type and dictionary.
        type: The span of the type.
        dictionary: The span of the attribute dictionary, if there is one.
        number: Which argument or result it is.
    """

    name: str | None
    span: Span
    type: Span
    dictionary: Span | None
    number: int = 0


@dataclass(slots=True, eq=False)
class Block:
    """Operations in a row, under a label with arguments or at the start of a region.

    Attributes:
        operations: In the order of the text.
        header: The span that declares the arguments: the group after the label, or what stands before the
            region's brace.
    """

    operations: list[Operation]
    header: Span | None = None


@dataclass(slots=True, eq=False)
class Region:
    """The blocks between two braces.

    Attributes:
        start: Offset of `{`.
        end: Offset just past `}`.
        blocks: At least one, which may have no operations.
    """

    start: int
    end: int
    blocks: list[Block]


class Operation:
    """One operation: offsets into the text, and what can be read at them on request.

    Attributes:
        source: The text that all spans are about.
        name: As written: `stablehlo.add`, `call`; without quotes in the generic form.
        is_generic: Whether the name is quoted.
        start: Offset of the first result, or of the name.
        end: Offset just past the operation, its location included.
        name_start: Offset of the name, or of its opening quote.
        name_end: Offset just past the name, or past its closing quote.
        dictionaries: Spans of the attribute dictionaries (at most one unless the dialect is unusual).
        properties: Span of `{...}` inside `<{...}>`; generic form only.
        signature: Span of the types after the last top-level `:`.
        regions: In the order of the text.
        arguments_span: Functions only: the span of `(...)`.
        results_span: Functions only: the span of what follows `->`.
    """

    __slots__ = (
        "arguments_span",
        "dictionaries",
        "end",
        "is_generic",
        "name",
        "name_end",
        "name_start",
        "properties",
        "regions",
        "results_span",
        "signature",
        "source",
        "start",
    )

    def __init__(self, source: Source, name: str, start: int, name_start: int, name_end: int) -> None:
        self.source = source
        self.name = name
        self.start = start
        self.name_start = name_start
        self.name_end = self.end = name_end
        self.is_generic = source.text[name_start] == '"'
        self.dictionaries: list[Span] = []
        self.properties: Span | None = None
        self.signature: Span | None = None
        self.regions: list[Region] = []
        self.arguments_span: Span | None = None
        self.results_span: Span | None = None

    def __repr__(self) -> str:
        line, column = self.source.location(self.start)
        return f"<Operation {self.full_name} at {line}:{column}>"

    @property
    def span(self) -> Span:
        """The whole operation, from its first result to its location."""
        return Span(self.start, self.end)

    @property
    def name_span(self) -> Span:
        """The name, with its quotes in the generic form."""
        return Span(self.name_start, self.name_end)

    @property
    def full_name(self) -> str:
        """The name with its dialect: `func.call` for `call`."""
        return self.name if "." in self.name else _DOTLESS.get(self.name, self.name)

    @property
    def results(self) -> list[tuple[str, int]]:
        """The names before `=`, with how many results each one holds: `%1:2` is `("%1", 2)`."""
        found = _RESULT.findall(self.source.text, self.start, self.name_start)
        return [(name, int(count[:_MOST_DIGITS]) if count else 1) for name, count in found]

    @property
    def operands(self) -> list[str]:
        """The values used between the name and the types or the first region, in the order of the text."""
        text = self.source.text
        if self.is_generic or self.name in _CALL_LIKE:
            group = text.find("(", self.name_end, self.end)
            return _uses(text, group, matching_bracket(text, group)) if group >= 0 else []
        ends = [region.start for region in self.regions]
        if self.signature:
            ends.append(self.signature.start)
        return _uses(text, self.name_end, min(ends, default=self.end))

    def operand_span(self, index: int) -> Span:
        """Where the operand of that number stands; the name if the text has none."""
        name = self.operands[index] if index < len(self.operands) else None
        at = self.source.text.find(name, self.name_end, self.end) if name else -1
        return Span(at, at + len(name)) if name and at >= 0 else self.name_span

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The discardable attributes; with the properties where the printer merges them."""
        return tuple(entry for span in self.dictionaries for entry in self._entries(span))

    @property
    def property_entries(self) -> tuple[Entry, ...]:
        """The properties of the generic form."""
        return self._entries(self.properties) if self.properties else ()

    def attribute(self, key: str) -> Entry | None:
        """The entry under `key`, of the dictionaries or else of the properties."""
        spans = (*self.dictionaries, self.properties) if self.properties else self.dictionaries
        return next((entry for span in spans if (entry := self.entry_of(span, key))), None)

    def entry_of(self, dictionary: Span | None, key: str) -> Entry | None:
        """The entry under `key` of one dictionary."""
        text = self.source.text
        if dictionary is None or text.find(key, dictionary.start, dictionary.end) < 0:
            return None  # most dictionaries are told apart by this alone
        return next((entry for entry in self._entries(dictionary) if entry.key == key), None)

    def _entries(self, dictionary: Span) -> tuple[Entry, ...]:
        read = functools.partial(read_dictionary, self.source.text, dictionary.start)
        return placed(self.source, read)

    @property
    def symbol(self) -> str | None:
        """The name after `@` that a function, mesh or module defines (or a call names), unquoted."""
        text = self.source.text
        if self.is_generic:
            entry = self.attribute("sym_name")
            return unescape(text[entry.value.start : entry.value.end]) if entry and entry.value else None
        found = _SYMBOL.match(text, self.name_end, self.end)
        return symbol_name(found.group(1)) if found else None

    @property
    def symbol_span(self) -> Span | None:
        """Where `symbol` stands, with its `@` or its quotes."""
        if self.is_generic:
            entry = self.attribute("sym_name")
            return entry.value if entry else None
        found = _SYMBOL.match(self.source.text, self.name_end, self.end)
        return Span(*found.span(1)) if found else None

    @property
    def signature_types(self) -> tuple[list[Span], list[Span] | None]:
        """The types before `->` and those after it; the latter none where there is no arrow."""
        if not self.signature:
            return [], None
        return _split_signature(self.source.text, self.signature.start, self.signature.end)

    @property
    def arguments(self) -> list[Argument]:
        """The arguments of a function, with their types and dictionaries."""
        if self.is_generic:
            return _generic_values(self, "arg_attrs", 0)
        span = self.arguments_span
        return _arguments(self.source, span) if span else []

    @property
    def function_results(self) -> list[Argument]:
        """The results of a function, with their types and dictionaries."""
        text = self.source.text
        if self.is_generic:
            return _generic_values(self, "res_attrs", 1)
        span = self.results_span
        if not span:
            return []
        if text[span.start] != "(" or matching_bracket(text, span.start) < span.end:
            return [Argument(None, span, span, None)]
        return _arguments(self.source, span)

    def block_arguments(self, block: Block) -> list[Argument]:
        """The arguments of one of the operation's own blocks."""
        if not block.header:
            return []
        if self.arguments_span and block.header == self.arguments_span:
            return self.arguments
        return list(_block_arguments(self.source.text, block.header))

    def walk(self) -> Iterator[Operation]:
        """This operation and all inside it, in the order of the text."""
        stack = [self]
        while stack:
            operation = stack.pop()
            yield operation
            inner = [o for region in operation.regions for block in region.blocks for o in block.operations]
            stack.extend(reversed(inner))


@dataclass(frozen=True, slots=True)
class OperationTree:
    """All that a text holds.

    Attributes:
        source: The text.
        operations: The top-level operations: one module, as a rule.
        aliases: Spans of the values of `#name = ...` and `!name = ...`, by name with its sign.
    """

    source: Source
    operations: list[Operation]
    aliases: dict[str, Span]

    def walk(self) -> Iterator[Operation]:
        """Every operation, in the order of the text."""
        for operation in self.operations:
            yield from operation.walk()


def _uses(text: str, start: int, end: int) -> list[str]:
    return [name for name in _USE.findall(text, start, end) if name]


def _arguments(source: Source, group: Span) -> list[Argument]:
    """The arguments or results in a group of a function."""
    return [
        _argument(source.text, item, source.value_number(item.start, index))
        for index, item in enumerate(items(source.text, group.start + 1, group.end - 1))
    ]


def _argument(text: str, item: Span, number: int = 0) -> Argument:
    """Reads `%name : type {...} loc(...)`, of which only the type must be there."""
    named = _ARGUMENT.match(text, item.start, item.end)
    name = named.group(1) if named else None
    start = named.end() if named else item.start
    end = type_end(text, start, item.end)
    pos = skip_trivia(text, end)
    dictionary = None
    if pos < item.end and text[pos] == "{":
        dictionary = Span(pos, matching_bracket(text, pos))
    return Argument(name, item, Span(start, end), dictionary, number)


def type_end(text: str, pos: int, limit: int) -> int:
    """The offset just past the type at `pos`, a function type included."""
    while True:
        found = _TYPE_HEAD.match(text, pos, limit)
        pos = found.end() if found else pos
        parameters = skip_trivia(text, pos) if text.endswith(WITH_PARAMETERS, 0, pos) else pos
        if parameters < limit and text[parameters] in "<(":
            pos = matching_bracket(text, parameters)
        arrow = skip_trivia(text, pos)
        if not text.startswith("->", arrow) or arrow >= limit:
            return pos
        pos = skip_trivia(text, arrow + 2)


def _split_signature(text: str, start: int, end: int) -> tuple[list[Span], list[Span] | None]:
    sides: list[list[Span]] = []
    for side in _sides(text, start, end):
        is_list = text[side.start] == "(" and matching_bracket(text, side.start) == side.end
        inner = Span(side.start + 1, side.end - 1) if is_list else side
        sides.append(list(items(text, inner.start, inner.end)))
    return sides[0], sides[1] if len(sides) > 1 else None


def _sides(text: str, start: int, end: int) -> Iterator[Span]:
    """What stands left and right of the first top-level `->` (or `to`)."""
    pos = start
    for group in (*groups(text, start, end), Span(end, end)):
        for arrow in _ARROW.finditer(text, pos, group.start):
            if arrow[1]:
                yield Span(start, back_over_trivia(text, arrow.start(), start))
                yield Span(skip_trivia(text, arrow.end()), end)
                return
        pos = group.end
    yield Span(start, end)


def _block_arguments(text: str, header: Span) -> Iterator[Argument]:
    """The arguments in the groups before a region's brace: `(%a: T, ...)`, or `(%a = %b, ...)` of a loop."""
    for group in groups(text, header.start, header.end):
        if text[group.start] != "(":
            continue
        for item in items(text, group.start + 1, group.end - 1):
            if _ARGUMENT.match(text, item.start, item.end):
                yield _argument(text, item)
            elif bound := _BINDING.match(text, item.start, item.end):
                yield Argument(bound.group(1), item, Span(item.end, item.end), None)


def _generic_values(operation: Operation, key: str, side: int) -> list[Argument]:
    """Arguments (side 0) or results (side 1) of a function in the generic form."""
    text = operation.source.text
    function_type = operation.attribute("function_type")
    if not function_type or not function_type.value:
        return []
    types = _split_signature(text, function_type.value.start, function_type.value.end)[side] or []
    entry = operation.attribute(key)
    dictionaries: list[Span] = []
    if entry and entry.value and text[entry.value.start] == "[":
        dictionaries = list(read_array(text, entry.value.start))
    names = (
        [a.name for r in operation.regions[:1] for a in operation.block_arguments(r.blocks[0])]
        if side == 0
        else []
    )
    values = []
    for index, span in enumerate(types):
        dictionary = dictionaries[index] if index < len(dictionaries) else None
        if dictionary and text[dictionary.start] != "{":
            dictionary = None
        name = names[index] if index < len(names) else None
        values.append(Argument(name, span, span, dictionary, index))
    return values
