"""Hands that no session of their own shows: a role under another name, and a subscription.

The server is this file's own: roles are everybody's, and only it decodes its log.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from tests.pytest.conftest import wait_for
from tests.pytest.own_server import Server, cluster, made_roles, own_server, scratch_database
from tests.pytest.sessions.conftest import Ledger
from tests.pytest.sessions.life import LIFE, life

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection, MakePrincipal, Superuser

# Databases and principals are made on this file's server.
__all__ = ["cluster", "made_roles", "scratch_database"]

# One subscription for each table, all at once; a setting of its own from 18 on.
MANY = [
    "max_replication_slots",
    "max_wal_senders",
    "max_logical_replication_workers",
    "max_worker_processes",
    "max_connections",
]
if int(os.environ["FENCEPOST_MAJOR"]) >= 18:
    MANY.append("max_active_replication_origins")

TABLES = """
    select c.oid::regclass::text, (
        select a.attname from pg_attribute as a
        where a.attrelid = c.oid and a.attnum > 0 and a.attidentity = ''
        order by a.attnum limit 1
    )
    from pg_class as c where c.relnamespace = 'ledger'::regnamespace and c.relkind = 'r'
    order by 1
"""
WRITING = {
    "INSERT": "insert into {table} overriding system value select * from {table}",
    "UPDATE": "update {table} set {column} = {column}",
    "DELETE": "delete from {table}",
    "TRUNCATE": "truncate {table}",
}
# As in tests/pgtap/foundation/by_hand.sql: only triggers are left.
NO_CONSTRAINT = """
    do $do$
    declare
        v_statement text;
    begin
        for v_statement in
            select format('alter table %s drop constraint if exists %I cascade',
                          k.conrelid::regclass, k.conname)
            from pg_constraint as k
            where k.connamespace = 'ledger'::regnamespace and k.contype in ('c', 'f', 'p', 'u')
              and k.conrelid <> 0
        loop
            execute v_statement;
        end loop;
        for v_statement in
            select format('drop index %s', i.indexrelid::regclass)
            from pg_index as i
            join pg_class as c on c.oid = i.indrelid
            where c.relnamespace = 'ledger'::regnamespace and i.indisunique
        loop
            execute v_statement;
        end loop;
    end
    $do$
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Yield a server whose log is decoded, and says which SQLSTATE a worker met."""
    settings = {
        "wal_level": "logical",
        "log_error_verbosity": "verbose",
        "wal_retrieve_retry_interval": "100ms",
        **dict.fromkeys(MANY, "80"),
    }
    with own_server(settings) as made:
        yield made


@pytest.fixture
def maintenance(server: Server) -> Iterator[Connection]:
    """Yield a connection for the fixtures' own use."""
    with psycopg.connect(dbname="postgres", autocommit=True) as connection:
        yield connection


@pytest.fixture
def lived_in(
    scratch_database: str, principal: MakePrincipal, superuser: Superuser
) -> Iterator[Ledger]:
    """Yield a ledger with rows in every table."""
    made = Ledger(scratch_database, principal, superuser)
    made.stop_clock()
    (buried,) = made.campaigns()
    made.admin.done("cancel", p_campaign_id=buried, p_generation=0)
    made.tick("100 days")
    assert made.admin.finished("prune") != []
    assert life(made) == LIFE
    (again,) = made.campaigns()
    made.admin.done(
        "allow_repeat", p_campaign_id=again, p_generation=0, p_fingerprint="f", p_reason="why not"
    )
    ((now,),) = made.look("select ledger.clock()")
    made.person("collector").connect(made.database, autocommit=True).execute(
        "select kernel.report_denial(p_session_id => '6a9632e4.1f', p_line_no => 1,"
        " p_denied_at => %s, p_role => %s, p_sqlstate => '42501', p_message => 'no')",
        (now, made.person("worker").name),
    )
    assert [name for name, rows in made.dump().items() if not rows] == []
    yield made
    made.close()


def written(connection: Connection, statement: str) -> str:
    """Return the SQLSTATE that a statement raises; none where it writes."""
    try:
        connection.execute(statement.encode())
    except psycopg.Error as error:
        return error.sqlstate or "?"
    return ""


def test_the_owner_under_another_name(lived_in: Ledger, superuser: Superuser) -> None:
    """The setting keeps the name that was set; the role has its own again."""
    hand, god = superuser(lived_in.database), superuser(lived_in.database)
    before = lived_in.dump()
    god.execute("alter role fencepost_owner rename to by_another_name")
    try:
        hand.execute("set role by_another_name")
    finally:
        god.execute("alter role by_another_name rename to fencepost_owner")
    assert hand.execute("select current_user::text, current_setting('role')").fetchone() == (
        "fencepost_owner",
        "by_another_name",
    )

    said = {
        statement: written(hand, statement)
        for table, column in lived_in.look(TABLES)
        for statement in (way.format(table=table, column=column) for way in WRITING.values())
    }

    assert {statement: state for statement, state in said.items() if not state} == {}
    assert lived_in.dump() == before


