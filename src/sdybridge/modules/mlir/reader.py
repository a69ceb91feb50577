"""The reader of module text: where each operation, dictionary, region and type signature begins and ends.

It knows the generic form, the few rules that all pretty forms share (what can start an operation, what types
look like, that braces hold attributes or operations), and no dialect. A text that does not tell is a
`ParseError`, not a guess. Regions are read with an explicit stack, so nesting depth costs no recursion.
"""

from __future__ import annotations

import re
from sys import intern
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError
from sdybridge.modules.mlir.braces import is_region, pass_attributes, word_before
from sdybridge.modules.mlir.lexer import (
    BARE_ID,
    STRING,
    SUFFIX_ID,
    SYMBOL,
    WITH_PARAMETERS,
    code_until,
    describe,
    matching_bracket,
    parse_error,
    skip_trivia,
    string_end,
)
from sdybridge.modules.mlir.operations import Block, Operation, OperationTree, Region, type_end
from sdybridge.modules.progress import REPORT_EVERY
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable

_GAP = r"(?:[ \t\r\n]++|//[^\n]*+)*+"
_GROUP_TEXT = rf'(?:[^"/()\[\]{{}}<>\-]++|{STRING}|->|-|/(?!/)|<=)*+'
_DOTLESS = r"(?:call|call_indirect|module|return|unrealized_conversion_cast)(?![A-Za-z0-9_$.])"
_VALUES = rf"%{SUFFIX_ID}(?:{_GAP}:{_GAP}[0-9]++)?+(?:{_GAP},{_GAP}%{SUFFIX_ID}(?:{_GAP}:{_GAP}[0-9]++)?+)*+"

_HEAD = re.compile(rf"(?:{_VALUES}{_GAP}={_GAP})?+(?:({STRING})|({BARE_ID}))")
_RESULTS = re.compile(rf"{_VALUES}{_GAP}=(?!=)")
# What a pretty operation may hold on one line without ending, opening a brace or naming another operation.
_BODY = re.compile(
    r"(?:[ \t\r]*+(?:"
    r"[,=*?+|;]"
    rf"|%{SUFFIX_ID}(?:\#[0-9]++)?+(?![ \t]*+(?::[ \t]*+[0-9]++[ \t]*+)?=)"
    rf"|(?!loc[ \t]*+\(|{_DOTLESS})[A-Za-z_][A-Za-z0-9_$]*+(?!\.)"
    rf"|{SYMBOL}(?:::{SYMBOL})*+"
    rf"|[!\#]{SUFFIX_ID}"
    r"|[0-9][A-Za-z0-9_.]*+"
    r"|->|-|/(?!/)"
    rf"|\({_GROUP_TEXT}\)|\[{_GROUP_TEXT}\]|<{_GROUP_TEXT}>"
    r"))*+"
)
_TYPE = (
    rf"(?:!{SUFFIX_ID}|[A-Za-z][A-Za-z0-9_]*+(?![.A-Za-z0-9_$]))(?:<(?:{_GROUP_TEXT}|<{_GROUP_TEXT}>)*+>)?+"
    r"|\((?:[^()<>\[\]{}\"/\-]++|<[^()<>\[\]{}\"/\-]*+>)*+\)"
)
_TYPES = re.compile(rf"{_GAP}(?:{_TYPE})(?:[ \t]*+(?:,|->|to(?![A-Za-z0-9_$.])){_GAP}(?:{_TYPE}))*+")
_TYPE_SEPARATOR = re.compile(rf"{_GAP}(?:,|->|to(?![A-Za-z0-9_$.])){_GAP}(?=[!A-Za-z(<])")
# After the types of most operations: a line that begins with results, a closing brace or a generic operation.
_NEXT_LINE = re.compile(r"[ \t\r]*+\n[ \t]*+[%}]")
_LOCATION = re.compile(r"loc[ \t\r\n]*+\(")
_NAME = re.compile(BARE_ID)
_DOTLESS_NAME = re.compile(_DOTLESS)
_LABEL = re.compile(rf"\^{SUFFIX_ID}")
_ALIAS = re.compile(rf"([#!]{SUFFIX_ID}){_GAP}=(?!=){_GAP}")
_ATTRIBUTE_HEAD = re.compile(
    rf"{STRING}|{SYMBOL}(?:::{SYMBOL})*+|[#!]{SUFFIX_ID}|-?+[0-9][A-Za-z0-9_.]*+|{BARE_ID}"
)
_FUNCTION = re.compile(rf"{_GAP}(?:(?:public|private|nested){_GAP})?+{SYMBOL}{_GAP}(?=\()")


