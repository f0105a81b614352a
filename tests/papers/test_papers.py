"""Works by their names, their tables in files, and published figures beside ours."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm import papers
from bayescm.papers import gaps, published, run_paper, wang_li


@pytest.mark.parametrize("name", papers.WORKS)
def test_every_work_has_tables(name):
    work = getattr(bcm.papers, name)
    assert work.__name__ == f"bayescm.papers.{name}"
    assert work.TABLES
    with pytest.raises(ValueError, match="Unknown table"):
        work.table("99")


def test_gaps_are_those_beyond_three_standard_errors_of_both():
    shares = {"doc": [0.9, 0.9], "doc_se": 0.01, "published_doc": [0.93, 0.95]}
    lengths = {"il": [0.2, 0.2], "il_se": 0.001, "published_il": [0.2005, np.nan]}
    table = pd.DataFrame({"case": [1, 2], "replications": 300, **shares, **lengths})
    rows = gaps(table, replications=2000, reason=lambda row: f"of {row['case']:g}")
    assert rows[["case", "figure", "ours", "published", "reason"]].values.tolist() == [
        [2, "doc", 0.9, 0.95, "of 2"]
    ]
    error = np.hypot(0.01, np.sqrt(0.95 * 0.05 / 2000))
    assert rows["z"][0] == pytest.approx(-0.05 / error, rel=0.02)


@pytest.mark.parametrize(
    ("name", "figures"), [("caelen", 432), ("wang_2015", None), ("wang_li", None)]
)
def test_published_figures_are_there(name, figures):
    printed = published(name)
    count = printed[[c for c in ("doc", "il", "center") if c in printed]].notna().sum().sum()
    assert count == figures if figures else count > 200


@pytest.mark.long
def test_a_table_is_written_and_the_run_goes_on_from_its_journal(tmp_path, monkeypatch):
    monkeypatch.setattr(wang_li, "METHODS", {"t": wang_li.METHODS["t"]})
    out = tmp_path / "table.csv"
    frame = run_paper("wang-li", "5", 4, out=out, replications=3, seed=4)
    written = pd.read_csv(out)
    np.testing.assert_allclose(written["il"], frame["il"], rtol=1e-5)
    assert written["published_il"].tolist() == [0.157, 0.203]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv", "table.csv.journal"]
    (journal,) = (tmp_path / "table.csv.journal").iterdir()
    before = journal.read_text()
    run_paper("wang-li", "5", 4, out=out, replications=4, seed=4)
    assert journal.read_text().startswith(before)
    assert len(journal.read_text().splitlines()) == 5


def test_parquet_too(tmp_path):
    run_paper("wang-2015", "2", out=tmp_path / "table.parquet")
    assert len(pd.read_parquet(tmp_path / "table.parquet")) == 30


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (("wang",), {}, "s own simulations are run in its source"),
        (("gaps",), {}, "python docs/validation NAME"),
        (("wang-li", "13"), {}, "Unknown table"),
        (("wang-li", None, 1), {}, "needs a table"),
        (("wang-li", "5", 1), {"out": "table.txt"}, "a name ending in .csv or .parquet"),
        (("wang-li", "5", 1), {"out": "/nowhere/table.csv"}, "does not exist"),
        (("wang-li", "3", 4), {}, "Unknown case"),
        (("wang-li", "5", 7), {}, "Unknown case"),
        (("wang-li", "7", 1), {}, "letter.csv.gz is missing.*UCI.*10.24432"),
        (("wang-2015", "2", 7), {}, "Unknown case"),
        (("wang-2015", "4", 16), {}, "Unknown case"),
        (("wang-2015", "7", 1), {}, "letter.csv.gz is missing"),
        (("caelen", "tables 2 and 3", 17), {"data": "x"}, "Unknown case"),
        (("caelen", "tables 2 and 3", 1), {}, "The experiment needs a folder of data files"),
        (("caelen-sequential", None, 2), {}, "Unknown case"),
        (("thesis", "5", 6), {}, "Unknown case"),
        (("thesis", "dependent", 9), {}, "Unknown case"),
        (("yuan-jiang", "4", 1), {}, "has no cases"),
        (("yuan-jiang", "6"), {}, "abalone.csv is missing"),
    ],
)
def test_bad_requests(arguments, keywords, message):
    with pytest.raises(ValueError, match=message):
        run_paper(*arguments, **keywords)
