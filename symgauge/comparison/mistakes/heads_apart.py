"""Heads or groups of one tensor in another order than those of the tensors that go with it."""

from symgauge.comparison.difference import Diagnosis
from symgauge.comparison.mistakes._fitting import best_match
from symgauge.comparison.scene import Scene


def recognise(scene: Scene) -> Diagnosis | None:
    s = scene.attention()
    if s is None:
        return None
    match = best_match(scene, s)
    if match is None or sorted(match) != list(range(len(match))) or match == sorted(match):
        return None
    if scene.judge.a.architecture.alibi and best_match(scene.of_role(s.value.weight), s) == match:
        return Diagnosis(f"heads were permuted, but the slopes of ALiBi stay in their places: order {match}")
    words = {s.query.weight: "queries", s.key.weight: "keys", s.value.weight: "values", s.output.weight: "outputs"}
    part = words[scene.role]
    others = "values" if part in ("queries", "keys") else "queries and keys" if part == "values" else "values"
    return Diagnosis(f"{part} of heads were permuted without their {others}: order {match}")
