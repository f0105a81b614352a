"""Every type of evidence through every public function: each cell is a result that is checked.

A cell is a kind of evidence and a call. `FAILING` lists the cells that should work and do not yet,
`bayescm.evidence.unsupported` those without a sensible result, with the statistical reason.
"""

import io
import json
import re
from collections.abc import Callable
from functools import cache
from inspect import signature

import arviz as az
import docx
import golden_commands
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.registry import TYPES, type_of
from bayescm.evidence.unsupported import UNSUPPORTED

# Kinds of evidence


def _rng(seed):
    return np.random.default_rng([51, seed])


def _labels(seed, classes=2, size=80):
    rng = _rng(seed)
    actual = np.arange(size) % classes
    wrong = (actual + rng.integers(1, classes, size)) % classes if classes > 2 else 1 - actual
    predicted = {name: np.where(rng.random(size) < error, wrong, actual)
                 for name, error in (("one", 0.2), ("two", 0.35))}  # fmt: skip
    return actual, predicted


def _by(name, number, size=80):
    return {name: np.arange(size) * number // size}


def _counts(seed, classes=2, by=None):
    actual, predicted = _labels(seed, classes)
    positive = 1 if classes == 2 else None
    return bcm.from_predictions(actual, predicted["one"], positive=positive, by=by or {})


def _classifiers(seed, classes=2, by=None):
    positive = 1 if classes == 2 else None
    return bcm.from_classifiers(*_labels(seed, classes), positive=positive, by=by or {})


def _scored(seed, classes=2, size=80):
    rng = _rng(seed)
    actual = np.arange(size) % classes
    logits = {name: np.eye(classes)[actual] * gain + rng.normal(0, 1, (size, classes))
              for name, gain in (("one", 1.6), ("two", 1.0))}  # fmt: skip
    if classes == 2:
        return actual, {name: (each[:, 1] - each[:, 0]).round(2) for name, each in logits.items()}
    return actual, {name: _softmax(each) for name, each in logits.items()}


def _softmax(logits):
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return shares.round(3) + (1 - shares.round(3).sum(axis=1, keepdims=True)) / 3


def _scores(seed, several=False, **by):
    actual, scores = _scored(seed)
    return bcm.from_scores(actual, scores if several else scores["one"], positive=1, **by)


def _probabilities(seed, classes=2, several=False, **by):
    actual, scores = _scored(seed, classes)
    if classes == 2:
        scores = {name: (1 / (1 + np.exp(-each))).round(3) for name, each in scores.items()}
    positive = 1 if classes == 2 else None
    given = scores if several else scores["one"]
    return bcm.from_probabilities(actual, given, positive=positive, **by)


def _systems(several, one, two):
    return {"one": one, "two": two} if several else one


def _attempts(seed, several=False, **by):
    rng = _rng(seed)
    rate = rng.beta(2, 3, (20, 1))
    one, two = (rng.random((20, 4)) < np.clip(rate + gain, 0, 1) for gain in (0.05, -0.05))
    return bcm.from_attempts(_systems(several, one, two), **by)


def _item_scores(seed, several=False, **by):
    rng = _rng(seed)
    level = rng.beta(4, 2, 20)
    one, two = ((level * share).round(2) for share in (0.9, 0.7))
    return bcm.from_item_scores(_systems(several, one, two), range=(0, 1), **by)


def _item_counts(seed, several=False, **by):
    rng = _rng(seed)
    one, two = (
        pd.DataFrame({"tp": rng.poisson(right, 20), "fp": rng.poisson(1, 20),
                      "fn": rng.poisson(1, 20)}) for right in (4, 3)
    )  # fmt: skip
    return bcm.from_item_counts(_systems(several, one, two), **by)


def _multilabel(seed, several=False, **by):
    rng = _rng(seed)
    actual = rng.random((40, 3)) < 0.5
    one, two = (actual ^ (rng.random(actual.shape) < wrong) for wrong in (0.15, 0.3))
    return bcm.from_multilabel(actual, _systems(several, one, two), labels=list("xyz"), **by)


def _ratings(seed, predicted=False, **by):
    rng = _rng(seed)
    actual, answers = _labels(seed)
    rights = {"ann": 0.85, "bob": 0.8, "dan": 0.8, "eve": 0.75}
    votes = {
        name: np.where(rng.random(80) < right, actual, 1 - actual) for name, right in rights.items()
    }
    return bcm.from_raters(votes, predicted=answers if predicted else None, positive=1, **by)


def _partly_labelled(seed, several=False):
    actual, predicted = _labels(seed)
    judge = np.where(_rng(seed + 100).random(80) < 0.85, actual, 1 - actual)
    seen = pd.Series(np.where(np.arange(80) < 40, actual, np.nan), dtype="Int64")
    given = predicted if several else predicted["one"]
    return bcm.from_partly_labelled(seen, given, judge=judge, positive=1)


def _results(seed):
    rng = _rng(seed)
    rows = [(f"{data}{seed}", name, fold, level + rng.normal(gain, 0.02)) for data, level in
            zip("uvwxyz", (0.7, 0.75, 0.8, 0.82, 0.85, 0.9), strict=True)
            for name, gain in (("one", 0.03), ("two", 0.0)) for fold in range(5)]  # fmt: skip
    names = ["data_set", "classifier", "fold", "accuracy"]
    return bcm.from_results(pd.DataFrame(rows, columns=names), test_share=0.2)


def _preferences(seed, **by):
    rng = _rng(seed)
    first, second = (rng.integers(3, size=300) for _ in range(2))
    met = first != second
    strength, names = np.array([0.4, 0.0, -0.4]), np.array(["one", "two", "three"])
    noise = rng.logistic(size=300) + strength[first] - strength[second]
    winner = np.where(abs(noise) < 0.4, "tie", np.where(noise > 0, "left", "right"))
    columns = {"left": names[first][met], "right": names[second][met], "winner": winner[met]}
    columns |= {name: values[met] for name, values in by.items()}
    return bcm.from_preferences(**columns)


# One system, several systems, and groups, folds or clusters, of each type; by a seed.
KINDS: dict[str, Callable] = {
    "counts": _counts,
    "counts of three classes": lambda seed: _counts(seed, 3),
    "counts in folds": lambda seed: _counts(seed, by=_by("fold", 5)),
    "counts in groups": lambda seed: _counts(seed, by=_by("group", 5)),
    "outcomes": _classifiers,
    "outcomes of three classes": lambda seed: _classifiers(seed, 3),
    "outcomes in folds": lambda seed: _classifiers(seed, by=_by("fold", 5)),
    "outcomes in groups": lambda seed: _classifiers(seed, by=_by("group", 5)),
    "scores": _scores,
    "scores of two": lambda seed: _scores(seed, several=True),
    "scores in folds": lambda seed: _scores(seed, **_by("fold", 5)),
    "probabilities": _probabilities,
    "probabilities of two": lambda seed: _probabilities(seed, several=True),
    "probabilities of three classes": lambda seed: _probabilities(seed, 3),
    "probabilities in groups": lambda seed: _probabilities(seed, **_by("group", 5)),
    "attempts": _attempts,
    "attempts of two": lambda seed: _attempts(seed, several=True),
    "attempts in clusters": lambda seed: _attempts(seed, **_by("group", 10, 20)),
    "item scores": _item_scores,
    "item scores of two": lambda seed: _item_scores(seed, several=True),
    "item scores in clusters": lambda seed: _item_scores(seed, **_by("group", 10, 20)),
    "item counts": _item_counts,
    "item counts of two": lambda seed: _item_counts(seed, several=True),
    "item counts in clusters": lambda seed: _item_counts(seed, **_by("group", 10, 20)),
    "multilabel": _multilabel,
    "multilabel of two": lambda seed: _multilabel(seed, several=True),
    "multilabel in clusters": lambda seed: _multilabel(seed, **_by("group", 10, 40)),
    "ratings": _ratings,
    "ratings with predictions": lambda seed: _ratings(seed, predicted=True),
    "ratings in groups": lambda seed: _ratings(seed, **_by("group", 2)),
    "partly labelled": _partly_labelled,
    "partly labelled of two": lambda seed: _partly_labelled(seed, several=True),
    "preferences": _preferences,
    "preferences in clusters": lambda seed: _preferences(seed, **_by("group", 30, 300)),
    "results": _results,
}
SEVERAL = {
    *(kind for kind in KINDS if kind.startswith("outcomes") or kind.endswith("of two")),
    "ratings", "ratings with predictions", "ratings in groups", "results",
    "preferences", "preferences in clusters",
}  # fmt: skip
# A measure that is one number for each system.
MEASURES = {
    "counts": "accuracy", "outcomes": "accuracy", "scores": "auc", "probabilities": "brier",
    "attempts": "mean", "item scores": "mean", "item counts": "f1", "multilabel": "f1_micro",
    "ratings": "recall", "partly labelled": "accuracy", "results": "accuracy",
    "preferences": "win_rate",
}  # fmt: skip
# Types that are combined into one sample, and the dim of its units; others are combined by a name.
UNITS = {
    "scores": "example", "probabilities": "example", "ratings": "example", "item counts": "item",
    "results": "data_set", "preferences": "vote",
}  # fmt: skip
# Systems are compared within each group, and not in their mean.
COMPARED_WITHIN = {"outcomes in groups": 5}


def type_name(kind: str) -> str:
    """Return the type of a kind, with which its name begins."""
    return next(name for name in MEASURES if kind.startswith(name))


def measure_of(kind: str) -> str:
    if kind == "probabilities of three classes":
        return "log_loss"
    return MEASURES[type_name(kind)]


@cache
def evidence(kind: str, seed: int = 0):
    return KINDS[kind](seed)


@cache
def summary_of(kind: str) -> pd.DataFrame:
    return bcm.summary(evidence(kind))


@cache
def fitted(kind: str) -> xr.DataTree:
    return bcm.fit(evidence(kind), draws=200, chains=2, random_seed=3)


# Calls, and what makes their results sensible


def is_ordered(table: pd.DataFrame, *columns: str) -> None:
    """Check a table of intervals: numbers that are finite and in order."""
    assert len(table) > 0
    columns = columns or ("lower", "mean", "upper")
    values = table[list(columns)].to_numpy(float)
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=1) >= -1e-12).all()


