"""Export of a whole program: MLIR text with Shardy shardings to the same text with HLO shardings.

The text is spliced, not reprinted: each place that carries a sharding is replaced, each distinct sharding
is converted once, and every other byte stays.
"""

from __future__ import annotations

import bisect
import enum
import functools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge import convert_to_hlo_sharding, export_losses, resolve_mesh
from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding
from sdybridge.modules.attributes import attribute_end, find_aliases, has_alias, quote, without_unused_aliases
from sdybridge.modules.callbacks import retuple_callbacks
from sdybridge.modules.control_flow import REPLICATED, find_missing_shardings
from sdybridge.modules.dictionary import find_entry
from sdybridge.modules.export_operations import export_operation
from sdybridge.modules.lexer import matching_bracket, parse_error
from sdybridge.modules.meshes import find_meshes
from sdybridge.modules.signature import result_types, sharding_rank, value_type
from sdybridge.modules.sites import SiteKind, find_sites, opening_brace
from sdybridge.modules.splice import removal, splice
from sdybridge.sdy import (
    ManualAxesAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
    locate,
    parse_prefix,
    verify_sharding,
)
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sdybridge.bridge import Loss
    from sdybridge.modules.splice import Edit
    from sdybridge.sdy import MeshAttr

    Context = tuple[str, str]

_PASS_KEYS = frozenset({"sdy.sharding_rule", "xla.sdy.manual_axes"})
_TYPE_LENGTH = 200  # how far before a dictionary the type that it belongs to is looked for
_REPORT_EVERY = 1 << 20  # characters between two progress reports


class ConstraintForm(enum.Enum):
    """How a sharding constraint or reshard is written after export.

    Attributes:
        COPY: `mhlo.copy`, as XLA's pipeline writes it. Needs a consumer that knows the mhlo dialect.
        CUSTOM_CALL: `stablehlo.custom_call @Sharding`, which every StableHLO consumer reads.
    """

    COPY = "mhlo.copy"
    CUSTOM_CALL = "stablehlo.custom_call @Sharding"


@dataclass
class ConvertedSharding:
    """One distinct sharding text of a program, and what became of it.

    Attributes:
        before: The Shardy text: `#sdy.sharding<...>`, `#sdy.sharding_per_value<...>` or `<...>`.
        after: The HLO text, a tuple `{{...}, {...}}` for several values.
        count: At how many places it stands.
        first: The offset of the first of them.
        losses: What the HLO form does not hold.
    """

    before: str
    after: str
    count: int
    first: int
    losses: tuple[Loss, ...]

    @functools.cached_property
    def attribute(self) -> str:
        """The dictionary entry that holds the HLO text."""
        return f"mhlo.sharding = {quote(self.after)}"


@dataclass(frozen=True, slots=True)
class ExportResult:
    """A converted program and what was done to it.

    Attributes:
        text: The program with HLO shardings.
        shardings: Every distinct sharding, most frequent first.
        operations: How many Shardy operations of each name were rewritten or removed.
        meshes: The meshes that the program declared, by name.
        added: How many control-flow operations got the `{replicated}` that XLA gives to those without.
    """

    text: str
    shardings: tuple[ConvertedSharding, ...]
    operations: Mapping[str, int]
    meshes: Mapping[str, MeshAttr]
    added: int

    @property
    def sites(self) -> int:
        """At how many places a sharding was converted."""
        return sum(sharding.count for sharding in self.shardings)

    @property
    def losses(self) -> tuple[tuple[Loss, int], ...]:
        """Each distinct loss, and at how many places it happened."""
        counts: Counter[Loss] = Counter()
        for sharding in self.shardings:
            for loss in sharding.losses:
                counts[loss] += sharding.count
        return tuple(counts.items())


