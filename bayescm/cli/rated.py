"""Evidence from a file that several raters labelled, of which none need be the truth."""

from typing import Any

from bayescm.validate import fail


def ratings(
    file,
    raters,
    predicted,
    further,
    *,
    gold=None,
    group=None,
    positive=None,
    labels=None,
    numeric_labels=False,
) -> Any:
    """Return the labels of the raters, and of the classifiers, in a file."""
    from bayescm.evidence import from_raters
    from bayescm.evidence.reading import as_label, kind_of, read_columns

    given = [f"--{name}" for name, value in further.items() if value is not None]
    if given:
        raise fail("raters go without these options", given, "none of them", "leave them out")
    names = [each.strip() for each in raters.split(",") if each.strip()]
    others = [each for each in (gold, group) if each is not None]
    columns = dict.fromkeys([*names, *(predicted or []), *others])
    frame = read_columns(file, list(columns), numeric_labels=False)
    for name in frame:
        text = frame[name].astype(object)
        frame[name] = text.where(text.notna() & (text.astype(str) != ""), None)
        if numeric_labels and name != group:
            frame[name] = [None if each is None else int(each) for each in frame[name]]
    kind = kind_of(frame[names[0]].dropna())
    return from_raters(
        {name: frame[name] for name in names},
        predicted={name: frame[name] for name in predicted or []},
        gold=None if gold is None else frame[gold],
        group=None if group is None else frame[group],
        labels=None if labels is None else [as_label(label, kind) for label in labels],
        positive=as_label(positive, kind),
    )
