"""The dashboard of a ledger, asked over the network and opened in a real browser."""

import html
import http.client
import socket
import sys
import threading
import time
import urllib.parse
from datetime import UTC, datetime

import malformed_requests
import pytest
import uvicorn
import xarray as xr
from browsers import STRANGE, opened_browser, quiet_page
from prometheus_client.parser import text_string_to_metric_families

import bayescm as bcm
from bayescm.cli import main
from bayescm.online.web import app

pytestmark = pytest.mark.long
TOKEN = "a token that is long enough"
FLOOR = {"recall": 0.8}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    address = tmp_path_factory.mktemp("web") / "eval.db"
    weeks = [45, 44, 46, 45, 20, 18, 22]
    for name in (*STRANGE, "spam filter"):
        with bcm.online.Monitor(str(address), name) as monitor:
            for week, tp in enumerate(weeks):
                batch = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45)
                monitor.add(f"week <{week}>", batch, at=f"2026-01-{week + 1:02d}")
    with bcm.online.Monitor(str(address), "animals") as monitor:
        three = bcm.from_matrix([[9, 1, 0], [2, 8, 1], [0, 1, 9]], labels=["a", "<b>", "c"])
        monitor.add("one", three)
    actual = [0, 1] * 40
    wrong = {"old <b>": 30, "new": 4}
    answers = {k: [1 - y if i < n else y for i, y in enumerate(actual)] for k, n in wrong.items()}
    with bcm.online.Challenge(str(address), "A <duel>") as challenge:
        for day, part in enumerate((slice(0, 1), slice(None), slice(0, 78))):
            given = {name: each[part] for name, each in answers.items()}
            both = bcm.from_classifiers(actual[part], given, labels=[0, 1])
            challenge.add(day, both, at=f"2026-02-0{day + 1}")
    return address


@pytest.fixture(scope="module")
def port(store):
    """Serve the store from a thread, on a port that is free."""
    served = bcm.online.dashboard(str(store), token=TOKEN, floor=FLOOR)
    with socket.create_server(("127.0.0.1", 0)) as opened:
        running = uvicorn.Server(uvicorn.Config(served, **app.LIMITS))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [opened]})
        thread.start()
        while not running.started:
            time.sleep(0.01)
        yield opened.getsockname()[1]
        running.should_exit = True
        thread.join()


