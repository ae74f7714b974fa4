"""The watchdog ends sessions that hold a transaction open, and only those of clients."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from fencepost import Eviction
from tests.pytest.conftest import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.pytest.conftest import Connection, MakePrincipal, Principal, Superuser
    from tests.pytest.sessions.conftest import Ledger


def is_there(ledger: Ledger, pid: int) -> bool:
    return ledger.look("select from pg_stat_activity where pid = %s", pid) != []


def old(ledger: Ledger, pid: int) -> int:
    """Wait until a session's transaction is open, or idle, for over a second; return its pid."""
    wait_for(
        lambda: (
            ledger.look(
                "select from pg_stat_activity "
                "where pid = %s and clock_timestamp() - interval '1.2 seconds' > "
                "greatest(xact_start, case when state <> 'active' then state_change end)",
                pid,
            )
            != []
        ),
        "no transaction that is old enough",
    )
    return pid


def evicted(ledger: Ledger, duty: str) -> set[int]:
    """Let a principal evict; return whom."""
    caller = ledger.person(duty).connect(ledger.database, autocommit=True)
    rows = caller.execute(
        "select pid, was_ended, open_for >= interval '1 second' from watchdog.evict('1 second')"
    ).fetchall()
    assert all(row[1:] == (True, True) for row in rows)
    return {row[0] for row in rows}


def test_a_lease_that_an_idle_session_has_locked_is_taken_back(
    ledger: Ledger, cluster: Path
) -> None:
    (campaign,) = ledger.campaigns()
    ledger.define_class(lease_default="1 second")
    worker, reaper = ledger.session("worker"), ledger.session("reaper")
    held = worker.claimed()
    worker.rows("renew", **held, p_lease_for="1 second")
    pid = old(ledger, worker.pid)
    reaper.finished("reap")
    assert ledger.state(campaign) == "leased"

    assert evicted(ledger, "reaper") == {pid}

    wait_for(lambda: not is_there(ledger, pid), "the session is still there")
    reaper.finished("reap")
    assert ledger.state(campaign) == "ready"
    (line,) = [
        line
        for line in (cluster / "server.log").read_text(errors="replace").splitlines()
        if "LOG:  fencepost evicted" in line and f"pid {pid} " in line
    ]
    assert f"fencepost evicted {ledger.person('worker').name} with pid" in line
    assert f"for {ledger.person('reaper').name}: idle in transaction with a" in line


def test_one_that_is_at_work_under_a_lock_is_ended_too(ledger: Ledger) -> None:
    ledger.campaigns()
    admin = ledger.session("admin")
    admin.call("pause")
    assert admin.transaction_id() is not None
    sleeping = ledger.background(lambda: admin._connection.execute("select pg_sleep(600)"))
    pid = old(ledger, admin.pid)

    assert evicted(ledger, "reaper") == {pid}

    with pytest.raises(psycopg.OperationalError):
        sleeping.result(30)


def test_a_snapshot_that_nobody_works_under_is_let_go(ledger: Ledger) -> None:
    """It has locked no row, and holds back vacuum all the same."""
    auditor = ledger.session("auditor")
    auditor._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    auditor._connection.execute("select from audit.campaigns")
    assert auditor.transaction_id() is None
    pid = old(ledger, auditor.pid)

    assert evicted(ledger, "admin") == {pid}


def test_an_auditor_that_reads_is_let_be(ledger: Ledger) -> None:
    auditor, sensor = ledger.session("auditor"), ledger.session("sensor")
    reading = [
        ledger.background(lambda: auditor._connection.execute("select pg_sleep(600)")),
        ledger.background(lambda: sensor._connection.execute("select pg_sleep(600)")),
    ]
    old(ledger, auditor.pid)
    pid = old(ledger, sensor.pid)

    assert evicted(ledger, "reaper") == {pid}

    assert is_there(ledger, auditor.pid)
    ledger.look("select pg_terminate_backend(%s)", auditor.pid)
    for each in reading:
        with pytest.raises(psycopg.OperationalError):
            each.result(30)


def test_an_auditor_between_two_statements_is_let_be(ledger: Ledger) -> None:
    """As a dump is that reads one table after the other."""
    auditor = ledger.session("auditor")
    auditor._connection.execute("select pg_sleep(1.5)")

    assert evicted(ledger, "reaper") == set()

    auditor._connection.execute("select 1")


