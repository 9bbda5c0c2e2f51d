"""The element that takes one model to the other, found piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from symgauge.algorithms import IllConditioned
from symgauge.checkpoints.rows import Rows
from symgauge.comparison.acting import act, feed_forwards, in_new_stream, moved_by, name_of, renumbered_experts
from symgauge.comparison.element import INNER, Element
from symgauge.comparison.heads import amplification, attention_of, solve_heads
from symgauge.comparison.idle_neurons import with_sums, without_idle
from symgauge.comparison.latents import solve_latents
from symgauge.comparison.neurons import feed_forward_of, match_rows, solve_neurons
from symgauge.comparison.pieces import Anatomy, Normal, Piece, inner_norms, normal, softmax_routers
from symgauge.comparison.products import with_products
from symgauge.comparison.residuals import Judge, Residual
from symgauge.comparison.sides import Side
from symgauge.comparison.stream import candidates, is_identity
from symgauge.comparison.unembedding import folded, inner_order, is_unembedding, unembedding_residuals, unseen_mean
from symgauge.model_graph import Attention, LatentAttention, Mixture


def solve_stream(judge: Judge) -> tuple[Tensor, list[Residual]]:
    """The map of the stream that explains most of the tables and the unembedding, and the tables' residuals."""
    a, b, anatomy = judge.a, judge.b, judge.anatomy
    if not anatomy.tables:
        return torch.eye(a.architecture.d_model, dtype=torch.float64), []
    ins = [_tables(side, anatomy) for side in (a, b)]
    outs = _ends(judge)
    best: tuple[int, float, Tensor, list[Residual]] | None = None
    signed = a.architecture.norm == "rms"
    for t in candidates(anatomy, ([*ins[0].values()], [*ins[1].values()]), outs, signed=signed):
        found = _table_residuals(judge, ins[0], ins[1], t)
        far = found if outs is None else [*found, _end_residual(judge, outs, t)]
        score = sum(r.level == "unexplained" for r in far), sum(r.value for r in far)
        # Of two that explain as many the earlier, unless it leaves much more: a mistake is not to be fitted by a map.
        if best is None or score[0] < best[0] or (score[0] == best[0] and score[1] < best[1] / 2):
            best = (*score, t, found)
        if score[0] == 0:
            break
    assert best is not None
    return best[2], best[3]


def _tables(side: Side, anatomy: Anatomy) -> dict[str, Rows]:
    found = {role: side.rows(role).settled() for role in anatomy.tables}
    return {role: _without_mean(x).settled() if role in anatomy.centred else x for role, x in found.items()}


def _without_mean(rows: Rows) -> Rows:
    return rows.map(lambda x: x - x.mean(-1, keepdim=True))


def _moved(rows: Rows, t: Tensor) -> Rows:
    return rows if is_identity(t) else rows.map(lambda x: x @ t).settled()


def _table_residuals(judge: Judge, mine: dict[str, Rows], theirs: dict[str, Rows], t: Tensor) -> list[Residual]:
    """Of all tables; a constant may have moved from the positions' and types' to the tokens'."""
    sizes = {role: max(side.rows(role).norm() for side in (judge.a, judge.b)) for role in mine}
    plain = [judge.residual(role, _moved(x, t), theirs[role], sizes[role]) for role, x in mine.items()]
    if len(mine) == 1 or all(r.level != "unexplained" for r in plain):
        return plain
    mine, theirs = _without_constants(mine), _without_constants(theirs)
    shifted = [
        judge.residual(role, _moved(x, t), theirs[role], sizes[role], made_of=tuple(mine)) for role, x in mine.items()
    ]
    return shifted if all(r.level != "unexplained" for r in shifted) else plain


def note_tables(judge: Judge, element: Element) -> None:
    """Constants that went from one table to another, and what no LayerNorm sees of the rows."""
    t = element.tensors["stream"]
    for role in judge.anatomy.tables:
        if role not in judge.anatomy.centred and len(judge.anatomy.tables) == 1:
            continue
        theirs = judge.b.rows(role)
        difference = theirs.minus(_moved(judge.a.rows(role), t)).settled()
        if role in judge.anatomy.centred:
            mean = difference.per_row(lambda x: x.mean(-1))
            if float(mean.abs().max()) > 1e-9 * theirs.largest():
                element.tensors[f"{role}.mean"] = mean
            difference = _without_mean(difference)
        if len(judge.anatomy.tables) == 1:
            continue
        constant = difference.column_mean()
        if difference.map(lambda x, c=constant: x - c).norm() < 1e-3 * difference.norm():  # type: ignore[misc]
            element.tensors[f"{role}.constant"] = constant


