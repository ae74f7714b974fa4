"""What needs a server of its own: one that crashes, and one that can notify no more.

The kernel has no process that could keep a timer, and none of its transactions notifies. So nothing
is lost while everything is down, and the queue of notifications is nobody's worry but the bell's.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest

from tests.pytest.own_server import SMALL_FROM, fill_the_queue, running
from tests.pytest.sessions.conftest import Ledger, Session
from tests.pytest.sessions.life import LIFE, SUBMISSION, accepts, life, observed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.pytest.conftest import Connection, MakePrincipal, Superuser
    from tests.pytest.own_server import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Yield the server."""
    with running() as made:
        yield made


# In place of the fixtures of that name: databases and principals are made on this server.


@pytest.fixture
def cluster(server: Server) -> Path:
    """Return the folder of this server."""
    return server.folder


@pytest.fixture
def maintenance(server: Server) -> Iterator[Connection]:
    """Yield a connection for the fixtures' own use."""
    with closing(psycopg.connect(dbname="postgres", autocommit=True)) as connection:
        yield connection


@pytest.fixture
def made_roles() -> list[str]:
    """Return a list for what nobody has to drop."""
    return []


@pytest.fixture
def scratch_database(server: Server, maintenance: Connection) -> str:
    """Return a copy of the template."""
    return server.copy(maintenance)


# -- what came due while everything was down -------------------------------------------------------


def test_what_came_due_meanwhile_fires_on_the_first_pass(ledger: Ledger, server: Server) -> None:
    """A crash, and three days later a server again: one pass, one claim, one look."""
    ledger.stop_clock()
    ledger.define_class(
        promotes=True, verify_within="1 hour", promote_within="1 hour", backoff_base="10 minutes",
        backoff_cap="10 minutes",
    )  # fmt: skip
    worker, verifier = ledger.session("worker"), ledger.session("verifier")
    sensor, admin = ledger.session("sensor"), ledger.admin

    (failed,) = ledger.campaigns()
    worker.done("fail", **worker.claimed(), p_reason="no")
    (promoting,) = ledger.campaigns()
    worker.done("submit", **worker.claimed(), **SUBMISSION)
    accepts(verifier, verifier.claimed("claim_verification"))
    (verifying,) = ledger.campaigns()
    worker.done("submit", **worker.claimed(), **SUBMISSION)
    verifier.claimed("claim_verification")
    (attempted,) = ledger.campaigns()
    worker.done("submit", **worker.claimed(), **SUBMISSION)
    (leased,) = ledger.campaigns()
    worker.claimed()
    watched = ledger.define_target("watched", observe_every="1 hour")
    assert observed(sensor, watched, is_green=True)["note"] is None
    quiet = ledger.define_target("quiet", observe_every="1 hour")
    opened = admin.done("open_campaign", p_target=quiet, p_token=uuid4())
    campaign = opened["campaign_id"]
    admin.done("cancel", p_campaign_id=campaign, p_generation=0, p_quiet_for="1 day")
    assert observed(sensor, quiet, is_green=False)["note"] == "quiet"
    ledger.person("reaper")

    before = ledger.dump()
    server.crash_and_start()
    ledger.look_again()
    assert ledger.dump() == before
    with closing(psycopg.connect(dbname=ledger.database, autocommit=True)) as god:
        god.execute("update testing.clock set now = now + interval '3 days'")
    reaper, worker = ledger.session("reaper"), ledger.session("worker")
    sensor = ledger.session("sensor")

    assert sorted((row["note"], row["campaign_id"]) for row in reaper.finished("reap")) == sorted(
        [
            ("lose", leased),
            ("lose_verification", verifying), ("expire", verifying),
            ("lose_promotion", promoting), ("expire", promoting),
            ("expire", attempted),
        ]
    )  # fmt: skip
    claimed = {worker.claimed()["p_campaign_id"] for _ in range(2)}
    assert claimed == {failed, leased}
    assert worker.finished("claim", p_token=uuid4()) == []
    for target in (watched, quiet):
        begun = sensor.done("begin_observation", p_target=target, p_token=uuid4())
        assert begun["is_scheduled"], target
        assert observed(sensor, target, is_green=False)["note"] == "open", target


# -- the bell --------------------------------------------------------------------------------------


class Prepared(Session):
    """A session that prepares every transaction before it commits it.

    PostgreSQL prepares none that has notified, on whatever channel.
    """

    def commit(self) -> None:
        """End the transaction in two steps."""
        name = str(uuid4())
        self._connection.execute(f"prepare transaction '{name}'")
        self._connection.commit()
        self._connection.autocommit = True
        self._connection.execute(f"commit prepared '{name}'")
        self._connection.autocommit = False


class PreparedLedger(Ledger):
    """A ledger all of whose sessions prepare their transactions."""

    def session(self, duty: str, number: int = 0) -> Session:
        """Open another session of a principal."""
        plain = super().session(duty, number)
        return Prepared(plain._connection, plain._klass)


def test_no_call_of_a_life_notifies(
    database: str, principal: MakePrincipal, superuser: Superuser
) -> None:
    """Each transaction is prepared, which PostgreSQL refuses to one that notified anywhere."""
    ledger = PreparedLedger(database, principal, superuser)
    ledger.stop_clock()
    assert life(ledger) == LIFE

    worker = ledger.session("worker")
    worker.rows("ring")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="NOTIFY"):
        worker.commit()
    ledger.close()


def test_a_full_queue_stops_the_bell_and_nothing_else(ledger: Ledger) -> None:
    """A session listens and then idles in a transaction: what is sent stays in the queue for it.

    Where the queue cannot be made small, the life is led with that session in its way.
    """
    ledger.stop_clock()
    major = int(os.environ["FENCEPOST_MAJOR"])
    worker = ledger.session("worker")
    with closing(psycopg.connect(dbname=ledger.database, autocommit=True)) as listener:
        listener.execute("listen fencepost")
        listener.execute("begin")
        if major >= SMALL_FROM:
            with closing(psycopg.connect(dbname=ledger.database, autocommit=True)) as god:
                fill_the_queue(god)
            worker.rows("ring")
            with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="NOTIFY queue"):
                worker.commit()
            worker.rollback()
            with ledger.person("auditor").connect(ledger.database) as auditor:
                full = auditor.execute(
                    "select quantity > 0.9, is_well from kernel.health() "
                    "where subject = 'notification_queue_share'"
                ).fetchone()
            assert full == (True, False)

        assert life(ledger) == LIFE

        listener.execute("rollback")
        ledger.wait_for(
            lambda: ledger.look("select pg_notification_queue_usage() < 0.1") == [(True,)],
            "the queue was read",
        )
        worker.finished("ring")
        heard = next(listener.notifies())
    assert (heard.channel, heard.payload) == ("fencepost", ledger.klass)
