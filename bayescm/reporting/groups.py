"""What a report says of groups: how far they are apart, and which ones are worse than others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import bayescm as bcm
from bayescm.answers.groups.gaps import gap_of
from bayescm.reporting.parts import Picture, Section, Table
from bayescm.reporting.progress import tell

# With fewer groups than this a picture of all of them says which are bad.
MANY = 12
_WORST, _NUMBERS = 10, ["examples", "observed", "mean", "lower", "upper", "p_bad", "expected_fdr"]


def apart(posterior: Any, measures: Sequence, settings: dict[str, Any]) -> Section:
    """
    Say how far the groups are apart in each measure.

    Parameters
    ----------
    posterior : Posterior
        Of every group.
    measures : sequence
        Of one number each.
    settings : dict
        ``prob``, ``kind`` and ``random_seed``.
    """
    tell("gaps between groups")
    rows = []
    for each in measures:
        asked = {name: settings[name] for name in ("prob", "kind", "random_seed")}
        found, worst = (
            gap_of(posterior, each, statistic=name, **asked) for name in ("range", "deviation")
        )
        rows += _rows(found, worst)
    frame = pd.DataFrame(rows)
    mass = f"{100 * settings['prob']:.4g}%"
    caption = (
        f"Largest minus smallest value of a group, with the {mass} interval; "
        "observed: in the sample, where it is too large; farthest: the group farthest from the "
        "mean of the others"
    )
    said = [_sentence(row, mass) for row in rows]
    return Section("How far the groups are apart", said, [Table(caption, frame)])


def worst(counts: Any, measures: Sequence, settings: dict[str, Any]) -> Section:
    """
    Say which of many groups are worse than the others, and how many of those only by chance.

    Parameters
    ----------
    counts : DataArray, with a dim ``group``
    measures : sequence
        Of one number each.
    settings : dict
        ``prob``, ``kind`` and ``random_seed``.
    """
    tell("the worst groups")
    asked = {name: settings[name] for name in ("prob", "kind", "random_seed")}
    section = Section("Which groups are worse than the others")
    for each in measures:
        table = bcm.worst_slices(counts, each, k=_WORST, **asked)
        flagged, name = table[table["flagged"]], table.attrs["measure"]
        section.sentences.append(
            f"In {name}, {len(flagged)} of {len(table)} groups are flagged as worse than the mean "
            f"of the others, of which {table.attrs['expected_false']:.1f} are expected to be false "
            f"discoveries; {table.attrs['expected_bad']:.1f} of all are expected to be worse."
        )
        labels = list(table.columns[: table.columns.get_loc("examples")])
        shown = table.head(_WORST)[[*labels, *_NUMBERS]].convert_dtypes()
        caption = (
            f"The {len(shown)} most probably worse in {name}: observed in the sample, partially "
            "pooled, and the share of false discoveries if a row and those above are flagged"
        )
        section.tables.append(Table(caption, shown))
    alt = f"{name} of the groups, partially pooled, in the order of their means."
    drawn = bcm.plot_slices(counts, measures[-1], **asked)
    section.pictures.append(Picture("slices", alt, drawn))
    return section


def _rows(found, deviation):
    """Return a row for each classifier, or one."""
    if "classifier" in found.dims:
        names = found["classifier"].values
        parts = [_rows(found.sel(classifier=n), deviation.sel(classifier=n)) for n in names]
        return [
            {"classifier": n, **row} for n, part in zip(names, parts, strict=True) for row in part
        ]
    far = deviation["point"]
    group = far["group"].values if "group" in far.coords else range(far.sizes["group"])
    lower, upper = found.values
    return [
        {
            "measure": found.name,
            "mean": found["point"].item(),
            "lower": lower,
            "upper": upper,
            "observed": found["observed"].item(),
            "farthest": str(group[np.abs(far.values).argmax()]),
        }
    ]


def _sentence(row, mass):
    which = f" of {row['classifier']}" if "classifier" in row else ""
    return (
        f"The gap in {row['measure']}{which} between the groups at hand lies between "
        f"{row['lower']:.3f} and {row['upper']:.3f} with probability {mass}."
    )
