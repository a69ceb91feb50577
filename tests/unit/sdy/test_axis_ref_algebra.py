"""The algebra of axis refs against what the refs mean: digits of device numbers along the axis."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from sdybridge.errors import VerificationError
from sdybridge.sdy import AxisRefAttr, MeshAttr

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (1, 2, 4, 6, 8, 12, 16, 18, 24)


def mesh_of(n: int) -> MeshAttr:
    return MeshAttr.from_sizes({"y": 3, "x": n})


def refs_of(n: int) -> list[AxisRefAttr]:
    """The whole axis and all its legal parts."""
    parts = [
        AxisRefAttr.sub("x", pre, size)
        for pre in range(1, n + 1)
        for size in range(2, n)
        if n % (pre * size) == 0
    ]
    return [AxisRefAttr("x"), *parts]


def digit(ref: AxisRefAttr, n: int, device: int) -> int:
    """Which piece of the axis device `device` of `n` is in, along `ref`."""
    sub = ref.sub_axis_info
    return device if sub is None else device // (n // (sub.pre_size * sub.size)) % sub.size


def digits(n: int, *refs: AxisRefAttr) -> list[tuple[int, ...]]:
    return [tuple(digit(ref, n, device) for ref in refs) for device in range(n)]


def pieces(n: int, *refs: AxisRefAttr) -> int:
    """How many pieces the refs cut the axis into together."""
    return len(set(digits(n, *refs)))


def factorisations(n: int) -> list[tuple[int, ...]]:
    """All ways to write n as a product of factors above 1, in order."""
    if n == 1:
        return [()]
    return [(f, *rest) for f in range(2, n + 1) if n % f == 0 for rest in factorisations(n // f)]


def spans_factors(ref: AxisRefAttr, factors: tuple[int, ...]) -> bool:
    """Whether `ref` is the product of consecutive factors."""
    cuts = {1, *itertools.accumulate(factors, lambda a, b: a * b)}
    sub = ref.sub_axis_info
    return sub is None or cuts.issuperset((sub.pre_size, sub.pre_size * sub.size))


PAIRS = [(n, a, b) for n in SIZES for a in refs_of(n) for b in refs_of(n)]
COEXISTING = [(n, a, b) for n, a, b in PAIRS if a.can_coexist(b)]


def test_coexisting_refs_are_products_of_the_factors_of_one_split() -> None:
    assert 0 < len(COEXISTING) < len(PAIRS)
    splits = {n: factorisations(n) for n in SIZES}
    for n, a, b in PAIRS:
        expected = any(spans_factors(a, split) and spans_factors(b, split) for split in splits[n])
        assert a.can_coexist(b) is expected, (n, a, b)


def test_contains_when_the_pieces_of_one_tell_those_of_the_other() -> None:
    for n, a, b in COEXISTING:
        assert a.contains(b) is (pieces(n, a, b) == pieces(n, a)), (n, a, b)


def test_overlaps_when_the_pieces_are_not_independent() -> None:
    for n, a, b in COEXISTING:
        if n > 1:
            assert a.overlaps(b) is (pieces(n, a, b) < pieces(n, a) * pieces(n, b)), (n, a, b)


def test_get_overlap_is_what_the_pieces_have_in_common() -> None:
    for n, a, b in COEXISTING:
        common = a.get_overlap(b)
        assert common is b.get_overlap(a)
        if common is None:
            assert not a.overlaps(b)
            continue
        assert a.contains(common)
        assert b.contains(common)
        assert pieces(n, a, b) * pieces(n, common) == pieces(n, a) * pieces(n, b), (n, a, b)


def test_prefix_overlap_and_suffix_make_up_the_ref() -> None:
    for n, a, b in COEXISTING:
        mesh = mesh_of(n)
        before = a.get_prefix_without_overlap(b)
        common = a.get_overlap(b)
        after = a.get_suffix_without_overlap(b, mesh)
        if common is None:
            assert before is after is a
            continue
        parts = [part for part in (before, common, after) if part is not None]
        size = 1
        for part in parts:
            size *= part.get_size(mesh)
        assert size == a.get_size(mesh), (n, a, b)
        assert pieces(n, *parts) == pieces(n, a)
        assert before is None or (before.prefix_of(a) and not before.overlaps(b))
        assert after is None or (after.suffix_of(a, mesh) and not after.overlaps(b))


def test_prefixes_and_suffixes_are_the_leading_and_the_trailing_digits() -> None:
    for n, a, b in COEXISTING:
        mesh = mesh_of(n)
        of_a = [device for (device,) in digits(n, a)]
        of_b = [device for (device,) in digits(n, b)]
        ratio = b.get_size(mesh) // a.get_size(mesh)
        is_prefix = b.contains(a) and of_a == [device // ratio for device in of_b]
        is_suffix = b.contains(a) and of_a == [device % a.get_size(mesh) for device in of_b]
        assert a.prefix_of(b) is is_prefix, (n, a, b)
        assert a.suffix_of(b, mesh) is is_suffix, (n, a, b)
        assert a.strict_prefix_of(b) is (is_prefix and a is not b)
        assert a.strict_suffix_of(b, mesh) is (is_suffix and a is not b)
        assert a.strictly_contains(b) is (a.contains(b) and a is not b)
        assert a.get_greatest_common_prefix(b) is (a if is_prefix else b if b.prefix_of(a) else None)


def test_merged_refs_number_their_pieces_like_both_in_turn() -> None:
    merged = 0
    for n, a, b in PAIRS:
        mesh = mesh_of(n)
        if not a.can_merge(b):
            with pytest.raises(VerificationError, match="not consecutive parts"):
                a.merge(b, mesh)
            continue
        if n % (a.get_size(mesh) * b.get_size(mesh)):
            continue
        merged += 1
        expected = [one * b.get_size(mesh) + other for one, other in digits(n, a, b)]
        assert [device for (device,) in digits(n, a.merge(b, mesh))] == expected, (n, a, b)
    assert merged > 50


@pytest.mark.parametrize("n", SIZES)
def test_less_than_is_a_total_order_that_the_mesh_key_follows(n: int) -> None:
    mesh = mesh_of(n)
    refs = refs_of(n)
    for a, b in itertools.product(refs, refs):
        assert (a < b) + (b < a) + (a is b) == 1
        assert (mesh.axis_ref_key(a) < mesh.axis_ref_key(b)) is (a < b)
    for a, b, c in itertools.product(refs, refs, refs):
        assert not (a < b and b < c) or a < c


def test_order_of_names_is_that_of_their_bytes() -> None:
    names = ["\udc80", "\udcff", "", "B", "_a", "a", "a10", "a9", "é", "\U0001f600", "\uffff"]
    refs = sorted(AxisRefAttr(name) for name in names)
    by_bytes = sorted(names, key=lambda name: name.encode("utf-8", "surrogateescape"))
    assert [ref.name for ref in refs] == by_bytes


def test_refs_to_different_axes_have_nothing_in_common() -> None:
    mesh = MeshAttr.from_sizes({"x": 4, "y": 4})
    for a, b in itertools.product(
        [AxisRefAttr("x"), AxisRefAttr.sub("x", 1, 2)], [AxisRefAttr("y"), AxisRefAttr.sub("y", 2, 2)]
    ):
        assert a.can_coexist(b)
        relations = (a.contains(b), a.prefix_of(b), a.suffix_of(b, mesh), a.overlaps(b), a.can_merge(b))
        assert relations == (False,) * 5
        assert a.get_overlap(b) is a.get_greatest_common_prefix(b) is None
        assert a.get_prefix_without_overlap(b) is a.get_suffix_without_overlap(b, mesh) is a


def test_any_numbers_have_an_answer() -> None:
    """Attributes hold any integers until they are verified, so no method may trip over them."""
    mesh = MeshAttr.from_sizes({"x": 12})
    numbers = (-(2**63), -3, -1, 0, 1, 2, 5, 2**62, 2**63 - 1)
    refs = [AxisRefAttr("x"), *(AxisRefAttr.sub("x", p, k) for p in numbers for k in numbers)]
    for a, b in itertools.product(refs, refs):
        a.contains(b), a.prefix_of(b), a.suffix_of(b, mesh), a.overlaps(b), a.can_coexist(b)
        a.get_greatest_common_prefix(b), a.can_merge(b)
        assert not (a < b and b < a)
        for ask in (
            lambda a=a, b=b: a.get_overlap(b),
            lambda a=a, b=b: a.get_prefix_without_overlap(b),
            lambda a=a, b=b: a.get_suffix_without_overlap(b, mesh),
            lambda a=a, b=b: a.merge(b, mesh),
        ):
            assert answer(ask) in {None, "not-mergeable", "integer-range"}


def answer(ask: Callable[[], object]) -> str | None:
    """The rule that `ask` finds broken, if any."""
    try:
        ask()
    except VerificationError as error:
        return error.rule
    return None
