"""The main pass of import: every HLO sharding of a text is found, and later written in its place."""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.hlo import OpShardingType
from sdybridge.modules.annotated import Annotated, Dictionaries
from sdybridge.modules.attributes import attribute_end
from sdybridge.modules.contexts import (
    LongLines,
    PlainLines,
    is_nested,
    may_be_value,
    rest_of_line,
    type_before,
)
from sdybridge.modules.control_flow import control_flow_dictionaries
from sdybridge.modules.dictionary import find_entry
from sdybridge.modules.enclosing import Enclosing
from sdybridge.modules.found_shardings import Form, Found, FoundShardings
from sdybridge.modules.lexer import matching_bracket, parse_error
from sdybridge.modules.mesh_declarations import Opening, opening
from sdybridge.modules.meshes import Meshes, Scope, find_meshes, find_scopes
from sdybridge.modules.sharding_calls import outer_dictionary, sharding_call
from sdybridge.modules.signature import result_types, sharding_rank
from sdybridge.modules.sites import HLO_ARGUMENT, HLO_NAME, SiteKind, code_end, near_brace, read_site
from sdybridge.modules.splice import removal
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sdybridge.modules.open_values import OpenValues
    from sdybridge.modules.sharding_calls import ShardingCall
    from sdybridge.sdy import MeshAttr
    from sdybridge.target import Target

_REPORT_EVERY = 1 << 20  # characters between two progress reports
_BEFORE_KEY = frozenset(" {,\n")
_NUM_PARTITIONS = re.compile(r"mhlo\.num_partitions\s*=\s*(\d{1,18})")
_ONE_RESULT = re.compile(r"[ \t]*+%[\w$.\-]++ = ")
_RANKLESS = frozenset(
    {OpShardingType.REPLICATED, OpShardingType.MANUAL, OpShardingType.UNKNOWN, OpShardingType.UNREDUCED}
)
_UNPACK = "Shardy shards tensors: unpack the tuple into several results"


@dataclass(eq=False, slots=True)
class Declarations:
    """The meshes to declare in one module.

    Attributes:
        scope: The module, or the whole text.
        opening: Where in it they go.
        is_needed: Whether a sharding stands directly in it.
        new: Their text, once they are known.
    """

    scope: Scope
    opening: Opening
    is_needed: bool = False
    new: str = ""