def systems_in(kind: str) -> set[str]:
    """Return the names of the systems of a kind, empty if it has one."""
    found = evidence(kind)
    if kind not in SEVERAL:
        return set()
    return {str(name) for name in found["classifier"].values}


def measure(kind, folder):
    values = bcm.measure(evidence(kind), measure_of(kind))[measure_of(kind)]
    interval = bcm.interval(evidence(kind), measure_of(kind))
    assert np.isfinite(values).all()
    # Counts have a value for each fold or group, which their interval pools.
    pooled = values.mean(set(values.dims) - set(interval.dims))
    lower, upper = interval.sel(bound="lower"), interval.sel(bound="upper")
    assert set(pooled.dims) == set(lower.dims)
    assert ((lower <= pooled) & (pooled <= upper)).all()


def interval(kind, folder):
    found = bcm.interval(evidence(kind), measure_of(kind))
    assert found.sizes["bound"] == 2
    assert np.isfinite(found).all()
    assert (found.sel(bound="lower") < found.sel(bound="upper")).all()
    assert systems_in(kind) <= {str(x) for dim in found.dims for x in found[dim].values}


def default_interval(kind, folder):
    found = bcm.interval(evidence(kind))
    lower, upper = found.sel(bound="lower"), found.sel(bound="upper")
    assert (lower <= upper).where(lower.notnull(), True).all()
    assert found.notnull().any()


