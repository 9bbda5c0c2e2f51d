"""Gauss–Jordan elimination of a few rows, pivot by pivot: the part of an echelon form that is no matrix product."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.modular_products import Parts, centred, residues


def eliminate(small: Parts, field: FiniteField) -> tuple[Parts, Tensor]:
    """(T, pivots) for a small array (n, m): T·small is the identity in the columns ``pivots`` of its first rows.

    Below them T·small is zero. It runs on the CPU whatever the device, in numpy, where a step costs a few microseconds.
    """
    p, device = field.p, small[0].device
    work = np.stack([residues(x, p).cpu().numpy() for x in small])
    _, n, m = work.shape
    done: list[int] = []
    pivots: list[int] = []
    unused = np.ones(m, dtype=bool)
    for i in range(n):
        # A row that is zero at its turn stays zero, as it has no entry that a later pivot would clear.
        live = work[:, i].any(0) & unused
        j = int(live.argmax())
        if not live[j]:
            continue
        inverse = np.array(field.inverse_of(*work[:, i, j].tolist()))[: len(work), None]
        factors = work[:, :, j].copy()
        factors[:, i] = 0
        # The column is the unit vector from now on, so it holds the transformation's column i instead.
        work[:, :, j] = 0
        work[0, i, j] = 1
        work[:, i] = _times(inverse, work[:, i]) % p
        work = (work - _times(factors[:, :, None], work[:, i][:, None])) % p
        unused[j] = False
        done.append(i)
        pivots.append(j)
    transform = np.zeros((len(work), n, n), dtype=np.int64)
    transform[0] = np.eye(n, dtype=np.int64)
    transform[:, :, done] = work[:, :, pivots]
    order = done + [i for i in range(n) if i not in done]
    parts = tuple(centred(torch.from_numpy(x[order]).to(device), p) for x in transform)
    return parts, torch.tensor(pivots, dtype=torch.int64, device=device)


def _times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of residues, real or complex by the first axis, not reduced: below 2p² < 2⁶³ in size."""
    if len(a) == 1:
        return a * b
    return np.stack([a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]])
