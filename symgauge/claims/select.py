"""Choosing claims by id: exactly, by glob, or by prefix."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from symgauge.errors import InvalidInput


def select(patterns: Sequence[str], ids: Sequence[str]) -> list[str]:
    """The ids that any of `patterns` names, in the order of `ids`; all of them where there are no patterns.

    A pattern that is an id means that id only; with *, ? or [ it is a glob; otherwise it is a prefix ("gauge",
    "gauge/thm-3"). Raises InvalidInput, with the nearest ids, for a pattern that names nothing.
    """
    if not patterns:
        return list(ids)
    chosen: set[str] = set()
    for pattern in patterns:
        found = _matches(pattern, ids)
        if not found:
            raise InvalidInput(f"no claim is called {pattern!r}{_hint(pattern, ids)}")
        chosen.update(found)
    return [claim_id for claim_id in ids if claim_id in chosen]


def _matches(pattern: str, ids: Sequence[str]) -> list[str]:
    if pattern in ids:
        return [pattern]
    if any(character in pattern for character in "*?["):
        return [claim_id for claim_id in ids if fnmatchcase(claim_id, pattern)]
    return [claim_id for claim_id in ids if pattern and claim_id.startswith(pattern)]


def _hint(pattern: str, ids: Sequence[str]) -> str:
    lowered = {claim_id.lower(): claim_id for claim_id in ids}
    near = difflib.get_close_matches(pattern.lower(), lowered, n=4, cutoff=0.5)
    near += [low for low in lowered if pattern.lower() and pattern.lower() in low and low not in near][: 4 - len(near)]
    if near:
        return f"; the nearest are {', '.join(lowered[low] for low in near)}"
    sources = sorted({claim_id.split("/")[0] for claim_id in ids})
    return f"; there are {len(ids)} claims, from {', '.join(sources) or 'no source'} (list them: symgauge claims)"
