"""The pictures of a report: the library's own plots, as the evidence allows."""

import bayescm as bcm
from bayescm.answers.asking import ASKED, member_by_member
from bayescm.evidence.counts import classes, positive
from bayescm.measures.trees import told
from bayescm.plots.matrix import has_model
from bayescm.plots.style import MOST_COLORS
from bayescm.posterior.route import default_model
from bayescm.reporting.parts import Picture, Section
from bayescm.reporting.progress import tell

# With more classes than this the matrix cannot be read even as colours.
LARGEST_MATRIX = 100
# Rows of a picture and panels of densities beyond which it cannot be read either.
MOST_ROWS, MOST_PANELS = 24, 6


def of_counts(whole, measures, interval, posterior, comparison=None) -> Section:
    """Draw what the evidence and its posterior allow, its batches over time included."""
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
    counts = told(counts, interval.get("positive"))
    add_matrices(section, counts, counts, posterior, interval)
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


def add_matrices(section, evidence, counts, posterior, interval):
    """
    Draw the confusion matrix, and recall and precision together: of each classifier, or of a fit.

    They are of the same evidence, model and prior as the numbers, and never of a table that sums
    what the model tells apart. What it has too many of for a picture is left out.
    """
    plain = {name: interval[name] for name in ("prob", "kind")}
    keywords = {k: v for k, v in interval.items() if k not in (*plain, "accuracy", "positive")}
    own, of_matrix = {k: v for k, v in keywords.items() if k not in ASKED}, dict(keywords)
    if own:  # without a model the matrix is of proportions, which have a prior of their own
        of_matrix["model"] = own.get("model") or default_model(counts, own)
    elif evidence is counts and not has_model(counts, keywords):
        of_matrix = {}
    members, _ = member_by_member(posterior, interval.get("of", "parameter"))
    dims, each = members.frame.dims, {"": evidence}
    if dims == ("classifier",) and evidence is counts:
        names = counts["classifier"].values
        dims, each = (), {str(name): counts.sel(classifier=name, drop=True) for name in names}
    classes = counts.sizes["actual"]
    with_matrix = not dims and classes <= LARGEST_MATRIX
    with_region = classes == 2 and positive(posterior.counts) is not None
    if dims:
        section.sentences.append(
            f"The confusion matrix is left out: the model has one of every {dims[0]}."
        )
    elif not with_matrix:
        section.sentences.append(
            f"The confusion matrix of {classes} classes is left out: its labels would be "
            "unreadable."
        )
    if with_region and dims and members.batch.size > MOST_COLORS:
        with_region = False
        section.sentences.append(
            f"The region of recall and precision is left out: the model has one of every {dims[0]}."
        )
    for number, (name, one) in enumerate(each.items()):
        named = f" of {name}" if name else ""
        if with_matrix:
            alt = f"Confusion matrix{named}: counts, and the share of each row with its interval."
            drawn = bcm.plot_matrix(one, **plain, **of_matrix)
            section.pictures.append(Picture(f"matrix-{number}", alt, drawn))
        if with_region:
            alt = f"Where precision and recall{named} lie together: highest-density region."
            drawn = bcm.plot_region(one, prob=plain["prob"], **keywords)
            section.pictures.append(Picture(f"region-{number}", alt, drawn))


def of_fit(tree, counts, measures, interval, posterior) -> Section:
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
    add_matrices(section, tree, counts, posterior, interval)
    return section
