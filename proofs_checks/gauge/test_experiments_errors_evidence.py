"""What error experiments can show: a blind sampler, sectors that commute, and maximality, which needs a rank."""

from __future__ import annotations

import sympy as sp
import torch

from proofs_checks.gauge.experiments import non_symmetries
from proofs_checks.gauge.experiments.distribution import distribution
from proofs_checks.gauge.experiments.elements import Elements, Pair, act, sample
from proofs_checks.gauge.experiments.layer import Layer, Sizes, draw
from proofs_checks.gauge.experiments.subject import subject
from proofs_checks.gauge.experiments.table_2 import spoilt
from proofs_checks.gauge.experiments.table_3 import SECTORS
from proofs_checks.gauge.small_samples import ELEMENTS, SMALL, drawn, generator
from proofs_checks.support.attention_biases import record_symmetries_of_biases
from proofs_checks.support.integer_matrices import unimodular
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal


@checks("eq-87")
def test_the_sampler(evidence: EvidenceLog) -> None:
    c, s = sp.Rational(3, 5), sp.Rational(4, 5)
    q, low, high = sp.Matrix([[c, -s], [s, c]]), *sp.symbols("l m", positive=True)
    a = q * sp.diag(low, high) * q.T
    evidence.exact(
        r"$d_k=2$, any spectrum: the determinant is that of $\Lambda$, and so are the eigenvalues; condition at "
        r"most 2 / 0.5",
        sp.simplify(a.det() - low * high) == 0 and set(a.subs({low: sp.Rational(1, 2), high: 2}).eigenvals())
        == {sp.Rational(1, 2), sp.Integer(2)},
    )  # fmt: skip
    evidence.proof(
        r"$A=A^\top$ and $A^{-1}=A^{-\top}$ there",
        (a - a.T).expand().is_zero_matrix and sp.simplify(a.inv() - a.inv().T).is_zero_matrix,
        on="correction",
    )
    layer = drawn(SMALL)
    some = sample(SMALL, ELEMENTS, generator(1))
    assert some.query_key is not None
    matrices = some.query_key.matrix.flatten(0, 1)
    condition = float(torch.linalg.cond(matrices).max())
    sampled = evidence.numeric(
        "drawn at $d_k=64$",
        figures={
            "condition": at_most(round(condition, 2), 4.0),
            "determinants": equal(sorted(set(torch.linalg.slogdet(matrices).sign.tolist())), [1.0]),
        },
        cases=len(matrices),
    )
    blind, seen = spoilt(layer, "source", 0), spoilt(layer, "general", 0)
    evidence.numeric(
        "with the wrong inverse, under (87): still the size of rounding errors",
        on="correction",
        figures={"change": at_most(float(f"{blind.maximum:.0e}"), 1e-14)},
        cases=blind.trials,
    )
    evidence.control(
        "the same mistake under elements that are not symmetric", figures={"change": at_least(round(seen.median), 1)}
    )
    other = sample(SMALL, ELEMENTS, generator(1), law="general").query_key
    assert other is not None
    evidence.control(
        "a general sampler reaches both signs of the determinant",
        figures={"signs": equal(sorted(set(torch.linalg.slogdet(other.matrix).sign.flatten().tolist())), [-1.0, 1.0])},
        of=sampled,
    )


@checks("sec6-6", "sec6-6b")
def test_sectors_commute(evidence: EvidenceLog) -> None:
    sizes = Sizes(3, 4, 2, 5)
    layer = Layer(*(part.round() for part in draw(sizes, generator(), 3.0)))
    query_key = Elements(_integers(sizes.heads, sizes.d_k, 0), None, None)
    value_output = Elements(None, _integers(sizes.heads, sizes.d_v, 50), None)
    order = Elements(None, None, torch.tensor([1, 2, 0]))

    def commute(one: Elements, two: Elements) -> bool:
        pair = zip(act(act(layer, one), two), act(act(layer, two), one), strict=True)
        return all(torch.equal(a, b) for a, b in pair)

    product, inference = "sec6-6", "sec6-6b"
    for name, on in ((product, "statement"), (inference, "correction")):
        evidence.exact(
            "integer layer and elements: both orders give the same weights",
            commute(query_key, value_output),
            on=on,
            only=name,
        )
        evidence.control(
            "query-key maps and a permutation of the heads", not commute(query_key, order), kind="exact", only=name
        )
    s = drawn(SMALL)
    some = sample(SMALL, ELEMENTS, generator(1))
    parts = {name: distribution(s.under(some.only(*sectors))).mean for name, sectors in SECTORS.items()}
    added = (parts["QK only"] ** 2 + parts["VO only"] ** 2) ** 0.5
    mixed = distribution(s.under(some.only("query-key", "order"))).mean
    also = (parts["QK only"] ** 2 + parts["Permutation only"] ** 2) ** 0.5
    together, apart = round(parts["QK + VO"] / added, 1), round(mixed / also, 1)
    summary, cases = "mean error of both over the root of the sum of squares of each", s.inputs.shape[0] * ELEMENTS
    evidence.numeric(summary, figures={"QK + VO": at_most(together, 1.2)}, cases=cases, only=product)
    evidence.numeric(
        f"{summary}: two maps that do not commute are told by it from two that do",
        apart > 1.2,
        counterexample="query-key maps and permutations of the heads do not commute, and their errors compose as those "
        "of query-key and value-output maps do",
        figures={"QK + VO": together, "QK + permutation": apart},
        cases=cases,
        only=inference,
    )
    pairs = zip(*non_symmetries.mixings(generator(1), SMALL, ELEMENTS), strict=True)
    wrong = distribution(s.errors(non_symmetries.mix_heads(s.layer, *pair) for pair in pairs)).mean
    evidence.control(
        "heads mixed, which is outside the group: no error of rounding", figures={"ratio": at_least(wrong / added, 1e6)}
    )


def _integers(heads: int, size: int, seed: int) -> Pair:
    pairs = [unimodular(size, seed + head) for head in range(heads)]
    return Pair(torch.stack([a for a, _ in pairs]), torch.stack([b for _, b in pairs]))


@checks("sec6-8")
def test_maximality_from_errors(evidence: EvidenceLog) -> None:
    record_symmetries_of_biases(evidence)
    least = {}
    for name, biased in (("without biases", False), ("with biases", True)):
        s = subject(SMALL, 4, generator(), biased=biased)
        p, inverse = non_symmetries.mixings(generator(1), SMALL, ELEMENTS)
        pairs = list(zip(p, inverse, strict=True))
        turns = non_symmetries.rotations(generator(2), SMALL, ELEMENTS)
        least[name] = min(
            distribution(s.errors(non_symmetries.mix_heads(s.layer, *pair) for pair in pairs)).median,
            distribution(s.errors(non_symmetries.rotate(s.layer, q, "everywhere") for q in turns)).median,
        )
    evidence.numeric(
        "Table 4's maps on a layer where the group is complete and on one where it is not: smallest median change",
        on="correction",
        figures={name: at_least(round(change, 3), 1e-2) for name, change in least.items()},
        cases=4 * 4 * ELEMENTS,
    )
    inside = distribution(drawn(SMALL).under(sample(SMALL, ELEMENTS, generator(1)))).maximum
    evidence.control("elements of the group", figures={"largest change": at_most(float(f"{inside:.0e}"), 1e-12)})
