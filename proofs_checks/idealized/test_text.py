"""Places where the source contradicts itself, its references, or leaves out what one needs to know."""

from __future__ import annotations

import math

from proofs_checks.idealized import dimension_formulas as formulas
from proofs_checks.idealized.experiments.printed import PARAMETERS, TABLE_1, TABLE_2
from proofs_checks.idealized.model import IdealizedModel, architecture, repeated_rows
from proofs_checks.idealized.text import (
    CONFIGURATIONS,
    LARGEST,
    LAYERS,
    REFERENCES,
    SMALLEST,
    STATED,
)
from symgauge.claims import EvidenceLog, claim, equal
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Tokens
from symgauge.wiring import wire


def same(a: str, b: str) -> bool:
    return a.casefold() == b.casefold()


@claim(
    id="idealized/intro-1",
    source="idealized",
    place="§1 (1)",
    statement="The formulas are verified across 12 configurations ranging from 800 to 37,879,808 parameters.",
    verdict="inconsistent",
    correction="Table 1 has 8 configurations of that range; its numbers are values of the formulas, not a test of "
    "them.",
)
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
        "every printed dimension is the value of (5)",
        figures={"dimensions": equal(values, [row.symmetries for row in TABLE_1])},
        on="correction",
        cases=len(values),
    )


@claim(
    id="idealized/refs",
    source="idealized",
    place="References",
    statement="The reference list names works by their authors and titles.",
    verdict="inconsistent",
    correction="[3] is by Frankle and Carbin; [4] by Godfrey, Brown, Emerson, Kvinge; [9] (arXiv:2601.14175) by "
    "Suvrat Raju "
    "and Praneeth Netrapalli; [11] is “An Embedding of ReLU Networks and an Analysis of their Identifiability” "
    "(arXiv:2107.09370; Constructive Approximation 2022, not ICML).",
    remark="[13] was not found under its authors or its title; that it does not exist is not shown. The right entries "
    "are "
    "transcribed here from arXiv and proceedings pages.",
)
def test_references(evidence: EvidenceLog) -> None:
    found = [r for r in REFERENCES if r.title]
    authors = [r.number for r in found if not same(r.printed_authors, r.authors)]
    titles = [r.number for r in found if not same(r.printed_title, r.title)]
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


@claim(
    id="idealized/model",
    source="idealized",
    place="§3",
    statement="The model is given: an embedding, $L$ layers of attention and a network, an output projection.",
    verdict="not-reproducible",
    correction=r"The numbers fix more of it: no biases, norms or position vectors (3,136), $L = 1$, logits read at "
    r"the last "
    r"position only (4 of 16 rows repeat; at all positions 32 of 48 would, at $|V| = 2$, $T = 3$). Residual stream, "
    r"mask, initialisation, "
    r"optimiser "
    r"and thresholds stay open.",
)
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
            "printed": TABLE_2[0][5],
        },
        on="correction",
    )


@claim(
    id="idealized/def-class",
    source="idealized",
    place="§3 against §5.1",
    statement=r"$[\theta]$, the parameters with the correct token on every input, is what the null space measures: the "
    r"directions that do not change the output.",
    verdict="inconsistent",
    correction=r"Three sets are meant. The right token everywhere: an open set, dimension $P = 3136$. The same logits "
    r"on all "
    r"inputs: 3124 for $|V| = 2$, $T = 3$. The same function on vectors in place of tokens: less still. Zero "
    r"cross-entropy, "
    r"also named, is met nowhere.",
)
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


@claim(
    id="idealized/abs-9",
    source="idealized",
    place="abstract, §8.1",
    statement="The ambiguity decomposes into continuous symmetries, discrete symmetries and algorithmically distinct "
    "branches.",
    verdict="not-reproducible",
    remark="Without a definition of “algorithm” that does not change under the first two, the third layer cannot be "
    "told from them.",
)
def test_layers(evidence: EvidenceLog) -> None:
    evidence.missing(
        *(f"what is meant by {name}" for name, place in LAYERS.items() if not place),
        "how to decide whether two solutions use the same algorithm",
    )


@claim(
    id="idealized/9-first",
    source="idealized",
    place="§9",
    statement="This is the first systematic computational study of parameterization ambiguity in idealized "
    "autoregressive "
    "transformers.",
    verdict="not-reproducible",
)
def test_first(evidence: EvidenceLog) -> None:
    evidence.missing("a search of earlier work, or what makes a study systematic")
