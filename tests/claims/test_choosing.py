"""Choosing claims, sampling profiles, and properties as evidence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import strategies as st

from symgauge import profiles
from symgauge.claims import EvidenceLog, for_all
from symgauge.claims.select import select
from symgauge.errors import InvalidInput

IDS = ["gauge/cor-3.4", "gauge/cor-3.4b", "gauge/thm-3.2", "gauge/thm-3.6", "gauge-short/s1"]


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        ([], IDS),
        (["gauge/cor-3.4"], ["gauge/cor-3.4"]),
        (["gauge/cor*"], ["gauge/cor-3.4", "gauge/cor-3.4b"]),
        (["gauge"], IDS[:4]),
        (["gauge/"], IDS[:4]),
        (["gauge-short", "gauge/thm-3.6"], ["gauge/thm-3.6", "gauge-short/s1"]),
        (["*3.?"], ["gauge/cor-3.4", "gauge/thm-3.2", "gauge/thm-3.6"]),
    ],
)
def test_selection(patterns, chosen) -> None:
    assert select(patterns, IDS) == chosen


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("gauge/thm-3.7", "thm-3.6"),
        ("gauge/thm", "gauge/thm-3.2, gauge/thm-3.6"),
        ("gauge/thm", "(all that begin so: 'gauge/thm*')"),
        ("gaug", "the nearest are gauge, gauge-short"),
        ("THM-3.2", "gauge/thm-3.2"),
        ("zzzzzz", "from gauge, gauge-short"),
        ("", "5 claims"),
    ],
)
def test_an_unknown_selection_names_near_ones(pattern, hint) -> None:
    with pytest.raises(InvalidInput, match="no claim is called") as caught:
        select([pattern], IDS)
    assert hint in str(caught.value)


def test_counts_follow_the_profile(monkeypatch) -> None:
    monkeypatch.delenv(profiles.VARIABLE, raising=False)
    for name, expected in [("dev", 5), ("ci", 20), ("thorough", 100), (None, 20)]:
        monkeypatch.setattr(profiles, "_active", name)
        assert profiles.scale(20, 100) == expected
    monkeypatch.setattr(profiles, "_active", "dev")
    assert (profiles.scale(2, 9), profiles.scale(20, 100, dev=3)) == (1, 3)
    monkeypatch.setattr(profiles, "_active", None)
    monkeypatch.setenv(profiles.VARIABLE, "thorough")
    assert profiles.active() == "thorough"
    monkeypatch.setenv(profiles.VARIABLE, "lazy")
    with pytest.raises(InvalidInput, match="choose one of dev, ci, thorough"):
        profiles.active()


@pytest.mark.parametrize(("name", "examples"), [("dev", 5), ("ci", 20), ("thorough", 200)])
def test_profiles_set_hypothesis(name, examples) -> None:
    code = f"from symgauge import profiles; profiles.activate({name!r}); "
    code += "from hypothesis import settings; d = settings.default\n"
    code += "print(d.max_examples, d.derandomize, d.deadline, d.database)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(examples), str(name == "ci"), "None", "None"]


def test_samples_drawn_afresh_have_a_seed_that_draws_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "from symgauge import profiles; from symgauge.claims import for_all; from hypothesis import strategies as st\n"
        "profiles.activate('thorough'); seen = []\n"
        "print(for_all(lambda a: seen.append(a) is None, a=st.integers(0, 10**6), examples=20).seed, seen)"
    )
    drawn = []
    for seed in ("7", "7", "8"):
        monkeypatch.setenv(profiles.SEED_VARIABLE, seed)
        drawn.append(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert drawn[0] == drawn[1]
    assert drawn[0].split(" ", 1)[1] != drawn[2].split(" ", 1)[1]
    assert [each.split()[0] for each in drawn] == ["7", "7", "8"]
    monkeypatch.setattr(profiles, "_active", "thorough")
    property_run = for_all(lambda a: True, a=st.integers(), examples=3)
    log = EvidenceLog([])
    assert log.property("p", property_run, figures={"seed": 0}).figures == {"seed": 0, "Hypothesis seed": 8}
    monkeypatch.setenv(profiles.SEED_VARIABLE, "-1")
    with pytest.raises(InvalidInput, match="SYMGAUGE_SEED is '-1'"):
        profiles.sampling_seed()
    monkeypatch.delenv(profiles.SEED_VARIABLE)
    assert profiles.sampling_seed() == profiles.sampling_seed()
    monkeypatch.setattr(profiles, "_active", "ci")
    assert profiles.sampling_seed() is None
    assert for_all(lambda a: True, a=st.integers(), examples=3).seed is None


def test_properties_become_outcomes() -> None:
    good = for_all(lambda a, b: a + b == b + a, a=st.integers(), b=st.integers(), examples=30)
    assert (good.passed, good.cases, good.counterexample) == (True, 30, "")
    bad = for_all(lambda a: a < 10, a=st.integers(0, 100), examples=100)
    assert (bad.passed, bad.counterexample) == (False, "`a=10`")

    def asserting(a: int) -> None:
        assert a < 10

    assert for_all(asserting, a=st.integers(0, 100), examples=100).counterexample == "`a=10`"


def test_mistakes_in_a_property_are_not_evidence() -> None:
    with pytest.raises(ZeroDivisionError):
        for_all(lambda a: 1 / (a - a) == 0, a=st.integers(), examples=3)


def test_a_counterexample_shows_the_calls_that_make_its_values() -> None:
    from symgauge.architecture import Architecture
    from symgauge.strategies import elements
    from symgauge.symmetries import families

    a = Architecture(d_model=4, heads=2, d_k=2, d_v=2)
    family = families(a)[0]
    property_run = for_all(lambda element, n: False, element=elements(family, a), n=st.integers(3, 5), examples=3)
    assert property_run.counterexample == f"`element=random_element({family!r}, architecture, seed=0), n=3`"
    long = for_all(lambda text: False, text=st.just("a" * 5000), examples=3)
    assert len(long.counterexample) < 500


def test_examples_do_not_depend_on_the_modules_at_hand(tmp_path: Path) -> None:
    """Hypothesis would draw a constant of a local module every now and then."""
    (tmp_path / "at_hand.py").write_text("A, B, C = 123456789, 98765432123, 55555555")
    code = (
        "import sys; sys.path.insert(0, '.'); import {module}\n"
        "from symgauge import profiles; profiles.activate('ci')\n"
        "from hypothesis import strategies as st; from symgauge.claims import for_all\n"
        "seen = []; for_all(lambda a: seen.append(a) is None, a=st.integers(0, 10**12), examples=400); print(seen)"
    )

    def drawn(module: str) -> str:
        command = [sys.executable, "-c", code.format(module=module)]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    assert drawn("math") == drawn("at_hand")
