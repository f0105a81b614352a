"""MLflow: metrics, report and tree of a run."""

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
    Log the answers of some evidence to the active run of MLflow.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or path
        Anything that `bayescm.summary` takes: its metrics are logged, a report of it, and, of a
        fit, the tree itself. Of a path (a report that was written) the file, as an artifact.
    measures : str, callable or a sequence of these, optional
        By default those of `bayescm.summary`.
    report : bool, default True
        Whether to log a report too, as ``bayescm/report.html``.
    prefix : str
        Put before the names of the metrics: ``"test/"``.
    prob, kind, of, n, model, concentration, positive, draws, random_seed, **keywords
        See `bayescm.interval`.

    Returns
    -------
    dict of str to float
        What was logged as metrics. MLflow allows fewer characters in a name than classes have:
        others become ``_``; a measure that is not defined is left out.

    Raises
    ------
    ImportError
        If MLflow is not installed.
    ValueError
        If no run is active, or two metrics would get one name.

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
        todo = "pip install 'bayescm[mlflow]'"
        raise fail("MLflow is not installed", ..., "", todo, ImportError) from None
    if mlflow.active_run() is None:
        todo = "with mlflow.start_run(): bcm.mlflow.log(...)"
        raise fail("no run of MLflow is active", ..., "", todo)
    return mlflow


def _renamed(metrics, prefix):
    """Return the metrics that have a value, under names that MLflow allows."""
    renamed: dict[str, float] = {}
    for name, value in metrics.items():
        allowed = prefix + re.sub(r"[^\w\-./ ]", "_", name)
        if allowed in renamed:
            raise fail("two metrics have one name", allowed, "different names", "rename the parts")
        if value == value:
            renamed[allowed] = value
    return renamed
