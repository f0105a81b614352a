"""Methods in reports: facts about the computation, a methods paragraph, and checklists.

Checklist items are paraphrased and refer to the published lists, which contain the full wording.
For items of TRIPOD+AI that apply only to development or only to evaluation, this is stated in
brackets.

References
----------
Bossuyt, P. M. et al. (2015). STARD 2015: an updated list of essential items for reporting
diagnostic accuracy studies. BMJ 351, h5527. doi:10.1136/bmj.h5527

Collins, G. S. et al. (2024). TRIPOD+AI statement: updated guidance for reporting clinical
prediction models that use regression or machine learning methods. BMJ 385, e078378.
doi:10.1136/bmj-2023-078378
"""

import hashlib
import importlib.metadata
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.distributions.dirichlet import default_concentration
from bayescm.evidence.counts import align
from bayescm.evidence.files import local_path
from bayescm.evidence.trees import variables_of
from bayescm.measures.display_names import display_dim, plural
from bayescm.reporting.sections import Section, Table

_PACKAGES = ["bayescm", "numpy", "scipy", "xarray"]
_AUTHORS = "to be written by the authors"


def of_counts(model: Any, prior: np.ndarray | None, seed: int, posterior: Any = None) -> dict:
    """Return the model, the prior and its weight, the seed and the versions."""
    return {"Model": _name(model), "Prior": _describe(prior, posterior), "Seed": seed} | versions()


def of_fit(tree: xr.DataTree, prior: np.ndarray | None, posterior: Any) -> dict:
    """Return the model, prior, draws and versions of a fit, with diagnostics of its chains."""
    sizes, method = tree["posterior"].sizes, tree.attrs.get("sampling_method", "sampled")
    draws = f"{sizes['chain']} chains of {sizes['draw']} draws, {method}"
    if method != "nuts" and "sampling_method" in tree.attrs:
        draws = f"{sizes['chain'] * sizes['draw']:,} draws ({method})"
    model = _name(tree.attrs.get("model", "not named"))
    facts = {"Model": model, "Prior": _describe(prior, posterior), "Draws": draws}
    return facts | diagnostics(tree) | versions("pymc", "arviz")


def covariates(keywords: Mapping[str, Any]) -> str:
    """Return the covariates of groups, with their values for the typical and a new group."""
    values = keywords.get("covariates")
    if not isinstance(values, Mapping):
        return ""
    # Whole numbers are shown without a decimal point.
    texts = {k: f"{v:.15g}" if isinstance(v, float) else str(v) for k, v in values.items()}
    return ", ".join(f"{display_dim(name)} {text}" for name, text in texts.items())


def facts(model: str | Callable, seed: int) -> dict:
    """Return the name, the seed and the versions for a model whose prior is not described."""
    return {"Model": _name(model), "Seed": seed} | versions()


def versions(*more: str) -> dict:
    """Return the versions of the software, and the date."""
    numbers = [f"{name} {importlib.metadata.version(name)}" for name in (*_PACKAGES, *more)]
    return {"Versions": ", ".join(numbers), "Date": today()}


