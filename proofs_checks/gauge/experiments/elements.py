"""Group elements in batches: the source's sampler (87), a general one, and the heads' orders.

All is drawn on the generator's device: at the source's sizes a processor's random numbers would take longer than the
trials. A seed therefore names the draws of one kind of device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from proofs_checks.gauge.experiments.layer import Layer, Sizes, normal
from proofs_checks.gauge.experiments.trials import Biases
from symgauge.errors import InvalidInput

GENERAL_CONDITION = 1e3
"""Algorithm 1 rejects elements with a larger condition number."""
SECTORS = ("query-key", "value-output", "order")


class Pair(NamedTuple):
    """Matrices (E, h, n, n), or (h, n, n) for one element, and their inverses."""

    matrix: Tensor
    inverse: Tensor


class Elements(NamedTuple):
    """E elements: A per head, C per head, order (E, h) of the heads; None where a sector rests."""

    query_key: Pair | None
    value_output: Pair | None
    order: Tensor | None

    def each(self) -> Iterator[Elements]:
        """One element after the other, without the leading axis."""
        count = min(len(part[0] if isinstance(part, Pair) else part) for part in self if part is not None)
        for e in range(count):
            query_key, value_output = (
                None if pair is None else Pair(pair.matrix[e], pair.inverse[e])
                for pair in (self.query_key, self.value_output)
            )
            yield Elements(query_key, value_output, None if self.order is None else self.order[e])

    def only(self, *sectors: str) -> Elements:
        """These elements with all other sectors at rest; sectors: of SECTORS."""
        if unknown := set(sectors) - set(SECTORS):
            raise InvalidInput(f"no sector is called {min(unknown)!r}; there are {', '.join(SECTORS)}")
        return Elements(
            self.query_key if "query-key" in sectors else None,
            self.value_output if "value-output" in sectors else None,
            self.order if "order" in sectors else None,
        )


def orthogonal(generator: torch.Generator, *shape: int) -> Tensor:
    """Haar-distributed orthogonal matrices; shape (…, n, n). Both signs of the determinant occur."""
    # The QR of a Gaussian matrix, as in F.1.3. The signs make Q unique, and so its law invariant.
    q, r = torch.linalg.qr(normal(generator, *shape, device=generator.device))
    return q * r.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


def uniform(generator: torch.Generator, *shape: int) -> Tensor:
    """Uniform on [0, 1)."""
    return torch.rand(shape, generator=generator, dtype=torch.float64, device=generator.device)


def source_pairs(generator: torch.Generator, *shape: int) -> Pair:
    """(87): Q Λ Qᵀ with Λ uniform in [0.5, 2]: symmetric, positive definite, condition at most 4."""
    q = orthogonal(generator, *shape)
    spectrum = 0.5 + 1.5 * uniform(generator, *shape[:-1])
    return with_inverse((q * spectrum.unsqueeze(-2)) @ q.mT)


def general_pairs(generator: torch.Generator, *shape: int, condition: float = GENERAL_CONDITION) -> Pair:
    """U S Vᵀ, U and V orthogonal, log S uniform over the range of `condition`: neither symmetric nor positive."""
    u, v = orthogonal(generator, *shape), orthogonal(generator, *shape)
    spectrum = condition ** (uniform(generator, *shape[:-1]) - 0.5)
    return with_inverse((u * spectrum.unsqueeze(-2)) @ v.mT)


def with_inverse(matrix: Tensor) -> Pair:
    return Pair(matrix, torch.linalg.inv(matrix))


def sample(
    sizes: Sizes,
    count: int,
    generator: torch.Generator,
    *,
    law: str = "source",
    condition: float = GENERAL_CONDITION,
) -> Elements:
    """`count` elements of G_max on the generator's device, all sectors independent.

    law: "source" or "general"; condition: bound of the general law.
    """
    h, d_k, d_v, _ = sizes

    def pairs(n: int) -> Pair:
        if law == "source":
            return source_pairs(generator, count, h, n, n)
        return general_pairs(generator, count, h, n, n, condition=condition)

    return Elements(pairs(d_k), pairs(d_v), uniform(generator, count, h).argsort(-1))


def act(layer: Layer, element: Elements, *, wrong_inverse: bool = False) -> Layer:
    """W_Q A, W_K A⁻ᵀ, W_V C, C⁻¹ W_O per head, then the heads in their new order; one element, no leading axis.

    wrong_inverse: A⁻¹ in place of A⁻ᵀ, which is outside the group unless A is symmetric.
    """
    query, key, value, output = layer
    if element.query_key is not None:
        a, inverse = element.query_key
        query, key = query @ a, key @ (inverse if wrong_inverse else inverse.mT)
    if element.value_output is not None:
        c, inverse = element.value_output
        value, output = value @ c, inverse @ output
    moved = Layer(query, key, value, output)
    return moved if element.order is None else Layer(*(part[element.order] for part in moved))


def act_on_biases(biases: Biases, element: Elements) -> Biases:
    """The same map on biases: b_Q A, b_K A⁻ᵀ, b_V C, then the order of the heads; b_O stays."""
    query, key, value, output = biases
    if element.query_key is not None:
        a, inverse = element.query_key
        query, key = _times(query, a), _times(key, inverse.mT)
    if element.value_output is not None:
        value = _times(value, element.value_output.matrix)
    if element.order is not None:
        query, key, value = (part[element.order] for part in (query, key, value))
    return Biases(query, key, value, output)


def _times(rows: Tensor, matrices: Tensor) -> Tensor:
    """One row vector per head times one matrix per head."""
    return (rows.unsqueeze(-2) @ matrices).squeeze(-2)
