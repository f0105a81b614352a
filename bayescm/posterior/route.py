"""Which model, with which keywords, and whether it can be drawn from exactly."""

import inspect
import json

import numpy as np
import xarray as xr

from bayescm import direct
from bayescm.evidence import align, as_counts, default_model
from bayescm.evidence.folds import sibling_input
from bayescm.evidence.outcomes import as_outcomes, counts_of
from bayescm.evidence.scores import as_scores
from bayescm.evidence.steps import check_series
from bayescm.validate import check_keywords, fail, suggest


def prepare(evidence, model, keywords):
    """Return canonical evidence, the function of the model, and its keywords in the same order."""
    from bayescm import models

    counts = _canonical(evidence)
    model = default_model(counts) if model is None else model
    if isinstance(model, str):
        if model not in models.__all__:
            raise fail(
                "unknown model", model, ", ".join(models.__all__), suggest(model, models.__all__)
            )
        model = getattr(models, model)
    if not callable(model):
        allowed = "a name, or a function from counts to a pymc.Model"
        raise fail("this is not a model", model, allowed, "pass the function itself", TypeError)
    check_keywords(model, keywords)
    if model is models.drifting:
        check_series(counts, batches=False)
    return counts, model, aligned(evidence, counts, model, keywords)


def _canonical(evidence):
    if not isinstance(evidence, xr.Dataset):
        return as_counts(evidence)
    return as_outcomes(evidence) if "outcome" in evidence.dims else as_scores(evidence)


def _matrices(evidence):
    outcomes = isinstance(evidence, xr.Dataset) and "outcome" in evidence.dims
    return counts_of(evidence) if outcomes else evidence


def aligned(evidence, counts, model, keywords):
    """Bring arrays that go by class to the order of the counts, and add what the counts carry."""
    keywords = dict(keywords)
    if "concentration" in keywords and not callable(keywords["concentration"]):
        keywords["concentration"] = align(keywords["concentration"], _matrices(evidence))
    if "prevalence" in counts.coords and "prevalence" in inspect.signature(model).parameters:
        keywords.setdefault("prevalence", counts.coords["prevalence"].item())
    if np.ndim(keywords.get("prevalence")) and not isinstance(keywords["prevalence"], tuple):
        keywords["prevalence"] = _by_class(keywords["prevalence"], evidence, counts)
    return keywords


def _by_class(shares, evidence, counts):
    """Return shares of the actual classes, ``(..., C)``, in the order of the counts."""
    two = counts.sizes["actual"] == 2
    if not isinstance(shares, xr.DataArray):
        shares = np.asarray(shares, float)
        if two and shares.shape == counts.shape[:-2]:
            return shares
        dims = [*counts.dims[:-2], "actual"][-shares.ndim :]
        shares = xr.DataArray(shares, dims=dims)
        if shares.sizes["actual"] == counts.sizes["actual"]:
            shares = shares.assign_coords(actual=evidence["actual"].values)
    if "actual" not in shares.dims:
        return shares.values
    labels, given = (each["actual"].values.tolist() for each in (counts, shares))
    if set(labels) != set(given):
        raise fail("prevalence has other classes", given, str(labels), "pass one share of each")
    return shares.sel(actual=counts["actual"].values).transpose(..., "actual").values


def exact_posterior(function, counts, keywords):
    """
    Return the posterior of the exact sibling of a model, or None where it has no sibling.

    Raises
    ------
    ValueError
        Where a keyword is out of range, whether or not the draws will be exact.
    """
    form = _sibling(function)
    if form is None:
        return None
    taken = inspect.signature(form).parameters
    known = {k: value for k, value in keywords.items() if k in taken and not callable(value)}
    if isinstance(counts, xr.Dataset):
        return form(counts, **known)
    cells, settings = sibling_input(form, counts, known)
    return form(cells, **settings)


def _sibling(function):
    """Return the exact sibling of a model of the catalogue, or None."""
    from bayescm import models

    name = getattr(function, "__name__", "")
    ours = getattr(models, name, None) is function
    return getattr(direct, name, None) if ours else None


def obstacle(function, keywords) -> str:
    """Say why there are no exact draws, or nothing where there are."""
    form = _sibling(function)
    if form is None:
        return f"{name_of(function)} has no exact sibling"
    for name, value in keywords.items():
        if callable(value):
            return f"{name} has a prior of another family"
        if name not in inspect.signature(form).parameters:
            return f"the exact draws take no {name}"
    return ""


def describe(function, keywords) -> dict[str, str]:
    """Return the model and its keywords as attributes that any file format takes."""
    plain = {name: _plain(value) for name, value in keywords.items()}
    return {"model": name_of(function), "model_keywords": json.dumps(plain)}


def name_of(function) -> str:
    """Return the name of a model: short for one of the catalogue, with its module for another."""
    from bayescm import models

    name = getattr(function, "__qualname__", repr(function))
    ours = getattr(models, name, None) is function
    return name if ours else f"{getattr(function, '__module__', '?')}.{name}"


def _plain(value):
    """Return a keyword as JSON takes it: numbers as they are, a function by its name."""
    if callable(value):
        return getattr(value, "__qualname__", repr(value))
    return value.tolist() if hasattr(value, "tolist") else value