def distribution(kind, folder):
    found = bcm.distribution(evidence(kind), measure_of(kind))
    ends = found.interval(prob=0.9, kind="eti")
    lower, upper = ends.sel(bound="lower"), ends.sel(bound="upper")
    assert ((lower < found.mean()) & (found.mean() < upper)).all()
    inside = found.cdf(upper) - found.cdf(lower)
    np.testing.assert_allclose(inside, 0.9, atol=0.02)


def prob_above(kind, folder):
    median = bcm.distribution(evidence(kind), measure_of(kind)).quantile(0.5)
    found = bcm.prob_above(evidence(kind), measure_of(kind), median)
    np.testing.assert_allclose(found, 0.5, atol=0.05)


def summary(kind, folder):
    table = summary_of(kind)
    is_ordered(table)
    assert table["sd"].gt(0).all()
    point = table.dropna(subset="point")
    is_ordered(point, "lower", "point", "upper")
    if names := systems_in(kind):
        assert set(table["classifier"]) == names


def compare(kind, folder):
    table = bcm.compare(evidence(kind), measure_of(kind))
    is_ordered(table)
    names, words = systems_in(kind), " ".join(table["sentence"])
    assert len(table) == COMPARED_WITHIN.get(kind, 1) * len(names) * (len(names) - 1) // 2
    assert all(name in words for name in names)


