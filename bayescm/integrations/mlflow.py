"""MLflow: logging of metrics, reports and fits."""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xarray as xr

import bayescm as bcm
from bayescm.answers.summary import as_metrics
from bayescm.validate import fail

__all__ = ["log"]


def log(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree | str | Path,
    measures: Any = None,
    *,
    report: bool = True,
    prefix: str = "",
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> dict[str, float]:
    """
    Log metrics, a report and the fit, if any, to the active MLflow run.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or path
        Any evidence that `bayescm.summary` supports. Its metrics and a report are logged and, for a
        fit, the tree itself. If the path of an existing report is passed, this file is logged as an
        artifact.
    measures : str, callable or a sequence of these, optional
        Measures, by default the same as for `bayescm.summary`.
    report : bool, default True
        Whether to log a report as ``bayescm/report.html``.
    prefix : str
        Prefix of the metric names, such as ``"test/"``.
    prob, kind, of, n, model, concentration, positive, draws, random_seed, **keywords
        See `bayescm.interval`.

    Returns
    -------
    dict of str to float
        Logged metrics. Characters that MLflow does not allow in names are replaced by ``_``.
        Undefined measures are omitted.

    Raises
    ------
    ImportError
        If MLflow is not installed.
    ValueError
        If no run is active, or if two metrics would have the same name.

    Examples
    --------
    Within a run of MLflow::

        with mlflow.start_run():
            bcm.mlflow.log(counts, ["precision", "recall"])
    """
    mlflow = _mlflow()
    if isinstance(evidence, (str, Path)):
        mlflow.log_artifact(str(evidence), "bayescm")
        return {}
    asked: dict[str, Any] = {"prob": prob, "kind": kind, "of": of, "n": n, "draws": draws}
    asked |= {"random_seed": random_seed, "model": model, "concentration": concentration}
    asked |= {"positive": positive, **keywords}
    metrics = _renamed(as_metrics(evidence, measures, **asked), prefix)
    mlflow.log_metrics(metrics)
    mlflow.set_tag("bayescm.version", bcm.__version__)
    with tempfile.TemporaryDirectory() as folder:
        if report:
            names = {} if measures is None else {"measures": measures}
            bcm.report(evidence, Path(folder, "report.html"), **names, **asked)
        if isinstance(evidence, xr.DataTree):
            bcm.save(evidence, Path(folder, "fit.nc"))
        mlflow.log_artifacts(folder, "bayescm")
    return metrics


def _mlflow():
    try:
        import mlflow
    except ImportError:
        todo = "install it with pip install 'bayescm[mlflow]'"
        raise fail("MLflow is not installed", ..., "", todo, ImportError) from None
    if mlflow.active_run() is None:
        raise fail(
            "No MLflow run is active",
            ...,
            "",
            "start one: with mlflow.start_run(): bcm.mlflow.log(...)",
        )
    return mlflow


def _renamed(metrics, prefix):
    """Return the defined metrics, under names that MLflow allows."""
    renamed: dict[str, float] = {}
    for name, value in metrics.items():
        allowed = prefix + re.sub(r"[^\w\-./ ]", "_", name)
        if allowed in renamed:
            raise fail("Two metrics have the name {}", allowed, "", "rename the parts")
        if value == value:
            renamed[allowed] = value
    return renamed
