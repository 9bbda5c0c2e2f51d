"""The ledger: every claim with its evidence and computed verdict, as JSON whose bytes depend on its content only."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from symgauge.atomic import write_text
from symgauge.claims.record import Claim, Evidence, Verdict
from symgauge.claims.verdict import decide
from symgauge.errors import InvalidInput
from symgauge.reading import check_file

FORMAT = "symgauge ledger 2"


@dataclass(frozen=True)
class Entry:
    """A claim, its evidence, and the verdict computed from it.

    failure: why the check did not run to its end. home: the folder that holds the claim, where it is not one that comes
    with symgauge, as seen from where the check was run.

    Example:
        >>> from symgauge.claims import Claim, Entry, EvidenceLog
        >>> claim = Claim("toy/thm-1", "toy", "Theorem 1", "$n^2 > n$ for every integer.", "refuted")
        >>> log = EvidenceLog([claim])
        >>> record = log.exact("tried from 0 to 9", 1 > 1, counterexample="$n = 1$", cases=10)
        >>> control = log.control("$n = 2$, where it is so, passes", 4 > 2, kind="exact")
        >>> entry = Entry.of(claim, [record, control])
        >>> entry.verdict, entry.agrees
        (<Verdict.REFUTED: 'refuted'>, True)
    """

    claim: Claim
    verdict: Verdict
    reasons: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()
    failure: str = ""
    home: str = ""

    @classmethod
    def of(cls, claim: Claim, evidence: Sequence[Evidence], failure: str = "", home: str = "") -> Entry:
        """Decide `claim`; a check that did not run to its end (`failure`) leaves it undecided, whatever it recorded."""
        if failure:
            return cls(claim, Verdict.UNDECIDED, (failure,), tuple(evidence), failure, home)
        decision = decide(claim, evidence)
        return cls(claim, decision.verdict, decision.reasons, tuple(evidence), home=home)

    @property
    def replay(self) -> str:
        """The one command that checks this claim again."""
        return f"symgauge verify {f'--from {shlex.quote(self.home)} ' if self.home else ''}{self.claim.id}"

    @property
    def agrees(self) -> bool:
        """Whether the check ran and its verdict is the one on record."""
        return not self.failure and self.verdict is self.claim.verdict

    def to_json(self) -> dict[str, Any]:
        return {
            "claim": asdict(self.claim),
            "evidence": [record.to_json() for record in self.evidence],
            "failure": self.failure,
            "home": self.home,
            "reasons": list(self.reasons),
            "replay": self.replay,
            "verdict": self.verdict,
        }

    @classmethod
    def from_json(cls, data: Any) -> Entry:
        """Read back what `to_json` wrote; InvalidInput for anything else, also a verdict the evidence does not give."""
        try:
            evidence = tuple(Evidence.from_json(record) for record in data["evidence"])
            entry = cls.of(Claim(**data["claim"]), evidence, data["failure"], data["home"])
            stored = data["verdict"]
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(f"not an entry of a ledger ({type(error).__name__}: {error})") from error
        if entry.verdict != stored:
            raise InvalidInput(f"{entry.claim.id} is stored as {stored!r}, but its evidence gives {entry.verdict!r}")
        return entry


@dataclass(frozen=True)
class Ledger:
    """Entries by claim id, in the order of their sources; `profile` is the sampling profile they were made with.

    Raises :class:`InvalidInput` for a file that is no ledger, or whose verdicts do not follow from its evidence.

    Example:
        >>> from symgauge.claims import Claim, Entry, EvidenceLog, Ledger
        >>> claim = Claim("toy/thm-1", "toy", "Theorem 1", "$n^2 > n$ for every integer.", "refuted")
        >>> log = EvidenceLog([claim])
        >>> record = log.exact("tried from 0 to 9", 1 > 1, counterexample="$n = 1$", cases=10)
        >>> control = log.control("$n = 2$, where it is so, passes", 4 > 2, kind="exact")
        >>> ledger = Ledger.of([Entry.of(claim, [record, control])])
        >>> ledger.sources, ledger.agrees
        (['toy'], True)
    """

    entries: Mapping[str, Entry] = field(default_factory=dict)
    profile: str = ""

    @classmethod
    def of(cls, entries: Iterable[Entry], profile: str = "") -> Ledger:
        """A ledger of `entries`; two for one claim are refused."""
        found: dict[str, Entry] = {}
        for entry in entries:
            if entry.claim.id in found:
                raise InvalidInput(f"claim {entry.claim.id} has two entries; each claim is decided by one check")
            found[entry.claim.id] = entry
        ordered = sorted(found.values(), key=lambda entry: reading_order(entry.claim))
        return cls({entry.claim.id: entry for entry in ordered}, profile)

    def updated(self, newer: Ledger, known: Collection[str] = ()) -> Ledger:
        """These entries with those of `newer` in their place or beside them.

        known: the ids of all claims that some sources have; what this ledger has of these sources and is not among them
        is a claim that is gone, and is left out. Raises InvalidInput where entries of two sampling profiles would meet.
        """
        living = {claim_id.split("/")[0] for claim_id in known}
        kept = {
            claim_id: entry
            for claim_id, entry in self.entries.items()
            if claim_id not in newer.entries and (claim_id in known or entry.claim.source not in living)
        }
        if kept and newer.profile != self.profile:
            raise InvalidInput(
                f"there are entries of the sampling profile {self.profile!r}, which do not mix with {newer.profile!r}: "
                f"take --profile {self.profile}, or another place"
            )
        return Ledger.of([*kept.values(), *newer.entries.values()], newer.profile)

    @property
    def agrees(self) -> bool:
        """Whether there are claims, and every one has the verdict on record."""
        return bool(self.entries) and all(entry.agrees for entry in self.entries.values())

    @property
    def sources(self) -> list[str]:
        return sorted({entry.claim.source for entry in self.entries.values()})

    def of_source(self, source: str) -> list[Entry]:
        """The entries of one source, in its order."""
        return [entry for entry in self.entries.values() if entry.claim.source == source]

    def to_text(self) -> str:
        """JSON with sorted keys and neither dates nor machine paths: the same entries give the same bytes."""
        claims = {claim_id: entry.to_json() for claim_id, entry in self.entries.items()}
        document = {"format": FORMAT, "profile": self.profile, "claims": claims}
        return json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, path: str | Path) -> None:
        """Write to `path`, all or nothing."""
        write_text(path, self.to_text())

    @classmethod
    def load(cls, path: str | Path) -> Ledger:
        """Read a saved ledger. Raises InvalidInput, naming the file and what is wrong with it."""
        try:
            document = json.loads(check_file(path).read_text(encoding="utf-8"))
        except InvalidInput as error:
            raise InvalidInput(f"cannot read the ledger {error}") from error
        except OSError as error:
            raise InvalidInput(f"cannot read the ledger {path}: {error.strerror}") from error
        except ValueError as error:
            raise InvalidInput(f"the ledger {path} is not JSON ({error}); make it by symgauge verify --json") from error
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InvalidInput(f"{path} is not a ledger: expected a JSON object with format {FORMAT!r}")
        claims = document.get("claims")
        if not isinstance(claims, dict):
            raise InvalidInput(f"the ledger {path} has no object 'claims'")
        try:
            return cls.of((Entry.from_json(data) for data in claims.values()), str(document.get("profile", "")))
        except InvalidInput as error:
            raise InvalidInput(f"the ledger {path} is damaged: {error}") from error


def reading_order(claim: Claim) -> tuple[Any, ...]:
    """Sources by name, and claims as their source has them."""
    return (claim.source, claim.order, sort_key(claim.id))


def sort_key(claim_id: str) -> tuple[Any, ...]:
    """Ids in reading order: numbers inside them compare as numbers, so thm-3.10 follows thm-3.9."""
    parts: list[tuple[int, int, str]] = []
    digits = ""
    for character in claim_id + "\0":
        if character.isdigit():
            digits += character
            continue
        if digits:
            parts.append((0, int(digits), ""))
            digits = ""
        parts.append((1, 0, character))
    return tuple(parts)
