"""What is true of whole GPT-2-, BERT- and LLaMA-like models, and so of the paper's headline about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any

import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from proofs_checks.gauge.architecture_search import known, named
from proofs_checks.support.census import Census, census
from proofs_checks.support.factor_count import factor_count
from proofs_checks.support.group_elements import head_element
from proofs_checks.support.poles import prove_factors, prove_poles
from proofs_checks.support.small_architectures import ALONE, BIASES, EPSILON, parameters
from proofs_checks.support.symbolic_evidence import proves, record_identity
from symgauge import strategies as sg
from symgauge.accounting import account
from symgauge.architecture import Architecture, Rotary, distinct
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal, for_all
from symgauge.model_graph import graph_of
from symgauge.models.reference import random_parameters
from symgauge.numeric import action, assert_changes, measure_invariance, random_inputs
from symgauge.profiles import scale
from symgauge.symbolic.dimensions import bert_model, gpt2_model, llama_model
from symgauge.symbolic.identities import identity
from symgauge.symmetries import DiscreteSymmetry, Symmetry, discrete_families, families
from symgauge.symmetries import dimension as families_dimension
from symgauge.symmetries.symbols import evaluate

LAYER: dict[str, Any] = {"norm": "layer", "norm_offset": True, "position_table": True, **BIASES, **EPSILON}
GPT2: dict[str, Any] = {**LAYER, "final_norm": True}
BERT: dict[str, Any] = {**LAYER, "placement": "post", "embedding_norm": True, "causal": False}
MLM: dict[str, Any] = {**BERT, "token_types": 2, "head_transform": True, "tied": True, "head_bias": True}
LLAMA: dict[str, Any] = {"norm": "rms", "final_norm": True, "gated": True, "activation": "silu", **EPSILON}
BUDGET, ATTEMPTS = 330, 500_000
WIDE = r"a head as wide as the stream or wider ($d_k\ge d$ or $d_v\ge d$)"
SIZES = 100
"""Sizes at which each formula is held against the sum of the known families."""
TWO_CHANNELS: dict[str, Any] = {"d_model": 2, "heads": 1, "d_k": 1, "d_v": 1, "d_ff": 3, "vocabulary": 7, "context": 4}
TWO_TOKENS = Architecture(
    3, 2, 2, 1, groups=1, d_ff=4, vocabulary=2, context=4, rotary=Rotary.standard(2), **{**LLAMA, "tied": True}
)


def drawn(
    fields: dict[str, Any], count: int, seed: int, *, rotary: bool = False, budget: int = 0
) -> list[Architecture]:
    """Different architectures with one and two layers in turn, sizes pairwise distinct, within the budget.

    Tied heads are drawn too where the fields do not say. Sizes: (d, h, d_k, d_v, d_ff, V); with rotary positions d_k is
    even and heads are shared.
    """
    found: dict[str, Architecture] = {}
    budget = budget or scale(BUDGET, 450, BUDGET)
    for a in islice(_stream(fields, Random(seed), rotary), ATTEMPTS):
        if parameters(a) <= budget and a.layers == 1 + len(found) % 2:
            found.setdefault(repr(a), a)
        if len(found) == count:
            return list(found.values())
    raise AssertionError(f"only {len(found)} of {count} architectures fit {budget} parameters")


# Two layers need longer sequences and more tokens before all that is visible has been seen.
def _stream(fields: dict[str, Any], rng: Random, rotary: bool) -> Iterator[Architecture]:
    while True:
        layers = rng.randint(1, 2)
        d, ff, vocabulary = rng.randint(3, 5), rng.randint(3, 8), rng.randint(6, 9) + 2 * (layers - 1)
        k, v = rng.randint(1, d - 1), rng.randint(1, d - 1)
        groups = rng.randint(1, 3)
        h = groups * rng.randint(1, 3) if rotary else groups
        if not distinct((d, h, k, v, ff, vocabulary)) or vocabulary <= d or (rotary and k % 2):
            continue
        yield Architecture(
            d, h, k, v, groups=groups, d_ff=ff, vocabulary=vocabulary, layers=layers,
            rotary=Rotary.standard(k) if rotary else None, context=4 + 2 * (layers - 1),
            **({"tied": rng.random() < 0.5} | fields),
        )  # fmt: skip


def letters(a: Architecture, *names: str) -> dict[str, int]:
    every = {"h": a.heads, "g": a.groups, "d": a.d_model, "d_k": a.d_k, "d_v": a.d_v, "d_ff": a.d_ff, "L": a.layers}
    every |= {"V": a.vocabulary, "n_ctx": a.context}
    return {name: every[name] for name in names}


def gpt2_formula(output: str = "logits", epsilon: bool = True) -> Callable[[Architecture], int]:
    def value(a: Architecture) -> int:
        names = ("h", "d", "d_k", "d_v", "d_ff", "L", "n_ctx", *(() if a.tied else ("V",)))
        return gpt2_model(tied=a.tied, output=output, epsilon=epsilon).at(**letters(a, *names))

    return value


def bert_formula(epsilon: bool = True) -> Callable[[Architecture], int]:
    """With learned positions inside the embedding norm: their centring, and the shift between the tables."""
    names = ("h", "d", "d_k", "d_v", "d_ff", "L", "V")
    return lambda a: bert_model(epsilon=epsilon).at(**letters(a, *names)) + a.context + a.d_model - 1


def llama_formula(epsilon: bool = True) -> Callable[[Architecture], int]:
    names = ("g", "d", "d_k", "d_v", "d_ff", "L")
    return lambda a: llama_model(tied=a.tied, epsilon=epsilon).at(**letters(a, *names))


def record_census(evidence: EvidenceLog, summary: str, found: Census) -> None:
    paper = [evaluate(factor_count(a.architecture), a.architecture) for a in found.accounts]
    evidence.exact(summary, figures=found.figures | {"paper's count": paper}, cases=found.cases, on="condition")
    last = [
        next(f.new_directions for f in reversed(account.families) if f.new_directions) for account in found.accounts
    ]
    evidence.control(
        "with the last contributing family left out, what it alone spans is unexplained, in every model",
        kind="exact",
        figures={"directions": at_least(min(last), 1)},
    )


def record_lower_bound(evidence: EvidenceLog, *names: str) -> None:
    """Identities of families, which bound the dimension from below at every size; from above it is computed alone."""
    found = [identity(name) for name in names]
    evidence.exact(
        "no smaller at any size: the identities of these families, each proved symbolically",
        all(proves(each.prove) for each in found),
        figures={"identities": list(names)},
        cases=len(found),
        on="condition",
    )
    evidence.control(
        "no proof of any of them with one factor spoiled",
        not any(proves(each.prove_broken) for each in found),
        kind="proof",
    )


def record_degenerate(
    evidence: EvidenceLog, model: Architecture, formula: Callable[[Architecture], int], counterexample: str
) -> None:
    """A model of a degenerate case, at which the formula is not the exact nullity."""
    found = account(model).fibre.require_decided().nullity
    evidence.exact(
        "the exact nullity of one small model is the formula's",
        found == formula(model),
        counterexample=counterexample,
        figures={"nullity": found, "formula": formula(model)},
    )
    evidence.exact(
        "a degenerate case names that model", figures={"cases": at_least(len(named(model)), 1)}, on="condition"
    )


def record_sizes(
    evidence: EvidenceLog,
    drawn_ones: Sequence[Architecture],
    formula: Callable[[Architecture], int],
    meets: Callable[[Architecture], bool],
    size: str,
) -> None:
    """The formula is the sum of the known families wherever the condition holds, and not wherever ``meets`` fails."""
    fields, rotary = drawn_ones[0], drawn_ones[0].rotary is not None
    inside: list[Architecture] = []
    outside: list[Architecture] = []
    rng = Random(0)
    while len(inside) < SIZES:
        k, groups = rng.randint(1, 7), rng.randint(1, 3)
        a = fields.replace(
            d_model=rng.randint(1, 6), groups=groups, heads=groups * (rng.randint(1, 3) if rotary else 1),
            d_k=2 * k if rotary else k, d_v=rng.randint(1, 7), d_ff=rng.randint(1, 6), vocabulary=rng.randint(1, 9),
            context=rng.randint(1, 6), layers=rng.randint(1, 2), rotary=Rotary.standard(2 * k) if rotary else None,
        )  # fmt: skip
        if not named(a):
            (inside if meets(a) else outside).append(a)
    evidence.exact(
        "sizes drawn from one on that meet the condition: the known families add up to this formula; and none of the "
        "models above is a degenerate case",
        figures={
            "sums that differ": equal([repr(a) for a in inside if known(a) != formula(a)], []),
            "degenerate above": equal([repr(a) for a in drawn_ones if named(a)], []),
        },
        cases=len(inside),
        on="condition",
    )
    differ = [a for a in outside if known(a) != formula(a)]
    evidence.control(
        f"among sizes with {size} there are some at which they do not",
        kind="exact",
        figures={"sums that differ": at_least(len(differ), 1), "of": len(outside)},
    )


def narrow(a: Architecture) -> bool:
    """Heads narrower than the stream: LayerNorm leaves them d − 1 directions."""
    return a.d_k < a.d_model and a.d_v < a.d_model


def record_finite_elements(evidence: EvidenceLog, models: SearchStrategy[Architecture]) -> None:
    """Every family and finite symmetry on drawn models, far from the identity, in float64."""
    worst, weakest, names = 0.0, 1.0, set()

    def keeps(a: Architecture, seed: int) -> bool:
        nonlocal worst, weakest
        a = a.replace(**EPSILON)
        graph, x, holds = graph_of(a), random_inputs(a, seed), True
        roles, generator = random_parameters(a, seed), torch.Generator().manual_seed(seed)
        catalogue: list[Symmetry | DiscreteSymmetry] = [*families(a), *discrete_families(a)]
        for family in catalogue:
            found = measure_invariance(a, roles, action(family, a), family.sample(a, graph, generator), x)
            worst, holds = max(worst, found.ratio), holds and found.holds
            names.add(family.name)
        # With rotary positions the right inverse is wrong as well: a general A commutes with no rotation.
        wrong = head_element(a, roles, seed, wrong_inverse=a.rotary is None)
        weakest = min(weakest, assert_changes(a, roles, wrong, x, margin=1e-6))
        return holds

    run = for_all(keeps, examples=scale(8, 60), a=models, seed=st.integers(0, 999))
    evidence.property(
        "finite elements of every family on drawn models: the change stays below what rounding explains",
        run,
        figures={"largest observed / allowed": at_most(worst, 1.0), "families": sorted(names)},
        on="condition",
    )
    evidence.control(
        "in every drawn model: $A^{-1}$ for $A^{-\\top}$ (with rotary positions, an $A$ outside the commutant)",
        figures={"smallest change": at_least(weakest, 1e-6)},
    )


@checks("true-gpt2")
def test_gpt2(evidence: EvidenceLog) -> None:
    record_degenerate(
        evidence, Architecture(**TWO_CHANNELS, **{**GPT2, "tied": True}), gpt2_formula(),
        "one layer with a tied head, $d = 2$, $h = d_k = d_v = 1$, $d_{ff} = 3$, seven tokens, four positions: 30 "
        "directions are free, not 28",
    )  # fmt: skip
    found = census(drawn(GPT2, scale(7, 34), 1), gpt2_formula())
    record_census(evidence, "exact nullity of drawn models, one and two layers: the formula and no more", found)
    record_lower_bound(
        evidence, "norm_gain_fold", "norm_null_direction", "writer_centring", "table_shift", "layer_norm_rotation"
    )
    untied = [*drawn({**GPT2, "tied": False}, 1, 2), *drawn({**GPT2, "tied": True}, 1, 3)]
    soft = census(untied, gpt2_formula("probabilities"), output="probabilities")
    evidence.exact("if only probabilities count", figures=soft.figures, cases=soft.cases, on="condition")
    free = census([a.replace(epsilon=0.0) for a in untied], gpt2_formula(epsilon=False))
    evidence.exact(r"with $\varepsilon = 0$", figures=free.figures, cases=free.cases, on="condition")
    models = [a.architecture for a in found.accounts if a.architecture is not None]
    record_sizes(evidence, models, gpt2_formula(), narrow, WIDE)
    record_finite_elements(evidence, sg.architectures(kinds=["gpt2"]))


@checks("true-bert")
def test_bert(evidence: EvidenceLog) -> None:
    record_degenerate(
        evidence, Architecture(**TWO_CHANNELS, **BERT), bert_formula(),
        "one layer, $d = 2$, $h = d_k = d_v = 1$, $d_{ff} = 3$, seven tokens, four positions: 38 directions are free, "
        "not 36",
    )  # fmt: skip
    # Bidirectional stacks rarely have all their roots in the field; a mask takes part in no symmetry.
    encoders = [a.replace(causal=a.layers > 1) for a in drawn({**BERT, "tied": False}, scale(5, 28), 4)]
    found = census(encoders, bert_formula())
    record_census(
        evidence,
        "exact nullity of drawn encoders, one layer bidirectional and two layers with a causal mask: the formula, "
        "nothing unexplained",
        found,
    )
    record_lower_bound(evidence, "norm_null_direction", "writer_centring", "key_bias", "value_bias", "table_shift")
    whole = [a.replace(causal=a.layers > 1) for a in drawn(MLM, scale(1, 5), 5, budget=380)]
    heads = census(whole, lambda a: evaluate(families_dimension(a), a))
    summary = "with token types and BERT's tied head (transform, norm, bias)"
    evidence.exact(summary, figures=heads.figures, cases=heads.cases, on="condition")
    free = census([found.accounts[0].architecture.replace(epsilon=0.0)], bert_formula(epsilon=False))
    evidence.exact(r"with $\varepsilon = 0$", figures=free.figures, cases=free.cases, on="condition")
    record_sizes(evidence, encoders, bert_formula(), narrow, WIDE)
    record_finite_elements(evidence, sg.architectures(kinds=["bert"], max_parameters=700))


@checks("true-llama")
def test_llama(evidence: EvidenceLog) -> None:
    record_degenerate(
        evidence, TWO_TOKENS, llama_formula(),
        "one layer with a tied head and two tokens, $d = 3$, $h = 2$, $g = 1$, $d_k = 2$, $d_v = 1$, $d_{ff} = 4$, "
        "four positions: 30 directions are free, not 13",
    )  # fmt: skip
    found = census(drawn(LLAMA, scale(7, 34), 6, rotary=True), llama_formula())
    record_census(evidence, "exact nullity of drawn models, one and two layers: the formula and no more", found)
    record_lower_bound(
        evidence, "rotary_commutant", "shared_group", "gated_rescaling", "norm_gain_fold", "rms_rotation"
    )
    some = [found.accounts[i].architecture.replace(epsilon=0.0, tied=bool(i)) for i in (0, 1)]
    free = census(some, llama_formula(epsilon=False))
    evidence.exact(r"with $\varepsilon = 0$, tied and untied", figures=free.figures, cases=free.cases, on="condition")
    models = [a.architecture for a in found.accounts if a.architecture is not None]
    record_sizes(
        evidence, models, llama_formula(), lambda a: a.d_v <= a.d_model, "values wider than the stream ($d_v>d$)"
    )
    fixed: dict[str, Any] = {"query_bias": False, "key_bias": False, "value_bias": False, "qk_norm": False}
    record_finite_elements(evidence, sg.architectures(kinds=["llama"], **fixed))


@checks("abs-1", "intro-7", "sec10-1")
def test_headline(evidence: EvidenceLog) -> None:
    gpt2 = drawn({**GPT2, "tied": True}, 1, 7)[0]
    bert = drawn(MLM, 1, 5, budget=380)[0]
    llama = drawn({**LLAMA, "tied": False}, 1, 9, rotary=True)[0]
    qwen2 = llama.replace(query_bias=True, key_bias=True, value_bias=True, name="qwen2")
    qwen3 = llama.replace(qk_norm=True, name="qwen3")
    found = census([gpt2, bert, llama, qwen2, qwen3], lambda a: evaluate(families_dimension(a), a))
    claimed = [evaluate(factor_count(a.architecture), a.architecture) for a in found.accounts]
    nullity = [a.fibre.nullity for a in found.accounts]
    evidence.exact(
        "the exact dimension of the fibre is the dimension of the claimed group (GPT-2, BERT, LLaMA, Qwen2, Qwen3)",
        nullity == claimed,
        counterexample=r"in a GPT-2-like model $b_K\mapsto b_K+c$ changes nothing, for any $c\in\mathbb R^{d_k}$ in "
        r"any head; "
        r"in a LLaMA-like one, up columns of the SwiGLU network doubled and down rows halved",
        figures={"claimed": claimed, "nullity": nullity},
        cases=found.cases,
    )
    evidence.exact(
        "it is the total of the known families, with nothing unexplained",
        on="correction",
        figures=found.figures,
        cases=found.cases,
    )
    for name in ("key_bias", "gated_rescaling", "writer_centring", "query_key_norm_gains"):
        record_identity(evidence, name, on="correction")
    roles, x = random_parameters(gpt2, 1), random_inputs(gpt2, 1)
    key = "layers.0.attention.key.bias"
    kept = measure_invariance(gpt2, roles, lambda r, c: {key: r[key] + c}, torch.tensor(1.0, dtype=torch.float64), x)
    evidence.numeric(
        "a shifted key bias in float64", on="correction", figures={"observed / allowed": at_most(kept.ratio, 1.0)}
    )
    query = "layers.0.attention.query.bias"
    change = assert_changes(gpt2, roles, {query: roles[query] + 1.0}, x)
    evidence.control("the query bias shifted", figures={"change": at_least(change, 1e-3)})
    alone = [Architecture(*sizes, context=3, **ALONE) for sizes in ((6, 3, 2, 2), (4, 2, 2, 2), (7, 2, 3, 2))]
    bare = census(alone, lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    evidence.exact(
        "attention alone, without biases: exact nullity is $h(d_k^2+d_v^2)$, nothing unexplained",
        on="correction",
        figures=bare.figures,
        cases=bare.cases,
        only="sec10-1",
    )
    evidence.proof(
        r"its poles give the multiset of $(M_i,N_i)$, full ranks give $A_i$ and $C_i$, for every size",
        prove_poles() and prove_factors(),
        on="correction",
        only="sec10-1",
    )
    scales = found.accounts[4]
    new = {f.name: f.new_directions for f in scales.families}
    evidence.exact(
        r"QK-norm leaves $d_k/2$ dimensions between query and key gains in place of $gd_k$",
        on="correction",
        figures={
            "gains": equal(new.get("qk-norm-gain"), qwen3.layers * qwen3.d_k // 2),
            "query-key": equal(new.get("query-key", 0), 0),
        },
    )
