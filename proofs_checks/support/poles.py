"""The pole argument behind Theorem 3.6: what the function says about its heads, in SymPy and in ℂ.

One query token λx and n − 1 other tokens λx − δ. With M = W_Q W_Kᵀ, N = W_V W_O and t = xMδᵀ/√d_k of a head, the last
row of the layer is Σ_i (λx − w_i δ) N_i, w_i = σ(ln(n−1) − λt_i), a meromorphic function of λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from proofs_checks.support.algebra import linearised
from proofs_checks.support.symbolic_evidence import proves
from symgauge.errors import InvalidInput

TOKENS, LAM, T, X, DELTA, N = sp.symbols("n λ t x δ N", positive=True)
LOG = sp.log(TOKENS - 1)


def prove_reduction() -> bool:
    """Softmax over one token x and n − 1 tokens x − δ gives (x − wδ)N with w = 1/(1 + exp(λt − ln(n−1)))."""
    s = sp.Symbol("s", real=True)
    own, others = sp.exp(s), (TOKENS - 1) * sp.exp(s - LAM * T)
    row = (own * X + others * (X - DELTA)) / (own + others) * N
    logistic = 1 / (1 + sp.exp(LAM * T - LOG))
    return sp.simplify(row - (X - logistic * DELTA) * N) == 0


def prove_residue() -> bool:
    """1 + exp(λt − ln(n−1)) vanishes exactly where λt = ln(n−1) + iπ(2k+1), simply: the residue of w is −1/t."""
    k, z = sp.Symbol("k", integer=True), sp.Symbol("z")
    roots = sp.solveset(sp.exp(z) + 1, z, sp.S.Complexes)
    expected = sp.ImageSet(sp.Lambda(k, sp.I * (2 * k * sp.pi + sp.pi)), sp.S.Integers)
    everywhere = roots.dummy_eq(expected) or roots == expected
    denominator = 1 + sp.exp(LAM * T - LOG)
    pole = (LOG + sp.I * sp.pi * (2 * k + 1)) / T
    zero = sp.simplify(sp.expand(denominator.subs(LAM, pole), complex=False)) == 0
    slope = sp.simplify(sp.diff(denominator, LAM).subs(LAM, pole))
    return bool(everywhere) and zero and sp.simplify(slope + T) == 0


def prove_disjoint() -> bool:
    """Poles of two heads coincide only if ln(n−1)·t_2 = ln(n−1)·t_1: for n ≥ 3 only if t_1 = t_2; for n = 2 not so."""
    a, b = sp.symbols("a b", integer=True)
    t_1, t_2 = sp.symbols("t_1 t_2", real=True, nonzero=True)
    log = sp.Symbol("ℓ", positive=True)
    gap = (log + sp.I * sp.pi * (2 * a + 1)) * t_2 - (log + sp.I * sp.pi * (2 * b + 1)) * t_1
    only_equal = sp.solve(sp.re(sp.expand(gap)), t_1) == [t_2]
    shared_at_two = sp.expand(gap.subs(log, 0).subs({t_1: -t_2, b: -a - 1})) == 0
    return only_equal and shared_at_two


def prove_poles() -> bool:
    """All three steps: the function of three or more tokens determines the multiset of (M_i, N_i)."""
    return prove_reduction() and prove_residue() and prove_disjoint()


def prove_factors() -> bool:
    """Full-rank factors of one M (one N) differ by one A (one C), for every size."""
    return proves(linearised.prove_factors_of_one_product)


def recovered_score_maps(score_maps: Sequence[sp.Matrix]) -> list[sp.Matrix]:
    """M_1, …, M_h from the expanded polynomial ∏(T − xM_iδᵀ) alone, by unique factorisation; each d×d, as often as
    it occurs.

    The set of t_i at general (x, δ) is the root set of this polynomial, so the function determines it.
    """
    if not score_maps:
        raise InvalidInput("recovered_score_maps: at least one matrix is needed.")
    size = score_maps[0].rows
    x, delta = sp.Matrix([sp.symbols(f"x0:{size}")]), sp.Matrix([sp.symbols(f"y0:{size}")])
    t = sp.Symbol("T")
    product = sp.expand(sp.prod(t - (x * m * delta.T)[0] for m in score_maps))
    found = []
    for factor, power in sp.factor_list(product)[1]:
        bilinear = sp.Poly(-(factor / factor.coeff(t) - t), *x, *delta)
        m = sp.Matrix(size, size, lambda i, j, b=bilinear: b.coeff_monomial(x[i] * delta[j]))
        found += [m] * power
    return found


@dataclass(frozen=True)
class ComplexLayer:
    """A layer as a function of λ ∈ ℂ for fixed x, δ: plain softmax attention of n tokens, evaluated at complex input.

    Shapes: w_q, w_k (h, d, d_k), w_v (h, d, d_v), w_o (h, d_v, d), x and delta (d,).
    """

    w_q: np.ndarray
    w_k: np.ndarray
    w_v: np.ndarray
    w_o: np.ndarray
    x: np.ndarray
    delta: np.ndarray
    tokens: int = 3

    @classmethod
    def random(cls, d: int, heads: int, d_k: int, d_v: int, seed: int, tokens: int = 3) -> ComplexLayer:
        """Gaussian weights and tokens."""
        rng = np.random.default_rng(seed)
        q, k, v, o = (rng.standard_normal((heads, *shape)) for shape in ((d, d_k), (d, d_k), (d, d_v), (d_v, d)))
        return cls(q, k, v, o, rng.standard_normal(d), rng.standard_normal(d), tokens)

    def at(self, lam: complex) -> np.ndarray:
        """The last row of the output (d,), by softmax itself and not by the formula."""
        tokens = np.array([lam * self.x - self.delta] * (self.tokens - 1) + [lam * self.x])
        total = np.zeros(len(self.x), dtype=complex)
        for q, k, v, o in zip(self.w_q, self.w_k, self.w_v, self.w_o, strict=True):
            scores = (tokens @ k) @ (tokens[-1] @ q) / np.sqrt(q.shape[1])
            weights = np.exp(scores - scores[-1])
            total += weights / weights.sum() @ tokens @ v @ o
        return total

    @property
    def slopes(self) -> np.ndarray:
        """t_i = x M_i δᵀ/√d_k (h,)."""
        queries, keys = np.einsum("d,hdk->hk", self.x, self.w_q), np.einsum("d,hdk->hk", self.delta, self.w_k)
        return (queries * keys).sum(1) / np.sqrt(self.w_q.shape[2])

    def poles(self, order: int = 1) -> np.ndarray:
        """(ln(n−1) + iπ(2k+1))/t_i for −order ≤ k < order; (h, 2·order)."""
        return (np.log(self.tokens - 1) + 1j * np.pi * (2 * np.arange(-order, order) + 1)) / self.slopes[:, None]

    def residues(self) -> np.ndarray:
        """δN_i/t_i, what the argument predicts at every pole of head i; (h, d)."""
        return np.einsum("d,hdv,hve->he", self.delta, self.w_v, self.w_o) / self.slopes[:, None]

    def integral(self, centre: complex, radius: float, points: int = 64) -> np.ndarray:
        """∮ f dλ / 2πi around a circle, by the trapezoidal rule (geometric convergence); (d,)."""
        turns = np.exp(2j * np.pi * np.arange(points) / points)
        return np.mean([self.at(centre + radius * u) * radius * u for u in turns], axis=0)

    def moved(self, seed: int) -> ComplexLayer:
        """A gauge-equivalent layer: general A_i, C_i (one of negative determinant), heads in reverse order."""
        rng = np.random.default_rng(seed)
        heads, d_k, d_v = len(self.w_q), self.w_q.shape[2], self.w_v.shape[2]
        a, c = (rng.standard_normal((heads, s, s)) + 2 * np.diag([-1.0] + [1.0] * (s - 1)) for s in (d_k, d_v))
        on_keys, on_outputs = np.linalg.inv(a).transpose(0, 2, 1), np.linalg.inv(c)
        moved = self.w_q @ a, self.w_k @ on_keys, self.w_v @ c, on_outputs @ self.w_o
        q, k, v, o = (w[::-1] for w in moved)
        return replace(self, w_q=q, w_k=k, w_v=v, w_o=o)


@dataclass(frozen=True)
class PoleMeasurement:
    """Relative errors of contour integrals around the poles of one layer, for that layer and for others."""

    own: float  # against the predicted residue δN_i/t_i
    moved: float  # the same for a gauge-equivalent layer
    other: float  # size of the integral for a layer with other parameters, which has no pole there
    cases: int


def measure_poles(layer: ComplexLayer, other: ComplexLayer, seed: int = 0) -> PoleMeasurement:
    """Integrate around each nearest pole of ``layer``, on a circle that no other pole of either layer comes near."""
    moved, errors = layer.moved(seed), []
    known = np.concatenate([layer.poles(4).ravel(), other.poles(4).ravel()])
    for i, residue in enumerate(layer.residues()):
        for pole in layer.poles()[i]:
            distances = np.sort(abs(known - pole))
            radius = 0.4 * distances[1]
            size = np.linalg.norm(residue)
            integrals = [x.integral(pole, radius) for x in (layer, moved, other)]
            errors.append([np.linalg.norm(integrals[j] - (residue if j < 2 else 0)) / size for j in range(3)])
    own, gauge_equivalent, elsewhere = map(float, np.max(errors, axis=0))
    return PoleMeasurement(own, gauge_equivalent, elsewhere, len(errors))


def weakest_pole(layers: Sequence[ComplexLayer]) -> float:
    """The smallest integral around a layer's own poles, which must not vanish (the control of `measure_poles`)."""
    return min(float(abs(x.integral(p, 1e-2 * abs(p))).max()) for x in layers for p in x.poles().ravel())
