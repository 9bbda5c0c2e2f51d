"""What softmax does not see of a router's logits."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from symgauge.architecture import Architecture, Experts
from symgauge.model_graph import Mixture, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry, Unseen
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.elements import shifts
from symgauge.symmetries.examples import RMS


class RouterShift(Symmetry):
    name = "router-shift"
    title = (
        "The router's columns move by a common vector, which softmax over the chosen experts does not see. A single "
        "chosen expert has weight one whatever the router says (while the choice stays): all of it is free."
    )
    source = (Cites("zhao2025symmetry", part="the common shift"),)
    example = RMS.replace(experts=Experts(3, 2, 3))

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        e = a.experts
        if e is None or (e.routing != "softmax" and e.active > 1):
            return []
        routers = [sub.router.weight for sub in graph.sublayers() if isinstance(sub, Mixture)]
        return [self._free(a, router) if e.active == 1 else self._common(a, router) for router in routers]

    def _common(self, a: Architecture, router: str) -> Site:
        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return {router: roles[router] + x.unsqueeze(-1)}

        return Site(s.layer_of(router), s.d, a.d_model, act, shifts(a.d_model))

    def _free(self, a: Architecture, router: str) -> Site:
        assert a.experts is not None
        count = a.d_model * a.experts.count

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return {router: roles[router] + x.reshape(a.d_model, -1)}

        # Far from the identity another expert may win; only small moves are drawn.
        return Site(s.layer_of(router), s.d * s.experts, count, act, lambda g: 1e-5 * shifts(count)(g))

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        alone = a.experts is not None and a.experts.active == 1
        return Unseen("softmax over the chosen experts does not see it", wholly=alone)
