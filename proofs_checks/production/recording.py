"""Evidence on a production model: its formula at full size, the accounts of small instances, and a family left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sympy import latex

from proofs_checks.production.stated_numbers import stated
from proofs_checks.support.factor_count import factor_count
from proofs_checks.support.measured_instances import Instance
from symgauge.architecture import Architecture
from symgauge.claims import Claim, EvidenceLog, at_least, equal
from symgauge.full_size import FullSize, full_size
from symgauge.presets import preset
from symgauge.symbolic.dimensions import SYMBOLS, Dimension
from symgauge.symmetries import symbols
from symgauge.symmetries.first_layer import surplus


def record(
    evidence: EvidenceLog, instances: Sequence[Instance], left_out: str, by_hand: Dimension | None = None
) -> None:
    """All evidence for the claims that a check decides, which have the names of presets.

    ``left_out`` is the family whose absence must leave something unexplained; ``by_hand`` the dimension derived
    without the symmetry families, where there is one.
    """
    for claim in evidence.claims:
        _at_full_size(evidence, claim, by_hand)
    for instance in instances:
        _account(evidence, instance, by_hand)
    missed = instances[0].unexplained_without(left_out)
    evidence.control(
        f"`{left_out}` left out of the account: {instances[0].label}", kind="exact",
        figures={"unexplained": at_least(missed, 1)},
    )  # fmt: skip


def _at_full_size(evidence: EvidenceLog, claim: Claim, by_hand: Dimension | None) -> None:
    full = full_size(preset(claim.name))
    parameters, dimension = stated(claim)
    figures: dict[str, Any] = {
        "parameters": equal(full.parameters, parameters),
        "dimension": equal(full.dimension, dimension),
        "the paper's count": symbols.evaluate(factor_count(full.architecture), full.architecture),
        "formula": f"${latex(full.formula)}$",
    }
    if by_hand is not None:
        figures["derived by hand"] = equal(_value(by_hand, full), full.dimension)
    shares = {f"`{share.name}`": share.dimension for share in full.shares}
    evidence.exact("the formula at full size, by family", only=claim.name, figures={**figures, **shares})


def _value(by_hand: Dimension, full: FullSize) -> int:
    return _at(by_hand, symbols.values(full.architecture))


def _at(by_hand: Dimension, sizes: dict[Any, int]) -> int:
    return by_hand.at(**{str(letter): size for letter, size in sizes.items() if str(letter) in SYMBOLS})


def _sizes(a: Architecture) -> str:
    """The sizes of a small instance in letters."""
    known = symbols.values(a)
    shown = [symbols.d, symbols.h, symbols.g, symbols.d_k, symbols.d_v, symbols.d_ff, symbols.V, symbols.n_ctx]
    shown += [symbols.experts, symbols.d_e, symbols.d_c, symbols.d_q, symbols.d_r]
    return ", ".join(f"${latex(letter)} = {known[letter]}$" for letter in shown if known.get(letter))


def _account(evidence: EvidenceLog, instance: Instance, by_hand: Dimension | None) -> None:
    account, fibre, a = instance.account, instance.account.fibre, instance.account.architecture
    assert a is not None
    figures: dict[str, Any] = {
        "sizes": _sizes(a),
        "parameters": fibre.parameters,
        "rank": fibre.rank,
        "nullity": equal(fibre.nullity, instance.formula),
        "unexplained": equal(account.unexplained, surplus(a)),
        "generators outside the kernel": equal(sum(share.violations for share in account.families), 0),
        "rank settled": equal(fibre.saturated, True),
        "primes agree": equal(fibre.agree, True),
        "primes": list(fibre.primes),
        "seed": fibre.seed,
        "probes": fibre.probes,
        "failure bound": fibre.failure_bound,
    }
    if by_hand is not None:
        figures["derived by hand"] = equal(_at(by_hand, symbols.values(a)), fibre.nullity)
    left = surplus(a)
    which = f"every direction but {left}, which are counted," if left else "every direction"
    evidence.exact(f"{which} explained: {instance.label}", figures=figures)