def parse_operations(source: Source | str, *, progress: Callable[[int], None] | None = None) -> OperationTree:
    """Reads a text of operations: a module, several, or operations without one.

    Any dialect, registered or not; the pretty and the generic form, mixed as one likes; with and without
    locations. Linear in the length of the text.

    Args:
        source: The text, with the name that errors show.
        progress: Called now and then with the number of characters that are read.

    Raises:
        ParseError: The text is not a list of operations, or does not tell where one ends.

    >>> tree = parse_operations('func.func @f(%a: i32) { return }')
    >>> [operation.full_name for operation in tree.walk()]
    ['func.func', 'func.return']
    """
    source = Source(source) if isinstance(source, str) else source
    try:
        return _Reader(source).read(progress)
    except ParseError as error:
        if error.span:
            error.located(source, error.span)
        raise


def parse_one(source: Source, start: int) -> Operation:
    """Reads the operation without regions at `start`.

    Args:
        source: The text.
        start: Where the operation's results, or its name, start.

    Raises:
        ParseError: There is no operation.

    >>> parse_one(Source("%0 = a.b %x : i32"), 0).operands
    ['%x']
    """
    reader = _Reader(source)
    reader.operation(start)
    return reader.operations[0] if not reader.open else reader.open[0][0]


def parse_outline(source: Source, start: int, terminator: str) -> Operation:
    """Reads the operation with one region at `start`, and of the region its arguments and terminator.

    What else is in the region is passed over, so a long one costs little.

    Args:
        source: The text.
        start: Where the operation's results, or its name, start.
        terminator: The name of the terminator.

    Raises:
        ParseError: There is no operation, or it has no region.

    >>> text = "a.b(%x) (%y: i32) { c.d e.f a.return %y : i32 } : (i32) -> i32"
    >>> block = parse_outline(Source(text), 0, "a.return").regions[0].blocks[0]
    >>> [operation.name for operation in block.operations]
    ['a.return']
    """
    reader = _Reader(source)
    text = source.text
    pos = reader.operation(start)
    if not reader.open:
        operation = reader.operations[0]
        message = f"expected the body of {operation.full_name}, found {describe(text, operation.end)}"
        raise parse_error(text, operation.end, message)
    operation, region, *_ = reader.open[-1]
    end = matching_bracket(text, region.start)
    pos = skip_trivia(text, pos)
    if text.startswith("^", pos):
        pos = reader.label(pos)
    last = _last_operation(text, terminator, pos, end - 1)
    if last >= 0:
        reader.operation(last)
    reader.close_region(end)
    return operation


def _last_operation(text: str, name: str, start: int, end: int) -> int:
    """Where the last operation of that name in `text[start:end]` starts; -1 if none is found."""
    at = end
    while (at := text.rfind(name, start, at)) >= 0:
        quote = text.endswith('"', start, at)
        line = text.rfind("\n", start, at) + 1 or start
        after = skip_trivia(text, at + len(name) + quote)
        if code_until(text, line, at - quote) == at - quote and (not quote or text.startswith("(", after)):
            return at - quote
    return -1


