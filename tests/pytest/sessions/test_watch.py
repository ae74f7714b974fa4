"""What is seen of transactions that are still under way: by a checkpoint, a reaper, health."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.pytest.sessions.conftest import Ledger


@pytest.fixture
def health(ledger: Ledger) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Yield what an auditor asks: the row of a subject, of the class or of the server."""
    with psycopg.connect(
        ledger.person("auditor").conninfo(ledger.database), autocommit=True, row_factory=dict_row
    ) as connection:

        def row_of(subject: str) -> dict[str, Any]:
            row = connection.execute(
                "select * from kernel.health() where subject = %s and coalesce(class, %s) = %s",
                (subject, ledger.klass, ledger.klass),
            ).fetchone()
            assert row is not None
            return row

        yield row_of


def test_a_checkpoint_leaves_out_what_may_still_commit_before(ledger: Ledger) -> None:
    """Numbers are given in one order and committed in another; each event is covered once."""
    ledger.campaigns(2)
    low, high = ledger.session("worker"), ledger.session("worker", 1)
    auditor = ledger.session("auditor")
    low.call("claim", p_token=uuid4())
    high.call("claim", p_token=uuid4())

    high.commit()
    first = auditor.done("checkpoint")
    low.commit()
    second = auditor.done("checkpoint")

    assert (first["event_count"], second["event_count"]) == (2, 2)  # two openings; two claims
    assert auditor.finished("check") == []


def test_a_reaper_counts_what_it_found_locked(
    ledger: Ledger, health: Callable[[str], dict[str, Any]]
) -> None:
    """A holder that hangs in its transaction keeps its lease from being taken back, and is seen."""
    ledger.stop_clock()
    (campaign,) = ledger.campaigns()
    worker, reaper = ledger.session("worker"), ledger.session("reaper")
    lease = worker.claimed(p_lease_for="1 minute")
    ledger.tick("3 minutes")
    worker.call("renew", **lease, p_lease_for="1 hour")

    assert reaper.finished("reap") == []
    assert ledger.state(campaign) == "leased"
    locked = health("locked_leases")
    assert (locked["quantity"], locked["is_well"]) == (1, False)

    worker.rollback()
    assert [row["note"] for row in reaper.finished("reap")] == ["lose"]
    locked = health("locked_leases")
    assert (locked["quantity"], locked["is_well"]) == (0, True)


def test_a_reaper_does_not_count_what_was_renewed_in_time(ledger: Ledger) -> None:
    ledger.stop_clock()
    ledger.campaigns()
    worker, reaper = ledger.session("worker"), ledger.session("reaper")
    lease = worker.claimed(p_lease_for="1 minute")
    ledger.tick("3 minutes")
    worker.done("renew", **lease, p_lease_for="1 hour")

    assert reaper.finished("reap") == []
    assert ledger.look("select locked_count from ledger.reaper_pass") == [(0,)]


def test_a_collector_is_seen_while_it_is_connected(
    ledger: Ledger, health: Callable[[str], dict[str, Any]]
) -> None:
    """Between two rounds too; and not one that is connected to another database."""
    collector = ledger.person("collector")
    found = health("collector_sessions")
    assert (found["quantity"], found["is_well"]) == (0, False)
    assert "Start a collector" in found["message"]
    with psycopg.connect(collector.conninfo("postgres")):
        assert health("collector_sessions")["quantity"] == 0
        with psycopg.connect(collector.conninfo(ledger.database)):
            found = health("collector_sessions")
            assert (found["quantity"], found["is_well"]) == (1, True)


def test_a_transaction_of_another_role_is_seen(
    ledger: Ledger, health: Callable[[str], dict[str, Any]]
) -> None:
    """How old it is in transactions, though the owner is not shown when it began."""
    ledger.campaigns()
    worker = ledger.session("worker")
    worker.call("claim", p_token=uuid4())
    for _ in range(50):
        ledger.look("select pg_current_xact_id()::text")

    assert health("oldest_snapshot_xids")["quantity"] >= 50
    worker.commit()
    assert (health("oldest_snapshot_xids")["quantity"] or 0) < 50