def test_whose_role_was_dropped_is_ended_like_a_client(
    ledger: Ledger, cluster: Path, superuser: Superuser, made_roles: list[str]
) -> None:
    """Its session goes on after the role is gone, and so do its locks."""
    ledger.campaigns()
    worker = ledger.session("worker")
    worker.call("claim", p_token=uuid4())
    assert worker.transaction_id() is not None
    name = ledger.person("worker").name
    ((oid,),) = ledger.look("select %s::regrole::oid", name)
    superuser().execute(sql.SQL("drop role {}").format(sql.Identifier(name)))
    made_roles.remove(name)
    pid = old(ledger, worker.pid)
    reaper = ledger.person("reaper").connect(ledger.database, autocommit=True)

    ended = reaper.execute("select pid, principal, was_ended from watchdog.evict('1 second')")

    assert ended.fetchall() == [(pid, f"unknown (OID={oid})", True)]
    wait_for(lambda: not is_there(ledger, pid), "the session is still there")
    log = (cluster / "server.log").read_text(errors="replace")
    assert f"fencepost evicted unknown (OID={oid}) with pid {pid} " in log


def test_others_are_let_be(
    ledger: Ledger,
    plain_database: str,
    principal: MakePrincipal,
    deployer: Principal,
    superuser: Superuser,
) -> None:
    """Who is no client, another database, a young transaction, none, and the caller's own."""
    stranger = principal("stranger")
    superuser().execute(
        sql.SQL("grant connect on database {} to {}").format(
            sql.Identifier(ledger.database), sql.Identifier(stranger.name)
        )
    )
    worker, reaper = ledger.person("worker"), ledger.person("reaper")
    resting = worker.connect(ledger.database, autocommit=True)
    with closing(psycopg.connect(dbname=ledger.database)) as god:
        longer = [
            stranger.connect(ledger.database),
            deployer.connect(ledger.database),
            worker.connect(plain_database),
            reaper.connect(ledger.database),
            god,
        ]
        for each in (*longer, resting):
            each.execute("select 1")
        for each in longer:
            old(ledger, each.info.backend_pid)
        young = worker.connect(ledger.database)
        young.execute("select 1")

        found = longer[3].execute("select pid from watchdog.evict('1 second')").fetchall()

        assert found == []
        for each in (*longer, resting, young):
            each.execute("select 1")


def test_only_reapers_and_admins_evict(ledger: Ledger) -> None:
    for duty in ("worker", "verifier", "sensor", "auditor"):
        client = ledger.person(duty).connect(ledger.database, autocommit=True)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="for schema watchdog"):
            client.execute("select watchdog.evict('1 second')")
    for duty in ("reaper", "admin"):
        assert evicted(ledger, duty) == set()


@pytest.mark.parametrize(
    "older_than",
    [None, "0", "-1 hour", "999 milliseconds", "1 day 1 second", "1 mon", "1000 years"],
)
def test_a_time_that_is_none_is_refused(ledger: Ledger, older_than: str | None) -> None:
    idle = ledger.session("worker")
    idle.rows("next_due")
    old(ledger, idle.pid)
    reaper = ledger.person("reaper").connect(ledger.database, autocommit=True)

    with pytest.raises(psycopg.errors.InvalidParameterValue, match="not evicted after") as refused:
        reaper.execute("select watchdog.evict(%s::interval)", (older_than,))

    assert refused.value.diag.message_hint is not None
    assert is_there(ledger, idle.pid)


def test_the_watchdog_itself_is_granted_nothing_but_its_schema(
    database: str, superuser: Superuser
) -> None:
    assert granted(superuser(database)) == {"schema watchdog USAGE"}


