"""The function of a model and of its direct posterior, by name, and their keywords."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from bayescm import posteriors
from bayescm.evidence.counts import align, as_counts
from bayescm.evidence.covariates import study_covariates
from bayescm.evidence.evidence_type import EvidenceType
from bayescm.evidence.outcomes import matrices_of
from bayescm.fitting.fitted import WITHOUT_MODEL, fitted_posterior
from bayescm.fitting.sampler_options import OPTIONS
from bayescm.posteriors.base import Posterior, shares_of
from bayescm.validate import check_keywords, fail, suggest

_WITHOUT_MODEL: dict[str, Callable] = {**WITHOUT_MODEL, "fit": fitted_posterior}


def prepare(
    entry: EvidenceType, evidence: Any, model: str | Callable, keywords: dict[str, Any]
) -> tuple[Any, Callable, dict[str, Any]]:
    """
    Return canonical evidence, the function of the model, and its keywords in the same order.

    The function returns a ``pymc.Model``, or a posterior if there is no PyMC model.
    """
    canonical = entry.canonical(evidence)
    if isinstance(model, str) and model in WITHOUT_MODEL:
        check_keywords(WITHOUT_MODEL[model], keywords)
        return canonical, WITHOUT_MODEL[model], keywords
    import bayescm.models as models

    if isinstance(model, str):
        if model not in models.__all__:
            todo = suggest(model, models.__all__)
            raise fail("unknown model", model, models.__all__, todo)
        model = getattr(models, model)
    if not callable(model):
        allowed = "a name, or a function from counts to a pymc.Model"
        raise fail("not a model", model, allowed, "pass the function itself", TypeError)
    check_keywords(model, keywords, OPTIONS)
    if is_ours(model):
        _check_priors(model, keywords)
    return canonical, model, _aligned(evidence, canonical, model, keywords)


def _check_priors(model, keywords):
    """Raise an error if a keyword of our model does not take a function as its prior."""
    _, *parameters = inspect.signature(model).parameters.values()
    open_to_any = (inspect.Parameter.empty, Any)
    priors = [
        parameter.name
        for parameter in parameters
        if parameter.annotation in open_to_any or "Callable" in str(parameter.annotation)
    ]
    refused = [name for name, value in keywords.items() if callable(value) and name not in priors]
    if refused:
        todo = "pass numbers, or copy the file of the model and pass its function as the model"
        allowed = priors or "numbers"
        what = f"{model.__name__} takes no function from a name to a PyMC variable for"
        raise fail(what, refused[0], allowed, todo, TypeError)


def _aligned(evidence, counts, model, keywords):
    """Bring arrays that go by class to the order of the counts, and add what the counts carry."""
    keywords = dict(keywords)
    if keywords.get("halves") is not None:
        keywords["halves"] = as_counts(keywords["halves"])
    if "concentration" in keywords and not callable(keywords["concentration"]):
        keywords["concentration"] = align(keywords["concentration"], matrices_of(evidence))
    if isinstance(keywords.get("covariates"), Mapping):
        keywords["covariates"] = study_covariates(counts, keywords["covariates"])
    if "prevalence" in inspect.signature(model).parameters:
        shares = keywords.get("prevalence")
        shares = shares if callable(shares) else shares_of(shares, evidence, counts)
        keywords |= {} if shares is None else {"prevalence": shares}
    return keywords


def direct_posterior(
    model: Callable, evidence: Any, keywords: dict[str, Any], direct: Callable | None = None
) -> Posterior | None:
    """
    Return the direct posterior of a model, or None if there is none.

    Parameters
    ----------
    model : callable
    evidence : DataArray or Dataset
    keywords : dict
        The model's.
    direct : callable, optional
        The function that returns the direct posterior of a model that is not of the catalogue.

    Raises
    ------
    ValueError
        If a keyword is out of range, whether or not the draws will be direct.
    TypeError
        If ``direct`` returns no posterior.
    """
    without_model = model if model in WITHOUT_MODEL.values() else None
    form = direct or without_model or direct_form(model)
    if form is None:
        return None
    parameters = inspect.signature(form).parameters
    direct_keywords = {
        k: value for k, value in keywords.items() if k in parameters and not callable(value)
    }
    posterior = form(evidence, **direct_keywords)
    if not isinstance(posterior, Posterior):
        todo = "return a bayescm.posteriors.base.Posterior from direct, or leave it out"
        raise fail("not a direct posterior", posterior, "a Posterior", todo, TypeError)
    return posterior


def direct_form(model) -> Callable | None:
    """Return the function of the direct posterior of a model, given by name or itself, or None."""
    name = model if isinstance(model, str) else model.__name__ if is_ours(model) else ""
    return getattr(posteriors, name) if name in posteriors.__all__ else _WITHOUT_MODEL.get(name)


def is_ours(model):
    """Return whether a function is one of our models. This does not load PyMC."""
    name, module = (getattr(model, key, "") for key in ("__name__", "__module__"))
    return name in posteriors.__all__ and module == f"bayescm.models.{name}"


def obstacle(model: Callable, keywords: dict[str, Any], direct: Callable | None = None) -> str:
    """Return why there are no direct draws, or an empty text if there are."""
    form = direct or direct_form(model)
    if form is None:
        return f"{name_of(model)} has no direct posterior"
    for name, value in keywords.items():
        if callable(value):
            return f"{name} has a prior of another family"
        if name not in inspect.signature(form).parameters:
            return f"the direct posterior takes no {name}"
    return ""


def name_of(model: Callable) -> str:
    """Return the name of a model: short for one of the catalogue, with its module for another."""
    for name, function in WITHOUT_MODEL.items():
        if function is model:
            return name
    name = getattr(model, "__qualname__", repr(model))
    return name if is_ours(model) else f"{getattr(model, '__module__', '?')}.{name}"


def is_for_pymc_alone(form, keywords) -> bool:
    """Return whether only the PyMC model takes the keywords, not its direct posterior."""
    if not keywords or form in _WITHOUT_MODEL.values():
        return False
    if any(map(callable, keywords.values())):  # priors of another family
        return True
    name = getattr(form, "__name__", "")
    if name not in posteriors.__all__ or form is not getattr(posteriors, name):
        return False
    further = keywords.keys() - inspect.signature(form).parameters.keys()
    if not further:
        return False
    import bayescm.models as models

    return further <= inspect.signature(getattr(models, name)).parameters.keys()


def warn_of_design(posterior: Posterior, evidence: Any, model: str, *, stacklevel: int) -> None:
    """
    Warn if the examples have groups or importance weights that a model does not use.

    Parameters
    ----------
    posterior : Posterior
        Of the model.
    evidence : DataArray or Dataset
    model : str
        The name of the model.
    stacklevel : int
        As `warnings.warn` takes it, for one who calls the function that calls this one: 3.
    """
    coords = getattr(evidence, "coords", ())
    if "design_effect" in coords and not posterior.knows_groups:
        warnings.warn(
            f"The examples come in groups, and {model} takes each for drawn by itself, which makes "
            "intervals too short. Keep the folds and use hierarchical_folds or classical.fold_t.",
            UserWarning,
            stacklevel=stacklevel,
        )
    if "effective" in coords and not posterior.knows_weights:
        warnings.warn(
            f"The examples have importance weights, and {model} takes the sums of these for "
            "numbers of examples, which makes intervals too long or too short. Leave the model "
            "out, or take importance_weighted.",
            UserWarning,
            stacklevel=stacklevel,
        )
