"""Programs that say where a value lies in two ways: which of them XLA follows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge import convert_to_hlo_sharding
from sdybridge.bridge.device_map import same_placement
from sdybridge.errors import SdyBridgeError
from sdybridge.hlo import HloSharding
from sdybridge.modules.annotations import CARRIER, HLO, MHLO, SDY
from sdybridge.sdy import TensorShardingAttr

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sdybridge.modules.annotations import Annotation
    from sdybridge.source import Source

MIXED = "mixed-annotations"
LEFTOVER = "leftover-carrier"
CONTRADICTING = "contradicting-shardings"

_FEW = 8
_BOUNDARY = ("parameter", "argument", "result")
_MADE_FROM_HLO = "mhlo.use_auto_spmd_partitioning"  # an attribute of modules that XLA makes of HLO
_TUPLE_RESULTS = "xla.sdy.tuple_results_shardings"  # the module's frontend attribute for all results


@dataclass(frozen=True, slots=True)
class Mixed:
    """Shardings that do not go together.

    Attributes:
        rule: The rule that they break: the name of one of those of `sdybridge check`.
        message: What is wrong, in one line.
        at: The sharding that it is about.
        notes: What XLA does, and where the others are.
        help: What to do.
    """

    rule: str
    message: str
    at: Annotation
    notes: tuple[str, ...]
    help: str | None = None


@dataclass(frozen=True, slots=True)
class AnnotatedProgram:
    """What a program says about its values, and how its calls tell.

    Attributes:
        source: Its text; without characters for a proto.
        annotations: What it says about its values.
        is_mlir: Whether it is MLIR.
        sharding_calls: Where the shardings of calls of `Sharding` stand.
        carried_results: For the results of functions whose Shardy sharding a call on their value carries, by
            function and name, the name of that value.
        entry: The function or computation that the program starts with.
    """

    source: Source
    annotations: Sequence[Annotation]
    is_mlir: bool
    sharding_calls: Collection[int]
    carried_results: Mapping[tuple[str, str], str]
    entry: str = "main"

    @property
    def has_shardy(self) -> bool:
        """Whether any value has a Shardy sharding that is not text."""
        return any(one.carrier == SDY for one in self.annotations)

    def find(self) -> Iterator[Mixed]:
        """Annotations of two kinds, carriers that should be gone, shardings that contradict."""
        yield from self._mixed()
        yield from self._leftover()
        yield from self._contradicting()

    def _mixed(self) -> Iterator[Mixed]:
        """HLO shardings beside Shardy ones, on other values."""
        by_value: dict[tuple[str, str, str], dict[str, Annotation]] = {}
        for one in self.annotations:
            kind = "gspmd" if one.carrier in (MHLO, HLO) else "shardy"
            by_value.setdefault((one.scope, one.opcode, one.name), {})[kind] = one
        shardy = [found["shardy"] for found in by_value.values() if "shardy" in found]
        gspmd = [found["gspmd"] for found in by_value.values() if "shardy" not in found]
        if not self.has_shardy:  # on the way through HLO, XLA writes some HLO shardings of its own
            gspmd = [one for one in gspmd if self._is_at_boundary(one) or self._is_sharding_call(one)]
        if not shardy or not gspmd or _MADE_FROM_HLO in self.source.text:  # there XLA has chosen Shardy
            return
        if not self.is_mlir:
            yield Mixed(
                MIXED,
                f"{_values(gspmd)} an HLO sharding without the Shardy sharding that {_others(shardy)}",
                gspmd[0],
                (
                    "with Shardy on, XLA reads the Shardy shardings in frontend attributes, and these not",
                    *self._listed("HLO shardings", gspmd),
                    *self._listed("Shardy shardings", shardy),
                ),
            )
            return
        gspmd = [one for one in gspmd if one.opcode != "result" or self._turns_shardy_off(one)]
        if not gspmd:
            return
        triggers = [one for one in gspmd if self._turns_shardy_off(one)]
        if triggers:
            message = "GSPMD and Shardy annotations are mixed: XLA will use GSPMD"
            rule = (
                "an HLO sharding on a result, on a call of @Sharding, or on an argument of another function "
                "than @main makes XLA turn Shardy off; its log has a warning"
            )
            help_ = "`sdybridge import` makes all of them Shardy shardings, `sdybridge export` HLO shardings"
        else:
            message = "GSPMD and Shardy annotations are mixed: XLA will use Shardy, and not these"
            rule = "where Shardy runs, an HLO sharding without a Shardy sharding on its value is not read"
            help_ = "`sdybridge import` makes Shardy shardings of them"
        others = [one for one in gspmd if one not in triggers]
        yield Mixed(
            MIXED,
            message,
            (triggers or gspmd)[0],
            (
                rule,
                *self._listed("they turn Shardy off", triggers),
                *self._listed("other HLO shardings", others),
                *self._listed("Shardy shardings", shardy),
            ),
            help_,
        )

    def _turns_shardy_off(self, one: Annotation) -> bool:
        """Whether XLA's front end falls back to GSPMD for this HLO sharding.

        Source: `hasGspmdAttrsOrOps` in xla's `service/spmd/shardy/utils.cc`.
        """
        if one.opcode == "argument":
            return one.scope != "main"
        if one.opcode == "result":
            # Where one result has such a call, XLA wrote HLO shardings to all: those of a tuple are whole.
            is_carried = any(scope == one.scope for scope, _ in self.carried_results)
            return not is_carried and _TUPLE_RESULTS not in self.source.text
        return self._is_sharding_call(one)

    def _is_at_boundary(self, one: Annotation) -> bool:
        """Whether it is of a value that goes into the program or comes out.

        In HLO, bodies of loops have HLO shardings only; in MLIR that came from it, functions those of roots.
        """
        return one.opcode in _BOUNDARY and one.scope == self.entry

    def _is_sharding_call(self, one: Annotation) -> bool:
        return one.opcode.endswith(("custom_call", "custom-call")) and one.offset in self.sharding_calls

    def _leftover(self) -> Iterator[Mixed]:
        """Carriers in a program that has Shardy's own attributes."""
        carried = [one for one in self.annotations if one.carrier == CARRIER]
        native = [one for one in self.annotations if one.carrier == SDY] if carried else []
        if native:
            yield Mixed(
                LEFTOVER,
                "Shardy shardings ride along as text in a program that has them as attributes",
                carried[0],
                (
                    "they are a way through HLO, and XLA's import takes them out again",
                    "here it did not run, or the parts of the program come from two places",
                    *self._listed("carriers", carried),
                    *self._listed("attributes", native),
                ),
                "remove the frontend attributes `xla.sdy.*`",
            )

    def _contradicting(self) -> Iterator[Mixed]:
        """Shardings of one value that place it differently."""
        results = {(scope, value): name for (scope, name), value in self.carried_results.items()}
        by_value: dict[tuple[str, str, str], list[Annotation]] = {}
        for one in self.annotations:
            by_value.setdefault((one.scope, one.opcode, one.name), []).append(one)
        alike: set[object] = set()
        for (scope, opcode, name), found in by_value.items():
            if len({one.carrier for one in found}) == 1:
                found = found[:1]  # the others are values of that name in other regions
            if opcode.endswith("custom_call") and (scope, name) in results:
                found = [*found, *by_value.get((scope, "result", results[scope, name]), ())]
            if len(found) > 1:
                yield from contradictions(found, alike)

    def _listed(self, what: str, found: Sequence[Annotation]) -> tuple[str, ...]:
        """Where some annotations stand: the first few places."""
        if not found:
            return ()
        lines = self.source.lines() if self.source.text else None
        places = list(
            dict.fromkeys(
                f"line {lines.location(one.offset)[0]}" if lines else in_words(one) for one in found
            )
        )
        more = f" and {len(places) - _FEW} more" if len(places) > _FEW else ""
        return (f"{what}: {', '.join(places[:_FEW])}{more}",)


