"""Golden documents: reports, dashboard pages, and the first cases of simulations, as text."""

import asyncio
import re
import tempfile
from pathlib import Path
from urllib.parse import quote

import golden_evidence as e
from validation import experiments, result_name

import bayescm as bcm

REPORTS = {
    "two classes": lambda: (e.two(), {}),
    "three classes": lambda: (e.three(), {}),
    "two classifiers": lambda: (e.outcomes(), {"rope": 0.01}),
    "folds": lambda: (e.folds(), {}),
    "groups": lambda: (e.groups(), {}),
    "studies": lambda: (e.studies(), {"measures": ["recall", "specificity"]}),
    "scores": lambda: (e.scores(), {}),
    "probabilities": lambda: (e.probabilities(), {}),
    "attempts": lambda: (e.attempts(), {}),
    "votes": lambda: (e.votes(), {}),
    "partly labelled": lambda: (e.partly_labelled(), {}),
    "raters": lambda: (e.raters(), {}),
    "results": lambda: (e.results(), {}),
}
PAGES = ("/", "/classifier?name=" + quote("spam filter"), "/metrics", "/healthz", "/nowhere")
# Tables of papers, and experiments in docs/validation, with a quick first case that needs no data
# file. Simulations with draws that depend on the rounding of the processor are left out: the Gibbs
# sampler of attempts, and the learners of table 5 of Wang et al.
PAPERS = (
    "caelen / figure 3",
    "caelen-sequential",
    "thesis / 5",
    "thesis / 6",
    "thesis / dependent",
    "wang-2015 / 2",
    "wang-2015 / 3",
    "wang-2015 / 4",
    "wang-li / 3",
    "wang-li / 5",
    "wang-li / remark-4",
)
EXPERIMENTS = (
    "agreement",
    "best",
    "binned_intervals",
    "calibration_bands",
    "challengers",
    "class_probabilities_coverage",
    "class_probabilities_softmax",
    "class_probabilities_softmax_differences",
    "comparisons_jointly",
    "comparisons_paired",
    "comparisons_rows",
    "crossed_groups",
    "curves_coverage",
    "curves_paired",
    "curves_threshold",
    "curves_weighted",
    "differing_folds",
    "fixed_totals",
    "forecast_streams_drifting",
    "forecast_streams_healthy",
    "gaps",
    "groups_sites",
    "hard_counts",
    "judges_coverage",
    "judges_differences",
    "judges_real",
    "label_errors",
    "many_classes",
    "meta_regression",
    "noisy_labels",
    "online_drift",
    "online_fixed",
    "online_prior",
    "pairs",
    "plan_labels",
    "priors",
    "probabilities_bands",
    "ranks",
    "run_length_alarms",
    "run_length_healthy",
    "sites_calibration",
    "sites_differences",
    "training_sizes",
    "transfer",
    "weights",
    "worst_slices",
)


def report(name: str, seed: int) -> str:
    """Return the Markdown of a report, without versions and the date."""
    evidence, keywords = REPORTS[name]()
    with tempfile.TemporaryDirectory() as folder:
        path = bcm.report(evidence, Path(folder) / "report.md", random_seed=seed, **keywords)
        return without_version(path.read_text(encoding="utf-8"))


def without_version(text: str) -> str:
    """Return the text of a report without the versions of programs and the date."""
    text = re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", "<day>", text)
    return re.sub(r"\b[\w-]+ \d+\.\d+(\.\d+)?(\.?\w+)*(?=[,.) ])", "<version>", text)


def pages() -> dict[str, str]:
    """Return the status and text of every page of a dashboard."""
    with tempfile.TemporaryDirectory() as folder:
        application = _dashboard(str(Path(folder) / "ledger.db"))
        return {path: _without_markup(asyncio.run(_get(application, path))) for path in PAGES}


def _dashboard(store):
    """Return the dashboard of a ledger with one classifier and one challenge."""
    with bcm.online.Monitor(store, "spam filter") as monitor:
        for week, tp in enumerate([45, 44, 46, 45, 20, 18, 22]):
            batch = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45)
            monitor.add(f"week {week}", batch, at=f"2026-01-{week + 1:02d}")
    actual = [0, 1] * 40
    wrong = {"old": 30, "new": 4}
    answers = {k: [1 - y if i < n else y for i, y in enumerate(actual)] for k, n in wrong.items()}
    with bcm.online.Challenge(store, "a duel") as challenge:
        both = bcm.from_classifiers(actual, answers, labels=[0, 1])
        challenge.add("first", both, at="2026-02-01")
    return bcm.online.dashboard(store, floor={"recall": 0.8})


async def _get(application, path):
    """Return status and body of a page, asked of the ASGI application itself."""
    where, _, query = path.partition("?")
    scope = {"type": "http", "method": "GET", "path": where, "query_string": query.encode()}
    scope |= {"headers": [(b"host", b"localhost")], "http_version": "1.1", "scheme": "http"}
    scope |= {"root_path": "", "server": ("localhost", 80), "client": ("127.0.0.1", 1)}
    status, body = [], []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        if message["type"] == "http.response.start":
            status.append(message["status"])
        else:
            body.append(message.get("body", b""))

    await application(scope, receive, send)
    return f"{status[0]}\n{b''.join(body).decode()}"


def _without_markup(page):
    """Return the text of a page, without drawings, tags, blank lines and server times."""
    page = re.sub(r"<(svg|style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    lines = re.sub(r"<[^>]+>", " ", page).splitlines()
    text = "\n".join(" ".join(line.split()) for line in lines if line.strip())
    return re.sub(r"(_seconds|_created|process_\w+)(\{[^}]*\})? \S+", r"\1 <time>", text)


def simulation(name: str) -> object:
    """Return two replications of the first case of a paper's table, or of an experiment."""
    if name in PAPERS:
        work, _, table = name.partition(" / ")
        answer = bcm.papers.run_paper(work, table or None, case=1, replications=2, seed=0)
    else:
        (experiment,) = (each for each in experiments() if result_name(each) == name)
        answer = experiment.run(min(experiment.cases), replications=2, seed=0)
    return answer.drop(columns=[each for each in ("version", "seconds") if each in answer])
