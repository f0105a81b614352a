"""Which model answers which evidence, and its direct posterior."""

import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import xarray as xr

from bayescm import posteriors
from bayescm.evidence.attempts import as_attempts, is_attempts
from bayescm.evidence.counts import align, as_counts, is_outcomes
from bayescm.evidence.outcomes import as_outcomes, halves_of, matrices_of
from bayescm.evidence.raters import as_ratings
from bayescm.evidence.results import as_results, is_results
from bayescm.evidence.scores import as_scores
from bayescm.fitting.fitted import Fitted
from bayescm.measures.trees import told
from bayescm.posteriors.base import Posterior, shares_of
from bayescm.posteriors.correlated_t import CorrelatedT
from bayescm.posteriors.fold_forecasts import FoldForecasts
from bayescm.validate import check_keywords, fail, suggest

# The models that share strength between the members of a dim, the default where it is there.
_POOLING = {"fold": "hierarchical_folds", "group": "hierarchical_groups"}
# The same where each member is asked for, of two classes: a few may be unlike all others.
_MEMBERS = _POOLING | {"group": "robust_groups"}
# Of two groups chosen beforehand nothing is known of how groups differ: each stands by itself.
_ENOUGH = 3
# Keywords that are of one model alone, and so name it.
_NAMED_BY = {"label_error": "mislabelled"}


def default_model(evidence: xr.DataArray | xr.Dataset, keywords: Iterable[str] = ()) -> str:
    """Return the name of the default model for the evidence, or of the one that a keyword names."""
    if named := [model for keyword, model in _NAMED_BY.items() if keyword in keywords]:
        return named[0]
    if "unlabelled" in getattr(evidence, "coords", ()):
        return "transferred_errors" if "transfer" in evidence.coords else "partly_labelled"
    if isinstance(evidence, xr.Dataset):
        kinds = {
            "paired_outcomes": is_outcomes(evidence),
            "noisy_labels": "votes" in evidence,
            "repeated_items": is_attempts(evidence),
            "hierarchical_differences": is_results(evidence),
            "scores": "probabilities" not in evidence.coords,
            "hierarchical_calibration": "group" in evidence,
            "dirichlet_calibration": "class" in evidence.dims,
        }
        return next((model for model, fits in kinds.items() if fits), "calibration")
    if not isinstance(evidence, xr.DataArray):
        evidence = as_counts(evidence)  # says what it is not
    alone = "fixed_totals" if "prevalence" in evidence.coords else "dirichlet_multinomial"
    if "effective" in evidence.coords:
        alone = "importance_weighted"
    return next((model for dim, model in _POOLING.items() if dim in evidence.dims), alone)


def posterior_of(
    evidence: Any, model: str | Callable | None = None, *, positive: Any = None, **keywords: Any
) -> Posterior:
    """
    Return the posterior that answers for the evidence, without a sampler.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, outcomes of several classifiers, or a fit.
    model : str or callable, optional
        Name of a model, or a direct sibling: a function from the evidence to a `Posterior`. By
        default the model that fits the evidence.
    positive : label, optional
        The positive class, where the evidence does not know it or another one is meant.
    **keywords
        The model's own.

    Raises
    ------
    ValueError, TypeError
        If there is no such model, it has no direct sibling, or does not take a keyword.
    """
    evidence = told(evidence, positive)
    if isinstance(evidence, xr.DataTree):
        if model is not None or keywords:
            given = ", ".join([*(["model"] if model is not None else []), *keywords])
            todo = "pass them to fit, or ask the counts"
            raise fail("a fit has its model and prior", given, "no keywords of a model", todo)
        return Fitted(evidence)
    if model is None and _NAMED_BY.keys() & keywords.keys():
        model = default_model(evidence, keywords)
    apart = "unlabelled" in getattr(evidence, "coords", ())  # slices of these stand by themselves
    if model is None and is_outcomes(evidence) and set(_POOLING) & set(evidence.dims) and not apart:
        if "halves" in evidence:
            keywords = {"halves": halves_of(evidence)} | keywords
        evidence = matrices_of(evidence)  # there is no pooling of pairs but by name
    if model is None:
        folds = isinstance(evidence, xr.Dataset) and {"fold", "probabilities"} <= set(
            evidence.variables
        )
        model = FoldForecasts if folds else default_model(evidence)
    sibling = _sibling(model) or model
    if not callable(sibling):
        todo = f"{suggest(model, posteriors.__all__)} for other models use fit"
        raise fail("this model has no direct sibling", model, posteriors.__all__, todo)
    check_keywords(sibling, keywords)
    found = sibling(evidence, **keywords)
    if not isinstance(found, Posterior):
        todo = "pass its direct sibling, or fit(evidence, model) and ask the tree"
        raise fail("not a direct sibling", name_of(sibling), "a Posterior", todo)
    if "design_effect" in getattr(evidence, "coords", ()) and not found.knows_groups:
        warn_of_groups(getattr(sibling, "__name__", repr(sibling)))
    return found


