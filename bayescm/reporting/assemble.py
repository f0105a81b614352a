"""Which sections a report has, by the kind of evidence."""

import importlib.metadata

import numpy as np
import xarray as xr

import bayescm as bcm
from bayescm.evidence.counts import as_counts, default_model
from bayescm.reporting import content, pictures
from bayescm.reporting.parts import Section
from bayescm.validate import fail


def sections_of(evidence, measures, scores, settings, keywords) -> list[Section]:
    """Return the sections of the report, question first."""
    if isinstance(evidence, xr.Dataset) and "outcome" not in evidence.dims:
        return _of_scores(evidence, settings)
    if isinstance(evidence, xr.DataTree):
        sections = _of_fit(evidence, measures, settings)
    else:
        sections = _of_counts(evidence, measures, settings, keywords)
    if scores is not None:
        sections[-2:-2] = _of_scores(scores, settings)
    return sections


def _of_counts(evidence, measures, settings, keywords):
    counts = _counts(evidence)
    wanted = content.check_measures(measures, counts)
    prob, kind, seed = settings["prob"], settings["kind"], settings["random_seed"]
    interval = {"prob": prob, "kind": kind, "random_seed": seed, **keywords}
    table = bcm.summary(counts, wanted, **interval)
    content.check_defined(table)
    sections = [content.evaluated(counts), content.known(table, prob, kind)]
    if counts.sizes.get("classifier", 1) > 1:
        sections.append(_comparison(evidence, wanted, settings))
    sections += [
        content.uncertain(counts, table, prob, kind),
        pictures.of_counts(counts, wanted, interval),
        content.computed(table, facts_of(counts, seed, keywords)),
        content.cautions(counts, table),
    ]
    return sections


def _counts(evidence):
    if isinstance(evidence, xr.Dataset):
        from bayescm.evidence.outcomes import counts_of

        return counts_of(evidence)
    counts = as_counts(evidence)
    known = {"fold", "repeat", "group", "classifier", "actual", "predicted"}
    strange = [dim for dim in counts.dims if dim not in known]
    if strange:
        raise fail(
            "a report is about one evaluation",
            f"a dim {strange[0]}",
            ", ".join(sorted(known)),
            f"select one of them: counts.isel({strange[0]}=0)",
        )
    return counts


def _comparison(evidence, measures, settings):
    names = [each for each in measures if not _per_class(evidence, each)]
    comparison = bcm.compare(
        evidence,
        names,
        prob=settings["prob"],
        kind=settings["kind"],
        rope=settings["rope"],
        random_seed=settings["random_seed"],
    )
    return content.better(comparison, settings["rope"])


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
    facts = facts_of(counts, settings["random_seed"], {}) | {
        "Model": tree.attrs.get("model", "not named"),
        "Draws": f"{tree['posterior'].sizes['chain']} chains of {tree['posterior'].sizes['draw']}, "
        f"{tree.attrs.get('sampling_method', 'sampled')}",
        **_diagnostics(tree),
    }
    return [
        content.evaluated(counts),
        content.known(table, prob, kind),
        content.uncertain(counts, table, prob, kind),
        pictures.of_fit(tree, counts, wanted, {"prob": prob, "kind": kind}),
        content.computed(table, facts),
        content.cautions(counts, table),
    ]


def _observed(tree):
    data = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    if "counts" not in data:
        raise fail(
            "the fit does not hold its counts",
            list(data.data_vars),
            "constant_data with a variable counts, as fit makes it",
            "fit the evidence with bayescm.fit",
        )
    counts = data["counts"]
    return as_counts(counts.astype(np.int64) if (counts == counts.round()).all() else counts)


def _diagnostics(tree):
    if "sample_stats" not in tree.children:
        return {}
    import arviz as az

    found = az.summary(tree, var_names=["theta"], kind="diagnostics", round_to="none")
    diverging = tree["sample_stats"].get("diverging")
    divergences = 0 if diverging is None else int(diverging.sum())
    worst, least = found["r_hat"].max(), found["ess_bulk"].min()
    return {
        "Diagnostics": f"{divergences} divergences, r-hat up to {worst:.3f}, ESS from {least:.0f}"
    }


def facts_of(counts, seed, keywords):
    """Return what a reader needs to make the numbers again."""
    name = keywords.get("model") or default_model(counts)
    model = name if isinstance(name, str) else getattr(name, "__name__", "a model of its own")
    prior = keywords.get("concentration")
    cells = counts.sizes["actual"] ** 2
    if prior is None:
        weight = f"concentration {2 / cells:.4g} per cell, worth two examples in all"
    else:
        total = float(np.sum(np.broadcast_to(prior, (counts.sizes["actual"],) * 2)))
        weight = f"as given, worth {total:.4g} examples in all"
    versions = ["bayescm", "numpy", "scipy", "xarray"]
    return {
        "Model": model,
        "Prior": weight,
        "Seed": seed,
        "Versions": ", ".join(f"{each} {importlib.metadata.version(each)}" for each in versions),
    }


def _of_scores(scores, settings):
    return [pictures.of_scores(scores, settings)]
