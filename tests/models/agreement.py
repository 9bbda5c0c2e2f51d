"""How far a Hugging Face model is from the reference model that reads its roles through a layout."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.layout import Layout, flatten
from symgauge.models.huggingface import adapt
from symgauge.models.reference import forward
from tests.models.float64_only import Float64Only

TOKENS = 4
# Rounding of some twenty float64 products in a row; measured errors are a few 1e-16.
AGREES = 1e-12


def token_ids(vocabulary: int, seed: int = 0) -> Tensor:
    """Ids (5, 4); twenty tokens, so that every expert of a small mixture is chosen by some."""
    return torch.randint(vocabulary, (5, TOKENS), generator=torch.Generator().manual_seed(seed))


def own_logits(model: Any, ids: Tensor) -> Tensor:
    """The model's logits in float64, computed by its own code."""
    with torch.no_grad(), Float64Only():
        logits: Tensor = model(input_ids=ids).logits
    assert logits.dtype is torch.float64
    assert logits.isfinite().all()
    return logits


def distance(model: Any, *, architecture: Architecture | None = None, layout: Layout | None = None) -> float:
    """Relative error of the reference on the model's roles; a wrong architecture or layout is a negative control."""
    adapted = adapt(model)
    architecture, layout = architecture or adapted.architecture, layout or adapted.layout
    ids = token_ids(adapted.architecture.vocabulary)
    expected = own_logits(model, ids)
    found = forward(architecture, layout.read(flatten(model)[0]), ids)
    return float((found - expected).norm() / expected.norm())
