"""What `symgauge discover` finds without being told, against what is known of it."""

from __future__ import annotations

import symgauge
from proofs_checks.discovered.specimens.attention import variants
from proofs_checks.discovered.specimens.families import known
from symgauge.claims import at_least, checks, equal

ATTENTION, NETWORK = "layers__0__attention__", "layers__0__ff__"
FAMILIES = {
    "query-key": ("gl(2)", f"{ATTENTION}query__weight", f"{ATTENTION}key__weight"),
    "value-output": ("gl(3)", f"{ATTENTION}value__weight", f"{ATTENTION}output__weight"),
    "gated-rescale": ("gl(1, ℝ)", f"{NETWORK}up__weight", f"{NETWORK}down__weight"),
    "relu-rescale": ("gl(1, ℝ)", f"{NETWORK}up__weight", f"{NETWORK}down__weight"),
    "key-bias": ("ℝ", f"{ATTENTION}key__bias", f"{ATTENTION}key__bias"),
}
"""Family → how the algebra's name begins, a tensor to hold, and one that it then cannot move."""


def found_of(name):
    """What is found of the family's architecture."""
    reference = known()[name]
    return symgauge.discover(reference.architecture, output=reference.output, discrete=False)


def of_the_algebra(found, algebra, tensor):
    """Dimension of the ideals whose names begin so, and that move a tensor."""
    return sum(i.dimension for i in found.ideals if i.algebra.startswith(algebra) and tensor in i.tensors)


def found_again(evidence, name, found, dimension, without, algebra, held, other):
    """Evidence that an algebra is among what is found, and is not all there where one of its tensors is held."""
    before = of_the_algebra(found, algebra, other)
    named = evidence.exact(
        f"{name}: the ideals found, and the dimension that they must have",
        figures={
            "unexplained": equal(found.unexplained, 0),
            f"dimension of ideals {algebra} on `{other}`": at_least(before, dimension),
            "motions kept in float64": equal(sum(flow.holds for flow in found.flows), len(found.flows)),
            "nullity": found.nullity,
            "failure bound": found.failure_bound,
        },
    )
    evidence.control(
        f"{name} with `{held}` held fixed: less of that algebra moves `{other}`",
        figures={"less by": at_least(before - of_the_algebra(without, algebra, other), 1)},
        of=named,
    )


@checks("families-rediscovered")
def test_families_are_found_again(evidence):
    for name, (algebra, held, other) in FAMILIES.items():
        reference = known()[name]
        subject = symgauge.subject_of(reference.architecture)
        subject.module.get_parameter(held).requires_grad_(False)
        without = symgauge.discover(subject.module, subject.inputs, output=reference.output, discrete=False)
        found_again(evidence, name, found_of(name), reference.dimension, without, algebra, held, other)
    alike = variants()["multi-query-attention"]
    sizes, planes = alike.sizes[0], alike.sizes[0]["planes"]
    module, inputs = alike.make(sizes)
    module.query.weight.requires_grad_(False)
    found, without = (symgauge.discover(*each, discrete=False) for each in (alike.make(sizes), (module, inputs)))
    name = f"{planes} rotary planes of one frequency"
    found_again(evidence, name, found, 2 * planes**2, without, f"gl({planes}, ℂ)", "query.weight", "key.weight")


@checks("mixture-bias-shift")
def test_the_shift_of_expert_biases_is_found(evidence):
    variant = variants()["soft-mixture"]
    for sizes in variant.sizes[:2]:
        found = symgauge.discover(*variant.make(sizes), discrete=False)
        shift = [ideal for ideal in found.ideals if set(ideal.tensors) == {"down_bias", "head.bias"}]
        directions = variant.by_hand(**sizes)["biases of experts against the head's"]
        named = evidence.exact(
            f"discovered at {sizes}",
            figures={
                "unexplained": equal(found.unexplained, 0),
                "dimension": equal(sum(ideal.dimension for ideal in shift), directions),
                "failure bound": found.failure_bound,
            },
        )
        module, inputs = variant.make(sizes)
        module.head.bias.requires_grad_(False)
        without = symgauge.discover(module, inputs, discrete=False)
        still = sum("down_bias" in ideal.tensors for ideal in without.ideals)
        evidence.control(
            "the head's bias held fixed: nothing takes the shift back", figures={"ideals": equal(still, 0)}, of=named
        )
