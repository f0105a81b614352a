import numpy as np
import pandas as pd
import pytest
from reference_cases import DATA, data_file

from bayescm.simulation import coverage
from bayescm.simulation.journal import generator
from bayescm.studies.command import run_study
from bayescm.studies.populations import Gaussians, Rows, find_data
from bayescm.studies.published import wang_li
from bayescm.studies.tables import Settings, published

FAST = {name: wang_li.METHODS[name] for name in ("pooled", "averaged", "t", "corrected t")}


@pytest.fixture
def folder():
    return str(data_file("uci/letter.csv.gz").parent)


def test_there_are_27_cases_with_published_figures():
    numbers = [(table, case) for table, cases in wang_li.CASES.items() for case in cases]
    printed = published("wang_li").query("4 <= table <= 10")
    assert len(numbers) == 27
    assert set(numbers) == set(zip(printed["table"], printed["case"], strict=True))


def test_published_average_ranks_follow_from_the_published_figures():
    # The ranks of precision's degree of confidence can be read in full but for two of the cases.
    printed = published("wang_li").query("table <= 6 and table >= 4 and measure == 'precision'")
    printed = printed.assign(study=printed["table"] * 100 + printed["case"])
    ours = coverage.ranks(printed).set_index("method")["doc"]
    assert ours["t"] == ours.max()
    assert ours["pooled"] == ours.min()


def test_samples_have_exactly_balanced_classes_and_stratified_folds():
    counts, _ = wang_li.study(5, 1).generate(generator(0, 0))
    assert counts.dims == ("fold", "actual", "predicted")
    assert (counts.sum("predicted") == 10).all()
    assert bool(counts.fixed_totals)
    assert counts.n_folds == 10


def test_random_class_sizes_on_request():
    _, classes = Gaussians(2, 1, 1, balanced=False).sample(np.random.default_rng(0), 200)
    assert classes.sum() not in (100, 0)


def test_swapped_classes_are_the_same_population():
    first, _ = Gaussians(3, 2, 4).sample(np.random.default_rng(0), 4000)
    second, classes = Gaussians(3, 2, 4, swapped=True).sample(np.random.default_rng(0), 4000)
    for rows, shift, scale in [(classes == 0, 2, 4), (classes == 1, 0, 1)]:
        np.testing.assert_allclose(second[rows].mean(0), shift, atol=0.2)
        np.testing.assert_allclose(second[rows].var(0), scale, rtol=0.15)
    assert not np.allclose(first, second)


def test_letters_and_gamma_rays(folder):
    letters, letter_classes = Rows("letter", folder).sample(np.random.default_rng(0), 200)
    rays, ray_classes = Rows("magic", str(DATA)).sample(np.random.default_rng(0), 200)
    assert letters.shape == (200, 16)
    assert rays.shape == (200, 10)
    assert letter_classes.sum() == round(200 * 9940 / 20_000)
    assert ray_classes.sum() == 100


def test_methods_are_the_equations_of_the_paper():
    counts, _ = wang_li.study(5, 1).generate(generator(0, 0))
    tp, fp = (int(counts.sel(actual=actual, predicted=1).sum()) for actual in (1, 0))
    from scipy.stats import beta

    ends = wang_li.METHODS["pooled"](counts)["precision"]
    np.testing.assert_allclose(ends, beta.ppf([0.025, 0.975], 0.55 * tp + 1, 0.55 * fp + 1))
    t, corrected = (
        np.ptp(wang_li.METHODS[name](counts)["recall"]) for name in ("t", "corrected t")
    )
    assert corrected / t == pytest.approx(1 / np.sqrt(0.3))


def test_hierarchical_intervals_are_among_the_methods():
    counts, _ = wang_li.study(5, 1).generate(generator(0, 0))
    ours, theirs = (wang_li.METHODS[name](counts) for name in ("hierarchical", "pooled"))
    assert np.ptp(ours["precision"]) < np.ptp(theirs["precision"])