# -- a subscription --------------------------------------------------------------------------------


@pytest.fixture
def publisher(lived_in: Ledger, empty_database: str, superuser: Superuser) -> Connection:
    """Return a superuser in a database with the same rows, and nothing that guards them."""
    archive = subprocess.run(
        ["pg_dump", "-Fc", "--schema=ledger", "--schema=kernel", lived_in.database],
        check=True,
        capture_output=True,
    ).stdout
    subprocess.run(
        ["pg_restore", "--section=pre-data", "--section=data", "-d", empty_database],
        input=archive,
        check=True,
        capture_output=True,
    )
    return superuser(empty_database)


@pytest.fixture
def subscriber(lived_in: Ledger, superuser: Superuser) -> Connection:
    """Return a superuser in the ledger's database, where no constraint stands in a hand's way."""
    god = superuser(lived_in.database)
    god.execute(NO_CONSTRAINT)
    god.execute("create table open_to_all (is_changed boolean)")
    return god


class Subscription:
    """One table's, which ends at the first change that is refused."""

    def __init__(self, publisher: Connection, subscriber: Connection, table: str) -> None:
        self._publisher = publisher
        self._subscriber = subscriber
        self.table = table
        self._name = "of_" + table.replace(".", "_")
        publisher.execute(f"create publication {self._name} for table {table}".encode())

    def begin(self, statement: str | None) -> None:
        """Execute a statement at the publisher, and apply it; without one, copy what is there."""
        name = self._name
        self._publisher.execute(
            "select pg_create_logical_replication_slot(%s, 'pgoutput')", (name,)
        )
        if statement is not None:
            self._publisher.execute(statement.encode())
        (self._until,) = self._publisher.execute("select pg_current_wal_lsn()").fetchone() or ()
        (line,) = Path(os.environ["PGPASSFILE"]).read_text().splitlines()
        conninfo = psycopg.conninfo.make_conninfo(
            host=os.environ["PGHOST"],
            port=os.environ["PGPORT"],
            user="postgres",
            password=line.rsplit(":", 1)[1],
            dbname=self._publisher.info.dbname,
        )
        self._subscriber.execute(
            sql.SQL(
                "create subscription {} connection {} publication {}"
                " with (create_slot = false, disable_on_error = true, copy_data = {})"
            ).format(
                sql.Identifier(name),
                sql.Literal(conninfo),
                sql.Identifier(name),
                sql.Literal(statement is None),
            )
        )

    def is_refused(self) -> bool:
        """Tell whether it met an error."""
        return (
            self._subscriber.execute(
                "select from pg_subscription where subname = %s and not subenabled", (self._name,)
            ).fetchone()
            is not None
        )

    def is_applied(self) -> bool:
        """Tell whether it is through."""
        ready = self._subscriber.execute(
            "select from pg_subscription_rel as r join pg_subscription as s on s.oid = r.srsubid"
            " where s.subname = %s and r.srsubstate = 'r'",
            (self._name,),
        ).fetchone()
        through = self._publisher.execute(
            "select from pg_replication_slots where slot_name = %s and confirmed_flush_lsn >= %s",
            (self._name, self._until),
        ).fetchone()
        return ready is not None and through is not None

    def is_over(self) -> bool:
        """Tell whether nothing more comes of it."""
        return self.is_refused() or self.is_applied()

    def end(self) -> None:
        """Drop it, and its slot with it."""
        self._subscriber.execute(f"drop subscription {self._name}".encode())


def test_a_subscription(
    lived_in: Ledger, publisher: Connection, subscriber: Connection, server: Server
) -> None:
    """What is applied comes as the table's owner from 16 on, and fires no statement's trigger."""
    log = server.folder / "server.log"
    before = lived_in.dump()
    publisher.execute("create table open_to_all as select false as is_changed")
    tables = [*lived_in.look(TABLES), ("open_to_all", "is_changed")]
    subscriptions = {}
    for table, _ in tables:
        publisher.execute(f"alter table {table} replica identity full".encode())
        subscriptions[table] = Subscription(publisher, subscriber, table)

    for way, statement in {"COPY": None, **WRITING}.items():
        said = log.stat().st_size
        for table, column in tables:
            subscriptions[table].begin(statement and statement.format(table=table, column=column))
        for each in subscriptions.values():
            wait_for(each.is_over, f"{way} of {each.table} is neither refused nor applied")

        assert [name for name, each in subscriptions.items() if not each.is_refused()] == [
            "open_to_all"
        ], way
        assert lived_in.dump() == before, way
        errors = re.findall(r"ERROR:  (\w{5}): (.*)", log.read_text()[said:])
        assert [error for error in errors if error[0] not in {"KN901", "KN902", "KN903"}] == []
        rows = "select is_changed from open_to_all order by 1"
        assert subscriber.execute(rows).fetchall() == publisher.execute(rows).fetchall()
        for each in subscriptions.values():
            each.end()
