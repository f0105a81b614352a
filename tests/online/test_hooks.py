"""Alarms are handed to hooks: what they get, how often, and what becomes of failures."""

import hmac
import json
import logging
import sys
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from stores_for_tests import STORES, empty_store

import bayescm as bcm
from bayescm.cli import main
from bayescm.online import Hook, Monitor, hooks, ledger, notify, to_command, to_log, to_url, verify

FLOOR = {"recall": 0.8}
SECRET = "a secret that is long"


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    with empty_store(request.param, tmp_path) as address:
        with Monitor(address, "spam filter") as monitor:
            for day, tp in enumerate([45, 44, 46, 20, 18]):
                batch = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45)
                monitor.add(f"day {day}", batch, at=f"2026-01-0{day + 1}")
        yield address


@pytest.fixture
def receiver():
    """Listen on this machine; answer with the statuses that `answers` holds, then with 200."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.got.append((body, dict(self.headers)))
            self.send_response(server.answers.pop(0) if server.answers else 200)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.got, server.answers = [], []
    server.url = f"http://127.0.0.1:{server.server_port}/alarms"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.long
def test_an_incident_is_handed_over_once_however_many_ask(store):
    got = []
    hook = Hook("list", got.append)

    def run():
        with Monitor(store, "spam filter") as monitor:
            notify(monitor, hook, floor=FLOOR)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    with Monitor(store, "spam filter") as monitor:
        alarms = monitor.alarms(floor=FLOOR)
        assert len(alarms) > 1
        assert alarms["incident"].unique().tolist() == ["day 3"]
        (page,) = got
        assert (page["event"], page["incident"]) == ("opened", "day 3")
        assert page["alarms"] == alarms["sentence"].tolist()
        again = notify(monitor, hook, Hook("another", got.append), floor=FLOOR)
        assert again["hook"].tolist() == ["another"]
        outcomes = monitor.ledger.deliveries("spam filter")["outcome"].tolist()
        assert outcomes == ["started", "delivered"] * 2
    assert verify(store)["whole"].all()


@pytest.mark.long
def test_two_pages_for_one_incident_and_one_for_one_that_is_over():
    got = []
    early = Hook("early", lambda page: got.append(page["event"]))
    with Monitor("sqlite://", "spam filter") as monitor:
        for day, tp in enumerate([45, 44, 46, 20, 18, 19, 21, 45, 44, 46, 45, 44, 45]):
            batch = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45)
            monitor.add(day, batch, at=f"2026-01-{day + 1:02}")
            notify(monitor, early, floor=FLOOR)
        assert got == ["opened", "closed"]
        (incident,) = monitor.incidents(floor=FLOOR).to_dict("records")
        assert (incident["state"], incident["incident"]) == ("closed", "3")
        late = Hook("late", got.append)
        dry = notify(monitor, late, floor=FLOOR, dry_run=True)
        assert (len(dry), len(got)) == (1, 2)
        assert notify(monitor, late, floor=FLOOR)["event"].tolist() == ["closed"]
        assert got[-1]["sentence"].startswith("closed at ")
        assert notify(monitor, late, floor=FLOOR, dry_run=True).empty


@pytest.mark.long
def test_an_incident_that_is_acknowledged_gives_no_page_and_takes_no_further_alarm():
    got = []
    with Monitor("sqlite://", "spam filter", measures=["recall"]) as monitor:
        for day, tp in enumerate([45, 44, 46, 30, 31, 29, 32]):
            monitor.add(day, bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45))
        assert len(monitor.incidents(floor=FLOOR)) == 1
        assert monitor.acknowledge(monitor.alarms(floor=FLOOR), note="new camera") > 0
        assert monitor.incidents(floor=FLOOR)["state"].tolist() == ["acknowledged"]
        assert notify(monitor, Hook("list", got.append), floor=FLOOR).empty
        for day, tp in enumerate([5, 6, 4]):
            monitor.add(f"later {day}", bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45))
        assert monitor.incidents(floor=FLOOR)["state"].tolist() == ["acknowledged", "open"]
        notify(monitor, Hook("list", got.append), floor=FLOOR)
        assert [page["incident"] for page in got] == ["later 0"]


@pytest.mark.long
def test_an_incident_whose_batch_is_corrected_gives_no_second_page():
    got = []
    hook = Hook("list", got.append)
    with Monitor("sqlite://", "spam filter") as monitor:
        for day, tp in enumerate([45, 44, 46, 20]):
            monitor.add(day, bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45))
        notify(monitor, hook, floor=FLOOR)
        late = bcm.from_cells(tp=19, fn=33, fp=5, tn=45)  # two labels have come late
        monitor.add("3 complete", late, corrects="3")
        assert monitor.incidents(floor=FLOOR)["incident"].tolist() == ["3 complete"]
        assert notify(monitor, hook, floor=FLOOR).empty
        assert len(got) == 1


@pytest.mark.long
def test_an_incident_that_a_correction_takes_away_is_closed():
    got = []
    hook = Hook("list", got.append)
    with Monitor("sqlite://", "spam filter", measures=["recall"]) as monitor:
        for day, tp in enumerate([45, 44, 46, 20]):
            counts = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45)
            monitor.add(day, counts, at=f"2026-01-0{day + 1}")
        notify(monitor, hook)
        monitor.add("3 right", bcm.from_cells(tp=45, fn=5, fp=5, tn=45), corrects="3")
        assert monitor.incidents().empty
        assert notify(monitor, hook, since="2027-01-01").empty  # asks of no such batch
        assert notify(monitor, hook, dry_run=True)["event"].tolist() == ["closed"]
        assert notify(monitor, hook)["event"].tolist() == ["closed"]
        assert notify(monitor, hook).empty
        for number, tp, event in ((1, 21, "opened"), (2, 44, "closed"), (3, 19, "opened")):
            counts = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45)
            old = f"3 again {number - 1}" if number > 1 else "3 right"
            monitor.add(f"3 again {number}", counts, corrects=old)
            assert notify(monitor, hook)["event"].tolist() == [event]
            assert notify(monitor, hook).empty
    opened, closed, *again = got
    assert len({page["id"] for page in got}) == len(got) == 2 + len(again)
    assert (opened["event"], closed["event"]) == ("opened", "closed")
    assert (opened["incident"], closed["incident"]) == ("3", "3")
    assert (
        "because batches were corrected or arrived late, opened at 2026-01-04" in closed["sentence"]
    )
    assert closed["sentence"].endswith(opened["sentence"])


@pytest.mark.long
def test_a_page_of_other_rules_is_not_closed_by_these():
    got = []
    hook = Hook("list", got.append)
    with Monitor("sqlite://", "spam filter", measures=["recall"]) as monitor:
        for day, tp in enumerate([40] * 6):
            monitor.add(day, bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45))
        assert len(notify(monitor, hook, floor={"recall": 0.95})) == 1
        assert notify(monitor, hook).empty


@pytest.mark.long
def test_what_has_failed_is_tried_again_when_its_time_has_come(monkeypatch):
    got = []

    def call(page):
        got.append(page["id"])
        if len(got) < 3:
            raise OSError("the pager is off")

    hook = Hook("pager", call)
    with Monitor("sqlite://", "spam filter", measures=["recall"]) as monitor:
        for day, tp in enumerate([45, 44, 46, 20, 18]):
            monitor.add(day, bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45))
        row = notify(monitor, hook).iloc[0]
        assert (row["problem"], row["attempt"]) == ("the pager is off", 1)
        assert notify(monitor, hook).empty  # its time has not come
        later = datetime.now(UTC)
        for minutes in (1, 2):
            later += timedelta(minutes=minutes, seconds=1)
            monkeypatch.setattr(ledger, "datetime", type("Clock", (datetime,), {"now": now(later)}))
            monkeypatch.setattr(hooks, "datetime", ledger.datetime)
            row = notify(monitor, hook).iloc[0]
        assert (row["problem"], row["attempt"]) == ("", 3)
        assert len(set(got)) == 1
        assert notify(monitor, hook).empty
        assert monitor.ledger.deliveries("spam filter")["outcome"].tolist() == [
            *["started", "failed"] * 2, "started", "delivered",
        ]  # fmt: skip


def now(moment):
    return classmethod(lambda cls, zone: moment)


@pytest.mark.long
def test_a_url_gets_it_signed_and_is_tried_again(store, receiver):
    receiver.answers += [503, 429]
    with Monitor(store, "spam filter") as monitor:
        found = notify(monitor, to_url(receiver.url, secret=SECRET, wait=0.001), floor=FLOOR)
        assert notify(monitor, to_url(receiver.url), floor=FLOOR).empty
    assert (found["problem"] == "").all()
    assert len(receiver.got) == len(found) + 2
    body, headers = receiver.got[-1]
    moment, signature = (each.split("=")[1] for each in headers["Bayescm-Signature"].split(","))
    mine = hmac.digest(SECRET.encode(), f"{moment}.".encode() + body, "sha256").hex()
    assert hmac.compare_digest(mine, signature)
    assert json.loads(body)["classifier"] == "spam filter"


@pytest.mark.long
@pytest.mark.parametrize(("status", "times"), [(500, 3), (404, 1), (302, 1)])
def test_what_fails_for_good_is_said_and_not_handed_over_again(receiver, status, times):
    receiver.answers += [status] * 9
    hook = to_url(receiver.url, retries=2, wait=0.001)
    with pytest.raises(OSError, match=f"the answer was {status}"):
        hook.call({"id": "1"})
    assert len(receiver.got) == times
    receiver.server_close()
    with pytest.raises(OSError, match="there was no answer"):
        to_url("http://127.0.0.1:9/", retries=0).call({"id": "1"})


def test_a_command_gets_it_on_its_input(tmp_path):
    alarm = {"classifier": "a; rm -rf b", "batch_id": "1", "rule": "floor", "measure": "f1"}
    script = "import os, sys; open(sys.argv[1], 'w').write(sys.stdin.read() + os.environ['{}'])"
    out = tmp_path / "got.txt"
    words = [sys.executable, "-c", script.format("BAYESCM_CLASSIFIER"), str(out)]
    to_command(words).call(alarm)
    assert out.read_text() == json.dumps(alarm) + "\na; rm -rf b"
    with pytest.raises(OSError, match=r"exited with status 3: no such team"):
        to_command(
            [
                sys.executable,
                "-c",
                "import sys; print('no such team', file=sys.stderr); sys.exit(3)",
            ]
        ).call(alarm)
    with pytest.raises(OSError, match=r"longer than 0.05 s"):
        to_command("sleep 5", timeout=0.05).call(alarm)
    with pytest.raises(OSError, match="No such file"):
        to_command(["no-such-program"]).call(alarm)


def test_a_command_in_one_text_is_run_by_the_shell(tmp_path):
    page = {"classifier": "a; rm -rf b", "sentence": "$(rm -rf c)"}
    out = tmp_path / "pages.jsonl"
    for _ in range(2):
        to_command(f"cat >> {out}").call(page)
    assert [json.loads(line) for line in out.read_text().splitlines()] == [page, page]
    with pytest.raises(OSError, match=r"exited with status 127: .*no-such-program"):
        to_command("no-such-program").call(page)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: to_url("ftp://x/y"), "The URL of a hook"),
        (lambda: to_url("https://user:hidden@/"), "The URL of a hook"),
        (lambda: to_url("https://x", secret="short"), "The secret is shorter than"),
        (lambda: to_url("https://x", retries=-1), "retries must be a whole number of attempts"),
        (lambda: to_command("'open"), "cannot be read as a program"),
        (lambda: notify(Monitor("sqlite://", "a"), print), "not a hook"),
    ],
)
def test_what_is_no_hook_is_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message) as error:
        make()
    assert "hidden" not in str(error.value)


@pytest.mark.long
def test_the_command_line_hands_over_and_says_what_failed(store, capsys, caplog):
    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["monitor", "notify", "--store", store, "--classifier", "spam filter", *arguments])
        return left.value.code, capsys.readouterr()

    floor = ("--floor", "recall=0.8", "--table", "json")
    with caplog.at_level(logging.WARNING):
        code, said = run(*floor, "--log")
    rows = json.loads(said.out)
    assert (code, len(rows)) == (0, len(caplog.records))
    assert json.loads(run(*floor, "--log")[1].out) == []
    assert "0 handed over, 1 failed" in run(*floor[:2], "--command", "exit 1")[1].out
    code, said = run(*floor, "--command", "false")
    assert code == 1
    assert "exited with status 1" in json.loads(said.out)[0]["problem"]
    assert "No receiver of the alarms" in run(*floor)[1].err
    assert "log" in to_log().name


def test_several_monitors_are_handed_over_at_once(tmp_path):
    store, pages = str(tmp_path / "e.db"), []
    hook = Hook("list", pages.append)
    with bcm.online.Ledger(store) as ledger:
        mail = bcm.online.Monitor(ledger, "mail", measures=["recall"])
        marks = bcm.online.Monitor(ledger, "marks")
        for day, tp in enumerate([45, 44, 46, 45, 20]):
            at = f"2026-01-0{day + 1}"
            mail.add(day, bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45), at=at)
            scores = np.linspace(0.2, 0.9, 30 + day) * (1 if day < 4 else 0.2)
            marks.add(day, bcm.from_item_scores(scores, range=(0, 1)), at=at)
        floor = {"recall": 0.8, "mean": 0.4}
        table = notify([mail, marks], hook, floor=floor, dry_run=True)
        assert table["classifier"].tolist() == ["mail", "marks"]
        assert not pages
        table = notify((each for each in (mail, marks)), hook, floor=floor)
        assert [page["classifier"] for page in pages] == ["mail", "marks"]
        assert table.columns[0] == "classifier"
        assert len(notify([mail, marks], hook, floor=floor)) == 0
        assert notify(mail, hook, floor={"recall": 0.8}).columns.equals(table.columns)
        with pytest.raises(ValueError, match=r"floor has no effect.*auc"):
            notify([mail, marks], hook, floor={"recall": 0.8, "auc": 0.7})
        with pytest.raises(ValueError, match="tolerance has no effect"):
            notify([mail, marks], hook, tolerance={"calibration_slope": 0.2})
        with pytest.raises(ValueError, match="No monitors"):
            notify([], hook)
        with pytest.raises(TypeError, match="not a monitor"):
            notify(["mail"], hook)
