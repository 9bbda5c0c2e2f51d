"""audit, canonicalize, compress and expand as a user calls them."""

import json

import pytest
from typer.testing import CliRunner

from symgauge.cli import app
from tests.folders.test_canonicalize import tensors_of
from tests.pairs.models import tiny_source
from tests.pairs.storing import rounded, save


@pytest.fixture
def folder(tmp_path):
    tensors, config = tiny_source("llama")
    return save(rounded(tensors, "float32"), config, tmp_path / "A")


def run(*arguments, status=0):
    found = CliRunner().invoke(app, [str(a) for a in arguments])
    assert found.exit_code == status, found.output
    return found


def test_audit_prints_a_page_or_data_and_writes_a_report(folder, tmp_path):
    assert run("audit", folder).stdout.startswith("# Audit of")
    assert json.loads(run("audit", folder, "--json").stdout)["model_type"] == "llama"
    assert run("audit", folder, "--report", tmp_path / "page.md").stdout == ""
    assert "## What need not be stored" in (tmp_path / "page.md").read_text()


def test_a_model_goes_to_its_form_and_through_compression(folder, tmp_path):
    said = run("canonicalize", folder, "--out", tmp_path / "C", "--form", "minor", "--untie").stdout
    assert "axes of the token table" in said
    found = json.loads(run("compress", folder, "--out", tmp_path / "small", "--untie", "--json").stdout)
    assert found["numbers"][1] < found["numbers"][0]
    run("expand", tmp_path / "small", "--out", tmp_path / "whole")
    one, two = tensors_of(tmp_path / "C"), tensors_of(tmp_path / "whole")
    assert all(one[name].equal(two[name]) for name in one)


def test_mistakes_are_one_sentence_and_exit_2(folder, tmp_path):
    for arguments, words in (
        (("audit", tmp_path / "nothing"), "nothing"),
        (("canonicalize", folder, "--out", folder), "there already"),
        (("canonicalize", folder, "--out", ""), "--out is empty"),
        (("compress", folder, "--out", tmp_path / "small", "--dtype", "int8"), "dtype"),
        (("expand", folder, "--out", tmp_path / "whole"), "no compressed model"),
    ):
        found = run(*arguments, status=2)
        assert words in found.stderr
        assert "Traceback" not in found.output
