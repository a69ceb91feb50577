"""The main pass of import: every HLO sharding of a text is found, and later written in its place."""

from __future__ import annotations

import functools
import re
from collections import Counter
from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError, VerificationError, plural
from sdybridge.modules.export.control_flow import control_flow_dictionaries
from sdybridge.modules.import_.found_shardings import Form, Found
from sdybridge.modules.import_.seen import seen_by_scope
from sdybridge.modules.import_.sharding_calls import outer_dictionary, sharding_call
from sdybridge.modules.import_.text import ImportedLine, ImportedText
from sdybridge.modules.mlir.annotated import Annotated, Dictionaries
from sdybridge.modules.mlir.attributes import attribute_end
from sdybridge.modules.mlir.contexts import (
    RESULT_LINE,
    PlainLines,
    is_nested,
    may_be_value,
    rest_of_line,
    type_before,
)
from sdybridge.modules.mlir.dictionary import find_entry
from sdybridge.modules.mlir.enclosing import Enclosing
from sdybridge.modules.mlir.key_lines import KeyLines
from sdybridge.modules.mlir.lexer import holds, matching_bracket, parse_error
from sdybridge.modules.mlir.long_lines import LongLines, Notation
from sdybridge.modules.mlir.meshes import Meshes, find_meshes, find_scopes
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.signature import result_types, sharding_rank
from sdybridge.modules.mlir.sites import HLO_NAME, SiteKind, code_end, near_brace, read_site
from sdybridge.modules.progress import REPORT_EVERY
from sdybridge.modules.splice import removal
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdybridge.hlo import HloSharding
    from sdybridge.modules.import_.open_values import OpenValues
    from sdybridge.modules.import_.sharding_calls import ShardingCall
    from sdybridge.target import Target

_BEFORE_KEY = frozenset(" {,\n")
_KEY = 'mhlo.sharding = "'
_ONE_RESULT = re.compile(r"[ \t]*+%[\w$.\-]++ = ")
_UNPACK = "Shardy shards tensors: unpack the tuple into several results"


