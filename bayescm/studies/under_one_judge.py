"""Two classifiers under one judge, and real judges: what the study of judges simulates."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm import __version__
from bayescm.direct import paired_outcomes, partly_labelled
from bayescm.evidence import from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.studies.tables import Settings, chosen

ITEMS, DRAWS, AT_ONCE = 2000, 600, 100
SIZES, REAL_SIZES = (20, 50, 100), (28, 56)
MEASURES = ("accuracy", "f1")
# Prevalence; recall and specificity of the judge and both classifiers; how often the second answers
# as the first whatever the truth.
PAIRS = dict(
    enumerate(
        [
            (0.5, (0.8, 0.6), (0.8, 0.8), (0.8, 0.8), 0.5),
            (0.5, (0.9, 0.8), (0.9, 0.9), (0.8, 0.85), 0.5),
            (0.3, (0.9, 0.9), (0.85, 0.9), (0.7, 0.9), 0.3),
            (0.2, (0.9, 0.9), (0.8, 0.95), (0.8, 0.85), 0.7),
            (0.2, (0.7, 0.7), (0.8, 0.9), (0.6, 0.95), 0.5),
            (0.5, (0.97, 0.95), (0.95, 0.95), (0.9, 0.9), 0.6),
            (0.3, (0.6, 0.6), (0.7, 0.8), (0.9, 0.7), 0.0),
            (0.1, (0.9, 0.9), (0.8, 0.95), (0.7, 0.9), 0.5),
        ],
        start=1,
    )
)
# People's preference (rows: second, first) by the judge's, from the public judge results of
# yiqunchen/debias-llm-as-a-judge (MIT licence).
REAL: dict[int, tuple[str, list]] = {
    1: ("gpt-4o-mini of opus-4 and gemini-2.5-flash", [[162, 30], [95, 38]]),
    2: ("gpt-5.2 of opus-4 and gemini-2.5-pro", [[147, 64], [30, 35]]),
    3: ("gpt-4o-mini of opus-4 and qwen3-235b", [[131, 34], [82, 28]]),
    4: ("gpt-5.2 of opus-4 and qwen3-235b", [[49, 116], [32, 78]]),
}


def comparisons(case: int | None, settings: Settings) -> pd.DataFrame:
    """Return coverage and mean width of differences, one row per case, size and measure."""
    rows: list[dict] = []
    for number in chosen(PAIRS, case):
        joint = _joint(*PAIRS[number])
        for size in SIZES:
            rng = np.random.default_rng([settings.seed, number, size])
            found = _compared(joint, size, settings.replications, rng)
            known = {"case": number, "n": size}
            rows += [known | row for row in found]
    return _told(rows, settings)


def _joint(prevalence, judge, first, second, copied):
    """Return the probabilities of (judge, first, second, truth)."""
    truth = np.array([1 - prevalence, prevalence])
    said, one, two = (
        np.array([[specificity, 1 - specificity], [1 - recall, recall]])
        for recall, specificity in (judge, first, second)
    )
    other = copied * np.eye(2)[None] + (1 - copied) * two[:, None]
    return np.einsum("y,yj,ya,yab->jaby", truth, said, one, other)


def _compared(joint, size, replications, rng):
    kernels = [resolve(each) for each in MEASURES]
    truth = [np.subtract(*each(_matrices(joint))) for each in kernels]
    ends = []
    for start in range(0, replications, AT_ONCE):
        batch = min(AT_ONCE, replications - start)
        known = rng.multinomial(size, joint.ravel(), batch).reshape(batch, 2, 4, 2)
        rest = rng.multinomial(ITEMS - size, joint.sum(-1).ravel(), batch).reshape(batch, 2, 4)
        evidence = _evidence(known, rest)
        both = partly_labelled(evidence).draw(kernels, DRAWS, rng)
        bare = paired_outcomes(_evidence(known, None)).draw(kernels, DRAWS, rng)
        gaps = [[each[..., 0] - each[..., 1] for each in drawn] for drawn in (both, bare)]
        # (end, method, measure, batch), the end moved behind the measure
        ends.append(np.moveaxis(np.quantile(np.array(gaps), [0.025, 0.975], axis=2), 0, 2))
    return _covered(np.concatenate(ends, axis=-1), truth, MEASURES)


def _matrices(joint):
    """Return each classifier's own matrix, rows = actual."""
    return np.stack([joint.sum((0, 2)).T, joint.sum((0, 1)).T])


