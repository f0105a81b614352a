import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from coin_tosses import METHODS, narrow, tosses, wald

from bayescm import simulation
from bayescm.simulation import Experiment, Repeated, generator


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
    frame = simulation.run(tosses, METHODS, replications=2000, seed=3)
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
    frame = simulation.run(tosses, METHODS, replications=20, seed=3)
    assert frame[["measure", "method"]].drop_duplicates().shape[0] == len(frame) == 4
    assert set(frame["seed"]) == {3}
    assert frame["version"].notna().all()
    assert set(frame["experiment"]) == {"tosses"}


def test_standard_error_is_not_zero_where_all_cover():
    frame = simulation.run(tosses, {"whole": lambda heads: {"p": (0, 1)}}, replications=100, seed=0)
    assert frame.loc[0, "doc"] == 1
    assert 0.003 < frame.loc[0, "doc_se"] < 0.01


def test_undefined_intervals_are_counted_and_count_as_missed():
    frame = simulation.run(tosses, {"none": undefined}, replications=10, seed=0)
    assert frame.loc[0, "undefined"] == 1
    assert frame.loc[0, "doc"] == 0
    assert np.isnan(frame.loc[0, "il"])


def test_replications_depend_on_seed_and_index_alone():
    one, again = generator(5, 7).random(3), generator(5, 7).random(3)
    assert (one == again).all()
    assert not np.isclose(one, generator(5, 8).random(3)).any()
    assert not np.isclose(one, generator(6, 7).random(3)).any()


@pytest.mark.long
def test_same_result_whatever_the_number_of_jobs(tmp_path):
    one = simulation.run(tosses, METHODS, replications=40, seed=1)
    journal = tmp_path / "two.jsonl"
    two = simulation.run(tosses, METHODS, replications=40, seed=1, jobs=2, journal=journal)
    pd.testing.assert_frame_equal(one, two)


def test_more_replications_continue_a_journal(tmp_path):
    journal = tmp_path / "run.jsonl"
    simulation.run(tosses, METHODS, replications=10, seed=1, journal=journal)
    more = simulation.run(tosses, METHODS, replications=25, seed=1, journal=journal)
    assert len(journal.read_text().splitlines()) == 1 + 25
    pd.testing.assert_frame_equal(more, simulation.run(tosses, METHODS, replications=25, seed=1))


@pytest.mark.parametrize("draw", [tosses, table_of_tosses])
def test_a_method_added_later_sees_the_same_evidence(tmp_path, draw):
    journal = tmp_path / "run.jsonl"
    item = np.asarray
    one = {"wald": lambda evidence: wald(item(evidence).item())}
    simulation.run(draw, one, replications=8, seed=1, journal=journal)
    # Another method under the first name shows that what is done is not done again.
    two = {"wald": undefined, "narrow": lambda evidence: narrow(item(evidence).item())}
    late = simulation.run(draw, two, replications=8, seed=1, journal=journal)
    fresh = simulation.run(tosses, METHODS, replications=8, seed=1)
    columns = "doc", "il", "undefined"
    pd.testing.assert_frame_equal(scores(late, *columns), scores(fresh, *columns))


def test_evidence_small_enough_is_kept_in_the_journal(tmp_path):
    journal = tmp_path / "run.jsonl"
    simulation.run(table_of_tosses, {"none": undefined}, replications=2, seed=1, journal=journal)
    record = json.loads(journal.read_text().splitlines()[1])
    kept = xr.DataArray.from_dict(record["evidence"])
    drawn, _ = table_of_tosses(generator(1, record["index"]))
    xr.testing.assert_identical(kept, drawn)


def test_a_line_torn_by_a_kill_is_done_again(tmp_path):
    journal = tmp_path / "run.jsonl"
    whole = simulation.run(tosses, METHODS, replications=10, seed=1, journal=journal)
    text = journal.read_text()
    journal.write_text(text[:-25])
    again = simulation.run(tosses, METHODS, replications=10, seed=1, journal=journal)
    pd.testing.assert_frame_equal(whole, again)
    assert sorted(journal.read_text().splitlines()) == sorted(text.splitlines())