@pytest.mark.long
@pytest.mark.slow
def test_case_1_of_table_5_comes_out_as_printed():
    study = wang_li.study(5, 1, methods=FAST)
    ours = coverage.run(study, replications=60, seed=1).set_index(["measure", "method"])
    theirs = published("wang_li").query("table == 5 and case == 1")
    theirs = theirs.set_index(["measure", "method"])
    tolerance = pd.Series({"corrected t": 0.025}).reindex(FAST, fill_value=0.01)
    for key in ours.index:
        row = ours.loc[key]
        assert abs(row["il"] - theirs.loc[key, "il"]) < tolerance[key[1]] + 2 * row["il_se"]
        assert abs(row["doc"] - theirs.loc[key, "doc"]) < 4 * row["doc_se"]


@pytest.mark.long
def test_point_estimates_of_table_3():
    frame = wang_li.table("3", 1, Settings(replications=40, seed=1))
    centers = frame.set_index(["measure", "method"])["center"]
    assert centers["precision", "macro"] > centers["precision", "micro"]
    assert centers["recall", "macro"] == pytest.approx(centers["recall", "micro"])
    np.testing.assert_allclose(frame["center"], frame["published_doc"], atol=0.03)


@pytest.mark.long
def test_best_omega_is_the_shortest_that_covers(folder, monkeypatch):
    monkeypatch.setattr(wang_li, "OMEGAS", (0.1, 0.55, 1.0))
    frame = wang_li.table("12", 3, Settings(replications=15, seed=1, data=folder))
    for _, rows in frame.groupby("measure"):
        best = rows[rows["best"]]
        assert len(best) == 1
        assert best["doc"].item() >= 0.95
        assert best["il"].item() == rows.loc[rows["doc"] >= 0.95, "il"].min()


def test_equal_tails_never_hold_a_measure_of_1():
    population = wang_li.perfect_study(2)
    counts, _ = population.generate(generator(0, 0))
    assert np.trace(counts.sum("fold")) == 1000
    for name in ("pooled", "averaged"):
        assert wang_li.METHODS[name](counts)["precision"][1] < 1
    np.testing.assert_allclose(wang_li.METHODS["t"](counts)["precision"], 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 1), "no such table of cases"),
        ((5, 7), "table 5 has no such case"),
        ((7, 1), "letter.csv.gz is missing.*UCI.*10.24432"),
    ],
)
def test_bad_cases(arguments, message):
    with pytest.raises(ValueError, match=message):
        wang_li.study(*arguments)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"magic.csv.gz is missing.*--data"):
        find_data("magic", str(tmp_path))


@pytest.mark.long
def test_command_writes_the_table_and_goes_on_from_its_journal(tmp_path, monkeypatch):
    monkeypatch.setattr(wang_li, "METHODS", {"t": wang_li.METHODS["t"]})
    out = tmp_path / "table.csv"
    settings = {"replications": 3, "seed": 4}
    frame = run_study("wang-li", "5", 4, out=out, **settings)
    written = pd.read_csv(out)
    np.testing.assert_allclose(written["il"], frame["il"], rtol=1e-5)
    assert written["published_il"].tolist() == [0.157, 0.203]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv", "table.csv.journal"]
    (journal,) = (tmp_path / "table.csv.journal").iterdir()
    before = journal.read_text()
    run_study("wang-li", "5", 4, out=out, replications=4, seed=4)
    assert journal.read_text().startswith(before)
    assert len(journal.read_text().splitlines()) == 5


def test_parquet_too(tmp_path):
    run_study("wang-2015", "2", out=tmp_path / "table.parquet")
    assert len(pd.read_parquet(tmp_path / "table.parquet")) == 30


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (("wang",), {}, "unknown study"),
        (("wang-li", "13"), {}, "unknown table"),
        (("wang-li", None, 1), {}, "a case needs a table"),
        (("wang-li", "5", 1), {"out": "table.txt"}, "unknown file format"),
        (("wang-li", "5", 1), {"out": "/nowhere/table.csv"}, "no such folder"),
        (("wang-li", "12", 4), {}, "no such case"),
    ],
)
def test_bad_commands(arguments, keywords, message):
    with pytest.raises(ValueError, match=message):
        run_study(*arguments, **keywords)
