"""Choosing claims by id: exactly, by glob, or by the whole parts of an id that come first."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from symgauge.errors import InvalidInput


def select(patterns: Sequence[str], ids: Sequence[str]) -> list[str]:
    """The ids that any of `patterns` names, in the order of `ids`; all of them where there are no patterns.

    A pattern is an id ("toy/thm-3.6"), a source ("toy"), or with *, ? or [ a glob ("toy/thm-3.*"). A part of a name is
    none: "toy" does not take toy-short, and "to" takes nothing. Raises InvalidInput, with the nearest names, for a
    pattern that names nothing.
    """
    if not patterns:
        return list(ids)
    for pattern in patterns:
        if not _matches(pattern, ids):
            raise InvalidInput(f"no claim is called {pattern!r}{_hint(pattern, ids)}")
    return matching(patterns, ids)


def matching(patterns: Sequence[str], ids: Iterable[str]) -> list[str]:
    """The ids that any of `patterns` names, in the order of `ids`; a pattern may name none."""
    known = list(ids)
    chosen = {claim_id for pattern in patterns for claim_id in _matches(pattern, known)}
    return [claim_id for claim_id in known if claim_id in chosen]


def _matches(pattern: str, ids: Sequence[str]) -> list[str]:
    if any(character in pattern for character in "*?["):
        return [claim_id for claim_id in ids if fnmatchcase(claim_id, pattern)]
    source = pattern.rstrip("/")
    return [claim_id for claim_id in ids if claim_id == pattern or (source and claim_id.startswith(f"{source}/"))]


def _hint(pattern: str, ids: Sequence[str]) -> str:
    sources = sorted({claim_id.split("/")[0] for claim_id in ids})
    asked = pattern.lower().rstrip("/")
    names = {name.lower(): name for name in (*([] if "/" in asked else sources), *ids)}
    beginning = [name for low, name in names.items() if asked and low.startswith(asked)]
    near = beginning or [names[low] for low in difflib.get_close_matches(asked, names, n=4, cutoff=0.5)]
    near = near or [name for low, name in names.items() if asked and asked in low]
    if near:
        every = f" (all that begin so: '{pattern}*')" if beginning else ""
        return f"; the nearest are {', '.join(near[:4])}{every}"
    return f"; there are {len(ids)} claims, from {', '.join(sources) or 'no source'} (list them: symgauge claims)"
