"""The mean over the stream's channels taken from what writes it, where RMSNorm sees that mean (LayerNorm does not)."""

from symgauge.comparison.difference import Diagnosis
from symgauge.comparison.scene import Scene


def recognise(scene: Scene) -> Diagnosis | None:
    writers = () if scene.piece is None else [m.weight for m in scene.piece.writers]
    if scene.piece is not None and scene.role not in writers:
        return None
    before = scene.own.roles[scene.role]
    centred = before - before.mean(-1, keepdim=True)
    after = scene.expected()
    for predicted in (centred @ scene.stream, after - after.mean(-1, keepdim=True)):
        if scene.explains(predicted):
            return Diagnosis("the mean over channels was subtracted, which RMSNorm does not do (as if for LayerNorm)")
    return None
