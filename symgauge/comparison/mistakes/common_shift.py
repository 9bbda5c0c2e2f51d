"""A head whose rows are all moved by one vector, as centring it does: probabilities stay, logits do not."""

import torch

from symgauge.comparison.difference import Diagnosis
from symgauge.comparison.scene import Scene
from symgauge.comparison.unembedding import ROLE


def recognise(scene: Scene) -> Diagnosis | None:
    if scene.role != ROLE or scene.judge.a.architecture.logit_softcap is not None:
        return None
    expected, found = scene.expected(), scene.found()  # maps (d_model, V)
    shift = (found - expected).mean(-1, keepdim=True)
    if not bool(torch.any(shift)) or not scene.explains(expected + shift):
        return None
    return Diagnosis(
        "every row is moved by one vector, as centring the head does, so that all logits of a position move alike: the "
        'probabilities are the same, which output="probabilities" (--output on the command line) compares'
    )
