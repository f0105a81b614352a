"""Every committed table says which file makes it, by which call, and on which pages it stands."""

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def tables(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS))
    from coverage_table import simulated_tables

    yield simulated_tables()
    sys.modules.pop("coverage_table", None)


@pytest.mark.long
def test_every_table_has_its_file(tables):
    assert len(tables) > 80
    assert {name for name, maker, _, _ in tables if not maker} == set()
    for name, maker, _, _ in tables:
        assert (DOCS.parent / maker).exists(), name


@pytest.mark.long
def test_every_table_has_its_call_and_its_seed(tables):
    without = [
        name
        for name, _, call, _ in tables
        if not ("seed" in call or " paper " in call or call.startswith("exact"))
    ]
    assert without == []


@pytest.mark.long
def test_every_table_is_on_a_page(tables):
    assert [name for name, _, _, pages in tables if not pages] == []
