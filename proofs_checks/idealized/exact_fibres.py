"""Exact fibres of the idealized model on three kinds of inputs, against the formula of ``dimension_formulas``.

tokens: all |V|^T words. real: vectors of length |V| in place of one-hot rows, times the embedding. pinned: vectors of
width d in place of the embedding, which is no parameter then. The output is read at the last position.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from torch import Tensor, nn

from proofs_checks.idealized import dimension_formulas as formulas
from proofs_checks.idealized.model import IdealizedModel, architecture
from symgauge.accounting import account
from symgauge.architecture import Architecture
from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.exact.dimension import dimension
from symgauge.exact.point import random_point
from symgauge.exact.probes import Inputs, Tokens, Vectors
from symgauge.exact.rank import Echelon
from symgauge.generators import generators
from symgauge.model_graph import graph_of
from symgauge.models.reference import forward, reference_layout
from symgauge.subjects import Subject
from symgauge.symmetries import families

Kind = Literal["tokens", "real", "pinned"]
TABLE, HEAD = "token_table", "unembedding.weight"


@dataclass(frozen=True)
class Case:
    """Sizes, inputs, and a seed whose point and probes lie where no ReLU neuron is short of inputs (see `Measured`)."""

    d: int
    heads: int
    layers: int
    vocabulary: int
    residual: bool
    kind: Kind = "real"
    seed: int = 0
    length: int = 4

    @property
    def architecture(self) -> Architecture:
        sizes = (self.d, self.heads, self.layers, self.vocabulary, self.length)
        return architecture(*sizes, residual=self.residual)

    @property
    def sizes(self) -> dict[str, int]:
        return {"d": self.d, "h": self.heads, "L": self.layers}

    @property
    def listed(self) -> int:
        """S, the source's (5)."""
        return formulas.listed().at(**self.sizes)

    @property
    def formula(self) -> int:
        """The corrected dimension."""
        wide = self.kind == "tokens" and self.vocabulary == self.d
        total = formulas.fibre(residual=self.residual, embedding=self.kind != "pinned", tokens_as_wide=wide)
        if self.kind != "pinned" or self.vocabulary >= self.d:
            return total.at(**self.sizes)
        more = formulas.narrow_output(residual=self.residual)
        return total.at(**self.sizes) + int(more.subs({formulas.d: self.d, formulas.V: self.vocabulary}))


class RealInputs(IdealizedModel):
    """Vectors (B, T, |V|) → logits (B, |V|): a token is a unit vector, and mixtures are allowed."""

    def forward(self, inputs: Tensor) -> Tensor:
        return _behind_the_table(self.architecture, self.roles(), inputs @ self.roles()[TABLE])


class PinnedInputs(nn.Module):
    """Vectors (B, T, d) → logits (B, |V|), without an embedding among the parameters."""

    def __init__(self, a: Architecture) -> None:
        super().__init__()
        self.architecture = a
        self.roles = nn.ParameterDict(
            {role.replace(".", "/"): value for role, value in IdealizedModel(a).roles().items() if role != TABLE}
        )

    def forward(self, inputs: Tensor) -> Tensor:
        roles = {name.replace("/", "."): value for name, value in self.roles.items()}
        return _behind_the_table(self.architecture, roles, inputs)


def _behind_the_table(a: Architecture, roles: dict[str, Tensor], stream: Tensor) -> Tensor:
    inner = {role: value for role, value in roles.items() if role not in (TABLE, HEAD)}
    return (forward(a.replace(vocabulary=0), inner, stream) @ roles[HEAD])[..., -1, :]


@dataclass(frozen=True)
class Measured:
    """Exact nullity at the case's point, and the rank of the known generators that lie in the kernel.

    The nullity is the least there is only where every neuron sees enough inputs on both sides of its kink; elsewhere
    it is larger. It is never below ``explained``.
    """

    case: Case
    parameters: int
    nullity: int
    explained: int | None
    """None for pinned inputs: without the embedding's role the families cannot act."""
    violations: int
    """Generators outside the kernel, those of the token families aside."""
    token_violations: int
    """Generators of the token families outside the kernel: on vectors they are no symmetries."""

    @property
    def complete(self) -> bool:
        """The known symmetries lie in the kernel and fill it: no luck is involved."""
        return self.violations == 0 and self.explained == self.nullity


@cache
def measure(case: Case) -> Measured:
    """The fibre through a random point in exact arithmetic, explained by families unless the inputs are pinned."""
    a = case.architecture
    if case.kind == "pinned":
        fibre = dimension(PinnedInputs(a), Vectors(case.length, case.d), seed=case.seed)
        return Measured(case, fibre.parameters, fibre.nullity, None, 0, 0)
    inputs: Inputs = Vectors(case.length, case.vocabulary)
    module: IdealizedModel = RealInputs(a)
    if case.kind == "tokens":
        inputs, module = Tokens(case.vocabulary, case.length), IdealizedModel(a)
    found = account(Subject(module, inputs, a, reference_layout(module, a)), seed=case.seed)
    outside = {share.name: share.violations for share in found.families}
    of_tokens = sum(count for name, count in outside.items() if name.startswith("token-"))
    return Measured(
        case,
        found.fibre.parameters,
        found.fibre.nullity,
        found.explained,
        sum(outside.values()) - of_tokens,
        of_tokens,
    )


def generators_rank(case: Case, names: tuple[str, ...]) -> int:
    """Exact rank of the tangent vectors of some families at a random point: the dimension of their orbit there."""
    a = case.architecture
    module = IdealizedModel(a)
    field = FiniteField(DEFAULT_PRIMES[0], case.seed)
    theta, layout = random_point(module, case.seed), reference_layout(module, a)
    echelon = Echelon(field, len(theta), theta.device)
    for family in families(a):
        if family.name in names:
            echelon.add(Residues(generators(family, a, graph_of(a), layout, theta, field)))
    return echelon.rank
