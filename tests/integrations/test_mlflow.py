import os

import numpy as np
import pytest

import bayescm as bcm

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
SITES = bcm.from_cells(tp=[65, 5], fn=[15, 6], fp=[35, 9], tn=[30, 20]).rename(batch="site")
SITES = SITES.assign_coords(site=["A", "B&C"])


def test_metrics_are_those_of_the_summary():
    result = bcm.answers.as_metrics(COUNTS, ["f1", "recall"], prob=0.9, kind="eti")
    table = bcm.summary(COUNTS, ["f1", "recall"], prob=0.9, kind="eti").set_index("measure")
    for name, value in result.items():
        measure, number = name.split("/")
        assert type(value) is float
        assert value == table.loc[measure, number]
    assert len(result) == 8


def test_a_table_is_as_good_as_its_evidence():
    table = bcm.summary(SITES, "recall")
    assert bcm.answers.as_metrics(table) == bcm.answers.as_metrics(SITES, "recall")
    with pytest.raises(ValueError, match="has no effect on a finished table"):
        bcm.answers.as_metrics(table, "f1")


def test_every_part_has_metrics_of_its_own():
    result = bcm.answers.as_metrics(SITES, "recall")
    assert set(result) == {
        f"site={site}/recall/{number}"
        for site in ("A", "B&C")
        for number in ("point", "mean", "lower", "upper")
    }
    classes = bcm.answers.as_metrics(bcm.from_predictions(list("abcabc"), list("abcaba")), "f1")
    assert "class=a/f1/lower" in classes


@pytest.mark.long
def test_mlflow_gets_metrics_report_and_tree(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    # A server's address, to try a real one: mlflow server --port 5001
    server = os.environ.get("BAYESCM_TEST_MLFLOW", f"{tmp_path.as_uri()}/runs")
    mlflow.set_tracking_uri(server)
    tree = bcm.fit(COUNTS, draws=100, random_seed=1)
    with mlflow.start_run() as run:
        bcm.mlflow.log(SITES, "recall", report=False)
        logged = bcm.mlflow.log(tree, ["f1"], prefix="test/", report=False)
        bcm.mlflow.log(COUNTS, ["f1"], prefix="counts/")
    client = mlflow.MlflowClient()
    metrics = client.get_run(run.info.run_id).data.metrics
    assert (
        metrics["site_B_C/recall/lower"]
        == bcm.answers.as_metrics(SITES, "recall")["site=B&C/recall/lower"]
    )
    assert logged.items() <= metrics.items()
    files = {each.path for each in client.list_artifacts(run.info.run_id, "bayescm")}
    assert files == {"bayescm/report.html", "bayescm/fit.nc"}
    back = bcm.load(client.download_artifacts(run.info.run_id, "bayescm/fit.nc"))
    np.testing.assert_array_equal(back["posterior"]["theta"], tree["posterior"]["theta"])


@pytest.mark.long
def test_without_a_run_nothing_is_logged(monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    assert mlflow.active_run() is None
    with pytest.raises(ValueError, match="No MLflow run is active"):
        bcm.mlflow.log(COUNTS)


def test_without_mlflow_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mlflow", None)
    with pytest.raises(ImportError, match=r"bayescm\[mlflow\]"):
        bcm.mlflow.log(COUNTS)