def ask(port, path, verb="GET", form=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    body = None if form is None else urllib.parse.urlencode(form)
    connection.request(verb, path, body, headers)
    said = connection.getresponse()
    text = said.read().decode()
    connection.close()
    return said.status, text, said


def page_of(name):
    return "/classifier?" + urllib.parse.urlencode({"name": name})


def test_pages_in_a_browser(port):
    own = f"http://127.0.0.1:{port}/"
    with opened_browser() as browser:
        for width in (390, 1280):
            with quiet_page(browser, own, width, own) as page:
                text = page.inner_text("body")
                assert [n for n in (*STRANGE, "animals", "new alarm") if n not in text] == []
                assert "new challenges old <b>" in text
                page.get_by_role("link", name=STRANGE[0]).click()
                page.wait_for_load_state()  # half a page may be wider than it ends up
                assert page.locator("figure").count() == 5
                assert page.locator("figure line.change").count() == 5
                assert page.locator("figure").first.locator(".times span").count() == 5
                assert "The answers have changed" in page.inner_text("body")
                assert page.locator("circle.mark").count() >= 1
                assert "week <4>" in page.inner_text("body")
                assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_page_says_what_the_monitor_does(port, store):
    with bcm.online.Monitor(str(store), "spam filter") as monitor:
        table, alarms = monitor.summary(floor=FLOOR), monitor.alarms(floor=FLOOR)
        (incident,) = monitor.incidents(floor=FLOOR)["sentence"]
        short, whole = monitor.history(last=3), monitor.history()
    status, text, said = ask(port, page_of("spam filter"))
    assert status == 200
    assert "default-src 'none'" in said.headers["Content-Security-Policy"]
    for row in table.to_dict("records"):
        assert f">{row['lower']:.3f}</td>" in text
    assert text.count('class="new"') == len(alarms) > 0
    assert f"Open since 2026-01-05 00:00: {html.escape(incident)}" in text
    xr.testing.assert_allclose(short, whole.isel(step=slice(-3, None)))
    assert "&lt;b&gt;" in ask(port, page_of("animals"))[1]


def test_challenges_are_shown_with_what_is_decided_and_since_when(port, store):
    with bcm.online.Challenge(str(store), "A <duel>") as challenge:
        history = challenge.history()
    assert history["decision"].tolist() == ["go on", "promote", "promote"]
    _, text, _ = ask(port, "/")
    shown = text[text.index("A &lt;duel&gt;") :]
    assert "<bdi>new</bdi> challenges <bdi>old &lt;b&gt;</bdi>" in shown
    assert "decided since 2026-02-02" in shown
    for name in ("difference", "lower", "upper", "p_better"):
        assert f">{history[name].iloc[-1]:.3f}</td>" in shown
    rule = "promoted if it is better in accuracy with a probability above 95%."
    assert f"The challenger is {rule}" in text
    stays = "Promote, decided by batch &#39;1&#39;, which stays; with all batches so far better"
    assert stays in text


def test_numbers_for_prometheus_and_health(port, store):
    _, text, said = ask(port, "/metrics")
    assert said.headers["Content-Type"].startswith("text/plain")
    found = {each.name: each.samples for each in text_string_to_metric_families(text)}
    batches = {each.labels["classifier"]: each.value for each in found["bayescm_batches"]}
    assert batches == dict.fromkeys((*STRANGE, "spam filter"), 7.0) | {"animals": 1.0}
    bounds = [each.labels["bound"] for each in found["bayescm_measure"]]
    assert set(bounds) == {"lower", "mean", "upper"}
    own = {"classifier": "spam filter"}
    values = {k: [x.value for x in v if x.labels == own] for k, v in found.items()}
    assert values["bayescm_batches_since_change"] == [3.0]
    assert values["bayescm_since_timestamp_seconds"] == [
        datetime(2026, 1, 5, tzinfo=UTC).timestamp()
    ]
    assert values["bayescm_open_incidents"] == [1.0]
    with bcm.online.Challenge(str(store), "A <duel>") as challenge:
        history = challenge.history()
    own = {"challenge": "A <duel>", "champion": "old <b>", "challenger": "new"}
    duels = {
        name.removeprefix("bayescm_challenge_"): {
            "".join(each.labels.get(name, "") for name in ("bound", "decision")): each.value
            for each in samples
            if own.items() <= each.labels.items()
        }
        for name, samples in found.items()
        if name.startswith("bayescm_challenge_")
    }
    last = history.iloc[-1]
    assert (duels["batches"], duels["examples"]) == ({"": 3}, {"": last["n"]})
    assert duels["decision"] == {"go on": 0, "promote": 1, "futile": 0}
    assert duels["probability_better"] == {"": last["p_better"]}
    known = {"mean": last["difference"], "lower": last["lower"], "upper": last["upper"]}
    assert duels["difference"] == known
    decided = datetime(2026, 2, 2, tzinfo=UTC).timestamp()
    assert (duels["decided_timestamp_seconds"], duels["problem"]) == ({"": decided}, {"": 0})
    assert ask(port, "/healthz")[:2] == (200, "ok, 4 classifiers\n")


def test_nothing_is_written_without_the_token(port, store):
    def new():
        with bcm.online.Monitor(str(store), "spam filter") as monitor:
            return len(monitor.alarms(floor=FLOOR, new=True))

    many, form = new(), {"name": "spam filter", "all": "1", "note": "ticket 12"}
    for token in ("", "wrong", TOKEN + "x", "é"):
        assert ask(port, "/acknowledge", "POST", form | {"token": token})[0] == 403
    assert ask(port, "/acknowledge")[0] == 405
    right = {"token": TOKEN}
    assert ask(port, "/acknowledge", "POST", form | right | {"note": "a\nb"})[0] == 400
    assert ask(port, "/acknowledge", "POST", {"name": "spam filter"} | right)[0] == 400
    assert ask(port, "/acknowledge", "POST", {"note": "x" * 20_000})[0] == 413
    assert new() == many > 0
    status, _, said = ask(port, "/acknowledge", "POST", form | right)
    assert (status, new()) == (303, 0)
    assert f"{many} acknowledged." in ask(port, "/" + said.headers["Location"])[1]
    without = bcm.online.dashboard(str(store))
    assert "/acknowledge" not in [route.path for route in without.routes]


def test_names_of_other_hosts_and_unknown_pages_are_refused(port):
    assert ask(port, "/", Host="evil.example")[0] == 400
    assert ask(port, page_of("nobody<b>"))[0] == 404
    assert ask(port, "/nothing")[0] == 404


def test_malformed_requests_are_survived(port, store):
    before = bcm.online.verify(str(store))
    found = malformed_requests.attack(port, 80, seed=3)
    assert "500" not in found
    assert found["400"] > 10
    assert malformed_requests.well(port)
    assert bcm.online.verify(str(store)).equals(before)


@pytest.mark.filterwarnings("always")
def test_the_command_serves_what_it_is_told(store, monkeypatch, capsys):
    heard = []
    monkeypatch.setattr(app, "listen", lambda app, host, port: heard.append((host, port)))

    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["monitor", "serve", "--store", str(store), *arguments])
        return left.value.code, capsys.readouterr().err

    assert run("--floor", "recall=0.8") == (0, "")
    code, said = run("--host", "0.0.0.0", "--port", "80")
    assert (code, heard) == (0, [("127.0.0.1", 8710), ("0.0.0.0", 80)])
    assert "anyone who can reach it can read it" in said
    for given, expected in {
        ("--token", "short"): "The token must have at least",
        ("--rate", "2"): "rate must be between 0 and 1",
        ("--port", "0"): "port must be a number from 1 to 65535",
        ("--window", "0"): "window must be a whole number",
    }.items():
        code, said = run(*given)
        assert (code, expected in said, said.count("\n")) == (2, True, 1)


def test_a_port_that_is_taken_and_a_missing_extra_are_said(port, store, monkeypatch):
    with pytest.raises(ValueError, match=r"cannot listen.*Choose another port"):
        bcm.online.serve(str(store), port=port)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    monkeypatch.delitem(sys.modules, "bayescm.online.web.app")
    monkeypatch.delattr("bayescm.online.web.app")
    with pytest.raises(ImportError, match=r"bayescm\[serve\]"):
        bcm.online.dashboard(str(store))