def _without_constants(tables: dict[str, Rows]) -> dict[str, Rows]:
    means = {role: -x.column_mean() for role, x in tables.items() if role != "token_table"}
    shifts = means | {"token_table": -torch.stack([*means.values()]).sum(0)}
    return {role: x.map(lambda block, c=shifts[role]: block + c) for role, x in tables.items()}  # type: ignore[misc]


def _end_piece(anatomy: Anatomy) -> Piece | None:
    """The unembedding, if it reads the stream through nothing but a norm."""
    last = anatomy.pieces[-1] if anatomy.pieces else None
    through_head = last is not None and last.norm is not None and last.norm.gain.startswith("head.")
    return last if last is not None and last.name == "unembedding" and not through_head else None


def _ends(judge: Judge) -> tuple[Rows, Rows] | None:
    piece = _end_piece(judge.anatomy)
    if piece is None or not judge.anatomy.permutable:
        return None
    return folded(judge.a, piece), folded(judge.b, piece)


def _end_residual(judge: Judge, outs: tuple[Rows, Rows], t: Tensor) -> Residual:
    inverse = torch.linalg.inv(t) if judge.anatomy.stream == "any" else t.mT
    piece = _end_piece(judge.anatomy)
    assert piece is not None
    through = () if piece.norm is None else (piece.norm.gain,)
    return judge.residual(piece.readers[0].weight, _moved(outs[0], inverse.mT), outs[1], made_of=through)


def solve_piece(judge: Judge, piece: Piece, element: Element) -> list[Residual]:
    """Find the heads, neurons and experts of a piece, note them in ``element``, and measure what is left."""
    anatomy = judge.anatomy
    if is_unembedding(piece):
        note_norms(judge, piece, element)
        return unembedding_residuals(judge, piece, element)
    if piece.name == "head" and (order := inner_order(judge)) is not None:
        element.tensors[INNER] = order
    own = normal(judge.a, piece, anatomy)
    mine, theirs = (
        in_new_stream(own, piece, element.tensors["stream"], anatomy.stream != "any"),
        normal(judge.b, piece, anatomy),
    )
    residuals = solve_normal(judge, piece, element, mine, theirs)[1]
    if _unexplained(residuals):
        residuals = _solve_together(judge, piece, element, mine, theirs, _unexplained(residuals)) or residuals
    note_norms(judge, piece, element)
    return residuals


def note_norms(judge: Judge, piece: Piece, element: Element) -> None:
    """What no function sees of B and an image of A should have all the same: gains and offsets that were folded, and
    what LayerNorms do not let through."""
    norms = [] if piece.norm is None else [piece.norm]
    norms += [n for s in piece.sublayers for n in inner_norms(s)]
    still = is_identity(element.tensors["stream"]) and INNER not in element.tensors
    for role in [r for n in norms for r in (n.gain, n.offset) if r is not None]:
        mine, theirs = judge.a.read(role), judge.b.read(role)
        if not (still and torch.equal(mine, theirs)):
            element.tensors[role] = theirs
    if is_unembedding(piece):
        if (shift := unseen_mean(judge, piece, element)) is not None:
            element.tensors[f"{piece.readers[0].weight}.mean"] = shift
        return
    read_through_mean = piece.norm is not None and piece.norm.kind == "layer"
    unseen = {f"{m.weight}.mean": (m.weight, -2) for m in piece.readers} if read_through_mean else {}
    written = [role for m in piece.writers for role in (m.weight, m.bias)] + [n.offset for n in piece.kept]
    unseen |= {f"{role}.mean": (role, -1) for role in written if role is not None and role in judge.anatomy.centred}
    unseen |= {f"{role}.common": (role, -1) for role in softmax_routers(judge.a, piece)}
    if not unseen:
        return
    moved = moved_by(element, normal(judge.a, piece, judge.anatomy, centred=False), piece, judge.a, judge.anatomy)
    theirs_raw = normal(judge.b, piece, judge.anatomy, centred=False)
    for name, (role, axis) in unseen.items():
        shift = (theirs_raw.roles[role] - moved.roles[role]).mean(axis)
        if float(shift.abs().max()) > 1e-9 * float(theirs_raw.roles[role].abs().max()):
            element.tensors[name] = shift


def solve_normal(
    judge: Judge, piece: Piece, element: Element, mine: Normal, theirs: Normal
) -> tuple[Normal, list[Residual]]:
    """The same for a piece of A whose stream is B's: the piece moved, and the residuals.

    Differences as large as the rounding of A are held for such only where no element leaves less.
    """
    best: tuple[Element, Normal, list[Residual]] | None = None
    for rounded_a in (False, True):
        trial = Element(dict(element.tensors))
        moved, residuals = _attempt(judge, piece, trial, mine, theirs, rounded_a)
        if best is None or _unexplained(residuals) < _unexplained(best[2]):
            best = trial, moved, residuals
        if not _unexplained(best[2]) or all(r.inherited <= max(r.exact, r.stored) for r in residuals):
            break
    assert best is not None
    element.tensors.update(best[0].tensors)
    return best[1:]


