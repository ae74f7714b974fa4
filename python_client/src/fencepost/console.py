"""What the command prints: one line per event, for people and for logs alike."""

from __future__ import annotations

import json
import sys
import threading
from datetime import UTC, datetime

from rich.console import Console as RichConsole
from rich.text import Text

from . import text
from .records import Receipt

_STYLES = {
    "accepted": "green",
    "promoted": "bold green",
    "submitted": "green",
    "failed": "red",
    "lost": "bold red",
    "evicted": "yellow",
    "rejected": "red",
    "stuck": "bold red",
    "error": "bold red",
    "unverifiable": "yellow",
    "outdated": "yellow",
    "released": "yellow",
    "connection": "yellow",
}
_WIDEST = 300


class Console:
    """Prints events as ``TIME ROLE EVENT SUBJECT key=value …``; coloured on a terminal.

    A value with spaces or quotes in it is a JSON string; nothing in it can move a terminal's
    cursor, whoever wrote it.
    """

    def __init__(self, role: str) -> None:
        self._role = role
        self._lock = threading.Lock()
        self._console = RichConsole(file=sys.stdout, highlight=False, soft_wrap=True, emoji=False)

    def event(self, event: str, subject: Receipt | str | None = None, **facts: object) -> None:
        """Print one line.

        :param event: one word.
        :param subject: what it is about; a receipt is printed as ``CLASS/CAMPAIGN``.
        :param facts: what else to say; ``None`` is left out.
        """
        if isinstance(subject, Receipt):
            attempt_no = getattr(subject, "attempt_no", None)
            facts = {"generation": subject.generation, "attempt": attempt_no} | facts
            subject = f"{subject.campaign_class}/{subject.campaign_id}"
        line = Text()
        line.append(datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), style="dim")
        line.append(f" {self._role} ")
        line.append(event, style=_STYLES.get(event, "bold"))
        if subject:
            line.append(f" {_value(subject)}")
        for name, value in facts.items():
            if value is not None:
                line.append(f" {name}=", style="dim")
                line.append(_value(value))
        with self._lock:
            self._console.print(line, no_wrap=True, overflow="ignore", crop=False)


def clock_time(at: datetime) -> str:
    """Return the time of day, in UTC whatever the session's time zone."""
    return at.astimezone(UTC).strftime("%H:%M:%SZ")


def _value(value: object) -> str:
    """Return a value on one line, quoted if it needs to be."""
    plain = text.harmless(str(value)).strip()
    if len(plain) > _WIDEST:
        plain = plain[:_WIDEST] + "…"
    if not plain or any(character in plain for character in ' "=\n\t'):
        return json.dumps(plain, ensure_ascii=False)
    return plain
