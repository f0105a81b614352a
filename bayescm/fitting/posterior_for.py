"""Posterior of evidence, under its default model or a named model."""

from typing import Any

import xarray as xr

from bayescm import posteriors
from bayescm.evidence.counts import CELLS, check_true_negatives
from bayescm.evidence.registry import type_of
from bayescm.evidence.trees import with_positive_class
from bayescm.fitting.fitted import TreeDraws
from bayescm.fitting.models_by_name import (
    direct_form,
    is_for_pymc_alone,
    name_of,
    warn_of_design,
)
from bayescm.fitting.question import USUAL, Question
from bayescm.fitting.sampler_options import (
    OPTIONS,
    check_options,
    refuse_options,
    refuse_shared_names,
)
from bayescm.posteriors.base import Posterior
from bayescm.validate import check_keywords, fail, suggest

_PYMC_MODEL = ("pymc.model.core", "Model")
# Dimensions that do not divide the evidence into parts.
_UNITS = (*CELLS, "outcome", "label", "item", "example", "attempt", "class", "run")


def posterior_of(
    evidence: Any,
    question: Question = USUAL,
    *,
    members: str | None = None,
    compared: str | None = None,
) -> Posterior:
    """
    Return the posterior for a question, directly or by sampling.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Evidence of any type, or a fit.
    question : Question
        Question. Its ``model`` is one of these:

        - None for the default model, see `EvidenceType.default_model`.
        - The name of a model.
        - A function from canonical evidence to a `Posterior`.
        - A function from canonical evidence to a ``pymc.Model`` with a variable ``theta``, which is
          sampled by NUTS.

        A keyword that is a function from a name to a PyMC variable specifies a prior from another
        family, with which the model is sampled. Sampler options are the same as in `bayescm.fit`.
    members, compared : str, optional
        Dimension whose members are estimated with partial pooling, and dimension whose members are
        compared. The default model may depend on them.

    Raises
    ------
    ValueError, TypeError
        If the model does not exist or does not accept a keyword, or if sampler options are given
        but the posterior is not sampled.
    """
    evidence = with_positive_class(evidence, question.positive)
    model, keywords, options = question.model, question.of_model, question.of_sampler
    check_options(options)
    if isinstance(evidence, xr.DataTree):
        refuse_options(options, "a fit has been sampled already")
    if isinstance(evidence, xr.DataTree) and (model is not None or keywords):
        got = ", ".join([*(["model"] if model is not None else []), *keywords])
        raise fail(
            f"{got} has no effect on a fit, which has its own model and prior",
            ...,
            "",
            "pass it to fit, or use the counts",
        )
    if model is None:
        default_model = type_of(evidence).default_model
        model, evidence, design = default_model(evidence, keywords, members, compared)
        keywords = {**design, **keywords}
    elif model == "correlated_t" and compared is not None:
        keywords = {"dim": compared, **keywords}
    if model != "dirichlet_multinomial":
        check_true_negatives(evidence, "another model than dirichlet_multinomial")
    if question.of == "predictive":
        check_true_negatives(evidence, "the number of examples of the next test set")
    form: Any = direct_form(model) or model
    if isinstance(model, str) and form is model:
        todo = suggest(model, posteriors.__all__)
        raise fail("Unknown model {}", model, posteriors.__all__, todo)
    if not callable(form):
        todo = "pass the function itself"
        raise fail(
            "A model must be a name, or a function of the evidence", model, "", todo, TypeError
        )
    sampler = {**options, "random_seed": question.random_seed}
    sampler |= {} if question.draws is None else {"draws": question.draws}
    if is_for_pymc_alone(form, keywords):
        return _sampled(evidence, model, keywords, sampler, question.of)
    is_own = form is model  # custom functions return a posterior or a PyMC model
    if not is_own:
        check_keywords(form, keywords)
        answer = form(evidence, **keywords)
    else:
        refuse_shared_names(form, options)
        check_keywords(form, keywords, OPTIONS)
        answer = form(type_of(evidence).canonical(evidence), **keywords)
        if _is_pymc_model(answer):
            return _sampled(evidence, model, keywords, sampler, question.of)
    name = getattr(form, "__name__", repr(form))
    refuse_options(options, f"{name} has a direct posterior, so nothing is sampled")
    if not isinstance(answer, Posterior):
        todo = "return a pymc.Model with a variable theta, or a Posterior"
        raise fail("{} does not return a model", name_of(form), "", todo)
    warn_of_design(answer, evidence, name, stacklevel=4)
    if isinstance(answer, TreeDraws):
        answer = answer.at(question.of)
    return answer if question.draws is None else answer.with_draws(question.draws)


def _sampled(evidence, model, keywords, sampler, of):
    """Return the posterior of a model that has no direct posterior."""
    # Import here, because NUTS loads PyMC and direct posteriors do not need it.
    from bayescm.fitting.sampled import sampled_posterior

    return sampled_posterior(evidence, model, keywords, of=of, **sampler).at(of)


def _is_pymc_model(answer) -> bool:
    """Check whether an object is a PyMC model, without loading PyMC."""
    return any((base.__module__, base.__name__) == _PYMC_MODEL for base in type(answer).__mro__)


def members_of(evidence: Any, dim: str, question: Question = USUAL) -> Posterior:
    """Return the partially pooled posterior of every member of a dimension, such as each group."""
    # Scores and probabilities store groups in a data variable of examples, not as a dimension.
    labels = {*getattr(evidence, "sizes", ()), *getattr(evidence, "data_vars", ())}
    if not isinstance(evidence, xr.DataTree) and dim not in labels:
        parts = [name for name in getattr(evidence, "sizes", ()) if name not in _UNITS]
        todo = "name the column of groups when you make the evidence: `by={'group': site}`"
        todo = f"pass `dim={parts[0]!r}`" if parts else todo
        raise fail("The evidence has no dimension {}", dim, parts, todo)
    return posterior_of(evidence, question, members=dim).by(dim)


def select_estimand(posterior: Posterior, of: str) -> tuple[Posterior, str]:
    """
    Return the posterior to use for an estimand, and the name of the estimand in it.

    The name of a pooled dimension refers to the parameters of its members.
    """
    members = posterior.by(of) if of in posterior.pooled_dims else posterior
    if members is not posterior:
        return members, "parameter"
    return posterior, posterior.resolve_estimand(of)
