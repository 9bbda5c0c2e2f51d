"""Inverses, determinants, linear systems and Cholesky factors, by exact elimination.

The inverse of a matrix of numbers, X, gives that of the matrix with its derivatives by one step of Newton's method:
A⁻¹ = 2X − XAX has the value X and the derivative −X dA X. So elimination runs on values only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.rules._convert import as_element, both, value_alone
from symgauge.arithmetic.wrapper_tensor import rule
from symgauge.errors import InvalidInput

aten = torch.ops.aten


def _eye(c: Arithmetic, x: Element) -> Element:
    return c.lift(torch.eye(x.shape[-1], dtype=torch.float64, device=x.reference.device).expand(x.shape))


def _eliminated(c: Arithmetic, x: Element) -> tuple[Element, Element]:
    """Inverse and determinant of matrices of numbers, by Gauss and Jordan; the float64 reference chooses the pivots."""
    n = x.shape[-1]
    table = c.concatenate(lambda parts: torch.cat(list(parts), -1), [x, _eye(c, x)])
    rows = torch.arange(n, device=x.reference.device)
    determinant = c.lift(torch.ones(x.shape[:-2], dtype=torch.float64, device=x.reference.device))
    for k in range(n):
        pivot = table.reference[..., k:, k].abs().argmax(-1, keepdim=True) + k
        order = torch.where(rows == k, pivot, torch.where(rows == pivot, k, rows))
        spread = order.unsqueeze(-1).expand(table.shape)
        table = c.gather(lambda t, s=spread: torch.gather(t, -2, s), table)  # type: ignore[misc]
        entry = c.gather(lambda t, k=k: t[..., k, k], table)  # type: ignore[misc]
        determinant = c.mul(determinant, entry)
        determinant = c.select(pivot.squeeze(-1) != k, c.neg(determinant), determinant)
        row = c.gather(lambda t, k=k: t[..., k : k + 1, :], table)  # type: ignore[misc]
        row = c.mul(row, c.reciprocal(c.gather(lambda t: t[..., None, None], entry)))
        column = c.gather(lambda t, k=k: t[..., k : k + 1], table)  # type: ignore[misc]
        table = c.select(rows.unsqueeze(-1) == k, row, c.sub(table, c.mul(column, row)))
    inverse = c.gather(lambda t: t[..., n:], table)
    if inverse.undefined is not None:  # a matrix without an inverse: none of its entries means anything
        inverse = replace(inverse, undefined=inverse.undefined.any((-2, -1), keepdim=True).expand(inverse.shape))
    return inverse, determinant


def _square(x: Element, what: str) -> Element:
    if x.reference.dim() < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidInput(f"{what} needs square matrices, not the shape {tuple(x.shape)}")
    return x


def inverse(c: Arithmetic, x: Element) -> Element:
    """A⁻¹ over the last two axes; the inverse of a singular matrix is undefined."""
    constant, _ = _eliminated(c, value_alone(_square(x, "an inverse")))
    return c.sub(c.scale(constant, 2), c.matmul(constant, c.matmul(x, constant)))


def determinant(c: Arithmetic, x: Element) -> Element:
    """det A = d·(1 + tr A₀⁻¹(A − A₀)), which has the value d and the derivative d·tr A₀⁻¹dA."""
    numbers = value_alone(_square(x, "a determinant"))
    constant, d = _eliminated(c, numbers)
    change = c.matmul(constant, c.sub(x, numbers))
    trace = c.sum(c.gather(lambda t: torch.diagonal(t, dim1=-2, dim2=-1), change), [-1])
    return c.mul(d, c.add(as_element(c, 1, x.reference.device), trace))


def _info(x: Element) -> Tensor:
    return torch.zeros(x.shape[:-2], dtype=torch.int32, device=x.reference.device)


@rule(aten.linalg_inv_ex)
def _inv_ex(c: Arithmetic, x: Element, **_: Any) -> tuple[Element, Tensor]:
    return inverse(c, x), _info(x)


@rule(aten._linalg_det)
def _det(c: Arithmetic, x: Element) -> tuple[Element, Tensor, Tensor]:
    return determinant(c, x), x.reference.new_empty(0), _info(x)


@rule(aten._linalg_slogdet)
def _slogdet(c: Arithmetic, x: Element) -> tuple[Tensor, Element, Tensor, Tensor]:
    value = determinant(c, x)
    sign = torch.sign(value.reference)
    size = c.select(sign < 0, c.neg(value), value)
    return sign, c.log(size), x.reference.new_empty(0), _info(x)


@rule(aten._linalg_solve_ex)
def _solve(
    c: Arithmetic, a: Element | Tensor, b: Element | Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[Element, Tensor, Tensor, Tensor]:
    a, b = both(c, a, b)
    vector = b.reference.dim() == 1 or (b.reference.dim() == a.reference.dim() - 1 and b.shape == a.shape[:-1])
    right = c.gather(lambda t: t.unsqueeze(-1), b) if vector else b
    inverted = inverse(c, a)
    solution = c.matmul(inverted, right) if left else c.matmul(right, inverted)
    if vector:
        solution = c.gather(lambda t: t.squeeze(-1), solution)
    return solution, a.reference.new_empty(0), _info(a), _info(a)


def _triangle(c: Arithmetic, x: Element, upper: bool, unit: bool) -> Element:
    part = c.gather(lambda t: t.triu() if upper else t.tril(), x)
    if unit:
        diagonal = torch.eye(x.shape[-1], dtype=torch.bool, device=x.reference.device)
        part = c.select(diagonal, as_element(c, 1, x.reference.device), part)
    return part


@rule(aten.linalg_solve_triangular)
def _solve_triangular(
    c: Arithmetic,
    a: Element | Tensor,
    b: Element | Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Element:
    a, b = both(c, a, b)
    inverted = inverse(c, _triangle(c, a, upper, unitriangular))
    return c.matmul(inverted, b) if left else c.matmul(b, inverted)


@rule(aten.triangular_solve)
def _triangular_solve(
    c: Arithmetic,
    b: Element | Tensor,
    a: Element | Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[Element, Element]:
    a, b = both(c, a, b)
    inverted = inverse(c, _triangle(c, a, upper, unitriangular))
    if transpose:
        inverted = c.gather(lambda t: t.mT, inverted)
    return c.matmul(inverted, b), a


@rule(aten.linalg_cholesky_ex)
def _cholesky_ex(
    c: Arithmetic, x: Element, *, upper: bool = False, check_errors: bool = False
) -> tuple[Element, Tensor]:
    return _cholesky(c, x, upper), _info(x)


@rule(aten.cholesky)
def _cholesky(c: Arithmetic, x: Element, upper: bool = False) -> Element:
    """L with LLᵀ = A, column by column: what is left of a column, divided by the root of its first entry."""
    n = _square(x, "a Cholesky factor").shape[-1]
    if upper:
        x = c.gather(lambda t: t.mT, x)
    columns, rest = [], x
    for k in range(n):
        column = c.gather(lambda t, k=k: _below(t[..., k], k), rest)  # type: ignore[misc]
        column = c.mul(column, c.rsqrt(c.gather(lambda t, k=k: t[..., k, k].unsqueeze(-1), rest)))  # type: ignore[misc]
        columns.append(column)
        outer = c.mul(c.gather(lambda t: t.unsqueeze(-1), column), c.gather(lambda t: t.unsqueeze(-2), column))
        rest = c.sub(rest, outer)
    factor = c.concatenate(lambda parts: torch.stack(list(parts), -1), columns)
    return c.gather(lambda t: t.mT, factor) if upper else factor


def _below(column: Tensor, k: int) -> Tensor:
    """Zeros above entry k."""
    return torch.where(torch.arange(column.shape[-1], device=column.device) >= k, column, torch.zeros_like(column))


@rule(aten.cholesky_solve)
def _cholesky_solve(c: Arithmetic, b: Element | Tensor, factor: Element | Tensor, upper: bool = False) -> Element:
    factor, b = both(c, factor, b)
    inverted = inverse(c, _triangle(c, factor, upper, False))
    flipped = c.gather(lambda t: t.mT, inverted)
    first, second = (flipped, inverted) if upper else (inverted, flipped)
    return c.matmul(second, c.matmul(first, b))


@rule(aten.cholesky_inverse)
def _cholesky_inverse(c: Arithmetic, factor: Element, upper: bool = False) -> Element:
    return _cholesky_solve(c, _eye(c, factor), factor, upper)
