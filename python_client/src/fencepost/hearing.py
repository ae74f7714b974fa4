"""What is to be known of listening for rings, whoever waits for them and how."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, Final

import psycopg

from . import clock
from .records import Receipt

LISTEN: Final = "listen fencepost"
WHICH_SESSION: Final = "select pg_catalog.pg_backend_pid()"
IS_LISTENING: Final = (
    "select count(*) from pg_catalog.pg_listening_channels() as c (name) where c.name = 'fencepost'"
)
CHECK = 60.0
"""After how many seconds to ask the session whether it still listens."""

_CHANNEL = "fencepost"
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_WAKING = {"ready", "attempted", "accepted"}


class NotHeard(Exception):
    """Nothing can be heard over this connection, though it stands."""


class Hearing:
    """Whether rings are heard, what is said of it, and when to listen anew.

    :param tell: is told, in a sentence, when nothing is heard any more and when it is again.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._said = ""
        self._pauses = 0
        self._begun = clock.now()

    def begins(self) -> None:
        """Note that a connection is about to be made."""
        self._begun = clock.now()

    def is_there(self) -> None:
        """Note that a session listens."""
        if self._said:
            self._tell("the doorbell is heard again")
            self._said = ""

    def is_lost(self, error: Exception) -> None:
        """Tell that none does, the same trouble once."""
        if self._said != str(error):
            self._said = str(error)
            self._tell(f"the doorbell is not heard, looking all the same: {error}")

    def is_given_up(self, error: NotHeard) -> None:
        """Tell that none will."""
        self._tell(f"no doorbell: {error}")

    def until_next(self) -> float:
        """Return how long to wait before the next connection."""
        # One that stood for a while was no part of the trouble before.
        self._pauses = 0 if clock.now() - self._begun > _LONGEST_PAUSE else self._pauses + 1
        return pause(self._pauses)


def pause(count: int) -> float:
    """Return how long to wait before the connection is made again for the *count*-th time."""
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(count, 10))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret


def require_own_session(row: tuple[Any, ...] | None, info: psycopg.ConnectionInfo) -> None:
    """Refuse a session that is lent for a statement at a time.

    :param row: what the server answered to :data:`WHICH_SESSION`.
    :raises NotHeard: it is not the session that was connected to.
    """
    if row is None or row[0] != info.backend_pid:
        raise NotHeard("there is a pooler before the server, and LISTEN is lost in it")


def require_listening(row: tuple[Any, ...] | None) -> None:
    """Refuse a session that forgot what it was told.

    :param row: what the server answered to :data:`IS_LISTENING`.
    """
    if row is None or row[0] != 1:
        raise psycopg.OperationalError("this session does not listen any more")


def is_meant(notify: psycopg.Notify, campaign_class: str) -> bool:
    """Return whether this is a ring for the class."""
    return notify.channel == _CHANNEL and notify.payload == campaign_class


def classes_to_wake(receipts: Iterable[Receipt]) -> list[str]:
    """Return the classes in which these leave something to do."""
    return sorted({str(r.campaign_class) for r in receipts if r.state in _WAKING})
