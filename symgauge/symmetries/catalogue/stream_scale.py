"""The size of a whole space, which norms without ε do not see."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import ModelGraph
from symgauge.symmetries.base import Roles, Site, Symmetry, Unseen
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.elements import factors
from symgauge.symmetries.examples import RMS
from symgauge.symmetries.space import Space
from symgauge.symmetries.spaces import spaces


class StreamScale(Symmetry):
    name = "stream-scale"
    title = (
        "With ε = 0 norms do not see the size of what they read: everything that writes a space is scaled, and maps "
        "that read it directly are scaled back. With tied embeddings the space that reads the table is scaled back."
    )
    source = (Cites("zhang2019rmsnorm", part="the scale of what a norm reads"),)
    example = RMS.replace(epsilon=0.0)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        every = spaces(a, graph)
        tied = next((space for space in every if any(reader.tied for reader in space.readers)), None)
        return [
            self._site(space, tied if "token_table" in space.tables else None)
            for space in every
            if a.epsilon_is_zero and space.norms and self._scalable(space)
        ]

    def _scalable(self, space: Space) -> bool:
        if space.homogeneous is not None:
            return True
        reads_table = any(reader.tied for reader in space.readers)
        return not (space.given or space.taken or reads_table)

    def _site(self, space: Space, tied: Space | None) -> Site:
        """``tied``: the space whose size makes up for that of a table which is read there."""

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            factor = 1 + x
            up = [*space.tables, *_sizes(space)]
            down = [reader.weight for reader in space.readers]
            if tied is not None:
                down += _sizes(tied)
                up += [reader.weight for reader in tied.readers if not reader.tied]
            return {r: roles[r] * factor for r in up} | {r: roles[r] / factor for r in down}

        return Site(space.layer, Integer(1), 1, act, factors(1, positive=True))

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        if role.endswith(("down.weight", "output.weight")) and _read_by_its_own_norm(a, role):
            return Unseen("nothing else writes what this norm reads")
        if a.placement == "output" and role.endswith((".query.weight", ".key.weight", ".value.weight", ".up.weight")):
            return Unseen("a norm does not see the size of queries, of keys, or of what follows linearly from the map")
        return super().unseen_alone(a, role)


def _sizes(space: Space) -> list[str]:
    """What scales with the vectors of a space, but for its tables."""
    maps = [*space.writers, *([] if space.homogeneous is None else [space.homogeneous])]
    norms = [*space.outputs, *([] if space.source is None else [space.source])]
    roles = [role for m in maps for role in (m.weight, m.bias)] + [role for n in norms for role in (n.gain, n.offset)]
    return [role for role in roles if role is not None]


def _read_by_its_own_norm(a: Architecture, role: str) -> bool:
    latent = role.endswith(("query_down.weight", "key_value_down.weight"))
    return latent or (a.placement in ("sandwich", "output") and not a.output_bias and not a.ff_bias)
