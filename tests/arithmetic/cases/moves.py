"""Entries that move, are gathered and scattered, and are written in place."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.arithmetic.cases.inputs import CONSTANT, MASK, ROW, Case, against


def written(*writes: Callable[[Tensor], object]) -> Case:
    """Writes in place, one after the other, each into a copy (torch's derivatives want that)."""

    def run(x: Tensor) -> Tensor:
        y = x
        for write in writes:
            y = y * 1
            write(y)
        return y * x

    return run


def scattered(how: str, include_self: bool = True) -> Case:
    index = ROW[None, :, None].expand(2, 3, 4)
    return lambda x: x.scatter_reduce(1, index, x * x + 0.3, how, include_self=include_self)


def bags(mode: str) -> Case:
    return lambda x: F.embedding_bag(torch.tensor([0, 2, 1, 2, 2]), x[0], torch.tensor([0, 3]), mode=mode)


def weighted_bags(x: Tensor) -> Tensor:
    rows, starts = torch.tensor([0, 2, 1]), torch.tensor([0, 1])
    return F.embedding_bag(rows, x[0], starts, mode="sum", per_sample_weights=x[1, 0, :3])


CASES: dict[str, Case] = {
    # moves
    "tile roll": lambda x: (
        x.tile(2, 1, 2) * x.roll((1, 2), (1, 2)).repeat_interleave(torch.tensor([1, 2, 1]), 1).tile(2, 1, 2)[:, :3]
    ),
    "as_strided": lambda x: (x * x).as_strided((3, 5), (2, 3), 1),
    "diagonals": lambda x: (
        (torch.diag_embed(x, 1) @ torch.diag_embed(x, -1))[..., :4, :4] + torch.diag(x[0, 0]) + torch.diagflat(x[0, 1])
    ),
    "scatter into parts": lambda x: (
        torch.diagonal_scatter(x, x[:, :, 0] ** 2, 0, 1, 2)
        + torch.select_scatter(x, x[:, 0] * 2, 1, 2)
        + torch.slice_scatter(x, x[:, :1] * 3, 1, 2)
    ),
    "scatter_add": lambda x: x.scatter_add(1, ROW[None, :2, None].expand(2, 2, 4), x[:, :2] * x[:, :2]),
    "scatter_reduce sum": scattered("sum"),
    "scatter_reduce prod": scattered("prod", False),
    "scatter_reduce mean": scattered("mean"),
    "scatter_reduce amax": scattered("amax", False),
    "scatter_reduce amin": scattered("amin"),
    "scatter by reduce": against(
        lambda x: torch.scatter(x, 1, ROW[None, :, None].expand(2, 3, 4), x * x, reduce="add"),
        lambda x: x.scatter_add(1, ROW[None, :, None].expand(2, 3, 4), x * x),
    ),
    "index_reduce": lambda x: (
        x.index_reduce(1, ROW, x * 2, "prod") + x.index_reduce(1, ROW, x, "mean", include_self=False)
    ),
    "index_copy index_fill": lambda x: (
        x.index_copy(1, torch.tensor([2, 0]), x[:, :2] ** 2) + x.index_fill(1, torch.tensor([1]), 2.0)
    ),
    "take put": lambda x: (
        torch.take_along_dim(x, x.argsort(-1), -1)
        + x.take(ROW).sum()
        + x.put(ROW, x[0, 0, :3] ** 2, True)
        + x.put(torch.tensor([3, 1]), x[0, 0, :2] * 2)
    ),
    "masked_select": lambda x: x.masked_select(MASK) ** 2,
    "masked_scatter": lambda x: x.masked_scatter(MASK, x * x),
    "bags": lambda x: bags("sum")(x) + bags("mean")(x) * bags("max")(x) + weighted_bags(x),
    "block_diag": lambda x: torch.block_diag(x[0], x[1]) ** 2,
    "rot90 unsafe": lambda x: (
        torch.rot90(x, 1, (1, 2)) * x.unsafe_split(2, 2)[0].sum() + x.unsafe_split_with_sizes([1, 3], 2)[0].sum()
    ),
    "copies": lambda x: (
        torch.permute_copy(x, (0, 2, 1)).mT
        * torch.transpose_copy(x, 0, 1).transpose(0, 1)
        * torch.view_copy(x, (2, 3, 4))
        * torch.squeeze_copy(torch.unsqueeze_copy(torch.expand_copy(x, (2, 3, 4)), 0), 0)
    ),
    "copies of parts": lambda x: (
        torch.split_with_sizes_copy(x, [4, 0], 2)[0] * torch.unbind_copy(x)[0]
        + torch.narrow_copy(x, 1, 0, 3) * torch.t_copy(x[0]).mT
        + torch.diagonal_copy(x, 0, 1, 2).sum() * torch.unfold_copy(x, 2, 4, 1)[:, :, 0]
    ),
    "fill": lambda x: torch.fill(x, 2.0) * x + torch.ops.aten._reshape_alias(x, [2, 3, 4], [12, 4, 1]),
    "unsafe_index": lambda x: (
        torch.ops.aten._unsafe_index(x, [None, ROW])
        + torch.ops.aten._unsafe_index_put(x, [None, torch.tensor([1])], x[:, :1] * 2)
    ),
    # in place, from the plain rules
    "relu_ exp_": written(Tensor.relu_, Tensor.exp_),
    "clamp_ tanh_": written(lambda y: y.clamp_(-0.5, 0.9), Tensor.tanh_, Tensor.sigmoid_),
    "abs_ sqrt_ pow_": written(Tensor.abs_, lambda y: y.add_(1), Tensor.sqrt_, lambda y: y.pow_(3)),
    "addcmul_ lerp_": written(lambda y: y.addcmul_(CONSTANT, CONSTANT, value=0.5), lambda y: y.lerp_(CONSTANT, 0.3)),
    "slices in place": written(lambda y: y[:, 1:].neg_(), lambda y: y[..., 0].mul_(3), lambda y: y.clamp_max_(1.1)),
    "index_fill_": written(lambda y: y.index_fill_(1, torch.tensor([1]), 0.5)),
    "scatter_add_": written(lambda y: y.scatter_add_(1, ROW[None, :, None].expand(2, 3, 4), CONSTANT)),
    "masked in place": written(lambda y: y.masked_scatter_(MASK, CONSTANT), Tensor.tril_),
    "floor_ fmod_": written(lambda y: y.fmod_(0.4), lambda y: y[0].floor_()),
    "squeeze_ unsqueeze_": lambda x: (x * x).unsqueeze_(0).squeeze_(0) * 2,
    "dropout_": written(lambda y: F.dropout(y, 0.5, training=False, inplace=True)),
    "activations in place": written(lambda y: F.leaky_relu_(y, 0.1), lambda y: F.hardtanh_(y, -1.0, 1.0), F.elu_),
}