def compare_by_default(kind, folder):
    is_ordered(bcm.compare(evidence(kind)).dropna(subset="mean"))


def ranks(kind, folder):
    table = bcm.ranks(evidence(kind), measure_of(kind))
    parts = COMPARED_WITHIN.get(kind, 1)
    assert len(table) == parts * len(systems_in(kind))
    assert table["p_best"].sum() == pytest.approx(parts, abs=0.01)


def frontier(kind, folder):
    cost = {name: place + 1 for place, name in enumerate(systems_in(kind))}
    if kind in COMPARED_WITHIN:
        with pytest.raises(ValueError, match="several values for each system"):
            bcm.frontier(evidence(kind), measure_of(kind), cost=cost)
        return
    table = bcm.frontier(evidence(kind), measure_of(kind), cost=cost)
    assert table["cost"].is_monotonic_increasing
    assert table["p_frontier"].iloc[0] == 1  # nothing is cheaper
    assert table["p_frontier"].between(0, 1).all()


def joint_interval(kind, folder):
    found = bcm.joint_interval(evidence(kind), measure_of(kind))[measure_of(kind)]
    single = bcm.interval(evidence(kind), measure_of(kind), kind="eti")
    width, alone = (each.sel(bound="upper") - each.sel(bound="lower") for each in (found, single))
    assert np.isfinite(width).all()
    assert (width > 0.8 * alone).all()


def check(kind, folder):
    requirement = f"{measure_of(kind)} > 0.01 @ 0.9"
    dims = bcm.interval(evidence(kind), measure_of(kind)).dims
    each = {} if dims == ("bound",) else {"by": dims[0]}
    table = bcm.check(evidence(kind), [requirement, f"{measure_of(kind)} > 0.999"], **each)
    is_ordered(table)
    met = table[table["requirement"].str.contains("0.01")]
    assert set(met["outcome"]) == {"met"}
    assert set(table["outcome"]) == {"met", "failed"}


def report(kind, folder):
    text = bcm.report(evidence(kind), folder / "report.md").read_text()
    assert len(text) > 500
    assert "95%" in text or "0.95" in text or "95 %" in text
    assert "nan" not in text.split()


def _is_drawn(figure):
    assert any(axes.lines or axes.collections for axes in figure.axes)


def plot_forest(kind, folder):
    _is_drawn(bcm.plot_forest(evidence(kind), measure_of(kind)))


def plot_ranks(kind, folder):
    _is_drawn(bcm.plot_ranks(evidence(kind), measure_of(kind)))


def plot_posterior(kind, folder):
    _is_drawn(bcm.plot_posterior(evidence(kind), measure_of(kind)))


def table(kind, folder):
    text = bcm.table(summary_of(kind)).to_html()
    assert text.count("<tr") > len(summary_of(kind))
    assert ">nan<" not in text


# The start of an interval in a cell of a table, but not of the word "[interval]" in its header.
INTERVAL = re.compile(r"\[[-\d$\N{MINUS SIGN}]")


def latex_table(kind, folder):
    text = bcm.latex_table(summary_of(kind))
    assert "\\begin{tabular}" in text
    assert "nan" not in text
    assert len(INTERVAL.findall(text)) == summary_of(kind)["lower"].notna().sum()


def to_markdown(kind, folder):
    text = bcm.to_markdown(summary_of(kind))
    assert "nan" not in text
    assert len(INTERVAL.findall(text)) == summary_of(kind)["lower"].notna().sum()


def to_word(kind, folder):
    path = bcm.to_word(summary_of(kind), folder / "table.docx")
    (table,) = docx.Document(path).tables
    text = "\n".join(cell.text for row in table.rows for cell in row.cells)
    assert len(INTERVAL.findall(text)) == summary_of(kind)["lower"].notna().sum()


def methods_paragraph(kind, folder):
    text = str(bcm.methods_paragraph(evidence(kind), measure_of(kind)))
    assert len(text) > 200
    assert "nan" not in text.split()


def methods_by_default(kind, folder):
    assert "posterior" in str(bcm.methods_paragraph(evidence(kind)))


def fit(kind, folder):
    posterior = fitted(kind)["posterior"].to_dataset()
    assert {"chain": 2, "draw": 200}.items() <= posterior.sizes.items()
    assert all(np.isfinite(variable).all() for variable in posterior.data_vars.values())


