"""Multi-head latent attention."""

from __future__ import annotations

from dataclasses import dataclass

from symgauge.architecture.sizes import at_least
from symgauge.fields import check_fields


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention (DeepSeek): queries, and keys with values, go through narrow latents.

    ``d_rope`` channels per head carry positions; their key part is one vector shared by all heads. ``query`` is the
    width of the query latent (0: queries come straight from the stream), ``key_value`` that of the key/value latent.
    ``epsilon`` belongs to the norms of the latents; None: that of all norms.

    Raises :class:`InvalidInput`, naming the field, for widths that are no sizes.

    Example:
        >>> import symgauge
        >>> latent = symgauge.Latent(query=4, key_value=3, d_rope=2)
        >>> rotary = symgauge.Rotary.standard(2)
        >>> a = symgauge.Architecture(d_model=7, heads=2, d_k=5, d_v=3, latent=latent, rotary=rotary)
        >>> symgauge.graph_of(a).shapes["layers.0.attention.key_up.weight"]   # heads, latent, d_k − d_rope
        (2, 3, 3)
    """

    query: int
    key_value: int
    d_rope: int
    epsilon: float | None = None

    def __post_init__(self) -> None:
        check_fields(self, "latent field")
        at_least(0, "latent field", query=self.query)
        at_least(1, "latent field", key_value=self.key_value, d_rope=self.d_rope)
