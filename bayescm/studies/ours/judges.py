"""
A few labels and a judge of everything: coverage and width against the labels alone.

``"coverage"``: simulated are 2,000 items that a judge has seen, of which 20, 50 or 100 chosen at
random were labelled. In the cases without a classifier the quantity is a rate; with one it is also
F1. Judge and classifier err independently given the truth. Each interval is a 95% equal-tailed one
of the population's value, beside that of the labelled examples alone.

``"comparisons"``: the difference of two classifiers in accuracy and F1 under one judge, beside
that of the labelled examples alone, paired.

``"real"``: preferences of people between two language models, of which all are known, and the
picks of a judge. 28 or 56 labels are drawn from each table, and the rate is that of the items at
hand, beside that of the same labels without the judge over the same items.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm import __version__
from bayescm.direct import dirichlet_multinomial, partly_labelled
from bayescm.evidence import from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.studies import under_one_judge
from bayescm.studies.tables import Settings, chosen
from bayescm.validate import check_choice

ITEMS, DRAWS, AT_ONCE = 2000, 400, 200
SIZES = (20, 50, 100)
JUDGES = ((0.8, 0.6), (0.9, 0.8), (0.97, 0.95))
# Prevalence, recall and specificity of the judge, and of the classifier if there is one.
RATES: list[tuple] = [(share, judge, None) for share in (0.5, 0.7, 0.9, 0.95) for judge in JUDGES]
CLASSIFIERS: list[tuple] = [
    (0.5, (0.8, 0.6), (0.8, 0.8)),
    (0.5, (0.65, 0.65), (0.9, 0.7)),
    (0.5, (0.9, 0.9), (0.9, 0.9)),
    (0.4, (0.8, 0.8), (0.7, 0.95)),
    (0.3, (0.97, 0.95), (0.8, 0.9)),
    (0.3, (0.7, 0.8), (0.9, 0.8)),
    (0.2, (0.8, 0.8), (0.7, 0.9)),
    (0.2, (0.95, 0.9), (0.8, 0.95)),
    (0.7, (0.8, 0.8), (0.85, 0.7)),
    (0.1, (0.9, 0.9), (0.7, 0.95)),
]
CASES = dict(enumerate(RATES + CLASSIFIERS, start=1))
TABLES = ("coverage", "comparisons", "real")


@dataclass(frozen=True)
class Setting:
    """
    One case: the probabilities of (judge, actual, predicted).

    Attributes
    ----------
    prevalence : float
    judge, classifier : tuple of two floats
        Recall and specificity. Without a classifier the judge's answers are its predictions.
    """

    prevalence: float
    judge: tuple[float, float]
    classifier: tuple[float, float] | None

    @property
    def cells(self) -> np.ndarray:
        """The probabilities, (J, 2, 2)."""
        truth = np.array([1 - self.prevalence, self.prevalence])
        pairs = [each for each in (self.judge, self.classifier) if each is not None]
        rates = [np.array([[s, 1 - s], [1 - r, r]]) for r, s in pairs]
        if self.classifier is None:
            return (truth[:, None] * rates[0])[None]
        return np.einsum("a,aj,ap->jap", truth, *rates)

    def draw(self, size: int, labelled: int, rng: np.random.Generator) -> xr.DataArray:
        """Return the evidence of some data sets, dims (batch, judge, actual, predicted)."""
        cells = self.cells
        known = rng.multinomial(labelled, cells.ravel(), size).reshape(size, *cells.shape)
        rest = rng.multinomial(ITEMS - labelled, cells.sum(1).ravel(), size)
        counts = from_matrix(known, dims=("batch", "judge"))
        dims = ("batch", "judge", "predicted")
        return counts.assign_coords(unlabelled=(dims, rest.reshape(size, len(cells), 2)))


def measure(setting: Setting, labelled: int, replications: int, seed: Any) -> pd.DataFrame:
    """Return coverage and mean width of both methods, one row for each measure."""
    names = ["prevalence"] if setting.classifier is None else ["prevalence", "f1"]
    kernels = [resolve(name) for name in names]
    rng = np.random.default_rng(seed)
    truth = [float(each(setting.cells.sum(0))) for each in kernels]
    ends: list = []
    for start in range(0, replications, AT_ONCE):
        counts = setting.draw(min(AT_ONCE, replications - start), labelled, rng)
        both = partly_labelled(counts), dirichlet_multinomial(counts.values.sum(1))
        drawn = [each.draw(kernels, DRAWS, rng) for each in both]
        ends.append([[np.nanquantile(x, [0.025, 0.975], axis=0) for x in each] for each in drawn])
    found = np.concatenate(ends, axis=-1)  # (method, measure, end, replication)
    at = np.array(truth)[:, None]
    inside = (found[:, :, 0] <= at) & (found[:, :, 1] >= at)
    doc, width = inside.mean(-1), (found[:, :, 1] - found[:, :, 0]).mean(-1)
    return pd.DataFrame(
        {
            "measure": names,
            "truth": truth,
            "replications": replications,
            "doc": doc[0],
            "doc_se": np.sqrt(doc[0] * (1 - doc[0]) / replications),
            "il": width[0],
            "doc_labels_alone": doc[1],
            "il_labels_alone": width[1],
            "relative_width": width[0] / width[1],
        }
    )


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return coverage and width with a judge, beside those of the labels alone.

    Parameters
    ----------
    name : {"coverage", "comparisons", "real"}
    case : int, optional
        Of the coverage 1 to 22 (twelve rates, then ten classifiers), of comparisons 1 to 8, of real
        judges 1 to 4.
    settings : Settings, optional
        Replications and seed; the rest does not apply.

    Returns
    -------
    pandas.DataFrame
    """
    check_choice("table", name, list(TABLES))
    settings = settings or Settings()
    if name == "comparisons":
        return under_one_judge.comparisons(case, settings)
    if name == "real":
        return under_one_judge.real(case, settings)
    parts = []
    for number in chosen(CASES, case):
        prevalence, judge, classifier = CASES[number]
        for size in SIZES:
            seed = [settings.seed, number, size]
            setting = Setting(prevalence, judge, classifier)
            frame = measure(setting, size, settings.replications, seed)
            known = {"case": number, "prevalence": prevalence, "judge": "/".join(map(str, judge))}
            known["classifier"] = "" if classifier is None else "/".join(map(str, classifier))
            for place, (column, value) in enumerate((known | {"n": size}).items()):
                frame.insert(place, column, value)
            parts.append(frame.assign(seed=settings.seed, version=__version__))
    return pd.concat(parts, ignore_index=True)
