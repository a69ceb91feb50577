"""Prime factors of 64-bit integers, in a time that hostile sizes cannot stretch."""

from __future__ import annotations

import functools
import math

_TRIAL_LIMIT = 1 << 16
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # enough for every n < 2**64


@functools.lru_cache(maxsize=1024)
def prime_factors(n: int) -> tuple[int, ...]:
    """The prime factors of `n`, ascending, with repeats; none for 1.

    >>> prime_factors(360)
    (2, 2, 2, 3, 3, 5)
    """
    factors = []
    trial = 2
    while trial * trial <= n and trial < _TRIAL_LIMIT:
        while n % trial == 0:
            factors.append(trial)
            n //= trial
        trial += 1 if trial == 2 else 2
    if n > 1:
        factors += _large_factors(n)
    return tuple(factors)


def _large_factors(n: int) -> list[int]:
    """The prime factors of an `n` that has no small ones."""
    if n < _TRIAL_LIMIT**2 or _is_prime(n):
        return [n]
    divisor = _divisor(n)
    return sorted(_large_factors(divisor) + _large_factors(n // divisor))


def _is_prime(n: int) -> bool:
    """Miller-Rabin, exact below 2**64."""
    twos = ((n - 1) & (1 - n)).bit_length() - 1
    odd = (n - 1) >> twos
    for witness in _WITNESSES:
        x = pow(witness, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def _divisor(n: int) -> int:
    """A proper divisor of a composite `n` (Pollard's rho): about the fourth root of n steps."""
    for increment in range(1, n):
        slow = fast = 2
        divisor = 1
        while divisor == 1:
            slow = (slow * slow + increment) % n
            fast = (fast * fast + increment) % n
            fast = (fast * fast + increment) % n
            divisor = math.gcd(slow - fast, n)
        if divisor != n:
            return divisor
    return n
