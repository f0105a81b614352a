import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from coin_tosses import METHODS, narrow, tosses, wald

from bayescm.simulation import coverage
from bayescm.simulation.journal import generator


def undefined(heads):
    return {"p": (np.nan, np.nan)}


def table_of_tosses(rng):
    heads, truth = tosses(rng)
    return xr.DataArray([heads], dims="side", coords={"n": 80}), truth


def broken(rng):
    if rng.random() < 0.2:
        raise ArithmeticError("the coin rolled away")
    return tosses(rng)


def scores(frame, *names):
    return frame.set_index(["measure", "method"])[list(names)]


def test_coverage_of_a_known_interval_and_of_one_that_must_fail():
    frame = coverage.run(tosses, METHODS, replications=2000, seed=3)
    heads = np.arange(81)
    from scipy.stats import binom

    inside = [low <= 0.3 <= high for low, high in (wald(k)["p"] for k in heads)]
    exact = binom.pmf(heads, 80, 0.3)[inside].sum()
    row = frame.query("measure == 'p' and method == 'wald'").iloc[0]
    assert abs(row["doc"] - exact) < 4 * row["doc_se"]
    assert frame.query("method == 'narrow'")["doc"].max() < 0.5
    assert row["replications"] == 2000
    assert row["truth"] == pytest.approx(0.3)
    assert row["il_se"] < 0.001


def test_table_is_tidy_and_says_seed_and_version():
    frame = coverage.run(tosses, METHODS, replications=20, seed=3)
    assert frame[["measure", "method"]].drop_duplicates().shape[0] == len(frame) == 4
    assert set(frame["seed"]) == {3}
    assert frame["version"].notna().all()
    assert set(frame["study"]) == {"tosses"}


def test_standard_error_is_not_zero_where_all_cover():
    frame = coverage.run(tosses, {"whole": lambda heads: {"p": (0, 1)}}, replications=100, seed=0)
    assert frame.loc[0, "doc"] == 1
    assert 0.003 < frame.loc[0, "doc_se"] < 0.01


def test_undefined_intervals_are_counted_and_count_as_missed():
    frame = coverage.run(tosses, {"none": undefined}, replications=10, seed=0)
    assert frame.loc[0, "undefined"] == 1
    assert frame.loc[0, "doc"] == 0
    assert np.isnan(frame.loc[0, "il"])


def test_replications_depend_on_seed_and_index_alone():
    one, again = generator(5, 7).random(3), generator(5, 7).random(3)
    assert (one == again).all()
    assert not np.isclose(one, generator(5, 8).random(3)).any()
    assert not np.isclose(one, generator(6, 7).random(3)).any()


def test_same_result_whatever_the_number_of_jobs(tmp_path):
    study = coverage.Study("tosses", tosses, METHODS)
    one = coverage.run(study, replications=40, seed=1)
    two = coverage.run(study, replications=40, seed=1, jobs=2, journal=tmp_path / "two.jsonl")
    pd.testing.assert_frame_equal(one, two)


def test_more_replications_continue_a_journal(tmp_path):
    journal = tmp_path / "run.jsonl"
    coverage.run(tosses, METHODS, replications=10, seed=1, journal=journal)
    more = coverage.run(tosses, METHODS, replications=25, seed=1, journal=journal)
    assert len(journal.read_text().splitlines()) == 1 + 25
    pd.testing.assert_frame_equal(more, coverage.run(tosses, METHODS, replications=25, seed=1))


@pytest.mark.parametrize("generate", [tosses, table_of_tosses])
def test_a_method_added_later_sees_the_same_evidence(tmp_path, generate):
    journal = tmp_path / "run.jsonl"
    item = np.asarray
    one = {"wald": lambda evidence: wald(item(evidence).item())}
    coverage.run(generate, one, replications=8, seed=1, journal=journal)
    # Another method under the first name shows that what is done is not done again.
    both = {"wald": undefined, "narrow": lambda evidence: narrow(item(evidence).item())}
    late = coverage.run(generate, both, replications=8, seed=1, journal=journal)
    fresh = coverage.run(tosses, METHODS, replications=8, seed=1)
    columns = "doc", "il", "undefined"
    pd.testing.assert_frame_equal(scores(late, *columns), scores(fresh, *columns))


def test_evidence_small_enough_is_kept_in_the_journal(tmp_path):
    journal = tmp_path / "run.jsonl"
    coverage.run(table_of_tosses, {"none": undefined}, replications=2, seed=1, journal=journal)
    record = json.loads(journal.read_text().splitlines()[1])
    kept = xr.DataArray.from_dict(record["evidence"])
    drawn, _ = table_of_tosses(generator(1, record["index"]))
    xr.testing.assert_identical(kept, drawn)


def test_a_line_torn_by_a_kill_is_done_again(tmp_path):
    journal = tmp_path / "run.jsonl"
    whole = coverage.run(tosses, METHODS, replications=10, seed=1, journal=journal)
    text = journal.read_text()
    journal.write_text(text[:-25])
    again = coverage.run(tosses, METHODS, replications=10, seed=1, journal=journal)
    pd.testing.assert_frame_equal(whole, again)
    assert sorted(journal.read_text().splitlines()) == sorted(text.splitlines())