@pytest.mark.parametrize("change", [{"seed": 2}, {"name": "others"}])
def test_a_journal_of_another_run_is_refused(tmp_path, change):
    journal = tmp_path / "run.jsonl"
    options = {"name": "mine", "replications": 2, "journal": journal}
    simulation.run(tosses, METHODS, **options)
    with pytest.raises(ValueError, match="test_a_journal_of_another_run"):
        simulation.run(tosses, METHODS, **(options | change))


def test_a_failing_replication_is_named_with_its_cause_and_the_others_are_kept(tmp_path):
    journal = tmp_path / "run.jsonl"
    with pytest.raises(ValueError, match=r"Replication \d+ of 'broken'.*rolled away") as caught:
        simulation.run(broken, METHODS, replications=50, seed=1, journal=journal)
    assert isinstance(caught.value.__cause__, ArithmeticError)
    index = int(str(caught.value).split()[1])
    assert len(journal.read_text().splitlines()) == 1 + index


def test_no_replications_are_refused():
    with pytest.raises(ValueError, match="Replications must be a whole number"):
        simulation.run(tosses, METHODS, replications=0)


def tosses_alone(rng):
    return tosses(rng)[0], None


def test_one_truth_for_all_replications_is_drawn_once(tmp_path):
    calls = []

    def truth(rng):
        calls.append(rng.random())
        return {"p": np.float64(0.3), "q": 0.7}

    options = {"truth": truth, "replications": 5, "journal": tmp_path / "run.jsonl"}
    first = simulation.run(tosses_alone, METHODS, **options)
    second = simulation.run(tosses_alone, METHODS, **options)
    pd.testing.assert_frame_equal(first, second)
    drawn = simulation.run(tosses, METHODS, replications=5)
    pd.testing.assert_frame_equal(scores(first, "doc", "il"), scores(drawn, "doc", "il"))
    assert len(calls) == 1


def test_the_error_of_a_simulated_truth_is_in_that_of_the_coverage():
    def run(error):
        truth = {"p": (0.3, error), "q": (0.7, error)}
        return simulation.run(tosses_alone, METHODS, truth=lambda rng: truth, replications=200)

    exact, rough = run(0.0), run(0.04)
    pd.testing.assert_frame_equal(scores(exact, "doc", "il"), scores(rough, "doc", "il"))
    assert (rough["doc_se"] > 1.5 * exact["doc_se"]).all()


class Coin(NamedTuple):
    n: int
    p: float


CASES = {1: Coin(80, 0.3), 2: Coin(40, 0.5)}


def tosses_of(rng, n, p):
    return tosses(rng, n, p)


def methods_of(n, p):
    return {"wald": partial(wald, n=n)}


COINS = Experiment("coins", CASES, tosses_of, methods_of)


def test_an_experiment_is_a_run_for_each_case():
    table = COINS.run(replications=20, seed=3)
    assert table.columns[:5].tolist() == ["case", "n", "p", "measure", "method"]
    assert table[["case", "n", "p"]].drop_duplicates().values.tolist() == [
        [1, 80, 0.3],
        [2, 40, 0.5],
    ]
    for case, setting in CASES.items():
        alone = simulation.run(
            lambda rng, setting=setting: tosses_of(rng, *setting),
            methods_of(*setting),
            replications=20,
            seed=3,
        )
        part = table[table["case"] == case].reset_index(drop=True)
        pd.testing.assert_frame_equal(part[alone.columns[1:]], alone.drop(columns="experiment"))


def test_an_experiment_names_its_columns_and_may_have_one_truth():
    experiment = Experiment(
        "coins",
        {1: (0.3,)},
        lambda rng, p: (tosses(rng, p=p)[0], None),
        METHODS,
        lambda rng, p: {"p": p, "q": 1 - p},
        columns=("share",),
    )
    table = experiment.run(replications=20, seed=3)
    assert table.columns[:3].tolist() == ["case", "share", "measure"]
    drawn = simulation.run(tosses, METHODS, replications=20, seed=3)
    pd.testing.assert_frame_equal(scores(table, "doc", "il"), scores(drawn, "doc", "il"))