_STATISTICS = {"of", "point", "mean", "sd", "lower", "upper", "how", "error", "undefined"}


def summary_of_fit(kind, folder):
    found, expected = bcm.summary(fitted(kind)), summary_of(kind)
    labels = [name for name in expected if name not in _STATISTICS]
    both = expected.merge(found, on=labels, suffixes=("", "_of_fit"), validate="one_to_one")
    assert len(both) == len(expected) == len(found)
    is_ordered(found)
    assert (abs(both["mean"] - both["mean_of_fit"]) < 0.5 * both["sd"]).all()
    assert both["sd_of_fit"].between(0.6 * both["sd"], 1.6 * both["sd"]).all()


def arviz_summary_of_fit(kind, folder):
    found = az.summary(fitted(kind), kind="stats", round_to="none")
    assert np.isfinite(found["mean"]).all()
    assert len(found) > 0


def save_and_load_fit(kind, folder):
    bcm.save(fitted(kind), folder / "fit.nc")
    assert bcm.load(folder / "fit.nc").identical(fitted(kind))


def _same_result(kind, loaded):
    if kind == "results":
        tables = [bcm.compare(each).drop(columns="sentence") for each in (evidence(kind), loaded)]
        return pd.testing.assert_frame_equal(*tables)
    expected = bcm.interval(evidence(kind), measure_of(kind))
    return xr.testing.assert_allclose(bcm.interval(loaded, measure_of(kind)), expected, rtol=1e-12)


def save_and_load(kind, folder):
    bcm.save(evidence(kind), folder / "evidence.nc")
    loaded = bcm.load(folder / "evidence.nc")
    assert type_of(loaded) is type_of(evidence(kind))
    _same_result(kind, loaded)


def netcdf(kind, folder):
    given = evidence(kind)
    given.to_netcdf(folder / "evidence.nc", engine="netcdf4")
    is_array = isinstance(given, xr.DataArray)
    load = xr.load_dataarray if is_array else xr.load_dataset
    _same_result(kind, load(folder / "evidence.nc", engine="netcdf4"))


def combine(kind, folder):
    parts = [evidence(kind, seed) for seed in (0, 1)]
    dim = UNITS.get(type_name(kind), "data_set")
    if kind == "scores in folds":  # other folds, with other models
        parts[1] = parts[1].assign(fold=parts[1]["fold"] + 5)
    named = dict(zip(("x", "y"), parts, strict=True))
    both = bcm.combine(parts if dim in UNITS.values() else named, dim=dim)
    entry = type_of(both)
    assert entry is type_of(parts[0])
    size = sum(entry.size(entry.canonical(part)) for part in parts)
    assert entry.size(entry.canonical(both)) == size
    ask = bcm.ranks if kind == "results" else bcm.interval
    assert len(ask(both, measure_of(kind))) > 0


def monitor_add(kind, folder):
    edges = np.linspace(-3, 3, 21) if kind.startswith("scores") else None
    name = min(systems_in(kind), default="system")  # every system of a batch is recorded
    with bcm.online.Monitor(str(folder / "eval.db"), name, edges=edges) as monitor:
        assert monitor.add("2026-01-01", evidence(kind))
        assert not monitor.add("2026-01-01", evidence(kind))
        assert monitor.add("2026-01-02", evidence(kind, 1))
        is_ordered(monitor.summary())
        history = monitor.history()
        assert history.sizes["step"] == 2
        assert all(np.isfinite(ends).all() for ends in history.data_vars.values())


def plan(kind, folder):
    sets = 20 if type_name(kind) in ("attempts", "ratings") else 100  # of intervals of a second
    found = bcm.plan(measure_of(kind), width=0.3, pilot=evidence(kind), replications=sets)
    assert found["n"].gt(1).all()
    assert ("difference" in found["measure"][0]) == (kind in SEVERAL)


def command_line(kind, folder):
    text = golden_commands.run(COMMANDS[kind])
    assert text.startswith("exit 0"), text
    rows = json.loads(text.removeprefix("exit 0\n").partition("\n--\n")[0])
    is_ordered(pd.read_json(io.StringIO(json.dumps(rows))))


