"""Elements of an attention layer's gauge group."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.algorithms.channels import blocks, commuting_part
from symgauge.algorithms.parameters import AttentionParameters
from symgauge.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class GaugeElement:
    """(A, C) per key/value group, a renumbering of heads, and shifts of the free biases.

    It renumbers first (head i of the result is head ``heads[i]``), then, with j the group of head i,
    W_Q,i → W_Q,i A_j, W_K,j → W_K,j A_j⁻ᵀ, W_V,j → W_V,j C_j, W_O,i → C_j⁻¹ W_O,i, biases of queries, keys and values
    like their weights; last b_K → b_K + ``key_shift``, b_V → b_V + ``value_shift`` and b_O takes back what that writes.

    Example:
        >>> from symgauge.algorithms import random_attention, random_element
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3, groups=2)
        >>> element = random_element(layer, seed=1)
        >>> element.query_key.shape, element.value_output.shape, element.heads.shape
        (torch.Size([2, 2, 2]), torch.Size([2, 3, 3]), torch.Size([4]))
        >>> element.then(element.inverse()).heads.tolist()
        [0, 1, 2, 3]
    """

    query_key: Tensor
    """A (g, d_k, d_k); with rotary encoding each commutes with the rotations."""
    value_output: Tensor
    """C (g, d_v, d_v)."""
    heads: Tensor
    """(h,), int64; keeps groups together."""
    key_shift: Tensor | None = None
    """(g, d_k)."""
    value_shift: Tensor | None = None
    """(g, d_v)."""

    @property
    def groups(self) -> Tensor:
        """The renumbering of groups (g,) that ``heads`` implies."""
        shared = len(self.heads) // len(self.query_key)
        return self.heads[::shared] // shared

    @property
    def condition(self) -> float:
        """The largest condition number of an A or a C (infinite for a singular one)."""
        worst = [torch.linalg.cond(x).max() for x in (self.query_key, self.value_output)]
        found = float(torch.stack(worst).max())
        return found if found == found else float("inf")

    def inverse(self) -> GaugeElement:
        """The element that undoes this one."""
        heads, groups = torch.argsort(self.heads), torch.argsort(self.groups)
        a, c = torch.linalg.inv(self.query_key[groups]), torch.linalg.inv(self.value_output[groups])
        shifts = []
        for shift, matrix in (
            (self.key_shift, self.query_key.mT),
            (self.value_shift, torch.linalg.inv(self.value_output)),
        ):
            shifts.append(None if shift is None else -(shift.unsqueeze(-2) @ matrix).squeeze(-2)[groups])
        return GaugeElement(a, c, heads, *shifts)

    def then(self, after: GaugeElement) -> GaugeElement:
        """This element followed by another."""
        groups = after.groups
        a = self.query_key[groups] @ after.query_key
        c = self.value_output[groups] @ after.value_output
        key = _carried(self.key_shift, groups, torch.linalg.inv(after.query_key).mT, after.key_shift)
        value = _carried(self.value_shift, groups, after.value_output, after.value_shift)
        return GaugeElement(a, c, self.heads[after.heads], key, value)

    def check(self, p: AttentionParameters) -> None:
        """Raise :class:`InvalidInput` unless this is an element of the gauge group of the layer ``p``."""
        expected: dict[str, tuple[int, ...]] = {
            "query_key": (p.groups, p.d_k, p.d_k),
            "value_output": (p.groups, p.d_v, p.d_v),
        }
        expected |= {"key_shift": (p.groups, p.d_k), "value_shift": (p.groups, p.d_v)}
        for name, shape in expected.items():
            x = getattr(self, name)
            if x is None:
                continue
            if tuple(x.shape) != shape or x.dtype != p.query.dtype:
                raise InvalidInput(
                    f"gauge element: {name!r} must be {shape} in {p.query.dtype}, not {tuple(x.shape)} in {x.dtype}"
                )
            if not bool(torch.isfinite(x).all()):
                raise InvalidInput(f"gauge element: {name!r} has entries that are not finite")
        order = self.heads.tolist()
        shared = p.shared
        runs = [order[i : i + shared] for i in range(0, len(order), shared)]
        if sorted(order) != list(range(p.heads)) or any(len({i // shared for i in run}) > 1 for run in runs):
            raise InvalidInput(
                f"gauge element: 'heads' = {order} does not renumber {p.heads} heads so that the {shared} of each "
                "key/value group stay together"
            )
        off = torch.linalg.matrix_norm(self.query_key - commuting_part(self.query_key, p.rotary))
        if bool((off > 64 * p.d_k * p.epsilon * torch.linalg.matrix_norm(self.query_key)).any()):
            raise InvalidInput("gauge element: 'query_key' does not commute with the rotary encoding of the layer")
        self._check_shifts(p)

    def _check_shifts(self, p: AttentionParameters) -> None:
        if self.key_shift is not None:
            if p.key_bias is None:
                raise InvalidInput("gauge element: 'key_shift' needs a layer with a key bias")
            if bool((self.key_shift[:, ~p.free_key_channels()] != 0).any()):
                raise InvalidInput("gauge element: 'key_shift' moves channels in which the key bias is seen")
        if self.value_shift is not None and (p.value_bias is None or p.output_bias is None):
            raise InvalidInput("gauge element: 'value_shift' needs a layer with value and output biases")


def _carried(shift: Tensor | None, groups: Tensor, matrix: Tensor, after: Tensor | None) -> Tensor | None:
    if shift is None:
        return after
    moved = (shift[groups].unsqueeze(-2) @ matrix).squeeze(-2)
    return moved if after is None else moved + after


def identity_element(p: AttentionParameters) -> GaugeElement:
    """The element that changes nothing.

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import identity_element, random_attention
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3)
        >>> symgauge.apply(layer, identity_element(layer)).distance(layer)
        0.0
    """
    eyes = [torch.eye(n, dtype=p.query.dtype, device=p.query.device).repeat(p.groups, 1, 1) for n in (p.d_k, p.d_v)]
    return GaugeElement(eyes[0], eyes[1], torch.arange(p.heads, device=p.query.device))


def random_element(p: AttentionParameters, seed: int = 0, max_condition: float = 1e3) -> GaugeElement:
    """A general element of the layer's group: non-symmetric matrices of either determinant, every bias shifted.

    Gaussian matrices, drawn anew while their condition exceeds ``max_condition``; heads are renumbered within groups,
    and groups among themselves.

    Example:
        >>> from symgauge.algorithms import random_attention, random_element
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3, groups=2)
        >>> element = random_element(layer, seed=1, max_condition=30)
        >>> element.condition < 30, sorted(element.heads.tolist())
        (True, [0, 1, 2, 3])
    """
    g = torch.Generator().manual_seed(seed)

    def drawn(n: int) -> Tensor:
        while True:
            x = torch.randn((n, n), generator=g, dtype=torch.float64) / n**0.5
            if float(torch.linalg.cond(x)) <= max_condition:
                return x

    def commuting() -> Tensor:
        while True:
            x = torch.randn((1, p.d_k, p.d_k), generator=g, dtype=torch.float64) / p.d_k**0.5
            x = commuting_part(x, p.rotary)[0]
            if float(torch.linalg.cond(x)) <= max_condition:
                return x

    groups = torch.randperm(p.groups, generator=g)
    inside = torch.stack([torch.randperm(p.shared, generator=g) for _ in range(p.groups)])
    key_shift = value_shift = None
    if p.key_bias is not None:
        key_shift = torch.randn((p.groups, p.d_k), generator=g, dtype=torch.float64)
        key_shift = torch.where(p.free_key_channels().cpu(), key_shift, 0.0).to(p.query)
    if p.value_bias is not None and p.output_bias is not None:
        value_shift = torch.randn((p.groups, p.d_v), generator=g, dtype=torch.float64).to(p.query)
    return GaugeElement(
        torch.stack([commuting() for _ in range(p.groups)]).to(p.query),
        torch.stack([drawn(p.d_v) for _ in range(p.groups)]).to(p.query),
        (groups[:, None] * p.shared + inside).flatten().to(p.query.device),
        key_shift,
        value_shift,
    )


def group_dimension(p: AttentionParameters) -> int:
    """Real dimension of the group acting on (A, C): g(d_k² + d_v²), with rotary encoding the commutant for d_k².

    Example:
        >>> from symgauge.algorithms import group_dimension, random_attention
        >>> group_dimension(random_attention(d_model=6, heads=4, d_k=2, d_v=3, groups=2))
        26
    """
    commutant = sum(block.dimension for block in blocks(p.rotary, p.d_k, p.query.device))
    return p.groups * (commutant + p.d_v**2)
