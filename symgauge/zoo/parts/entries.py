"""Role layouts as index data: positions of a module's parameter entries, sliced and reshaped like the tensors.

All index tensors here follow the row-vector convention, (in, out), whatever way the module stores its matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symgauge.architecture import Architecture
from symgauge.errors import UnsupportedModel

if TYPE_CHECKING:
    from torch import Tensor, nn

    from symgauge.layout import Slot


class Entries:
    """Where each entry of each parameter lies in θ, by parameter name; tied parameters share their positions."""

    def __init__(self, module: nn.Module) -> None:
        import torch

        self.names: list[tuple[str, int]] = []
        self.size = 0
        starts: dict[int, int] = {}
        self._positions: dict[str, Tensor] = {}
        for name, parameter in module.named_parameters(remove_duplicate=False):
            if id(parameter) not in starts:
                starts[id(parameter)] = self.size
                self.names.append((name, parameter.numel()))
                self.size += parameter.numel()
            start = starts[id(parameter)]
            self._positions[name] = torch.arange(start, start + parameter.numel()).reshape(parameter.shape)

    def get(self, name: str) -> Tensor | None:
        return self._positions.get(name)

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._positions:
            raise UnsupportedModel(f"the module has no parameter {name!r}, which its configuration promises")
        return self._positions[name]


def heads_in(index: Tensor, heads: int) -> Tensor:
    """(in, h·d), head after head → (h, in, d)."""
    return index.reshape(index.shape[0], heads, -1).transpose(0, 1)


def heads_out(index: Tensor, heads: int) -> Tensor:
    """(h·d, out), head after head → (h, d, out)."""
    return index.reshape(heads, -1, index.shape[-1])


class Assignment:
    """Collects the slot of every role. ``transposed`` says that linear layers store (out, in), as nn.Linear does."""

    def __init__(self, entries: Entries, *, transposed: bool = True, gain_shift: int = 0) -> None:
        self.entries = entries
        self.transposed = transposed
        self.gain_shift = gain_shift
        self.slots: dict[str, Slot] = {}

    def put(self, role: str, index: Tensor, shift: int = 0) -> None:
        from symgauge.layout import Slot

        self.slots[role] = Slot(index.contiguous(), shift)

    def weight(self, layer: str) -> Tensor:
        """(in, out) positions of a linear layer's matrix."""
        index = self.entries[f"{layer}.weight"]
        return index.T if self.transposed else index

    def bias(self, layer: str) -> Tensor | None:
        return self.entries.get(f"{layer}.bias")

    def table(self, role: str, layer: str, unused: int = 0) -> None:
        """An embedding's rows, without the first ``unused`` ones, which no position reads."""
        rows = self.entries[f"{layer}.weight"]
        self.put(role, rows[unused:])
        if unused:
            self.put("unused_positions", rows[:unused])

    def norm(self, role: str, layer: str, heads: int = 0) -> None:
        """A norm's gain, with its offset if it has one; with ``heads``, gains (heads, d) of a norm across heads."""
        gain = self.entries[f"{layer}.weight"]
        self.put(f"{role}.gain", gain.reshape(heads, -1) if heads else gain, self.gain_shift)
        offset = self.bias(layer)
        if offset is not None:
            self.put(f"{role}.offset", offset)

    def linear(self, role: str, layer: str) -> None:
        self.put(f"{role}.weight", self.weight(layer))
        bias = self.bias(layer)
        if bias is not None:
            self.put(f"{role}.bias", bias)

    def head(self, a: Architecture, layer: str) -> None:
        """The unembedding, stored (out, in) in all models: its weight unless it is the token table, and its bias."""
        if not a.tied:
            self.put("unembedding.weight", self.entries[f"{layer}.weight"].T)
        if a.head_bias:
            self.put("unembedding.bias", self.entries[f"{layer}.bias"])

    def split(self, roles: dict[str, int], weight: Tensor, bias: Tensor | None) -> None:
        """Consecutive output columns of one linear map (in, out) are the heads of several roles: {role: heads}."""
        width = weight.shape[-1] // sum(roles.values())
        sizes = [heads * width for heads in roles.values()]
        for (role, heads), part in zip(roles.items(), weight.split(sizes, dim=-1), strict=True):
            self.put(f"{role}.weight", heads_in(part, heads))
        if bias is not None:
            for (role, heads), part in zip(roles.items(), bias.split(sizes), strict=True):
                self.put(f"{role}.bias", part.reshape(heads, -1))

    def heads(self, role: str, layer: str, heads: int) -> None:
        """A linear layer whose outputs are heads, one after the other."""
        self.split({role: heads}, self.weight(layer), self.bias(layer))

    def output(self, role: str, layer: str, heads: int) -> None:
        """A linear layer whose inputs are heads, one after the other."""
        self.put(f"{role}.weight", heads_out(self.weight(layer), heads))
        bias = self.bias(layer)
        if bias is not None:
            self.put(f"{role}.bias", bias)
