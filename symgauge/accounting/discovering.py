"""What no family explains is looked for: the symmetries that the module has, whoever knows them."""

from __future__ import annotations

import dataclasses

from symgauge.accounting.account import Account
from symgauge.errors import Undecided
from symgauge.exact.dimension import Progress


def discovered(account: Account, *, seed: int, rounds: int, progress: Progress | None) -> Account:
    """The account with what :func:`symgauge.discover` finds on the same subject; a note says why it found nothing."""
    from symgauge.discovery.discovery import discover

    try:
        found = discover(
            account.subject, seed=seed, primes=account.fibre.primes, output=account.fibre.output, discrete=False,
            rounds=rounds, fibre=account.fibre, progress=progress,
        )  # fmt: skip
    except Undecided as error:
        return dataclasses.replace(account, notes=(*account.notes, f"no symmetry was discovered: {error}"))
    return dataclasses.replace(account, discovery=found)
