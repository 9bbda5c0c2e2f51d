"""The findings that matter most, by source, each tied to the claims that it rests on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from symgauge.claims import Entry, Ledger, Verdict
from symgauge.reporting import markdown as md

HOLD = (Verdict.HOLDS, Verdict.REPRODUCED)
FAIL = (Verdict.REFUTED, Verdict.INCONSISTENT)


@dataclass(frozen=True)
class Finding:
    """text: one or two sentences of Markdown. claims: ids; with one of them undecided or off the record it is none."""

    text: str
    claims: tuple[str, ...]


FINDINGS: dict[str, tuple[Finding, ...]] = {
    "gauge": (
        Finding(
            "**The group is not maximal for the models it names.** GPT-2 small has 1,346,584 free directions, not "
            "1,179,648; LLaMA-3-8B has 13,338,624 where the paper's formula gives 4,227,072. Biases, norms, gated "
            "networks, embeddings and the residual stream carry the rest; with them nothing is unexplained.",
            ("gauge/abs-1", "gauge/true-gpt2", "gauge/true-llama"),
        ),
        Finding(
            "**Layers do not factor.** One change of basis of the residual stream acts on every layer at once: "
            "orthogonal for RMSNorm, orthogonal and fixing $\\mathbf 1$ for LayerNorm, a permutation always.",
            ("gauge/thm-4.3", "gauge/thm-C.4", "gauge/eq-64"),
        ),
        Finding(
            "**Bias-free attention alone does have the group claimed**, but by another proof and under other "
            "conditions: distinct $M_i$, full-rank $W_{O,i}$, three tokens. The printed isolation of heads is "
            "impossible, and neither $d = h\\,d_v$ nor $d \\ge 2 d_k$ is needed.",
            ("gauge/thm-3.6", "gauge/eq-29"),
        ),
        Finding(
            "**Under head sharing the discrete group is $S_{h/g} \\wr S_g$**, not $S_h \\times S_g$: found by trying "
            "every pair of permutations.",
            ("gauge/thm-3.2c",),
        ),
        Finding(
            "**Algorithms 2 to 4 do not do what they say.** Balancing swaps the Gram matrices instead of balancing "
            "them, the projection spoils gradients that need none, alignment can move models apart. "
            "`symgauge.algorithms` has versions that work.",
            ("gauge/alg-2", "gauge/alg-3", "gauge/alg-4"),
        ),
    ),
    "idealized": (
        Finding(
            "**The null dimensions 4, 16 and 0 count repeated inputs.** They are the left null space of the Jacobian, "
            "$|V|(|V|^T - |V|\\binom{T+|V|-2}{|V|-1})$, the same before training; the solutions' own null space has "
            "dimension 3124, 3120, 3141.",
            ("idealized/true-rows", "idealized/table-2.1", "idealized/table-2.4"),
        ),
        Finding(
            "**$L(2Hd_k^2+4d)$ bounds the fibre from below, not above.** Maps of the residual stream add $d^2$, or "
            "$(2L+1)d^2$ where there is none; with them every case of the grid is explained to the last direction.",
            ("idealized/eq-5", "idealized/three-fam", "idealized/true-dimension"),
        ),
        Finding(
            "**The ambiguity does not vanish like $1/d$.** At a fixed number of heads the ratio tends to $1/(6H)$; the "
            "table mixes growing $d$ with growing $H$ and an unstated, growing vocabulary.",
            ("idealized/fig-1", "idealized/8.3", "idealized/table-1.cap"),
        ),
    ),
    "linear-properties": (
        Finding(
            "**Same probabilities, other insides, related exactly as claimed**, in any two dimensions: the "
            "decision finds "
            "the two maps or says which condition fails, over the rationals and over GF(p). No condition can be "
            "dropped.",
            ("linear-properties/thm-5", "linear-properties/thm-5-conditions", "linear-properties/diversity"),
        ),
        Finding(
            "**\"All or none\" is a statement about ranks**: answers are linear in every such model exactly when "
            "$\\mathrm{rank}[L_0|\\mathbf 1|\\ell] = \\mathrm{rank}[L_0|\\mathbf 1]$. Without $\\Gamma_q\\subseteq M$ "
            "\"none\" never occurs: some equivalent model carries any answers where no token looks.",
            ("linear-properties/criterion", "linear-properties/thm-14", "linear-properties/abstract-question"),
        ),
        Finding(
            "**Parallel unembeddings are shared within $N$ only**; three tokens in the plane refute the rest. "
            "Cosines and "
            "norms are shared by no two such models in general.",
            ("linear-properties/thm-15", "linear-properties/thm-15-elsewhere", "linear-properties/geometry"),
        ),
        Finding(
            "**As a gauge group it is $GL(d)$ and the shift of $g$**: $d^2+d$ directions, more without diversity. A "
            "transformer keeps the shift with an untied head and of $GL(d)$ what its norms allow; a final "
            "LayerNorm without "
            "offset breaks diversity.",
            ("linear-properties/fibre", "linear-properties/transformer-head", "linear-properties/layer-norm-diversity"),
        ),
    ),
    "manifolds": (
        Finding(
            "**A dimension of 3–4 is no property of what is learned.** Along paths of the very same functions $r_{90}$ "
            "takes any value from 1 to 90 % of all that snapshots and $d_k^2$ allow; a random walk has 6. What the "
            "head gauge leaves alone, $W_QW_K^\\top$ and $W_VW_O$, is measured beside it.",
            ("manifolds/intrinsic", "manifolds/collapse", "manifolds/r90-invariance"),
        ),
        Finding(
            "**The growing defect is rounding and convergence.** In float32, as in the source's code, two losses whose "
            "steps commute exactly have a defect of thousands near their minimum. In the small-scale run it grows "
            "65-fold in float32 and 2-fold in float64, where alignment with the execution basis hardly falls.",
            ("manifolds/defect-precision", "manifolds/defect-grows", "manifolds/abs-decreasing"),
        ),
        Finding(
            "**Ten times random is 5.8 times, and 92 % perpendicular is 99 %.** The baseline counts 658,560 parameters "
            "that are never used, and $1-\\rho$ stands where $\\sqrt{1-\\rho^2}$ belongs; a random plane leaves "
            "99.99 %.",
            ("manifolds/abs-10x", "manifolds/dead-parameters", "manifolds/abs-92"),
        ),
        Finding(
            "**The ablation of sparse features is mostly not read.** In 7 of 11 placements no changed position reaches "
            "the answer; where it does, six latents cost a fair part of the accuracy.",
            ("manifolds/ablation",),
        ),
        Finding(
            "**Commutators and symmetry**: the leading commutator is orthogonal to scaling directions of the head "
            "gauge and has a component $\\langle g_A, (M-M^\\top)g_B\\rangle$ along rotations, though no "
            "gradient has one.",
            ("manifolds/pairing", "manifolds/bracket", "manifolds/level-set"),
        ),
    ),
}  # fmt: skip


def in_a_minute(ledger: Ledger) -> str:
    """For each source a sentence of counts and its findings; those that this ledger does not bear out are left out."""
    return md.document(*(_source(ledger, source) for source in ledger.sources))


def counts(ledger: Ledger, source: str) -> str:
    """How many claims hold, hold under added conditions, fail, cannot be reproduced, are undecided."""
    verdicts = Counter(entry.verdict for entry in ledger.of_source(source))
    groups = {
        "hold": sum(verdicts[v] for v in HOLD),
        "hold under conditions that have to be added": verdicts[Verdict.HOLDS_IF],
        "fail": sum(verdicts[v] for v in FAIL),
        "cannot be reproduced": verdicts[Verdict.NOT_REPRODUCIBLE],
        "are undecided": verdicts[Verdict.UNDECIDED],
    }
    told = ", ".join(f"{number} {what}" for what, number in groups.items() if number)
    return f"Of {sum(groups.values())} claims {told}."


def _source(ledger: Ledger, source: str) -> str:
    borne_out = [finding for finding in FINDINGS.get(source, ()) if _stands(ledger, finding)]
    bullets = [f"- {md.text(finding.text)} ({_links(finding)})" for finding in borne_out]
    return md.document(f"**[{source}]({source}.md)**: {counts(ledger, source)}", "\n".join(bullets))


def _stands(ledger: Ledger, finding: Finding) -> bool:
    entries = [ledger.entries.get(claim_id) for claim_id in finding.claims]
    return all(entry is not None and _decided(entry) for entry in entries)


def _decided(entry: Entry) -> bool:
    return entry.agrees and entry.verdict is not Verdict.UNDECIDED


def _links(finding: Finding) -> str:
    pairs = [claim_id.split("/", 1) for claim_id in finding.claims]
    return ", ".join(f"[{name}]({source}.md#{name})" for source, name in pairs)
