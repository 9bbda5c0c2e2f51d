"""Claims and evidence: what a source says, and what speaks for or against it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from symgauge.claims.figures import Bounded, Figure, figure_from_json
from symgauge.errors import InvalidInput

IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9-]*/[A-Za-z0-9][A-Za-z0-9.'-]*")


class Verdict(StrEnum):
    """What the evidence says about a claim. `symgauge.claims.verdict` has the rule.

    Example:
        >>> from symgauge.claims import Verdict
        >>> print(*Verdict)
        holds holds-if refuted inconsistent reproduced not-reproducible undecided
    """

    HOLDS = "holds"
    HOLDS_IF = "holds-if"
    REFUTED = "refuted"
    INCONSISTENT = "inconsistent"
    REPRODUCED = "reproduced"
    NOT_REPRODUCIBLE = "not-reproducible"
    UNDECIDED = "undecided"


class Kind(StrEnum):
    """Where evidence comes from: SymPy, finite field or exact arithmetic, Hypothesis, floats, the source's own text.

    Example:
        >>> from symgauge.claims import Kind
        >>> print(*Kind)
        proof exact property numeric audit
    """

    PROOF = "proof"
    EXACT = "exact"
    PROPERTY = "property"
    NUMERIC = "numeric"
    AUDIT = "audit"


class Bearing(StrEnum):
    """What evidence bears on.

    statement: the claim exactly as the source states it. condition: the claim under `Claim.condition`.
    correction: `Claim.correction`. control: a deliberate break, which the check must notice.
    reproduction: the source's own number or experiment, obtained again from its description.

    Example:
        >>> from symgauge.claims import Bearing
        >>> print(*Bearing)
        statement condition correction control reproduction
    """

    STATEMENT = "statement"
    CONDITION = "condition"
    CORRECTION = "correction"
    CONTROL = "control"
    REPRODUCTION = "reproduction"


@dataclass(frozen=True)
class Claim:
    """A statement of a source, with its place in it and the verdict on record. Texts are Markdown with LaTeX in $...$.

    condition: what has to be added to make the statement true (verdict holds-if). correction: what is true instead.
    remark: anything else a reader should know. quote: the source's own words; lines: where its text has them.
    unseen: where the statement is taken from, if the text at hand does not have it. own: it is ours, not the source's.
    experiment: the keys of the experiments that decide it, and quantities: the beginnings of those of their
    comparisons that bear on the claim, all of them if none is given; see symgauge.experiments.deciding. no_control: why
    a claim that rests on transcriptions alone has no control.
    check: where the check is ("proofs_checks/toy/test_x.py::test_y"). order: how many claims of the source come before.

    Raises :class:`InvalidInput` for an id of another form, empty texts, and a holds-if without its condition.

    Example:
        >>> from symgauge.claims import Claim
        >>> claim = Claim("toy/thm-1", "toy", "Theorem 1", "$n^2 > n$ for every integer.", "refuted")
        >>> claim.name, claim.verdict
        ('thm-1', <Verdict.REFUTED: 'refuted'>)
    """

    id: str
    source: str
    place: str
    statement: str
    verdict: Verdict
    condition: str = ""
    correction: str = ""
    remark: str = ""
    check: str = ""
    quote: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    unseen: str = ""
    own: bool = False
    order: int = 0
    experiment: tuple[str, ...] = ()
    quantities: tuple[str, ...] = ()
    no_control: str = ""

    def __post_init__(self) -> None:
        if not IDENTIFIER.fullmatch(self.id) or self.id.split("/")[0] != self.source:
            form = f"{self.source}/<name>, the name of letters, digits, '.' and '-'"
            raise InvalidInput(f"claim id {self.id!r} must have the form {form}")
        for name in ("place", "statement"):
            if not getattr(self, name).strip():
                raise InvalidInput(f"claim {self.id} has an empty {name}: write down what the source says and where")
        if bool(self.quote) + bool(self.unseen) + self.own > 1:
            raise InvalidInput(f"claim {self.id}: a statement is quoted, or unseen, or our own; give one of the three")
        if self.quantities and not self.experiment:
            raise InvalidInput(f"claim {self.id} names quantities; name the experiment that they are of as well")
        for name in ("quote", "lines", "experiment", "quantities"):
            object.__setattr__(self, name, tuple(getattr(self, name)))  # lists, as JSON has them
        object.__setattr__(self, "verdict", _member(Verdict, self.verdict, f"the verdict of claim {self.id}"))
        if self.verdict is Verdict.HOLDS_IF and not self.condition.strip():
            raise InvalidInput(f"claim {self.id} is on record as holds-if, so it has to state its condition")

    @property
    def name(self) -> str:
        """Its id without the source."""
        return self.id.partition("/")[2]


@dataclass(frozen=True)
class Evidence:
    """One thing found out. `outcome`: True passes, False fails, None could not be decided; for a control, True means
    that the deliberate break was noticed, as it must be. `of`: the summaries of the evidence that a control belongs to,
    where that is not what stands directly before it.

    Example:
        >>> from symgauge.claims import Evidence
        >>> record = Evidence("exact", "statement", True, "tried from 2 to 9", cases=8)
        >>> Evidence.from_json(record.to_json()) == record
        True
    """

    kind: Kind
    bears_on: Bearing
    outcome: bool | None
    summary: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    counterexample: str = ""
    cases: int | None = None
    of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", tuple(self.of))  # a list, as JSON has it

    def to_json(self) -> dict[str, Any]:
        figures = {key: value.to_json() if isinstance(value, Bounded) else value for key, value in self.figures.items()}
        return {**asdict(self), "figures": figures}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Evidence:
        """Read back what `to_json` wrote; InvalidInput for anything else."""
        try:
            fields = dict(data)
            fields["kind"] = _member(Kind, fields["kind"], "an evidence's kind")
            fields["bears_on"] = _member(Bearing, fields["bears_on"], "an evidence's bears_on")
            fields["figures"] = {key: figure_from_json(value) for key, value in fields["figures"].items()}
            return cls(**fields)
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(f"not a record of evidence ({error}): {data!r}") from error


E = TypeVar("E", bound=StrEnum)


def _member(enum: type[E], value: Any, what: str) -> E:
    try:
        return enum(value)
    except ValueError:
        raise InvalidInput(f"{what} is {value!r}; expected one of {', '.join(enum)}") from None
