"""Every identity: proved for all sizes, right on explicit matrices, and its broken twin unprovable and refuted."""

import subprocess
import sys

import pytest

from symgauge.errors import InvalidInput
from symgauge.symbolic.identities import SIZES, identity, names
from symgauge.symbolic.proof import NotProved


def test_there_are_identities_and_sizes_are_distinct():
    assert len(names()) >= 25
    assert len(set(SIZES.values())) == len(SIZES)


@pytest.mark.parametrize("name", names())
def test_proved_for_every_size(name):
    record = identity(name)
    proof = record.prove()
    assert record.name == name
    assert proof.left == record.before
    assert proof.normal_form


@pytest.mark.parametrize("name", names())
def test_holds_on_explicit_matrices(name):
    for seed in (0, 1):
        assert all(entry == 0 for entry in identity(name).difference_at_instance(seed))


@pytest.mark.parametrize("name", names())
def test_broken_twin_is_not_provable(name):
    with pytest.raises(NotProved):
        identity(name).prove_broken()


@pytest.mark.parametrize("name", names())
def test_broken_twin_is_refuted_by_an_instance(name):
    gap = identity(name).refute_broken().difference
    assert max(abs(entry) for entry in gap) > 1e-6


def test_unknown_name():
    with pytest.raises(InvalidInput, match="query_key"):
        identity("nonsense")


def test_this_oracle_stands_alone():
    """Importing every module of symgauge.symbolic loads neither torch nor the other oracles."""
    code = (
        "import importlib, pkgutil, sys, symgauge.symbolic as s\n"
        "[importlib.import_module('symgauge.symbolic.' + m.name) for m in pkgutil.iter_modules(s.__path__)]\n"
        "forbidden = ('torch', 'symgauge.exact', 'symgauge.numeric', 'symgauge.arithmetic')\n"
        "print([m for m in sys.modules if m.startswith(forbidden)])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
