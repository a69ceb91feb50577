"""The same shardings on meshes of 8 devices and of very many: nobody should pay for the devices."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.bench_conversion import objects_to_texts, texts_to_texts
from benchmarks.shardings import AXES, Cases, make_cases
from benchmarks.table import AtMost, Row, Table, Unit
from benchmarks.timing import alternate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.effort import Effort

SMALL, *LARGE = 3, 20, 40
"""Numbers of devices, as powers of two."""
JAX_LIMIT = 31
"""JAX has no mesh of two to this power devices."""
SAME_COST = AtMost(1.25)


def run(effort: Effort) -> Iterator[Table]:
    """The cost per sharding on each mesh, and of the large ones as multiples of the small one."""
    ours: dict[int, Callable[[int], object]] = {}
    theirs: dict[int, Callable[[int], object]] = {}
    for bits in (SMALL, *LARGE):
        rounds = [_cases(bits, k, effort.inputs) for k in range(effort.rounds + 1)]
        ours[bits] = partial(_convert, rounds, [cases.texts() for cases in rounds])
        if bits < JAX_LIMIT:
            theirs[bits] = partial(_convert_named, [cases.named_shardings() for cases in rounds])
    count = len(rounds[0].dims)
    seconds = [
        median(times.cpu) / count for times in alternate([*ours.values(), *theirs.values()], effort.rounds)
    ]
    our = dict(zip(ours, seconds, strict=False))
    their = dict(zip(theirs, seconds[len(ours) :], strict=True))

    title = "Number of devices: conversion, text to text, each input seen once"
    costs = [Row(f"2**{bits} devices", our[bits], their.get(bits)) for bits in ours]
    yield Table(title, "JAX uncached", costs, f"JAX has no mesh of 2**{JAX_LIMIT} devices or more")
    growth = [
        Row(
            f"2**{bits} devices against 2**{SMALL}",
            our[bits] / our[SMALL],
            their[bits] / their[SMALL] if bits in their else None,
            Unit.MULTIPLE,
            SAME_COST,
        )
        for bits in LARGE
    ]
    yield Table("Number of devices: growth of the cost", "JAX uncached", growth)


def _cases(bits: int, k: int, most: int) -> Cases:
    """The same sample for every number of devices; other axis names for each and in each round."""
    sizes = {f"{axis}_{bits}_{k}": 1 << (bits + i) // 3 for i, axis in enumerate(AXES[:3])}
    return make_cases(sizes, most=most)


def _convert(rounds: Sequence[Cases], texts: Sequence[Sequence[str]], k: int) -> object:
    return texts_to_texts(texts[k], rounds[k].mesh)


def _convert_named(rounds: Sequence[Sequence[tuple[Any, int]]], k: int) -> object:
    return objects_to_texts(rounds[k])