def _solve_together(
    judge: Judge, piece: Piece, element: Element, mine: Normal, theirs: Normal, unexplained: int
) -> list[Residual] | None:
    """The same by what neurons add together, where some are idle or doubled; None if that explains no more."""
    fewer = [without_idle(judge, piece, x) for x in (mine, theirs)]
    if all(x is None for x in fewer):
        return None
    trial = Element(dict(element.tensors))
    one, two = fewer[0] or mine, fewer[1] or theirs
    moved, residuals = solve_normal(judge, piece, trial, one, two)
    if _unexplained(residuals):
        residuals = judge.of_piece(piece, with_sums(judge, piece, moved, two, theirs), two, {})
    if _unexplained(residuals) >= unexplained:
        return None
    element.tensors.update(trial.tensors)
    roles = {m.weight for f in feed_forwards(piece) for m in (*f.readers, f.writer)}
    return [replace(r, of_sum=True) if r.role in roles else r for r in residuals]


def _attempt(
    judge: Judge, piece: Piece, element: Element, mine: Normal, theirs: Normal, rounded_a: bool
) -> tuple[Normal, list[Residual]]:
    """An element for a piece, taken for the identity wherever that leaves no more than rounding of B, or of both."""
    a, before = judge.a, set(element.tensors)
    amplified: dict[str, float] = {}
    for s in piece.sublayers:
        if isinstance(s, Attention):
            one, two = (attention_of(x.roles, s, a.architecture) for x in (mine, theirs))
            close = judge.close(s.query.weight, a.architecture.d_model, rounded_a)
            found = solve_heads(one, two, a.architecture, close)
            element.put_attention(name_of(s), found)
            for part, factor in amplification(one, found).items():
                amplified[getattr(s, part).weight] = factor
        elif isinstance(s, LatentAttention):
            close = judge.close(s.key_value_down.weight, a.architecture.d_model, rounded_a)
            parts, magnified = solve_latents(mine.roles, theirs.roles, s, a.architecture.rotary, close)
            element.tensors.update({f"{name_of(s)}.{part}": x for part, x in parts.items()})
            amplified |= magnified
        elif isinstance(s, Mixture):
            rows = [x.roles[s.router.weight] for x in (mine, theirs)]
            rows = [(r - r.mean(-1, keepdim=True)).mT for r in rows]
            element.tensors[f"{name_of(s)}.experts"] = match_rows(rows[0], rows[1])
    shuffled = dict(mine.roles)
    for s in piece.sublayers:
        if isinstance(s, Mixture):
            shuffled |= renumbered_experts(shuffled, s, element.tensors[f"{name_of(s)}.experts"])
    for f in feed_forwards(piece):
        one_f, two_f = (feed_forward_of(r, f, a.architecture.activation) for r in (shuffled, theirs.roles))
        close = judge.close(f.up.weight, a.architecture.d_model, rounded_a)
        order, factors = solve_neurons(one_f, two_f, close)
        element.tensors.update({f"{name_of(f)}.order": order, f"{name_of(f)}.factors": factors})
    try:
        moved = act(element, mine, piece, a)
    except IllConditioned:
        moved = mine
    residuals = _measured(judge, piece, moved, theirs, amplified)
    plain = _measured(judge, piece, mine, theirs, {})
    if _unexplained(residuals) and _unexplained(plain) <= _unexplained(residuals):
        # What moves nothing explains as much; a matching of what does not correspond would only hide what differs.
        for name in element.tensors.keys() - before:
            del element.tensors[name]
        return mine, plain
    return moved, residuals


def _measured(judge: Judge, piece: Piece, moved: Normal, theirs: Normal, amplified: dict[str, float]) -> list[Residual]:
    """The residuals of a piece; by their products of heads that no element brings together, for want of rank."""
    found = judge.of_piece(piece, moved, theirs, amplified)
    if not _unexplained(found):
        return found
    moved, roles = with_products(judge, piece, moved, theirs)
    if not roles:
        return found
    again = judge.of_piece(piece, moved, theirs, amplified)
    return [replace(r, of_product=True) if r.role in roles else r for r in again]


def _unexplained(residuals: list[Residual]) -> int:
    return sum(r.level == "unexplained" for r in residuals)


def solve(judge: Judge, element: Element) -> Iterator[tuple[str, list[Residual]]]:
    """Names of the steps and their residuals, as they are found; ``element`` is filled on the way."""
    element.tensors["stream"], tables = solve_stream(judge)
    note_tables(judge, element)
    yield "tables", tables
    for piece in judge.anatomy.pieces:
        yield piece.name, solve_piece(judge, piece, element)
