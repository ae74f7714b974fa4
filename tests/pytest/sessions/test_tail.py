"""Reading the log as it grows: by (epoch, xid), below the oldest transaction under way.

Transactions get their numbers in one order and commit in another. A reader that stops short of
whatever is still under way misses nothing and reads nothing twice; also where a new epoch begins.
"""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection
    from tests.pytest.sessions.conftest import Ledger, Session

# The whole recipe. Where it left off is (epoch, xid) of the last row that it read.
READ = """
select e.epoch, e.xid, e.campaign_id, e.event_no
from audit.events as e
where e.class = %(class)s
  and (e.epoch, e.xid) > (%(epoch)s, %(xid)s::xid8)
  and e.xid < pg_snapshot_xmin(pg_current_snapshot())
order by e.epoch, e.xid, e.campaign_id, e.event_no
"""
# As one would write it without a thought.
READ_AT_ONCE = READ.replace("and e.xid < pg_snapshot_xmin(pg_current_snapshot())", "")


class Reader:
    """An auditor that follows the log of a class."""

    def __init__(self, connection: Connection, klass: str, query: str = READ) -> None:
        self._connection = connection
        self._klass = klass
        self._query = query
        self.at = (0, "0")
        self.read: list[tuple[Any, ...]] = []

    def look(self) -> int:
        """Read on; return how many events were new."""
        given = {"class": self._klass, "epoch": self.at[0], "xid": self.at[1]}
        rows = self._connection.execute(self._query, given).fetchall()
        if rows:
            self.at = (rows[-1][0], str(rows[-1][1]))
            self.read += [(row[2], row[3]) for row in rows]
        return len(rows)


@pytest.fixture
def auditor(ledger: Ledger) -> Iterator[Connection]:
    """Yield an auditor's connection, in autocommit."""
    with psycopg.connect(
        ledger.person("auditor").conninfo(ledger.database), autocommit=True
    ) as connection:
        yield connection


def everything(ledger: Ledger) -> list[tuple[Any, ...]]:
    """Return every event of the class."""
    return ledger.look(
        "select campaign_id, event_no from audit.events where class = %s order by 1, 2",
        ledger.klass,
    )


def out_of_order(ledger: Ledger) -> tuple[Session, Session]:
    """Let two sessions claim, the one with the lower number first; neither commits."""
    ledger.campaigns(2)
    low, high = ledger.session("worker"), ledger.session("worker", 1)
    low.call("claim", p_token=uuid4())
    high.call("claim", p_token=uuid4())
    return low, high


def test_a_commit_out_of_order_is_not_missed(ledger: Ledger, auditor: Connection) -> None:
    low, high = out_of_order(ledger)
    reader = Reader(auditor, ledger.klass)
    high.commit()
    assert reader.look() == 2, "the openings; not what comes after a transaction under way"
    low.commit()
    assert reader.look() == 2
    assert reader.look() == 0
    assert sorted(reader.read) == everything(ledger)


def test_without_the_bound_it_would_be_missed(ledger: Ledger, auditor: Connection) -> None:
    """The control."""
    low, high = out_of_order(ledger)
    reader = Reader(auditor, ledger.klass, READ_AT_ONCE)
    high.commit()
    assert reader.look() == 3
    low.commit()
    assert reader.look() == 0
    assert len(everything(ledger)) == 4


def test_a_new_epoch_goes_on_where_the_old_one_ended(ledger: Ledger, auditor: Connection) -> None:
    """What is still under way as it begins is of the old epoch, and done before it."""
    ledger.campaigns(2)
    worker, admin = ledger.session("worker"), ledger.session("admin")
    held = worker.claimed()
    reader = Reader(auditor, ledger.klass)

    worker.call("release", **held)
    begins = ledger.background(lambda: admin.done("new_epoch", p_token=uuid4()))
    ledger.wait_until_blocked(admin, worker)
    reader.look()
    worker.commit()
    assert begins.result()["note"] == "epoch 1"
    reader.look()
    worker.claimed()
    reader.look()

    assert reader.at[0] == 1
    assert sorted(reader.read) == everything(ledger)
    assert [epoch for (epoch,) in ledger.look(
        "select distinct on (transition) epoch from audit.events order by transition, epoch desc"
    )] == [1, 1, 0, 0], "claim, new_epoch, open, release"  # fmt: skip


def test_a_reader_resumes_after_a_restore(ledger: Ledger, auditor: Connection) -> None:
    """Numbers of transactions begin anew below those that were read: the epoch sorts first."""
    ledger.campaigns(1)
    reader = Reader(auditor, ledger.klass)
    assert reader.look() == 1
    reader.at = (0, "9000000000")  # as far as it had come before the server was set back
    ledger.admin.done("new_epoch", p_token=uuid4())
    assert reader.look() == 1
    assert reader.at[0] == 1


def test_nothing_is_missed_and_nothing_read_twice(ledger: Ledger, auditor: Connection) -> None:
    """Eight sessions, which commit out of order, or not at all; and an epoch in between."""
    ledger.define_class(
        loss_budget=1000000, release_budget=1000000, seats=6, lease_default="1 minute"
    )
    ledger.campaigns(12)
    over = threading.Event()
    errors: list[str] = []

    def write(session: Session, number: int) -> None:
        chance = random.Random(number)  # noqa: S311 - it shall be the same every time
        try:
            while not over.is_set():
                token = uuid4()
                rows = session.rows("claim", p_token=token)
                time.sleep(chance.choice([0, 0, 0.01, 0.05]))
                if not rows or chance.random() < 0.2:
                    session.rollback()
                    continue
                session.commit()
                held = {
                    "p_campaign_id": rows[0]["campaign_id"],
                    "p_generation": rows[0]["generation"],
                    "p_token": token,
                }
                session.rows("release", **held)
                time.sleep(chance.choice([0, 0, 0.01, 0.05]))
                session.commit()
        except psycopg.Error as error:
            errors.append(f"{error.sqlstate} {error}")
            session.rollback()

    sessions = [ledger.session("worker", number % 3) for number in range(8)]
    threads = [threading.Thread(target=write, args=(s, n)) for n, s in enumerate(sessions)]
    reader = Reader(auditor, ledger.klass)
    for thread in threads:
        thread.start()
    until = time.monotonic() + 5
    epochs = 0
    while time.monotonic() < until and not errors:
        reader.look()
        if epochs < 2 and time.monotonic() > until - 4 + epochs:
            ledger.admin.done("new_epoch", p_token=uuid4())
            epochs += 1
    over.set()
    for thread in threads:
        thread.join(timeout=20)
    reader.look()

    assert not errors, errors
    assert len(reader.read) == len(set(reader.read)), "something was read twice"
    assert sorted(reader.read) == everything(ledger)
    assert reader.at[0] == epochs >= 1
    assert len(reader.read) > 100