CALLS = {
    call.__name__: call
    for call in (
        measure, interval, default_interval, distribution, prob_above, summary, compare,
        compare_by_default, ranks, frontier, joint_interval, check, report, plot_forest,
        plot_posterior, plot_ranks,
        table, latex_table, to_markdown, to_word, methods_paragraph, methods_by_default, fit,
        summary_of_fit,
        arviz_summary_of_fit, save_and_load_fit, save_and_load, netcdf, combine, monitor_add, plan,
        command_line,
    )
}  # fmt: skip
OF_SEVERAL = {"compare", "compare_by_default", "ranks", "frontier", "plot_ranks"}
_P = "p.csv --actual y --positive 1"
_P3 = "p3.csv --actual y"
_JUDGED = "labels.csv --actual y --positive 1 --predicted two"
# The command line of each kind, on the files of the golden commands.
COMMANDS = {
    "counts": f"summary {_P} --predicted one",
    "counts of three classes": f"summary {_P3} --predicted one -m accuracy",
    "counts in folds": f"summary {_P} --predicted one --fold k",
    "counts in groups": f"summary {_P} --predicted one --group g",
    "outcomes": f"summary {_P} --predicted one --predicted two",
    "outcomes of three classes": f"summary {_P3} --predicted one --predicted two -m accuracy",
    "outcomes in folds": f"compare {_P} --predicted one --predicted two --fold k -m accuracy",
    "outcomes in groups": f"compare {_P} --predicted one --predicted two --group g -m accuracy",
    "scores": f"curve {_P} --score s",
    "scores of two": f"curve {_P} --score s --score r",
    "scores in folds": f"curve {_P} --score s --fold k",
    "probabilities": f"calibration {_P} --probability r -m brier",
    "probabilities of two": f"calibration {_P} --probability r --probability one -m brier",
    "probabilities in groups": f"calibration {_P} --probability r --group g -m brier",
    "attempts": "attempts a.csv --item q --correct c -m mean",
    "attempts of two": "attempts a2.csv --item q --correct c --system s -m mean",
    "attempts in clusters": "attempts a2.csv --item q --correct c --system s --group text -m mean",
    "item scores": "items one.csv --item item --score mark --range 1,5 -m mean",
    "item scores of two": "items marks.csv --item item --score mark --system s -m mean",
    "item scores in clusters": "items one.csv --item item --score mark --group text -m mean",
    "probabilities of three classes": (
        "calibration chances.csv --actual y -m log_loss "
        "--probability a=p_a --probability b=p_b --probability c=p_c"
    ),
    "item counts": "item-counts found_by_one.csv --item image",
    "item counts of two": "item-counts found.csv --item image --system s",
    "item counts in clusters": "item-counts found.csv --item image --system s --group video",
    "multilabel": "multilabel tags.csv --actual tags --predicted one",
    "multilabel of two": "multilabel tags.csv --actual tags --predicted one --predicted two",
    "multilabel in clusters": "multilabel tags.csv --actual tags --predicted one --group text",
    "ratings": "summary raters.csv --raters ann,bob,eve --positive 1",
    "ratings with predictions": (
        "summary raters.csv --raters ann,bob,eve --predicted model --positive 1"
    ),
    "ratings in groups": "summary raters.csv --raters ann,bob,eve --group g --positive 1",
    "partly labelled": f"summary {_JUDGED} --judge one",
    "partly labelled of two": f"summary {_JUDGED} --predicted three --judge one",
    "preferences": "summary votes.csv --left a --right b -m rating",
    "preferences in clusters": "summary votes.csv --left a --right b --group prompt -m rating",
    "results": "compare results.csv --data-set data",
}
COMMANDS = {kind: f"{line} --format json" for kind, line in COMMANDS.items()}

# One kind of each type in the plain suite, without the calls that take longest.
QUICK_KINDS = {
    "counts", "outcomes", "scores", "probabilities of two", "item scores of two", "item counts",
    "multilabel of two", "partly labelled", "results", "preferences",
}  # fmt: skip
LONG_CALLS = {
    "compare_by_default", "methods_by_default", "report", "fit", "summary_of_fit",
    "arviz_summary_of_fit", "save_and_load_fit", "save_and_load", "monitor_add", "plan",
    "check", "netcdf", "plot_forest", "plot_posterior", "command_line",
}  # fmt: skip


