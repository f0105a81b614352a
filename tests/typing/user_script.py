"""A user's script: it runs, and type checkers find nothing to complain of nor anything untyped."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import assert_type

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

import bayescm as bcm


def net_benefit(cells: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a measure of the user's own."""
    total: npt.NDArray[np.float64] = cells.sum((-2, -1))
    return (cells[..., 1, 1] - cells[..., 0, 1] / 4) / total


def main() -> None:
    # Evidence
    counts = assert_type(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), xr.DataArray)
    matrix = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
    truth = [1, 0, 1, 1, 0, 0, 1, 0]
    answers = {"a": [1, 0, 0, 1, 0, 1, 1, 0], "b": [1, 1, 1, 1, 0, 0, 0, 0]}
    one = bcm.from_predictions(truth, answers["a"], positive=1)
    both = assert_type(bcm.from_classifiers(truth, answers, positive=1), xr.Dataset)
    frame = pd.DataFrame({"y": truth, "a": answers["a"]})
    same = bcm.from_frame(frame, actual="y", predicted="a", positive=1)
    scores = assert_type(
        bcm.from_scores(truth, [0.9, 0.1, 0.4, 0.8, 0.3, 0.6, 0.7, 0.2]), xr.Dataset
    )
    elsewhere = bcm.at_prevalence(counts, 0.1)

    # Answers
    ends = assert_type(bcm.interval(counts, "f1", prob=0.9, kind="eti"), xr.DataArray)
    table = assert_type(bcm.summary(counts, ["precision", net_benefit]), pd.DataFrame)
    recall_distribution = bcm.distribution(counts, "recall")
    assert_type(recall_distribution.mean(), xr.DataArray)
    assert_type(recall_distribution.skewness(), xr.DataArray)
    assert_type(bcm.distribution(counts, "recall").cdf(0.8), xr.DataArray)
    assert_type(bcm.distribution(counts, "recall").quantile(0.5), xr.DataArray)
    assert_type(bcm.prob_above(counts, "recall", 0.8), xr.DataArray)
    assert_type(bcm.answers.proportion(9, 1), xr.DataArray)
    differences = assert_type(bcm.compare(both, ["accuracy", "f1"], rope=0.01), pd.DataFrame)
    assert_type(bcm.ranks(both, "accuracy"), pd.DataFrame)
    assert_type(bcm.answers.region(counts, ("recall", "precision")), xr.Dataset)
    assert_type(bcm.answers.correlation(counts, ["recall", "precision"]), xr.Dataset)
    assert_type(bcm.plan("recall", expect=0.85, width=0.2), pd.DataFrame)
    assert_type(bcm.planning.plan_comparison(difference=0.1, agreement=0.8), pd.DataFrame)

    # Measures
    recall = assert_type(bcm.measures.recall, bcm.measures.Measure)
    loss = bcm.measures.measure(net_benefit, lower_is_better=True, range=(0, 1))
    assert_type(bcm.measures.names(), list[str])

    # Models and fits
    model = bcm.models.dirichlet_multinomial(counts)
    tree = assert_type(bcm.fit(counts, draws=50, progressbar=False), xr.DataTree)
    assert_type(bcm.measure(tree, ["f1", "recall"]), xr.Dataset)
    with TemporaryDirectory() as folder:
        bcm.save(tree, Path(folder) / "fit.nc")
        loaded = bcm.load(Path(folder) / "fit.nc")
        assert_type(loaded, xr.DataTree | xr.DataArray | xr.Dataset)
        assert_type(bcm.report(counts, Path(folder) / "report.md", measures="f1"), Path)

    # Curves, online, priors, classical
    assert_type(bcm.curves.auc(scores), xr.DataArray)
    assert_type(bcm.curves.roc(scores), xr.Dataset)
    weeks = bcm.from_cells(tp=[9, 8], fn=[1, 2], fp=3, tn=7).rename(batch="step")
    history = assert_type(bcm.online.history(weeks, "recall"), xr.Dataset)
    alarms = assert_type(bcm.online.alarms(weeks, "recall", floor=0.5), pd.DataFrame)
    monitor = bcm.online.Monitor("sqlite://", "fraud")
    assert_type(monitor.add("monday", weeks[0]), bool)
    prior = assert_type(
        bcm.priors.elicit(recall=0.7, specificity=0.8, prevalence=0.5, weight=20), xr.DataArray
    )
    assert_type(bcm.classical.delta(counts, "f1"), xr.Dataset)

    # Plots
    figures: list[Figure] = [
        bcm.plot_posterior(counts, ["f1", "recall"], reference=0.7),
        bcm.plot_forest(counts, ["f1", "recall"]),
        bcm.plot_matrix(counts),
        bcm.plots.plot_region(counts),
        bcm.plot_differences(differences),
        bcm.plot_history(history, batches=weeks, alarms=alarms),
        bcm.plots.plot_prior_posterior(tree, "f1"),
        bcm.plots.plot_priors(counts, {"flat": 1.0, "experts": prior}, "f1"),
        bcm.plot_roc(scores),
    ]


if __name__ == "__main__":
    main()
