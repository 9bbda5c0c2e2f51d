"""The `evidence` fixture's object: a check writes down what it finds, for one claim or for several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any

from symgauge.claims.figures import Bounded, figure
from symgauge.claims.property_run import PropertyRun
from symgauge.claims.record import Bearing, Claim, Evidence, Kind
from symgauge.claims.source_text import SourceText
from symgauge.errors import InvalidInput

Outcome = bool | None | EllipsisType
NOT_STATED = "not stated"
"""How evidence on what a source leaves out begins."""


class EvidenceLog:
    """Collects evidence. Every method takes a one-line `summary` (Markdown) of what was tried and found, and

    passed: True, False, or None (tried, could not be decided). Left out, it is whether every bounded figure
        (`at_most`, `at_least`, `equal`) respects its bound, and there has to be one.
    on: "statement" (as the source states it; default), "condition", "correction", "reproduction".
    figures: name -> number, text, list or bounded figure; put primes, seed and points here, and nothing that changes
        from run to run (no times).
    counterexample: Markdown; a statement that fails needs one.
    cases: how many cases were run; 0 is no evidence.
    only: the claims this bears on, by their names within the source, where a check decides several.

    Raises :class:`InvalidInput` for a record without an outcome, or on a condition or correction that no claim states.

    Example:
        >>> from symgauge.claims import Claim, EvidenceLog
        >>> claim = Claim("toy/thm-1", "toy", "Theorem 1", "$n^2 > n$ for every integer.", "refuted")
        >>> log = EvidenceLog([claim])
        >>> record = log.exact("tried from 0 to 9", 1 > 1, counterexample="$n = 1$", cases=10)
        >>> record.kind, record.bears_on, record.outcome
        (<Kind.EXACT: 'exact'>, <Bearing.STATEMENT: 'statement'>, False)
        >>> len(log.of("toy/thm-1"))
        1
    """

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._claims = {claim.name: claim for claim in claims}
        self._records: list[tuple[Evidence, frozenset[str]]] = []

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims that the check decides."""
        return tuple(self._claims.values())

    def of(self, claim_id: str) -> tuple[Evidence, ...]:
        """What was recorded for one claim, in order."""
        return tuple(record for record, ids in self._records if claim_id in ids)

    def proof(self, summary: str, passed: Outcome = ..., **details: Any) -> Evidence:
        """A symbolic proof (SymPy)."""
        return self.add(Kind.PROOF, summary, passed, **details)

    def exact(self, summary: str, passed: Outcome = ..., **details: Any) -> Evidence:
        """Exact arithmetic: a finite field, rationals, integers, enumeration."""
        return self.add(Kind.EXACT, summary, passed, **details)

    def property(self, summary: str, property_run: PropertyRun, **details: Any) -> Evidence:
        """A Hypothesis property, as run by `for_all`. When it passes, it needs a control of its own."""
        found: dict[str, Any] = {"cases": property_run.cases, "counterexample": property_run.counterexample}
        if property_run.seed is not None:
            details["figures"] = {**details.get("figures", {}), "Hypothesis seed": property_run.seed}
        return self.add(Kind.PROPERTY, summary, property_run.passed, **found | details)

    def numeric(self, summary: str, passed: Outcome = ..., **details: Any) -> Evidence:
        """Floats, against a tolerance from an error model. When it passes, it needs a control of its own."""
        return self.add(Kind.NUMERIC, summary, passed, **details)

    def audit(self, summary: str, passed: Outcome = ..., **details: Any) -> Evidence:
        """The source's own numbers or statements, held against each other."""
        return self.add(Kind.AUDIT, summary, passed, **details)

    def control(
        self,
        summary: str,
        broke: Outcome = ...,
        *,
        kind: str = "numeric",
        of: Evidence | Sequence[Evidence] = (),
        **details: Any,
    ) -> Evidence:
        """A deliberate break just outside the claim. `broke`: whether the check noticed; if not, it has no power.

        of: the evidence whose break it is, as returned by the method that recorded it. Left out, it is what was
            recorded directly before. Passing properties and floats need a control of their own.
        """
        named = (of,) if isinstance(of, Evidence) else tuple(of)
        return self.add(kind, summary, broke, on="control", of=tuple(record.summary for record in named), **details)

    def not_stated(
        self, text: SourceText, searched: Mapping[str, Sequence[str]], *, there: str, part: str = "", **details: Any
    ) -> Evidence:
        """What a source leaves out, so that its experiment cannot be run again.

        Args:
            text: the source's, or the part of it (:meth:`SourceText.between`) where it would have to be said.
            searched: what is missing → the words by which it would be said. One that the text has leaves the evidence
                undecided: then it is not missing.
            there: words of the same kind that the text does have; the control, which a search that finds nothing fails.
            part: which part of the source ``text`` is, where it is not all of it: "the abstract".
        """
        if not searched or not all(searched.values()):
            raise InvalidInput(
                "evidence.not_stated() needs what is left out, and for each the words that were searched for"
            )
        said = {term: text.line(term) for terms in searched.values() for term in terms if text.count(term)}
        sought = ", ".join(f"“{term}”" for terms in searched.values() for term in terms)
        figures = {"searched for": sought, **{f"“{term}” in line": line for term, line in said.items()}}
        only = details.get("only", ())
        self.control(
            f"“{there}”, which is there, is found by the same search", bool(text.count(there)), kind="audit", only=only
        )
        return self.add(
            Kind.AUDIT,
            f"{NOT_STATED}{f' in {part}' if part else ''}: {'; '.join(searched)}",
            None if said else False,
            on="reproduction", **details | {"figures": {**details.get("figures", {}), **figures}},
        )  # fmt: skip

    def add(
        self,
        kind: str,
        summary: str,
        passed: Outcome = ...,
        *,
        on: str = "statement",
        figures: Mapping[str, Any] | None = None,
        counterexample: str = "",
        cases: int | None = None,
        only: str | Sequence[str] = (),
        of: tuple[str, ...] = (),
    ) -> Evidence:
        """The general form behind the methods above. Raises InvalidInput for a record that contradicts its claim."""
        normal = {name: figure(name, value) for name, value in (figures or {}).items()}
        bearing, names = Bearing(on), self._addressees(only)
        for name in names:
            self._require(name, bearing)
        record = Evidence(
            kind=Kind(kind),
            bears_on=bearing,
            outcome=_outcome(passed, normal, summary),
            summary=summary,
            figures=normal,
            counterexample=counterexample,
            cases=None if cases is None else int(cases),
            of=of,
        )
        self._records.append((record, frozenset(self._claims[name].id for name in names)))
        return record

    def _addressees(self, only: str | Sequence[str]) -> frozenset[str]:
        wanted = [only] if isinstance(only, str) else list(only)
        unknown = [name for name in wanted if name not in self._claims]
        if unknown:
            raise InvalidInput(f"only={unknown!r}: this check decides {sorted(self._claims) or 'no claim'}")
        return frozenset(wanted or self._claims)

    def _require(self, name: str, bearing: Bearing) -> None:
        text = {Bearing.CONDITION: "condition", Bearing.CORRECTION: "correction"}.get(bearing)
        if text and not getattr(self._claims[name], text).strip():
            claim = self._claims[name].id
            raise InvalidInput(f"evidence bears on the {text} of {claim}, which states none: add it to claims.toml")


def _outcome(passed: Any, figures: Mapping[str, Any], summary: str) -> bool | None:
    """True, False or None; numpy's and SymPy's booleans count, anything merely truthy does not."""
    if passed is ...:
        bounded = [value.ok for value in figures.values() if isinstance(value, Bounded)]
        if not bounded:
            raise InvalidInput(f"evidence {summary!r} has neither an outcome nor a bounded figure to take it from")
        return all(bounded)
    if passed is None or isinstance(passed, bool):
        return passed
    if type(passed).__name__ in {"bool", "bool_", "BooleanTrue", "BooleanFalse"}:
        return bool(passed)
    raise InvalidInput(f"the outcome of evidence {summary!r} is {passed!r}; it has to be True, False or None")
