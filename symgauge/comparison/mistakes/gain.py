"""A norm's gain read wrongly when it was folded, or not folded at all."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.comparison.difference import Diagnosis
from symgauge.comparison.scene import Scene
from symgauge.comparison.stream import is_identity

_SHIFTED = {
    -1: "γ was taken for 1 + γ: the gain is smaller by one",
    1: "1 + γ was taken for γ: the gain is larger by one",
}


def recognise(scene: Scene) -> Diagnosis | None:
    piece = scene.piece
    if piece is not None and scene.role in [n.gain for n in piece.kept]:
        return _of_kept_norm(scene)
    if piece is None or piece.norm is None or scene.role not in [m.weight for m in piece.readers]:
        return None
    norm, a, b = piece.norm, scene.judge.a, scene.judge.b
    gain, theirs = a.read(norm.gain), b.read(norm.gain)
    readings = (
        (torch.ones_like(gain), "the norm's gain γ is lost: nothing that reads it was multiplied by it"),
        *((gain + shift, sentence) for shift, sentence in _SHIFTED.items()),
        (gain.square(), "the norm's gain was folded in and kept, so that it acts twice"),
        (gain * theirs, "the norm's gain was folded in and kept, so that it acts twice"),
    )
    for wrong, sentence in readings:
        changes = _with_gain(scene, gain, wrong)
        if scene.done_to_a_as_well(changes):
            return Diagnosis(sentence, b.name(norm.gain) if _reader_is_right(scene) else None)
    rotated = theirs.unsqueeze(-1) * (scene.stream.mT @ a.read(scene.role))
    if not is_identity(scene.stream) and torch.equal(gain, theirs) and scene.explains(rotated):
        return Diagnosis("the stream was rotated past a norm whose gain had not been folded")
    return None


def _of_kept_norm(scene: Scene) -> Diagnosis | None:
    """Of a norm that is not folded, for what it returns is also added to the stream."""
    gain = scene.expected()
    if scene.explains(torch.ones_like(gain)):
        return Diagnosis("the norm's gain γ is lost")
    found = (sentence for shift, sentence in _SHIFTED.items() if scene.explains(gain + shift))
    return next((Diagnosis(sentence) for sentence in found), None)


def _with_gain(scene: Scene, gain: Tensor, wrong: Tensor) -> dict[str, Tensor]:
    assert scene.piece is not None
    safe = torch.where(gain == 0, 1.0, gain)
    return {m.weight: (wrong / safe).unsqueeze(-1) * scene.own.roles[m.weight] for m in scene.piece.readers}


def _reader_is_right(scene: Scene) -> bool:
    """Whether B's map itself is A's, untouched or with the gain folded in, so that it is the norm that is wrong."""
    mine, theirs = (side.read(scene.role) for side in (scene.judge.a, scene.judge.b))
    allowed = scene.allowed * theirs.norm()
    right = (mine, scene.stream.mT @ scene.own.roles[scene.role])
    return any(bool((x - theirs).norm() <= allowed) for x in right)
