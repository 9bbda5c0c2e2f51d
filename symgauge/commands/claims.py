"""`symgauge claims`: what is claimed, where, and the verdict on record, without checking anything."""

from __future__ import annotations

from symgauge.commands._output import From, JsonFlag, Selection, print_json


def command(select: Selection = None, home: From = None, json: JsonFlag = False) -> None:
    """List the claims, with their place in the source and the verdict on record."""
    from dataclasses import asdict

    from symgauge.claims.select import select as choose
    from symgauge.commands._output import claims_of

    known = claims_of(home).claims
    chosen = [known[claim_id] for claim_id in choose(select or (), list(known))]
    if json:
        print_json([asdict(claim) for claim in chosen])
        return
    for claim in chosen:
        print(f"{claim.id:<22} {claim.verdict:<16} {claim.place}")
