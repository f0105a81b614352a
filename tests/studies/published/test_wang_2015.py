import numpy as np
import pytest

from bayescm.simulation import coverage
from bayescm.simulation.journal import generator
from bayescm.studies.published import wang_2015
from bayescm.studies.tables import Settings


def test_all_designs_see_the_same_sample():
    counts, truth = wang_2015.study(4, 2).generate(generator(0, 0))
    assert truth is None
    assert {name: dict(each.sizes) for name, each in counts.items()} == {
        "10": {"fold": 10, "actual": 2, "predicted": 2},
        "5x2": {"repeat": 5, "fold": 2, "actual": 2, "predicted": 2},
        "3x2": {"repeat": 3, "fold": 2, "actual": 2, "predicted": 2},
    }
    assert [int(each.sum()) for each in counts.values()] == [200, 1000, 600]


@pytest.mark.long
def test_the_journal_keeps_all_designs(tmp_path):
    journal = tmp_path / "run.jsonl"
    study = wang_2015.study(4, 4)
    first = coverage.run(study, replications=2, journal=journal)
    lines = len(journal.read_text().splitlines())
    again = coverage.run(study, {"again": wang_2015.beta_prime}, replications=2, journal=journal)
    assert len(journal.read_text().splitlines()) == lines + 2
    ours, theirs = (frame.set_index("method")["il"] for frame in (again, first))
    assert ours["again"] == theirs["beta prime"]


@pytest.mark.parametrize("table", ["2", "3"])
def test_skewness_is_as_printed_where_the_paper_is_right(table):
    frame = wang_2015.table(table)
    off = frame[["sk2", "sk1"]].values - frame[["published_sk2", "published_sk1"]].values
    good = np.abs(off) < (0.0045 if table == "2" else 0.0065)
    # Integer rounding at n = 50; case IV has no matrix; two misprints.
    if table == "2":
        assert good[(frame["row"] > 50) & (frame["case"] != 4)].mean() > 0.9
    else:
        assert good.all(axis=1).sum() >= 44


@pytest.mark.long
@pytest.mark.slow
def test_a_case_of_table_4_is_near_the_printed_one():
    frame = wang_2015.table("4", 4, Settings(replications=25, seed=3)).set_index("method")
    # The 5x2 and 3x2 lengths of the paper are somewhat shorter in most of the cases.
    for method in ("10-fold t", "beta prime"):
        row = frame.loc[method]
        assert abs(row["il"] - row["published_il"]) < 0.02
        assert row["doc"] > 0.85


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((3, 1), "no such table"), ((4, 16), "no such case"), ((7, 1), "letter.csv.gz is missing")],
)
def test_bad_cases(arguments, message):
    with pytest.raises(ValueError, match=message):
        wang_2015.study(*arguments)
