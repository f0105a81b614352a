"""The posterior that answers: of the default model of the evidence, or of the one named."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr

from bayescm import posteriors
from bayescm.evidence.counts import align, as_counts
from bayescm.evidence.covariates import study_covariates
from bayescm.evidence.outcomes import matrices_of
from bayescm.evidence.trees import with_positive_class
from bayescm.evidence.type import EvidenceType
from bayescm.evidence.types import type_of
from bayescm.fitting.fitted import WITHOUT_MODEL, fitted_posterior
from bayescm.posteriors.base import Posterior, shares_of
from bayescm.validate import check_keywords, fail, suggest

_WITHOUT_MODEL: dict[str, Callable] = {**WITHOUT_MODEL, "fit": fitted_posterior}
_PYMC_MODEL = ("pymc.model.core", "Model")


def posterior_of(
    evidence: Any,
    model: str | Callable | None = None,
    *,
    members: str | None = None,
    compared: str | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: Any = 0,
    **keywords: Any,
) -> Posterior:
    """
    Return the posterior that answers for the evidence: direct, or else sampled.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Evidence of any type, or a fit.
    model : str or callable, optional
        Name of a model, a function from the evidence to a `Posterior`, or one from canonical
        evidence to a ``pymc.Model`` with a variable ``theta``, which is sampled by NUTS. A function
        that is annotated ``-> Posterior`` is called without loading PyMC. By default the model of
        `EvidenceType.default_model`.
    members, compared : str, optional
        The dim whose members are asked for, partially pooled, and the dim whose members are
        compared: a default model may depend on them.
    concentration : float, array_like, DataArray or callable, optional
        The prior, of a model that has this keyword; None stands for the model's own default.
    positive : label, optional
        The positive class, where the evidence does not know it or another one is meant.
    draws, random_seed
        Of the sampler, where there is no direct posterior.
    **keywords
        The model's; a function from a name to a PyMC variable is a prior of another family, with
        which the model is sampled. ``tune`` and ``chains`` are the sampler's.

    Raises
    ------
    ValueError, TypeError
        If there is no such model, or it does not take a keyword.
    """
    evidence = with_positive_class(evidence, positive)
    if concentration is not None:
        keywords = {"concentration": concentration, **keywords}
    if isinstance(evidence, xr.DataTree) and (model is not None or keywords):
        got = ", ".join([*(["model"] if model is not None else []), *keywords])
        todo = "pass them to fit, or ask the counts"
        raise fail("a fit has its model and prior", got, "no keywords of a model", todo)
    if model is None:
        default_model = type_of(evidence).default_model
        model, evidence, design = default_model(evidence, keywords, members, compared)
        keywords = {**design, **keywords}
    elif model == "correlated_t" and compared is not None:
        keywords = {"dim": compared, **keywords}
    form: Any = _direct_form(model) or model
    if isinstance(model, str) and form is model:
        todo = suggest(model, posteriors.__all__)
        raise fail("unknown model", model, posteriors.__all__, todo)
    if not callable(form):
        todo = "pass the function itself"
        raise fail("not a model", model, "a name, or a function of the evidence", todo, TypeError)
    sampler: dict[str, Any] = {k: keywords[k] for k in ("tune", "chains") if k in keywords}
    of_model = {name: value for name, value in keywords.items() if name not in sampler}
    sampler |= {"random_seed": random_seed} | ({} if draws is None else {"draws": draws})
    returns = _returns(form) if form is model else "Posterior"
    if _is_for_pymc_alone(form, of_model) or returns == "Model":
        return _sampled(evidence, model, of_model, sampler)
    annotated = returns == "Posterior"
    check_keywords(form, keywords if annotated else of_model)
    if annotated:
        answer = form(evidence, **keywords)
    else:
        answer = form(type_of(evidence).canonical(evidence), **of_model)
    if not isinstance(answer, Posterior):
        if _kind_of(type(answer)) == "Model":
            return _sampled(evidence, model, of_model, sampler)
        todo = "return a pymc.Model with a variable theta, or a Posterior"
        raise fail("not a model", name_of(form), "a function that returns one", todo)
    warn_of_design(answer, evidence, getattr(form, "__name__", repr(form)), stacklevel=4)
    return answer if draws is None else answer.with_draws(draws)


def _sampled(evidence, model, keywords, sampler):
    """Return the posterior of a model without a direct one."""
    # Here, since `fit` asks this file which model answers.
    from bayescm.fitting.sampled import sampled_posterior

    return sampled_posterior(evidence, model, keywords, **sampler)


def _is_for_pymc_alone(form, keywords) -> bool:
    """Say whether keywords are a PyMC model's and not its direct posterior's."""
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


def _returns(function) -> str:
    """Say what a function is annotated to return: "Posterior", "Model", or nothing of these."""
    if isinstance(function, type):
        return _kind_of(function)
    try:
        annotation = inspect.signature(function, eval_str=True).return_annotation
    except (NameError, ValueError, TypeError):  # a name that only type checkers see
        return ""
    return _kind_of(annotation)


def _kind_of(answer) -> str:
    """Say whether a class is a posterior or a model of PyMC, which is not loaded to know."""
    if not isinstance(answer, type):
        return ""
    if issubclass(answer, Posterior):
        return "Posterior"
    is_pymc_model = any(
        (base_class.__module__, base_class.__name__) == _PYMC_MODEL for base_class in answer.__mro__
    )
    return "Model" if is_pymc_model else ""


def warn_of_design(posterior: Posterior, evidence: Any, model: str, *, stacklevel: int) -> None:
    """
    Warn where the examples come in groups, or have importance weights, of which a model knows not.

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


def members_of(
    evidence: Any, dim: str, model: str | Callable | None = None, **keywords: Any
) -> Posterior:
    """Return the partially pooled posterior of every member of a dim, such as each group."""
    if not isinstance(evidence, xr.DataTree) and dim not in getattr(evidence, "sizes", ()):
        todo = "name the column of groups: from_predictions(..., by={'group': site})"
        dims = [*getattr(evidence, "sizes", ())] or "a dim of groups"
        raise fail("no such dim", dim, dims, todo)
    return posterior_of(evidence, model, members=dim, **keywords).by(dim)


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
    check_keywords(model, keywords)
    if _is_ours(model):
        _check_priors(model, keywords)
    return canonical, model, _aligned(evidence, canonical, model, keywords)


def _check_priors(model, keywords):
    """Raise where a keyword of a model of the catalogue takes no prior of another family."""
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
    Return the direct posterior of a model, or None where it has none.

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
    form = direct or without_model or _direct_form(model)
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


def _direct_form(model) -> Callable | None:
    """Return the function of the direct posterior of a model, given by name or itself, or None."""
    name = model if isinstance(model, str) else model.__name__ if _is_ours(model) else ""
    return getattr(posteriors, name) if name in posteriors.__all__ else _WITHOUT_MODEL.get(name)


def _is_ours(model):
    """Say whether a function is a model of the catalogue (without loading PyMC to know)."""
    name, module = (getattr(model, key, "") for key in ("__name__", "__module__"))
    return name in posteriors.__all__ and module == f"bayescm.models.{name}"


def obstacle(model: Callable, keywords: dict[str, Any], direct: Callable | None = None) -> str:
    """Say why there are no direct draws, or nothing where there are."""
    form = direct or _direct_form(model)
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
    return name if _is_ours(model) else f"{getattr(model, '__module__', '?')}.{name}"
