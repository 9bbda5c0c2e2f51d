"""The size of a whole space, which norms without ε do not see."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.symmetries.base import Roles, Site, Symmetry, Unseen
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.elements import factors
from symgauge.symmetries.examples import RMS
from symgauge.symmetries.space import Space
from symgauge.symmetries.spaces import spaces
from symgauge.wiring import Map, Norm, Wiring


class StreamScale(Symmetry):
    name = "stream-scale"
    title = (
        "With ε = 0 norms do not see the size of what they read: everything that writes a space is scaled, and maps "
        "that read it directly are scaled back. With tied embeddings the last norm's gain and offset are scaled back."
    )
    source = (Cites("zhang2019rmsnorm", part="the scale of what a norm reads"),)
    example = RMS.replace(epsilon=0.0)

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        every = spaces(a, w)
        reading = [space.source for space in every if any(reader.tied for reader in space.readers)]
        return [
            self._site(w, space, reading)
            for space in every
            if a.epsilon_is_zero and space.norms and self._scalable(w, space)
        ]

    def _scalable(self, w: Wiring, space: Space) -> bool:
        if space.homogeneous is not None:
            return True
        reads_table = any(reader.tied for reader in space.readers)
        return not (space.given or space.taken or reads_table)

    def _site(self, w: Wiring, space: Space, reading: list[Norm | None]) -> Site:
        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            factor = 1 + x
            up = list(space.tables)
            down = [reader.weight for reader in space.readers]
            for m in (*space.writers, *_maps(space.homogeneous)):
                up += [m.weight] if m.bias is None else [m.weight, m.bias]
            for norm in (space.source, *space.outputs):
                up += _affine(norm)
            if w.tied and "token_table" in space.tables:
                for norm in reading:
                    down += _affine(norm)
            return {r: roles[r] * factor for r in up} | {r: roles[r] / factor for r in down}

        return Site(space.layer, Integer(1), 1, act, factors(1, positive=True))

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        if role.endswith(("down.weight", "output.weight")) and _read_by_its_own_norm(a, role):
            return Unseen("nothing else writes what this norm reads")
        if a.placement == "output" and role.endswith((".query.weight", ".key.weight", ".value.weight", ".up.weight")):
            return Unseen("a norm does not see the size of queries, of keys, or of what follows linearly from the map")
        return super().unseen_alone(a, role)


def _maps(m: Map | None) -> tuple[Map, ...]:
    return () if m is None else (m,)


def _affine(norm: Norm | None) -> list[str]:
    if norm is None:
        return []
    return [norm.gain] if norm.offset is None else [norm.gain, norm.offset]


def _read_by_its_own_norm(a: Architecture, role: str) -> bool:
    latent = role.endswith(("query_down.weight", "key_value_down.weight"))
    return latent or (a.placement in ("sandwich", "output") and not a.output_bias and not a.ff_bias)
