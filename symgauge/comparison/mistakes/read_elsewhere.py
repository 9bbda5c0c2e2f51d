"""One tensor that is wrong and shows in others: a norm's gain or offset in what reads it, a value bias in the output's.

It is the one to be named if all that it goes into agrees once A's numbers are put in its place.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from symgauge.comparison.acting import in_new_stream, name_of
from symgauge.comparison.difference import Diagnosis
from symgauge.comparison.element import Element
from symgauge.comparison.pieces import inner_readers, normal
from symgauge.comparison.scene import Scene
from symgauge.comparison.solving import solve_normal
from symgauge.comparison.stream import tidied
from symgauge.comparison.unembedding import is_unembedding, unembedding_residuals
from symgauge.model_graph import Attention, LatentAttention


def recognise(scene: Scene) -> Diagnosis | None:
    for role, right in _candidates(scene):
        theirs = scene.judge.b.read(role)
        off = float(torch.linalg.vector_norm(right - theirs) / torch.linalg.vector_norm(theirs).clamp_min(1e-300))
        if off > scene.judge.allowed(role, theirs.numel())[0] and _explained(scene, role, right - theirs):
            wrong = (right - theirs).abs() > 1e-3 * (right - theirs).abs().max()
            count, of = int(wrong.sum()), wrong.numel()
            which = f"{count:,} of its {of:,} numbers {'differs' if count == 1 else 'differ'}"
            return Diagnosis(
                f"{which}, and with those of A in their place all that it goes into agrees",
                scene.judge.b.name(role),
                off,
            )
    return None


def _candidates(scene: Scene) -> Iterator[tuple[str, Tensor]]:
    """Roles that do not show by themselves, and what they would be in B if nothing were folded or moved into others."""
    piece, t = scene.piece, scene.stream
    if piece is None:
        return
    signed = _permutation(t)
    if piece.norm is not None and signed is not None:
        yield piece.norm.gain, scene.judge.a.read(piece.norm.gain) @ signed.abs()
        if piece.norm.offset is not None:
            yield piece.norm.offset, scene.judge.a.read(piece.norm.offset) @ signed
    for s in piece.sublayers:
        if isinstance(s, LatentAttention):
            yield from ((norm.gain, scene.judge.a.read(norm.gain)) for norm, _ in inner_readers(s))
        elif isinstance(s, Attention) and s.query_norm is not None and scene.role == s.query_norm.gain:
            assert s.key_norm is not None  # the queries' gain stands for both
            yield s.key_norm.gain, scene.judge.a.read(s.key_norm.gain)
        elif isinstance(s, Attention) and s.value.bias is not None and scene.role == s.output.bias:
            mine, theirs = scene.judge.a.read(scene.role) @ t, scene.judge.b.read(scene.role)
            if scene.role in scene.judge.anatomy.centred:
                mine, theirs = mine - mine.mean(), theirs - theirs.mean()
            if torch.linalg.vector_norm(mine - theirs) <= scene.allowed * torch.linalg.vector_norm(theirs):
                found = scene.element.attention(name_of(s))
                bias = scene.judge.a.read(s.value.bias)
                if found is not None:
                    bias = (bias[found.groups].unsqueeze(-2) @ found.value_output).squeeze(-2)
                yield s.value.bias, bias


def _permutation(t: Tensor) -> Tensor | None:
    """The signed permutation that a map of the stream is, or is but along **1**, where LayerNorm does not look."""
    return next((x for x in (t, tidied(t - 2 / len(t))) if torch.equal(x, x.round())), None)


def _explained(scene: Scene, role: str, shift: Tensor) -> bool:
    """Whether nothing that B's ``role`` goes into is left unexplained where it is shifted."""
    assert scene.piece is not None
    piece, judge, b = scene.piece, scene.judge, scene.judge.untraded
    repaired = b.shifted({role: shift})
    if is_unembedding(piece):
        residuals = unembedding_residuals(judge, piece, scene.element, repaired)
    else:
        mine = in_new_stream(scene.own, piece, scene.stream, judge.anatomy.stream != "any")
        theirs = normal(repaired, piece, judge.anatomy)
        residuals = solve_normal(judge, piece, Element({"stream": scene.stream}), mine, theirs)[1]
    beside = {m.bias for m in piece.writers} - {scene.role}  # what is added beside them may be traded elsewhere
    return all(r.level != "unexplained" for r in residuals if r.role not in beside)
