"""Two factors with one invariant product: L → L X, R → R X⁻ᴴ keeps L Rᴴ. All algorithms are stated on such pairs.

For a key/value group the query–key pair is L = the queries of its heads stacked (with their biases as last rows),
R = the keys; with rotary encoding there is one per block of channels, over ℂ for planes. The value–output pair is
L = the values, R = the output maps of the group's heads, transposed and stacked, with X = C.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.algorithms.channels import Blocks, blocks
from symgauge.algorithms.errors import NonGeneric
from symgauge.algorithms.parameters import AttentionParameters


@dataclass(frozen=True, eq=False)
class Pair:
    """Factors (n, g, rows, r) of n blocks in g groups; ``channels`` says where the columns lie, None for values."""

    left: Tensor
    right: Tensor
    channels: Blocks | None
    what: str

    @property
    def rank(self) -> int:
        return self.left.shape[-1]


def with_bias(weight: Tensor, bias: Tensor | None) -> Tensor:
    """(…, d, r) and (…, r) → (…, d + 1, r): a linear map and its bias as one matrix."""
    return weight if bias is None else torch.cat([weight, bias.unsqueeze(-2)], -2)


def score_pairs(p: AttentionParameters) -> list[Pair]:
    """The query–key pairs, one for each kind of block."""
    query = with_bias(p.query, p.query_bias).reshape(p.groups, -1, p.d_k)
    key = with_bias(p.key, p.key_bias)
    found = blocks(p.rotary, p.d_k, p.query.device)
    return [Pair(b.take(query), b.take(key), b, "queries and keys") for b in found]


def value_pair(p: AttentionParameters) -> Pair:
    """The value–output pair; a value bias that the output bias can absorb is left out."""
    value = with_bias(p.value, p.value_bias if p.output_bias is None else None)
    output = p.output.mT.reshape(p.groups, -1, p.d_v)
    return Pair(value[None], output[None], None, "values and outputs")


def with_pairs(p: AttentionParameters, pairs: list[Pair]) -> AttentionParameters:
    """``p`` with the factors of all its pairs replaced; free biases stay as they are."""
    changes = {name: x.clone() for name, x in p.tensors().items()}
    for pair in pairs:
        if pair.channels is None:
            changes["output"] = pair.right[0].reshape(p.heads, p.d_model, p.d_v).mT
            changes["value"] = pair.left[0, :, : p.d_model]
            if p.value_bias is not None and p.output_bias is None:
                changes["value_bias"] = pair.left[0, :, p.d_model]
            continue
        left = pair.left.reshape(*pair.left.shape[:1], p.heads, -1, pair.rank)
        pair.channels.put(left[:, :, : p.d_model], changes["query"])
        pair.channels.put(pair.right[:, :, : p.d_model], changes["key"])
        if p.query_bias is not None:
            pair.channels.put(left[:, :, p.d_model], changes["query_bias"])
        if p.key_bias is not None:
            pair.channels.put(pair.right[:, :, p.d_model], changes["key_bias"])
    return p.replace(**changes)


def matrices(p: AttentionParameters, pairs: list[Pair], found: list[Tensor]) -> tuple[Tensor, Tensor]:
    """A (g, d_k, d_k) and C (g, d_v, d_v) from the block matrices of all pairs."""
    a, c = p.query.new_zeros(p.groups, p.d_k, p.d_k), p.value.new_zeros(p.groups, p.d_v, p.d_v)
    for pair, x in zip(pairs, found, strict=True):
        if pair.channels is None:
            c = x[0]
        else:
            pair.channels.put_matrix(x, a)
    return a, c


@dataclass(frozen=True, eq=False)
class Triangular:
    """L = Q_L T_L and R = Q_R T_R with orthonormal Q; the product's core T_L T_Rᴴ has its singular values."""

    left: Tensor
    left_factor: Tensor
    right: Tensor
    right_factor: Tensor

    @classmethod
    def of(cls, pair: Pair) -> Triangular:
        """QR of both factors; raises :class:`NonGeneric` when a factor has fewer rows than columns."""
        rows = min(pair.left.shape[-2], pair.right.shape[-2])
        if rows < pair.rank:
            raise NonGeneric(f"{pair.what}: {rows} rows cannot have rank {pair.rank}; heads are wider than the stream")
        return cls(*torch.linalg.qr(pair.left), *torch.linalg.qr(pair.right))

    @property
    def scale(self) -> Tensor:
        """‖L‖ ‖R‖ (n, g), spectral: rounding moves the product by about ε times this."""
        return torch.linalg.matrix_norm(self.left_factor, 2) * torch.linalg.matrix_norm(self.right_factor, 2)


@dataclass(frozen=True, eq=False)
class Balanced:
    """The singular-value form of a pair: L X = U Σ^½ and R X⁻ᴴ = V Σ^½, so both Gram matrices are Σ.

    This X is (G_L⁻¹ # G_R)^½ times a unitary matrix, # the geometric mean of positive matrices.
    """

    left: Tensor
    right: Tensor
    element: Tensor
    """X (n, g, r, r)."""
    singular: Tensor
    """Σ (n, g, r), decreasing."""
    scale: Tensor
    """‖L‖ ‖R‖ (n, g)."""

    def column_errors(self, epsilon: float) -> Tensor:
        """First-order relative rounding of each column of the form (n, g, r), by Wedin's bound.

        The product is known up to √r ε ‖L‖ ‖R‖; column i turns by that over its distance to the other singular values
        and to zero.
        """
        s = self.singular
        apart = (s.unsqueeze(-1) - s.unsqueeze(-2)).abs()
        apart = torch.where(torch.eye(s.shape[-1], dtype=torch.bool, device=s.device), s.unsqueeze(-1), apart)
        return epsilon * s.shape[-1] ** 0.5 * self.scale.unsqueeze(-1) / apart.amin(-1)

    def error(self, epsilon: float) -> float:
        """The same for the whole form, whose columns have length Σ^½; the worst block and group."""
        turned = self.column_errors(epsilon)
        return float(((self.singular * turned.square()).sum(-1) / self.singular.sum(-1)).sqrt().max())

    def size_error(self, epsilon: float) -> float:
        """Relative rounding of the product's norm."""
        norm = torch.linalg.vector_norm(self.singular, dim=-1)
        return float((epsilon * self.singular.shape[-1] ** 0.5 * self.scale / norm).max())


def balance(pair: Pair, epsilon: float) -> Balanced:
    """The singular-value form, phases left as they come.

    Raises :class:`NonGeneric` when the product L Rᴴ has rank below r to rounding: rank is lost if its least singular
    value is below r ε ‖L‖ ‖R‖.
    """
    t = Triangular.of(pair)
    u, s, vh = torch.linalg.svd(t.left_factor @ t.right_factor.mH)
    full = s[..., -1] > pair.rank * epsilon * t.scale
    if not bool(full.all()):
        block, group = (~full).nonzero()[0].tolist()
        raise NonGeneric(
            f"{pair.what} of group {group} (block {block}): their product has rank below {pair.rank} to rounding, so "
            "no canonical gauge exists; a factor without full rank has more freedom than the gauge group"
        )
    root = s.sqrt().unsqueeze(-2).to(u.dtype)
    element = torch.linalg.solve_triangular(t.left_factor, u * root, upper=True)
    return Balanced(t.left @ (u * root), t.right @ (vh.mH * root), element, s, t.scale)


def polar(matrix: Tensor) -> Tensor:
    """The unitary factor U Vᴴ of U S Vᴴ: the nearest unitary matrix."""
    u, _, vh = torch.linalg.svd(matrix)
    return u @ vh
