"""A key/value group that B does not have: another stands in its place, or none."""

from __future__ import annotations

import torch

from symgauge.comparison.difference import Diagnosis
from symgauge.comparison.mistakes._fitting import best_match
from symgauge.comparison.scene import Scene


def recognise(scene: Scene) -> Diagnosis | None:
    s, a = scene.attention(), scene.judge.a.architecture
    if s is None or scene.role not in (s.key.weight, s.value.weight) or a.groups == 1:
        return None
    found = scene.found()
    sizes = torch.linalg.matrix_norm(found)
    if bool((sizes == 0).any()):
        return Diagnosis(f"key/value group {int(sizes.argmin())} is zero: a group is missing")
    match = best_match(scene, s)
    if match is None or len(set(match)) == len(match):
        return None
    lost = sorted(set(range(a.groups)) - set(match))
    twice = next(j for j in match if match.count(j) > 1)
    return Diagnosis(f"key/value group {lost[0]} of A is missing: group {twice} stands in its place")
