"""The log-bilinear model as a parameter symmetry: its fibre, and what a transformer's output side inherits of it."""

from __future__ import annotations

from random import Random
from typing import Any, Literal

import sympy as sp

from proofs_checks.linear_properties.drawing import Room, random_model
from proofs_checks.linear_properties.fibre import LogBilinear, generic_fibre_dimension, nullity_at
from proofs_checks.linear_properties.floating import Representation
from proofs_checks.linear_properties.model import Model
from proofs_checks.linear_properties.network import hidden_states, random_contexts, unembedding
from proofs_checks.support.symbolic_evidence import proves
from symgauge import Tokens, account, dimension, subject_of
from symgauge.architecture import Architecture
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.exact.result import FibreDimension, Output
from symgauge.models.huggingface import tiny
from symgauge.symbolic.functions import layer_norm
from symgauge.symbolic.identities import d, matrix, n, ones
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

OUTPUTS: tuple[Output, Output] = ("logits", "probabilities")


def fibre(module: LogBilinear, output: Output, point: Literal["random", "own"] = "random") -> FibreDimension:
    """Measured over every context there is, so the rank cannot grow any more."""
    found = dimension(module, Tokens(module.f.num_embeddings, 1), output=output, point=point)
    if not (found.agree and (found.exhausted or found.saturated)):
        raise AssertionError("the rank is not settled")
    return found


@checks("fibre")
def test_fibre(evidence: EvidenceLog) -> None:
    sizes = [(5, 6, 3), (5, 4, 3), (2, 6, 3), (6, 3, 4), (3, 3, 5)]
    measured: dict[str, list[int]] = {}
    for output in OUTPUTS:
        found = [fibre(LogBilinear(*size), output) for size in sizes]
        measured[output] = [x.nullity for x in found]
        evidence.exact(
            f"nullity by {output} against the formula, general tables",
            figures={
                "n, V, d": [list(size) for size in sizes],
                "nullity": equal(
                    measured[output],
                    [generic_fibre_dimension(*size, output=output) for size in sizes],
                ),
                "failure bound": at_most(max(x.failure_bound for x in found), 1e-6),
            },
            cases=len(sizes),
        )
    rows, width, vocabulary, rank = sp.symbols("n d V r", positive=True)
    count = (rows + vocabulary) * width - rank * (rows + vocabulary - 1 - rank)
    evidence.proof(
        r"for every $n$ and $V$: with $r = d$ the formula is $d^2+d$",
        sp.expand(count.subs(rank, width) - width**2 - width) == 0,
    )
    group = [w * w + w for _, _, w in sizes]
    evidence.control(
        r"$d^2+d$ for all sizes fails where tables are too short for diversity",
        measured["probabilities"] != group and measured["probabilities"][:2] == group[:2],
        kind="exact",
        figures={"more than the group": [a - b for a, b in zip(measured["probabilities"], group, strict=True)]},
    )


@checks("fibre-without-diversity")
def test_fibre_without_diversity(evidence: EvidenceLog) -> None:
    models = [
        random_model(Random(seed), 2, room, contexts=5, tokens=6)
        for seed, room in enumerate((Room(), Room(1, 0, 0), Room(0, 1, 0), Room(1, 1, 0), Room(0, 0, 1), Room(0, 1, 1)))
    ]
    found = [fibre(LogBilinear.of(m), "probabilities", "own").nullity for m in models]
    generic = [generic_fibre_dimension(5, 6, m.dimension) for m in models]
    evidence.exact(
        "exact nullity at rational tables of complexity 2 in dimensions 2 to 4",
        figures={
            "dim F, dim G, d": [[m.F.shape[0], m.G.shape[0], m.dimension] for m in models],
            "nullity": equal(found, [nullity_at(m) for m in models]),
            "general tables": generic,
        },
        cases=len(models),
    )
    evidence.control("the general formula does not hold at these points", found != generic, kind="exact")


NORMS: dict[str, dict[str, Any]] = {
    "no norm": {},
    "RMSNorm": {"norm": "rms", "final_norm": True},
    "LayerNorm": {"norm": "layer", "final_norm": True},
    "LayerNorm with offset": {"norm": "layer", "final_norm": True, "norm_offset": True},
}


