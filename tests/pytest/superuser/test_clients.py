"""What every client of a PostgreSQL may do, and a client of a hardened ledger may not."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from tests.pytest.conftest import DUTIES
from tests.pytest.plan.sqitch import sqitch
from tests.pytest.sessions.life import LIFE, life

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection, MakePrincipal, Principal, Superuser
    from tests.pytest.sessions.conftest import Ledger

REFUSED = {
    # Storage, and a drop box for any role.
    "select lo_from_bytea(0, 'hidden')": "permission denied for function lo_from_bytea",
    "select lo_creat(-1)": "permission denied for function lo_creat",
    # A lock on any key, and so many that every database of the server stops.
    "select pg_advisory_lock(42)": "permission denied for function pg_advisory_lock",
    "select pg_try_advisory_xact_lock(1, 2)": (
        "permission denied for function pg_try_advisory_xact_lock"
    ),
    "select count(pg_advisory_lock_shared(i)) from generate_series(1, 100) as i": (
        "permission denied for function pg_advisory_lock_shared"
    ),
    # A message in the WAL, a line in the log: in anybody's name.
    "select pg_logical_emit_message(false, 'fencepost', 'forged')": (
        "permission denied for function pg_logical_emit_message"
    ),
    "do $$ begin raise log 'fencepost refused forged'; end $$": (
        "permission denied for language plpgsql"
    ),
    # Other sessions of the same role: what they ask, what they lock, their end.
    "select query from pg_stat_activity": "permission denied for view pg_stat_activity",
    "select query from pg_stat_get_activity(null)": (
        "permission denied for function pg_stat_get_activity"
    ),
    "select pg_stat_get_backend_activity(1)": (
        "permission denied for function pg_stat_get_backend_activity"
    ),
    "select * from pg_locks": "permission denied for view pg_locks",
    "select * from pg_lock_status()": "permission denied for function pg_lock_status",
    "select pg_blocking_pids(SIBLING)": "permission denied for function pg_blocking_pids",
    "select pg_cancel_backend(SIBLING)": "permission denied for function pg_cancel_backend",
    "select pg_terminate_backend(SIBLING)": "permission denied for function pg_terminate_backend",
    # DDL that needs no right on anything.
    "alter default privileges grant execute on functions to public": (
        "ALTER DEFAULT PRIVILEGES is not for CLIENT"
    ),
    "drop owned by current_user": "DROP OWNED is not for CLIENT",
    # As if somebody had given TEMPORARY back.
    "create temporary table mine ()": "CREATE TABLE is not for CLIENT",
    "create temporary sequence mine_too": "CREATE SEQUENCE is not for CLIENT",
    "select 1 as i into temporary mine_also": "SELECT INTO is not for CLIENT",
}
"""What a client of every duty is refused, and in which words.

