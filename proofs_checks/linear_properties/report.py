"""What is found out about hidden states and unembedding, as data and as lines of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from proofs_checks.linear_properties.floating import Decision, Representation
from symgauge.errors import Undecided
from symgauge.numeric.gaps import RankWithGap

ALL = "identifiable: every model with these probabilities has it"
SOME = "not identifiable: this model has it, through directions that the probabilities do not see; others lack it"
NONE = "no model with these probabilities has it (on what they see)"
OPEN = "undecided"


@dataclass(frozen=True)
class Rank:
    """A rank with its gap, or why there is none."""

    rank: int | None
    gap: float = math.nan
    kept: float = math.nan
    dropped: float = math.nan
    reason: str = ""

    @classmethod
    def of(cls, measure: Callable[[], RankWithGap]) -> Rank:
        try:
            found = measure()
        except Undecided as error:
            return cls(None, reason=str(error))
        return cls(found.rank, found.gap, found.smallest_kept, found.largest_dropped)

    def as_dict(self) -> dict[str, Any]:
        return {"rank": self.rank, "gap": number(self.gap), "smallest_kept": number(self.kept),
                "largest_dropped": number(self.dropped), "reason": self.reason}  # fmt: skip


@dataclass(frozen=True)
class Property:
    """A stated linear property: whether it follows from the probabilities, and whether this model has it at all."""

    name: str
    visible: Decision
    here: Decision
    ratio: float | None = None

    @property
    def verdict(self) -> str:
        if self.visible.holds:
            return ALL
        if self.visible.holds is None or (self.here.holds is None and self.ratio is None):
            return OPEN
        return SOME if self.here.holds and self.ratio is None else NONE

    @property
    def reason(self) -> str:
        return (self.visible.reason or self.here.reason) if self.verdict == OPEN else ""

    def as_dict(self) -> dict[str, Any]:
        parts = {"from_probabilities": self.visible, "in_this_model": self.here}
        data: dict[str, Any] = {
            key: {"holds": d.holds, "residual": number(d.residual), "gap": number(d.gap), "reason": d.reason}
            for key, d in parts.items()
        }
        ratio = {} if self.ratio is None else {"ratio": number(self.ratio)}
        return {"property": self.name, "verdict": self.verdict, **data, **ratio}


@dataclass(frozen=True)
class Report:
    """Sizes, spans, effective complexity and the stated properties."""

    contexts: int
    tokens: int
    dimension: int
    complexity: Rank
    embedding_span: Rank
    unembedding_span: Rank
    properties: tuple[Property, ...]

    @property
    def notes(self) -> list[str]:
        """What limits the numbers."""
        rank = self.complexity.rank
        if rank is None:
            return []
        if rank == self.contexts:
            return ["as large as the number of contexts; more contexts may raise it"]
        if rank == self.tokens - 1 < self.dimension:
            return ["as large as the number of tokens less one, so it cannot be larger"]
        return []

    @property
    def diverse(self) -> bool | None:
        """Whether embeddings and unembeddings span the whole space; None if a span is undecided."""
        spans = (self.embedding_span.rank, self.unembedding_span.rank)
        return None if None in spans else spans == (self.dimension, self.dimension)

    @property
    def undecided(self) -> str:
        """Why something is undecided; empty if nothing is."""
        return self.complexity.reason or next((f"{p.name}: {p.reason}" for p in self.properties if p.reason), "")

    def as_dict(self) -> dict[str, Any]:
        return {
            "contexts": self.contexts, "tokens": self.tokens, "dimension": self.dimension,
            "effective_complexity": self.complexity.as_dict(), "embedding_span": self.embedding_span.as_dict(),
            "unembedding_span": self.unembedding_span.as_dict(), "diverse": self.diverse, "notes": self.notes,
            "properties": [p.as_dict() for p in self.properties],
        }  # fmt: skip

    def rows(self) -> list[list[str]]:
        """Names and values for a table."""
        diverse = {True: "yes", False: "no", None: "undecided"}[self.diverse]
        rows = [
            ["contexts, tokens, dimension", f"{self.contexts:,}, {self.tokens:,}, {self.dimension:,}"],
            ["span of hidden states (F)", _rank(self.embedding_span)],
            ["span of unembeddings (G)", _rank(self.unembedding_span)],
            ["effective complexity", _rank(self.complexity)],
            ["diversity condition", diverse],
        ]
        for p in self.properties:
            ratio = f", ratio {p.ratio:.4g}" if p.ratio is not None and p.visible.holds else ""
            rows.append([p.name, p.verdict + ratio])
            rows.append(["  from the probabilities", _decision(p.visible)])
            rows.append(["  in this model's space", _decision(p.here)])
        return rows


def report(
    representation: Representation,
    answers: Sequence[tuple[str, Tensor]] = (),
    pairs: Sequence[tuple[tuple[int, int], tuple[int, int]]] = (),
) -> Report:
    """Measure everything; what has no gap is reported as undecided instead of raising.

    answers: names and targets (n, k). pairs: two pairs of tokens each. Raises InvalidInput for what does not fit.
    """
    r = representation
    found = [
        Property(name, _try(r.answers_from_probabilities, t), _try(r.answers_from_hidden, t)) for name, t in answers
    ]
    for first, second in pairs:
        p = r.parallel(first, second)
        name = f"g({first[0]}) − g({first[1]}) parallel to g({second[0]}) − g({second[1]})"
        found.append(Property(name, p.visible, p.whole, p.ratio))
    return Report(
        len(r.f), len(r.g), r.f.shape[1], Rank.of(lambda: r.effective_complexity), Rank.of(lambda: r.embedding_rank),
        Rank.of(lambda: r.unembedding_rank), tuple(found),
    )  # fmt: skip


def _try(measure: Callable[[Tensor], Decision], targets: Tensor) -> Decision:
    try:
        return measure(targets)
    except Undecided as error:
        return Decision(None, math.nan, reason=str(error))


def number(value: float) -> float | str | None:
    """A float as JSON data."""
    return value if math.isfinite(value) else None if math.isnan(value) else str(value)


def _rank(rank: Rank) -> str:
    return "undecided: no clear gap" if rank.rank is None else f"{rank.rank:,} (gap {rank.gap:.2g})"


def _decision(d: Decision) -> str:
    word = {True: "yes", False: "no", None: "undecided"}[d.holds]
    return f"{word} (relative residual {d.residual:.2g}, gap {d.gap:.2g})" if d.holds is not None else word
