"""Tables of results on several data sets from a file: what compare, ranks and report share."""

from typing import Any

import xarray as xr

from bayescm.validate import fail


def results(
    file, data_set, *, classifier="classifier", measure=None, test_share=None
) -> xr.Dataset:
    """Return the results in a file: one measure of every classifier on every data set."""
    from bayescm.evidence.files import File
    from bayescm.evidence.reading import read_columns
    from bayescm.evidence.scored.results import from_results

    if measure is not None and len(measure) > 1:
        raise fail("results are of one measure", measure, "one --measure", "ask one by one")
    name = measure[0] if measure else None
    found = File(file).names
    keys = [each for each in (data_set, classifier, "repeat", "fold", "run") if each in found]
    if data_set not in found:
        raise fail("no column of data sets", data_set, found, "name it by --data-set")
    values = [each for each in found if each not in keys]
    if name in values and classifier in keys:
        values = [name]
    table = read_columns(file, [], by=keys, numbers=values)
    table = table.astype({each: str for each in keys[:2] if each in (data_set, classifier)})
    more: dict[str, Any] = {"data_set": data_set, "classifier": classifier}
    return from_results(table, measure=name, test_share=test_share, **more)


def told(known: xr.Dataset, prob: float, kind: str, of: str) -> tuple[str, dict[str, Any]]:
    """Return one line that says what was compared, and the same for a program."""
    sizes, measure = known.sizes, known["measured"].item()
    words = f"{sizes['classifier']} classifiers, {sizes['data_set']} data sets, {sizes['run']} runs"
    facts = {"measure": measure, "data_sets": sizes["data_set"], "runs": sizes["run"]}
    facts |= {"prob": prob, "kind": kind, "of": of, "model": "hierarchical_differences"}
    return f"{words} of {measure}; {prob:.4g} {kind}", facts
