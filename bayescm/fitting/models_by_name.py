"""Look-up of models and direct posteriors by name, and validation of their keywords."""

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
    Return canonical evidence, the function of the model, and its keywords in canonical order.

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
            raise fail("Unknown model {}", model, models.__all__, todo)
        model = getattr(models, model)
    if not callable(model):
        allowed = "a name, or a function from counts to a pymc.Model"
        raise fail(f"A model must be {allowed}", model, "", "pass the function itself", TypeError)
    check_keywords(model, keywords, OPTIONS)
    if is_ours(model):
        _check_priors(model, keywords)
    return canonical, model, _aligned(evidence, canonical, model, keywords)


def _check_priors(model, keywords):
    """Raise an error if a built-in model does not support a function as one of its priors."""
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
        raise fail(
            f"{model.__name__} takes no PyMC prior for {{}}", refused[0], allowed, todo, TypeError
        )


def _aligned(evidence, counts, model, keywords):
    """Align keywords with the classes of the counts, and add keywords from the counts."""
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
        Keywords of the model.
    direct : callable, optional
        Function that returns the direct posterior of a custom model.

    Raises
    ------
    ValueError
        If a keyword is out of range, even if direct draws are not used.
    TypeError
        If ``direct`` does not return a posterior.
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
        raise fail(
            "The direct form of a model must return a Posterior", posterior, "", todo, TypeError
        )
    return posterior


def direct_form(model) -> Callable | None:
    """Return the function of a model's direct posterior, given the model or its name, or None."""
    name = model if isinstance(model, str) else model.__name__ if is_ours(model) else ""
    return getattr(posteriors, name) if name in posteriors.__all__ else _WITHOUT_MODEL.get(name)


def is_ours(model):
    """Check whether a function is a built-in model, without loading PyMC."""
    name, module = (getattr(model, key, "") for key in ("__name__", "__module__"))
    return name in posteriors.__all__ and module == f"bayescm.models.{name}"


def obstacle(model: Callable, keywords: dict[str, Any], direct: Callable | None = None) -> str:
    """Return the reason why there are no direct draws, or an empty string."""
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
    """Return the name of a model, with its module if it is not a built-in model."""
    for name, function in WITHOUT_MODEL.items():
        if function is model:
            return name
    name = getattr(model, "__qualname__", repr(model))
    return name if is_ours(model) else f"{getattr(model, '__module__', '?')}.{name}"


def is_for_pymc_alone(form, keywords) -> bool:
    """Check whether the keywords are supported by the PyMC model but not its direct posterior."""
    if not keywords or form in _WITHOUT_MODEL.values():
        return False
    if any(map(callable, keywords.values())):  # priors from other families
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
    Warn if the examples have groups or importance weights that a model ignores.

    Parameters
    ----------
    posterior : Posterior
        Posterior of the model.
    evidence : DataArray or Dataset
    model : str
        Name of the model.
    stacklevel : int
        As in `warnings.warn`. A value of 3 refers to the caller of the calling function.
    """
    coords = getattr(evidence, "coords", ())
    if "design_effect" in coords and not posterior.knows_groups:
        warnings.warn(
            f"The examples come in groups, but {model} treats them as independent, so "
            "intervals are too short. Keep the folds and use hierarchical_folds or "
            "classical.fold_t.",
            UserWarning,
            stacklevel=stacklevel,
        )
    if "effective" in coords and not posterior.knows_weights:
        warnings.warn(
            f"The examples have importance weights, but {model} treats sums of weights as "
            "numbers of examples, so intervals are too long or too short. Leave the model "
            "out, or use importance_weighted.",
            UserWarning,
            stacklevel=stacklevel,
        )
