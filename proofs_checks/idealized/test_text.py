"""Places where the source contradicts itself, its references, or leaves out what one needs to know."""

from __future__ import annotations

import math

from proofs_checks.idealized import dimension_formulas as formulas
from proofs_checks.idealized.model import IdealizedModel, architecture, repeated_rows
from proofs_checks.idealized.reported import PARAMETERS, TABLE_1, TABLE_2, TEXT
from proofs_checks.idealized.text import CONFIGURATIONS, LARGEST, OF_ALGORITHMS, OF_THE_MODEL, REFERENCES, SMALLEST
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Tokens
from symgauge.model_graph import graph_of


@checks("intro-1")
def test_configurations(evidence: EvidenceLog) -> None:
    evidence.audit(
        "configurations shown in Table 1, of those that were verified",
        figures={"rows": equal(len(TABLE_1), CONFIGURATIONS)},
        on="reproduction",
        cases=1,
    )
    sizes = [row.parameters for row in TABLE_1]
    evidence.audit(
        "rows, and the ends of their range",
        figures={"rows": equal(len(TABLE_1), 8), "ends": equal([min(sizes), max(sizes)], [SMALLEST, LARGEST])},
        on="correction",
    )
    values = [formulas.listed().at(d=row.d, h=row.heads, L=row.layers) for row in TABLE_1]
    evidence.control(
        f"rows of Table 2, “{TEXT.quote('four task configurations')}”",
        kind="audit",
        figures={"rows": equal(len(TABLE_2), 4)},
    )
    evidence.exact(
        "every reported dimension is the value of (5)",
        figures={"dimensions": equal(values, [row.symmetries for row in TABLE_1])},
        on="correction",
        cases=len(values),
    )


@checks("refs")
def test_references(evidence: EvidenceLog) -> None:
    lacking = {number: reference.lacks for number, reference in REFERENCES.items() if reference.lacks}
    evidence.exact(
        "entries that lack names or a title of the cited work, as arXiv and proceedings have them",
        not lacking,
        counterexample="; ".join(f"[{number}] lacks {', '.join(names)}" for number, names in lacking.items()),
        cases=len(REFERENCES),
    )
    title = "An Embedding of ReLU Networks and an Analysis of their Identifiability"
    named = [["Michael Carbin"], ["Tegan Emerson"], ["Suvrat Raju", "Praneeth Netrapalli"], [title]]
    evidence.audit(
        "which they are, and what they lack",
        figures={"entries": equal(list(lacking), [3, 4, 9, 11]), "lacking": equal(list(lacking.values()), named)},
        on="correction",
    )
    evidence.control(
        "[1] and [14] are found right by the same search", not REFERENCES[1].lacks + REFERENCES[14].lacks, kind="audit"
    )


@checks("model")
def test_model(evidence: EvidenceLog) -> None:
    evidence.not_stated(TEXT, OF_THE_MODEL, there="hidden dimension")
    plain = architecture()
    others = [
        plain.replace(ff_bias=True),
        plain.replace(norm="rms", final_norm=True),
        plain.replace(position_table=True),
    ]
    evidence.exact(
        "parameters without biases, norms and positions, and with one of them",
        all(graph_of(a).parameters != PARAMETERS for a in others),
        figures={"without": equal(graph_of(plain).parameters, PARAMETERS)},
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
    fewer = dimension(IdealizedModel(a), Tokens(2, 2)).nullity
    evidence.control(
        "on the 4 words of two tokens the same count gives another dimension",
        kind="exact",
        figures={"nullity": at_least(fewer, found.nullity + 1)},
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
    evidence.not_stated(TEXT, OF_ALGORITHMS, there="we say a parameterization")


@checks("9-first")
def test_first(evidence: EvidenceLog) -> None:
    searched = ("to our knowledge", "to the best of our knowledge", "prior work", "previous studies", "earlier work")
    evidence.not_stated(TEXT, {"a search of earlier work": searched}, there="related work")
