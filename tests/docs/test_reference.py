"""The reference has an entry, with an example, for every public name; the pages are true."""

import inspect
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

import bayescm as bcm
from bayescm.cli import COMMANDS, GROUPS, main

DOCS = Path(__file__).parents[2] / "docs"
PACKAGES = [
    "answers",
    "classical",
    "curves",
    "evidence",
    "learners",
    "measures",
    "meta",
    "models",
    "online",
]
PACKAGES += ["papers", "planning", "plots", "priors", "raters"]


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    """Return every object that the pages of the reference list."""
    sys.path.insert(0, str(DOCS))
    try:
        import reference_pages
    finally:
        sys.path.remove(str(DOCS))
    folder = tmp_path_factory.mktemp("reference")
    reference_pages.write(folder)
    (folder / "index.rst").unlink()  # it lists the pages
    found = []
    for line in (line for page in folder.glob("*.rst") for line in page.read_text().splitlines()):
        if line.startswith("   ") and line.strip().replace(".", "").replace("_", "").isalnum():
            value = bcm
            for part in line.strip().split("."):
                value = getattr(value, part, None)
            found.append(id(value))
    return found


def public():
    packages = [bcm, *(getattr(bcm, name) for name in PACKAGES)]
    for package in packages:
        for name in package.__all__:
            value = getattr(package, name)
            if package is not bcm or not isinstance(value, ModuleType):
                yield f"{package.__name__}.{name}", value


def test_every_public_name_has_one_entry(entries):
    missing = [name for name, value in public() if id(value) not in entries]
    assert missing == []
    assert len(entries) == len(set(entries))


def test_every_public_function_and_class_has_an_example():
    without = [
        name
        for name, value in public()
        if callable(value) and "Examples\n--------" not in (inspect.getdoc(value) or "")
    ]
    assert without == []


def test_no_page_refers_to_what_is_private():
    texts = [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst"), DOCS.parent / "README.md"]
    private = [path.name for path in texts if "bayescm._" in path.read_text()]
    assert private == []


def test_the_page_of_the_terminal_lists_every_command():
    lines = (DOCS / "howto" / "terminal.md").read_text().splitlines()
    listed = {line.split("`")[1] for line in lines if line.startswith("| `")}
    assert listed == set(COMMANDS) | set(GROUPS)


@pytest.mark.long
def test_the_comparison_of_the_readme_works_on_its_predictions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = ["sick,sick,well", "well,well,well", "well,sick,well", "sick,sick,sick"]
    (tmp_path / "predictions.csv").write_text("\n".join(["y,a,b", *rows * 5]))
    lines = (DOCS.parent / "README.md").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("bayescm compare ")]
    with pytest.raises(SystemExit) as stopped:
        main(shlex.split(line)[1:])
    assert stopped.value.code == 0
    assert "f1" in capsys.readouterr().out


def test_every_formula_is_mathml():
    sys.path.insert(0, str(DOCS))
    try:
        import mathml
    finally:
        sys.path.remove(str(DOCS))
    inline = mathml.inline(r"\sqrt{1 + N/n}")
    block = mathml.block(r"\theta &\sim \mathrm{Dirichlet}(\lambda) \\ n &= \tfrac12")
    assert inline.startswith("<math")
    assert "<mtable" in block
    assert "\\" not in inline + block
    assert "<mo>\N{TILDE OPERATOR}</mo><mi>Dirichlet</mi>" in block


def test_names_of_functions_in_formulas_have_the_spaces_of_tex():
    sys.path.insert(0, str(DOCS))
    try:
        import mathml
    finally:
        sys.path.remove(str(DOCS))
    space = '<mspace width="0.167em" />'
    assert f"<mn>2</mn>{space}<mi>log</mi>{space}<mi>x</mi>" in mathml.inline(r"2 \log x")
    assert "<mi>log</mi><mo" in mathml.inline(r"\log(x)")
    assert '<mo lspace="0" rspace="0">/</mo>' in mathml.inline("1 / K")
    assert f"<mo>=</mo><mi>logit</mi>{space}<mi>p</mi>" in mathml.inline(
        r"= \operatorname{logit} p"
    )


def test_the_page_of_priors_has_every_model_and_its_keywords():
    """A number for each keyword but those of the design, a function where the signature says so."""
    design = {"average", "covariates", "fixed_totals", "halves", "smooth"}
    listed = {}
    for line in (DOCS / "howto" / "priors-of-models.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            names, numbers, functions = (
                re.findall(r"`(\w+)`", cell) for cell in line.strip("|").split("|")
            )
            listed |= {name: (set(numbers), set(functions)) for name in names}
    assert listed.keys() == set(bcm.models.__all__)
    for name, keywords in listed.items():
        parameters = inspect.signature(getattr(bcm.models, name)).parameters.values()
        named = [one for one in parameters if one.kind == one.KEYWORD_ONLY]
        numbers = {one.name for one in named} - design
        functions = {one.name for one in named if "Callable" in str(one.annotation)}
        assert keywords == (numbers, functions), name
