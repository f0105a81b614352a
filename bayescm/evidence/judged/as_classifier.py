"""A judge looked at as a classifier, and one classifier out of several."""

import numpy as np
import xarray as xr

from bayescm.evidence.counts import CELLS, abstains
from bayescm.evidence.outcomes import as_outcomes


def of_classifiers(evidence: xr.DataArray | xr.Dataset, place: int = 0) -> xr.DataArray:
    """
    Return partly labelled counts of one classifier, as they are where there is but one.

    Parameters
    ----------
    evidence : DataArray or Dataset
    place : int
        Which of several classifiers; what the others said is forgotten.

    Returns
    -------
    DataArray, dims (..., judge, actual, predicted)
    """
    if isinstance(evidence, xr.DataArray):
        return evidence
    outcomes = as_outcomes(evidence)
    labels, judges = outcomes["label"].values, outcomes["judge"].values
    index = {label: at for at, label in enumerate(labels.tolist())}
    lead = [dim for dim in outcomes["counts"].dims if dim not in ("judge", "outcome")]
    counts = outcomes["counts"].transpose(*lead, "judge", "outcome").values
    rest = outcomes["unlabelled"].transpose(*lead, "judge", "answers").values
    table = np.zeros((*counts.shape[:-1], len(labels), len(labels)), counts.dtype)
    others = np.zeros((*counts.shape[:-1], len(labels)), rest.dtype)
    said = np.atleast_2d(outcomes["predicted"].values)[place].tolist()
    for at, (truth, answer) in enumerate(
        zip(outcomes["actual"].values.tolist(), said, strict=True)
    ):
        table[..., index[truth], index[answer]] += counts[..., at]
    for at, answer in enumerate(np.atleast_2d(outcomes["answered"].values)[place].tolist()):
        others[..., index[answer]] += rest[..., at]
    coords = {k: v for k, v in outcomes.coords.items() if set(v.dims) <= {*lead}}
    coords |= {dim: labels for dim in CELLS} | {"judge": judges}
    found = xr.DataArray(table, dims=(*lead, "judge", *CELLS), coords=coords, name="counts")
    return found.assign_coords(unlabelled=((*lead, "judge", "predicted"), others))


def judge_as_classifier(evidence: xr.DataArray | xr.Dataset) -> xr.DataArray | None:
    """Return partly labelled counts with the judge's answers as predictions, or None."""
    counts = of_classifiers(evidence)
    labels, names = counts["actual"].values.tolist(), counts["judge"].values.tolist()
    if names == ["all"] or len(names) == 1:
        return counts  # the judge took the place of a classifier
    known = {str(label): label for label in labels}
    if abstains(counts) or not set(names) <= set(known):
        return None
    full = counts.reindex(judge=list(known), fill_value=0)
    rest = counts["unlabelled"].reindex(judge=list(known), fill_value=0)
    swapped = full.drop_vars(["unlabelled", "judge", "predicted"]).rename(
        judge="predicted", predicted="judge"
    )
    rest = rest.drop_vars(["judge", "predicted", "unlabelled"], errors="ignore")
    rest = rest.rename(judge="predicted", predicted="judge")
    swapped = swapped.transpose(..., "judge", *CELLS)
    lead = [dim for dim in swapped.dims if dim not in ("judge", *CELLS)]
    rest = rest.transpose(*lead, "judge", "predicted")
    swapped = swapped.assign_coords(judge=[str(each) for each in labels], predicted=labels)
    return swapped.assign_coords(unlabelled=(rest.dims, rest.values))