@checks("transformer-head")
def test_transformer_head(evidence: EvidenceLog) -> None:
    width = 4
    cases = [(norm, False, False) for norm in NORMS]
    cases += [(norm, True, table) for norm in ("no norm", "RMSNorm", "LayerNorm") for table in (False, True)]
    gained, shifts, maps, unexplained, bounds = [], [], [], [], []
    for name, tied, table in cases:
        a = Architecture(
            width, 1, 2, 1, vocabulary=2 * width + 2, context=3, tied=tied, position_table=table, **NORMS[name]
        )
        subject, shares = subject_of(a), []
        for output in OUTPUTS:
            found = dimension(subject, output=output, primes=DEFAULT_PRIMES[:1])
            shares.append(account(subject, fibre=found, output=output))
            bounds.append(found.failure_bound)
        unexplained += [share.unexplained + (not share.decided) for share in shares]
        gained.append(shares[1].fibre.nullity - shares[0].fibre.nullity)
        shifts.append(expected_shift(name, tied, table, width))
        maps.append(sum(f.new_directions for f in shares[1].families if f.name == "stream-map"))
    evidence.exact(
        f"exact fibres at $d = {width}$: what probabilities add to logits",
        figures={
            "norm, tied, position table": [list(case) for case in cases],
            "gained": equal(gained, shifts),
            "failure bound, sum": at_most(sum(bounds), 1e-3),
        },
        cases=len(gained),
    )
    evidence.exact(
        r"maps of the stream with an untied head: $d^2$, $d(d-1)/2$, $(d-1)(d-2)/2$; tied: $d(d-1)/2$ without norms, "
        "none with them",
        figures={
            "untied": equal(maps[: len(NORMS)], [16, 6, 3, 3]),
            "tied, no norm": equal(maps[len(NORMS) : len(NORMS) + 2], [6, 6]),
            "tied, norms": equal(maps[len(NORMS) + 2 :], [0, 0, 0, 0]),
        },
    )
    evidence.exact(
        "all fibres are explained", figures={"unexplained": equal(sum(unexplained), 0)}, cases=len(unexplained)
    )
    evidence.control("the shift is not free in every model", len(set(gained)) > 1, kind="exact")


def expected_shift(norm: str, tied: bool, table: bool, width: int) -> int:
    """What the statement says of the shift."""
    if tied and not table:
        return int(norm.startswith("LayerNorm"))
    return width - (norm == "LayerNorm")


@checks("layer-norm-diversity")
def test_layer_norm(evidence: EvidenceLog) -> None:
    x, gain, offset = matrix("X", n, d), matrix("Γ", d, d), matrix("b", d, 1)
    facts = Facts(diagonal=(gain,))
    normed = layer_norm(x) * gain
    seen = (normed + ones(n) * offset.T) * gain.inv() * ones(d)
    evidence.proof(
        r"for every size: $\mathrm{LN}(X)\Gamma\,\Gamma^{-1}\mathbf 1 = 0$, and with an offset the product is "
        r"the same for "
        "every row",
        proves(lambda: prove_equal(normed * gain.inv() * ones(d), sp.ZeroMatrix(n, 1), facts))
        and proves(lambda: prove_equal(seen, ones(n) * offset.T * gain.inv() * ones(d), facts)),
    )
    evidence.control(
        r"no proof for $\Gamma$ in place of $\Gamma^{-1}$",
        not proves(lambda: prove_equal(normed * gain * ones(d), sp.ZeroMatrix(n, 1), facts)),
        kind="proof",
    )
    found, ranks = {}, []
    for family in ("gpt2", "llama", "bert"):
        model = tiny(family)
        contexts = random_contexts(Tokens(model.config.vocab_size, 3), 40, 3, seed=1)
        r = Representation(hidden_states(model, contexts), unembedding(model))
        found[family] = [r.effective_complexity.rank, r.f.shape[1]]
        ranks.append(
            evidence.numeric(
                f"float64, a random small {family} on 40 contexts: rank of $L$ with its gap",
                figures={
                    "complexity": equal(r.effective_complexity.rank, r.f.shape[1] - (family == "bert")),
                    "gap": at_least(r.effective_complexity.gap, 1e6),
                    "width (with the bias)": r.f.shape[1],
                },
            )
        )
    evidence.control(
        "width and complexity differ for BERT's head with bias only",
        [name for name, (rank, size) in found.items() if rank != size] == ["bert"],
        figures={"found": [f"{name}: {rank} of {size}" for name, (rank, size) in found.items()]},
        of=ranks,
    )
    without = Model.of([[1, -1], [2, -2], [-3, 3]], [[0, 0], [1, 0], [0, 1]])
    evidence.exact(
        r"smallest instance: $d = 2$, rows of zero sum, $\gamma = 1$: complexity 1",
        figures={"complexity": equal(without.effective_complexity, 1)},
    )
