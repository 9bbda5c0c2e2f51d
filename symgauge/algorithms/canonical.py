"""Canonical forms: one representative of each gauge orbit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from symgauge.algorithms.element import GaugeElement
from symgauge.algorithms.errors import IllConditioned
from symgauge.algorithms.invariants import head_sizes
from symgauge.algorithms.minors import Minor, pivot_rows, unit_minor
from symgauge.algorithms.pairs import Pair, balance, matrices, score_pairs, value_pair, with_pairs
from symgauge.algorithms.parameters import AttentionParameters, require_finite, require_ordinary_value_bias
from symgauge.algorithms.transform import permute
from symgauge.errors import InvalidInput

Form = Literal["svd", "rope", "minor"]


@dataclass(frozen=True, eq=False)
class Canonical:
    """The representative, and how well it is determined.

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import random_attention
        >>> found = symgauge.canonicalize(random_attention(d_model=6, heads=4, d_k=2, d_v=3))
        >>> found.form, found.unique, found.ambiguous, found.rounding < 1e-9
        ('svd', True, (), True)
    """

    form: Form
    parameters: AttentionParameters
    element: GaugeElement
    """Takes the given parameters to the representative (as accurately as the factors' conditions allow)."""
    rounding: float
    """First-order bound on the relative rounding error of the representative's weights."""
    ambiguous: tuple[str, ...]
    """Why the representative is not unique to rounding (equal singular values, heads of equal size, …); else empty."""
    minors: tuple[Minor, ...] = ()
    """Form "minor": the rows at which identity matrices stand."""

    @property
    def unique(self) -> bool:
        """Whether every gauge-equivalent layer has this representative, to rounding."""
        return not self.ambiguous

    @property
    def removed(self) -> int:
        """Numbers that need not be stored: d_k² + d_v² per group in form "minor" (rotary: the commutant for d_k²)."""
        return sum(minor.entries for minor in self.minors)


def canonicalize(parameters: AttentionParameters, form: Form | None = None) -> Canonical:
    """The canonical representative of an attention layer's gauge orbit, the same for gauge-equivalent layers.

    Forms, each per key/value group (queries or outputs of its heads stacked):

    - ``"svd"`` (absolute positions; the default without rotary encoding): W_Q W_Kᵀ = U Σ Vᵀ gives W_Q = U Σ^½ and
      W_K = V Σ^½, so that both Gram matrices are Σ; W_V and W_O likewise.
    - ``"rope"`` (default with rotary encoding): the same inside each block of the rotations' commutant, over ℂ for
      planes; for the usual frequencies query and key have equal norms on every plane.
    - ``"minor"``: a square block of every W_K and W_V is the identity, at rows chosen for good conditioning in a way
      that does not depend on the gauge. Only this form makes numbers superfluous (see :func:`compress`).

    Signs (phases) are fixed by the largest entry of each key and output column, heads are ordered by ‖W_Q W_Kᵀ‖ +
    ‖W_V W_O‖, groups by the sum over their heads, free key biases are 0, and a value bias moves into the output bias.
    Any float32/float64 layer on any device; cost O(h d_model (d_k² + d_v²)).

    ``rounding`` and ``ambiguous`` report what is not generic: close singular values, ties. Raises
    :class:`InvalidInput` (entries not finite, a form that breaks or ignores the rotary encoding), :class:`NonGeneric`
    (a product of rank below d_k or d_v) and :class:`IllConditioned` (no digit of the form would be right).

    "svd" and "rope" split the singular-value decomposition of the invariant products evenly between the factors; equal
    Gram matrices alone would leave orthogonal maps per head open.

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import random_attention, random_element
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3, groups=2)
        >>> one = symgauge.canonicalize(layer)
        >>> two = symgauge.canonicalize(symgauge.apply(layer, random_element(layer, seed=1)))
        >>> one.form, one.unique, one.parameters.distance(two.parameters) < 1e-9
        ('svd', True, True)
    """
    p = parameters
    require_finite(p, "canonicalize")
    require_ordinary_value_bias(p)
    chosen = form or ("rope" if p.rotary is not None else "svd")
    if chosen not in ("svd", "rope", "minor") or (chosen == "svd" and p.rotary) or (chosen == "rope" and not p.rotary):
        encoding = "rotary" if p.rotary is not None else "no rotary"
        fitting = "rope" if p.rotary is not None else "svd"
        raise InvalidInput(f"no canonical form {form!r} for {encoding} encoding; choose {fitting!r} or 'minor'")
    plain = p.without_free_biases()
    sizes = head_sizes(plain).reshape(p.groups, p.shared)
    order = _order(sizes)
    plain = permute(plain, order)
    pairs = [*score_pairs(plain), value_pair(plain)]
    fixed = [balance(pair, p.epsilon) for pair in pairs]
    ambiguous: list[str] = []
    minors: list[Minor] = []
    if chosen == "minor":
        found, elements, rounding = [], [], 0.0
        for pair, form_of in zip(pairs, fixed, strict=True):
            rows, tied = pivot_rows(pair, p.d_model, p.epsilon)
            changed, element, minor, error = unit_minor(pair, form_of, rows, p.epsilon)
            found.append(changed)
            elements.append(element)
            minors.append(minor)
            rounding = max(rounding, error)
            ambiguous += [f"rows of the minor of {pair.what} are tied"] if tied else []
    else:
        rounding = max(b.error(p.epsilon) for b in fixed)
        found, elements = [], []
        for pair, form_of in zip(pairs, fixed, strict=True):
            phases, tied = _phases(form_of.right, form_of.column_errors(p.epsilon).unsqueeze(-2))
            found.append(Pair(form_of.left * phases, form_of.right * phases, pair.channels, pair.what))
            elements.append(form_of.element * phases)
            ambiguous += [f"signs of {pair.what} are tied"] if tied else []
        if rounding > 0.1:
            ambiguous.append(f"singular values are equal to rounding (relative error {rounding:.2g})")
    ambiguous += _ties(sizes, max(b.size_error(p.epsilon) for b in fixed))
    if chosen == "minor" and rounding > 0.1:
        raise IllConditioned(f"canonicalize: rounding would change the minor form by {rounding:.2g} of its size")
    a, c = matrices(plain, pairs, elements)
    result = with_pairs(plain, found)
    return Canonical(chosen, result, _element(p, order, a, c), rounding, tuple(ambiguous), tuple(minors))


def _order(sizes: Tensor) -> Tensor:
    """Heads by decreasing size (g, s) inside their groups, groups by decreasing total."""
    groups = sizes.sum(1).argsort(descending=True)
    inside = sizes.argsort(dim=1, descending=True)[groups]
    return (groups[:, None] * sizes.shape[1] + inside).flatten()


def _ties(sizes: Tensor, tolerance: float) -> list[str]:
    """Whether heads or groups have the same size to a relative tolerance."""
    found = []
    for what, values in (("heads of a group", sizes), ("groups", sizes.sum(1)[None])):
        ordered = values.sort(dim=1, descending=True).values
        if ordered.shape[1] > 1 and bool((-ordered.diff(dim=1) <= 4 * tolerance * ordered[:, :1]).any()):
            found.append(f"two {what} have equal size, so their order is arbitrary")
    return found


def _phases(x: Tensor, errors: Tensor) -> tuple[Tensor, bool]:
    """Signs (…, 1, r), or phases, that make the largest entry of each column positive; whether another would do.

    ``errors`` (…, 1, r) are the columns' relative errors: entries that close to the largest could be the largest.
    """
    sizes = x.abs()
    place = sizes.argmax(-2, keepdim=True)
    pivot = x.gather(-2, place)
    phase = pivot.abs() / pivot
    nearly = sizes >= sizes.amax(-2, keepdim=True) * (1 - 4 * errors)
    turned = (x * phase - sizes).abs() > 0.5 * sizes
    return phase, bool((nearly & turned).any()) or _complex_tie(x, nearly)


def _complex_tie(x: Tensor, nearly: Tensor) -> bool:
    """Over ℂ a tie of moduli leaves the phase open whatever the entries are."""
    return x.is_complex() and bool((nearly.sum(-2) > 1).any())


def _element(p: AttentionParameters, order: Tensor, a: Tensor, c: Tensor) -> GaugeElement:
    """The element with these matrices and the shifts that clear the free biases of ``p``."""
    groups = order[:: p.shared] // p.shared
    key = value = None
    if p.key_bias is not None:
        moved = torch.linalg.solve(a, p.key_bias[groups].unsqueeze(-1)).squeeze(-1)
        key = torch.where(p.free_key_channels(), -moved, 0.0)
    if p.value_bias is not None and p.output_bias is not None:
        value = -(p.value_bias[groups].unsqueeze(-2) @ c).squeeze(-2)
    return GaugeElement(a, c, order, key, value)
