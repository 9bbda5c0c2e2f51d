"""The discrete part under sharing, by enumeration of S_h × S_g: Theorem 3.2, Corollary 3.3, B.7 and Appendix D.1."""

from __future__ import annotations

import torch
from hypothesis import strategies as st

from proofs_checks.gauge.relabelings import (
    EnumeratedLayer,
    kept_on_symbols,
    record_enumeration,
    relabelings,
    wiring_along,
)
from proofs_checks.gauge.shared_heads import relabelled, shared
from proofs_checks.support.algebra import group
from symgauge import strategies as sg
from symgauge.architecture import Architecture, Rotary
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal, for_all
from symgauge.model_graph import graph_of
from symgauge.models.reference import random_parameters
from symgauge.numeric import assert_changes, measure_invariance, random_inputs
from symgauge.symmetries.catalogue.head_permutation import HeadPermutation


@checks("thm-3.2c", "abs-13")
def test_discrete_part(evidence: EvidenceLog) -> None:
    record_enumeration(
        evidence,
        ((2, 1), (2, 2), (3, 1), (3, 3), (4, 2), (4, 4), (6, 2), (6, 3)),
        r"$h = g = 2$: exchanging the query heads and not the groups changes the function; at $h = 4$, $g = 2$, 8 of "
        r"the 48 relabelings keep it, and at $h = 6$, $g = 3$, 48 of 4320",
    )
    a = shared((5, 2, 2, 2, 3))
    roles, x = random_parameters(a, 5), random_inputs(a, 5)
    change = assert_changes(a, roles, relabelled(roles, (1, 0), (0, 1)), x)
    evidence.control(
        "in float64, $h = g = 2$: query heads exchanged, groups not", figures={"change": at_least(change, 1e-3)}
    )
    record_wiring_along(evidence, "thm-3.2c")
    groupings = ((0, 0, 1), (0, 1, 1, 2), (0, 0, 1, 1), (0, 0, 1, 1, 2, 2), (0, 0, 0, 1))
    counted = [sum(1 for _ in group.stabiliser(m)) for m in groupings]
    evidence.exact(
        "the stabiliser of $m$, counted one by one, against the formula (unequal groups included)",
        on="correction",
        figures={
            "orders": equal(counted, [group.stabiliser_order(m) for m in groupings]),
            "groupings": list(groupings),
        },
        cases=len(groupings),
    )
    unequal = [m for m in groupings if len(m) < 6]
    by_letters = [kept_on_symbols(relabelings(len(m), max(m) + 1), m)[0] == set(group.stabiliser(m)) for m in unequal]
    evidence.proof(
        r"groups of unequal size too, every relabeling tried on independent letters: those kept are the stabiliser of "
        r"$m$",
        all(by_letters),
        on="correction",
        cases=len(unequal),
    )
    worst, weakest = 0.0, 1.0
    family = HeadPermutation()

    def keeps(a: Architecture, seed: int) -> bool:
        nonlocal worst, weakest
        graph = graph_of(a)
        element = family.sample(a, graph, torch.Generator().manual_seed(seed))
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        found = measure_invariance(a, roles, lambda r, e: family.act(a, graph, r, e), element, x)
        worst = max(worst, found.ratio)
        values = family.act(a, graph, roles, element)["layers.0.attention.value.weight"]
        if not torch.equal(values, roles["layers.0.attention.value.weight"]):
            weakest = min(weakest, assert_changes(a, roles, {"layers.0.attention.value.weight": values}, x))
        return found.holds

    drawn = sg.architectures(
        kinds=["attention"], max_parameters=400, max_layers=1, attention="softmax", heads=6, groups=3, rotary=None
    )
    run = for_all(keeps, a=drawn, seed=st.integers(0, 999))
    evidence.property(
        "random elements of $S_2\\wr S_3$ on drawn layers keep the function",
        run,
        on="correction",
        figures={"largest observed / allowed": at_most(worst, 1.0)},
    )
    evidence.control("values relabelled alone", figures={"smallest change": at_least(weakest, 1e-6)})


def record_wiring_along(evidence: EvidenceLog, only: str, on: str = "correction") -> None:
    """The other reading: m is relabelled too. Then every relabeling keeps the function, in another architecture."""
    layer = EnumeratedLayer(4, 2)
    pairs = relabelings(4, 2)
    moved = [pair for pair in pairs if wiring_along(layer.grouping, pair) != layer.grouping]
    evidence.exact(
        "with $m$ relabelled along, at $h = 4$, $g = 2$: all 48 relabelings keep the function, and all but the 8 of "
        "the stabiliser change $m$",
        all(map(layer.keeps_with_wiring, pairs)),
        on=on,
        figures={"change m": equal(len(moved), len(pairs) - group.stabiliser_order(layer.grouping))},
        cases=len(pairs),
        only=only,
    )
    evidence.control(
        "the same relabelings without that of $m$",
        not any(map(layer.keeps, moved)),
        kind="exact",
        only=only,
    )


@checks("B.7-disc")
def test_reindexings(evidence: EvidenceLog) -> None:
    record_wiring_along(evidence, "B.7-disc", on="statement")
    larger, many = EnumeratedLayer(6, 2), relabelings(6, 2)
    evidence.exact(
        "the same at $h = 6$, $g = 2$: the queries of $\\sigma(i)$ read the keys that they always read, so that "
        "the sum over heads has the same terms",
        all(map(larger.keeps_with_wiring, many)),
        cases=len(many),
    )


@checks("cor-3.3b", "App-D.1b")
def test_rotary_discrete_part(evidence: EvidenceLog) -> None:
    record_enumeration(
        evidence,
        ((2, 1), (2, 2), (4, 2), (4, 4), (6, 2)),
        r"$h = g = 2$ with rotary positions: exchanging the query heads and not the groups changes the function",
        Rotary.standard(2),
    )
    a = shared((5, 4, 2, 4, 3), Rotary.standard(4))
    roles, x = random_parameters(a, 5), random_inputs(a, 5)
    change = assert_changes(a, roles, relabelled(roles, (2, 1, 0, 3), (0, 1)), x)
    found = measure_invariance(a, roles, lambda r, e: relabelled(r, *e), ((3, 2, 1, 0), (1, 0)), x)
    evidence.numeric(
        "in float64: both groups exchanged with their heads, and heads inside them",
        on="correction",
        figures={"observed / allowed": at_most(found.ratio, 1.0)},
    )
    evidence.control("in float64: heads of two groups exchanged", figures={"change": at_least(change, 1e-3)})
