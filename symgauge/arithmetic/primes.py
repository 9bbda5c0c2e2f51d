"""Primes to work over: 31 bits, so that products of residues fit an int64, and p = 2q + 1 with q an odd prime.

Then p ≡ 3 (mod 4), so that −1 has no root, and the squares of GF(p) have prime order q, which exponentials need.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from symgauge.errors import InvalidInput

DEFAULT_PRIMES = (2147483579, 2147483123)
"""The two largest below 2³¹."""


@cache
def is_prime(n: int) -> bool:
    """Primality by Miller–Rabin with bases that are proven sufficient below 3.3·10²⁴ (Sorenson and Webster, 2015)."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    if n < 2:
        return False
    for q in bases:
        if n % q == 0:
            return n == q
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in bases:
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def check_modulus(p: int) -> int:
    """Return ``p`` if residue arithmetic can use it; refuse anything else before it reaches a library that aborts.

    Raises:
        InvalidInput: ``p`` is no prime below 2³¹, or (p − 1)/2 is no odd prime.
    """
    wanted = f"pass a prime p below 2^31 for which (p - 1)/2 is an odd prime too, e.g. {DEFAULT_PRIMES[0]}"
    if not isinstance(p, int) or isinstance(p, bool):
        raise InvalidInput(f"modulus {p!r} is no integer; {wanted}")
    if not is_prime(p):
        raise InvalidInput(f"modulus {p} is not prime; {wanted}")
    if p >= 2**31 or p < 7 or not is_prime((p - 1) // 2):
        raise InvalidInput(f"modulus {p} cannot be used; {wanted}")
    return p


def check_primes(primes: Sequence[int]) -> tuple[int, ...]:
    """The distinct primes of a computation, checked."""
    checked = tuple(check_modulus(p) for p in primes)
    if not checked or len(set(checked)) != len(checked):
        raise InvalidInput(f"primes must be one or more distinct primes, not {list(primes)}")
    return checked