def granted(connection: Connection) -> set[str]:
    """Return everything in the database that the watchdog was granted for itself."""
    return {
        row[0]
        for row in connection.execute(
            """
            select o.what || ' ' || a.privilege_type
            from (
                select 'schema ' || nspname, nspacl from pg_namespace
                union all select 'relation ' || oid::regclass, relacl from pg_class
                union all select 'type ' || oid::regtype, typacl from pg_type
                union all select 'function ' || oid::regprocedure, proacl from pg_proc
                where proowner <> 'fencepost_watchdog'::regrole
                union all select 'database', datacl from pg_database
            ) as o (what, acl)
            cross join aclexplode(o.acl) as a
            where a.grantee = 'fencepost_watchdog'::regrole
            """
        )
    }


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def reaping(ledger: Ledger) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Yield a function that starts ``fencepost reaper`` in a database, ended with the test."""
    begun: list[subprocess.Popen[str]] = []

    def start(*options: str) -> subprocess.Popen[str]:
        begun.append(
            subprocess.Popen(
                [Path(sys.executable).with_name("fencepost"), "reaper", *options],
                env=ledger.person("reaper").environment(ledger.database),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        return begun[-1]

    yield start
    for process in begun:
        with process:
            process.kill()


def held_up(ledger: Ledger) -> tuple[int, int]:
    """Let a lease run out that an idle session has locked; return the campaign, and its pid."""
    (campaign,) = ledger.campaigns()
    worker = ledger.session("worker")
    held = worker.claimed(p_lease_for="1 second")
    worker.rows("renew", **held, p_lease_for="1 second")
    return campaign, old(ledger, worker.pid)


def test_the_command_ends_who_holds_up_recovery_where_it_is_told_to(
    ledger: Ledger, reaping: Callable[..., subprocess.Popen[str]]
) -> None:
    ledger.define_class(lease_default="1 second")
    campaign, pid = held_up(ledger)
    said, _ = reaping("--once").communicate(timeout=30)
    assert (ledger.state(campaign), is_there(ledger, pid)) == ("leased", True), said
    assert "evicted" not in said

    running = reaping("--interval", "0.2", "--evict-after", "1s")

    wait_for(lambda: ledger.state(campaign) == "ready", "it is not taken back")
    assert not is_there(ledger, pid)
    running.terminate()
    said, _ = running.communicate(timeout=30)
    assert running.returncode == 0, said
    (line,) = [line for line in said.splitlines() if f"pid={pid}" in line]
    assert f" evicted {ledger.person('worker').name} " in line
    assert 'state="idle in transaction"' in line


def test_the_command_leaves_a_transaction_that_is_young(
    ledger: Ledger, reaping: Callable[..., subprocess.Popen[str]]
) -> None:
    ledger.define_class(lease_default="1 second")
    campaign, pid = held_up(ledger)
    once = reaping("--once", "--evict-after", "1h")
    said, _ = once.communicate(timeout=30)
    assert (once.returncode, ledger.state(campaign), is_there(ledger, pid)) == (0, "leased", True)
    assert "evicted" not in said


def test_the_command_says_that_there_is_no_watchdog_and_goes_on(
    ledger: Ledger,
    superuser: Superuser,
    reaping: Callable[..., subprocess.Popen[str]],
) -> None:
    ledger.define_class(lease_default="1 second")
    (campaign,) = ledger.campaigns()
    ledger.session("worker").claimed(p_lease_for="1 second")
    superuser(ledger.database).execute("drop schema watchdog cascade")

    running = reaping("--interval", "0.2", "--evict-after", "1s")

    wait_for(lambda: ledger.state(campaign) == "ready", "it is not taken back")
    time.sleep(1)  # some more rounds
    running.terminate()
    said, _ = running.communicate(timeout=30)
    assert said.count("have a superuser deploy superuser/") == 1, said
    once = reaping("--once", "--evict-after", "1s")
    said, _ = once.communicate(timeout=30)
    assert once.returncode == 75, said


@pytest.mark.parametrize("given", ["0.5s", "25h", "soon"])
def test_the_command_refuses_a_time_that_is_none(
    reaping: Callable[..., subprocess.Popen[str]], given: str
) -> None:
    refused = reaping("--once", "--evict-after", given)
    said, _ = refused.communicate(timeout=30)
    assert refused.returncode == 64, said


def test_the_record_has_the_fields_of_its_type(database: str, superuser: Superuser) -> None:
    listed = superuser(database).execute(
        "select attname from pg_attribute "
        "where attrelid = 'watchdog.eviction'::regclass and attnum > 0 order by attnum"
    )
    assert [field.name for field in fields(Eviction)] == [name for (name,) in listed]