def export_module(
    text: str,
    *,
    name: str = "<string>",
    target: Target = Target.CURRENT,
    constraints: ConstraintForm = ConstraintForm.COPY,
    add_missing_sharding_to_control_flow: bool = True,
    progress: Callable[[int], None] | None = None,
) -> ExportResult:
    """Convert every Shardy sharding of a program to an HLO sharding, as XLA's StableHLO export does.

    Args:
        text: MLIR text, pretty or generic, of any dialects and versions.
        name: The name of the text, for errors.
        target: Whose conventions to follow; see `Target`.
        constraints: What `sdy.sharding_constraint` and `sdy.reshard` become.
        add_missing_sharding_to_control_flow: Give `{replicated}` to every `while`, `case` and `if` that has
            no sharding, as XLA does by default.
        progress: Called now and then with the number of characters that are done.

    Raises:
        ParseError: A sharding or a Shardy operation is malformed.
        VerificationError: A sharding is not valid where it stands.
        ConversionError: A sharding has no HLO form, or an operation is not supported yet.

    Example:
        >>> text = '''
        ... sdy.mesh @mesh = <["x"=2]>
        ... func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) { return }
        ... '''
        >>> print(export_module(text).text.strip())
        func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) { return }

    Source: `addStablehloExportPipeline` in xla's
    `service/spmd/shardy/stablehlo_round_trip/stablehlo_export.cc`.
    """
    export = Export(Source(text, name), target, constraints)
    missing = find_missing_shardings(text) if add_missing_sharding_to_control_flow else {}
    export.empty_lists = frozenset(brace for brace, edit in missing.items() if edit is None)
    export.run(progress)
    callbacks = list(retuple_callbacks(text, export.attribute_in))
    new = splice(text, [*export.edits, *filter(None, missing.values()), *callbacks])
    return ExportResult(
        text=without_unused_aliases(new) if export.has_aliases else new,
        shardings=export.shardings,
        operations=dict(export.operations),
        meshes={operation.name: operation.mesh for operation in export.meshes.operations},
        added=len(missing),
    )


