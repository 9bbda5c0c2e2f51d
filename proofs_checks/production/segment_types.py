"""BERT's fibre where sequences may have tokens of both segment types; the reference gives every token type 0."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Tokens
from symgauge.models.reference import ReferenceModel, forward


class Segments(ReferenceModel):
    """Ids below 2 V: id mod V is the token, and id div V says which of ``types`` its segment has."""

    def __init__(self, a: Architecture, types: tuple[int, int]) -> None:
        super().__init__(a)
        self.types = types

    def forward(self, inputs: Tensor) -> Tensor:
        a, roles = self.architecture, self.roles()
        words, rows, bias = roles["token_table"], roles.pop("type_table"), roles["unembedding.bias"]
        both = {
            "token_table": torch.cat([words + rows[kind] for kind in self.types]),
            "unembedding.weight": torch.cat([words, words]).T,
            "unembedding.bias": torch.cat([bias, bias]),
        }
        wide = a.replace(vocabulary=2 * a.vocabulary, token_types=0, tied=False)
        return forward(wide, roles | both, inputs)[..., : a.vocabulary]


def nullity(a: Architecture, types: tuple[int, int]) -> int:
    """Exact, on all sequences of as many tokens as the model has positions."""
    return dimension(Segments(a, types), Tokens(2 * a.vocabulary, a.context)).require_decided().nullity
