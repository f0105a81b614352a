"""What guidelines ask of a report: a methods paragraph, and where each item of a checklist is.

The items are named in our words; their full wording is in the guidelines.

References
----------
Bossuyt, P. M. et al. (2015). STARD 2015: an updated list of essential items for reporting
diagnostic accuracy studies. BMJ 351, h5527. doi:10.1136/bmj.h5527

Collins, G. S. et al. (2024). TRIPOD+AI statement: updated guidance for reporting clinical
prediction models that use regression or machine learning methods. BMJ 385, e078378.
doi:10.1136/bmj-2023-078378
"""

import platform
from collections.abc import Sequence

import pandas as pd

from bayescm.reporting.parts import Section, Table

_AUTHORS = "to be written by the authors"

_STARD = """
1|title or abstract: names the study as one of diagnostic accuracy, and a measure of it
2|abstract: structured summary
3|background, intended use and clinical role of the test
4|objectives and hypotheses
5|design: data collected before or after the tests were done
6|who could take part
7|on what grounds possible participants were found
8|where and when they were found
9|whether they are a consecutive, random or convenience series
10a|the test, so that it can be repeated
10b|the reference standard, so that it can be repeated
11|why this reference standard
12a|thresholds or categories of the test and why, set in advance or not|What was evaluated
12b|thresholds or categories of the reference standard and why, set in advance or not
13a|what those who read the test knew of the patient and of the reference standard
13b|what those who judged the reference standard knew of the patient and of the test
14|methods of estimating and comparing accuracy|How it was computed
15|how results that were neither positive nor negative were handled
16|how missing results of the test or the reference standard were handled
17|how accuracy varies, and what of this was planned|How far the groups are apart
18|intended number of participants, and why
19|flow of participants, as a diagram
20|who the participants were
21a|severity of the condition in those who had it
21b|other diagnoses in those who had it not
22|time and treatment between the two tests
23|table of test by reference standard|What was evaluated
24|accuracy with its precision|What is known
25|adverse events
26|limitations: bias, statistical uncertainty, generalisability|Cautions
27|what follows for practice, and for the intended use of the test
28|registration
29|where the protocol is
30|funding and other support, and the role of funders
"""
_TRIPOD = """
1|title: development or evaluation of a prediction model, population and outcome
2|abstract, by its own checklist
3a|the setting in health care, why a model, and which there are
3b|target population, place in the pathway of care, users
3c|known inequalities in health
4|objectives: development, evaluation or both
5a|sources of the data
5b|dates of the data
6a|setting and centres
6b|who could take part
6c|treatments received
7|preparation of the data and checks of their quality, alike for all groups or not
8a|the outcome, when and how it was assessed, alike for all groups or not
8b|who assessed an outcome that takes judgement
8c|what the assessors knew of the predictors
9a|how predictors were chosen
9b|the predictors, when and how they were measured
9c|who assessed predictors that take judgement
10|size of the study, for development and evaluation apart, and why
11|missing data
12a|how the data were used: development, evaluation
12b|how predictors entered the analysis
12c|kind of model, its building and internal validation
12d|how differences between clusters were handled|How far the groups are apart
12e|measures and pictures of performance|How it was computed
12f|updating of the model
12g|how predictions were made, in an evaluation
13|methods against class imbalance
14|approaches to fairness
15|output of the model: probabilities, classes, thresholds|What was evaluated
16|differences between the data of development and evaluation
17|ethical approval
18a|funding
18b|conflicts of interest
18c|where the protocol is, or that there is none
18d|registration, or that there is none
18e|availability of the data
18f|availability of the code
19|involvement of patients and the public
20a|flow of participants
20b|who the participants were
20c|comparison with the data of development
21|participants and outcome events in each analysis|What was evaluated
22|the full model
23a|performance with intervals, in subgroups too|What is known
23b|differences of performance between clusters|How far the groups are apart
24|results of updating
25|interpretation, fairness included
26|limitations|Cautions
27a|input of poor quality, or none, in use
27b|what users must do and know
27c|what research is to come, on applicability and generalisability
"""
CHECKLISTS = {"stard": ("STARD 2015", _STARD), "tripod": ("TRIPOD+AI", _TRIPOD)}


def methods(sections: Sequence[Section], prob: float, kind: str) -> None:
    """Add the paragraph for a methods section to where it is said how numbers were computed."""
    called = "highest-density" if kind == "hdi" else "equal-tailed"
    for section in sections:
        if not section.facts:
            continue
        facts = section.facts
        prior = f", with the prior: {facts['Prior']}" if "Prior" in facts else ""
        draws = f", from {facts['Draws']}" if "Draws" in facts else ""
        model = f" under the model {facts['Model']}" if "Model" in facts else ""
        section.sentences.append(
            f"For a methods section: {100 * prob:.4g}% {called} intervals of the posterior "
            f"distribution were computed{model}{prior}{draws}, with Python "
            f"{platform.python_version()} and {facts['Versions']}."
        )


def checklist(name: str, sections: Sequence[Section]) -> Section:
    """
    Return the section that says where each item of a guideline is, or that the authors must say.

    Parameters
    ----------
    name : {"stard", "tripod"}
    sections : sequence of Section
        Those of the report.
    """
    called, text = CHECKLISTS[name]
    titles = [section.title for section in sections]
    rows = [(*line.split("|"), "")[:3] for line in text.strip().splitlines()]
    found = [next((t for t in titles if here and t.startswith(here)), None) for *_, here in rows]
    frame = pd.DataFrame(
        {
            "item": [item for item, *_ in rows],
            "about": [about for _, about, _ in rows],
            "where": [_AUTHORS if title is None else f"here: {title}" for title in found],
        }
    )
    ours = sum(title is not None for title in found)
    said = f"{ours} of {len(rows)} items are in this report, in part or whole; the others are not."
    caption = f"{called}, its items in short; see the guideline for their full wording"
    return Section(f"{called}: where each item is", [said], [Table(caption, frame)])
