"""Checks of constructor arguments: exact types first, because 1, True and 1.0 are one dictionary key."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, TypeVar

from sdybridge.errors import VerificationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdybridge.errors import Path

T = TypeVar("T")

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1


def exact_int(value: object, what: str) -> int:
    """`value` as a plain int; NumPy integers are welcome, bools and floats are not."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be an int, not {type(value).__name__}")
    return operator.index(value)


def int64(value: object, what: str, path: Path) -> int:
    """`value` as a plain int within the 64 bits that Shardy stores."""
    number = value if type(value) is int else exact_int(value, what)
    if INT64_MIN <= number <= INT64_MAX:
        return number
    raise VerificationError(
        f"{what} does not fit 64 bits", rule="integer-range", path=path, notes=[f"the limit is {INT64_MAX}"]
    )


def exact_str(value: object, what: str) -> str:
    """`value` as a plain str."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    return str.__str__(value)


def canonical_name(name: str, what: str, path: Path) -> str:
    r"""The one spelling of a name: bytes that are not UTF-8 are lone surrogates, as `os.fsdecode` has them.

    >>> canonical_name("\udcc3\udca9", "axis name", ())
    'é'
    """
    if name.isascii():
        return name
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise VerificationError(
            f"{what} {name!a} holds a lone surrogate, which no byte string spells",
            rule="name-bytes",
            path=path,
        ) from None


def elements(values: Iterable[T], cls: type[T], what: str) -> tuple[T, ...]:
    """`values` as a tuple, every one of which is a `cls`."""
    found = tuple(values)
    for value in found:
        if type(value) is not cls:
            raise TypeError(f"{what} must hold {cls.__name__} only, not {type(value).__name__}")
    return found
