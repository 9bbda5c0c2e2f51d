"""Rotary channels interleaved where the model takes them halved, or the reverse."""

import torch

from symgauge.comparison.difference import Diagnosis
from symgauge.comparison.scene import Scene
from symgauge.comparison.sides import interleaving


def recognise(scene: Scene) -> Diagnosis | None:
    s = scene.attention()
    if s is None or s.rotary is None or scene.role not in (s.query.weight, s.key.weight):
        return None
    order = interleaving(s.rotary)
    for channels, words in ((order, "interleaved where"), (torch.argsort(order), "halved where")):
        changes = {
            role: x[..., channels] for role, x in scene.own.roles.items() if _turns(role, s.query.weight, s.key.weight)
        }
        if scene.done_to_a_as_well(changes):
            other = "halved" if words.startswith("inter") else "interleaved"
            return Diagnosis(f"the channels of rotary planes are {words} the model takes them {other}")
    return None


def _turns(role: str, *weights: str) -> bool:
    return role in weights or role.replace(".bias", ".weight") in weights
