"""Hidden neurons of one map in another order than those of the maps that go with it."""

import torch

from symgauge.comparison.difference import Diagnosis
from symgauge.comparison.neurons import match_rows
from symgauge.comparison.scene import Scene


def recognise(scene: Scene) -> Diagnosis | None:
    f = scene.feed_forward()
    if f is None:
        return None
    if f.gate is not None and scene.role != f.down.weight:
        gate, up = (scene.own.roles[m.weight] for m in (f.gate, f.up))
        if scene.done_to_a_as_well({f.gate.weight: up, f.up.weight: gate}):
            return Diagnosis("gate and up map are exchanged")
    rows = [x if scene.role == f.down.weight else x.mT for x in (scene.expected(), scene.found())]
    order = match_rows(rows[0], rows[1])
    if torch.equal(order, torch.arange(len(order))) or len(set(order.tolist())) < len(order):
        return None
    predicted = rows[0][order]
    if not scene.explains(predicted if scene.role == f.down.weight else predicted.mT):
        return None
    return Diagnosis("neurons were permuted in this map and not in the others of its layer")