def contradictions(found: Sequence[Annotation], alike: set[object]) -> Iterator[Mixed]:
    """What contradicts a Shardy sharding of a value.

    Args:
        found: The annotations of one value.
        alike: What is known to go together; more is added to it.
    """
    order = (SDY, CARRIER, MHLO, HLO)
    ordered = sorted(found, key=lambda one: order.index(one.carrier))
    for first, second in itertools.combinations(ordered, 2):
        if not isinstance(first.sharding, TensorShardingAttr) or second.sharding is None:
            continue
        key = id(first.sharding), first.mesh, first.manual_axes, id(second.sharding), second.mesh
        if key in alike:
            continue
        if _agree(first, second):
            alike.add(key)
        elif second.carrier == CARRIER:
            yield Mixed(
                CONTRADICTING,
                f"the Shardy sharding of {first.name} and the one that rides along place it differently",
                second,
                (
                    f"attribute: {first.sharding}, that is {_exported(first)}",
                    f"frontend attribute: {second.sharding}, that is {_exported(second)}",
                    "XLA writes the first over the second on the way to HLO",
                ),
                "remove the frontend attribute",
            )
        else:
            yield Mixed(
                CONTRADICTING,
                f"the Shardy sharding and the HLO sharding of {first.name} place it differently",
                first,
                (
                    f"Shardy: {first.sharding}, that is {_exported(first)}",
                    f"HLO: {second.sharding}",
                    "with Shardy on XLA follows the first, without it the second",
                ),
                "`sdybridge diff` of the two names the devices that move",
            )


def in_words(one: Annotation) -> str:
    """Where an annotation of a program without lines is."""
    return f"{one.name} in {one.scope}" if one.scope else one.name


def _values(found: Sequence[Annotation]) -> str:
    return "one value has" if len(found) == 1 else f"{len(found)} values have"


def _others(found: Sequence[Annotation]) -> str:
    return "another one has" if len(found) == 1 else f"{len(found)} others have"


def _exported(one: Annotation) -> HloSharding | None:
    """The HLO sharding of an annotation; None if a Shardy sharding has none."""
    if isinstance(one.sharding, HloSharding):
        return one.sharding
    if one.mesh is None or one.sharding is None:
        return None
    try:
        return convert_to_hlo_sharding(one.sharding, one.mesh, manual_axes=one.manual_axes)
    except SdyBridgeError:
        return None


def _agree(one: Annotation, beside: Annotation) -> bool:
    exported, other = _exported(one), _exported(beside)
    try:
        return exported is None or other is None or same_placement(exported, other)
    except SdyBridgeError:
        return True  # a grid that is wrong in itself, which is reported, or one too large to tell
