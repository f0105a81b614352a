"""Which sections a report has, by the kind of evidence."""

import warnings

import numpy as np
import xarray as xr

import bayescm as bcm
from bayescm.answers.asking import ASKED
from bayescm.evidence.counts import CELLS, as_counts
from bayescm.evidence.outcomes import matrices_of
from bayescm.evidence.scored.attempts import is_attempts
from bayescm.evidence.scored.results import is_results
from bayescm.posterior.route import default_model, members_of, posterior_of
from bayescm.reporting import content, facts, pictures
from bayescm.reporting.attempts import of_attempts
from bayescm.reporting.cautions import cautions
from bayescm.reporting.groups import MANY, apart, worst
from bayescm.reporting.parts import Section
from bayescm.reporting.progress import tell
from bayescm.reporting.results import of_results
from bayescm.reporting.settling import open_questions, uncertain
from bayescm.validate import fail

# From this many cells on a report draws less, or it would take minutes.
_MANY_CELLS, _FEWER_DRAWS = 2_500, 500
# The dims that a report knows how to speak of, beside those that its model uses up.
_DIMS = ("fold", "repeat", "group", "classifier", "step")


def sections_of(evidence, measures, scores, settings, keywords) -> list[Section]:
    """Return the sections of the report, question first."""
    from bayescm.reporting.curves import beside, of_scores
    from bayescm.reporting.judged import of_partly_labelled
    from bayescm.reporting.without_counts.probabilities import of_probabilities
    from bayescm.reporting.without_counts.raters import of_raters

    if "unlabelled" in evidence.coords:
        return of_partly_labelled(evidence, measures, settings, keywords)
    if is_results(evidence):
        return of_results(evidence, settings, keywords)
    if is_attempts(evidence):
        return of_attempts(evidence, measures, settings, keywords)
    if "probabilities" in evidence.coords:
        return of_probabilities(evidence, measures, settings, keywords)
    if isinstance(evidence, xr.Dataset) and "votes" in evidence:
        return of_raters(evidence, measures, settings, keywords)
    if isinstance(evidence, xr.Dataset) and "outcome" not in evidence.dims:
        return of_scores(evidence, settings)
    if isinstance(evidence, xr.DataTree):
        sections = _of_fit(evidence, measures, settings)
    else:
        sections = _of_counts(evidence, measures, settings, keywords)
    if scores is not None:
        sections[-2:-2] = beside(scores, settings)
    return sections


def _of_counts(evidence, measures, settings, keywords):
    whole = _counts(evidence, keywords)
    counts = whole.sum("step") if "step" in whole.dims else whole
    wanted = content.check_measures(measures, counts)
    prob, kind, rope = settings["prob"], settings["kind"], settings["rope"]
    interval = {"prob": prob, "kind": kind, "random_seed": settings["random_seed"], **keywords}
    if counts.sizes["actual"] ** 2 > _MANY_CELLS:
        interval.setdefault("draws", _FEWER_DRAWS)
    tell("intervals")
    table = bcm.summary(counts, wanted, **interval)
    content.check_defined(table)
    paired = isinstance(evidence, xr.Dataset)
    tell("what remains open")
    thin, comparison = uncertain(counts, table, wanted, prob, kind), None
    sections = [content.evaluated(whole, paired=paired), content.known(table, prob, kind)]
    sections += content.each_class(counts, wanted, interval)
    sections += _groups(counts, wanted, settings, keywords)
    if counts.sizes.get("classifier", 1) > 1:
        tell("comparison")
        comparison = _comparison(evidence, wanted, settings, keywords)
        sections.append(content.better(comparison, rope, prob))
        thin.sentences += open_questions(evidence, comparison, wanted, prob, rope)
    model = keywords.get("model") or default_model(counts)
    posterior = posterior_of(counts, **_own(keywords))
    given = keywords.get("concentration")
    prior = facts.prior_of(counts, given) if posterior.cell_prior else None
    told = facts.of_counts(counts, model, prior, settings["random_seed"])
    if comparison is not None and paired:
        pairs = "the correlated t" if "fold" in evidence.dims else "paired_outcomes"
        told["Model"] += f" of each classifier, {pairs} of their differences"
    said = {"fixed": _fixed(posterior), "doubts": posterior.doubts()}
    return [
        *sections,
        thin,
        pictures.of_counts(whole, wanted, interval, posterior, comparison),
        content.computed(table, told),
        cautions(whole, table, prior=prior, paired=paired, **said),
    ]