def today():
    """Return the date (UTC, ISO 8601), from SOURCE_DATE_EPOCH for reproducible reports."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    when = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return when.date().isoformat()


def _name(model):
    return model if isinstance(model, str) else getattr(model, "__name__", "a custom model")


def prior_of(counts: xr.DataArray, concentration: Any) -> np.ndarray | None:
    """
    Return the prior pseudo-counts, shape (..., C, C), or None if the model has no such prior.

    Leading axes, if any, are dimensions of the counts with separate priors: folds, classifiers or
    groups.
    """
    if callable(concentration):
        return None
    size = counts.sizes["actual"]
    values = align(concentration, counts)
    values = default_concentration(size) if values is None else values
    values = np.asarray(values, float) + np.zeros((size, size))
    tables = values.reshape(-1, size, size)
    return tables[0] if (tables == tables[0]).all() else values


def _describe(prior, posterior):
    """Describe the weight of a prior, in each fold or group if the model does not pool them."""
    if prior is None:
        return "the model's own (see its documentation)"
    dims = ("group", "fold") if posterior is not None else ()
    for_each = "".join(f" for each {dim}" for dim in dims if dim in posterior.template.dims)
    totals = prior.sum(axis=(-2, -1))
    weight = f"{np.min(totals):.4g}" + (f" to {np.max(totals):.4g}" if np.ptp(totals) > 0 else "")
    total = f"worth {weight} examples in all{for_each}"
    if np.ptp(prior) > 0:
        return f"concentration from {prior.min():.4g} to {prior.max():.4g} per cell, {total}"
    pooled = [dim for dim in dims if posterior.estimands.get("finite") == f"theta_{dim}"]
    members = [plural(display_dim(dim)) for dim in pooled]
    spreads = "".join(f"; the spread of the {name} is estimated" for name in members)
    return f"concentration {prior.flat[0]:.4g} per cell, {total}{spreads}"


def diagnostics(tree: xr.DataTree) -> dict:
    """Return divergences, r-hat and effective sample size of a tree of chains."""
    if "sample_stats" not in tree.children:
        return {}
    import arviz as az

    name = variables_of(tree)["parameter"]
    table = az.summary(tree, var_names=[name], kind="diagnostics", round_to="none")
    diverging = tree["sample_stats"].get("diverging")
    divergences = 0 if diverging is None else int(diverging.sum())
    worst, least = table["r_hat"].max(), table["ess_bulk"].min()
    s = "" if divergences == 1 else "s"
    return {
        "Diagnostics": f"{divergences} divergence{s}, r-hat up to {worst:.3f}, ESS from {least:.0f}"
    }


def origin(source: str | Path | None) -> list[str]:
    """Return a sentence on the source file of the evidence."""
    if source is None:
        return []
    path = local_path(str(source).partition("::")[0])
    if path.is_dir():
        return [f"Read from the folder {path.name}."]
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return [f"Read from {path.name} (SHA-256 {digest})."]


def add_paragraph(sections: Sequence[Section], prob: float, kind: str) -> None:
    """Add the methods paragraph to the section on methods of computation."""
    default = "highest-density" if kind == "hdi" else "equal-tailed"
    for section in sections:
        if not section.facts:
            continue
        facts = section.facts
        intervals = facts.get("Intervals", default)
        prior = f", with the prior: {facts['Prior']}" if "Prior" in facts else ""
        draws = f", from {facts['Draws']}" if "Draws" in facts else ""
        model = f" under the model {facts['Model']}" if "Model" in facts else ""
        section.sentences.append(
            f"For a methods section: {100 * prob:.4g}% {intervals} intervals of the posterior "
            f"distribution were computed{model}{prior}{draws}, with Python "
            f"{platform.python_version()} and {facts['Versions']}."
        )


def checklist(name: str, sections: Sequence[Section]) -> Section:
    """
    Return the section on where each item of a guideline is reported.

    For other items, it states that the authors must report them.

    Parameters
    ----------
    name : {"stard", "tripod"}
    sections : sequence of Section
        Sections of the report.
    """
    guideline, text = CHECKLISTS[name]
    rows = [(*line.split("|"), "")[:3] for line in text.strip().splitlines()]
    reported_in = [_sections_of(places, sections) for *_, places in rows]
    frame = pd.DataFrame(
        {
            "item": [item for item, *_ in rows],
            "about": [topic for _, topic, _ in rows],
            "where": [
                f"here: {'; '.join(titles)}" if titles else _AUTHORS for titles in reported_in
            ],
        }
    )
    covered = sum(bool(titles) for titles in reported_in)
    line = (
        f"{covered} of {len(rows)} items are in this report, in part or whole; the others are not."
    )
    caption = f"{guideline}, its items in short; see the guideline for their full wording"
    return Section(f"{guideline}: where each item is", [line], [Table(caption, frame)])


def _sections_of(place, sections):
    """Return the titles of the sections that report an item."""
    return [
        section.title
        for section in sections
        if section.title.startswith(_PLACES.get(place, ()))
        and any(words in " ".join(section.sentences) for words in _WORDS.get(place, ("",)))
    ]


# Sections in which items are reported: possible beginnings of their titles, and words. Each
# section must contain at least one of its words.
_PLACES: dict[str, tuple[str, ...]] = {
    "evaluated": ("What was evaluated",),
    "no answer": ("What was evaluated",),
    "centres": ("What was evaluated",),
    "computed": ("How it was computed",),
    "accuracy": (
        "What is known",
        "The prediction model",
        "Curves",
        "Each class",
        "Site by site",
        "Which is better",
    ),
    "groups": ("The gaps between groups", "Which groups are worse", "Site by site"),
    "limitations": ("Uncertain results", "Cautions"),
}
_WORDS = {"no answer": ("marks abstentions",), "centres": (" sites.", " groups.")}
_STARD = """
1|title or abstract: names the study as one of diagnostic accuracy, and a measure of it
2|abstract: structured summary
3|background, intended use and clinical role of the test
4|objectives and hypotheses
5|design: data collected before or after the tests were done
6|who could take part
7|on what grounds possible participants were found
8|where and when they were found
9|whether they are a consecutive, random or convenience series
10a|the test, so that it can be repeated
10b|the reference standard, so that it can be repeated
11|why this reference standard
12a|thresholds or categories of the test and why, set in advance or not
12b|thresholds or categories of the reference standard and why, set in advance or not
13a|what those who read the test knew of the patient and of the reference standard
13b|what those who judged the reference standard knew of the patient and of the test
14|methods of estimating and comparing accuracy|computed
15|how results that were neither positive nor negative were handled|no answer
16|how missing results of the test or the reference standard were handled
17|how accuracy varies, and what of this was planned|groups
18|intended number of participants, and how it was arrived at
19|flow of participants, as a diagram
20|who the participants were: demography and clinical state at the start
21a|how severe the condition was in those who had it
21b|what else those had who did not have it
22|time between the two tests, and what was done to patients in between
23|table of the test's results, or their distribution, by the reference standard|evaluated
24|accuracy with its precision|accuracy
25|harm done by the test or the reference standard
26|limitations: bias, statistical uncertainty, generalisability|limitations
27|what follows for practice: intended use and clinical role of the test
28|registration: number and registry
29|where the whole protocol can be had
30|funding and other support, and the role of funders
"""
_TRIPOD = """
1|title: development or evaluation of a prediction model, population and outcome
2|abstract, by its own checklist
3a|the setting in health care, why a model, and which there are
3b|target population, place in the pathway of care, users
3c|known inequalities in health
4|objectives: development, evaluation or both
5a|sources of the data
5b|dates of the data
6a|setting and centres|centres
6b|who could take part
6c|treatments received
7|preparation of the data and checks of their quality, alike for all groups or not
8a|the outcome and its time horizon, why this one, when and how assessed, alike for all groups
8b|who assessed an outcome that takes judgement
8c|what kept those who assessed the outcome blind
9a|how predictors were chosen, and sifted before the model was built (development)
9b|the predictors, when and how they were measured, and how blindly
9c|who assessed predictors that take judgement
10|size of the study, of development and evaluation apart, how arrived at and why it suffices
11|how missing data were handled, and why any were left out
12a|how the data were used and split (development)
12b|how predictors entered the analysis: form, scale, transformation (development)
12c|kind of model, why, all steps of its building, tuning and internal validation (development)
12d|how differences between clusters were handled and quantified|groups
12e|measures and pictures of performance and why, comparison of models|computed
12f|updating of the model after its evaluation, such as recalibration (evaluation)
12g|how predictions were computed (evaluation)
13|methods against class imbalance, why, and recalibration after them
14|approaches to fairness, and why
15|output of the model: probabilities, classes, thresholds and why (development)|evaluated
16|how the data of development and evaluation differ: setting, participants, outcome, predictors
17|ethical approval, and consent or its waiver
18a|funding, and the role of funders
18b|conflicts of interest
18c|where the protocol is, or that there is none
18d|registration, or that there is none
18e|availability of the data
18f|availability of the code
19|involvement of patients and the public, or that there was none
20a|flow of participants, with and without the outcome, and follow-up
20b|who the participants were, by source: dates, predictors, treatments, events, missing data
20c|predictors and outcome beside those of the development (evaluation)
21|participants and outcome events in each analysis|evaluated
22|the full model, so that others can use and evaluate it, and on what terms (development)
23a|performance with intervals, in subgroups too|accuracy
23b|differences of performance between clusters, if looked at|groups
24|results of updating: the new model and its performance (evaluation)
25|interpretation in the light of objectives and earlier studies, fairness included
26|limitations, and what they mean for bias, uncertainty and generalisability|limitations
27a|how input that is poor or missing is to be noticed and handled in use (development)
27b|what users must do, and what they must know (development)
27c|what research is to come, on applicability and generalisability
"""
CHECKLISTS = {"stard": ("STARD 2015", _STARD), "tripod": ("TRIPOD+AI", _TRIPOD)}
