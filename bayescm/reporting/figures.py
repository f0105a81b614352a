"""Figures in reports of counts or of a fit, using the plots of the package."""

import warnings
from functools import partial

import bayescm as bcm
from bayescm.answers.interval import ASKED, resolve_measures
from bayescm.evidence.counts import CELLS, classes, lacks_true_negatives, positive
from bayescm.evidence.default_models import model_of_counts
from bayescm.evidence.trees import with_positive_class
from bayescm.fitting.posterior_for import posterior_of, select_estimand
from bayescm.measures.display_names import check_display_names, display_label, display_name
from bayescm.plots import densities, folds, forest
from bayescm.plots.matrix import has_model
from bayescm.plots.style import MOST_COLORS
from bayescm.posteriors.hierarchical_groups import HierarchicalGroups
from bayescm.reporting.progress import progress
from bayescm.reporting.sections import Picture, Section

# With more classes, a plot of the matrix is illegible even with colours only.
_LARGEST_MATRIX = 100
# Largest number of rows in a legible plot.
MOST_ROWS = 24
_MOST_PANELS = 6  # largest number of panels of densities


def of_counts(batches, measures, interval, posterior, comparison=None) -> Section:
    """Plot the measures, and draw all other plots that the counts support."""
    section = Section("Pictures")
    counts = batches.sum("step") if "step" in batches.dims else batches
    mass = f"{100 * interval['prob']:.4g}% interval"
    plain = {name: interval[name] for name in ("prob", "kind")}
    progress("pictures: intervals")
    alt = f"Posterior mean and {mass} of {_listed(measures)}."
    figure = bcm.plot_forest(counts, measures, **interval)
    section.pictures.append(Picture("forest", alt, figure))
    if comparison is not None and len(comparison) <= MOST_ROWS:
        alt = f"Differences between classifiers with their {mass}."
        figure = bcm.plot_differences(comparison, **plain)
        section.pictures.append(Picture("differences", alt, figure))
    # Each measure requires one panel per classifier.
    most = max(1, _MOST_PANELS // counts.sizes.get("classifier", 1))
    single = [measure for measure in measures if _is_single(counts, measure)][:most]
    if single:
        progress("pictures: densities")
        alt = f"Posterior density of {_listed(single)} with its {mass}."
        figure = bcm.plot_posterior(counts, single, **interval)
        section.pictures.append(Picture("densities", alt, figure))
    progress("pictures: parts and matrices")
    section.pictures += _parts(batches, single, plain)
    counts = with_positive_class(counts, interval.get("positive"))
    section.pictures += _groups_together(counts, posterior, interval)
    add_matrices(section, counts, counts, posterior, interval)
    return section


def _groups_together(counts, posterior, interval):
    """Plot groups with two classes like studies: in ROC space, and as a paired forest plot."""
    if not isinstance(posterior, HierarchicalGroups) or counts.dims != ("group", *CELLS):
        return []
    if len(classes(counts)) != 2 or positive(counts) is None:
        return []
    if counts.sizes["group"] > MOST_ROWS:
        return []
    progress("pictures: groups together")
    others = {*ASKED, "prob", "kind", "model", "positive"}
    options = {name: value for name, value in interval.items() if name not in others}
    options |= {name: interval[name] for name in ("prob", "random_seed") if name in interval}
    # Groups may be anything, so medical terms are not used.
    names = {"group": "group", "recall": "recall", "fpr": "false positive rate"}
    options["display_names"] = names | dict(check_display_names(None))
    recall, specificity = map(display_name, ("recall", "specificity"))
    space = (
        f"{recall} over the false positive rate: groups, the typical and a new one with regions."
    )
    rows = f"{recall} and {specificity} of every group, the typical one, all of them and a new one."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the plot states that it has no curve
        figure = bcm.plots.plot_sroc(counts, **options)
    return [
        Picture("sroc", space, figure),
        Picture("studies", rows, bcm.plots.plot_studies(counts, kind=interval["kind"], **options)),
    ]


def _listed(measures):
    names = list(map(display_name, measures))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is_single(counts, measure):
    return len(classes(counts)) == 2 or not bcm.measures.resolve(measure).one_class


def _parts(counts, measures, plain):
    """Plot the folds, groups or batches individually for one measure."""
    if "classifier" in counts.dims or not measures:
        return []
    measure, name = measures[-1], display_name(measures[-1])
    if counts.sizes.get("fold", 0) >= 2:
        alt = f"{name} of every fold alone, and of all of them by each model and t interval."
        figures = folds.fold_figures(counts, measure, **plain)
        names = ["folds"] if len(figures) == 1 else [f"folds-{i + 1}" for i in range(len(figures))]
        return [Picture(name, alt, figure) for name, figure in zip(names, figures, strict=True)]
    if "repeat" not in counts.dims and 2 <= counts.sizes.get("group", 0) <= MOST_ROWS:
        alt = f"{name} of every group, evaluated on its own examples alone."
        figure = bcm.plot_forest(counts, measure, model="dirichlet_multinomial", **plain)
        return [Picture("groups", alt, figure)]
    if counts.sizes.get("step", 0) >= 2:
        alt = "Interval of each measure after every batch; dots are single batches."
        history = bcm.online.history(counts, measures, **plain)
        return [Picture("history", alt, bcm.plot_history(history, batches=counts))]
    return []


def of_fit(tree, counts, measures, interval, posterior) -> Section:
    """Plot the intervals and densities of a fit, and its chains if it was sampled."""
    section = Section("Pictures")
    in_parts = partial(_in_parts, tree=tree, measures=measures, interval=interval)
    alt = "Interval of each measure."
    section.pictures += in_parts("forest", alt, bcm.plot_forest, most=forest.MOST)
    alt = "Posterior density of each measure."
    section.pictures += in_parts("densities", alt, bcm.plot_posterior, most=densities.MOST)
    if "sample_stats" in tree.children:
        alt = "Ranks and traces of the chains, which should look alike."
        section.pictures.append(Picture("chains", alt, bcm.plots.plot_diagnostics(tree)))
    add_matrices(section, tree, counts, posterior, interval)
    return section


def _in_parts(name, alt, draw, *, tree, measures, interval, most):
    """Split a plot of a fit into as many figures as its measures and members require."""
    parts = _parts_of_fit(tree, list(measures), most)
    pictures = []
    for number, (part, some) in enumerate(parts, start=1):
        of = f" Part {number} of {len(parts)}." if len(parts) > 1 else ""
        label = f"{name}-{number}" if len(parts) > 1 else name
        pictures.append(Picture(label, alt + of, draw(part, some, **interval)))
    return pictures


def _parts_of_fit(tree, measures, most):
    """Split the measures of a fit, and then its members, into parts with few panels."""
    posterior = posterior_of(tree)
    resolved_measures = resolve_measures(posterior, measures)
    number = sum(posterior.measure_template(measure).size for measure in resolved_measures)
    if number <= most:
        return [(tree, measures)]
    half = len(measures) // 2
    if half:
        halves = [(tree, measures[:half]), (tree, measures[half:])]
    else:
        sizes = posterior.template.sizes
        dim = max(sizes, key=sizes.__getitem__, default=None)
        if dim is None or sizes[dim] < 2:
            return [(tree, measures)]
        middle = sizes[dim] // 2
        halves = [
            (tree.isel({dim: side}, missing_dims="ignore"), measures)
            for side in (slice(None, middle), slice(middle, None))
        ]
    return [part for half in halves for part in _parts_of_fit(*half, most)]


def add_matrices(section, evidence, counts, posterior, interval):
    """
    Plot the confusion matrix, and the region of recall and precision, of each classifier or fit.

    Plots use the same evidence, model and prior as the tables, and never sum over dimensions that
    the model distinguishes. Plots that would be too large are omitted.
    """
    plain = {name: interval[name] for name in ("prob", "kind")}
    keywords = {k: v for k, v in interval.items() if k not in (*plain, "accuracy", "positive")}
    members, _ = select_estimand(posterior, interval.get("of", "parameter"))
    dims, tables = members.template.dims, {"": evidence}
    if dims == ("classifier",) and evidence is counts:
        names = counts["classifier"].values
        dims, tables = (), {str(name): counts.sel(classifier=name, drop=True) for name in names}
    size = counts.sizes["actual"]
    with_matrix = not dims and size <= _LARGEST_MATRIX and not lacks_true_negatives(counts)
    with_region = size == 2 and positive(posterior.counts) is not None
    if dims:
        section.sentences.append(
            f"The confusion matrix is left out, because the model has one for every {dims[0]}."
        )
    elif size > _LARGEST_MATRIX:
        section.sentences.append(
            f"The confusion matrix of {size} classes is left out, because its labels would "
            "be unreadable."
        )
    if with_region and dims and members.batch.size > MOST_COLORS:
        with_region = False
        section.sentences.append(
            f"The region of {_listed(['recall', 'precision'])} is left out, because the "
            f"model has one for every {dims[0]}."
        )
    for number, (name, table) in enumerate(tables.items()):
        of = f" of {display_label(name)}" if name else ""
        if with_matrix:
            alt = f"Confusion matrix{of}: counts, and the proportion of each row with its interval."
            of_matrix = keywords if evidence is not counts else _of_matrix(counts, keywords)
            figure = bcm.plot_matrix(table, **plain, **of_matrix)
            section.pictures.append(Picture(f"matrix-{number}", alt, figure))
        if with_region:
            rates = _listed(["precision", "recall"])
            alt = f"{rates}{of}: joint highest-density region."
            figure = bcm.plots.plot_region(table, prob=plain["prob"], **keywords)
            section.pictures.append(Picture(f"region-{number}", alt, figure))


def _of_matrix(counts, keywords):
    """Return the keywords of a matrix plot. Without a model, it shows plain proportions."""
    of_model = {name: value for name, value in keywords.items() if name not in ASKED}
    if of_model:
        return keywords | {
            "model": of_model.get("model") or model_of_counts(counts, of_model).model
        }
    return keywords if has_model(counts, keywords) else {}
