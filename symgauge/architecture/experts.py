"""Mixtures of experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from symgauge.architecture.sizes import at_least, not_zero
from symgauge.errors import InvalidInput
from symgauge.fields import check_fields


@dataclass(frozen=True)
class Experts:
    """Mixture of experts: ``count`` routed layers of width ``d_ff``, ``active`` per token, ``shared`` always on.

    ``routing`` "softmax" normalises over the chosen experts, so a common shift of the router's logits is invisible;
    "sigmoid" (DeepSeek-V3) sees it. ``first`` is the first layer that has experts; earlier ones are dense.

    With ``groups`` > 1 the experts form as many groups, one after the other; a token goes to experts of its
    ``active_groups`` best groups only, a group's merit being the sum of its two best scores (DeepSeek-V3). ``scale``
    multiplies what the routed experts write.

    Raises :class:`InvalidInput`, naming the field, for counts that do not fit together.

    Example:
        >>> import symgauge
        >>> experts = symgauge.Experts(count=4, active=2, d_ff=3, first=1)
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=2, d_v=2, layers=2, d_ff=6, experts=experts)
        >>> [a.has_experts(layer) for layer in range(2)]
        [False, True]
    """

    count: int
    active: int
    d_ff: int
    shared: int = 0
    routing: Literal["softmax", "sigmoid"] = "softmax"
    first: int = 0
    groups: int = 1
    active_groups: int = 1
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self, "experts field")
        counts = ("count", "active", "d_ff", "groups", "active_groups")
        at_least(1, "experts field", **{name: getattr(self, name) for name in counts})
        at_least(0, "experts field", shared=self.shared, first=self.first)
        not_zero("experts field", scale=self.scale)
        if self.active > self.count:
            raise InvalidInput(f"{self.active} of {self.count} experts cannot be active; there are only {self.count}")
        if self.groups > 1:
            self._check_groups()

    def _check_groups(self) -> None:
        if self.routing != "sigmoid" or self.count % self.groups or self.count < 2 * self.groups:
            raise InvalidInput(
                f"{self.groups} groups need routing='sigmoid' and as many experts in each, two at least; "
                f"there are {self.count} experts with routing={self.routing!r}"
            )
        if self.active_groups >= self.groups or self.active > self.active_groups * (self.count // self.groups):
            raise InvalidInput(
                f"'active_groups' must be less than the {self.groups} groups, and leave {self.active} experts to "
                f"choose, not {self.active_groups} with {self.count // self.groups} experts each"
            )