def test_each_case_has_its_journal(tmp_path):
    folder = tmp_path / "journals"
    first = COINS.run(replications=4, seed=1, journal=folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "coins-case-1.jsonl",
        "coins-case-2.jsonl",
    ]
    before = (folder / "coins-case-2.jsonl").read_text()
    more = COINS.run(case=2, replications=6, seed=1, journal=folder)
    assert (folder / "coins-case-2.jsonl").read_text().startswith(before)
    assert set(more["replications"]) == {6}
    pd.testing.assert_frame_equal(first, COINS.run(replications=4, seed=1))
    # Tables of one name have journals of their own.
    replace(COINS, table="fair").run(case=1, replications=2, journal=folder)
    assert (folder / "coins-fair-case-1.jsonl").exists()


def heads(replications, n, p):
    values = [rng.binomial(n, p) for rng in replications.generators()]
    joint = replications.generator().random()
    return [{"heads": np.mean(values), "first": values[0], "joint": joint}]


def test_repeated_simulations_depend_on_seed_case_and_index_alone():
    repeated = Repeated("heads", CASES, heads)
    table = repeated.run(replications=3, seed=5)
    assert table.columns.tolist() == [
        *("case", "n", "p", "heads", "first", "joint", "replications", "seed", "version")
    ]
    for _, row in table.iterrows():
        rng = np.random.default_rng([5, row["case"], 0])
        assert row["first"] == rng.binomial(row["n"], row["p"])
        joint = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(row["case"],)))
        assert row["joint"] == joint.random()
    pd.testing.assert_frame_equal(
        repeated.run(case=2, replications=3, seed=5), table[1:].reset_index(drop=True)
    )
    more = repeated.run(replications=4, seed=5)
    assert more["first"].tolist() == table["first"].tolist()


@pytest.mark.parametrize("experiment", [COINS, Repeated("heads", CASES, heads)])
def test_a_case_that_is_none_is_refused(experiment):
    with pytest.raises(ValueError, match="Unknown case"):
        experiment.run(case=3)


def test_average_ranks_share_the_better_rank():
    # Cases 4 and 5 of Wang and Li's Table 11: degrees of confidence 99.7 99.8 90.1 99.1, ...
    table = pd.DataFrame(
        {
            "experiment": np.repeat(["4", "5"], 4),
            "measure": "precision",
            "method": ["M", "A", "t", "Ct"] * 2,
            "doc": [99.7, 99.8, 90.1, 99.1, 99.6, 99.6, 92.1, 99.2],
            "il": [0.256, 0.236, 0.164, 0.299, 0.116, 0.116, 0.070, 0.127],
        }
    )
    answer = simulation.ranks(table).set_index("method")
    assert answer["doc"].to_dict() == {"M": 1.5, "A": 1, "t": 4, "Ct": 3}
    assert answer["il"].to_dict() == {"M": 2.5, "A": 2, "t": 1, "Ct": 4}


SLOW = """
import sys, time
from bayescm import simulation

def draw(rng):
    time.sleep(0.02)
    return rng.normal(), {"mean": 0.0}

def method(x):
    return {"mean": (x - 1.96, x + 1.96)}

simulation.run(draw, {"z": method}, replications=60, seed=9, journal=sys.argv[1])
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
def test_the_same_run_on_a_dask_cluster():
    distributed = pytest.importorskip("distributed")
    alone = simulation.run(tosses, METHODS, replications=30, seed=1)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        there = simulation.run(
            tosses, METHODS, replications=30, seed=1, jobs=cluster.scheduler_address
        )
    pd.testing.assert_frame_equal(alone, there)


def test_progress_bar_goes_to_stderr(capsys):
    simulation.run(tosses, METHODS, replications=3, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "tosses" in captured.err
