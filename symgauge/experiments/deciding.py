"""Claims that experiments decide: their verdict is that of the outcome, by this rule and no other.

A claim names its experiments, and the comparisons that bear on it, in claims.toml. What is on record at the largest
scale decides. A number that several of them measure is one comparison under the choices of all. The same comparisons
make the outcome on the page of experiments, so that the two pages cannot disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgauge.claims.figures import at_least
from symgauge.claims.log import EvidenceLog
from symgauge.claims.record import Claim, Evidence, Verdict
from symgauge.errors import InvalidInput
from symgauge.experiments.record import Run, recorded
from symgauge.experiments.result import Agreement, Comparison, Outcome, Result

WHERE = "where"
"""The figure that says which run on record evidence rests on; the claim's page has it as a line of its own."""


@dataclass(frozen=True)
class Decided:
    """By which runs, each with its scale, and by which of their comparisons."""

    runs: Sequence[tuple[str, Run]]
    comparisons: Sequence[Comparison]

    @property
    def outcome(self) -> Outcome:
        return Outcome.of(self.comparisons)

    @property
    def verdict(self) -> Verdict:
        """Of a claim that nothing but its experiments decides."""
        if self.outcome is Outcome.OURS_ONLY:
            return Verdict.UNDECIDED
        return Verdict.REPRODUCED if self.outcome is Outcome.REPRODUCED else Verdict.NOT_REPRODUCIBLE


def decided(claim: Claim) -> Decided:
    """What the experiments of ``claim`` gave. Raises InvalidInput where one is not on record or none is meant."""
    records = recorded(claim.source)
    runs = []
    for key in claim.experiment:
        found = [(scale, record.runs[key]) for scale, record in records.items() if key in record.runs]
        if not found:
            raise InvalidInput(f"claim {claim.id}: no record of {claim.source} has the experiment {key!r}")
        runs.append(found[-1])
    every = _together([run.result for _, run in runs])
    for beginning in claim.quantities:
        if not any(each.quantity.startswith(beginning) for each in every):
            keys = ", ".join(claim.experiment)
            raise InvalidInput(f"claim {claim.id}: {keys} has no quantity that begins with {beginning!r}")
    chosen = [each for each in every if not claim.quantities or each.quantity.startswith(claim.quantities)]
    return Decided(runs, chosen)


def _together(results: Sequence[Result]) -> list[Comparison]:
    """All comparisons; those of one quantity as one, what a later result adds being further choices."""
    found: dict[str, Comparison] = {}
    for result in results:
        for each in result.comparisons:
            before = found.get(each.quantity)
            found[each.quantity] = each if before is None else before.with_choices_of(each, result.title)
    return list(found.values())


def record_outcome(evidence: EvidenceLog) -> list[Evidence]:
    """Write down, for every claim of a check that names an experiment, what that gave and where it is recorded.

    Returns the evidence in the order of the claims, for controls of the check's own.
    """
    outcomes = []
    for claim in evidence.claims:
        if claim.experiment:
            found = decided(claim)
            judged = sorted(filter(_is_judged, found.comparisons), key=lambda each: _GRAVITY[each.agreement])
            against = [each for each in judged if each.agreement is not Agreement.AGREES]
            outcome = evidence.numeric(
                f"{_named(claim.experiment)}: {found.outcome}, {len(judged) - len(against)} of {len(judged)} "
                f"{'number agrees' if len(judged) == 1 else 'numbers agree'}"
                + "".join(f"; {each.quantity}: {_stated(each)}" for each in against[:1]),
                None if found.outcome is Outcome.OURS_ONLY else found.outcome is Outcome.REPRODUCED,
                on="reproduction",
                figures={
                    **{each.quantity: _stated(each) for each in against or judged},
                    WHERE: "; ".join(provenance(scale, run) for scale, run in found.runs),
                },
                cases=len(judged),
                only=claim.name,
            )
            _record_control(evidence, claim, found, outcome)
            outcomes.append(outcome)
    return outcomes


def _record_control(evidence: EvidenceLog, claim: Claim, found: Decided, outcome: Evidence) -> None:
    """That the comparison could have come out otherwise, by the same record; nothing where it cannot tell.

    What agrees must not agree with whatever the source reports; where something does not, the comparison must be able
    to agree, with another choice or on another number of the experiment.
    """
    every = [each for each in _together([run.result for _, run in found.runs]) if each.source is not None]
    if found.outcome is Outcome.REPRODUCED:
        reported = {each.source for each in every}
        pairs = [each.against(other) for each in found.comparisons for other in reported - {each.source}]
        told, what = sum(each is not Agreement.AGREES for each in pairs), "does not agree"
        summary = "each number against the others that the source reports for this experiment"
    else:
        pairs = [each.agreement for each in every]
        told, what = sum(each in (Agreement.AGREES, Agreement.DEPENDS) for each in pairs), "agrees"
        summary = "the numbers of this experiment, with any choice that is open"
    if told:
        figures = {what: at_least(told, 1), "compared": len(pairs)}
        evidence.control(summary, figures=figures, of=outcome, only=claim.name)


def _named(keys: Sequence[str]) -> str:
    return f"experiment{'s' if len(keys) > 1 else ''} " + ", ".join(f"`{key}`" for key in keys)


def provenance(scale: str, run: Run) -> str:
    """Command, date, machine and checksum of a run; records whose checksums are others are refused when read."""
    machine = run.environment.get("device", "unknown machine")
    return f"recorded at scale `{scale}` by `{run.command}` on {run.date}, {machine}; SHA-256 `{run.sha256[:16]}`"


_GRAVITY = {Agreement.DIFFERS: 0, Agreement.DEPENDS: 1, Agreement.NONE: 2, Agreement.AGREES: 3, None: 4}


def _is_judged(each: Comparison) -> bool:
    return each.agreement is not None


def _stated(each: Comparison) -> str:
    """The source's number and ours, an interval where choices are open."""
    source = f"reported {'at most ' if each.limit else ''}{_number(each.source)}"
    if not each.values:
        return f"{source}, none here: {each.note}"
    low, high = _number(min(each.values)), _number(max(each.values))
    return f"{source}, here {low}" + (f" to {high} by what is left open" if low != high else "")


def _number(value: float | int | None) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
