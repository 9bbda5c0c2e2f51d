"""Modules that nobody described, small enough to be searched in a second or two."""

MODULES = '''
import symgauge
import torch
from torch import nn


def product(rank=2):
    """x ↦ B A x: GL(rank) between the two."""
    return nn.Sequential(nn.Linear(4, rank, bias=False), nn.Linear(rank, 4, bias=False)), symgauge.Vectors(1, 4)


def units(width=3):
    """A scale per hidden unit."""
    return nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, 1)), symgauge.Vectors(1, 2)


class Normed(nn.Module):
    """A norm with a gain between two maps: so(3) once the gain is held, and the scale that the norm takes away."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(3))
        self.writer, self.reader = nn.Linear(3, 3, bias=False), nn.Linear(3, 2)

    def forward(self, x):
        x = self.writer(x)
        return self.reader(self.gain * x / (x * x).mean(-1, keepdim=True).sqrt())


def normed():
    return Normed(), symgauge.Vectors(1, 3)


class Cubed(nn.Module):
    """x ↦ Σ (a³ + b) x: a and b move each other, and no affine field says how."""

    def __init__(self, *shape):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(shape)), nn.Parameter(torch.randn(shape))

    def forward(self, x):
        return ((self.a**3 + self.b) * x).sum(-1)


def cubed():
    return Cubed(1, 2), symgauge.Vectors(1, 2)


def cubed_vectors():
    """As vectors, one of them is held."""
    return Cubed(2), symgauge.Vectors(1, 2)


class Gained(nn.Module):
    """A gain that is seen, and a map that reads what it multiplies: W + c·(1/γ)ᵀ reads the same of a centred vector."""

    def __init__(self):
        super().__init__()
        self.gain, self.reader = nn.Parameter(torch.randn(3) + 2), nn.Linear(3, 2, bias=False)

    def forward(self, x):
        x = self.gain * (x - x.mean(-1, keepdim=True))
        return torch.cat([x, self.reader(x)], -1)


def gained():
    return Gained(), symgauge.Vectors(1, 3)


class Behind(nn.Module):
    """A bias behind which a map is seen, all of it: what the map does not see of the bias is inverse in the map."""

    def __init__(self, inner=3, outer=2):
        super().__init__()
        self.bias, self.writer = nn.Parameter(torch.randn(inner)), nn.Parameter(torch.randn(inner, outer))

    def forward(self, x):
        return x @ self.writer + self.bias @ self.writer


def behind(inner=3, outer=2):
    return Behind(inner, outer), symgauge.Vectors(1, inner)


class Heads(nn.Module):
    """The same with the map's rows in heads."""

    def __init__(self):
        super().__init__()
        self.bias, self.writer = nn.Parameter(torch.randn(2, 2)), nn.Parameter(torch.randn(2, 2, 3))

    def forward(self, x):
        return torch.einsum("...hk,hkd->...d", x.unflatten(-1, (2, 2)) + self.bias, self.writer)


def heads():
    return Heads(), symgauge.Vectors(1, 4)


class Shifted(nn.Module):
    """A table seen with an offset, and alone by a reader: E − 1cᵀ is made up for by the offset, and by E⁻¹1cᵀ·R."""

    def __init__(self, width=3, outer=2):
        super().__init__()
        self.table, self.offset = nn.Parameter(torch.randn(width, width)), nn.Parameter(torch.randn(1, width))
        self.reader = nn.Parameter(torch.randn(width, outer))

    def forward(self, x):
        return torch.cat([x @ self.table @ self.reader, x @ self.table + x.sum(-1, keepdim=True) * self.offset], -1)


def shifted(width=3, outer=2):
    return Shifted(width, outer), symgauge.Vectors(1, width)


class Written(nn.Module):
    """The same where the offset is written by a map that is seen, to fewer directions than there are."""

    def __init__(self):
        super().__init__()
        self.table, self.reader = nn.Parameter(torch.randn(3, 3)), nn.Parameter(torch.randn(3, 2))
        self.offset, self.writer = nn.Parameter(torch.randn(1, 2)), nn.Parameter(torch.randn(2, 3))

    def forward(self, x):
        offset = x.sum(-1, keepdim=True) * (self.offset @ self.writer)
        return torch.cat([x @ self.table @ self.reader, x @ self.table + offset, x[..., :2] @ self.writer], -1)


def written():
    return Written(), symgauge.Vectors(1, 3)


class Stacked(nn.Module):
    """Linear maps one behind the other, the last to fewer channels: the first may hold what the others lose."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.randn(3, 3))
        self.third, self.bias = nn.Parameter(torch.randn(3, 2)), nn.Parameter(torch.randn(3))

    def forward(self, x):
        return (x @ self.first @ self.second + self.bias) @ self.third


def stacked():
    return Stacked(), symgauge.Vectors(1, 4)
'''
