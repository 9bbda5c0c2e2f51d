"""Which views must be permuted together: found one after the other, at points where the rest is symmetric.

Say a set L of views is exchanged (indices i and j of each) by some symmetry, and θ is equal at i and j in every view
but those of a set S of axes. Then the symmetry does to θ what L ∩ S does, so L ∩ S alone must keep the function there.
S starts with one view and grows by an axis at a time: where what was enough no longer is, the new axis has a view that
belongs to L. The cost is one pair of runs for each view and step, and not one for each subset of views. Nothing is
decided here: what comes out is verified at a generic θ.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from symgauge.discovery.index_views import IndexView, moved, swapped
from symgauge.discovery.sameness import PlainValues, close

_BRANCHES, _FEW_BRANCHES = 12, 3
"""Partial sets looked at for one view before it is given up; where all views stay, there are many."""
Axis = tuple[str, int | None]


class Linkage:
    """The search for sets of views of one n whose slices ``pair`` are exchanged together.

    Args:
        values: the plain module as a function of θ.
        theta: a generic point (P,).
        views: the candidates, all of one n.
        all_stay: keep the views that alone change the function at a symmetric point; a module with top-k
            prefers one of two equal experts by its place.
    """

    def __init__(
        self,
        values: PlainValues,
        theta: Tensor,
        views: Sequence[IndexView],
        pair: tuple[int, int],
        all_stay: bool = False,
    ) -> None:
        self.values, self.theta, self.views = values, theta, list(views)
        self.order = swapped(views[0].n, *pair)
        self.steps = {view: moved(len(theta), [view], self.order) for view in views}
        self.all_stay = all_stay
        self._points: dict[frozenset[Axis], tuple[Tensor, Tensor]] = {}
        self._settle()

    def _settle(self) -> None:
        """Keep the views that alone, everything else symmetric, do nothing; fewer views make a less special point."""
        self._by_axis()
        self.seeds: list[IndexView] = []
        """Views that do nothing alone where all others are symmetric."""
        while True:
            alive = [view for view in self.views if self.keeps([view], frozenset([view.axis]))]
            self.seeds = self.seeds or alive
            if self.all_stay or len(alive) == len(self.views):
                return
            self.views = alive
            self._by_axis()

    def _by_axis(self) -> None:
        self._points.clear()
        self.axes: dict[Axis, list[IndexView]] = defaultdict(list)
        for view in self.views:
            self.axes[view.axis].append(view)

    def _point(self, generic: frozenset[Axis]) -> tuple[Tensor, Tensor]:
        """θ made symmetric in every view of an axis that is not generic, and its outputs."""
        if generic not in self._points:
            label, before = torch.arange(len(self.theta)), None
            steps = [self.steps[view] for axis, views in self.axes.items() if axis not in generic for view in views]
            while before is None or not torch.equal(label, before):
                before = label
                for step in steps:
                    label = torch.minimum(label, label[step])
            theta = self.theta[label]
            self._points[generic] = theta, self.values(theta)
        return self._points[generic]

    def keeps(self, views: Sequence[IndexView], generic: frozenset[Axis]) -> bool:
        """Whether exchanging these views' slices keeps the outputs at the point that is generic in these axes only."""
        theta, outputs = self._point(generic)
        if not bool(outputs.isfinite().all()):
            return True  # nothing can be seen there: the module inverts what is symmetric, or divides by a difference
        image = theta
        for view in views:
            image = image[self.steps[view]]
        return torch.equal(image, theta) or close(outputs, self.values(image))

    def linked(self, seed: IndexView) -> list[IndexView] | None:
        """A smallest set of views that holds ``seed`` and keeps the function at the generic point, if one is found."""
        self._left = _FEW_BRANCHES if self.all_stay else _BRANCHES
        found = self._grown([seed], frozenset([seed.axis]), [axis for axis in self.axes if axis != seed.axis])
        return None if found is None else self.needed(found)

    def _grown(self, chosen: list[IndexView], generic: frozenset[Axis], pending: list[Axis]) -> list[IndexView] | None:
        self._left -= 1
        if self._left < 0:
            return None
        silent: list[Axis] = []
        grew = False
        while pending:
            axis, *pending = pending
            wider = generic | {axis}
            if self.keeps(chosen, wider):
                silent.append(axis)
            else:
                able = [view for view in self.axes[axis] if self.keeps([*chosen, view], wider)]
                if len(able) != 1:
                    tries = (self._grown([*chosen, view], wider, [*pending, *silent]) for view in able)
                    return next((found for found in tries if found), None)
                chosen, generic, grew = [*chosen, *able], wider, True
            if not pending and grew:
                pending, silent, grew = silent, [], False
        return self._completed(chosen, generic, silent)

    def _completed(
        self, chosen: list[IndexView], generic: frozenset[Axis], pending: list[Axis]
    ) -> list[IndexView] | None:
        """No axis alone asks for a view any more: make all generic, one after the other."""
        everything = frozenset(self.axes)
        if self.keeps(chosen, everything):
            return chosen
        passed: list[Axis] = []
        for axis in pending:
            generic = generic | {axis}
            passed.append(axis)
            if self.keeps(chosen, generic):
                continue
            for count in (1, 2):
                for some in itertools.combinations(reversed(passed), count):
                    for views in itertools.product(*(self.axes[a] for a in some)):
                        if not self.keeps([*chosen, *views], generic):
                            continue
                        rest = [a for a in pending if a not in generic]
                        if found := self._grown([*chosen, *views], generic, rest):
                            return found
            return None
        return chosen

    def needed(self, views: list[IndexView]) -> list[IndexView] | None:
        """Without what may as well stay in place; None where nothing that shows is left."""
        everything = frozenset(self.axes)
        for view in list(views):
            rest = [other for other in views if other is not view]
            if self.keeps(rest, everything):
                views = rest
        return views if views and self.keeps(views, everything) else None