SIBLING is the process of another session of the same principal, CLIENT the principal. What an
attacker gets by these, on a kernel of each kind, is tests/pytest/attacks: there one duty tries
them, and what counts is the effect.
"""


def give_temporary_back(superuser: Superuser, database: str) -> None:
    superuser(database).execute(
        sql.SQL("grant temporary on database {} to public").format(sql.Identifier(database))
    )


def answers(principal: Principal, database: str) -> dict[str, str]:
    """Return what a principal is answered to each statement."""
    found = {}
    for statement in REFUSED:
        sibling = psycopg.connect(principal.conninfo(database), autocommit=True)
        attacker = psycopg.connect(principal.conninfo(database), autocommit=True)
        try:
            attacker.execute(statement.replace("SIBLING", str(sibling.info.backend_pid)).encode())
            found[statement] = "done"
        except psycopg.Error as error:
            found[statement] = (error.diag.message_primary or "").replace(principal.name, "CLIENT")
        finally:
            attacker.close()
            sibling.close()
    return found


@pytest.mark.parametrize("duty", DUTIES)
def test_a_client_is_refused_what_it_could_do_before(
    database: str,
    plain_database: str,
    principal: MakePrincipal,
    superuser: Superuser,
    duty: str,
) -> None:
    client = principal("client", f"fencepost_{duty}")
    for each in (database, plain_database):
        give_temporary_back(superuser, each)

    assert answers(client, plain_database) == dict.fromkeys(REFUSED, "done")
    assert answers(client, database) == REFUSED


def test_who_set_another_role_is_still_who_logged_in(
    database: str, principal: MakePrincipal, superuser: Superuser
) -> None:
    client = principal("client", "fencepost_worker")
    give_temporary_back(superuser, database)
    connection = client.connect(database, autocommit=True)
    connection.execute("set role fencepost_worker")

    with pytest.raises(psycopg.errors.InsufficientPrivilege, match=f"is not for {client.name}"):
        connection.execute("create temporary table mine ()")


def test_who_calls_a_superuser_s_function_is_still_who_logged_in(
    database: str, principal: MakePrincipal, superuser: Superuser
) -> None:
    client = principal("client", "fencepost_worker")
    superuser(database).execute(
        """
        create schema shop;
        grant usage on schema shop to public;
        create function shop.define() returns void language plpgsql security definer
            as 'begin create table shop.defined (); end';
        """
    )
    superuser(database).execute("select shop.define()")
    superuser(database).execute("drop table shop.defined")

    with pytest.raises(psycopg.errors.InsufficientPrivilege, match=f"is not for {client.name}"):
        client.connect(database).execute("select shop.define()")


def test_a_replica_s_role_does_not_pass_the_guard(
    database: str, principal: MakePrincipal, superuser: Superuser
) -> None:
    client = principal("client", "fencepost_worker")
    give_temporary_back(superuser, database)
    name = sql.Identifier(client.name)
    superuser().execute(
        sql.SQL("grant set on parameter session_replication_role to {}").format(name)
    )
    try:
        connection = client.connect(database, autocommit=True)
        connection.execute("set session_replication_role = replica")

        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="is not for"):
            connection.execute("create temporary table mine ()")
    finally:
        superuser().execute(
            sql.SQL("revoke set on parameter session_replication_role from {}").format(name)
        )


def test_a_life_goes_its_way(ledger: Ledger) -> None:
    ledger.stop_clock()
    assert life(ledger) == LIFE


def test_health_still_sees_the_server(ledger: Ledger) -> None:
    ledger.campaigns()
    holder = ledger.session("worker")
    holder.rows("claim", p_token=uuid4())
    auditor = ledger.person("auditor").connect(ledger.database)

    rows = auditor.execute("select subject, quantity from kernel.health()").fetchall()
    found = {row[0]: row[1] for row in rows}

    assert found["oldest_snapshot_xids"] >= 0
    assert found["notification_queue_share"] == 0


def test_a_monitor_sees_what_it_has_to(
    database: str, principal: MakePrincipal, superuser: Superuser
) -> None:
    monitor = principal("monitor", "pg_monitor")
    superuser().execute(
        sql.SQL("grant connect on database {} to {}").format(
            sql.Identifier(database), sql.Identifier(monitor.name)
        )
    )
    connection = monitor.connect(database, autocommit=True)

    assert connection.execute("select count(query) from pg_stat_activity").fetchone() != (0,)
    assert connection.execute("select count(*) from pg_locks").fetchone() != (0,)
    connection.execute("select pg_blocking_pids(pg_backend_pid())")


def test_migrations_go_on(database: str, deployer: Principal, superuser: Superuser) -> None:
    before = functions(superuser(database))

    sqitch(deployer, database, "revert", "-y", "--to", "watch/next_due")
    assert functions(superuser(database)) < before
    sqitch(deployer, database, "deploy", "--verify")

    assert functions(superuser(database)) == before
    assert "Verify successful" in sqitch(deployer, database, "verify")
    # As the first changes of the plan do, before they become the owner.
    deployer.connect(database).execute("do $do$ begin end $do$")


def functions(connection: Connection) -> set[str]:
    return {
        row[0]
        for row in connection.execute(
            "select oid::regprocedure::text from pg_proc "
            "where pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)"
        )
    }
