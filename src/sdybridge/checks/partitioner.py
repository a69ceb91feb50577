"""SB2xx: who reads which annotation. A program with those of both kinds is read in part only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.bridge import convert_to_hlo_sharding
from sdybridge.checks.compare import same_meaning
from sdybridge.checks.mlir import MlirText
from sdybridge.checks.program import Problem
from sdybridge.errors import SdyBridgeError
from sdybridge.hlo import HloSharding
from sdybridge.modules.annotations import CARRIER, HLO, MHLO, SDY
from sdybridge.sdy import TensorShardingAttr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdybridge.checks.program import Program
    from sdybridge.modules.annotations import Annotation

_FEW = 8
_BOUNDARY = ("parameter", "argument", "result")
_TUPLE_RESULTS = "xla.sdy.tuple_results_shardings"  # the module's frontend attribute for all results
_MADE_FROM_HLO = (
    "mhlo.use_auto_spmd_partitioning"  # the attribute of modules that XLA translates back from HLO
)


def check(program: Program) -> Iterator[Problem]:
    """Calls without a sharding, annotations of two kinds, carriers that should be gone or contradict."""
    for call in program.calls():
        if not call.has_sharding:
            yield Problem(
                "SB201",
                f"a call of {call.target} without a sharding",
                call.place,
                ("XLA's sharding propagation stops with an error at it",),
                'give it `mhlo.sharding`, such as "{replicated}", or `sdy.sharding`',
            )
    yield from _mixed(program)
    yield from _carriers(program)


def _mixed(program: Program) -> Iterator[Problem]:
    """HLO shardings beside Shardy ones, on other values."""
    by_value: dict[tuple[str, str, str], dict[str, Annotation]] = {}
    for one in program.annotations:
        kind = "gspmd" if one.carrier in (MHLO, HLO) else "shardy"
        by_value.setdefault((one.scope, one.opcode, one.name), {})[kind] = one
    shardy = [found["shardy"] for found in by_value.values() if "shardy" in found]
    gspmd = [found["gspmd"] for found in by_value.values() if "shardy" not in found]
    if not program.has_shardy:  # on the way through HLO, XLA writes some HLO shardings of its own
        gspmd = [one for one in gspmd if one.opcode in _BOUNDARY or _is_sharding_call(program, one)]
    if _MADE_FROM_HLO in program.source.text:  # the compiler has chosen Shardy already
        return
    if not shardy or not gspmd:
        return
    if not isinstance(program, MlirText):
        yield Problem(
            "SB202",
            f"{_values(gspmd)} an HLO sharding without the Shardy sharding that {_others(shardy)}",
            program.place(gspmd[0]),
            (
                "with Shardy on, XLA reads the Shardy shardings in the frontend attributes, and these not",
                *_listed(program, "HLO shardings", gspmd),
                *_listed(program, "Shardy shardings", shardy),
            ),
        )
        return
    gspmd = [one for one in gspmd if one.opcode != "result" or _turns_shardy_off(program, one)]
    if not gspmd:
        return
    triggers = [one for one in gspmd if _turns_shardy_off(program, one)]
    if triggers:
        message = "GSPMD and Shardy annotations are mixed: XLA will use GSPMD"
        rule = (
            "an HLO sharding on a result, on a call of @Sharding, or on an argument of another function than "
            "@main makes XLA turn Shardy off; its log has a warning"
        )
        help_ = "`sdybridge import` makes all of them Shardy shardings, `sdybridge export` HLO shardings"
    else:
        message = "GSPMD and Shardy annotations are mixed: XLA will use Shardy, and not these"
        rule = "where Shardy runs, an HLO sharding without a Shardy sharding on the same value is not read"
        help_ = "`sdybridge import` makes Shardy shardings of them"
    yield Problem(
        "SB202",
        message,
        program.place((triggers or gspmd)[0]),
        (
            rule,
            *_listed(program, "they turn Shardy off", triggers),
            *_listed(program, "other HLO shardings", [one for one in gspmd if one not in triggers]),
            *_listed(program, "Shardy shardings", shardy),
        ),
        help_,
    )


def _turns_shardy_off(program: Program, one: Annotation) -> bool:
    """Whether XLA's front end falls back to GSPMD for this HLO sharding.

    Source: `hasGspmdAttrsOrOps` in xla's `service/spmd/shardy/utils.cc`.
    """
    if one.opcode == "argument":
        return one.scope != "main"
    if one.opcode == "result":
        # Where one result has such a call, XLA wrote HLO shardings to all: those of a tuple in HLO are whole.
        is_carried = isinstance(program, MlirText) and any(
            scope == one.scope for scope, _ in program.results_by_calls
        )
        return not is_carried and _TUPLE_RESULTS not in program.source.text
    return _is_sharding_call(program, one)


def _is_sharding_call(program: Program, one: Annotation) -> bool:
    return one.opcode.endswith(("custom_call", "custom-call")) and one.offset in program.sharding_calls


def _values(found: Sequence[Annotation]) -> str:
    return "one value has" if len(found) == 1 else f"{len(found)} values have"


def _others(found: Sequence[Annotation]) -> str:
    return "another one has" if len(found) == 1 else f"{len(found)} others have"


def _listed(program: Program, what: str, found: Sequence[Annotation]) -> tuple[str, ...]:
    if not found:
        return ()
    places = list(dict.fromkeys(program.line(one) for one in found))
    more = f" and {len(places) - _FEW} more" if len(places) > _FEW else ""
    return (f"{what}: {', '.join(places[:_FEW])}{more}",)


def _carriers(program: Program) -> Iterator[Problem]:
    """Carriers beside Shardy's own attributes, and carriers that contradict the HLO sharding beside them."""
    carried = [one for one in program.annotations if one.carrier == CARRIER]
    if carried and program.has_shardy:
        native = [one for one in program.annotations if one.carrier == SDY]
        yield Problem(
            "SB203",
            "Shardy shardings ride along as text in a program that has them as attributes",
            program.place(carried[0]),
            (
                "they are a way through HLO, and XLA's import takes them out again",
                "here it did not run, or the parts of the program come from two places",
                *_listed(program, "carriers", carried),
                *_listed(program, "attributes", native),
            ),
            "remove the frontend attributes `xla.sdy.*`",
        )
    plain = {
        (one.scope, one.opcode, one.name): one for one in program.annotations if one.carrier in (MHLO, HLO)
    }
    alike: set[tuple[object, ...]] = set()
    for one in carried:
        beside = plain.get((one.scope, one.opcode, one.name))
        if beside is None or not isinstance(beside.sharding, HloSharding):
            continue
        key = id(one.sharding), one.mesh, one.manual_axes, id(beside.sharding)
        if key in alike or _agree(one, beside.sharding):
            alike.add(key)
        else:
            yield Problem(
                "SB204",
                f"the Shardy sharding and the HLO sharding of {one.name} place it differently",
                program.place(one),
                (
                    f"Shardy: {one.sharding and one.sharding}, that is {_exported(one)}",
                    f"HLO: {beside.sharding}",
                    "with Shardy on XLA follows the first, without it the second",
                ),
                "`sdybridge diff` of the two names the devices that move",
            )


def _exported(one: Annotation) -> HloSharding | None:
    """The HLO sharding of a Shardy sharding; None if it has none."""
    if one.mesh is None or not isinstance(one.sharding, TensorShardingAttr):
        return None
    try:
        return convert_to_hlo_sharding(one.sharding, one.mesh, manual_axes=one.manual_axes)
    except SdyBridgeError:
        return None


def _agree(one: Annotation, beside: HloSharding) -> bool:
    exported = _exported(one)
    try:
        return exported is None or same_meaning(exported, beside)
    except SdyBridgeError:
        return True  # a grid that is wrong in itself, which is reported, or one too large to tell
