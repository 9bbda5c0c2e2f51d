"""Places where the source contradicts itself, its references, or leaves out what one needs to know."""

from __future__ import annotations

import math

from proofs_checks.idealized import dimension_formulas as formulas
from proofs_checks.idealized.model import IdealizedModel, architecture, repeated_rows
from proofs_checks.idealized.reported import PARAMETERS, TABLE_1, TABLE_2
from proofs_checks.idealized.text import (
    CONFIGURATIONS,
    LARGEST,
    LAYERS,
    REFERENCES,
    SMALLEST,
    STATED,
)
from symgauge.claims import EvidenceLog, checks, equal
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Tokens
from symgauge.wiring import wire


def same(a: str, b: str) -> bool:
    return a.casefold() == b.casefold()


@checks("intro-1")
def test_configurations(evidence: EvidenceLog) -> None:
    evidence.audit(
        "rows of the only table of configurations", figures={"rows": equal(len(TABLE_1), CONFIGURATIONS)}, cases=1
    )
    sizes = [row.parameters for row in TABLE_1]
    evidence.audit(
        "rows, and the ends of their range",
        figures={"rows": equal(len(TABLE_1), 8), "ends": equal([min(sizes), max(sizes)], [SMALLEST, LARGEST])},
        on="correction",
    )
    values = [formulas.listed().at(d=row.d, h=row.heads, L=row.layers) for row in TABLE_1]
    evidence.exact(
        "every reported dimension is the value of (5)",
        figures={"dimensions": equal(values, [row.symmetries for row in TABLE_1])},
        on="correction",
        cases=len(values),
    )


@checks("refs")
def test_references(evidence: EvidenceLog) -> None:
    found = [r for r in REFERENCES if r.title]
    authors = [r.number for r in found if not same(r.listed_authors, r.authors)]
    titles = [r.number for r in found if not same(r.listed_title, r.title)]
    evidence.audit(
        "entries whose authors or title are others than the cited work's",
        figures={"authors": equal(authors, []), "titles": equal(titles, [])},
        cases=len(found),
    )
    evidence.audit(
        "which they are",
        figures={"authors": equal(authors, [3, 4, 9]), "titles": equal(titles, [11])},
        on="correction",
        cases=len(found),
    )


@checks("model")
def test_model(evidence: EvidenceLog) -> None:
    evidence.missing(*(item for item, place in STATED.items() if not place))
    plain = architecture()
    others = [
        plain.replace(ff_bias=True),
        plain.replace(norm="rms", final_norm=True),
        plain.replace(position_table=True),
    ]
    evidence.exact(
        "parameters without biases, norms and positions, and with one of them",
        all(wire(a).parameters != PARAMETERS for a in others),
        figures={"without": equal(wire(plain).parameters, PARAMETERS)},
        on="correction",
        cases=1 + len(others),
    )
    words = Tokens(2, 3)
    last, every = (dimension(IdealizedModel(plain, readout=where), words).rank for where in ("last", "all"))
    evidence.exact(
        "left null space on all words at $|V| = 2$, $T = 3$: last position, and all positions",
        figures={
            "last": equal(2 * words.count - last, repeated_rows(2, 3)),
            "all": equal(2 * 3 * words.count - every, 32),
            "reported": TABLE_2[0][5],
        },
        on="correction",
    )


@checks("def-class")
def test_class(evidence: EvidenceLog) -> None:
    a = architecture()
    found = dimension(IdealizedModel(a), Tokens(2, 3))
    evidence.audit(
        "dimension of the set defined in §3 (open: the winning logit stays ahead under small changes) and of the set "
        "whose "
        "tangent space §5.1 describes",
        figures={"dimensions": equal(found.nullity, found.parameters)},
    )
    evidence.exact(
        "exact nullity on all 8 words",
        figures={"nullity": equal(found.nullity, 3124), "parameters": equal(found.parameters, PARAMETERS)},
        on="correction",
    )
    loss = min(math.log1p(math.exp(-margin)) for margin in (1.0, 5.0, 30.0))
    evidence.exact(
        "cross-entropy is the logarithm of a sum that exceeds one, positive for every margin of finite logits",
        loss > 0,
        on="correction",
        figures={"at margin 30": loss},
    )


@checks("abs-9")
def test_layers(evidence: EvidenceLog) -> None:
    evidence.missing(
        *(f"what is meant by {name}" for name, place in LAYERS.items() if not place),
        "how to decide whether two solutions use the same algorithm",
    )


@checks("9-first")
def test_first(evidence: EvidenceLog) -> None:
    evidence.missing("a search of earlier work, or what makes a study systematic")
