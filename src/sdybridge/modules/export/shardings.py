"""The main pass of export: every sharding and every operation of Shardy's in a text, converted in place."""

from __future__ import annotations

import functools
import re
from collections import Counter
from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.modules.converted import ConvertedSharding
from sdybridge.modules.export.computations import ComputationExport
from sdybridge.modules.export.conversions import Conversions, LateMesh
from sdybridge.modules.export.operations import CONSTRAINTS, ConstraintForm, export_operation
from sdybridge.modules.export.reductions import Operands
from sdybridge.modules.export.tally import Tally
from sdybridge.modules.export.text import ExportedText
from sdybridge.modules.mlir.annotated import Dictionaries
from sdybridge.modules.mlir.attributes import attribute_end
from sdybridge.modules.mlir.computations import has_computations
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
from sdybridge.modules.mlir.lexer import SYMBOL, holds, matching_bracket, parse_error, symbol_name
from sdybridge.modules.mlir.long_lines import LongLines, Notation
from sdybridge.modules.mlir.signature import value_type
from sdybridge.modules.mlir.sites import (
    NAME,
    RULE_DICTIONARY,
    RULE_ENTRY,
    SiteKind,
    code_end,
    near_brace,
    read_site,
)
from sdybridge.modules.progress import REPORT_EVERY
from sdybridge.modules.splice import removal
from sdybridge.sdy import (
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdybridge.modules.export.text import Part
    from sdybridge.modules.mlir.computations import Computation, ManualScope
    from sdybridge.modules.mlir.sites import Site
    from sdybridge.target import Target

_REPLICA_GROUP_MESH = re.compile(rf"#stablehlo\.replica_group_mesh_axes<\s*+mesh\s*+=\s*+({SYMBOL})")
_KEY = "sdy.sharding = #sdy.sharding_per_value<["
_BEFORE_KEY = frozenset(" {,\n")
_REPEATED = frozenset({"value", "values", "rule"})
_PASS_KEYS = frozenset({"sdy.sharding_rule", "xla.sdy.manual_axes"})


Contexts = dict[tuple[str, str], ConvertedSharding]
"""What was converted, by the types and the text."""

Copies = dict[tuple[str, str], tuple[ConvertedSharding, str, str]]
"""What constraints became, by the type and the text: the sharding, and what stands around the operand."""


def export_shardings(
    source: Source,
    target: Target,
    constraints: ConstraintForm,
    progress: Callable[[int], None] | None = None,
) -> tuple[ShardingExport, str]:
    """Convert every sharding of a text; return what was done, and the new text.

    Almost always, all meshes stand before the first function. Where one comes later, what was converted,
    or wrong, before it may be on it, and the work is done once more.
    """
    export = ShardingExport(source, target, constraints)
    try:
        return export, export.run(progress)
    except (LateMesh, SdyBridgeError) as error:
        if not isinstance(error, LateMesh) and not export.declares_late_meshes():
            raise
    export = ShardingExport(source, target, constraints, all_meshes=True)
    return export, export.run(progress)


class ShardingExport(Conversions):
    """One export under way: what is known of the program, and the new text so far."""

    def __init__(
        self, source: Source, target: Target, constraints: ConstraintForm, *, all_meshes: bool = False
    ) -> None:
        super().__init__(source, target, all_meshes=all_meshes)
        self.constraints = constraints
        self.operations: Counter[str] = Counter()
        self.added = 0  # shardings of operations that had none
        self.computations: ComputationExport | None = None
        self.has_aliases = False
        self.new = ExportedText(source.text)
        self._dictionaries = Dictionaries(source)
        self._enclosing = Enclosing(source.text)
        self._plain = PlainLines(source.text, len(source.text))
        self._long_lines = LongLines(source.text, Notation.SDY)
        self._known: dict[ManualScope | None, tuple[Contexts, Copies]] = {}
        self._set_scope(None)
        self.operands = Operands(source, target)
        self.channel = 0  # the last one that is in use

    @functools.cached_property
    def replica_group_meshes(self) -> frozenset[str]:
        """The meshes that collectives name as their replica groups."""
        if not holds(self.text, "replica_group_mesh_axes"):
            return frozenset()
        return frozenset(map(symbol_name, _REPLICA_GROUP_MESH.findall(self.text)))

    @functools.cached_property
    def has_unreduced(self) -> bool:
        """Whether values may be unreduced."""
        return holds(self.text, "unreduced")

    def run(self, progress: Callable[[int], None] | None = None) -> str:
        """Convert the whole text; return the new one."""
        at, end = 0, code_end(self.text)
        if has_computations(self.text) or self.has_unreduced:
            self.computations = ComputationExport(self)
            return self.computations.run(progress)
        if len(self.meshes.scopes) == 1:
            at = self._scan_lines(end, progress)
        self._scan_to(at, end, progress)
        return self.new.join(len(self.text))

    def _scan_to(self, at: int, end: int, progress: Callable[[int], None] | None = None) -> int:
        """Convert from `at` on, at least up to `end`; return up to where."""
        while at < end:
            at = self.scan(at, end, progress)
        return at

    def _scan_lines(self, end: int, progress: Callable[[int], None] | None) -> int:
        """Convert the text up to its last line with the shardings of results; return up to where.

        A large program repeats few lines very often, up to the names of values. So the text is cut at the
        keys of shardings, and what follows one, up to the end of the line, is looked up.
        """
        text, new, head = self.text, self.new, RESULT_LINE.match
        known: dict[str, tuple[ConvertedSharding, int]] = {}  # by the rest of the line, with the key's length
        lines = KeyLines(text, _KEY, "sdy.sharding_per_value", end, progress)
        for at, line, start, rest in lines:
            done = lines.done
            if text.find("sdy.", done, at) >= 0:
                line_start = text.rfind("\n", done, at) + 1
                lines.done = done = self._remove_rules(done, line_start) if line_start else done
                if at < done:
                    continue
            if rest in known and head(line, start) and line.find("sdy.", start) < 0:
                converted, length = known[rest]
                converted.count += 1
                new.pieces += (new.old(at), converted.attribute)
                lines.done = new.end = at + length
            else:
                line_end = text.find("\n", at, end)
                lines.done = self._scan_to(done, end if line_end < 0 else line_end)
                repeated = self._repeated(at, at + len(_KEY) + len(rest))
                if repeated:
                    known[rest] = repeated
        return lines.done

    def _remove_rules(self, start: int, end: int) -> int:
        """Convert lines that almost always hold no more of Shardy than sharding rules; return up to where."""
        old = self.text[start:end]
        if not ('"' in old or "/" in old or "\\" in old):
            new = RULE_DICTIONARY.sub("", old)
            if "sdy." not in new:
                self.new.replace(start, end, new)
                return end
        return self._scan_to(start, end)

    def _repeated(self, at: int, end: int) -> tuple[ConvertedSharding, int] | None:
        """What the key at `at` became, and its length with its value, if the text up to `end` decides."""
        hit = NAME.match(self.text, at)
        if not hit or not hit["values"] or "sdy." in self.text[hit.end() : end]:
            return None
        converted = self._contexts.get((rest_of_line(self.text, hit.end()), hit["values"]))
        return (converted, hit.end() - at) if converted else None

    def scan(self, at: int, end: int, progress: Callable[[int], None] | None) -> int:  # noqa: C901  (hot)
        """Convert from `at` on, up to `end` or past a signature that was converted as a whole."""
        text = self.text
        new, plain = self.new, self._plain.start
        pieces = new.pieces
        report_at = at + REPORT_EVERY if progress else end
        done = at  # an offset outside strings and comments before which everything is done
        brace = -1  # of the dictionary that the last thing stood in, if that was a key
        for hit in NAME.finditer(text, at, end):
            start = hit.start()
            if start < done:
                continue
            if start >= report_at and progress:
                progress(start)
                report_at = start + REPORT_EVERY
            clear = plain(start, done) if text[start - 1] in _BEFORE_KEY else -1
            if clear >= 0:
                # A large program repeats few contexts very often: these need no closer look.
                kind = hit.lastgroup
                if kind == "type":
                    name, operand, sharding, of_type = hit.group("name", "operand", "sharding", "type")
                    known = self._copies.get((of_type, sharding))
                    if known and name in CONSTRAINTS:
                        converted, head, tail = known
                        converted.count += 1
                        self.operations[name] += 1
                        pieces += (new.old(start), head, new.renamed(operand, start), tail)
                        done = new.end = hit.end()
                        brace = -1
                        continue
                elif kind in _REPEATED:
                    if kind == "value" and self._signature(clear, start, end):
                        return new.end
                    if self._repeat(hit, start, clear):
                        done = new.end
                        brace = -1
                        continue
            site, code = read_site(text, hit, done)
            if site is not None and site.kind is SiteKind.KEY:
                # Most dictionaries open right before the key, or held the key before this one.
                if text[site.start - 1] == "{":
                    brace = site.start - 1
                elif brace < 0 or text[done : site.start] != ", ":
                    brace = self._enclosing.bracket(site.start, done)
                done = self._key(site, brace)
                continue
            brace = -1
            if site is None:
                done = code
            elif site.kind is SiteKind.ATTRIBUTE:  # in an alias definition, or in an attribute that stays
                self.has_aliases = True
                done = code
            else:
                done = export_operation(self, site)
                if new.pieces is not pieces:  # a computation opens, and what follows is a part of its own
                    return done
        return max(done, end)  # a value may go on behind `end`

    def _signature(self, start: int, at: int, end: int) -> bool:
        """Convert the rest of a long line from `start` on as a whole, unless it needs a closer look."""
        line = self._long_lines.split(start, at, end)
        if line is None:
            return False
        text = self.text
        try:
            known = {
                (of_type, value): self._contexts.get((of_type, value))
                or self._argument(of_type, value, text.index(value, text.index(of_type, start)))
                for of_type, value in line.counts
            }
        except SdyBridgeError:
            return False  # raised again where it stands
        for argument, repeats in line.counts.items():
            known[argument].count += repeats
        attributes = {argument: converted.attribute for argument, converted in known.items()}
        self.new.replace(start, line.end, "".join(line.filled(attributes)))
        return True

    def _argument(self, of_type: str, value: str, at: int) -> ConvertedSharding:
        """Convert the sharding `value` at `at` of a value of this type, the first one of its kind."""
        attr = TensorShardingAttr.from_string(value, target=self.target)
        converted = self.convert(attr, at, [of_type.removesuffix(" {")])
        converted.count -= 1  # the caller counts
        if len(self.meshes.scopes) == 1:
            self._contexts[of_type, value] = converted
        return converted

    def begin(
        self, start: int, scope: ManualScope | None, computation: Computation | None = None
    ) -> tuple[Part, ManualScope | None]:
        """Write what follows from `start` on, in which `scope` is manual, apart from the rest.

        Returns:
            What was under way, and what is manual there.
        """
        outside = self.new.begin(start, computation), self.scope
        self._set_scope(scope)
        return outside

    def finish(self, end: int, outside: tuple[Part, ManualScope | None]) -> str:
        """The new text of the part that ends at `end`; go on with what was under way before it."""
        part, scope = outside
        self._set_scope(scope)
        return self.new.finish(end, part)

    def rewind(self) -> None:
        """Forget where the reading of the text was: it goes on before that."""
        self._enclosing = Enclosing(self.text)
        self._plain = PlainLines(self.text, len(self.text))
        self._long_lines = LongLines(self.text, Notation.SDY)

    def _set_scope(self, scope: ManualScope | None) -> None:
        self.scope = scope
        self._contexts, self._copies = self._known.setdefault(scope, ({}, {}))

    def _repeat(self, hit: re.Match[str], start: int, clear: int) -> bool:
        """Convert what stands in a context seen before; False if it does not.

        From `clear` on there are no escapes and no comments.
        """
        text = self.text
        end = hit.end()
        if hit.lastgroup == "rule":
            if text[start - 2 : start] == " {" and text.startswith("}", end) and text[start - 3] not in "s=":
                self.new.replace(start - 2, end + 1, "")  # the whole dictionary, not behind `attributes`
                return True
            return False
        brace = start - 1 if text[start - 1] == "{" else near_brace(text, start, clear)
        if brace < 0 or hit["name"] != "sdy.sharding" or text.find("mhlo.sharding", brace, start) >= 0:
            return False
        if hit.lastgroup == "value":
            context = type_before(text, brace, clear), hit["value"]
        elif _is_own(text, brace, start):
            context = rest_of_line(text, end), hit["values"]
        else:
            return False
        converted = self._contexts.get(context)
        if not converted:
            return False
        converted.count += 1
        self.new.replace(start, end, converted.attribute)
        return True

    def _key(self, site: Site, brace: int) -> int:
        """Convert or remove the dictionary entry at `site`; return where its value ends."""
        text = self.text
        _, name, start, at, _ = site
        end = attribute_end(text, at)
        if brace < 0:
            raise parse_error(text, start, f"the key {name} stands outside of any dictionary", end=end)
        is_ours = name == "sdy.sharding" or name in _PASS_KEYS
        if not is_ours or text[brace] != "{" or not _is_own(text, brace, brace):
            return end
        if name == "sdy.sharding_rule":
            # XLA keeps the rules that a user gave; a consumer of StableHLO alone cannot read them.
            if self.constraints is ConstraintForm.CUSTOM_CALL or not text.endswith("custom>", at, end):
                self._remove_entry(start, end)
        elif name == "xla.sdy.manual_axes" and not value_type(text, brace):
            self.has_aliases |= not text.startswith("#sdy", at)
            self._remove_entry(start, end)
        elif name == "sdy.sharding":
            attr = self.parse(at, end, site.value)
            self._remove_old(brace, start)
            if isinstance(attr, TensorShardingAttr):
                self._convert_value(site, brace, end, attr)
            elif attr.shardings:
                return self._convert_results(site, brace, end, attr)
            else:  # an empty list is no sharding
                self._remove_entry(start, end)
        return end

    def _remove_old(self, brace: int, start: int) -> None:
        """The new sharding takes the place of an HLO sharding that stands before it in its dictionary."""
        if self.text.find("mhlo.sharding", brace, start) < 0:
            return
        old = find_entry(self.text, brace, "mhlo.sharding")
        if old and old.span.start < start:
            self.new.replace(*removal(self.text, old.span.start, old.span.end, self.new.end), "")

    def _convert_value(self, site: Site, brace: int, end: int, attr: TensorShardingAttr) -> None:
        """Convert the sharding of the argument or result whose dictionary opens at `brace`."""
        text = self.text
        of_type = value_type(text, brace)
        is_unknown = of_type is None and not may_be_value(text, brace)
        if is_unknown or (of_type and of_type.startswith("!")):
            about = self._dictionaries.at(brace)
            of_type = about.types[0] if about and about.is_value else of_type
            is_unknown = is_unknown and not (about and about.is_value)
        if is_unknown:
            raise VerificationError(
                "an operation's shardings must be a list, one for each of its results",
                rule="sharding-kind",
                source=self.source,
                span=Span(site.end, end),
                help=f"write `#sdy.sharding_per_value<[{attr.stripped}]>`",
            )
        converted = self.convert(attr, site.end, [of_type])
        if site.value and of_type and len(self.meshes.scopes) == 1:
            self._contexts[of_type, site.value] = converted
        self.new.replace(site.start, end, converted.attribute)

    def _convert_results(self, site: Site, brace: int, end: int, attr: TensorShardingPerValueAttr) -> int:
        """Convert the shardings of the results of the operation whose dictionary opens at `brace`."""
        text = self.text
        if self.is_foreign(*attr.shardings, at=site.end):
            self._remove_entry(site.start, end)
            return end
        types = self.result_types(brace, Span(site.end, end), attr)
        rule = RULE_ENTRY.match(text, end)
        end = rule.end() if rule else end
        converted = self.convert(attr, site.end, types, self.manual_axes(brace))
        tail = rest_of_line(text, end)
        is_whole = end + len(tail) >= matching_bracket(text, brace)  # the same text means the same dictionary
        if site.value and is_whole and _is_own(text, brace, site.start) and len(self.meshes.scopes) == 1:
            self._contexts[tail, site.value] = converted
        self.new.replace(site.start, end, converted.attribute)
        return end

    def copy(self, converted: ConvertedSharding, sharding: str, of_type: str) -> tuple[str, str]:
        """What a constraint of this text and type becomes: what to write before and behind its operand."""
        head, tail = self.copy_of(converted.attribute, of_type)
        if len(self.meshes.scopes) == 1:
            self._copies[of_type, sharding] = converted, head, tail
        return head, tail

    def copy_of(self, attribute: str, of_type: str) -> tuple[str, str]:
        """A copy of a value of this type with this sharding: what stands before and behind the operand."""
        if self.constraints is ConstraintForm.CUSTOM_CALL:
            return "stablehlo.custom_call @Sharding(", f") {{{attribute}}} : ({of_type}) -> {of_type}"
        return "mhlo.copy ", f" {{{attribute}}} : {of_type}"

    def tally(self) -> Tally:
        """What was done up to now."""
        counts = Counter({converted: converted.count for converted in self._converted.values()})
        symbols = len(self.computations.symbols.made) if self.computations else 0
        return Tally(counts, self.operations.copy(), self.added, self.new.names, symbols)

    def add_tally(self, tally: Tally, times: int) -> None:
        """Count what was done some times more."""
        for converted, count in tally.counts.items():
            converted.count += count * times
        self.operations.update({name: count * times for name, count in tally.operations.items()})
        self.added += tally.added * times

    def _remove_entry(self, start: int, end: int) -> None:
        self.new.replace(*removal(self.text, start, end, self.new.end), "")


def _is_own(text: str, brace: int, start: int) -> bool:
    """Whether the dictionary at `brace` is no entry of another, and names no manual axes before `start`."""
    return not is_nested(text, brace) and text.find("xla.sdy.", brace, start) < 0