def _evidence(known, rest):
    """Return outcomes of two classifiers, with a judge's strata or, without a rest, none."""
    answers = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    batch = len(known)
    coords = {
        "actual": ("outcome", np.tile([0, 1], 4)),
        "predicted": (("classifier", "outcome"), np.repeat(answers, 2, axis=1)),
        "classifier": ["first", "second"],
        "label": [0, 1],
        "positive": 1,
    }
    if rest is None:
        alone = ("batch", "outcome"), known.sum(1).reshape(batch, -1)
        return xr.Dataset({"counts": alone}, coords=coords)
    coords |= {"judge": ["0", "1"], "unlabelled": (("batch", "judge", "answers"), rest)}
    coords["answered"] = (("classifier", "answers"), answers)
    by_judge = ("batch", "judge", "outcome"), known.reshape(batch, 2, -1)
    return xr.Dataset({"counts": by_judge}, coords=coords)


def real(case: int | None, settings: Settings) -> pd.DataFrame:
    """Return the coverage of the rate among the items at hand, one row per table and size."""
    rows: list[dict] = []
    for number in chosen(REAL, case):
        name, cells = REAL[number]
        for size in REAL_SIZES:
            rng = np.random.default_rng([settings.seed, 100 + number, size])
            found = _drawn(np.array(cells), size, settings.replications, rng)
            known = {"case": number, "judge": name, "items": int(np.sum(cells)), "n": size}
            rows += [known | row for row in found]
    return _told(rows, settings)


def _drawn(cells, size, replications, rng):
    kernel = resolve("prevalence")
    known = rng.multivariate_hypergeometric(cells.ravel(), size, replications).reshape(-1, 2, 2)
    rest = cells.sum(0) - known.sum(1)
    judged = from_matrix(known[:, None], dims=("batch", "judge"))
    judged = judged.assign_coords(unlabelled=(("batch", "judge", "predicted"), rest[:, None]))
    # Without a judge: everything in one stratum.
    nothing = np.zeros_like(known)
    nothing[..., 0] = known.sum(-1)
    alone = from_matrix(nothing[:, None], dims=("batch", "judge"))
    others = np.stack([rest.sum(-1), np.zeros_like(rest[:, 0])], axis=-1)
    alone = alone.assign_coords(unlabelled=(("batch", "judge", "predicted"), others[:, None]))
    ends = []
    for evidence in (judged, alone):
        (values,) = partly_labelled(evidence).draw([kernel], 4 * DRAWS, rng, of="finite")
        ends.append(np.quantile(values, [0.025, 0.975], axis=0)[None])
    truth = [cells[1].sum() / cells.sum()]
    return _covered(np.stack(ends), truth, ["prevalence"])


def _covered(ends, truth, names) -> list[dict[str, Any]]:
    """Return one row per measure from the ends (method, measure, end, replication)."""
    found = []
    for place, name in enumerate(names):
        low, high = ends[:, place, 0], ends[:, place, 1]
        inside = ((low - 1e-9 <= truth[place]) & (high + 1e-9 >= truth[place])).mean(-1)
        width = (high - low).mean(-1)
        found.append(
            {
                "measure": name,
                "truth": truth[place],
                "replications": ends.shape[-1],
                "doc": inside[0],
                "doc_se": np.sqrt(inside[0] * (1 - inside[0]) / ends.shape[-1]),
                "il": width[0],
                "doc_labels_alone": inside[1],
                "il_labels_alone": width[1],
                "relative_width": width[0] / width[1],
            }
        )
    return found


def _told(rows, settings):
    return pd.DataFrame(rows).assign(seed=settings.seed, version=__version__)
