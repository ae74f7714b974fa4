"""What bounds two residuals: by what a crash takes, and by what the server's defaults refuse."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.pytest.own_server import (
    Server,
    cluster,
    made_roles,
    maintenance,
    own_server,
    scratch_database,
)
from tests.pytest.sessions.conftest import ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.sessions.conftest import Ledger

# Databases and principals are made on this file's server.
__all__ = ["cluster", "ledger", "made_roles", "maintenance", "scratch_database"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Yield a server on which nothing but a commit writes the log out for ten seconds."""
    with own_server(
        {"wal_writer_delay": "10s", "autovacuum": "off", "checkpoint_timeout": "1h"}
    ) as made:
        yield made


def claimed(ledger: Ledger, *, before: bool = False, after: bool = False) -> int:
    """Claim in one transaction, synchronous_commit set off before or after the call."""
    worker = ledger.person("worker").connect(ledger.database)
    if before:
        worker.execute("set synchronous_commit = off")
    row = worker.execute(
        "select outcome, campaign_id from kernel.claim(%s, gen_random_uuid())", (ledger.klass,)
    ).fetchone()
    assert row is not None
    assert row[0] == "ok"
    if after:
        worker.execute("set local synchronous_commit = off")
    worker.commit()
    return int(row[1])


def is_there_after_a_crash(ledger: Ledger, server: Server, campaign: int) -> bool:
    server.restart("immediate")
    with closing(psycopg.connect(dbname=ledger.database)) as god:
        state = god.execute(
            "select state from ledger.campaign where campaign_id = %s", (campaign,)
        ).fetchone()
    ledger.look_again()
    return state == ("leased",)


def test_no_transaction_is_prepared_by_default(ledger: Ledger) -> None:
    ledger.campaigns()
    worker = ledger.person("worker").connect(ledger.database)
    worker.execute("select from kernel.claim(%s, gen_random_uuid())", (ledger.klass,))
    with pytest.raises(
        psycopg.errors.ObjectNotInPrerequisiteState, match="prepared transactions are disabled"
    ):
        worker.execute("prepare transaction 'stuck'")


def test_what_was_set_off_before_the_call_survives(ledger: Ledger, server: Server) -> None:
    ledger.campaigns()
    assert is_there_after_a_crash(ledger, server, claimed(ledger, before=True))


def test_what_was_set_off_after_it_may_be_lost(ledger: Ledger, server: Server) -> None:
    ledger.campaigns()
    assert not is_there_after_a_crash(ledger, server, claimed(ledger, after=True))


def test_a_later_commit_of_anybodys_makes_that_safe(ledger: Ledger, server: Server) -> None:
    first, second = *ledger.campaigns(), *ledger.campaigns()
    lazy = claimed(ledger, after=True)
    assert claimed(ledger) in {first, second} - {lazy}
    assert is_there_after_a_crash(ledger, server, lazy)