class Export:
    """One export under way: what is known of the program, and the edits collected so far."""

    def __init__(self, source: Source, target: Target, constraints: ConstraintForm) -> None:
        self.source = source
        self.text = source.text
        self.target = target
        self.constraints = constraints
        self.edits: list[Edit] = []
        self.operations: Counter[str] = Counter()
        self.has_aliases = False
        self.empty_lists: frozenset[int] = frozenset()  # braces of control flow with an empty list
        self.meshes = find_meshes(source)
        self.known_copies: dict[tuple[str, ...], ConvertedSharding] = {}  # by sharding and type
        self._converted: dict[tuple[object, ...], ConvertedSharding] = {}
        self._by_context: dict[Context, ConvertedSharding] = {}

    @property
    def portable(self) -> bool:
        """Whether to write StableHLO operations only."""
        return self.constraints is ConstraintForm.CUSTOM_CALL

    @functools.cached_property
    def aliases(self) -> Mapping[str, str]:
        """The text of every attribute alias; only read for a program that uses one."""
        return {name: alias.value for name, alias in find_aliases(self.text).items()}

    def aliases_in(self, value: str) -> Mapping[str, str] | None:
        """The aliases, if the text of an attribute refers to any; finding them means reading all lines."""
        return self.aliases if has_alias(value) else None

    @property
    def shardings(self) -> tuple[ConvertedSharding, ...]:
        """Every distinct sharding that was converted, most frequent first."""
        return tuple(sorted(self._converted.values(), key=lambda s: (-s.count, s.first)))

    def run(self, progress: Callable[[int], None] | None) -> None:
        """Collect the edits for every Shardy name of the program."""
        text = self.text
        known = self._by_context.get
        report_at = _REPORT_EVERY if progress else len(text) + 1
        key, attribute = SiteKind.KEY, SiteKind.ATTRIBUTE
        done = 0  # where the last use ended
        brace = -1  # of the dictionary that it stood in
        for kind, name, start, at, value in find_sites(text):
            if start < done:
                continue
            if progress and start >= report_at:
                progress(start)
                report_at = start + _REPORT_EVERY
            if kind is key:
                # Most dictionaries open right before the key, or held the key before this one.
                if text[start - 1] == "{":
                    brace = start - 1
                elif brace < done or text[done:start] != ", ":
                    brace = opening_brace(text, start)
                if name != "sdy.sharding":
                    done = self._other_key(name, start, at, brace)
                    continue
                context = _context(text, start, at, brace, value) if value else None
                converted = known(context) if context else None
                if converted and value:
                    converted.count += 1
                    done = at + len(value)
                    self.edits.append((start, done, converted.attribute))
                else:
                    done = self._sharding(start, at, brace, context)
            elif kind is attribute:  # in an alias definition, or in an attribute that stays
                self.has_aliases = True
                done = at
            else:
                self.operations[name] += 1
                done = export_operation(self, name, start, at, generic=kind is SiteKind.GENERIC_OPERATION)

    def _sharding(self, start: int, at: int, brace: int, context: Context | None) -> int:
        """Convert the key `sdy.sharding` at `start`, whose value starts at `at`; return where that ends."""
        text = self.text
        end = attribute_end(text, at)
        if brace < 0:
            raise parse_error(text, start, "a sharding stands outside of any dictionary", end=end)
        if _is_nested(text, brace):
            return end
        attr = self._parse(at, end)
        manual_axes: tuple[str, ...] = ()
        if isinstance(attr, TensorShardingAttr):
            types: Sequence[str | None] = [self._annotated_value(brace, at, end)]
        elif attr.shardings:
            types = self._annotated_results(brace, at, end, attr)
            manual_axes = self._manual_axes(brace)
        else:
            self._empty_list(start, end, brace)
            return end
        converted = self.convert(attr, at, types, manual_axes)
        if context and len(self.meshes.scopes) == 1:
            self._by_context[context] = converted
        self.edits.append((start, end, converted.attribute))
        return end

    def convert(
        self,
        attr: TensorShardingAttr | TensorShardingPerValueAttr,
        at: int,
        types: Sequence[str | None],
        manual_axes: tuple[str, ...] = (),
    ) -> ConvertedSharding:
        """Convert the attribute at offset `at` that annotates values of `types` (None: not known)."""
        shardings = attr.shardings if isinstance(attr, TensorShardingPerValueAttr) else (attr,)
        meshes = self.meshes.at(at)
        i = 0
        try:
            for i, (sharding, value) in enumerate(zip(shardings, types, strict=True)):  # noqa: B007
                mesh = resolve_mesh(sharding, meshes)
                verify_sharding(sharding, mesh, rank=sharding_rank(value), manual_axes=manual_axes)
            key = (attr, manual_axes, self.meshes.scope_index(at))
            converted = self._converted.get(key)
            if converted is None:
                converted = self._converted[key] = self._convert(attr, shardings, meshes, manual_axes, at)
            converted.count += 1
        except VerificationError as error:
            if not isinstance(attr, TensorShardingAttr):
                error.path = ("shardings", i, *error.path)
            raise locate(
                error, self.source, at, type(attr), target=self.target, aliases=self.aliases
            ) from None
        except SdyBridgeError as error:
            raise error.located(self.source, Span(at, attribute_end(self.text, at))) from None
        return converted

    def _convert(
        self,
        attr: TensorShardingAttr | TensorShardingPerValueAttr,
        shardings: Sequence[TensorShardingAttr],
        meshes: Mapping[str, MeshAttr],
        manual_axes: tuple[str, ...],
        at: int,
    ) -> ConvertedSharding:
        target = self.target
        hlo = [convert_to_hlo_sharding(s, meshes, manual_axes=manual_axes, target=target) for s in shardings]
        whole = hlo[0] if len(hlo) == 1 else HloSharding.flat_tuple(hlo)
        losses = [
            loss for s in shardings for loss in export_losses(s, resolve_mesh(s, meshes), target=target)
        ]
        after = whole.to_string(include_metadata=target is Target.NEWER, target=target)
        return ConvertedSharding(str(attr), after, 0, at, tuple(losses))

    def _parse(self, at: int, end: int) -> TensorShardingAttr | TensorShardingPerValueAttr:
        """The sharding at `at`, which may be an alias."""
        spelled = self.text[at:end]
        aliases = self.aliases_in(spelled)
        seen = set()
        while aliases and spelled[1:] in aliases and spelled not in seen:
            seen.add(spelled)
            spelled = aliases[spelled[1:]]
        if not spelled.startswith("#"):
            raise VerificationError(
                "`sdy.sharding` must hold a sharding",
                rule="carrier-kind",
                source=self.source,
                span=Span(at, end),
                help="write `#sdy.sharding<...>` on a value, `#sdy.sharding_per_value<...>` on an operation",
            )
        per_value = spelled.startswith(("#sdy.sharding_per_value", "#sdy<sharding_per_value"))
        cls = TensorShardingPerValueAttr if per_value else TensorShardingAttr
        return parse_prefix(self.source, at, cls, target=self.target, aliases=aliases)[0]

    def _annotated_value(self, brace: int, at: int, end: int) -> str | None:
        """The type of the argument or result whose dictionary opens at `brace`, if it stands before it."""
        annotated = value_type(self.text, brace)
        if annotated is None and _character_before(self.text, brace) not in "[,":
            raise VerificationError(
                "an operation's shardings must be a list, one for each of its results",
                rule="carrier-kind",
                source=self.source,
                span=Span(at, end),
                help=f"write `#sdy.sharding_per_value<[{self.text[at:end].removeprefix('#sdy.sharding')}]>`",
            )
        return annotated

    def _annotated_results(
        self, brace: int, at: int, end: int, attr: TensorShardingPerValueAttr
    ) -> Sequence[str | None]:
        """The types of the results that the list at `at` annotates, None where they are not known."""
        text = self.text
        count = len(attr.shardings)
        if value_type(text, brace):
            raise VerificationError(
                "an argument or result takes one sharding, not a list",
                rule="carrier-kind",
                source=self.source,
                span=Span(at, end),
                help=f"write `{attr.shardings[0]}`" if count == 1 else None,
            )
        found = result_types(text, brace)
        if found is None:
            return [None] * count
        types, all_results = found
        if all_results and not types and count == 1 and attr.shardings[0].is_fully_replicated:
            return ["none"]  # an operation without results takes one sharding of rank 0
        if len(types) == count:
            return types
        if all_results or count != 1:
            raise VerificationError(
                f"{count} shardings annotate {len(types)} {'result' if len(types) == 1 else 'results'}",
                rule="sharding-count",
                source=self.source,
                span=Span(at, end),
                help=f"list {len(types)}, one for each result",
            )
        return types[-1:]

    def _manual_axes(self, brace: int) -> tuple[str, ...]:
        """The axes that XLA's passes recorded as manual in the operation dictionary at `brace`."""
        entry = find_entry(self.text, brace, "xla.sdy.manual_axes")
        if entry is None or entry.value is None:
            return ()
        attr, _ = parse_prefix(self.source, entry.value.start, ManualAxesAttr, aliases=self.aliases)
        return attr.value

    def _empty_list(self, start: int, end: int, brace: int) -> None:
        """An empty list is no sharding: it goes, or becomes what control flow without a sharding gets."""
        if brace in self.empty_lists:
            self.edits.append((start, end, REPLICATED))
        else:
            self._remove_entry(start, end)

    def attribute_in(self, brace: int) -> str | None:
        """The HLO sharding that the operation got whose dictionary opens at `brace`."""
        end = matching_bracket(self.text, brace)
        first = bisect.bisect_left(self.edits, (brace,))
        for start, _, new in self.edits[first:]:
            if start >= end:
                return None
            if new.startswith("mhlo.sharding"):
                return new
        return None

    def _other_key(self, name: str, start: int, at: int, brace: int) -> int:
        """Take out what only Shardy's own passes read; other keys stay."""
        end = attribute_end(self.text, at)
        if name not in _PASS_KEYS or brace < 0 or _is_nested(self.text, brace):
            return end
        if name == "sdy.sharding_rule" or not value_type(self.text, brace):
            self._remove_entry(start, end)
        return end

    def _remove_entry(self, start: int, end: int) -> None:
        floor = self.edits[-1][1] if self.edits else 0
        self.edits.append((*removal(self.text, start, end, floor), ""))


def _context(text: str, start: int, at: int, brace: int, value: str) -> Context | None:
    """What decides how the sharding `value` at `at` converts: itself, and the types that it annotates.

    Keys with equal contexts need to be checked and converted only once.
    """
    if text[brace - 2] == "=" or brace < 2:
        return None
    if value.startswith("#sdy.sharding<"):
        type_start = text.rfind(" ", brace - _TYPE_LENGTH if brace > _TYPE_LENGTH else 0, brace - 1)
        return value, text[type_start:brace]
    if brace < start - 1 and text.find("xla.sdy.", brace, start) >= 0:
        return None
    end = at + len(value)
    line_end = text.find("\n", end)
    location = text.find(" loc(", end, line_end)
    return value, text[end : location if location >= 0 else line_end]


def _is_nested(text: str, brace: int) -> bool:
    """Whether the dictionary that opens at `brace` is the value of an entry of another one."""
    return _character_before(text, brace) == "="


def _character_before(text: str, at: int) -> str:
    return text[max(0, at - 64) : at].rstrip()[-1:]
