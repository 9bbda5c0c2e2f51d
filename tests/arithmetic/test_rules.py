"""Every rule against PyTorch's own values and derivatives, and the structural ones also over a finite field.

The rule table runs over the real numbers (:class:`RealField`), where values and Jacobians must equal those that torch
computes by itself in float64. Adding a rule without a case here fails the last test.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import symgauge.arithmetic.rules  # noqa: F401
from symgauge.arithmetic import complex_pairs, decompositions
from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.multiprecision import Multiprecision
from symgauge.arithmetic.traced_value import Calculus
from symgauge.arithmetic.wrapper_tensor import _RULES, wrap
from symgauge.errors import UnsupportedOperation
from tests.arithmetic import cases
from tests.arithmetic.cases.inputs import ROW
from tests.arithmetic.derivatives import both_ways
from tests.arithmetic.real_field import RealField

Case = Callable[[Tensor], Tensor]
X = torch.linspace(0.3, 2.9, 24, dtype=torch.float64).sin().reshape(2, 3, 4) * 2.1 + 0.05
POSITIVE = X.abs() + 0.4
INDEX = torch.tensor([2, 0, 2])
MASK = torch.tensor([[True, False, True, True], [False, True, True, False], [True, True, True, False]])


def in_place(write: Callable[[Tensor], object]) -> Case:
    def run(x: Tensor) -> Tensor:
        y = x * 1
        write(y)
        return y * x

    return run


def _masked_scores(x: Tensor) -> Tensor:
    return torch.softmax((x @ x.mT).masked_fill(~MASK[:, :3], -math.inf), -1) @ x


def _zeros_then_add(x: Tensor) -> Tensor:
    return torch.zeros_like(x).index_add_(1, INDEX, x * x)


CASES: dict[str, Case] = {
    "view": lambda x: x.view(6, 4) ** 2,
    "reshape of transpose": lambda x: x.transpose(0, 1).reshape(3, 8) * 2,
    "permute": lambda x: x.permute(2, 0, 1) * x.permute(2, 0, 1),
    "t": lambda x: x[0].t() @ x[0],
    "expand": lambda x: x[:, :1].expand(2, 3, 4) * x,
    "slice": lambda x: x[:, 1:, ::2] ** 2,
    "select": lambda x: x[:, 1] * x[:, 0],
    "unsqueeze squeeze": lambda x: (x.unsqueeze(1) * x.unsqueeze(2)).sum(1).unsqueeze(0).squeeze(0),
    "squeeze all": lambda x: x[:1].squeeze() * 3,
    "split": lambda x: torch.split(x, [1, 3], -1)[1] * torch.split(x, 2, 1)[0][..., :3].sum(1, keepdim=True),
    "chunk": lambda x: x.chunk(2, -1)[0] * x.chunk(2, -1)[1],
    "tensor_split": lambda x: torch.tensor_split(x, 2, -1)[1] * 2,
    "unbind": lambda x: x.unbind(1)[2] * x.unbind(1)[0],
    "cat": lambda x: torch.cat([x, x[:, :1] * 2, torch.ones(2, 1, 4, dtype=torch.float64)], 1) ** 2,
    "stack": lambda x: torch.stack([x, x * x], -1),
    "clone contiguous": lambda x: x.mT.contiguous().clone() * 2,
    "detach": lambda x: x.detach() * x,
    "flip roll": lambda x: x.flip(1) * x.roll(1, -1),
    "repeat": lambda x: x.repeat(2, 1, 1) ** 2,
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1) ** 2,
    "tril triu": lambda x: x.tril() + 2 * x.triu(1),
    "diagonal": lambda x: torch.diagonal(x, dim1=1, dim2=2) ** 2,
    "unfold": lambda x: x.unfold(2, 2, 1) * 2,
    "pad": lambda x: F.pad(x, (1, 0, 0, 2)) + F.pad(x, (1, 0, 0, 2), value=1.5),
    "cast": lambda x: x.to(torch.float64, copy=True) * x,
    "index_select": lambda x: x.index_select(1, INDEX) ** 2,
    "add sub alpha": lambda x: torch.add(x, x * x, alpha=3) - torch.sub(1.5, x, alpha=2) + (2 - x),
    "broadcast": lambda x: x[0] + x * x[:, :1] - x[:, :, :1],
    "neg mul div": lambda x: -x * x / (x * x + 1) / 3 * 0.7 + 1 / (x * x + 2),
    "in-place arithmetic": in_place(lambda y: y.add_(1).mul_(2).sub_(y * 3).div_(1.7)),
    "reciprocal": lambda x: (x * x + 1).reciprocal(),
    "addcmul lerp": lambda x: torch.addcmul(x, x, x, value=0.5) + torch.lerp(x, x * x, 0.3),
    "mm": lambda x: x[0] @ x[1].mT,
    "bmm": lambda x: x @ x.mT,
    "matmul by a constant": lambda x: x @ POSITIVE.mT[0],
    "addmm": lambda x: torch.addmm(x[0, :, :3], x[0], x[1].mT, beta=0.5, alpha=2),
    "baddbmm": lambda x: torch.baddbmm(x @ x.mT, x, x.mT, beta=0.5, alpha=2),
    "mv dot": lambda x: x[0] @ x[1, 0] + torch.dot(x[0, 0], x[1, 1]),
    "linear": lambda x: F.linear(x, x[0], x[1, :, 0]),
    "sum": lambda x: x.sum() * x.sum(1, keepdim=True) + x.sum((0, 2), keepdim=True),
    "mean var": lambda x: x.mean(-1, keepdim=True) * x.var(1, keepdim=True) + x.var(-1, correction=0, keepdim=True),
    "mean of all": lambda x: x.mean() * x,
    "cumsum": lambda x: x.cumsum(1) * x + x[0, 0].cumsum(0),
    "of one number": lambda x: (
        x.sum().cumsum(0) * x
        + (x.mean() * 2).softmax(0) * x.mean().log_softmax(-1)
        + x.mean().amax(0) * x[0, 0, 0].amax()
    ),
    "pow": lambda x: x.pow(3) + x**2 + (x * x + 1).pow(-2) + (x * x + 1) ** 0.5 + (x * x + 1) ** -0.5,
    "sqrt rsqrt": lambda x: (x * x + 1).sqrt() * (x * x + 2).rsqrt(),
    "exp log": lambda x: x.exp() * (x * x + 0.5).log(),
    "erf tanh sigmoid": lambda x: torch.erf(x) + torch.tanh(x) * torch.sigmoid(x),
    "cos sin": lambda x: torch.cos(x) * torch.sin(2 * x),
    "silu gelu": lambda x: F.silu(x) + F.gelu(x) + F.gelu(x, approximate="tanh"),
    "softplus": lambda x: F.softplus(x, beta=1.3),
    "relu leaky abs": lambda x: F.relu(x) + F.leaky_relu(x, 0.2) * x.abs(),
    "clamp": lambda x: x.clamp(-0.5, 0.9) + x.clamp_min(0.1) * x.clamp_max(0.2),
    "softmax": lambda x: torch.softmax(x, 1) + torch.log_softmax(x, -1),
    "masked softmax": _masked_scores,
    "attention": lambda x: F.scaled_dot_product_attention(x, x * 2, x, attn_mask=MASK[:, :3]),
    "layer_norm": lambda x: F.layer_norm(x, (4,), x[0, 0], x[1, 1], 0.1) + F.layer_norm(x, (3, 4)),
    "rms_norm": lambda x: F.rms_norm(x, (4,), x[0, 0], 0.1) + F.rms_norm(x, (4,)),
    "dropout off": lambda x: F.dropout(x, 0.5, training=False) + torch.native_dropout(x, 0.5, False)[0],
    "embedding": lambda x: F.embedding(INDEX, x[0]) ** 2,
    "index": lambda x: x[:, INDEX] ** 2,
    "index by mask": lambda x: x[0][MASK] ** 2,
    "index two": lambda x: x[INDEX % 2, INDEX] * 2,
    "gather": lambda x: torch.gather(x, 1, INDEX[None, :, None].expand(2, 3, 4)) ** 2,
    "index_put": lambda x: torch.index_put(x, (INDEX % 2, INDEX), x[0] * 2, accumulate=True),
    "index_put in place": in_place(lambda y: y.__setitem__((slice(None), torch.tensor([1])), y[:, 2:] * 3)),
    "index_add": _zeros_then_add,
    "index_add out of place": lambda x: x.index_add(1, INDEX, x * x, alpha=2),
    "scatter": lambda x: torch.scatter(x, 1, INDEX[None, :2, None].expand(2, 2, 4), x[:, 1:] * 2),
    "scatter a number": lambda x: torch.scatter(x, 1, INDEX[None, :1, None].expand(2, 1, 4), 3.0),
    "scatter in place": in_place(lambda y: y.scatter_(1, INDEX[None, :2, None].expand(2, 2, 4), y[:, 1:] * 2)),
    "where": lambda x: torch.where(MASK, x, x * x) + torch.where(x > 0.5, 1.0, x),
    "masked_fill": lambda x: x.masked_fill(MASK, 2.0) * x,
    "masked_fill in place": in_place(lambda y: y.masked_fill_(MASK, 2.0)),
    "copy into a slice": in_place(lambda y: y[:, 1:].copy_(y[:, :2] * 2)),
    "fill a slice": in_place(lambda y: (y[:, 0].zero_(), y[..., 3].fill_(1.5))),
    "topk sort": lambda x: torch.topk(x, 2, -1).values * torch.sort(x, -1, descending=True).values[..., :2],
    "max min": lambda x: x.max(-1).values * x.min(1, keepdim=True).values[..., 0] + x.max() - x.min(),
    "amax": lambda x: x.amax((1, 2), keepdim=True) * x,
    "maximum minimum": lambda x: torch.maximum(x, x * x) + torch.minimum(x, 0.3 * x * x),
    "comparisons": lambda x: x * ((x > 0.1) & (x >= 0.2) | (x < -1) | (x <= -1.1) | (x == 7) | (x != 8)),
    "signs": lambda x: x * x.sign() * torch.logical_not(x > 0) * torch.isfinite(x) * ~(torch.isnan(x) | torch.isinf(x)),
    "decisions": lambda x: x * x.argmax(-1, keepdim=True) * x.argmin() * x.argsort(-1) * bool((x > 0).any()),
    "casts to integers": lambda x: x * x.bool() + x * x.long(),
    "nonzero": lambda x: x.reshape(-1)[torch.nonzero(x.reshape(-1) > 0).flatten()] ** 2,
    "item": lambda x: x * float(torch.ones_like(x)[0, 0, 0].item() + 1),
    "equal any all": lambda x: x * (torch.equal(x, x) and bool(x.any()) and bool(x.all())),
    "logic": lambda x: x * torch.logical_and(x, x > 0) * torch.logical_or(x, x > 0),
    "likenesses": lambda x: x * (torch.ones_like(x) + torch.zeros_like(x) + torch.full_like(x, 2.5)),
    "new": lambda x: x * (x.new_ones(4) + x.new_zeros(4) + x.new_full((4,), 0.5)) + torch.empty_like(x) * 0,
    "new empty": lambda x: x.new_empty(4).fill_(2.0) * x,
    "lift uninterpreted": lambda x: x + torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64),
    "inverse at the identity": lambda x: torch.linalg.inv(torch.eye(3, dtype=torch.float64) + (x @ x.mT) * 0),
}
NOT_DIFFERENTIABLE = {"detach": 1}


assert not CASES.keys() & cases.CASES.keys()
CASES |= cases.CASES
COARSE = {"hard"}  # torch multiplies by 1/6 in single precision in these derivatives


def jacobian(case: Case, x: Tensor) -> Tensor:
    """d(output)/dx by torch's own autograd, (output entries, input entries)."""
    if not case(x.clone().requires_grad_()).requires_grad:
        return torch.zeros(case(x).numel(), x.numel(), dtype=torch.float64)
    return torch.autograd.functional.jacobian(case, x.clone()).reshape(-1, x.numel())


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivative_agree_with_torch(name: str) -> None:
    case = CASES[name]
    calculus = Calculus(RealField())
    x = calculus.variable(X.clone())
    with torch.no_grad():
        result = case(wrap(x, calculus))
    expected = case(X.clone())
    assert tuple(result.shape) == tuple(expected.shape)
    torch.testing.assert_close(result.element.reference, expected, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(result.element.value.re.expand(expected.shape), expected, rtol=1e-12, atol=1e-13)
    if name in NOT_DIFFERENTIABLE:  # torch stops the gradient there on purpose; in exact arithmetic x is x
        return
    wanted = jacobian(case, X)
    tolerance = 1e-7 if name in COARSE else 1e-11
    for got in both_ways(x, result.element, calculus.field):
        torch.testing.assert_close(got.re, wanted, rtol=tolerance, atol=tolerance / 10)


POLYNOMIAL = [
    "view", "permute", "t", "expand", "slice", "split", "cat", "stack", "tril triu", "pad", "bmm", "addmm", "sum",
    "cumsum", "embedding", "gather", "index_put", "index_add", "scatter", "copy into a slice", "masked_fill", "linear",
]  # fmt: skip


@pytest.mark.parametrize("name", POLYNOMIAL)
def test_polynomial_rules_are_exact_modulo_a_prime(name: str) -> None:
    """Integers small enough for float64 give the same value and Jacobian, residue by residue."""
    case, x = CASES[name], torch.arange(-11.0, 13.0, dtype=torch.float64).reshape(2, 3, 4)
    field = FiniteField(2147483579)
    calculus = Calculus(field)
    variable = calculus.variable(x.clone())
    with torch.no_grad():
        result = case(wrap(variable, calculus))
    value = case(x.clone())
    assert torch.equal(result.element.value.re.expand(value.shape), field.lift(value).re)
    for got in both_ways(variable, result.element, field):
        assert torch.equal(got.re, field.lift(jacobian(case, x)).re)


def test_the_same_rules_run_with_thirty_digits() -> None:
    for name, case in CASES.items():
        digits = Multiprecision(30)
        with torch.no_grad():
            got = digits.nearest(case(digits.carry(X.clone())))
        torch.testing.assert_close(
            got, case(X.clone()), rtol=1e-11, atol=1e-12, msg=lambda m, name=name: f"{name}: {m}"
        )  # type: ignore[misc]


@pytest.fixture(scope="module")
def used() -> set[object]:
    """Rules, and names of operations that were decomposed, over all cases."""
    seen: set[object] = set()
    find = decompositions.find

    def recording(function: Callable[..., object], mark: object) -> Callable[..., object]:
        def run(*args: object, **kwargs: object) -> object:
            seen.add(mark)
            return function(*args, **kwargs)

        return run

    def recording_find(func: object) -> object:
        seen.add(func._schema.name.removeprefix("aten::"))  # type: ignore[attr-defined]
        return find(func)

    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(decompositions, "find", recording_find)
        for operation, function in list(_RULES.items()):
            patch.setitem(_RULES, operation, recording(function, function))
        for operation, function in list(complex_pairs._FUNCTIONS.items()):
            patch.setitem(complex_pairs._FUNCTIONS, operation, recording(function, operation))
        for case in CASES.values():
            calculus = Calculus(RealField())
            case(wrap(calculus.variable(X.clone()), calculus))
    return seen


def test_every_rule_has_a_case(used: set[object]) -> None:
    library = {op: f for op, f in _RULES.items() if (f.__module__ or "").startswith("symgauge.")}
    never_of_floats = {torch.ops.aten.bitwise_not}
    missing = sorted(str(op) for op, f in library.items() if f not in used and op not in never_of_floats)
    assert not missing, f"rules without a test case: {missing}"


def test_every_decomposition_has_a_case(used: set[object]) -> None:
    own = {str(op).removeprefix("aten.").split(".")[0] for op in decompositions._OWN}
    assert not (missing := sorted((decompositions.TRUSTED | own) - used)), f"decompositions without a case: {missing}"


def test_every_function_of_complex_tensors_has_a_case(used: set[object]) -> None:
    missing = sorted(str(op) for op in complex_pairs._FUNCTIONS if op not in used)
    assert not missing, f"complex functions without a test case: {missing}"


def test_an_operation_without_a_rule_is_refused_by_name_and_module() -> None:
    class Odd(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.Linear(2, 2), Bessel())

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x)

    class Bessel(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.special.bessel_j0(x)

    from symgauge.exact.dimension import dimension
    from symgauge.exact.probes import Vectors

    with pytest.raises(UnsupportedOperation, match=r"special_bessel_j0.*'inner\.1: Bessel'.*symgauge\.rule"):
        dimension(Odd(), Vectors(1, 2))


@pytest.mark.parametrize(
    "write",
    [
        lambda y, x: y.add_(x),
        lambda y, x: y.copy_(x),
        lambda y, x: y.fill_(x[0, 0, 0]),
        lambda y, x: torch.ops.aten.rrelu_with_noise.out(x, y, out=y),
    ],
    ids=["by a decomposition", "by a copy", "by one number", "in two arguments"],
)
def test_writing_an_exact_value_into_an_ordinary_tensor_is_refused(write: Callable[[Tensor, Tensor], object]) -> None:
    calculus = Calculus(RealField())
    x = wrap(calculus.variable(X.clone()), calculus)
    with pytest.raises(UnsupportedOperation, match="ordinary tensor"), torch.no_grad():
        write(torch.zeros(2, 3, 4, dtype=torch.float64), x)


REFUSED: dict[str, tuple[Case, str]] = {
    "a random operation": (lambda x: x + torch.rand_like(x), "rand_like draws random numbers"),
    "active dropout": (lambda x: F.dropout(x, 0.5), "bernoulli draws random numbers.*eval"),
    "random in place": (lambda x: (x * 1).exponential_(), "exponential draws random numbers"),
    "random slopes": (lambda x: F.rrelu(x, training=True), "random slopes in training"),
    "statistics in training": (
        lambda x: F.batch_norm(x, torch.zeros(3).double(), torch.ones(3).double(), training=True),
        "writes its statistics: call module.eval",
    ),
    "a result given away": (lambda x: torch.exp(x, out=x * 1), "exp writes its result into out="),
    "out of a decomposition": (
        lambda x: torch.addmv(x[0, :, 0], x[0], x[1, 0], out=x[0, :, 0] * 1),
        "addmv writes.*out=",
    ),
    "another shape in place": (lambda x: (x[..., :3] * 1).transpose_(0, 1).resize_(2), "resize"),
    "singular vectors": (lambda x: torch.linalg.svd(x)[0], "_linalg_svd is not exact.*irrational"),
    "eigenvectors": (lambda x: torch.linalg.eigh(x @ x.mT)[1], "_linalg_eigh is not exact"),
    "a matrix exponential": (lambda x: torch.matrix_exp(x @ x.mT), "linalg_matrix_exp is not exact.*Cayley"),
    "Fourier": (lambda x: torch.fft.rfft(x).abs(), "_fft_r2c is not exact.*roots of unity"),
    "max_norm": (lambda x: F.embedding(ROW, x[0], max_norm=1.0), "max_norm rewrites its weights"),
    "complex sine": (lambda x: torch.sin(x + 1j).abs(), "no exact rule for aten.sin.default of complex tensors"),
    "a view that others see": (lambda x: _squeezed_under_a_view(x), "changes a tensor's shape in place"),
}


def _squeezed_under_a_view(x: Tensor) -> Tensor:
    y = (x * 1)[:, :1]
    z = y[0]
    y.squeeze_(1)
    return y + z


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_exact_value_is_refused_in_a_sentence(name: str) -> None:
    case, sentence = REFUSED[name]
    calculus = Calculus(RealField())
    with pytest.raises(UnsupportedOperation, match=sentence), torch.no_grad():
        case(wrap(calculus.variable(X.clone()), calculus))
