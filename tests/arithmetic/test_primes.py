"""Moduli are checked before any library that aborts on a composite one can see them."""

import subprocess
import sys

import pytest

from symgauge.arithmetic.primes import DEFAULT_PRIMES, check_modulus, check_primes
from symgauge.errors import InvalidInput


def test_default_primes_are_usable_and_distinct() -> None:
    assert check_primes(DEFAULT_PRIMES) == DEFAULT_PRIMES


@pytest.mark.parametrize(
    "bad", [6, 2**31 - 3, 2**31 - 1, 5, 13, 2**61 - 1, 19, 0, -7, 1, 561, 341550071728321, 2.5, True]
)
def test_other_moduli_are_refused_in_one_sentence(bad: object) -> None:
    with pytest.raises(InvalidInput, match="modulus"):
        check_modulus(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [(), (2147483579, 2147483579)])
def test_primes_must_be_distinct_and_some(bad: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="distinct"):
        check_primes(bad)


def test_composite_modulus_leaves_the_process_alive() -> None:
    code = (
        "import torch\nfrom symgauge.exact.rank import rank\n"
        "try: rank(torch.tensor([[2, 1], [3, 1]]), 6)\nexcept Exception as e: print(type(e).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "InvalidInput")
