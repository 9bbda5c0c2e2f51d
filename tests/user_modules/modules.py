"""Small modules as users write them, each with its right nullity, or REFUSE where there is no function to measure."""

import torch
import torch.nn.functional as F
from torch import nn

import symgauge

REFUSE = "refuse"
V = symgauge.Vectors


def P(*s):
    return nn.Parameter(torch.randn(s))


class Attention(nn.Module):
    """One causal head, all biases, d = 4: query-key 16, value-output 16, key bias 4, value and output bias 4: 40."""

    def __init__(self, weights):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(4, 4) for _ in range(4))
        self.weights = weights

    def forward(self, x):
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return self.o(self.weights(self.q(x) @ self.k(x).mT / 2.0, past) @ self.v(x))


def soft(s):
    return torch.softmax(s, -1)


class Dense(nn.Module):
    """Any function of named parameters."""

    def __init__(self, shapes, f):
        super().__init__()
        for name, shape in shapes.items():
            setattr(self, name, P(*shape))
        self.f = f

    def forward(self, x):
        return self.f(self, x)


class TimeFirst(nn.Module):
    """(time, batch, width), torch's own default. Read batch-first, the probes of a batch attend to one another."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(4, 4, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).transpose(0, 1) for f in (self.q, self.k, self.v))
        return self.o((torch.softmax(q @ k.mT, -1) @ v).transpose(0, 1))


class Tied(nn.Module):
    """Wᵀ diag(a) W with the second use of W outside the registry: a symmetric 3 × 3 form, rank 6 of 16, nullity 10."""

    def __init__(self):
        super().__init__()
        self.emb, self.a = nn.Linear(3, 4, bias=False), P(4)
        self.aside = [self.emb.weight]

    def forward(self, x):
        return (self.emb(x) * self.a) @ self.aside[0]


class Cached(nn.Module):
    """(x A B) ⊙ s with A B kept from the first call on: 6 + 6 + 3 parameters, rank 8, nullity 7."""

    def __init__(self):
        super().__init__()
        self.A, self.B, self.s, self.kept = P(3, 2), P(2, 3), P(3), None

    def forward(self, x):
        if self.kept is None:
            self.kept = self.A @ self.B
        return (x @ self.kept) * self.s


class OneStorage(nn.Module):
    """WᵀW from two Parameters that share memory: 12 numbers, rank 6, nullity 6."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4, bias=False), nn.Linear(4, 3, bias=False)
        self.b.weight = nn.Parameter(self.a.weight.data.T)

    def forward(self, x):
        return self.b(self.a(x))


class Shared(nn.Module):
    """One layer under two names: nullity 0, and the user's module must be as it was afterwards."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = self.a

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


class Lora(nn.Module):
    """A frozen base with a trained adapter: of the trained numbers GL(2), 4, is free."""

    def __init__(self):
        super().__init__()
        self.base, self.A, self.B = nn.Linear(4, 3, bias=False), P(2, 4), P(3, 2)
        self.base.weight.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + x @ self.A.T @ self.B.T


class TwoHeads(nn.Module):
    """Two outputs: nothing is free when both are looked at."""

    def __init__(self, kind):
        super().__init__()
        self.t, self.a, self.b, self.kind = nn.Linear(3, 3), nn.Linear(3, 2), nn.Linear(3, 4), kind

    def forward(self, x):
        h = torch.tanh(self.t(x))
        a, b = self.a(h), self.b(h)
        return (a, b) if self.kind == "tuple" else {"a": a, "b": b}


class Net(nn.Module):
    """Linear 3-4, an activation, linear 4-2."""

    def __init__(self, f):
        super().__init__()
        self.a, self.b, self.f = nn.Linear(3, 4), nn.Linear(4, 2), f

    def forward(self, x):
        return self.b(self.f(self.a(x)))


class Mha(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.m = nn.MultiheadAttention(4, 2, batch_first=True, **options)

    def forward(self, x):
        return self.m(x, x, x, need_weights=False)[0]


class Sdpa(nn.Module):
    """Six query heads on two key-value heads of two channels, d = 5: 2·4 + 2·4."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = P(5, 12), P(5, 4), P(5, 4), P(12, 5)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = ((x @ w).reshape(b, t, -1, 2).transpose(1, 2) for w in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return y.transpose(1, 2).reshape(b, t, 12) @ self.o


