"""The reference: an entry for every public name, made of the packages' own lists of names."""

from pathlib import Path
from types import ModuleType

import bayescm as bcm

# The rooms in the order of the imports, what they are, and the packages whose members are public.
ROOMS = {
    "evidence": "Evidence",
    "measures": "Measures",
    "models": "Models",
    "fitting": "Fitting",
    "answers": "Answers",
    "curves": "Curves",
    "meta": "Meta-analysis",
    "learners": "Learning algorithms",
    "raters": "Raters",
    "classical": "Classical intervals",
    "online": "Online evaluation",
    "priors": "Priors",
    "planning": "Planning",
    "plots": "Plots",
    "reporting": "Reports",
    "integrations": "Other tools",
    "papers": "Papers",
}
PACKAGES = ("evidence", "measures", "models", "answers", "calibration", "curves", "meta")
PACKAGES += ("learners", "raters", "classical", "online", "priors", "planning", "plots")
PACKAGES += ("sklearn", "mlflow", "integrations", "papers")
# Modules that have a page as a whole: what is in them is for writing models and simulations.
MODULES = {
    "evidence.splits": "Splitters",
    "posteriors": "Direct posteriors",
    "distributions": "Distributions",
    "simulation": "Simulation",
}


def public():
    """Return the dotted names (without the package) to document, by room: each thing once."""
    rooms = {room: [] for room in ROOMS}
    seen = {id(bcm.sklearn), id(bcm.mlflow)}  # of `integrations`, and listed member by member
    for name in bcm.__all__:
        value = getattr(bcm, name)
        if not isinstance(value, ModuleType):
            rooms[value.__module__.split(".")[1]].append(name)
            seen.add(id(value))
    for each in PACKAGES:
        package = getattr(bcm, each)
        members = [name for name in package.__all__ if id(getattr(package, name)) not in seen]
        seen.update(id(getattr(package, name)) for name in members)
        place = package.__name__.removeprefix("bayescm.")
        rooms[place.split(".")[0]] += [f"{place}.{name}" for name in members]
    return rooms


def write(folder):
    """Write a page for each room, for autosummary to make the others of, and a list of them."""
    pages = {room: _page(ROOMS[room], names) for room, names in public().items()}
    pages["measures"] += [*_heading("The catalogue", "-"), *_catalogue()]
    pages |= {name.replace(".", "-"): _page(title, [name]) for name, title in MODULES.items()}
    pages["index"] = [*_heading("Reference", "="), "A page for each folder of the package.", ""]
    pages["index"] += [".. toctree::", "   :maxdepth: 1", ""]
    pages["index"] += [f"   {page}" for page in pages if page != "index"]
    folder.mkdir(exist_ok=True)
    for name, lines in pages.items():
        path, text = folder / f"{name}.rst", "\n".join([*lines, ""])
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _heading(title, line):
    return [title, line * len(title), ""]


def _page(title, names):
    entries = [f"   {name}" for name in names]
    head = [*_heading(title, "="), ".. currentmodule:: bayescm", ""]
    return [*head, ".. autosummary::", "   :toctree: generated", "", *entries, ""]


def _catalogue():
    """Return a table of all measures: every one is also ``bcm.measures.<name>``."""
    lines = [".. list-table::", "   :header-rows: 1", "", "   * - name", "     - meaning"]
    lines += ["     - range", "     - also"]
    for name in (*bcm.measures.names(), *bcm.measures.names("probabilities")):
        kernel = bcm.measures.resolve(name)
        said = (kernel.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
        better = " Lower is better." if kernel.lower_is_better else ""
        low, high = kernel.range
        ends = f"{low:g} to {'∞' if high == float('inf') else format(high, 'g')}"
        aliases = ", ".join(f"``{each}``" for each in kernel.aliases)
        lines += [
            f"   * - ``{name}``",
            f"     - {said}{better}",
            f"     - {ends}",
            f"     - {aliases}",
        ]
    return [*lines, ""]


def setup(app):
    """Write the pages before anything is read."""
    app.connect("config-inited", lambda app, _: write(Path(app.srcdir) / "reference"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
