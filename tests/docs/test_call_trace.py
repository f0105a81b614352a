"""The page on the architecture names files that the call runs through."""

import re
from pathlib import Path

import pytest
from call_trace import trace

PAGE = Path(__file__).parents[2] / "docs/background/architecture.md"


@pytest.mark.long
def test_the_steps_of_the_page_are_those_of_the_call():
    called = trace()
    section = PAGE.read_text().split("## One call")[1].split("```")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
    files = [file for row in rows[1:] for file in re.findall(r"`(\w+/\w+\.py)`", row)]
    assert len(files) > 8
    assert set(files) <= {*called}
    assert next(iter(called)) == "answers/interval.py"
    assert (
        "DirichletMultinomial.exact_distribution" in called["posteriors/dirichlet_multinomial.py"]
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "file", "function"),
    [
        ("compare", "posteriors/paired_outcomes.py", "PairedOutcomes.exact_difference"),
        ("monitor add", "online/ledger.py", "Ledger.append"),
    ],
)
def test_other_calls_run_through_what_the_page_names(name, file, function):
    assert function in trace(name)[file]
    assert function in PAGE.read_text()