@pytest.mark.parametrize("change", [{"seed": 2}, {"name": "others"}])
def test_a_journal_of_another_run_is_refused(tmp_path, change):
    journal = tmp_path / "run.jsonl"
    coverage.run(coverage.Study("mine", tosses, METHODS), replications=2, journal=journal)
    study = coverage.Study(change.pop("name", "mine"), tosses, METHODS)
    with pytest.raises(ValueError, match="journal belongs to another run"):
        coverage.run(study, replications=2, journal=journal, **change)


def test_a_failing_replication_is_named_with_its_cause_and_the_others_are_kept(tmp_path):
    journal = tmp_path / "run.jsonl"
    with pytest.raises(ValueError, match=r"replication \d+ of 'broken'.*rolled away") as caught:
        coverage.run(broken, METHODS, replications=50, seed=1, journal=journal)
    assert isinstance(caught.value.__cause__, ArithmeticError)
    index = int(str(caught.value).split()[1])
    assert len(journal.read_text().splitlines()) == 1 + index


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((tosses,), {}, "no methods"),
        ((tosses, METHODS), {"replications": 0}, "too few replications"),
    ],
)
def test_bad_input(arguments, keywords, message):
    with pytest.raises(ValueError, match=message):
        coverage.run(*arguments, **keywords)


def test_true_values_of_the_study_are_drawn_once(tmp_path):
    calls = []

    def truth(rng):
        calls.append(rng.random())
        return {"p": np.float64(0.3), "q": 0.7}

    study = coverage.Study("tosses", lambda rng: (tosses(rng)[0], None), METHODS, truth)
    first = coverage.run(study, replications=5, journal=tmp_path / "run.jsonl")
    second = coverage.run(study, replications=5, journal=tmp_path / "run.jsonl")
    pd.testing.assert_frame_equal(first, second)
    drawn = coverage.run(tosses, METHODS, replications=5)
    pd.testing.assert_frame_equal(scores(first, "doc", "il"), scores(drawn, "doc", "il"))
    assert len(calls) == 1


def test_the_error_of_a_simulated_truth_is_in_that_of_the_coverage():
    def study(error):
        truth = {"p": (0.3, error), "q": (0.7, error)}
        return coverage.Study(
            "tosses", lambda rng: (tosses(rng)[0], None), METHODS, lambda rng: truth
        )

    known, rough = (coverage.run(study(each), replications=200) for each in (0.0, 0.04))
    pd.testing.assert_frame_equal(scores(known, "doc", "il"), scores(rough, "doc", "il"))
    assert (rough["doc_se"] > 1.5 * known["doc_se"]).all()


def test_average_ranks_share_the_better_rank():
    # Cases 4 and 5 of Wang and Li's Table 11: degrees of confidence 99.7 99.8 90.1 99.1, ...
    table = pd.DataFrame(
        {
            "study": np.repeat(["4", "5"], 4),
            "measure": "precision",
            "method": ["M", "A", "t", "Ct"] * 2,
            "doc": [99.7, 99.8, 90.1, 99.1, 99.6, 99.6, 92.1, 99.2],
            "il": [0.256, 0.236, 0.164, 0.299, 0.116, 0.116, 0.070, 0.127],
        }
    )
    answer = coverage.ranks(table).set_index("method")
    assert answer["doc"].to_dict() == {"M": 1.5, "A": 1, "t": 4, "Ct": 3}
    assert answer["il"].to_dict() == {"M": 2.5, "A": 2, "t": 1, "Ct": 4}


SLOW = """
import sys, time
from bayescm.simulation import coverage

def generate(rng):
    time.sleep(0.02)
    return rng.normal(), {"mean": 0.0}

def method(x):
    return {"mean": (x - 1.96, x + 1.96)}

coverage.run(generate, {"z": method}, replications=60, seed=9, journal=sys.argv[1])
"""


@pytest.mark.long
def test_killed_and_resumed_without_losing_or_repeating(tmp_path):
    script, journal = tmp_path / "slow.py", tmp_path / "run.jsonl"
    script.write_text(SLOW)
    process = subprocess.Popen([sys.executable, script, journal])
    deadline = time.monotonic() + 60
    while not journal.exists() or journal.read_text().count("\n") < 12:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = journal.read_text()
    before = before[: before.rfind("\n") + 1]
    assert 12 <= before.count("\n") < 60
    subprocess.run([sys.executable, script, journal], check=True)
    after = journal.read_text()
    assert after.startswith(before)
    indices = [json.loads(line)["index"] for line in after.splitlines()[1:]]
    assert sorted(indices) == list(range(60))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_same_study_on_a_dask_cluster():
    distributed = pytest.importorskip("distributed")
    study = coverage.Study("tosses", tosses, METHODS)
    alone = coverage.run(study, replications=30, seed=1)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        there = coverage.run(study, replications=30, seed=1, jobs=cluster.scheduler_address)
    pd.testing.assert_frame_equal(alone, there)


def test_progress_bar_goes_to_stderr(capsys):
    coverage.run(tosses, METHODS, replications=3, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "tosses" in captured.err
