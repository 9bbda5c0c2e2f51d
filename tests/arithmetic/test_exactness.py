"""Identities that must hold residue by residue, derivatives included: a rounded constant anywhere would break them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import symgauge.arithmetic.rules  # noqa: F401
from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.arithmetic.traced_value import Calculus
from symgauge.arithmetic.wrapper_tensor import WrapperTensor, wrap
from tests.arithmetic.cases.inputs import CONSTANT, planes, seeded, square, symmetric, volume
from tests.arithmetic.derivatives import both_ways

X = torch.linspace(0.4, 3.1, 24, dtype=torch.float64).sin().reshape(2, 3, 4) * 1.7 + 0.05
KERNEL = seeded((3, 3, 2))


def interpolated(x: Tensor, **options: object) -> Tensor:
    """What an interpolation adds to an image that is the same everywhere: nothing."""
    constant = x[:, :1, :1].unsqueeze(-1).expand(2, 1, 3, 4)
    return F.interpolate(constant, (7, 5), **options) - x[:, :1, :1, None]  # type: ignore[arg-type]


def solved(x: Tensor) -> Tensor:
    return square(x) @ torch.linalg.solve(square(x), x) - x


def triangle(x: Tensor) -> Tensor:
    return square(x).tril() @ torch.linalg.solve_triangular(square(x), x, upper=False) - x


def factored(x: Tensor) -> Tensor:
    factor = torch.linalg.cholesky(symmetric(x))
    return factor @ factor.mT - symmetric(x)


def as_products(x: Tensor) -> Tensor:
    weight = seeded((4, 3, 3)) * x.sum()
    unfolded = weight.reshape(4, -1) @ F.pad(x, (1, 1)).unfold(2, 3, 1).permute(0, 1, 3, 2).flatten(1, 2)
    return F.conv1d(x, weight, padding=1) - unfolded


def adjoint(x: Tensor) -> Tensor:
    """A transposed convolution is the transpose of the convolution."""
    y, options = CONSTANT[:, :2, :2], {"stride": 2, "padding": 1, "dilation": 1}
    weight = seeded((2, 3, 3)) * x.sum()
    there = (F.conv1d(x, weight, **options) * y).sum()  # type: ignore[arg-type]
    return there - (F.conv_transpose1d(y, weight, output_padding=1, **options) * x).sum()  # type: ignore[arg-type]


ZERO: dict[str, Callable[[Tensor], Tensor]] = {
    "layer norm has mean 0": lambda x: F.layer_norm(x, (4,)).sum(-1),
    "group norm has mean 0": lambda x: F.group_norm(x.reshape(2, 4, 3), 2).reshape(2, 2, 6).mean(-1),
    "instance norm has mean 0": lambda x: F.instance_norm(x).sum(-1),
    "variance and mean": lambda x: (x * x).mean(1) - torch.var_mean(x, 1, correction=0)[0] - x.mean(1) ** 2,
    "softmax sums to 1": lambda x: torch.softmax(x, -1).sum(-1) - 1,
    "unit length": lambda x: (F.normalize(x, dim=-1) ** 2).sum(-1) - 1,
    "length is homogeneous": lambda x: torch.linalg.vector_norm(3 * x, dim=-1) ** 2 - 9 * (x * x).sum(-1),
    "weight norm forgets the length": lambda x: (
        torch._weight_norm(x, x[:, :1, :1], 0) - torch._weight_norm(x * 9, x[:, :1, :1], 0)
    ),
    "convolution is linear": lambda x: F.conv1d(x + x * x, KERNEL) - F.conv1d(x, KERNEL) - F.conv1d(x * x, KERNEL),
    "convolution is a product": as_products,
    "transposed convolution": adjoint,
    "depthwise": lambda x: (
        F.conv1d(x, KERNEL[:, :1] * x.sum(), groups=3)[:, 1] - F.conv1d(x[:, 1:2], KERNEL[1:2, :1] * x.sum())[:, 0]
    ),
    "bilinear weights": lambda x: interpolated(x, mode="bilinear"),
    "bilinear weights at corners": lambda x: interpolated(x, mode="bilinear", align_corners=True),
    "bicubic weights": lambda x: interpolated(x, mode="bicubic"),
    "thirds": lambda x: 3 * F.interpolate(x, 12, mode="linear")[..., 4] - (2 * x[..., 1] + x[..., 1]),
    "average pooling": lambda x: 6 * F.avg_pool2d(planes(x), (3, 2))[..., 0, 0] - planes(x).sum((2, 3)),
    "adaptive pooling": lambda x: 12 * F.adaptive_avg_pool3d(volume(x), 1).flatten(1) - volume(x).sum((2, 3, 4)),
    "solve": solved,
    "triangular solve": triangle,
    "inverse": lambda x: torch.linalg.inv(square(x)) @ square(x) - torch.eye(3),
    "determinant": lambda x: torch.linalg.det(square(x)) * torch.linalg.det(torch.linalg.inv(square(x))) - 1,
    "determinant of a product": lambda x: torch.linalg.det(square(x)) ** 2 - torch.linalg.det(square(x) @ square(x)),
    "cholesky": factored,
    "circle": lambda x: x.cos() ** 2 + x.sin() ** 2 - 1,
    "hyperbola": lambda x: x.cosh() ** 2 - x.sinh() ** 2 - 1,
    "tangents": lambda x: torch.tanh(x) * x.cosh() - x.sinh() + torch.tan(x) * x.cos() - x.sin(),
    "odd": lambda x: torch.atan(-x) + torch.atan(x) + torch.asinh(-x) + torch.asinh(x) + torch.asin(x) + torch.asin(-x),
    "exponentials": lambda x: torch.expm1(x) - x.exp() + 1 + F.elu(-x.abs()) - torch.expm1(-x.abs()),
    "one exponential": lambda x: F.softplus(x) - torch.log(1 + x.exp()) + F.logsigmoid(x) + F.softplus(-x),
    "mish": lambda x: F.mish(x) * ((1 + x.exp()) ** 2 + 1) - x * ((1 + x.exp()) ** 2 - 1),
    "logsumexp": lambda x: torch.logsumexp(x, -1) - x.exp().sum(-1).log(),
    "masked logsumexp": lambda x: (
        torch.logsumexp(torch.cat([x[0, 0, :2], x[0, 0, 2:] - 1e9]), -1) - x[0, 0, :2].exp().sum(-1).log()
    ),
    "one by one": lambda x: torch.logaddexp(x, x * x) - torch.log(x.exp() + (x * x).exp()),
    "quarter powers": lambda x: ((x * x + 1) ** 0.25) ** 4 - (x * x + 1) + ((x * x) ** 1.5) ** 2 - x**6,
    "powers of a parameter": lambda x: x ** torch.tensor([0, 1, 2, 5]) * x ** torch.tensor([3, 2, 1, -2]) - x**3,
    "sums of logarithms": lambda x: (x * x + 1).log().sum((1, 2)).exp() - (x * x + 1).prod(1).prod(1),
    "running sums of logarithms": lambda x: (x * x + 1).log().cumsum(1).exp() - (x * x + 1).cumprod(1),
    "products": lambda x: x.prod(1) - x.cumprod(1)[:, -1],
    "gates": lambda x: F.glu(x, -1) - x[..., :2] * torch.sigmoid(x[..., 2:]),
    "hard gates": lambda x: 6 * F.hardswish(x) - x * F.relu6(x + 3),
    "complex numbers turn": lambda x: torch.polar(x, x * 2).abs() ** 2 - x * x,
    "complex powers": lambda x: (torch.complex(x, x * x) ** 2).real - x * x + x**4,
    "complex products": lambda x: ((torch.complex(x, x * x) * (0.3 - 1.7j)) / (0.3 - 1.7j)).imag - x * x,
    "scatter": lambda x: (
        x.scatter_reduce(1, torch.zeros(2, 3, 4, dtype=torch.long), x, "mean", include_self=False)[:, 0] - x.mean(1)
    ),
    "grouped attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], torch.ones_like(x[None])) - 1,
}


@pytest.mark.parametrize("name", ZERO)
@pytest.mark.parametrize("p", DEFAULT_PRIMES)
def test_it_is_zero_modulo_a_prime(name: str, p: int) -> None:
    field = FiniteField(p, seed=3)
    calculus = Calculus(field)
    x = calculus.variable(X.clone())
    with torch.no_grad():
        result = ZERO[name](wrap(x, calculus))
    assert isinstance(result, WrapperTensor)
    element = result.element
    clean = torch.ones(element.shape, dtype=torch.bool) if element.undefined is None else ~element.undefined
    assert bool(clean.any())
    assert bool(field.is_zero(element.value).expand(element.shape)[clean].all())
    assert element.node is not None
    for derivative in both_ways(x, element, field):
        assert bool(field.is_zero(derivative)[clean.flatten()].all())


def test_a_singular_matrix_is_thrown_away() -> None:
    calculus = Calculus(FiniteField(DEFAULT_PRIMES[0]))
    with torch.no_grad():
        x = wrap(calculus.variable(X[0, :2, :2].clone()), calculus)
        inverse = torch.linalg.inv(torch.stack([x[:1].expand(2, 2), x]))
    assert isinstance(inverse, WrapperTensor)
    assert inverse.element.undefined is not None
    assert bool(inverse.element.undefined[0].all())
    assert not bool(inverse.element.undefined[1].any())


@pytest.mark.parametrize(("function", "ends"), [(torch.tanh, (-1, 1)), (torch.sigmoid, (0, 1))])
def test_what_float64_rounds_to_its_bound_is_the_bound(
    function: Callable[[Tensor], Tensor], ends: tuple[int, int]
) -> None:
    field = FiniteField(DEFAULT_PRIMES[0])
    calculus = Calculus(field)
    with torch.no_grad():
        y = function(wrap(calculus.lift(torch.tensor([-1e3, 1e3], dtype=torch.float64)), calculus))
    assert isinstance(y, WrapperTensor)
    assert (y.element.value.re - torch.tensor(ends)).remainder(field.p).tolist() == [0, 0]