def warn_of_groups(model: str) -> None:
    """Warn that a model takes examples that come in groups for single ones."""
    warnings.warn(
        f"The examples come in groups, and {model} takes each for drawn by itself, which makes "
        "intervals too short. Keep the folds and use hierarchical_folds or classical.fold_t.",
        UserWarning,
        stacklevel=4,
    )


def comparison_of(
    evidence: Any,
    dim: str,
    model: str | Callable | None = None,
    *,
    positive: Any = None,
    **keywords: Any,
) -> Posterior:
    """
    Return the posterior in which the members of a dim are compared.

    By default classifiers on the same examples are paired; those of one cross-validation too, fold
    by fold; three or more groups are partially pooled; and other members are judged each by itself.
    """
    evidence = told(evidence, positive)
    if model is None and _NAMED_BY.keys() & keywords.keys():
        model = default_model(evidence, keywords)
    if model is None and dim == "group" and _sizes(evidence).get(dim, 0) >= _ENOUGH:
        model = _pooling(evidence, dim)
    scored = isinstance(evidence, xr.Dataset) and not is_outcomes(evidence)
    fitted = isinstance(evidence, xr.DataTree)
    if model is not None or fitted or scored or dim not in _members(evidence):
        return posterior_of(evidence, model, **keywords)
    if "fold" in evidence.dims and dim != "fold":
        if is_outcomes(evidence) and "halves" in evidence:
            return posterior_of(evidence, "paired_folds", **keywords)
        check_keywords(CorrelatedT, keywords)
        return CorrelatedT(as_counts(matrices_of(evidence)), dim)
    if is_outcomes(evidence):
        return posterior_of(evidence, default_model(evidence), **keywords)
    apart = dict.fromkeys(set(_POOLING) & set(evidence.dims), 0)
    return posterior_of(evidence, default_model(evidence.isel(apart)), **keywords)


def members_of(
    evidence: Any,
    dim: str,
    *,
    model: str | Callable | None = None,
    positive: Any = None,
    **keywords: Any,
) -> Posterior:
    """Return the partially pooled posterior of every member of a dim, such as each group."""
    evidence = told(evidence, positive)
    if isinstance(evidence, xr.DataTree):
        return posterior_of(evidence, model, **keywords).by(dim)
    if dim not in _sizes(evidence):
        todo = "name the column of groups: from_predictions(..., by={'group': site})"
        raise fail("no such dim", dim, [*_sizes(evidence)] or "a dim of groups", todo)
    model = _pooling(evidence, dim) if model is None else model
    return posterior_of(evidence, model, **keywords).by(dim)


def _pooling(evidence, dim):
    """Return the model that shares strength between the members of a dim, or None."""
    if "unlabelled" in getattr(evidence, "coords", ()):
        return None
    two = not isinstance(evidence, xr.Dataset) and _sizes(evidence).get("actual") == 2
    return (_MEMBERS if two else _POOLING).get(dim)


def _sizes(evidence):
    return {} if isinstance(evidence, xr.DataTree) else getattr(evidence, "sizes", {})


