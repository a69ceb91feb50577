"""Checks of integers from callers: exact, bounded, and with an error that says which one is wrong."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1

MAX_ARRAY_RANK = 32
"""The most dimensions of a grid whose devices are listed: NumPy 1 has no larger arrays."""

_LONGEST = 160


def as_int(value: object, name: str, *, low: int = -INT64_MAX - 1, high: int = INT64_MAX) -> int:
    """`value` as a plain `int` within `low..high`; NumPy integers are fine, `bool` and `float` are not."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # the TypeError is the check
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise VerificationError(
            f"{name} must be an integer, got {shown(value)} ({type(value).__name__})", rule="integer"
        )
    if not low <= number <= high:
        raise VerificationError(
            f"{name} must lie in {low}..{high}, got {shown(number)}", rule="integer-range"
        )
    return int(number)


def as_tuple(values: Iterable[Any], name: str, of: str) -> tuple[Any, ...]:
    """The entries of `values`, whatever they are; a text is not a sequence of anything."""
    if not isinstance(values, (str, bytes)):
        try:
            return tuple(values)
        except TypeError:
            pass
    raise VerificationError(
        f"{name} must be a sequence of {of}, got {shown(values)} ({type(values).__name__})", rule="sequence"
    )


def as_ints(values: Iterable[object], name: str) -> tuple[int, ...]:
    """`values` as a tuple of plain `int`s in the range of int64."""
    entries = as_tuple(values, name, "integers")
    for entry in entries:
        if type(entry) is not int or not -INT64_MAX <= entry <= INT64_MAX:  # rare: look closer
            return tuple([as_int(value, f"{name}[{i}]") for i, value in enumerate(entries)])
    return entries


def as_sizes(values: Iterable[object], name: str) -> tuple[int, ...]:
    """`values` as a tuple of positive sizes whose product fits in int64.

    The product grows at most as far as the bound, so a hostile list costs its length and no more.
    """
    sizes = as_ints(values, name)
    product = 1
    for size in sizes:
        product *= size
        if size < 1 or product > INT64_MAX:
            break
    else:
        return sizes
    if size < 1:
        i = sizes.index(size)
        raise VerificationError(
            f"{name}[{i}] is {size}, but a size counts devices and is at least 1",
            rule="positive-size",
            path=(name, i),
        )
    raise VerificationError(
        f"{name} multiply to more than 2**63 - 1 devices", rule="too-many-devices", path=(name,)
    )


def as_permutation(values: Iterable[object], length: int, name: str) -> tuple[int, ...]:
    """`values` as a tuple that holds each of `0..length - 1` once."""
    perm = as_ints(values, name)
    if len(perm) == length and sorted(perm) == list(range(length)):
        return perm
    raise VerificationError(
        f"{name} must hold each of 0..{length - 1} once, got {shortened(perm)}"
        if length
        else f"{name} must be empty, got {shortened(perm)}",
        rule="permutation",
        path=(name,),
    )


def shortened(values: tuple[int, ...]) -> str:
    """`values` as XLA writes a list, `[2,4]`, cut off when long."""
    shown = ",".join(map(str, values[:16]))
    return f"[{shown},... {len(values)} entries]" if len(values) > 16 else f"[{shown}]"


def cropped(value: object) -> str:
    """`str(value)` for an error, without the middle where it is long: it may list a million devices."""
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 25]} ... {text[-20:]}"


def shown(value: object) -> str:
    """`repr(value)` for an error, cropped."""
    try:
        return cropped(repr(value))
    except ValueError:  # an int of thousands of digits has no repr
        return "a huge value"