class ShardingImport:
    """One import under way: what is known of the program, and the new text so far.

    Attributes:
        source: The program.
        text: Its text.
        seen: What was read; one for all modules, or one for each, where they declare different meshes under
            the same name.
        operations: How many operations of each name were rewritten.
        removed: How many shardings of control flow were removed.
    """

    def __init__(
        self,
        source: Source,
        target: Target,
        open_values: OpenValues,
        *,
        remove_added_sharding_from_control_flow: bool = True,
    ) -> None:
        self.source = source
        self.text = source.text
        self.operations: Counter[str] = Counter()
        self.removed = 0
        self._has_shardy = holds(source.text, "sdy.")
        self._declared = find_meshes(source) if self._has_shardy else Meshes((), ())
        self.seen = seen_by_scope(source, target, self._declared)
        self._now = self.seen[0]
        self._remove_added = remove_added_sharding_from_control_flow
        self._open_values = open_values
        self._new = ImportedText(source.text)
        self._dictionaries = Dictionaries(source)
        self._enclosing = Enclosing(source.text)
        self._plain = PlainLines(source.text, code_end(source.text))
        self._long_lines = LongLines(source.text, Notation.HLO)

    @functools.cached_property
    def _has_two_kinds(self) -> bool:
        """Whether dictionaries may hold a Shardy sharding, too: then each gets a closer look."""
        return self._has_shardy and holds(self.text, "sdy.sharding")

    @functools.cached_property
    def _has_generic_calls(self) -> bool:
        """Whether `@Sharding` may be called in the generic form, where it looks like other operations."""
        return holds(self.text, '"Sharding"')

    @functools.cached_property
    def _control_flow(self) -> frozenset[int]:
        """Where the dictionaries of loops and conditionals open."""
        return control_flow_dictionaries(self.text)

    def read(self, progress: Callable[[int], None] | None = None) -> None:
        """Find every sharding of the text."""
        if self._has_two_kinds:
            self._scan(0, code_end(self.text), progress)
        else:
            self._read_lines(code_end(self.text), progress)

    def _read_lines(self, end: int, progress: Callable[[int], None] | None) -> None:
        """Read the text up to `end`.

        A large program repeats few lines very often, up to the names of values. So the text is cut at the
        keys of shardings, and what follows one, up to the end of the line, is looked up.
        """
        text = self.text
        lines = KeyLines(text, _KEY, "mhlo.sharding", end, progress)
        new, pieces, head = self._new, self._new.pieces, RESULT_LINE.match
        for at, line, start, rest in lines:
            done = lines.done
            if at >= new.border:
                self._enter(at)
            known = self._now.lines.get(rest)
            is_next = not lines.others or text.find("mhlo.sharding", done, at) < 0
            if known and is_next and head(line, start):
                found, length = known
                found.count += 1
                pieces += (text[new.end : at], found)
                lines.done = new.end = at + length
                new.module.is_needed = True
                continue
            lines.done = self._scan(done, at + len(_KEY) + len(rest), None)
            after = rest.find('"') + 1
            repeated = self._now.results.get((rest[after:], f'"{rest[:after]}'))
            if repeated and "mhlo.sharding" not in rest:
                self._now.lines[rest] = repeated[0], len(_KEY) + after
        if lines.others:
            self._scan(lines.done, end, None)

    def _enter(self, at: int) -> None:
        """Go on in the module at `at`."""
        self._new.enter(at)
        if len(self.seen) > 1:
            self._now = self.seen[self._new.module.index]

    def _scan(self, at: int, end: int, progress: Callable[[int], None] | None) -> int:
        """Read from `at`, which is code, up to `end`; return from where on nothing is read yet, code too."""
        text, plain = self.text, self._plain.start
        report_at = at + REPORT_EVERY if progress else end
        done = at  # an offset outside strings and comments before which everything is done
        for hit in HLO_NAME.finditer(text, at, end):
            start = hit.start()
            if start < done:
                continue
            if start >= report_at and progress:
                progress(start)
                report_at = start + REPORT_EVERY
            if start >= self._new.border:
                self._enter(start)
            clear = plain(start, done) if text[start - 1] in _BEFORE_KEY and hit["value"] else -1
            # A large program repeats few contexts very often: these need no closer look.
            is_plain = clear >= 0 and not self._has_two_kinds
            if is_plain and (
                self._signature(clear, start) or self._repeat(start, hit.end(), hit["value"], clear)
            ):
                done = self._new.end
                continue
            site, code = read_site(text, hit, done)
            if site is None or site.kind is not SiteKind.KEY or site.name != "mhlo.sharding":
                done = code
                continue
            brace = near_brace(text, start, clear) if clear >= 0 else -1
            if brace < 0:
                brace = self._enclosing.bracket(site.start, done)
            done = self._key(site.start, site.end, brace)
        return done

    def _signature(self, start: int, at: int) -> bool:
        """Read the rest of a long line from `start` on as a whole, unless it needs a closer look."""
        opens = self._open_values.span
        if start < opens.end and at >= opens.start:
            return False
        line = self._long_lines.split(start, at, len(self.text))
        if line is None:
            return False
        text = self.text
        try:
            known = {
                (of_type, literal): self._now.values.get((of_type, literal))
                or self._value(of_type[:-2], literal, text.index(literal, text.index(of_type, start)))
                for of_type, literal in line.counts
            }
        except SdyBridgeError:
            return False  # raised again where it stands
        for argument, repeats in line.counts.items():
            known[argument].count += repeats
        self._new.put(start, line.end)
        self._new.pieces.append(ImportedLine(line, known))
        return True

    def _repeat(self, start: int, end: int, literal: str, clear: int) -> bool:
        """Read what stands in a context seen before; False if it does not."""
        text = self.text
        brace = start - 1 if text[start - 1] == "{" else near_brace(text, start, clear)
        if brace < 0:
            return False
        value = self._now.values.get((type_before(text, brace, clear), literal))
        if value:
            if self._open_values.is_open(start):
                return False
            value.count += 1
            self._new.put(start, end, value)
            return True
        if text.startswith(") ", brace - 2):
            call = text.rfind("@Sharding(", clear, brace)
            if call >= 0:
                return self._repeat_call(brace, call)
        if (start - brace > 1 or text[brace - 2] == ">") and self._has_generic_calls:
            return False
        found = self._now.results.get((rest_of_line(text, end), literal))
        if not found or is_nested(text, brace):
            return False
        results, is_plain = found
        if is_plain and not _ONE_RESULT.match(text, clear):
            return False
        results.count += 1
        self._new.put(start, end, results)
        return True

    def _repeat_call(self, brace: int, at: int) -> bool:
        """Read a call `@Sharding(%operand) {...}` like one before; `at` is the symbol's place."""
        text = self.text
        context = rest_of_line(text, brace)
        known = self._now.calls.get(context)
        operand = text[at + len("@Sharding(") : brace - 2]
        start = at - len("stablehlo.custom_call ")
        if not known or not text.startswith("stablehlo.custom_call ", start) or not operand.startswith("%"):
            return False
        found, type_, kept = known
        self._put_call(start, brace + len(context), operand, type_, kept, found)
        return True

    def _key(self, start: int, at: int, brace: int) -> int:
        """Read the dictionary entry at `start`, whose value is at `at`; return where it is done."""
        text = self.text
        end = attribute_end(text, at)
        if brace < 0:
            raise parse_error(text, start, "the key mhlo.sharding stands outside of any dictionary", end=end)
        if text[brace] != "{" or self._is_of_operands(brace, at, end):
            return end  # it is about something else
        inner = -1
        if is_nested(text, brace):
            inner, brace = brace, outer_dictionary(text, brace, self._now.found.aliases)
            if brace < 0:
                return end
        literal = self._now.found.literal(at, end)
        twice = self._second_sharding(brace, inner)
        if twice:
            raise VerificationError(
                f"there is {twice} beside the HLO sharding",
                rule="sharding-twice",
                source=self.source,
                span=Span(start, end),
                help="keep one of them",
            )
        call = sharding_call(text, brace, self._now.found.aliases)
        if call and self._call(call, brace, literal, at):
            return self._new.end
        about = self._dictionaries.at(brace)
        hlo = self._now.found.parse(literal, at)
        if about is None:
            about = Annotated(may_be_value(text, brace), (None,) * max(1, len(hlo.tuple_elements)))
        if about.is_value:
            self._put_value(start, end, about.types[0], literal, at)
        elif hlo.is_tuple and not hlo.tuple_elements and not about.types:
            self._remove(start, end)  # no shardings for no results
        elif (
            self._remove_added
            and hlo.is_replicated
            and not hlo.is_tuple
            and (len(about.types) > 1 or _is_added_form(hlo, about.types))
            and brace in self._control_flow
        ):
            self.removed += 1
            self._remove(start, end)
        else:
            found = self._of_results(about.types, literal, at)
            if inner < 0:
                self._new.put(start, end, found)
                self._remember(end, brace, literal, found)
            else:
                self._put_outside(start, end, inner, found)
        return max(end, self._new.end)

    def _is_of_operands(self, brace: int, at: int, end: int) -> bool:
        """Whether the sharding at `text[at:end]` is that of the operands, as an outfeed may have it."""
        if brace not in self._outfeeds:
            return False
        hlo = self._now.found.parse(self._now.found.literal(at, end), at)
        return hlo.is_tuple or hlo.is_tiled

    @functools.cached_property
    def _outfeeds(self) -> set[int]:
        """Where the dictionaries of outfeeds open."""
        if not holds(self.text, ".outfeed"):
            return set()
        found = [one for one in parse_operations(self.source).walk() if one.full_name.endswith(".outfeed")]
        return {span.start for one in found for span in one.dictionaries}

    def _second_sharding(self, brace: int, inner: int) -> str:
        """What other sharding the dictionary at `brace` has, if any."""
        if self._has_two_kinds and find_entry(self.text, brace, "sdy.sharding"):
            return "a Shardy sharding"
        return "another one" if inner >= 0 and find_entry(self.text, brace, "mhlo.sharding") else ""

    def _put_outside(self, start: int, end: int, inner: int, found: Found) -> None:
        """Let `found` take the place of `text[start:end]`, but behind the dictionary at `inner` around it."""
        close = matching_bracket(self.text, inner)
        self._new.put(*removal(self.text, start, end, inner + 1))
        self._new.put(close, close, ", ")
        self._new.put(close, close, found)

    def _remove(self, start: int, end: int) -> None:
        """Remove the dictionary entry at `text[start:end]`."""
        self._new.reach(start)
        self._new.put(*removal(self.text, start, end, self._new.end))

    def _put_value(self, start: int, end: int, of_type: str | None, literal: str, at: int) -> None:
        """Read the sharding of an argument or result."""
        if self._open_values.is_open(start):
            found = self._now.found.add(literal, at, Form.VALUE, (of_type,), open_dims=True)
        else:
            found = self._value(of_type, literal, at)
        found.count += 1
        self._new.put(start, end, found)

    def _value(self, of_type: str | None, literal: str, at: int) -> Found:
        """The sharding of a closed argument or result, which the caller counts."""
        found = self._now.found.add(literal, at, Form.VALUE, (of_type,))
        if of_type is not None:
            self._now.values[of_type, literal] = found
        return found

    def _of_results(self, types: tuple[str | None, ...], literal: str, at: int) -> Found:
        """The shardings of the results of an operation, counted."""
        hlo = self._now.found.parse(literal, at)
        values = types or ("none",)  # an operation without results takes one sharding of rank 0
        if hlo.is_tuple and len(hlo.tuple_elements) != len(values):
            raise VerificationError(
                f"{plural(len(hlo.tuple_elements), 'sharding')} for {plural(len(types), 'result')}",
                rule="sharding-count",
                source=self.source,
                span=Span(at, at + len(literal)),
                notes=[_UNPACK] if len(types) == 1 and (types[0] or "").startswith("tuple<") else [],
                help="give one"
                if len(values) == 1
                else f"list {len(types)}, one for each, or give one for all",
            )
        found = self._now.found.add(literal, at, Form.RESULTS, values)
        found.count += 1
        return found

    def _remember(self, end: int, brace: int, literal: str, found: Found) -> None:
        """Keep the context of an operation's shardings, if what follows on the line tells its types."""
        text = self.text
        tail = rest_of_line(text, end)
        told = result_types(text, brace)
        if not told or matching_bracket(text, brace) > end + len(tail) or is_nested(text, brace):
            return
        if len(found.ranks) > 1 and not found.hlo.is_tuple:
            return  # one for several results means something else on control flow
        _, all_results = told
        if not text.endswith("attributes ", 0, brace) and (all_results or len(found.ranks) == 1):
            self._now.results[tail, literal] = found, not all_results

    def _call(self, call: ShardingCall, brace: int, literal: str, at: int) -> bool:
        """Make a constraint of a call of `@Sharding`; False if the call is on no tensor."""
        hlo = self._now.found.parse(literal, at)
        rank = sharding_rank(self._dictionaries.expanded(call.type))
        if hlo.is_tuple or rank is None:
            return False
        if call.open_dims and max(call.open_dims) >= rank:
            raise VerificationError(
                f"unspecified_dims names dimension {max(call.open_dims)} of a tensor of rank {rank}",
                rule="unspecified-dims",
                source=self.source,
                span=Span(call.start, call.end),
            )
        form = Form.GENERIC_CONSTRAINT if call.is_generic else Form.CONSTRAINT
        found = self._now.found.add(literal, at, form, (call.type,), call.open_dims)
        context = rest_of_line(self.text, brace)
        if not call.is_generic and brace + len(context) == call.end:
            self._now.calls[context] = found, call.type, call.kept
        self._put_call(call.start, call.end, call.operand, call.type, call.kept, found)
        return True

    def _put_call(self, start: int, end: int, operand: str, of_type: str, kept: str, found: Found) -> None:
        """Let a constraint take the place of a call of `@Sharding`."""
        found.count += 1
        self.operations["stablehlo.custom_call @Sharding"] += 1
        kept = f" {{{kept}}}" if kept else ""
        if found.form is Form.CONSTRAINT:
            head, tail = f"sdy.sharding_constraint {operand} ", f"{kept} : {of_type}"
        else:
            head, tail = f'"sdy.sharding_constraint"({operand}) <{{sharding = ', f"}}>{kept}"
        self._new.put(start, end, head)
        self._new.pieces += (found, tail)

    def write(self) -> str:
        """The new text, once every sharding has its own, and every part of `seen` its meshes."""
        declared = self._declared
        here: dict[int, set[str]] = {}
        if declared.operations:
            every = Meshes((), find_scopes(self.text))
            for operation in declared.operations:
                here.setdefault(every.scope_index(operation.span.start), set()).add(operation.name)
        return self._new.write(
            lambda module: (self.seen[module if len(self.seen) > 1 else 0].meshes, here.get(module, ()))
        )


def _is_added_form(hlo: HloSharding, types: Sequence[str | None]) -> bool:
    """Whether it is what export adds to one result: over a named mesh, any other one has dimensions."""
    named = hlo.named_sharding
    return named is not None and not named.dim_shardings and any(sharding_rank(one) for one in types)
