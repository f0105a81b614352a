"""The posterior of evidence: of its default model, or of the model that is named."""

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
# Dims that are not parts of the evidence.
_UNITS = (*CELLS, "outcome", "label", "item", "example", "attempt", "class", "run")


def posterior_of(
    evidence: Any,
    question: Question = USUAL,
    *,
    members: str | None = None,
    compared: str | None = None,
) -> Posterior:
    """
    Return the posterior that answers a question: direct, or else sampled.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Evidence of any type, or a fit.
    question : Question
        Its ``model`` is a name, a function from canonical evidence to a `Posterior`, or one to a
        ``pymc.Model`` with a variable ``theta``, which is sampled by NUTS. By default it is the
        model of `EvidenceType.default_model`. A keyword that is a function from a name to a PyMC
        variable is a prior of another family, with which the model is sampled. Its options of the
        sampler as in `bayescm.fit`.
    members, compared : str, optional
        The dim whose members are asked for, partially pooled, and the dim whose members are
        compared: a default model may depend on them.

    Raises
    ------
    ValueError, TypeError
        If there is no such model, or it does not take a keyword. If there are options of the
        sampler, and nothing is sampled.
    """
    evidence = with_positive_class(evidence, question.positive)
    model, keywords, options = question.model, question.of_model, question.of_sampler
    check_options(options)
    if isinstance(evidence, xr.DataTree):
        refuse_options(options, "a fit has been sampled already")
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
    if model != "dirichlet_multinomial":
        check_true_negatives(evidence, "another model than dirichlet_multinomial")
    if question.of == "predictive":
        check_true_negatives(evidence, "the number of examples of the next test set")
    form: Any = direct_form(model) or model
    if isinstance(model, str) and form is model:
        todo = suggest(model, posteriors.__all__)
        raise fail("unknown model", model, posteriors.__all__, todo)
    if not callable(form):
        todo = "pass the function itself"
        raise fail("not a model", model, "a name, or a function of the evidence", todo, TypeError)
    sampler = {**options, "random_seed": question.random_seed}
    sampler |= {} if question.draws is None else {"draws": question.draws}
    if is_for_pymc_alone(form, keywords):
        return _sampled(evidence, model, keywords, sampler, question.of)
    is_own = form is model  # a function of the user's, which may return a posterior or a PyMC model
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
    refuse_options(options, f"{name} has a direct posterior, and nothing is sampled")
    if not isinstance(answer, Posterior):
        todo = "return a pymc.Model with a variable theta, or a Posterior"
        raise fail("not a model", name_of(form), "a function that returns one", todo)
    warn_of_design(answer, evidence, name, stacklevel=4)
    if isinstance(answer, TreeDraws):
        answer = answer.at(question.of)
    return answer if question.draws is None else answer.with_draws(question.draws)


def _sampled(evidence, model, keywords, sampler, of):
    """Return the posterior of a model without a direct one."""
    # NUTS loads PyMC, which no direct posterior needs.
    from bayescm.fitting.sampled import sampled_posterior

    return sampled_posterior(evidence, model, keywords, **sampler).at(of)


def _is_pymc_model(answer) -> bool:
    """Return whether an object is a PyMC model. This does not load PyMC."""
    return any((base.__module__, base.__name__) == _PYMC_MODEL for base in type(answer).__mro__)


def members_of(evidence: Any, dim: str, question: Question = USUAL) -> Posterior:
    """Return the partially pooled posterior of every member of a dim, such as each group."""
    # Scores and probabilities have the group of every example in a variable, without a dim.
    labels = {*getattr(evidence, "sizes", ()), *getattr(evidence, "data_vars", ())}
    if not isinstance(evidence, xr.DataTree) and dim not in labels:
        parts = [name for name in getattr(evidence, "sizes", ()) if name not in _UNITS]
        todo = "name the column of groups when you make the evidence: `by={'group': site}`"
        todo = f"pass `dim={parts[0]!r}`" if parts else todo
        raise fail("no such dim", dim, parts or "a dim of groups", todo)
    return posterior_of(evidence, question, members=dim).by(dim)


def select_estimand(posterior: Posterior, of: str) -> tuple[Posterior, str]:
    """
    Return the posterior that an estimand is of, and the estimand as that has it.

    An estimand named after a dim that is pooled over is the parameter of each of its members.
    """
    if of in posterior.pooled_dims:
        return posterior.by(of), "parameter"
    return posterior, posterior.resolve_estimand(of)
