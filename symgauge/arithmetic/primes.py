"""Primes to work over: 31 bits, so that products of residues fit an int64, and p = 2q + 1 with q an odd prime.

Then p ≡ 3 (mod 4), so that −1 has no root, and the squares of GF(p) have prime order q, which exponentials need.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpz

from symgauge.errors import InvalidInput

DEFAULT_PRIMES = (2147483579, 2147483123)
"""The two largest below 2³¹."""


def check_modulus(p: int) -> int:
    """Return ``p`` if residue arithmetic can use it; refuse anything else before it reaches a library that aborts.

    Raises:
        InvalidInput: ``p`` is no prime below 2³¹, or (p − 1)/2 is no odd prime.
    """
    wanted = f"pass a prime p below 2^31 for which (p - 1)/2 is an odd prime too, e.g. {DEFAULT_PRIMES[0]}"
    if not isinstance(p, int) or isinstance(p, bool):
        raise InvalidInput(f"modulus {p!r} is no integer; {wanted}")
    if not fmpz(p).is_prime():
        raise InvalidInput(f"modulus {p} is not prime; {wanted}")
    if p >= 2**31 or p < 7 or not fmpz((p - 1) // 2).is_prime():
        raise InvalidInput(f"modulus {p} cannot be used; {wanted}")
    return p


def check_primes(primes: Sequence[int]) -> tuple[int, ...]:
    """The distinct primes of a computation, checked."""
    checked = tuple(check_modulus(p) for p in primes)
    if not checked or len(set(checked)) != len(checked):
        raise InvalidInput(f"primes must be one or more distinct primes, not {list(primes)}")
    return checked
