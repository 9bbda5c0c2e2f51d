"""The ledger: stable bytes, faithful reading, clear refusals, whole files."""

from __future__ import annotations

import json
import math
import os

import pytest

from symgauge.atomic import write_text
from symgauge.claims import Claim, Entry, EvidenceLog, Ledger, Verdict, at_least, at_most
from symgauge.claims.ledger import sort_key
from symgauge.errors import InvalidInput


def entry(name: str, record: str = "holds", passed: bool = True, failure: str = "") -> Entry:
    claim = Claim(f"s/{name}", "s", "here", r"$a \in \{b\}$", Verdict(record))
    log = EvidenceLog([claim])
    log.numeric("é", passed, figures={"e": at_most(1e-15, 1e-12), "n": [3, 1]}, counterexample="x", cases=5)
    log.control("c", figures={"change": at_least(math.inf, 1e-3)})
    return Entry.of(claim, log.of(claim.id), failure)


def test_order_of_making_does_not_change_the_bytes(tmp_path) -> None:
    entries = [entry("thm-3.10"), entry("thm-3.9"), entry("abs-1")]
    texts = {Ledger.of(order, "ci").to_text() for order in (entries, entries[::-1])}
    assert len(texts) == 1
    assert list(Ledger.of(entries).entries) == ["s/abs-1", "s/thm-3.9", "s/thm-3.10"]


def test_saving_and_loading_give_the_same_ledger(tmp_path) -> None:
    ledger = Ledger.of([entry("a"), entry("b", "refuted", passed=False), entry("c", failure="it stopped")], "thorough")
    path = tmp_path / "new" / "ledger.json"
    ledger.save(path)
    again = Ledger.load(path)
    assert again == ledger
    assert again.to_text() == path.read_text(encoding="utf-8") == ledger.to_text()
    assert os.listdir(path.parent) == ["ledger.json"]


def test_agreement() -> None:
    assert entry("a").agrees
    assert not entry("a", "refuted").agrees
    assert not entry("a", "undecided", failure="it stopped").agrees
    assert not Ledger().agrees
    assert Ledger.of([entry("a")]).agrees
    assert not Ledger.of([entry("a"), entry("b", "refuted")]).agrees


def test_two_entries_for_one_claim_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two entries"):
        Ledger.of([entry("a"), entry("a")])


def damaged(change) -> str:
    document = json.loads(Ledger.of([entry("a")]).to_text())
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[]", "not a ledger"),
        ('{"format": "symgauge ledger 9"}', "not a ledger"),
        (damaged(lambda d: d.pop("claims")), "no object 'claims'"),
        (damaged(lambda d: d["claims"]["s/a"].pop("evidence")), "damaged: not an entry"),
        (damaged(lambda d: d["claims"].update({"s/a": 3})), "damaged: not an entry"),
        (damaged(lambda d: d["claims"]["s/a"]["claim"].update(verdict="maybe")), "damaged: .*expected one of"),
        (damaged(lambda d: d["claims"]["s/a"]["evidence"][0].update(kind="rumour")), "damaged: .*expected one of"),
        (damaged(lambda d: d["claims"]["s/a"]["evidence"][0].update(extra=1)), "damaged: not a record"),
        (damaged(lambda d: d["claims"]["s/a"]["evidence"][0].update(figures=[1])), "damaged: not a record"),
        (damaged(lambda d: d["claims"]["s/a"].update(verdict="refuted")), "its evidence gives"),
    ],
)
def test_damaged_files_are_named(tmp_path, text, message) -> None:
    path = tmp_path / "l.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message) as caught:
        Ledger.load(path)
    assert "l.json" in str(caught.value)


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read the ledger .*none\.json"):
        Ledger.load(tmp_path / "none.json")


def test_numbers_in_ids_sort_as_numbers() -> None:
    ids = ["s/eq-10", "s/thm-B.10", "s/eq-2", "s/thm-B.2", "s/eq-10a"]
    assert sorted(ids, key=sort_key) == ["s/eq-2", "s/eq-10", "s/eq-10a", "s/thm-B.2", "s/thm-B.10"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "file"
    write_text(path, "old")

    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InvalidInput, match=r"cannot write .*No space left"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_writing_below_a_file_is_refused(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot write"):
        write_text(tmp_path / "file" / "below", "text")
