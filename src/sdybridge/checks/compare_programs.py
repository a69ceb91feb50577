"""Two programs, value by value: what has the same sharding, in form or in meaning, and what has not."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.checks.compare import Comparison, Verdict, compare_shardings
from sdybridge.checks.mlir import MlirText
from sdybridge.checks.reading import Placed
from sdybridge.errors import SdyBridgeError
from sdybridge.modules.annotations import HLO, MHLO
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from sdybridge.checks.program import Program
    from sdybridge.modules.annotations import Annotation

_CONSTRAINTS = frozenset(("sharding_constraint", "reshard", "copy"))
_SAME = {"dot_general": "dot"}


@dataclass(frozen=True, slots=True)
class Pair:
    r"""A value of both programs.

    Attributes:
        a: What the first says about it; None if it says nothing.
        b: What the second says.
        comparison: How the two shardings compare; None if one program has none.

    >>> from sdybridge import open_program
    >>> program = "ENTRY e {\n  ROOT a = f32[8] parameter(0), sharding={devices=[2]<=[2]}\n}\n"
    >>> pair = compare_programs(open_program(program, "a.txt"), open_program(program, "b.txt"))[0]
    >>> pair.verdict.value, str(pair.a.sharding)
    ('same', '{devices=[2]<=[2]}')
    """

    a: Annotation | None
    b: Annotation | None
    comparison: Comparison | None

    @property
    def verdict(self) -> Verdict | None:
        """What the two shardings have in common; None if one program has none."""
        return self.comparison.verdict if self.comparison else None


def compare_programs(a: Program, b: Program, *, target: Target = Target.CURRENT) -> list[Pair]:
    r"""Every value that has a sharding in one of two programs, with how these compare.

    Arguments and results of the main functions are matched by their numbers, all other values by the kind of
    operation, the shape, and their order; by name where one program has more of a kind than the other.

    Raises:
        SdyBridgeError: A sharding is malformed or invalid where it stands.

    Example:
        >>> from sdybridge import open_program
        >>> first = "ENTRY e {\n  ROOT a = f32[8] parameter(0), sharding={devices=[2]<=[2]}\n}\n"
        >>> second = first.replace("<=[2]", "1,0")
        >>> pairs = compare_programs(open_program(first, "a.txt"), open_program(second, "b.txt"))
        >>> [pair.verdict.value for pair in pairs]
        ['different', 'different']
    """
    for program in (a, b):
        if program.errors:
            raise program.errors[0]
    by_scope = type(a) is type(b)
    known: dict[tuple[object, ...], Comparison] = {}
    pairs = []
    for one, other in _matched(a, b, by_scope=by_scope):
        comparison = None
        if one and other and one.sharding is not None and other.sharding is not None:
            key = (one.sharding, one.mesh, one.manual_axes, other.sharding, other.mesh, other.manual_axes)
            comparison = known.get(key)
            if comparison is None:
                comparison = known[key] = _compared(a, one, b, other, target)
        elif (one is None or one.sharding is None) and (other is None or other.sharding is None):
            continue
        pairs.append(Pair(one, other, comparison))
    return pairs


def _compared(a: Program, one: Annotation, b: Program, other: Annotation, target: Target) -> Comparison:
    placed = []
    for program, value in ((a, one), (b, other)):
        found = _placed(value)
        try:
            found.grid(target)
        except SdyBridgeError as error:
            span, where = program.place(value)
            if span is None:
                error.notes = (*error.notes, f"on {where} in {program.source.name}")
                raise
            raise error.located(program.source, span) from None
        placed.append(found)
    return compare_shardings(*placed, target=target)


def _placed(one: Annotation) -> Placed:
    return Placed(one.sharding, one.mesh, one.manual_axes)  # type: ignore[arg-type]  # both have one


def _matched(
    a: Program, b: Program, *, by_scope: bool
) -> Iterator[tuple[Annotation | None, Annotation | None]]:
    for side in ("inputs", "outputs"):
        yield from _in_order(getattr(a, side), getattr(b, side))
    first, second = _by_kind(a, by_scope=by_scope), _by_kind(b, by_scope=by_scope)
    for kind in dict.fromkeys((*first, *second)):
        one, other = first.get(kind, []), second.get(kind, [])
        yield from _in_order(one, other) if len(one) == len(other) else _by_name(one, other)


def _in_order(
    one: Sequence[Annotation], other: Sequence[Annotation]
) -> Iterator[tuple[Annotation | None, Annotation | None]]:
    for i in range(max(len(one), len(other))):
        yield one[i] if i < len(one) else None, other[i] if i < len(other) else None


def _by_name(
    one: Sequence[Annotation], other: Sequence[Annotation]
) -> Iterator[tuple[Annotation | None, Annotation | None]]:
    named = {value.name: value for value in other}
    for value in one:
        yield value, named.pop(value.name, None)
    for value in named.values():
        yield None, value


def _by_kind(program: Program, *, by_scope: bool) -> dict[Hashable, list[Annotation]]:
    """The values of operations, by what they are matched by; of two shardings of one the Shardy one."""
    entry = {(value.scope, value.opcode, value.name) for value in (*program.inputs, *program.outputs)}
    values: dict[tuple[str, str, str], Annotation] = {}
    for one in program.annotations:
        key = one.scope, one.opcode, one.name
        if key not in entry and (key not in values or one.carrier not in (HLO, MHLO)):
            values[key] = one
    kinds: defaultdict[Hashable, list[Annotation]] = defaultdict(list)
    for one in values.values():
        if program.repeats_result(one):
            continue
        kinds[one.scope if by_scope else "", _opcode(program, one), one.stated_shape].append(one)
    return kinds


def _opcode(program: Program, one: Annotation) -> str:
    """What an operation is called in every format."""
    if one.offset in program.sharding_calls:
        return "sharding_constraint"
    name = one.opcode.rpartition(".")[2] if isinstance(program, MlirText) else one.opcode.replace("-", "_")
    return "sharding_constraint" if name in _CONSTRAINTS else _SAME.get(name, name)