class ShardingImport:
    """One import under way: what is known of the program, and the new text so far."""

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
        self.found = FoundShardings(source, target)
        self.operations: Counter[str] = Counter()
        self.removed = 0
        self._remove_added = remove_added_sharding_from_control_flow
        self._open_values = open_values
        self._pieces: list[str | Found | Declarations] = []  # the new text
        self._end = 0  # where the part of the old text ends that the pieces stand for
        self._values: dict[tuple[str, str], Found] = {}  # by the type and the string
        self._results: dict[tuple[str, str], tuple[Found, bool]] = {}  # by what follows, and the string
        self._calls: dict[str, tuple[Found, str, str]] = {}  # by the dictionary and the types
        self._dictionaries = Dictionaries(source)
        self._enclosing = Enclosing(source.text)
        self._long_lines = LongLines(source.text, HLO_ARGUMENT)
        scopes = find_scopes(source.text)
        self._scopes = [
            Declarations(scope, opening(source.text, scope.start if i else -1))
            for i, scope in enumerate(scopes)
        ]
        self._next_scope = 0
        self._inside: list[Declarations] = []  # the modules around what is read now
        self._border = 0  # from here on that may be others
        self._has_shardy = "sdy." in source.text

    @functools.cached_property
    def _has_two_kinds(self) -> bool:
        """Whether dictionaries may hold a Shardy sharding, too: then each gets a closer look."""
        return self._has_shardy and "sdy.sharding" in self.text

    @functools.cached_property
    def _has_generic_calls(self) -> bool:
        """Whether `@Sharding` may be called in the generic form, where it looks like other operations."""
        return '"Sharding"' in self.text

    @functools.cached_property
    def _control_flow(self) -> frozenset[int]:
        """Where the dictionaries of loops and conditionals open."""
        return control_flow_dictionaries(self.text)

    @functools.cached_property
    def declared(self) -> Meshes:
        """The meshes that the text declares."""
        return find_meshes(self.source) if self._has_shardy else Meshes((), ())

    def read(self, progress: Callable[[int], None] | None = None) -> None:
        """Find every sharding of the text."""
        at, end = 0, code_end(self.text)
        while at < end:
            at = self._scan(at, end, progress)
        self._pieces.append(self.text[self._end :])

    def _scan(self, at: int, end: int, progress: Callable[[int], None] | None) -> int:
        """Read from `at` on, up to `end` or past a signature that was read as a whole."""
        text, plain = self.text, PlainLines(self.text, end).start
        report_at = at + _REPORT_EVERY if progress else end
        done = at  # an offset outside strings and comments before which everything is done
        for hit in HLO_NAME.finditer(text, at, end):
            start = hit.start()
            if start < done:
                continue
            if start >= report_at and progress:
                progress(start)
                report_at = start + _REPORT_EVERY
            clear = plain(start, done) if text[start - 1] in _BEFORE_KEY and hit["value"] else -1
            if clear >= 0 and not self._has_two_kinds:
                # A large program repeats few contexts very often: these need no closer look.
                if self._signature(clear, start):
                    return self._end
                if self._repeat(start, hit.end(), hit["value"], clear):
                    done = self._end
                    continue
            site, code = read_site(text, hit, done)
            if site is None or site.kind is not SiteKind.KEY or site.name != "mhlo.sharding":
                done = code
                continue
            brace = near_brace(text, start, clear) if clear >= 0 else -1
            if brace < 0:
                brace = self._enclosing.bracket(site.start, done)
            done = self._key(site.start, site.end, brace)
        return end

    def _signature(self, start: int, at: int) -> bool:
        """Read the rest of a long line from `start` on as a whole, unless it needs a closer look."""
        opens = self._open_values.span
        if start < opens.end and at >= opens.start:
            return False
        parts = self._long_lines.split(start, at)
        if parts is None:
            return False
        text = self.text
        line_end = text.find("\n", at)
        types, values = parts[1::4], parts[3::4]
        if text.count("mhlo.sharding", start, line_end) != len(values):
            return False  # it has a key that `HLO_ARGUMENT` does not match
        counts = Counter(zip(types, values, strict=True))
        try:
            known = {
                (of_type, literal): self._values.get((of_type, literal))
                or self._value(of_type[:-2], literal, text.index(literal, text.index(of_type, start)))
                for of_type, literal in counts
            }
        except SdyBridgeError:
            return False  # raised again where it stands
        for argument, repeats in counts.items():
            known[argument].count += repeats
        self._cross_to(start)
        self._pieces.append(text[self._end : start])
        new: list[str | Found | Declarations] = [*parts]
        new[3::4] = map(known.__getitem__, zip(types, values, strict=True))
        self._pieces += new
        self._end = line_end
        return True

    def _repeat(self, start: int, end: int, literal: str, clear: int) -> bool:
        """Read what stands in a context seen before; False if it does not."""
        text = self.text
        brace = start - 1 if text[start - 1] == "{" else near_brace(text, start, clear)
        if brace < 0:
            return False
        value = self._values.get((type_before(text, brace, clear), literal))
        if value:
            if self._open_values.is_open(start):
                return False
            value.count += 1
            self._put(start, end, value)
            return True
        if text.startswith(") ", brace - 2):
            call = text.rfind("@Sharding(", clear, brace)
            if call >= 0:
                return self._repeat_call(brace, call)
        if (start - brace > 1 or text[brace - 2] == ">") and self._has_generic_calls:
            return False
        found = self._results.get((rest_of_line(text, end), literal))
        if not found or is_nested(text, brace):
            return False
        results, is_plain = found
        if is_plain and not _ONE_RESULT.match(text, clear):
            return False
        results.count += 1
        self._put(start, end, results)
        return True

    def _repeat_call(self, brace: int, at: int) -> bool:
        """Read a call `@Sharding(%operand) {...}` like one before; `at` is the symbol's place."""
        text = self.text
        context = rest_of_line(text, brace)
        known = self._calls.get(context)
        operand = text[at + len("@Sharding(") : brace - 2]
        start = at - len("stablehlo.custom_call ")
        if not known or not text.startswith("stablehlo.custom_call ", start) or not operand.startswith("%"):
            return False
        found, type_, kept = known
        self._put_call(start, brace + len(context), operand, type_, kept, found)
        return True

    def _put(self, start: int, end: int, new: Found) -> None:
        """Let `new` take the place of `text[start:end]`, which must lie behind all replaced before."""
        self._cross_to(start)
        self._pieces += (self.text[self._end : start], new)
        self._end = end

    def _cross_to(self, start: int) -> None:
        """Note that a sharding stands at `start`, which may be in another module than the one before."""
        if start < self._border:
            return
        scopes = self._scopes
        while self._next_scope < len(scopes) and scopes[self._next_scope].opening.offset <= start:
            opened = scopes[self._next_scope]
            self._next_scope += 1
            self._inside.append(opened)
            self._pieces += (self.text[self._end : opened.opening.offset], opened)
            self._end = opened.opening.offset
        while self._inside[-1].scope.end <= start:
            self._inside.pop()
        self._inside[-1].is_needed = True
        following = [one.opening.offset for one in scopes[self._next_scope : self._next_scope + 1]]
        self._border = min([self._inside[-1].scope.end, *following])

    def _key(self, start: int, at: int, brace: int) -> int:
        """Read the dictionary entry at `start`, whose value is at `at`; return where it is done."""
        text = self.text
        end = attribute_end(text, at)
        if brace < 0:
            raise parse_error(text, start, "the key mhlo.sharding stands outside of any dictionary", end=end)
        if text[brace] != "{":
            return end  # it is about something else
        inner = -1
        if is_nested(text, brace):
            inner, brace = brace, outer_dictionary(text, brace, self.found.aliases)
            if brace < 0:
                return end
        literal = self.found.literal(at, end)
        twice = self._second_sharding(brace, inner)
        if twice:
            raise VerificationError(
                f"there is {twice} beside the HLO sharding",
                rule="sharding-twice",
                source=self.source,
                span=Span(start, end),
                help="keep one of them",
            )
        call = sharding_call(text, brace, self.found.aliases)
        if call and self._call(call, brace, literal, at):
            return self._end
        about = self._dictionaries.at(brace)
        hlo = self.found.parse(literal, at)
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
            and len(about.types) > 1
            and brace in self._control_flow
        ):
            self.removed += 1
            self._remove(start, end)
        else:
            found = self._of_results(about.types, literal, at)
            if inner < 0:
                self._put(start, end, found)
                self._remember(end, brace, literal, found)
            else:
                self._put_outside(start, end, inner, found)
        return max(end, self._end)

    def _second_sharding(self, brace: int, inner: int) -> str:
        """What other sharding the dictionary at `brace` has, if any."""
        if self._has_two_kinds and find_entry(self.text, brace, "sdy.sharding"):
            return "a Shardy sharding"
        return "another one" if inner >= 0 and find_entry(self.text, brace, "mhlo.sharding") else ""

    def _put_outside(self, start: int, end: int, inner: int, found: Found) -> None:
        """Let `found` take the place of `text[start:end]`, but behind the dictionary at `inner` around it."""
        self._cross_to(start)
        first, last = removal(self.text, start, end, inner + 1)
        close = matching_bracket(self.text, inner)
        self._pieces += (self.text[self._end : first], self.text[last:close], ", ", found)
        self._end = close

    def _remove(self, start: int, end: int) -> None:
        """Remove the dictionary entry at `text[start:end]`."""
        self._cross_to(start)
        first, last = removal(self.text, start, end, self._end)
        self._pieces.append(self.text[self._end : first])
        self._end = last

    def _put_value(self, start: int, end: int, of_type: str | None, literal: str, at: int) -> None:
        """Read the sharding of an argument or result."""
        if self._open_values.is_open(start):
            found = self.found.add(literal, at, Form.VALUE, (of_type,), open_dims=True)
        else:
            found = self._value(of_type, literal, at)
        found.count += 1
        self._put(start, end, found)

    def _value(self, of_type: str | None, literal: str, at: int) -> Found:
        """The sharding of a closed argument or result, which the caller counts."""
        found = self.found.add(literal, at, Form.VALUE, (of_type,))
        if of_type is not None:
            self._values[of_type, literal] = found
        return found

    def _of_results(self, types: tuple[str | None, ...], literal: str, at: int) -> Found:
        """The shardings of the results of an operation, counted."""
        hlo = self.found.parse(literal, at)
        values = types or ("none",)  # an operation without results takes one sharding of rank 0
        if hlo.is_tuple and len(hlo.tuple_elements) != len(values):
            raise VerificationError(
                f"{_counted(len(hlo.tuple_elements), 'sharding')} for {_counted(len(types), 'result')}",
                rule="sharding-count",
                source=self.source,
                span=Span(at, at + len(literal)),
                notes=[_UNPACK] if len(types) == 1 and (types[0] or "").startswith("tuple<") else [],
                help="give one"
                if len(values) == 1
                else f"list {len(types)}, one for each, or give one for all",
            )
        found = self.found.add(literal, at, Form.RESULTS, values)
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
            self._results[tail, literal] = found, not all_results

    def _call(self, call: ShardingCall, brace: int, literal: str, at: int) -> bool:
        """Make a constraint of a call of `@Sharding`; False if the call is on no tensor."""
        hlo = self.found.parse(literal, at)
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
        found = self.found.add(literal, at, form, (call.type,), call.open_dims)
        context = rest_of_line(self.text, brace)
        if not call.is_generic and brace + len(context) == call.end:
            self._calls[context] = found, call.type, call.kept
        self._put_call(call.start, call.end, call.operand, call.type, call.kept, found)
        return True

    def _put_call(self, start: int, end: int, operand: str, of_type: str, kept: str, found: Found) -> None:
        """Let a constraint take the place of a call of `@Sharding`."""
        self._cross_to(start)
        found.count += 1
        self.operations["stablehlo.custom_call @Sharding"] += 1
        kept = f" {{{kept}}}" if kept else ""
        if found.form is Form.CONSTRAINT:
            head, tail = f"sdy.sharding_constraint {operand} ", f"{kept} : {of_type}"
        else:
            head, tail = f'"sdy.sharding_constraint"({operand}) <{{sharding = ', f"}}>{kept}"
        self._pieces += (self.text[self._end : start], head, found, tail)
        self._end = end

    def write(self, meshes: Mapping[str, MeshAttr]) -> str:
        """The new text, once every sharding has its own, with `meshes` in each module that needs them."""
        places = Meshes((), tuple([one.scope for one in self._scopes]))
        here: dict[int, set[str]] = {}
        for operation in self.declared.operations:
            here.setdefault(places.scope_index(operation.span.start), set()).add(operation.name)
        for i, one in enumerate(self._scopes):
            if one.is_needed:
                known = here.get(i, set())
                one.new = one.opening.declare([m for m in meshes.items() if m[0] not in known])
        return "".join([piece if isinstance(piece, str) else piece.new for piece in self._pieces])


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
