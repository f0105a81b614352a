"""What people are told, in the formats of chats and of e-mails; and what is worth telling."""

import email
import email.policy
import json
import sys

import pytest

import bayescm as bcm
from bayescm import online
from bayescm.online import Monitor
from bayescm.online.page_formats import FORMATS, written

PAGE = {
    "classifier": "spam & <ham>",
    "incident": "montag, 5. März",
    "event": "opened",
    "sentence": "recall 0.4, below the floor 0.8",
    "alarms": ["recall 0.4, below the floor 0.8", "the answers have changed"],
    "direction": "worse",
    "text": "spam & <ham>: incident montag, 5. März opened: recall 0.4\n- one\n- two",
}


def test_slack_gets_its_field_text_with_its_three_characters_escaped():
    assert json.loads(written(PAGE, "slack")) == {
        "text": "spam &amp; &lt;ham&gt;: incident montag, 5. März opened: recall 0.4\n- one\n- two"
    }


def test_teams_gets_a_card():
    message = json.loads(written(PAGE, "teams"))
    assert message["type"] == "message"
    (card,) = message["attachments"]
    assert card["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert card["content"]["body"][0]["text"].startswith("spam & <ham>: incident")


def test_an_email_is_plain_text():
    text = written(PAGE, "email")
    message = email.message_from_string(text, policy=email.policy.default)
    assert message["Subject"] == "spam & <ham>: incident montag, 5. März opened"
    assert message.get_content_type() == "text/plain"
    assert message.get_content().strip() == PAGE["text"]


def test_a_name_cannot_add_a_header():
    page = PAGE | {"incident": "x\nBcc: all@example.org"}
    with pytest.raises(ValueError, match="linefeed"):
        written(page, "email")


def test_json_has_all_fields():
    assert json.loads(written(PAGE, "json")) == PAGE


@pytest.fixture
def monitor():
    with Monitor("sqlite://", "mail", measures=["recall"]) as monitor:
        for day, tp in enumerate([45, 44, 46, 45, 10]):
            batch = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45)
            monitor.add(day, batch, at=f"2026-01-0{day + 1}")
        yield monitor


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
def test_a_command_gets_the_format(monitor, tmp_path, format):
    script = (
        "import os, sys; print(sys.stdin.read(), os.environ['BAYESCM_TEXT'], file=open({!r}, 'w'))"
    )
    out = tmp_path / "page"
    command = [sys.executable, "-c", script.format(str(out))]
    table = online.notify(monitor, online.to_command(command, format=format))
    assert table["problem"].tolist() == [""]
    told = out.read_text()
    assert "mail: incident 4 opened: the answers have changed: recall" in " ".join(told.split())
    assert ("Subject: " in told) == (format == "email")


@pytest.mark.long
def test_formats_that_are_none(monitor):
    for make in (online.to_command, online.to_url):
        with pytest.raises(ValueError, match="format"):
            make("https://example.org", format="pager")
    with pytest.raises(ValueError, match=r"to_command\('sendmail ops@example.org'"):
        online.to_url("https://example.org", format="email")


@pytest.mark.long
def test_a_page_has_a_text_and_a_direction(monitor):
    told = []
    online.notify(monitor, online.Hook("list", told.append))
    assert told[0]["direction"] == "worse"
    assert told[0]["text"].startswith("mail: incident 4 opened: the answers have changed: recall")


@pytest.fixture
def improved():
    with Monitor("sqlite://", "mail", measures=["recall"]) as monitor:
        for day, tp in enumerate([30] * 12 + [48] * 3):
            batch = bcm.from_cells(tp=tp + day % 2, fn=50 - tp - day % 2, fp=5, tn=45)
            monitor.add(day, batch, at=f"2026-01-{day + 1:02}")
        yield monitor


@pytest.mark.long
def test_improvements_are_recorded_and_sent_only_if_requested(improved):
    told = []
    hook = online.Hook("list", told.append)
    alarms = improved.alarms()
    assert set(alarms["direction"]) == {"better"}
    assert "change" in alarms["rule"].tolist()
    assert len(improved.incidents()) == 1
    assert online.notify(improved, hook).empty
    assert online.notify(improved, hook, dry_run=True).empty
    assert len(online.notify(improved, hook, improvements=True)) == 1
    assert told[0]["text"].endswith("(better)") or "(better)" in told[0]["text"]
    assert online.notify(improved, hook, improvements=True).empty


@pytest.mark.long
def test_a_change_in_both_directions_is_mixed():
    with Monitor("sqlite://", "mail", measures=["recall", "specificity"]) as monitor:
        for day in range(12):
            tp, tn = (90, 60) if day < 9 else (60, 90)
            monitor.add(day, bcm.from_cells(tp=tp, fn=100 - tp, fp=100 - tn, tn=tn + day))
        alarms = monitor.alarms()
    assert alarms[alarms["rule"] == "change"]["direction"].tolist() == ["mixed"]
