"""Section 2 on earlier work: what it says of identifiability, held against the statements themselves."""

from __future__ import annotations

import sympy as sp
import torch
from torch import Tensor, nn

from proofs_checks.idealized.reported import TEXT
from proofs_checks.idealized.text import TRAUGER
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Vectors

ALSO_WITHOUT = {  # first and last words of entries of works that exist
    3: ("[3] Jonathan", "Learning Representations"),
    4: ("[4] Charles", "Information Processing Systems"),
    7: ("[7] Chunyuan", "Learning Representations"),
    11: ("[11] Pierre", "Conference on Machine Learning"),
}


class Shallow(nn.Module):
    """One hidden layer with biases, one output: x ↦ f(x W + b) u + c."""

    def __init__(self, inputs: int, hidden: int, activation: str) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(inputs, hidden).double(), nn.Linear(hidden, 1).double()
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        h = self.up(x)
        return self.down(torch.tanh(h) if self.activation == "tanh" else h * h)


def nullity(inputs: int, hidden: int, activation: str) -> int:
    return dimension(Shallow(inputs, hidden, activation), Vectors(1, inputs)).nullity


@checks("bg-1")
def test_sussmann(evidence: EvidenceLog) -> None:
    record_identity(evidence, "tanh_signs", on="condition")
    record_identity(evidence, "hidden_permutation", on="condition")
    sizes = ((1, 2), (2, 3), (3, 4))
    evidence.exact(
        "fibres of tanh networks through random points: (inputs, neurons) " + ", ".join(map(str, sizes)),
        figures={"nullities": equal([nullity(*size, "tanh") for size in sizes], [0] * len(sizes))},
        on="condition",
        cases=len(sizes),
    )
    idle = Shallow(2, 3, "tanh")
    with torch.no_grad():
        idle.down.weight[0, 0] = 0
    evidence.control(
        "a neuron of outgoing weight zero: its incoming weights and bias are free",
        kind="exact",
        figures={"nullity": at_least(dimension(idle, Vectors(1, 2), point="own").nullity, 3)},
    )
    a, w, u, x = sp.symbols("a w u x", positive=True)
    moved = sp.expand((u / a**2) * (a * w * x) ** 2 - u * (w * x) ** 2)
    evidence.exact(
        r"the analytic activation $z^2$",
        nullity(2, 3, "square") == 0,
        counterexample=r"$u\,(wx)^2$ is the same for $(aw, u/a^2)$ with every $a > 0$, an infinite class",
        figures={"difference": str(moved), "nullity (2, 3)": nullity(2, 3, "square")},
    )


@checks("bg-2")
def test_brea(evidence: EvidenceLog) -> None:
    searched = {
        "for which networks": ("activation", "analytic", "ReLU", "tanh", "layers"),
        "what determines the parameters, up to what": ("unique", "uniquely", "determined", "up to", "permutations"),
    }
    sentence = TEXT.between("Brea et al. [2] extended", "while Stock and Gribonval")
    evidence.not_stated(sentence, searched, there="identifiability results")


@checks("bg-3")
def test_affine(evidence: EvidenceLog) -> None:
    p, q, t = sp.symbols("p q t", real=True)
    w, u = sp.symbols("w u", positive=True)
    line = sp.Poly(sp.expand((w + t * p) * (u + t * q) - w * u), t)
    solutions = sp.solve(line.all_coeffs(), [p, q], dict=True)
    if not solutions:
        raise AssertionError("the constant line was to be found at least")
    evidence.proof(
        r"the class of one neuron $x \mapsto u\,\mathrm{ReLU}(wx)$, $w > 0$, $u \ne 0$: $\{wu = c\}$, a line through "
        r"$(w, u)$ in direction $(p, q)$ inside it",
        any(solution.get(p) != 0 or solution.get(q) != 0 for solution in solutions),
        counterexample=r"$(1, 1)$ and $(2, \tfrac12)$ give the same function, their middle $(\tfrac32, \tfrac34)$ "
        r"gives "
        r"$\tfrac98 \mathrm{ReLU}(x)$; $(w+tp)(u+tq) = wu$ for all $t$ needs $pq = 0$ and $pu + qw = 0$, so $p = q = "
        r"0$",
        figures={"product at the middle": str(sp.Rational(3, 2) * sp.Rational(3, 4))},
    )
    record_identity(evidence, "relu_rescaling", on="correction")
    a = sp.Symbol("a", positive=True)
    path = sp.Matrix([a, 1 / a])
    bend = sp.Matrix.hstack(path.diff(a), path.diff(a, 2)).det()
    evidence.proof(
        r"the orbit $a \mapsto (a, 1/a)$ is curved everywhere: $\det(\dot c, \ddot c) = 2/a^3$",
        sp.simplify(bend - 2 / a**3) == 0,
        on="correction",
    )


@checks("bg-5")
def test_missing_work(evidence: EvidenceLog) -> None:
    searched = {
        "an identifier": ("arXiv", "doi", "https", "OpenReview"),
        "pages or a volume": ("pages", "pp", "volume"),
    }
    others = {number: TEXT.between(*ends) for number, ends in ALSO_WITHOUT.items()}
    words = [word for group in searched.values() for word in group]
    without = [number for number, entry in others.items() if not any(entry.count(word) for word in words)]
    evidence.not_stated(
        TRAUGER,
        searched,
        there="International Conference on Learning Representations",
        figures={"other entries without": equal(without, [3, 4, 7, 11])},
    )
