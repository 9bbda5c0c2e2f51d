"""Specimens build, are small, have distinct sizes, and can be measured."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import symgauge
from proofs_checks.discovered.specimens.attention import Variant, variants
from proofs_checks.discovered.specimens.families import Known, known
from proofs_checks.discovered.specimens.models import configurations, model
from symgauge.exact.dimension import dimension
from symgauge.symmetries.base import Output
from symgauge.symmetries.finding import continuous_families
from symgauge.symmetries.symbols import evaluate

SMALL = range(50, 351)
"""Parameters with which an algebra is found in seconds."""
SETTLES_SOON = ("gpt2", "llama", "olmo2", "t5-encoder", "mamba", "vit", "diffllama", "cohere")
"""One of each kind; the others take seconds each and differ in little."""
ALGEBRAS = {"query-key": "gl(2)", "query-key-rotary": "gl(1, C)", "stream-map": "so(4)", "value-bias": "abelian(3)"}


def counted(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


@pytest.mark.parametrize("variant", variants().values(), ids=variants())
def test_a_variant_is_a_target_of_distinct_sizes(variant: Variant) -> None:
    own, *neighbours = variant.sizes
    assert len(set(own.values())) == len(own)
    assert all(sizes.keys() == own.keys() for sizes in neighbours)
    subject = symgauge.subject_of(variant.target)
    assert counted(subject.module) in SMALL
    assert all(size >= 0 for size in variant.by_hand(**own).values())


def test_a_variant_is_made_alike_each_time_and_leaves_the_generator_alone() -> None:
    variant = variants()["sigmoid-attention"]
    before = torch.get_rng_state()
    (first, _), (second, _) = (variant.make(variant.sizes[0]) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(bool((a == b).all()) for a, b in zip(first.parameters(), second.parameters(), strict=True))


@pytest.mark.parametrize("name", configurations())
def test_a_model_is_small(name: str) -> None:
    assert counted(model(name).module) in SMALL


@pytest.mark.parametrize("name", SETTLES_SOON)
def test_a_model_settles(name: str) -> None:
    subject = model(name)
    fibre = dimension(subject.module, subject.inputs)
    assert fibre.saturated
    assert fibre.agree
    assert 0 < fibre.nullity < fibre.parameters


def test_every_family_is_a_specimen() -> None:
    assert {each.family.name for each in known().values()} == {kind.name for kind in continuous_families()}


@pytest.mark.parametrize("each", known().values(), ids=known())
def test_the_algebra_has_the_dimension_of_its_family(each: Known) -> None:
    assert each.family.applies(each.architecture, each.output)
    assert each.dimension == evaluate(each.family.dimension(each.architecture), each.architecture)


def test_algebras_are_named_at_their_sizes() -> None:
    assert {name: known()[name].name for name in ALGEBRAS} == ALGEBRAS


@pytest.mark.parametrize("output", ["logits", "probabilities"])
def test_families_explain_every_architecture_that_is_smaller_than_theirs(output: Output) -> None:
    changed = {each.architecture for each in known().values() if each.output == output}
    for a in changed - {kind.example for kind in continuous_families()}:
        account = symgauge.account(a, output=output)
        assert account.fibre.saturated
        assert account.unexplained == 0, a
