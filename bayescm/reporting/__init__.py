"""Reports of evidence as a document for readers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from bayescm.validate import check_choice, check_kind, check_prob, fail

if TYPE_CHECKING:
    from bayescm.measures.display_names import DisplayNames


def report(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree | Mapping[Any, Any],
    path: str | Path,
    *,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    title: str | None = None,
    prob: float = 0.95,
    kind: str = "hdi",
    rope: float = 0.0,
    scores: xr.Dataset | None = None,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    source: str | Path | None = None,
    checklist: str | None = None,
    meta_analysis: bool = False,
    interactive: bool = False,
    progressbar: bool | None = None,
    display_names: "DisplayNames" = None,
    **keywords: Any,
) -> Path:
    """
    Write a report with results, methods and cautions to a file.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or mapping
        Counts, outcomes of several classifiers, scores, results on several data sets, or a fit. For
        several data sets ``{"wdbc": ..., "heart": ...}``, the report has a section per data set and
        a table of the ranks of the classifiers.
    path : str or Path
        Path that ends in ``.html`` (one self-contained file), ``.md`` (plots in ``<name>_files/``),
        ``.tex`` (booktabs tables, PDF figures in ``<name>_files/``) or ``.docx`` (requires the
        extra ``docx``). Existing files are overwritten.
    measures : str, callable or a sequence of these, optional
        Measures to report. By default a selection that suits the evidence.
    title : str, optional
        Title of the report.
    prob, kind : float, str
        Probability and kind of the intervals.
    rope : float, default 0
        Half width of the region of practical equivalence in comparisons of classifiers.
    scores : Dataset, optional
        Scores of the same examples, to add curves to the report.
    of, n, model, concentration, positive, draws
        See `bayescm.interval`.
    random_seed : int, default 0
        Seed of all random draws.
    source : path, optional
        Source file of the evidence. The report states its name and SHA-256.
    checklist : {"stard", "tripod"}, optional
        Guideline, STARD 2015 or TRIPOD+AI. For each item, the report states where it is reported,
        or that the authors must report it.
    meta_analysis : bool, default False
        Whether groups with two classes are studies of a diagnostic test. If so, the report uses
        medical terms. It contains the table of studies, the typical study, the population mean and
        a new study, heterogeneity (I2, standard deviations, correlation, and effects of
        ``covariates=``), the summary ROC curve, and a forest plot. Groups are not ranked.
    interactive : bool, default False
        For ``.html`` only: forest plots, matrices and curves show their numbers on hover. The page
        contains plotly's script (5 MB) and loads no external resources. Requires the extra
        ``interactive``.
    progressbar : bool, optional
        Whether to show the progress. By default in terminals and notebooks.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure"}``. Measures
        requested by an alias, such as ``"sensitivity"``, keep this name throughout the report.
    **keywords
        Further keywords of the model. See `bayescm.interval`.

    Returns
    -------
    Path
        Path of the report.

    Raises
    ------
    ValueError
        If the path is not writable or has an unknown suffix, if a measure is unknown, or if all
        measures are undefined. In these cases, no file is written.
    ImportError
        If a required extra is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = report(counts, f"{folder}/report.md", measures=["recall", "f1"])
    ...     print(path.read_text().splitlines()[0])
    # Evaluation of a classifier
    """
    from bayescm.evidence.registry import is_members, type_of
    from bayescm.measures.display_names import check_display_names, displaying, names_in_call
    from bayescm.measures.labelled import several
    from bayescm.reporting import methods, render
    from bayescm.reporting.data_sets import sections_of_data_sets
    from bayescm.reporting.meta_analysis import TITLE, MetaAnalysisRecipe, medical_names
    from bayescm.reporting.progress import showing_progress
    from bayescm.reporting.recipe import sections_of

    path = render.check_path(path, interactive=interactive)
    check_prob(prob), check_kind(kind)
    if checklist is not None:
        check_choice("checklist", checklist, methods.CHECKLISTS)
    data_sets = evidence if is_members(evidence) else None
    if data_sets is not None:
        _check_data_sets(data_sets, scores, meta_analysis, checklist)
    first = evidence if data_sets is None else next(iter(data_sets.values()))
    of_examples = type_of(first).unit == "examples"
    settings = {"prob": prob, "kind": kind, "rope": rope, "random_seed": random_seed}
    asked = {"n": n, "model": model, "concentration": concentration, "positive": positive}
    asked |= {"of": None if of == "parameter" else of, "draws": draws}
    keywords |= {name: value for name, value in asked.items() if value is not None}
    origin = methods.origin(source)
    heading = "Evaluation of a classifier" if of_examples else "Evaluation"
    in_call = [] if measures is None else several(measures)
    written = names_in_call(in_call)
    if meta_analysis:
        _check_meta_analysis(scores, rope, checklist)
        heading, written = TITLE, medical_names(in_call) | written
    written |= check_display_names(display_names)
    with showing_progress(progressbar), render.own_figures(), displaying(written):
        if meta_analysis:
            sections = MetaAnalysisRecipe(evidence, measures, settings, keywords).sections()
        elif data_sets is not None:
            sections = sections_of_data_sets(data_sets, measures, settings, keywords)
        else:
            sections = sections_of(evidence, measures, scores, settings, keywords)
        sections[0].sentences += origin
        methods.add_paragraph(sections, prob, kind)
        if checklist is not None:
            sections.append(methods.checklist(checklist, sections))
        render.write(path, title or heading, sections, interactive=interactive)
    return path


def _check_data_sets(data_sets, scores, meta_analysis, checklist):
    """Raise an error for arguments that support only a single data set."""
    if not data_sets:
        raise fail("No data sets are given", ..., "", 'pass e.g. {"wdbc": counts, "heart": counts}')
    given = {"scores": scores is not None, "meta_analysis": meta_analysis}
    given |= {"checklist": checklist is not None}
    for name in [name for name, is_given in given.items() if is_given]:
        raise fail(
            f"`{name}` is for a report on one data set, but {len(data_sets)} are given",
            ...,
            "",
            f"leave `{name}` out, or write one report per data set",
        )


def _check_meta_analysis(scores, rope, checklist):
    """Raise an error for arguments that a meta-analysis does not support."""
    if scores is not None or rope:
        name = "rope" if scores is None else "scores"
        raise fail(f"`{name}` has no effect on a meta-analysis", ..., "", f"leave `{name}` out")
    if checklist is not None:
        raise fail(
            f"{checklist} is a checklist for a single study, not for a meta-analysis",
            ...,
            "",
            "leave `checklist` out; the guideline for meta-analyses of tests is PRISMA-DTA",
        )