def _counts(evidence, keywords):
    counts = as_counts(matrices_of(evidence))
    known = {*_DIMS, *CELLS, *posterior_of(evidence, **_own(keywords)).uses}
    strange = [dim for dim in counts.dims if dim not in known]
    if strange:
        dim = strange[0]
        raise fail(
            "a report covers a single evaluation",
            dim,
            sorted(known),
            f"select one with counts.isel({dim}=0), or rename the dim: "
            f'counts.rename({dim}="group")',
        )
    return counts


def _own(keywords):
    """Return the keywords of the posterior, without those of what is asked of it."""
    return {name: each for name, each in keywords.items() if name not in ASKED}


def _fixed(posterior):
    """Say whether the classes' shares are given rather than estimated: they do not vary."""
    name = posterior.check_of("parameter")
    shares = posterior.cells(name, 2, np.random.default_rng(0))[:2].sum(axis=-1)
    return bool(np.ptp(shares, axis=0).max() < 1e-12)


def _comparison(evidence, measures, settings, keywords):
    """Compare by the report's own model and prior where it is a model of a comparison."""
    kept = {key: keywords[key] for key in ("concentration",) if key in keywords}
    names = [each for each in measures if not _per_class(evidence, each)]
    with warnings.catch_warnings():
        # The cautions say so.
        warnings.filterwarnings("ignore", message=".*have the same class totals")
        return bcm.compare(evidence, names, **settings, **kept)


def _groups(counts, measures, settings, keywords):
    """Say how far groups are apart, where the posterior knows each of them."""
    whole = posterior_of(counts, **_own(keywords))
    known = "group" not in whole.uses or "theta_group" in whole.estimands.values()
    names = [each for each in measures if not _per_class(counts, each)]
    if counts.sizes.get("group", 1) < 2 or "fold" in counts.dims or not (known and names):
        return []
    own = _own(keywords)
    members = whole.members("group") if own.get("model") else members_of(counts, "group", **own)
    sections = [apart(members, names, settings)]
    if counts.sizes["group"] >= MANY and not own:
        sections.append(worst(counts, names, settings))
    return sections


def _per_class(evidence, measure):
    labels = evidence["label"] if isinstance(evidence, xr.Dataset) else evidence["actual"]
    square = np.ones((labels.size, labels.size))
    return bool(np.ndim(bcm.measures.resolve(measure)(square)))


def _of_fit(tree, measures, settings):
    counts = _observed(tree)
    wanted = content.check_measures(measures, counts)
    prob, kind = settings["prob"], settings["kind"]
    table = bcm.summary(tree, wanted, prob=prob, kind=kind)
    content.check_defined(table)
    model, posterior = tree.attrs.get("model", "not named"), posterior_of(tree)
    given = tree["constant_data"].get("concentration")
    by_cell = given is not None and set(CELLS) <= set(given.dims)
    prior = facts.prior_of(counts, given) if by_cell else None
    return [
        content.evaluated(counts),
        content.known(table, prob, kind),
        uncertain(counts, table, wanted, prob, kind),
        pictures.of_fit(tree, counts, wanted, {"prob": prob, "kind": kind}, posterior),
        content.computed(table, facts.of_fit(tree, model, prior)),
        cautions(counts, table, prior=prior, fixed=_fixed(posterior)),
    ]


def _observed(tree):
    data = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    if "counts" not in data or "predicted" not in data["counts"].dims:
        raise fail(
            "the fit does not contain its matrices",
            tree.attrs.get("model", list(data.data_vars)),
            "a fit of counts",
            "pass the evidence itself to report()",
        )
    counts = data["counts"]
    return as_counts(counts.astype(np.int64) if (counts == counts.round()).all() else counts)