def _members(evidence):
    """Return the dims whose members may be compared."""
    return (*getattr(evidence, "dims", ()), *(["classifier"] if is_outcomes(evidence) else []))


def prepare(
    evidence: Any, model: str | Callable | None, keywords: dict[str, Any]
) -> tuple[Any, Callable, dict[str, Any]]:
    """Return canonical evidence, the function of the model, and its keywords in the same order."""
    import bayescm.models as models

    known = canonical(evidence)
    model = default_model(known, keywords) if model is None else model
    if isinstance(model, str):
        if model not in models.__all__:
            todo = suggest(model, models.__all__)
            raise fail("unknown model", model, models.__all__, todo)
        model = getattr(models, model)
    if not callable(model):
        allowed = "a name, or a function from counts to a pymc.Model"
        raise fail("not a model", model, allowed, "pass the function itself", TypeError)
    check_keywords(model, keywords)
    return known, model, _aligned(evidence, known, model, keywords)


def canonical(evidence: Any) -> xr.DataArray | xr.Dataset:
    """Return counts, outcomes, ratings or scores in canonical form."""
    if not isinstance(evidence, xr.Dataset):
        return as_counts(evidence)
    if "votes" in evidence:
        return as_ratings(evidence)
    if is_attempts(evidence):
        return as_attempts(evidence)
    if is_results(evidence):
        return as_results(evidence)
    return as_outcomes(evidence) if is_outcomes(evidence) else as_scores(evidence)


def _aligned(evidence, counts, model, keywords):
    """Bring arrays that go by class to the order of the counts, and add what the counts carry."""
    keywords = dict(keywords)
    if keywords.get("halves") is not None:
        keywords["halves"] = as_counts(keywords["halves"])
    if "concentration" in keywords and not callable(keywords["concentration"]):
        keywords["concentration"] = align(keywords["concentration"], matrices_of(evidence))
    if "prevalence" in inspect.signature(model).parameters:
        shares = keywords.get("prevalence")
        shares = shares if callable(shares) else shares_of(shares, evidence, counts)
        keywords |= {} if shares is None else {"prevalence": shares}
    return keywords


def direct_posterior(
    model: Callable, evidence: Any, keywords: dict[str, Any], sibling: Callable | None = None
) -> Posterior | None:
    """
    Return the posterior of the direct sibling of a model, or None where it has no sibling.

    Raises
    ------
    ValueError
        If a keyword is out of range, whether or not the draws will be direct.
    """
    form = sibling or _sibling(model)
    if form is None:
        return None
    taken = inspect.signature(form).parameters
    known = {k: value for k, value in keywords.items() if k in taken and not callable(value)}
    return form(evidence, **known)


def _sibling(model) -> Callable | None:
    """Return the direct sibling of a model of the catalogue, given by name or itself, or None."""
    name = model if isinstance(model, str) else model.__name__ if _is_ours(model) else None
    return getattr(posteriors, name) if name in posteriors.__all__ else None


def _is_ours(model):
    """Say whether a function is a model of the catalogue (without loading PyMC to know)."""
    name, module = (getattr(model, key, "") for key in ("__name__", "__module__"))
    return name in posteriors.__all__ and module == f"bayescm.models.{name}"


def obstacle(model: Callable, keywords: dict[str, Any], sibling: Callable | None = None) -> str:
    """Say why there are no direct draws, or nothing where there are."""
    form = sibling or _sibling(model)
    if form is None:
        return f"{name_of(model)} has no direct sibling"
    for name, value in keywords.items():
        if callable(value):
            return f"{name} has a prior of another family"
        if name not in inspect.signature(form).parameters:
            return f"the direct draws take no {name}"
    return ""


def name_of(model: Callable) -> str:
    """Return the name of a model: short for one of the catalogue, with its module for another."""
    name = getattr(model, "__qualname__", repr(model))
    return name if _is_ours(model) else f"{getattr(model, '__module__', '?')}.{name}"
