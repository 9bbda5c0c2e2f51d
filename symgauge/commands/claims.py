"""`symgauge claims`: what is claimed, where, and the verdict on record, without checking anything."""

from __future__ import annotations

from symgauge.commands._output import JsonFlag, Selection, print_json


def command(select: Selection = None, json: JsonFlag = False) -> None:
    """List the claims, with their place in the source and the verdict on record."""
    from dataclasses import asdict

    from symgauge.claims.catalogue import catalogue, checks_folder
    from symgauge.claims.select import select as choose

    known = catalogue(checks_folder()).claims
    chosen = [known[claim_id] for claim_id in choose(select or (), list(known))]
    if json:
        print_json([asdict(claim) for claim in chosen])
        return
    for claim in chosen:
        print(f"{claim.id:<22} {claim.verdict:<16} {claim.place}")
