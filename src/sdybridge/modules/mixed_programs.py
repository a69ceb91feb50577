"""Programs of every format, looked through for shardings of two kinds while they are converted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.annotations import CARRIER, HLO, Annotation
from sdybridge.modules.conversion_warnings import ConversionWarning
from sdybridge.modules.hlo_annotations import HloAnnotations
from sdybridge.modules.hlo_text import HloText
from sdybridge.modules.mixed import MIXED, AnnotatedProgram, in_words
from sdybridge.modules.mlir.annotations import MlirProgram
from sdybridge.modules.mlir.attributes import attribute_end
from sdybridge.modules.mlir.gspmd_calls import GspmdCalls
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from sdybridge.modules.hlo_program import HloProgram, HloSite
    from sdybridge.modules.mixed import Mixed
    from sdybridge.target import Target

_IMPORT_DROPS = "import drops HLO shardings without a Shardy sharding, but for those of calls of @Sharding"
_IMPORT_CONVERTS = "import makes Shardy shardings of them"
_EXPORT_KEEPS = "export keeps them as they are"


def warnings_of_export(source: Source, target: Target) -> tuple[ConversionWarning, ...]:
    """The warnings of the export of an MLIR program that may be mixed."""
    return _of_mlir(source, _annotated(source, target), _EXPORT_KEEPS)


def warnings_of_import(
    source: Source, target: Target, carriers: AnnotatedProgram | None
) -> tuple[ConversionWarning, ...]:
    """The warnings of the import of an MLIR program that may be mixed.

    Args:
        source: The program.
        target: Whose grammar to follow.
        carriers: What is known of it, if all Shardy shardings in it are carriers.
    """
    done = _IMPORT_DROPS if carriers else _IMPORT_CONVERTS
    return _of_mlir(source, carriers or _annotated(source, target), done)


def _annotated(source: Source, target: Target) -> AnnotatedProgram | None:
    """What an MLIR program says; None if it cannot be read, which the conversion says."""
    try:
        tree = parse_operations(source)
        annotations = [*MlirProgram(source, target, tree=tree, errors=[]).annotations()]
    except SdyBridgeError:
        return None
    calls = GspmdCalls(tree)
    return AnnotatedProgram(source, annotations, True, calls.sharding_calls, calls.carried_results)


def _of_mlir(source: Source, program: AnnotatedProgram | None, done: str) -> tuple[ConversionWarning, ...]:
    return tuple([_in_text(one, source, done) for one in program.find()]) if program else ()


def _in_text(one: Mixed, source: Source, done: str) -> ConversionWarning:
    """The warning at a place in MLIR text."""
    start = one.at.offset
    try:
        span = Span(start, attribute_end(source.text, start))
    except SdyBridgeError:
        span = Span(start, start + 1)
    return _warning(one, source, span, done)


def _warning(one: Mixed, source: Source, span: Span | None, done: str) -> ConversionWarning:
    notes = one.notes
    if one.rule == MIXED:
        notes = (notes[0], done, *notes[1:])
    where = "" if span else in_words(one.at)
    return ConversionWarning(one.rule, one.message, source, span, where, notes, one.help)


class MixedSites:
    """The places of an HLO program that a conversion saw, and what to warn of.

    Args:
        program: The program.
        target: Whose grammar to follow.
    """

    def __init__(self, program: HloProgram, target: Target) -> None:
        self._program = program
        self._view = HloAnnotations(program, target, errors=[])
        self._annotations: list[Annotation] = []
        self._places: dict[tuple[int, str], HloSite] = {}
        self._calls: set[int] = set()
        self._kinds: set[str] = set()
        self._known: set[object] = set()
        self._entry = ""

    def see(self, site: HloSite, *, has_carrier: bool) -> None:
        """Take note of one place for all like it: of the same key and target, both in the entry or not."""
        self._annotate(site, has_carrier=has_carrier)
        if has_carrier or self._is_gspmd(site):
            self._kinds.add(CARRIER if has_carrier else HLO)

    @staticmethod
    def _is_gspmd(site: HloSite) -> bool:
        """Whether its HLO sharding is one that XLA does not write by itself on the way through HLO."""
        is_input = site.opcode == "parameter" and site.is_entry
        return site.has_sharding and (is_input or site.target == "Sharding")

    def _annotate(self, site: HloSite, *, has_carrier: bool) -> bool:
        """Take note of what a place says in both notations, if it does, for all that say the same."""
        is_new = has_carrier and site.has_sharding and site.key not in self._known
        if is_new:
            self._known.add(site.key)
            self._annotations += self._view.of_site(site)
            self._places[site.offset, CARRIER] = site
        return is_new

    def _look_again(self) -> None:
        """Find every single place: there are both kinds, so that a warning shall name and count them."""
        self._annotations.clear()
        self._known.clear()
        for site in self._program.sites():
            if site.is_entry:
                self._entry = site.computation
            has_carrier = CARRIER in site.frontend_attributes
            if self._annotate(site, has_carrier=has_carrier):
                continue
            if has_carrier or self._is_gspmd(site):
                if not has_carrier and site.opcode != "parameter":
                    self._calls.add(site.offset)
                carrier = CARRIER if has_carrier else HLO
                scope, name, offset = site.computation, site.name, site.offset
                self._places[offset, carrier] = site
                one = Annotation(carrier, scope, name, site.opcode, None, None, None, offset)
                self._annotations.append(one)

    def warnings(self, name: str, *, is_import: bool) -> tuple[ConversionWarning, ...]:
        """What to warn of, once all is seen.

        Args:
            name: The name of the program, if it is a proto.
            is_import: Whether the conversion is an import.
        """
        if len(self._kinds) > 1:
            self._look_again()
        source = self._program.source if isinstance(self._program, HloText) else Source("", name)
        program = AnnotatedProgram(source, self._annotations, False, self._calls, {}, self._entry)
        done = _IMPORT_CONVERTS if is_import else _EXPORT_KEEPS
        return tuple([_warning(one, source, self._span(one.at, source), done) for one in program.find()])

    def _span(self, at: Annotation, source: Source) -> Span | None:
        """Where a sharding stands in the text."""
        site = self._places.get((at.offset, at.carrier))
        if not source.text or site is None:
            return None
        carrier = site.carrier(CARRIER) if at.carrier == CARRIER else None
        return carrier.span if carrier else site.locate(SdyBridgeError("")).span
