"""Linear maps of a whole space: any, orthogonal, or orthogonal fixing **1**, as its readers allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture, Latent
from symgauge.model_graph import Map, ModelGraph, Norm, graph_of
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.catalogue.value_output import value_maps
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.divided_sizes import sizes_are_divided_away
from symgauge.symmetries.elements import (
    cayley,
    differences,
    fill,
    full_pattern,
    invertible,
    near_identity,
    shifts,
    skew_pattern,
)
from symgauge.symmetries.examples import ATTENTION, PLAIN, PRE_LN, RMS, SHARED
from symgauge.symmetries.gains_and_maps import maps_are_left
from symgauge.symmetries.no_residual import constants_lift_planes, is_narrow
from symgauge.symmetries.seen import seen_by_readers
from symgauge.symmetries.space import Reader, Space
from symgauge.symmetries.spaces import norm_before_head, opened_by, spaces, width_of

Kind = Literal["any", "orthogonal", "fixing"]


def kind_of(graph: ModelGraph, space: Space, every: list[Space]) -> Kind | None:
    """Which linear maps of ``space`` can be undone by its readers, if more than a scale."""
    if space.given or space.taken or space.source is not None or space.outputs:
        return None
    reads_table = any(reader.tied for reader in space.readers)
    if graph.tied and (reads_table != ("token_table" in space.tables)):
        return None
    after = [opened_by(every, norm) for norm in space.norms]
    if not all(opened is not None and opened.refoldable for opened in after):
        return None
    if any(norm.kind == "layer" for norm in space.norms):
        return "fixing"
    return "orthogonal" if space.norms or reads_table else "any"


def _few_channels_before_a_tied_table(a: Architecture) -> bool:
    norm = norm_before_head(a, graph_of(a)) if a.tied else None
    return norm is not None and norm.kind == "layer" and norm.width in (2, 3)


_DIVIDED = ATTENTION.replace(
    d_k=3, d_v=2, latent=Latent(3, 3, 1), attention="linear", norm="rms", epsilon=0.0, final_norm=True
)
_LIFTED = SHARED.replace(layers=2, d_v=1, d_model=4, output_bias=True)


class StreamMap(Symmetry):
    name = "stream-map"
    title = (
        "A stream (or latent) is turned: what writes it is multiplied by a matrix, what reads it by the inverse, with "
        "the gains of norms in between refolded. Any invertible matrix without norms, an orthogonal one with RMSNorm, "
        "an orthogonal one that fixes 1 with LayerNorm; with tied embeddings only if no final gain stands in between."
    )
    source = (
        Cites("ashkboos2024slicegpt", "Theorem 1", "orthogonal maps, with RMSNorm"),
        Cites("henry2025lightning", "Section 3", "invertible maps, without norms and residual stream"),
    )
    after = ("layernorm-input-mean", "norm-gain")
    example = RMS
    degenerate_cases = (
        DegenerateCase(
            "without a residual stream narrow layers leave parts of what they read unseen",
            is_narrow,
            example=ATTENTION.replace(layers=2, d_v=1),
            beside=ATTENTION.replace(d_v=1),
        ),
        DegenerateCase(
            "without a residual stream what a layer writes is a plane that its bias alone lifts off the origin",
            constants_lift_planes,
            example=_LIFTED,
            beside=_LIFTED.replace(output_bias=False, d_v=2),
        ),
        DegenerateCase(
            "gains of the norms that write a stream do not hold all of its maps",
            maps_are_left,
            example=RMS.replace(placement="output", final_norm=False),
            beside=RMS.replace(placement="output"),
        ),
        DegenerateCase(
            "without a residual stream a tied table takes any matrix, and what is written last its inverse",
            lambda a: a.tied and not a.residual,
            example=PLAIN.replace(residual=False, tied=True),
            beside=PLAIN.replace(residual=False),
        ),
        DegenerateCase(
            "without other norms the columns of a tied table trade their sizes with the gain of the head's norm",
            lambda a: (
                a.tied and a.head_transform and (a.norm == "none" or (a.placement == "output" and not a.final_norm))
            ),
            example=PLAIN.replace(head_transform=True, tied=True),
            beside=PLAIN.replace(head_transform=True),
        ),
        DegenerateCase(
            "in two or three channels the gain of a LayerNorm can follow what maps a tied table has",
            _few_channels_before_a_tied_table,
            example=PRE_LN.replace(d_model=3, tied=True),
            beside=PRE_LN.replace(d_model=3),
        ),
        DegenerateCase(
            "a norm without ε divides by a size that another norm behind it divides away",
            sizes_are_divided_away,
            example=_DIVIDED,
            beside=_DIVIDED.replace(attention="softmax"),
        ),
    )

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        every = spaces(a, graph)
        found = []
        for space in every:
            kind = kind_of(graph, space, every)
            if kind is not None:
                found.append(self._site(a, graph, space, every, kind))
        return [site for site in found if site.coordinates]

    def _site(self, a: Architecture, graph: ModelGraph, space: Space, every: list[Space], kind: Kind) -> Site:
        n = space.width - (kind == "fixing")
        count = n * n if kind == "any" else n * (n - 1) // 2
        opened = [(norm, opened_by(every, norm)) for norm in space.norms]
        norms = [(norm, after.readers) for norm, after in opened if after is not None]

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            matrix, inverse = _element(kind, space.width, x)
            return _turn(roles, space, norms, matrix, inverse)

        letter = self._letter(a, space) - int(kind == "fixing")
        size = letter**2 if kind == "any" else letter * (letter - 1) / 2
        # Patterns are made on demand: a production stream has millions of coordinates.
        sample = (lambda generator: invertible(full_pattern(n))(generator)) if kind == "any" else shifts(count)
        return Site(space.layer, size - self._idle(a, graph, space, norms, kind), count, act, sample)

    def _letter(self, a: Architecture, space: Space) -> Expr:
        return width_of(a, space.norms[0]) if space.norms else s.d

    def _idle(
        self, a: Architecture, graph: ModelGraph, space: Space, norms: list[tuple[Norm, list[Reader]]], kind: Kind
    ) -> Expr:
        """Dimension of the maps that move neither writers nor readers (a stream wider than they span together).

        A bias counts as no writer: it moves by itself in what no reader sees.
        """
        width = space.width - (kind == "fixing")
        written = sum(graph.shapes[table][0] for table in space.tables)
        written += sum(_filled(a, graph, m) for m in space.writers)
        readers = [*space.readers, *(reader for _, group in norms for reader in group)]
        shapes = [graph.shapes[reader.weight] for reader in readers if not reader.tied]
        read = sum(shape[-1] * (shape[0] if len(shape) == 3 else 1) for shape in shapes)
        if kind == "any":
            return Integer(max(0, width - written) * max(0, width - read))
        left = max(0, width - written - read)
        return Integer(left * (left - 1) // 2)


def _filled(a: Architecture, graph: ModelGraph, writer: Map) -> int:
    """In how many directions a map can write: fewer than its rows where values fill but part of a head."""
    rows = torch.Size(graph.shapes[writer.weight][:-1]).numel()
    value = next((values.value for values in value_maps(a, graph) if values.output == writer.weight), None)
    return rows if value is None else min(rows, a.heads * seen_by_readers(a, graph)[value.weight].linear)


def _element(kind: Kind, width: int, x: Tensor) -> tuple[Tensor, Tensor]:
    if kind == "any":
        matrix = near_identity(x, full_pattern(width))
        return matrix, torch.linalg.inv(matrix)
    skew = fill(x, skew_pattern(width - (kind == "fixing")))
    if kind == "fixing":
        basis = differences(width, x)
        skew = basis @ skew @ basis.mT
    matrix = cayley(skew)
    return matrix, matrix.mT


def _turn(
    roles: Roles, space: Space, norms: list[tuple[Norm, list[Reader]]], matrix: Tensor, inverse: Tensor
) -> dict[str, Tensor]:
    """Multiply what writes the space by ``matrix`` and what reads it by ``inverse``, through the norms' gains."""
    changed = {table: roles[table] @ matrix for table in space.tables}
    for m in space.writers:
        changed[m.weight] = roles[m.weight] @ matrix
        if m.bias is not None:
            changed[m.bias] = _row(roles[m.bias], matrix)
    for reader in space.readers:
        if not reader.tied:
            changed[reader.weight] = inverse @ roles[reader.weight]
    for norm, readers in norms:
        gain = roles[norm.gain]
        for reader in readers:
            changed[reader.weight] = (inverse @ (gain.unsqueeze(-1) * roles[reader.weight])) / gain.unsqueeze(-1)
        if norm.offset is not None:
            changed[norm.offset] = _row(roles[norm.offset] / gain, matrix) * gain
    return changed


def _row(vector: Tensor, matrix: Tensor) -> Tensor:
    return (vector.unsqueeze(0) @ matrix).squeeze(0)
