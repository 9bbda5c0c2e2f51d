"""A matrix on one side of a head with the wrong partner on the other: A⁻¹ for A⁻ᵀ, C or Cᵀ for C⁻¹."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.algorithms.pairs import matrices
from symgauge.comparison.difference import Diagnosis
from symgauge.comparison.heads import attention_of, pairs_of, solve_pair
from symgauge.comparison.scene import Scene


def recognise(scene: Scene) -> Diagnosis | None:
    s = scene.attention()
    if s is None or scene.role not in (s.key.weight, s.output.weight):
        return None
    # In B's order of heads, with A and C taken back.
    element = scene.element.attention(s.query.weight.removesuffix(".query.weight"))
    if element is None:
        return None
    p = attention_of(scene.moved.roles, s, scene.judge.a.architecture)
    q = attention_of(scene.theirs.roles, s, scene.judge.a.architecture)
    mine = pairs_of(p)
    again = [solve_pair(one, two, right=False) for one, two in zip(mine, pairs_of(q), strict=True)]
    a, c = matrices(p, mine, again)
    a, c = element.query_key @ a, element.value_output @ c
    if scene.role == s.key.weight:
        plain = p.key @ element.query_key.mT
        wrong: dict[str, Tensor] = {"A⁻¹": plain @ torch.linalg.inv(a), "A": plain @ a, "Aᵀ": plain @ a.mT}
        right, part = "A⁻ᵀ", "keys"
    else:
        share = p.group_of_head()
        plain = element.value_output[share] @ p.output
        wrong = {"C": c[share] @ plain, "Cᵀ": c.mT[share] @ plain, "C⁻ᵀ": torch.linalg.inv(c).mT[share] @ plain}
        right, part = "C⁻¹", "outputs"
    wrong["nothing"] = plain
    for matrix, predicted in wrong.items():
        if scene.explains(predicted):
            return Diagnosis(f"{part} were multiplied by {matrix} where {right} is needed")
    return None
