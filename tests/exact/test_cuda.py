"""The same code on CUDA: equal ranks and accounts. Skipped where there is no card."""

import pytest
import torch

from symgauge.accounting import account
from symgauge.architecture import Architecture, Rotary

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")

MODEL = Architecture(
    d_model=4, heads=2, groups=1, d_k=2, d_v=3, d_ff=5, vocabulary=8, context=5, norm="rms", final_norm=True,
    activation="silu", gated=True, rotary=Rotary.standard(2),
)  # fmt: skip


@cuda
@pytest.mark.cuda
def test_cuda_agrees_with_cpu() -> None:
    on_cpu, on_card = account(MODEL), account(MODEL, device="cuda")
    assert on_cpu.complete
    assert on_card.complete
    assert on_cpu.fibre.rank == on_card.fibre.rank
