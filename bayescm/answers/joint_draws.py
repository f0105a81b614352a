"""Draws of measures of several classifiers, folds, groups or fits, as jointly as they are known."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from bayescm import direct
from bayescm.answers.drawn import Drawn, class_last, in_chunks, no_distribution
from bayescm.answers.interval import distribution_of, sibling_posterior
from bayescm.answers.partial_draws import of_folds, of_grouped, of_groups
from bayescm.distributions.beta import F1, Beta
from bayescm.evidence.counts import align, as_counts, positive
from bayescm.evidence.outcomes import as_outcomes, counts_of
from bayescm.measures.catalogue import resolve
from bayescm.measures.labelled import kernels as as_kernels
from bayescm.measures.labelled import measure
from bayescm.validate import check_choice, check_keywords, fail

type Members = Mapping[str, xr.DataArray | xr.DataTree]
type Evidence = xr.DataArray | xr.Dataset | xr.DataTree | Members


def draw_measures(
    evidence: Evidence,
    measures: str | Callable | Sequence[str | Callable],
    *,
    dim: str = "classifier",
    model: str | None = None,
    draws: int | None = None,
    random_seed: int | np.random.SeedSequence | None = None,
    **keywords: Any,
) -> Drawn:
    """
    Draw measures from the joint posterior of whatever the evidence holds.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or mapping
        Counts, outcomes or a fit. The members of a mapping are independent, even if their fits
        were given the same seed.
    measures : name, function, or sequence of these
    dim : str, default "classifier"
        The dim that will be compared; the name of the dim that the members of a mapping get.
    model : str, optional
        Name of a model with exact draws; default ``paired_outcomes`` for outcomes, the correlated
        t for folds, separate posteriors else.
    draws : int, optional
        Default 50,000 for small tables, 10,000 for large ones.
    random_seed : int, optional
    **keywords
        Of the model, such as ``concentration=0.5``; and for counts ``of="predictive"`` (with ``n``)
        for the measure of the next test set.

    Returns
    -------
    Drawn
    """
    if draws is not None and (not isinstance(draws, (int, np.integer)) or draws < 2):
        raise fail("draws is not a number of draws", draws, "an integer >= 2", "pass draws=10000")
    if isinstance(evidence, xr.DataTree):
        return _of_tree(evidence, measures, dim)
    rng = np.random.default_rng(random_seed)
    options = {"model": model, "draws": draws, **keywords}
    if isinstance(evidence, Mapping) and not isinstance(evidence, xr.Dataset):
        return _of_members(evidence, measures, dim, rng, options)
    if isinstance(evidence, xr.Dataset):
        evidence = as_outcomes(evidence)
        folds = "fold" in evidence.dims and dim != "fold"
        if model == "hierarchical_groups" and dim == "classifier":
            return of_grouped(evidence, measures, draws, rng, **keywords)
        if model == "paired_outcomes" or (model is None and not folds):
            return _of_outcomes(evidence, measures, dim, draws, rng, **keywords)
        evidence = counts_of(evidence)
    counts = as_counts(evidence)
    if "concentration" in keywords:
        options["concentration"] = align(keywords["concentration"], evidence)
    if "fold" in counts.dims and model is None and dim != "fold":
        return of_folds(counts, measures, dim, draws, rng, **keywords)
    if dim == "classifier":
        _warn_if_paired(_classifiers(counts))
    if model == "hierarchical_groups" and dim == "group":
        own = {key: each for key, each in options.items() if key not in ("model", "draws")}
        return of_groups(counts, measures, draws, rng, **own)
    return _of_counts(counts, measures, rng, **options)


def _of_tree(tree, measures, dim):
    """Take the draws of a fit as they are; of every group where groups are compared."""
    own = f"theta_{dim}"
    held = "posterior" in tree.children and own in tree["posterior"].data_vars
    values = measure(tree, measures, variable=own if held else None)
    values = values.stack(every=("chain", "draw"), create_index=False)
    values = values.drop_vars(["chain", "draw"]).rename(every="draw").transpose("draw", ...)
    counts = tree["constant_data"]["counts"] if "constant_data" in tree.children else None
    pairs = tree.attrs.get("model") == "paired_outcomes"
    if dim == "classifier" and not pairs and counts is not None and "predicted" in counts.dims:
        _warn_if_paired(_classifiers(counts))
    found = [resolve(name) for name in ([measures] if _one(measures) else measures)]
    return Drawn(class_last(values), found, pairs and dim == "classifier")


def _one(measures):
    return isinstance(measures, str) or callable(measures)


def _of_members(members, measures, dim, rng, options):
    """Draw each member by itself, in an order of its own: equal seeds must not make pairs."""
    if not members:
        raise fail("there is no evidence", {}, "two or more", 'pass {"a": counts_a, "b": counts_b}')
    matrices = {name: each for name, each in members.items() if isinstance(each, xr.DataArray)}
    _check_positive(matrices)
    _warn_if_paired(matrices)
    parts, values = {}, []
    for name, member in members.items():
        seed = np.random.SeedSequence(int(rng.integers(2**63)))
        part = draw_measures(member, measures, dim="", random_seed=seed, **options)
        if dim in part.values.dims:
            todo = "select one of it, or compare over another dim"
            raise fail(f"a member has a dim {dim} of its own", name, "members without it", todo)
        parts[name] = part
    size = min(part.values.sizes["draw"] for part in parts.values())
    for part in parts.values():
        order = rng.permutation(part.values.sizes["draw"])[:size]
        values.append(part.values.isel(draw=order).drop_vars("positive", errors="ignore"))
    index = xr.Variable(dim, list(parts))
    joined = xr.concat(values, index, join="exact", coords="minimal", compat="override")

    def distribution(kernel, place):
        return list(parts.values())[place[dim]].distribution(kernel, place)

    found = next(iter(parts.values())).kernels
    return Drawn(class_last(joined.transpose("draw", ...)), found, False, distribution)


def _check_positive(members):
    """Raise where the same labels have one positive class here and another one there."""
    seen: dict[frozenset, Any] = {}
    for name, counts in members.items():
        own, labels = positive(counts), frozenset(as_counts(counts).indexes["actual"])
        if own is not None and seen.setdefault(labels, own) != own:
            todo = f"give all members positive={seen[labels]!r}"
            raise fail(f"{name} has another positive class", own, repr(seen[labels]), todo)


def _of_outcomes(outcomes, measures, dim, draws, rng, **keywords):
    matrices = counts_of(outcomes)
    found = as_kernels(measures, matrices)
    check_keywords(direct.paired_outcomes, keywords)
    if "concentration" in keywords:
        keywords["concentration"] = align(keywords["concentration"], matrices)
    posterior = direct.paired_outcomes(outcomes, **keywords)
    values = in_chunks(posterior.measure, found, draws, rng, matrices)

    def difference(kernel, first, second):
        at = tuple(first[each] for each in matrices.dims[:-3])
        pair = first["classifier"], second["classifier"]
        return posterior.difference(kernel, *pair, at=at, label=first.get("class"))

    if dim == "classifier":
        return Drawn(values, found, True, no_distribution, difference)

    def distribution(kernel, place):
        at = tuple(place[each] for each in matrices.dims[:-2])
        prior = posterior.prior[place["classifier"]]
        own = direct.dirichlet_multinomial(posterior.matrices[at], concentration=prior)
        return _of_class(own.distribution(kernel), place)

    return Drawn(values, found, False, distribution)


def _of_counts(
    counts, measures, rng, *, model=None, draws=None, of="parameter", n=None, **keywords
):
    """Draw from separate posteriors: independent, whatever the dim."""
    check_choice("of", of, ["parameter", "predictive"])
    found = as_kernels(measures, counts)
    if model is None:
        model = "fixed_totals" if "prevalence" in counts.coords else "dirichlet_multinomial"
    posterior, used = sibling_posterior(counts, counts, model, keywords)
    template = counts.isel({dim: 0 for dim in used if dim in counts.dims}, drop=True)

    def distribution(kernel, place):
        every = {dim: index for dim, index in place.items() if dim in counts.dims}
        if of == "predictive":
            options = {"of": of, "n": n, "model": model, **keywords}
            return _of_class(distribution_of(counts.isel(every), kernel, **options)[0], place)
        single = counts.isel(every)
        return _of_class(
            sibling_posterior(single, single, model, keywords)[0].distribution(kernel), place
        )

    drawer = posterior.measure
    if of == "predictive":
        totals = template.sum(["actual", "predicted"]).values
        drawer = _predictive(posterior, totals if n is None else n)
    values = in_chunks(drawer, found, draws, rng, template)
    return Drawn(values, found, False, distribution)


def _of_class(distribution, place):
    """Return the distribution of one class out of those of all."""
    if distribution is None or "class" not in place:
        return distribution
    if not isinstance(distribution, (Beta, F1)):
        return None
    return type(distribution)(distribution.a[place["class"]], distribution.b[place["class"]])


def _predictive(posterior, n):
    """Return the function that draws all measures of the next test set from the same counts."""

    def measure(found, size, rng):
        theta = posterior.draws(size, rng)["theta"]
        flat = theta.reshape(*theta.shape[:-2], -1)
        counts = rng.multinomial(np.broadcast_to(n, flat.shape[:-1]), flat).reshape(theta.shape)
        return [kernel(counts) for kernel in found]

    return measure


def _warn_if_paired(members):
    """Warn where matrices that are taken for independent have the same class totals."""
    totals = {name: counts.sum("predicted").values.tolist() for name, counts in members.items()}
    for one, two in combinations(totals, 2):
        if totals[one] == totals[two]:
            warnings.warn(
                f"{one} and {two} have the same class totals: they look as if tested on the same "
                "examples, but are compared as independent, which makes intervals too wide. To "
                "pair them pass their answers through from_classifiers.",
                UserWarning,
                stacklevel=4,
            )
            return


def _classifiers(counts):
    """Return the matrices of each classifier by name."""
    if "classifier" not in counts.dims:
        return {}
    names = counts.coords.get("classifier", np.arange(counts.sizes["classifier"])).values.tolist()
    return {name: counts.isel(classifier=place) for place, name in enumerate(names)}
