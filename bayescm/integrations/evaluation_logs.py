"""Import of logs of language model evaluations: LM Evaluation Harness and Inspect."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from bayescm.evidence.attempts import from_attempts
from bayescm.evidence.item_scores import from_item_scores
from bayescm.evidence.json_files import JsonTable
from bayescm.validate import check_choice, check_column, fail, suggest

__all__ = ["inspect", "lm_eval"]

# Name of a sample file: samples_<task>_<date>.jsonl, in one folder per model.
_SAMPLES = re.compile(r"samples_(?P<task>.+?)(_\d{4}-\d{2}-\d{2}T[\d.-]+)?\.jsonl(\.\w+)?")


def lm_eval(
    paths: str | Path | Sequence[str | Path],
    *,
    metric: str | None = None,
    filter: str | None = None,
    range: tuple[float, float] | None = None,
) -> xr.Dataset:
    r"""
    Return evidence from sample files of the LM Evaluation Harness.

    The harness writes these files if it is run with ``--log_samples``.

    Parameters
    ----------
    paths : str, Path or sequence of these
        Files ``samples_<task>_<date>.jsonl``, or folders that are searched for such files. The name
        of a file's folder is the name of its model. Several files of the same model and task are
        treated as repeated runs.
    metric : str, optional
        Metric of each document, such as ``"acc"`` or ``"exact_match"``. By default the only metric
        in the files.
    filter : str, optional
        Filter of the answers, such as ``"strict-match"``. By default the only filter in the files.
    range : (float, float), optional
        Lowest and highest possible value of a metric with values other than 0 and 1. See
        `bayescm.from_item_scores`.

    Returns
    -------
    Dataset
        Attempts (`bayescm.from_attempts`) if all values are 0 or 1, otherwise item scores
        (`bayescm.from_item_scores`). Items are documents, matched by their hashes. Several models
        form the dimension ``classifier``, and several tasks are slices along ``task``.

    Raises
    ------
    FileNotFoundError
        If a path does not exist, or a folder contains no sample files.
    ValueError
        If the files contain several metrics or filters and none is named, or lack document hashes.

    Examples
    --------
    >>> import json, tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "my-model"
    >>> folder.mkdir()
    >>> facts = {"filter": "none", "metrics": ["acc"]}
    >>> rows = [{"doc_id": i, "doc_hash": f"h{i}", "acc": i % 2, **facts} for i in (0, 1, 2)]
    >>> file = folder / "samples_arc_2026-01-31T12-00-00.000000.jsonl"
    >>> _ = file.write_text("\n".join(map(json.dumps, rows)))
    >>> dict(lm_eval(folder, metric="acc").sizes)
    {'item': 3, 'attempt': 1}
    """
    files = _sample_files([paths] if isinstance(paths, str | Path) else list(paths))
    named = {path: _model_and_task(path) for path in files}
    tables = [JsonTable(path).frame.assign(**facts) for path, facts in named.items()]
    frame = pd.concat(tables, ignore_index=True)
    _check_columns(frame, ["doc_id", "doc_hash", "metrics"], files[0])
    frame = _of_filter(frame, filter)
    metrics = sorted({name for names in frame["metrics"] for name in names})
    metric = _the_only_one("metric", metric, metrics)
    if frame[metric].isna().any():
        lacking = sorted(set(frame.loc[frame[metric].isna(), "task"]))
        todo = "pass the files of tasks with this metric"
        raise fail(f"Some documents have no value of {metric}: {{}}", lacking, "", todo)
    # Duplicates of a document in a data set have the same hash, but are separate items.
    copy = frame.groupby(["path", "doc_hash"]).cumcount()
    item = frame["doc_hash"].astype(str) + ("#" + (copy + 1).astype(str)).where(copy > 0, "")
    return _as_evidence(frame.assign(item=item, score=frame[metric]), range)


def inspect(
    logs: Any,
    *,
    scorer: str | None = None,
    passing: Sequence = ("C",),
    errors: str | None = None,
    group: str | None = None,
    range: tuple[float, float] | None = None,
) -> xr.Dataset:
    """
    Return evidence from logs of Inspect (inspect_ai).

    Parameters
    ----------
    logs : str, Path, or whatever ``inspect_ai.analysis.samples_df`` accepts
        A log, a folder of logs, or several of these.
    scorer : str, optional
        Name of the scorer. By default the only scorer in the logs.
    passing : sequence, default ("C",)
        Letter grades that are treated as right. Use ``("C", "P")`` to include partially right
        answers.
    errors : {"wrong", "missing"}, optional
        Whether a sample that ended in an error is treated as a wrong answer or a missing attempt.
        Required if there are such samples.
    group : str, optional
        Column with clusters of items, such as ``"metadata_document"``.
    range : (float, float), optional
        Lowest and highest possible score, for scores other than letters, 0 and 1.

    Returns
    -------
    Dataset
        Attempts if the scores are letters or 0 and 1, otherwise item scores. Epochs are attempts.
        Several models form the dimension ``classifier``, and several tasks are slices along
        ``task``.

    Raises
    ------
    ImportError
        If inspect_ai is not installed.
    ValueError
        If there are several scorers and none is named, or if samples ended in an error and
        ``errors`` is not given.
    """
    try:
        from inspect_ai.analysis import EvalModel, EvalTask, SampleSummary, samples_df
    except ImportError:
        raise fail(
            "Reading logs of Inspect needs the package inspect_ai",
            ...,
            "",
            "install it with pip install inspect_ai",
            ImportError,
        ) from None
    if errors is not None:
        check_choice("errors", errors, ["wrong", "missing"])
    frame = samples_df(logs, columns=[*SampleSummary, *EvalModel, *EvalTask], quiet=True)
    return evidence_of_samples(
        frame, scorer=scorer, passing=passing, errors=errors, group=group, range=range
    )


def evidence_of_samples(
    frame: pd.DataFrame,
    *,
    scorer: str | None = None,
    passing: Sequence = ("C",),
    errors: str | None = None,
    group: str | None = None,
    range: tuple[float, float] | None = None,
) -> xr.Dataset:
    """Convert the data frame of ``inspect_ai.analysis.samples_df`` to evidence. See `inspect`."""
    scorers = [
        str(name).removeprefix("score_")
        for name in frame
        if str(name).startswith("score_") and frame[name].notna().any()
    ]
    if not scorers:
        todo = "run the evaluation with a scorer"
        raise fail("No sample in the logs has a score", ..., "", todo)
    scorer = _the_only_one("scorer", scorer, scorers)
    scores = frame[f"score_{scorer}"].astype(object)
    # Text of the error, empty if there was none.
    failed = frame["error"].fillna("").astype(str) != ""
    if failed.any() and errors is None:
        what = f"{int(failed.sum())} of {len(frame)} samples ended in an error"
        todo = 'pass errors="wrong" to count them as wrong, or errors="missing" to leave them out'
        raise fail(what, ..., "", todo)
    if errors is not None and not failed.any():
        raise fail(
            "`errors` has no effect, because no sample ended in an error",
            ...,
            "",
            "leave `errors` out",
        )
    letters = scores.map(lambda value: isinstance(value, str) and not _is_numeric(value))
    if letters.any():
        unknown = sorted(set(scores[letters]) - {"C", "I", "P", "N", *passing})
        if unknown:
            raise fail(
                f"{scorer} gave unknown grades: {{}}",
                unknown,
                "C, I, P or N",
                "pass passing=[...] with the grades that count as correct",
            )
        graded = scores.isin(list(passing)).astype(float)
        scores = graded.where(scores.notna())
    else:
        scores = pd.to_numeric(scores)
    if errors == "wrong":
        scores = scores.mask(failed, 0.0)
    elif errors == "missing":
        scores = scores.mask(failed)
    columns = {"item": frame["id"].astype(str), "score": scores, "system": frame["model"]}
    columns["task"] = frame.get("task_name", "")
    if "epoch" in frame:
        columns["attempt"] = frame["epoch"]
    if group is not None:
        columns["group"] = frame[check_column(group, frame)]
    return _as_evidence(pd.DataFrame(columns), range)


def _is_numeric(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _sample_files(paths):
    """Return the sample files at the given paths, including those in folders."""
    files = []
    for path in map(Path, paths):
        if path.is_dir():
            found = sorted(file for file in path.rglob("samples_*.jsonl*"))
            if not found:
                todo = "run lm_eval with --log_samples"
                raise fail(
                    "The folder {} has no files samples_<task>_<date>.jsonl",
                    str(path),
                    "",
                    todo,
                    FileNotFoundError,
                )
            files += found
        elif path.is_file():
            files.append(path)
        else:
            todo = "check the path"
            raise fail("The file {} does not exist", str(path), "", todo, FileNotFoundError)
    if not files:
        raise fail("No paths are given", ..., "", "pass the folder of results")
    return list(dict.fromkeys(files))


def _model_and_task(path):
    match = _SAMPLES.fullmatch(path.name)
    if match is None:
        raise fail(
            "{} is not named like a sample file, samples_<task>_<date>.jsonl",
            path.name,
            "",
            "pass files with the names that lm_eval gives them, or use from_attempts "
            "without `metric`",
        )
    return {"system": path.resolve().parent.name, "task": match["task"], "path": str(path)}


def _check_columns(frame, names, path):
    missing = [name for name in names if name not in frame or frame[name].isna().any()]
    if missing:
        raise fail(
            f"`records` of {path.name} lack the fields {{}}",
            missing,
            "",
            "run lm_eval with --log_samples, in a version that writes these fields",
        )


def _of_filter(frame, filter):
    """Return the records of one filter. Each document has one record per filter."""
    if "filter" not in frame:
        if filter is not None:
            raise fail(
                "`filter` has no effect, because the files name no filter",
                ...,
                "",
                "leave `filter` out",
            )
        return frame
    name = _the_only_one("filter", filter, sorted(set(frame["filter"])))
    return frame[frame["filter"] == name]


def _the_only_one(argument, name, names):
    """Return the name after checking it, or the only name if none is given."""
    if name is None:
        if len(names) != 1:
            raise fail(
                f"The files have several values of `{argument}`: {{}}",
                names,
                "",
                f"choose one, e.g. `{argument}={names[0]!r}`",
            )
        return names[0]
    if name not in names:
        raise fail(f"Unknown {argument} {{}}", name, names, suggest(name, names))
    return name


def _as_evidence(frame, range):
    """Return attempts if all scores are 0 or 1, otherwise item scores."""
    tasks = set(frame["task"])
    if len(tasks) > 1:
        frame = frame.assign(item=frame["task"] + "/" + frame["item"])
    columns: dict[str, Any] = {"item": "item", "by": "task" if len(tasks) > 1 else None}
    columns["system"] = "system" if frame["system"].nunique() > 1 else None
    columns["group"] = "group" if "group" in frame else None
    if frame["score"].dropna().isin([0, 1]).all():
        if range is not None:
            raise fail(
                "`range` has no effect, because all scores are 0 or 1", ..., "", "leave `range` out"
            )
        attempt = "attempt" if "attempt" in frame else None
        return from_attempts(frame, correct="score", attempt=attempt, **columns)
    return from_item_scores(frame, score="score", range=range, **columns)