_IN_PARTS = [kind for kind in KINDS if kind.endswith(("in folds", "in groups", "in clusters"))]
# Calls of the same public function; all others are called as the function.
FUNCTION_OF = {
    "default_interval": "interval", "table": "summary", "latex_table": "summary",
    "to_markdown": "summary", "to_word": "summary",
    "summary_of_fit": "summary", "monitor_add": "Monitor.add",
}  # fmt: skip


def _kinds_of(*types):
    return [kind for kind in KINDS if type_name(kind) in types]


# Cells that should work: the call, what goes wrong today, and the kinds.
FAILING: list[tuple[str, str, list[str]]] = []


def _is_unsupported(kind, call):
    function, design = FUNCTION_OF.get(call, call), kind.rpartition(" in ")[2]
    return any(
        function in entry.functions
        and type_name(kind) in (entry.types or MEASURES)
        and (not entry.designs or design in entry.designs)
        for entry in UNSUPPORTED
    )


def _unsupported():
    return [(kind, call) for call in CALLS for kind in KINDS if _is_unsupported(kind, call)]


def _supported():
    others = {*_unsupported()}
    every = [(kind, name) for kind in KINDS for name in CALLS if (kind, name) not in others]
    return [(kind, name) for kind, name in every if kind in SEVERAL or name not in OF_SEVERAL]


def _marked(cells):
    """Give cells with their marks: what is long, and what fails today."""
    failing = {(kind, call): words for call, words, kinds in FAILING for kind in kinds}
    for kind, name in cells:
        is_quick = kind in QUICK_KINDS and name not in LONG_CALLS
        marks = [] if is_quick else [pytest.mark.long]
        if words := failing.get((kind, name)):
            marks.append(pytest.mark.xfail(reason=words, strict=True))
        yield pytest.param(kind, name, id=f"{kind}: {name}", marks=marks)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("kind", "name"), list(_marked(_supported())))
def test_a_call_has_a_sensible_result(kind, name, tmp_path):
    CALLS[name](kind, tmp_path)


@pytest.mark.parametrize(("kind", "name"), list(_marked(_unsupported())))
def test_an_unsupported_call_is_refused(kind, name, tmp_path):
    with pytest.raises((ValueError, TypeError), match=r"\w+ \w+ \w+"):
        CALLS[name](kind, tmp_path)


def test_the_cells_that_fail_are_cells():
    failing = {(kind, call) for call, _, kinds in FAILING for kind in kinds}
    assert failing <= {*_supported(), *_unsupported()}


def test_the_table_of_unsupported_combinations_is_of_functions_and_types():
    functions = {FUNCTION_OF.get(name, name) for name in CALLS}
    for entry in UNSUPPORTED:
        assert {*entry.functions} <= functions
        assert {*entry.types} <= {*MEASURES}
        assert {*entry.designs} <= {"folds", "groups", "clusters"}
        assert entry.reason.endswith(".")
        assert any(_is_unsupported(kind, name) for kind in KINDS for name in CALLS)


def test_every_type_has_kinds():
    assert {*MEASURES, "fit"} == {entry.name for entry in TYPES}
    assert all(type_of(evidence(kind)).name == type_name(kind) for kind in KINDS)


# Functions of evidence that ask what only some designs have, and have tests of their own.
OF_SOME_DESIGNS = {
    "at_prevalence", "gap", "item_table", "plot_calibration", "plot_matrix", "plot_roc",
    "worst_slices",
}  # fmt: skip


def test_every_public_function_of_evidence_is_called():
    functions = {name: getattr(bcm, name) for name in bcm.__all__ if callable(getattr(bcm, name))}
    of_evidence = {
        name
        for name, each in functions.items()
        if next(iter(signature(each).parameters)) == "evidence"
    }
    assert of_evidence - OF_SOME_DESIGNS - {"save"} <= {*CALLS}
    assert not OF_SOME_DESIGNS & {*CALLS}


@pytest.mark.parametrize(
    "broken",
    [
        {"lower": [0.1, 0.7]},  # above the mean
        {"mean": [np.nan, 0.5]},
        {"upper": [0.9, np.inf]},
    ],
)
def test_a_table_that_makes_no_sense_is_noticed(broken):
    table = pd.DataFrame({"lower": [0.1, 0.2], "mean": [0.4, 0.5], "upper": [0.9, 0.8]})
    is_ordered(table)
    with pytest.raises(AssertionError):
        is_ordered(table.assign(**broken))
    with pytest.raises(AssertionError):
        is_ordered(table.head(0))