class Cosine(nn.Module):
    """Queries and keys normalised in three channels, no biases, d = 4: O(3) 3, two lengths, value-output 9."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (P(4, 3) for _ in range(4))

    def forward(self, x):
        q, k = (F.normalize(x @ w, dim=-1) for w in (self.q, self.k))
        return torch.softmax(q @ k.mT, -1) @ (x @ self.v) @ self.o.T


class Jump(nn.Module):
    """h·(h > threshold): thresholds move where the function jumps, so they count; the four rescalings are free."""

    def __init__(self):
        super().__init__()
        self.e, self.t, self.d = nn.Linear(2, 4), nn.Parameter(torch.rand(4)), nn.Linear(4, 2)

    def forward(self, x):
        h = self.e(x)
        return self.d(h * (h > self.t))


def zero(f):
    """u·x + (an identity in w)·(v·x²): the factor vanishes, so v and w are free: 3 of 5."""
    return Dense(
        {"u": (2,), "v": (2,), "w": ()},
        lambda m, x: (x * m.u).sum(-1, keepdim=True) + f(m.w) * (x * x * m.v).sum(-1, keepdim=True),
    )


def neg_inf(s, past):
    return soft(s.masked_fill(~past, float("-inf")))


CASES = {
    # finite masks hide the future exactly in float64, as −∞ does
    "mask-inf": (lambda: Attention(neg_inf), V(3, 4), 40),
    "mask-1e9": (lambda: Attention(lambda s, past: soft(s.masked_fill(~past, -1e9))), V(3, 4), 40),
    "mask-gpt2": (lambda: Attention(lambda s, past: soft(s * past.double() - 1e10 * (1 - past.double()))), V(3, 4), 40),
    # softmax written in other ways
    "exp-log-softmax": (lambda: Attention(lambda s, past: F.log_softmax(s, -1).exp()), V(3, 4), 40),
    "exp-minus-lse": (lambda: Attention(lambda s, past: (s - s.exp().sum(-1, keepdim=True).log()).exp()), V(3, 4), 40),
    "torch-logsumexp": (
        lambda: Attention(lambda s, past: (s - torch.logsumexp(s, -1, keepdim=True)).exp()),
        V(3, 4),
        40,
    ),
    # identities between transcendental functions
    "log-exp": (lambda: zero(lambda w: w.exp().log() - w), V(1, 2), 3),
    "exp-log": (lambda: zero(lambda w: (w * w + 1).log().exp() - (w * w + 1)), V(1, 2), 3),
    "exp-double": (lambda: zero(lambda w: (2 * w).exp() - w.exp() ** 2), V(1, 2), (3, REFUSE)),
    "exp-offset": (
        lambda: zero(lambda w: (w + 1).exp() - w.exp() * torch.ones((), dtype=torch.float64).exp()),
        V(1, 2),
        (3, REFUSE),
    ),
    "tanh-sigmoid": (lambda: zero(lambda w: w.tanh() - (2 * (2 * w).sigmoid() - 1)), V(1, 2), 3),
    "softplus-pair": (lambda: zero(lambda w: F.softplus(w) - F.softplus(-w) - w), V(1, 2), (3, REFUSE)),
    "double-angle": (lambda: zero(lambda w: (2 * w).sin() - 2 * w.sin() * w.cos()), V(1, 2), (3, REFUSE)),
    "root-of-square": (lambda: zero(lambda w: (w * w).sqrt() - w.abs()), V(1, 2), (3, REFUSE)),
    "root-product": (
        lambda: zero(lambda w: (w * w + 1).sqrt() * (w * w + 2).sqrt() - ((w * w + 1) * (w * w + 2)).sqrt()),
        V(1, 2),
        (3, REFUSE),
    ),
    "no-identity": (lambda: zero(lambda w: w.sin() ** 2 + w.cos() - 1), V(1, 2), 1),  # v against the factor
    # what leaves the engine's sight
    "item": (
        lambda: Dense({"a": (), "w": (2, 3)}, lambda m, x: torch.tanh(x @ m.w.T) * m.a.item()),
        V(1, 3),
        (0, REFUSE),
    ),
    "float": (
        lambda: Dense({"a": (), "w": (2, 3)}, lambda m, x: torch.tanh(x @ m.w.T) * float(m.a)),
        V(1, 3),
        (0, REFUSE),
    ),
    "outside-the-registry": (Tied, V(1, 3), (10, REFUSE)),
    "cached": (Cached, V(1, 3), (7, REFUSE)),
    "one-storage": (OneStorage, V(1, 3), (6, REFUSE)),
    "shared-submodule": (Shared, V(1, 3), 0),
    # no function of one sequence
    "time-first": (TimeFirst, V(4, 4), REFUSE),
    "noise": (lambda: Net(lambda h: torch.tanh(h) + torch.randn(h.shape)), V(1, 3), REFUSE),
    "depth-by-chance": (
        lambda: Net(lambda h: torch.tanh(h) if torch.rand(()) > 0.5 else 2 * torch.tanh(h)),
        V(1, 3),
        REFUSE,
    ),
    # what counts as parameter and as output
    "frozen-base": (Lora, V(1, 4), 4),
    "two-outputs": (lambda: TwoHeads("tuple"), V(1, 3), 0),
    "dict-of-outputs": (lambda: TwoHeads("dict"), V(1, 3), 0),
    "loss": (lambda: Dense({"w": (3, 2)}, lambda m, x: (x @ m.w).pow(2).mean()), V(1, 3), REFUSE),
    # torch's own parts
    "mha": (Mha, V(4, 4), 24),
    "mha-no-bias": (lambda: Mha(bias=False), V(4, 4), 16),
    "sdpa-gqa": (Sdpa, V(4, 5), 16),
    "relu-in-place": (lambda: Net(nn.ReLU(inplace=True)), V(1, 3), 4),
    "elu": (lambda: Net(nn.ELU()), V(1, 3), 0),
    "cosine-attention": (Cosine, V(4, 4), 14),
    "weight-norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2, bias=False)), V(1, 3), 2),
    "conv1d": (lambda: Dense({"w": (4, 4, 3)}, lambda m, x: F.conv1d(x.mT, m.w, padding=1).mT), V(5, 4), 0),
    "stack-of-scalars": (
        lambda: Dense(
            {"a": (), "b": (), "w": (2, 2)},
            lambda m, x: torch.softmax(torch.stack([m.a, m.b]), 0)[0] * torch.tanh(x @ m.w),
        ),
        V(1, 2),
        1,
    ),
    # pieces
    "dead-unless-far": (
        lambda: Dense({"a": (), "b": ()}, lambda m, x: torch.relu(m.a * x - 100) + m.b * x),
        V(1, 1),
        (0, REFUSE),
    ),
    "jump-relu": (Jump, V(1, 2), (4, REFUSE)),
    "root-of-abs": (lambda: Dense({"w": (), "b": ()}, lambda m, x: m.w.abs() ** 0.5 * x + m.b), V(1, 1), 0),
    "three-constant-outputs": (
        lambda: Dense(
            {"w": (2, 3)},
            lambda m, x: torch.cat([torch.ones_like(x), torch.ones_like(x[..., :1]), torch.tanh(x @ m.w)], -1),
        ),
        V(1, 2),
        0,
    ),
}
