"""The pictures of a report: the library's own plots, as the evidence allows."""

import bayescm as bcm
from bayescm.evidence.counts import CELLS, DESIGN, classes, positive
from bayescm.reporting.parts import Picture, Section
from bayescm.reporting.progress import tell

# With more classes than this the matrix cannot be read even as colours.
LARGEST_MATRIX = 100
# Rows of a picture and panels of densities beyond which it cannot be read either.
MOST_ROWS, MOST_PANELS = 24, 6


def of_counts(whole, measures, interval, comparison=None) -> Section:
    """Draw what the evidence allows, its batches over time included."""
    section = Section("Pictures")
    counts = whole.sum("step") if "step" in whole.dims else whole
    words = f"{100 * interval['prob']:.4g}% interval"
    plain = {name: interval[name] for name in ("prob", "kind")}
    names = [each if isinstance(each, str) else each.__name__ for each in measures]
    tell("pictures: intervals")
    section.pictures.append(
        Picture(
            "forest",
            f"Posterior mean and {words} of {_listed(names)}.",
            bcm.plot_forest(counts, measures, **interval),
        )
    )
    if comparison is not None and len(comparison) <= MOST_ROWS:
        alt = f"Differences between classifiers with their {words}."
        drawn = bcm.plot_differences(comparison, **plain)
        section.pictures.append(Picture("differences", alt, drawn))
    shown = [each for each in measures if _whole(counts, each)][: _panels(counts)]
    if shown:
        tell("pictures: densities")
        named = _listed([each if isinstance(each, str) else each.__name__ for each in shown])
        section.pictures.append(
            Picture(
                "densities",
                f"Posterior density of {named} with its {words}.",
                bcm.plot_posterior(counts, shown, **interval),
            )
        )
    tell("pictures: parts and matrices")
    section.pictures += _parts(whole, shown, plain)
    if counts.sizes["actual"] > LARGEST_MATRIX:
        section.sentences.append(
            f"The confusion matrix of {counts.sizes['actual']} classes is left out: its labels "
            f"would be unreadable."
        )
    else:
        section.pictures += _matrices(counts, plain)
    return section


def _listed(names):
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _panels(counts):
    """Return how many measures have a density each, so that the panels stay readable."""
    return max(1, MOST_PANELS // counts.sizes.get("classifier", 1))


def _parts(counts, measures, plain):
    """Draw the folds, the groups or the batches one by one, in one measure."""
    several = "classifier" in counts.dims or "repeat" in counts.dims
    if several or not measures:
        return []
    measure, name = measures[-1], bcm.measures.resolve(measures[-1]).__name__
    if 2 <= counts.sizes.get("fold", 0) <= MOST_ROWS:
        alt = f"{name} of every fold alone, and of all of them by each model and t interval."
        return [Picture("folds", alt, bcm.plot_folds(counts, measure, **plain))]
    if 2 <= counts.sizes.get("group", 0) <= MOST_ROWS:
        alt = f"{name} of every group, evaluated on its own examples alone."
        one = bcm.plot_forest(counts, measure, model="dirichlet_multinomial", **plain)
        return [Picture("groups", alt, one)]
    if counts.sizes.get("step", 0) >= 2:
        alt = "Interval of each measure after every batch; dots are single batches."
        history = bcm.online.history(counts, measures, **plain)
        return [Picture("history", alt, bcm.plot_history(history, batches=counts))]
    return []


def _whole(counts, measure):
    return len(classes(counts)) == 2 or not bcm.measures.resolve(measure).one_class


def _matrices(counts, plain):
    pooled = counts.sum([dim for dim in counts.dims if dim not in (*CELLS, "classifier")])
    pooled = pooled.drop_vars(DESIGN, errors="ignore")
    each = {"": pooled}
    if "classifier" in pooled.dims:
        names = pooled["classifier"].values
        each = {str(name): pooled.sel(classifier=name, drop=True) for name in names}
    drawn = []
    for number, (name, one) in enumerate(each.items()):
        of = f" of {name}" if name else ""
        alt = f"Confusion matrix{of}: counts, and the share of each row with its interval."
        drawn.append(Picture(f"matrix-{number}", alt, bcm.plot_matrix(one, **plain)))
        if one.sizes["actual"] == 2 and positive(one) is not None:
            alt = f"Where precision and recall{of} lie together: highest-density region."
            drawn.append(Picture(f"region-{number}", alt, bcm.plot_region(one, prob=plain["prob"])))
    return drawn


def of_fit(tree, counts, measures, interval) -> Section:
    """Draw the densities and the forest of a fit, and its chains where it was sampled."""
    section = Section("Pictures")
    section.pictures = [
        Picture("forest", "Interval of each measure.", bcm.plot_forest(tree, measures, **interval)),
        Picture(
            "densities",
            "Posterior density of each measure.",
            bcm.plot_posterior(tree, measures, **interval),
        ),
    ]
    if "sample_stats" in tree.children:
        alt = "Ranks and traces of the chains: they should look alike."
        section.pictures.append(Picture("chains", alt, bcm.plot_diagnostics(tree)))
    if counts.sizes["actual"] <= LARGEST_MATRIX:
        section.pictures += _matrices(counts, interval)
    return section
