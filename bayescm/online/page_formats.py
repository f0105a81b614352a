"""Formats of pages: text for people, webhooks of Slack and Microsoft Teams, and e-mails."""

import json
from collections.abc import Mapping
from email.message import EmailMessage
from email.policy import SMTP
from html import escape
from typing import Any

from bayescm.validate import check_choice

JSON, SLACK, TEAMS, EMAIL = FORMATS = ("json", "slack", "teams", "email")
# Directions that are added to the sentence. The sentence implies the others.
_SAID = {"better": "better", "mixed": "some measures are worse, some are better"}


def check_format(format: str) -> str:
    """Return the format of pages, or raise an error if it is unknown."""
    return check_choice("format", format, list(FORMATS))


def subject_of(page: Mapping[str, Any]) -> str:
    """
    Return the subject of a page: the classifier, the incident and the event.

    Examples
    --------
    >>> subject_of({"classifier": "spam", "incident": "monday", "event": "opened"})
    'spam: incident monday opened'
    """
    parts = [page.get("classifier"), page.get("incident"), page.get("event")]
    classifier, incident, event = ("" if part is None else str(part) for part in parts)
    return f"{classifier}: incident {incident} {event}".strip()


def text_of(page: Mapping[str, Any]) -> str:
    """
    Return the message for people: subject, sentence, and the alarms if there are several.

    Examples
    --------
    >>> page = {"classifier": "spam", "incident": "monday", "event": "opened"}
    >>> print(text_of(page | {"sentence": "recall 0.4, below the floor 0.8", "alarms": []}))
    spam: incident monday opened: recall 0.4, below the floor 0.8
    """
    said = _SAID.get(str(page.get("direction")))
    lines = [f"{subject_of(page)}: {page['sentence']}" + (f" ({said})" if said else "")]
    if len(page.get("alarms", [])) > 1:
        lines += [f"- {sentence}" for sentence in page["alarms"]]
    return "\n".join(lines)


def written(page: Mapping[str, Any], format: str) -> str:
    """Return a page in one of the `FORMATS`, with a final line break."""
    text = str(page.get("text") or json.dumps(page))
    if format == SLACK:
        return json.dumps({"text": escape(text, quote=False)}) + "\n"
    if format == TEAMS:
        return json.dumps(_card(text)) + "\n"
    if format == EMAIL:
        return _email(subject_of(page), text)
    return json.dumps(page) + "\n"


def _card(text):
    """Return a message with an adaptive card, as expected by webhooks of Teams."""
    # Cards show a single line break as a space.
    block = {"type": "TextBlock", "text": text.replace("\n", "\n\n"), "wrap": True}
    card = {"type": "AdaptiveCard", "version": "1.4", "body": [block]}
    content = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "text": text, "attachments": [content]}


def _email(subject, text):
    """Return a plain-text e-mail without sender and recipients, which the mailer adds."""
    message = EmailMessage(policy=SMTP.clone(linesep="\n"))
    message["Subject"] = subject
    message.set_content(text)
    return message.as_string()
