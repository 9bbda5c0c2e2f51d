"""Where families come from resolves: works in the bibliography, derivations in docs/families.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from symgauge.symmetries.base import Family
from symgauge.symmetries.citation import Cites, bibliography
from symgauge.symmetries.finding import continuous_families, finite_families
from symgauge.symmetries.unit_pieces import AlwaysOnUnits, DeadUnits

EVERY: list[type[Family]] = [*continuous_families(), *finite_families(), DeadUnits, AlwaysOnUnits]
PAGE = Path(__file__).parents[2] / "docs/families.md"


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)
def test_what_a_family_cites_is_in_the_bibliography(kind: type[Family]) -> None:
    for cited in kind.source:
        work = bibliography()[cited.key]
        assert work["authors"]
        assert work["title"]
        assert re.fullmatch(rf"[a-z]+{work['year']}[a-z]+", cited.key)
        assert re.fullmatch(r"\d{4}\.\d{5}", work.get("arxiv", "0000.00000"))
        assert str(cited).startswith(work["authors"][0])


def test_every_work_is_cited() -> None:
    assert {cited.key for kind in EVERY for cited in kind.source} == set(bibliography())


def test_every_family_is_derived_under_its_name() -> None:
    sections = re.findall(r"^### ([\w-]+)\n\n(.+)", PAGE.read_text(encoding="utf-8"), re.M)
    assert sorted(name for name, _ in sections) == sorted(kind.name for kind in EVERY)


def test_a_citation_reads_like_one() -> None:
    assert str(Cites("namazifar2023bias", "Section 3", "without rotary encoding")) == (
        "Namazifar et al. 2023, Role of Bias Terms in Dot-Product Attention, Section 3 (arXiv:2302.08626): "
        "without rotary encoding"
    )
    with pytest.raises(KeyError):
        str(Cites("nobody1900nothing"))
