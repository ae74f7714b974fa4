"""The event log as an outbox: every move of every campaign, handed to whoever wants to know.

A move and its event are one commit, so nothing is told that did not happen, and nothing that
happened is left out. Who reads keeps its own :class:`Position`; the database does not know of it.
Each event is delivered at least once, those of a campaign in their order. A reader that dies
between taking an event and keeping its position is given that event again, under the same
:attr:`Event.key`.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

# Transactions get their numbers in one order and commit in another: what is above the oldest one
# under way is left for later, or a commit that lands below the position would be missed. Of an
# earlier epoch none is under way; and after a restore into another server its numbers may be far
# above those of today.
_READ = """
select e.class, e.campaign_id, e.event_no, e.transition, e.from_state, e.to_state, e.generation,
       e.by_principal, e.holder, e.is_late, e.next_attempt_at, e.at, e.epoch,
       e.xid::text as xid, e.detail
from audit.events as e
where e.class = %(class)s
  and (e.epoch, e.xid, e.campaign_id, e.event_no)
      > (%(epoch)s, %(xid)s::text::xid8, %(campaign_id)s, %(event_no)s)
  and (e.xid < pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())
       or e.epoch < (select l.epoch
                     from audit.events as l
                     where l.class = %(class)s
                     order by l.epoch desc
                     limit 1))
order by e.epoch, e.xid, e.campaign_id, e.event_no
limit %(limit)s
"""


class CursorInUse(Exception):
    """Another process reads by this cursor: two would mix up the order."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Where a reader has come to in the log of one class."""

    epoch: int = 0
    xid: int = 0
    campaign_id: int = 0
    event_no: int = 0

    def text(self) -> str:
        """Return it as a line that :meth:`parse` reads."""
        return f"{self.epoch}/{self.xid}/{self.campaign_id}/{self.event_no}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """Read what :meth:`text` wrote.

        :raises ValueError: it is something else.
        """
        epoch, xid, campaign_id, event_no = (int(part) for part in text.strip().split("/"))
        return cls(epoch, xid, campaign_id, event_no)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One move of a campaign, as ``audit.events`` has it."""

    campaign_class: str
    campaign_id: int
    event_no: int
    transition: str
    from_state: str
    to_state: str
    generation: int
    by_principal: str
    holder: str | None
    is_late: bool
    next_attempt_at: datetime
    at: datetime
    epoch: int
    xid: int
    detail: dict[str, Any] | None

    @property
    def position(self) -> Position:
        """Where a reader is that has taken it."""
        return Position(self.epoch, self.xid, self.campaign_id, self.event_no)

    @property
    def key(self) -> str:
        """What it is recognised by when it comes again.

        The epoch is part of it: what a restore has undone was delivered, and the numbers are given
        anew.
        """
        return f"{self.campaign_class}/{self.epoch}/{self.campaign_id}/{self.event_no}"

    def line(self) -> str:
        """Return it as one line of JSON."""
        return json.dumps(
            {
                "key": self.key,
                "class": self.campaign_class,
                "campaign": self.campaign_id,
                "event_no": self.event_no,
                "transition": self.transition,
                "from": self.from_state,
                "to": self.to_state,
                "generation": self.generation,
                "by": self.by_principal,
                "holder": self.holder,
                "is_late": self.is_late,
                "next_attempt_at": self.next_attempt_at.isoformat(),
                "at": self.at.isoformat(),
                "epoch": self.epoch,
                "detail": self.detail,
            },
            ensure_ascii=False,
        )


def read(
    connection: psycopg.Connection[Any], campaign_class: str, after: Position, *, limit: int = 100
) -> list[Event]:
    """Return the next events of a class, at most *limit*; none where there is nothing new yet.

    :param connection: logged in as an auditor. One statement; in a transaction that is not READ
        COMMITTED it sees what was there when that began.
    """
    given = {
        "class": campaign_class,
        "epoch": after.epoch,
        "xid": str(after.xid),
        "campaign_id": after.campaign_id,
        "event_no": after.event_no,
        "limit": limit,
    }
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(_READ, given).fetchall()
    return [Event(campaign_class=row.pop("class"), xid=int(row.pop("xid")), **row) for row in rows]


class CursorFile:
    """A position in a file, replaced whole. One process at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def held(self) -> Iterator[CursorFile]:
        """Keep others from using it.

        :raises CursorInUse: somebody does.
        """
        with self._path.with_name(f"{self._path.name}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                message = f"another process reads by {self._path}"
                raise CursorInUse(message) from error
            yield self

    def load(self) -> Position:
        """Return the position; the beginning where there is no file yet.

        :raises ValueError: the file holds something else.
        """
        try:
            return Position.parse(self._path.read_text(encoding="ascii"))
        except FileNotFoundError:
            return Position()

    def store(self, position: Position) -> None:
        """Keep the position, also through a power cut."""
        new = self._path.with_name(f"{self._path.name}.new")
        with new.open("w", encoding="ascii") as file:
            file.write(f"{position.text()}\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def relay(
    connection: psycopg.Connection[Any],
    campaign_class: str,
    cursor: CursorFile,
    deliver: Callable[[Sequence[Event]], None],
    *,
    limit: int = 100,
) -> int:
    """Deliver the next events and keep the position, in this order; return how many there were.

    :param deliver: takes all of them for good, or raises: then all of them come again.
    """
    events = read(connection, campaign_class, cursor.load(), limit=limit)
    if events:
        deliver(events)
        cursor.store(events[-1].position)
    return len(events)
