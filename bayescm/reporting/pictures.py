"""The pictures of a report: the library's own plots, as the evidence allows."""

import bayescm as bcm
from bayescm.evidence.counts import CELLS, positive
from bayescm.reporting.parts import Picture, Section, Table

# Beyond so many classes the labels of the matrix cannot be read.
LARGEST_MATRIX = 30


def of_counts(counts, measures, interval) -> Section:
    """Draw densities, matrices, a forest and the region of precision and recall."""
    section = Section("Pictures")
    prob = interval["prob"]
    plain = {name: interval[name] for name in ("prob", "kind")}
    names = [each if isinstance(each, str) else each.__name__ for each in measures]
    listed = ", ".join(names)
    section.pictures.append(
        Picture(
            "forest",
            f"Posterior mean and {prob:.4g} interval of {listed}.",
            bcm.plot_forest(counts, measures, **interval),
        )
    )
    whole = [each for each in measures if _whole(counts, each)]
    if whole:
        section.pictures.append(
            Picture(
                "densities",
                f"Posterior density of {', '.join(map(str, whole))} with its {prob:.4g} interval.",
                bcm.plot_posterior(counts, whole, **interval),
            )
        )
    if counts.sizes["actual"] > LARGEST_MATRIX:
        section.sentences.append(
            f"The confusion matrix of {counts.sizes['actual']} classes is left out: its labels "
            f"could not be read."
        )
    else:
        section.pictures += _matrices(counts, plain)
    return section


def _whole(counts, measure):
    return counts.sizes["actual"] == 2 or not bcm.measures.resolve(measure).one_class


def _matrices(counts, plain):
    pooled = counts.sum([dim for dim in counts.dims if dim not in (*CELLS, "classifier")])
    pooled = pooled.drop_vars(["n_folds", "test_share", "fixed_totals"], errors="ignore")
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


def of_scores(scores, settings) -> Section:
    """Draw the curves of scores, and tell their areas."""
    prob = settings["prob"]
    areas = {
        "AUC": bcm.curves.auc(scores, prob=prob, kind=settings["kind"]),
        "average precision": bcm.curves.average_precision(scores, prob=prob, kind=settings["kind"]),
    }
    section = Section("Curves")
    rows = []
    for name, ends in areas.items():
        frame = ends.to_dataset(dim="bound").reset_coords(drop=True).to_dataframe().reset_index()
        frame = frame.drop(columns=["index"], errors="ignore")
        frame.insert(0, "area", name)
        rows += frame.to_dict("records")
        section.sentences += [
            f"{name}{_of(row)} lies between {row['lower']:.3f} and {row['upper']:.3f} with "
            f"probability {100 * prob:.4g} %."
            for row in frame.to_dict("records")
        ]
    import pandas as pd

    section.tables = [Table("Areas under the curves", pd.DataFrame(rows))]
    from bayescm.plots import plot_precision_recall, plot_roc

    section.pictures = [
        Picture("roc", "ROC curve with its simultaneous band.", plot_roc(scores, prob=prob)),
        Picture(
            "precision-recall-curve",
            "Precision-recall curve with its simultaneous band.",
            plot_precision_recall(scores, prob=prob),
        ),
    ]
    return section


def _of(row):
    return f" of {row['classifier']}" if "classifier" in row else ""
