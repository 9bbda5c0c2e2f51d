"""What is free in attention variants of the literature, counted by hand and measured."""

from __future__ import annotations

import math

from sympy import BlockMatrix, Matrix, SparseMatrix, ones, symbols, zeros

import symgauge
from proofs_checks.discovered.counting import record
from proofs_checks.discovered.specimens.attention import in_words, variants
from symgauge.claims import at_least, checks, equal

LAMBDAS = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")


def nullity_at(variant, sizes, sink):
    """Free directions with every sink held at a value."""
    module, inputs = variant.make(sizes)
    module.sinks.requires_grad_(False).fill_(sink)
    return symgauge.dimension(module, inputs).require_decided().nullity


def without_sinks(variant, sizes):
    """Free directions of softmax attention, with no weight left for a sink."""
    return nullity_at(variant, sizes, -math.inf)


def shifts(sizes):
    """Numbers in the key and value biases of all heads."""
    return sizes["heads"] * (sizes["d_k"] + sizes["d_v"])


def orthogonal(n):
    """A basis of so(n, n), of the form q·k on (q, k): a matrix with its inverse transpose, and skew blocks across."""
    units = [SparseMatrix(n, n, {(i, j): 1}) for i in range(n) for j in range(n)]
    skew = [SparseMatrix(n, n, {(i, j): 1, (j, i): -1}) for i in range(n) for j in range(i)]
    return (
        [Matrix(BlockMatrix([[u, zeros(n)], [zeros(n), -u.T]])) for u in units]
        + [Matrix(BlockMatrix([[zeros(n), s], [zeros(n), zeros(n)]])) for s in skew]
        + [Matrix(BlockMatrix([[zeros(n), zeros(n)], [s, zeros(n)]])) for s in skew]
    )


def change_of_product(turn):
    """The derivative of q·k along a linear field on (q, k)."""
    n = turn.rows // 2
    point = Matrix(symbols(f"q:{n}") + symbols(f"k:{n}"))
    moved = turn * point
    return (moved[:n, :].T * point[n:, :] + moved[n:, :].T * point[:n, :])[0].expand()


def moved_by_orthogonal(n):
    """In how many directions so(n, n) moves a point (q, k)."""
    point = Matrix(range(1, 2 * n + 1))
    return Matrix.hstack(*(turn * point for turn in orthogonal(n))).rank()


def nullity_of(module, inputs, *moving):
    """Free directions, of the named tensors alone where some are named."""
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(not moving or name in moving)
    return symgauge.dimension(module, inputs).require_decided().nullity


@checks("differential-attention")
def test_differential_attention(evidence):
    record(evidence, "differential-attention")


@checks("differential-lambda")
def test_the_vectors_of_lambda(evidence):
    variant = variants()["differential-attention"]
    for sizes in variant.sizes:
        d_k = sizes["d_k"]
        free = nullity_of(*variant.make(sizes), *LAMBDAS)
        by_pairs = 2 * moved_by_orthogonal(d_k)
        figures = {"free": equal(free, 4 * d_k - 1), "beyond both pairs": equal(free - by_pairs, 1)}
        evidence.exact(f"exact rank of λ alone at $d_k = {d_k}$", figures=figures)
    evidence.exact(
        r"$\mathfrak{so}(d_k, d_k)$ keeps $q\cdot k$ and moves $(q, k)$ in $2d_k - 1$ directions, $d_k \le 3$",
        figures={f"directions at {n}": equal(moved_by_orthogonal(n), 2 * n - 1) for n in (1, 2, 3)},
    )
    kept = [change_of_product(turn) for turn in orthogonal(3)]
    evidence.proof(r"every element of $\mathfrak{so}(3, 3)$ keeps $q\cdot k$, with symbols for both", not any(kept))
    evidence.control(
        "a symmetric block in place of a skew one",
        kind="proof",
        figures={"terms of the product's change": at_least(len(change_of_product(ones(6)).args), 1)},
    )


@checks("gated-attention")
def test_gated_attention(evidence):
    record(evidence, "gated-attention")


@checks("talking-heads")
def test_talking_heads(evidence):
    record(evidence, "talking-heads")


@checks("talking-heads-span")
def test_score_maps_in_their_span(evidence):
    variant = variants()["talking-heads"]
    for d_model, surplus in ((3, 3), (4, 0)):
        sizes = {"d_model": d_model, "heads": 3, "d_k": 2, "d_v": 1}
        rigid = 3 * (2**2 + 1) + 3 * (1 + 1)
        more = nullity_of(*variant.make(sizes)) - rigid
        evidence.exact(f"exact rank at $d = {d_model}$", figures={"beyond groups and factors": equal(more, surplus)})
    module, inputs = variant.make({"d_model": 3, "heads": 3, "d_k": 2, "d_v": 1})
    module.mix_scores.requires_grad_(False)
    rest = symgauge.dimension(module, inputs).require_decided().nullity
    evidence.control(
        "with the mixture of scores held fixed nothing is beyond",
        kind="exact",
        figures={"fewer than the surplus and factors": at_least(rigid + 3 - rest, 6)},
    )


@checks("attention-with-sinks")
def test_attention_with_sinks(evidence):
    record(evidence, "attention-with-sinks")


@checks("sinks-pin-biases")
def test_sinks_pin_biases(evidence):
    variant = variants()["attention-with-sinks"]
    own, wide, other = variant.sizes
    for sizes in (own, other):
        more = without_sinks(variant, sizes) - variant.count(sizes)
        evidence.exact(f"exact rank without sinks at {in_words(sizes)}", figures={"more": equal(more, shifts(sizes))})
    held = nullity_at(variant, other, 0.0) - variant.count(other)
    evidence.control(
        "a sink held at zero has the effect of any other",
        kind="exact",
        figures={"short of the shifts": at_least(shifts(other) - held, 1)},
    )
    # Wider heads have a bias that their map already reaches: the shift is one of the linear group's directions.
    assert wide["d_k"] == wide["d_model"] + 1
    for sizes in (wide, {**own, "d_v": own["d_model"] + 1}):
        short = shifts(sizes) - (without_sinks(variant, sizes) - variant.count(sizes))
        evidence.control(
            f"heads wider than the layer, {in_words(sizes)}: fewer than $h(d_k + d_v)$ more",
            kind="exact",
            figures={"short of them": at_least(short, 1)},
        )


@checks("gated-linear-attention")
def test_gated_linear_attention(evidence):
    record(evidence, "gated-linear-attention")


@checks("sigmoid-attention")
def test_sigmoid_attention(evidence):
    record(evidence, "sigmoid-attention")


@checks("multi-query-attention")
def test_multi_query_attention(evidence):
    record(evidence, "multi-query-attention")


@checks("low-rank-adapters")
def test_low_rank_adapters(evidence):
    record(evidence, "low-rank-adapters")


@checks("low-rank-adapters-alone")
def test_low_rank_adapters_alone(evidence):
    record(evidence, "low-rank-adapters-alone")


@checks("soft-mixture")
def test_soft_mixture(evidence):
    record(evidence, "soft-mixture")


@checks("cosine-attention")
def test_cosine_attention(evidence):
    record(evidence, "cosine-attention")