class _Reader:
    """The state of one reading: the text, the regions that are open, where operations go."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.aliases: dict[str, Span] = {}
        self.operations: list[Operation] = []
        self.blocks: list[Block] = [Block(self.operations)]
        self.open: list[tuple[Operation, Region, bool, list[Operation], list[Block]]] = []

    def read(self, progress: Callable[[int], None] | None = None) -> OperationTree:
        text = self.text
        pos = 0
        report_at = REPORT_EVERY if progress else len(text) + 1
        while True:
            pos = skip_trivia(text, pos)
            if pos >= report_at and progress:
                progress(pos)
                report_at = pos + REPORT_EVERY
            char = text[pos : pos + 1]
            if char == "}" and self.open:
                pos = self.close_region(pos + 1)
            elif char == "":
                break
            elif char == "^" and self.open:
                pos = self.label(pos)
            elif char in "#!" and not self.open:
                pos = self.alias(pos)
            elif text.startswith("{-#", pos) and not self.open:
                pos = matching_bracket(text, pos)
            else:
                pos = self.operation(pos)
        if self.open:
            start = self.open[-1][1].start
            raise parse_error(text, start, "'{' is never closed", help="close it with `}`")
        return OperationTree(self.source, self.blocks[0].operations, self.aliases)

    def operation(self, pos: int) -> int:
        """Reads the operation at `pos` up to its end or its first region."""
        text = self.text
        head = _HEAD.match(text, pos)
        if not head:
            raise parse_error(text, pos, f"expected an operation, found {describe(text, pos)}")
        quoted, bare = head.groups()
        name_start, name_end = head.span(1 if quoted else 2)
        operation = Operation(
            self.source, intern(quoted[1:-1] if quoted else bare), pos, name_start, name_end
        )
        if quoted:
            self.operations.append(operation)
            return self.generic(operation, name_end)
        if "." not in bare and name_start == pos and not _DOTLESS_NAME.match(text, pos):
            message = f"expected an operation, found {describe(text, pos)}"
            raise parse_error(
                text, pos, message, notes=("an operation's name has its dialect in front of a dot",)
            )
        self.operations.append(operation)
        if function := _FUNCTION.match(text, name_end) if bare.endswith(".func") else None:
            return self.function(operation, function.end())
        return self.pretty(operation, name_end)

    def function(self, operation: Operation, pos: int) -> int:
        """Reads `(arguments) -> results` of a function."""
        end = matching_bracket(self.text, pos)
        operation.arguments_span = Span(pos, end)
        arrow = skip_trivia(self.text, end)
        if self.text.startswith("->", arrow):
            start = skip_trivia(self.text, arrow + 2)
            end = type_end(self.text, start, len(self.text))
            if end == start:
                raise parse_error(self.text, start, f"expected a type, found {describe(self.text, start)}")
            operation.results_span = Span(start, end)
        return self.pretty(operation, end)

    def pretty(self, operation: Operation, pos: int) -> int:
        """Reads on in a pretty form: to the operation's end, or to just inside the region that opens."""
        text = self.text
        last = pos
        while True:
            run = _BODY.match(text, last)
            last = run.end() if run else last
            pos = skip_trivia(text, last)
            char = text[pos : pos + 1]
            if char == ":":
                end = self.types(operation, pos + 1)
                if _NEXT_LINE.match(text, end):
                    operation.end = end
                    return end
                last = end
            elif char == "{":
                if is_region(text, operation, pos, last):
                    header = operation.arguments_span or Span(operation.name_end, pos)
                    return self.open_region(operation, pos, header)
                last = pass_attributes(text, operation, pos, last)
            elif char in "([<" and char:
                inner = skip_trivia(text, pos + 1)
                if char == "(" and text.startswith("{", inner):
                    return self.open_region(operation, inner)
                last = matching_bracket(text, pos)
            else:
                end = self.continues(operation, pos, last)
                if end < 0:
                    return operation.end
                last = end

    def types(self, operation: Operation, pos: int) -> int:
        """Reads the types after a `:`; what stands there may be something else, and is left alone then."""
        text = self.text
        start = skip_trivia(text, pos)
        found = _TYPES.match(text, start)
        end = found.end() if found else start
        while True:
            parameters = skip_trivia(text, end) if text.endswith(WITH_PARAMETERS, start, end) else end
            if text.startswith(("<", "("), parameters):
                end = matching_bracket(text, parameters)
            separator = _TYPE_SEPARATOR.match(text, end)
            if not separator or end == start:
                break
            found = _TYPES.match(text, separator.end())
            if not found and not text.startswith(("<", "("), separator.end()):
                break
            end = found.end() if found else separator.end()
        if end > start:
            operation.signature = Span(start, end)
        return max(end, pos)

    def continues(self, operation: Operation, pos: int, last: int) -> int:
        """Whether the operation goes on with what stands at `pos`: the offset past it, or -1 at its end."""
        text = self.text
        char = text[pos : pos + 1]
        operation.end = last
        if char in ("", "}"):
            return -1
        new_line = text.find("\n", last, pos) >= 0
        if char == '"':
            end = string_end(text, pos)
            is_operation = text.startswith("(", skip_trivia(text, end))
            return -1 if is_operation and (new_line or self.is_complete(operation, last)) else end
        if char == "%":
            results = _RESULTS.match(text, pos)
            if results and (new_line or last != operation.name_end):
                return -1
            return results.end() if results else self.advance(pos)
        if char == "^":
            found = _LABEL.match(text, pos)
            if not found:
                return self.advance(pos)
            return -1 if new_line and self.is_label(found.end()) else found.end()
        if char in "#!":
            return -1 if new_line and _ALIAS.match(text, pos) else self.advance(pos)
        if location := _LOCATION.match(text, pos):
            operation.end = matching_bracket(text, location.end() - 1)
            return -1
        found = _NAME.match(text, pos)
        if not found:
            return self.advance(pos)
        if "." in found.group() or _DOTLESS_NAME.match(text, pos):
            starts_line = new_line and (last == operation.name_end or text[last - 1] not in ",=:(")
            if (starts_line and not text.startswith("applies", last - len("applies"))) or self.is_complete(
                operation, last
            ):
                return -1
        return found.end()

    def advance(self, pos: int) -> int:
        """The offset past the token at `pos` that begins a further line of an operation."""
        run = _BODY.match(self.text, pos)
        if run and run.end() > pos:
            return run.end()
        raise parse_error(
            self.text, pos, f"expected an operation or its end, found {describe(self.text, pos)}"
        )

    def is_complete(self, operation: Operation, last: int) -> bool:
        """Whether an operation can end at `last` although another token follows on the same line."""
        text = self.text
        if last == operation.name_end:
            return False
        if text[last - 1] in ')]}>"' or (operation.signature and operation.signature.end == last):
            return True
        return word_before(text, operation, last)[:1] in tuple("%@#!^0123456789")

    def is_label(self, pos: int) -> bool:
        pos = skip_trivia(self.text, pos)
        if self.text.startswith("(", pos):
            pos = skip_trivia(self.text, matching_bracket(self.text, pos))
        return self.text.startswith(":", pos)

    def generic(self, operation: Operation, pos: int) -> int:
        """Reads `(operands) [successors] <{properties}>` and on, up to the first region or the end."""
        text = self.text
        pos = skip_trivia(text, pos)
        if not text.startswith("(", pos):
            message = f"expected '(' with the operands of \"{operation.name}\", found {describe(text, pos)}"
            raise parse_error(text, pos, message)
        pos = skip_trivia(text, matching_bracket(text, pos))
        if text.startswith("[", pos):
            pos = skip_trivia(text, matching_bracket(text, pos))
        if text.startswith("<", pos):
            end = matching_bracket(text, pos)
            brace = skip_trivia(text, pos + 1)
            if not text.startswith("{", brace):
                raise parse_error(
                    text, brace, f"expected '{{' of the properties, found {describe(text, brace)}"
                )
            operation.properties = Span(brace, matching_bracket(text, brace))
            pos = skip_trivia(text, end)
        if text.startswith("(", pos):
            brace = skip_trivia(text, pos + 1)
            if not text.startswith("{", brace):
                raise parse_error(text, brace, f"expected '{{' of a region, found {describe(text, brace)}")
            return self.open_region(operation, brace)
        return self.generic_tail(operation, pos)

    def generic_tail(self, operation: Operation, pos: int) -> int:
        """Reads `{attributes} : types loc(...)`, the end of the generic form."""
        text = self.text
        if text.startswith("{", pos):
            end = matching_bracket(text, pos)
            operation.dictionaries = [Span(pos, end)]
            pos = skip_trivia(text, end)
        if not text.startswith(":", pos):
            message = f"expected ':' with the types of \"{operation.name}\", found {describe(text, pos)}"
            raise parse_error(text, pos, message)
        operation.end = self.types(operation, pos + 1)
        if not operation.signature:
            start = skip_trivia(text, pos + 1)
            raise parse_error(text, start, f"expected a function type, found {describe(text, start)}")
        pos = skip_trivia(text, operation.end)
        if location := _LOCATION.match(text, pos):
            operation.end = matching_bracket(text, location.end() - 1)
        return operation.end

    def open_region(self, operation: Operation, pos: int, header: Span | None = None) -> int:
        """Enters the region whose `{` stands at `pos`; without a header it is in a list, `({...}, ...)`."""
        region = Region(pos, pos, [Block([], header)])
        operation.regions.append(region)
        self.open.append((operation, region, header is None, self.operations, self.blocks))
        self.blocks = region.blocks
        self.operations = region.blocks[0].operations
        return pos + 1

    def close_region(self, pos: int) -> int:
        """Leaves the innermost region, whose `}` ends at `pos`, and reads on in its operation."""
        operation, region, is_listed, self.operations, self.blocks = self.open.pop()
        region.end = pos
        return self.after_listed_region(operation, pos) if is_listed else self.pretty(operation, pos)

    def after_listed_region(self, operation: Operation, pos: int) -> int:
        """Reads on after a region of a list, `({...}, {...})`."""
        text = self.text
        pos = skip_trivia(text, pos)
        if text.startswith(",", pos):
            pos = skip_trivia(text, pos + 1)
            if not text.startswith("{", pos):
                raise parse_error(text, pos, f"expected '{{' of a region, found {describe(text, pos)}")
            return self.open_region(operation, pos)
        if not text.startswith(")", pos):
            raise parse_error(text, pos, f"expected ',' or ')' after a region, found {describe(text, pos)}")
        if operation.is_generic:
            return self.generic_tail(operation, skip_trivia(text, pos + 1))
        return self.pretty(operation, pos + 1)

    def label(self, pos: int) -> int:
        """Reads `^name(arguments):` and begins a block."""
        text = self.text
        found = _LABEL.match(text, pos)
        if not found:
            raise parse_error(text, pos, f"expected a block's name, found {describe(text, pos)}")
        end = skip_trivia(text, found.end())
        header = None
        if text.startswith("(", end):
            header = Span(end, matching_bracket(text, end))
            end = skip_trivia(text, header.end)
        if not text.startswith(":", end):
            raise parse_error(text, end, f"expected ':' after the block's name, found {describe(text, end)}")
        if len(self.blocks) == 1 and not self.operations:
            self.blocks[0].header = header or self.blocks[0].header
        else:
            self.blocks.append(Block([], header))
        self.operations = self.blocks[-1].operations
        return end + 1

    def alias(self, pos: int) -> int:
        """Reads `#name = value` or `!name = type`."""
        text = self.text
        found = _ALIAS.match(text, pos)
        if not found:
            raise parse_error(text, pos, f"expected an operation or an alias, found {describe(text, pos)}")
        name = found.group(1)
        end = self.alias_value_end(found.end())
        if name in self.aliases:
            raise parse_error(text, pos, f"the alias '{name}' is defined twice", end=pos + len(name))
        self.aliases[name] = Span(found.end(), end)
        return end

    def alias_value_end(self, pos: int) -> int:
        """The offset past an attribute or type, its own ` : type` included."""
        text = self.text
        found = _ATTRIBUTE_HEAD.match(text, pos)
        end = found.end() if found else pos
        if text.startswith(("<", "(", "[", "{"), end):
            end = matching_bracket(text, end)
        if end == pos:
            raise parse_error(text, pos, f"expected an attribute or a type, found {describe(text, pos)}")
        after = skip_trivia(text, end)
        if text.startswith((":", "->"), after):
            end = type_end(text, skip_trivia(text, after + (1 if text[after] == ":" else 2)), len(text))
        return end
