"""A ledger with a class, and sessions of its principals that stay in their transactions.

A test holds one session's transaction open and lets another run into it. That the other one waits
is read from ``pg_stat_activity``, not guessed from the clock; that it does not wait is shown by its
answer coming while the first transaction is still open.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, LiteralString
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from uuid import UUID

    from tests.pytest.conftest import MakePrincipal, Principal, Superuser

POLICY: dict[str, Any] = {"backoff_base": "0", "backoff_cap": "0", "backoff_jitter": 0}
RESULT = {"base": "b" * 40, "commit": "c" * 40}

# The ledger's clock, read from a table.
STOPPED_CLOCK = """
create schema testing;
create table testing.clock as select clock_timestamp() as now;
grant usage on schema testing to fencepost_owner;
grant select on testing.clock to fencepost_owner;
create or replace function ledger.clock() returns timestamptz language sql volatile
    set search_path = pg_catalog, pg_temp
    as $fn$ select c.now from testing.clock as c $fn$
"""

# The ledger's clock: who has a campaign locked waits at it while somebody has the advisory lock 1.
GATED_CLOCK = """
create or replace function ledger.clock() returns timestamptz language plpgsql volatile
    set search_path = pg_catalog, pg_temp
    as $fn$
    begin
        perform pg_advisory_xact_lock_shared(1)
        from ledger.campaign as c
        where c.xmax = pg_current_xact_id_if_assigned()::xid;
        return clock_timestamp();
    end
    $fn$
"""


class Session:
    """One connection of one principal. Nothing is committed unless the test says so."""

    def __init__(self, connection: psycopg.Connection[dict[str, Any]], klass: str) -> None:
        self._connection = connection
        self._klass = klass

    @property
    def pid(self) -> int:
        """The server's process for this session."""
        return self._connection.info.backend_pid

    def rows(self, function: str, /, **arguments: object) -> list[dict[str, Any]]:
        """Call a kernel function in the class; return its rows. The transaction stays open."""
        given = {"p_class": self._klass} | arguments
        query = sql.SQL("select * from kernel.{}({})").format(
            sql.Identifier(function),
            sql.SQL(", ").join(
                sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
                for name in given
            ),
        )
        return self._connection.execute(query, given).fetchall()

    def call(self, function: str, /, **arguments: object) -> dict[str, Any]:
        """Call a kernel function that answers with one row."""
        (row,) = self.rows(function, **arguments)
        return row

    def transaction_id(self) -> str | None:
        """Return the number of the open transaction; it gets one as soon as it writes anything."""
        row = self._connection.execute(
            "select pg_current_xact_id_if_assigned()::text as id"
        ).fetchone()
        return None if row is None else row["id"]

    def commit(self) -> None:
        """End the transaction; what was called counts."""
        self._connection.commit()

    def rollback(self) -> None:
        """End the transaction; what was called never happened."""
        self._connection.rollback()

    def done(self, function: str, /, **arguments: object) -> dict[str, Any]:
        """Call a function and commit; it must answer ok."""
        row = self.call(function, **arguments)
        self.commit()
        assert row["outcome"] == "ok", row
        return row

    def finished(self, function: str, /, **arguments: object) -> list[dict[str, Any]]:
        """Call a function that answers with any number of rows, and commit."""
        rows = self.rows(function, **arguments)
        self.commit()
        return rows

    def claimed(self, function: str = "claim", **arguments: object) -> dict[str, Any]:
        """Claim and commit; return what names the lease in every call under it."""
        token = uuid4()
        return under(self.done(function, p_token=token, **arguments), token)


def under(lease: dict[str, Any], token: UUID) -> dict[str, Any]:
    """Return the arguments by which a call names the lease that it is made under."""
    return {
        "p_campaign_id": lease["campaign_id"],
        "p_generation": lease["generation"],
        "p_token": token,
    }


def moved(session: Session, held: dict[str, Any], target: str, commit: str = "c") -> str:
    """Move what was accepted to its target, as an operation; return the outcome."""
    token = uuid4()
    (operation,) = session.finished(
        "begin_operation",
        **held,
        p_operation_token=token,
        p_kind="promote",
        p_target=f"target:{target}",
        p_fingerprint=commit,
        p_expected=Jsonb({"before": "b", "after": {"commit": commit}, "fence": "f"}),
    )
    if operation["outcome"] != "ok" or operation["status"] != "owner":
        return str(operation["outcome"])
    named = {"p_operation_key": operation["operation_key"], "p_operation_token": token}
    (started,) = session.finished("start_operation", **named)
    if started["outcome"] == "ok":
        read_back = Jsonb({"commit": commit})
        (started,) = session.finished("complete_operation", **named, p_read_back=read_back)
    return str(started["outcome"])


class Ledger:
    """A class with one target after another, its principals, and what is to be seen of it."""

    klass = "session"

    def __init__(self, database: str, principal: MakePrincipal, superuser: Superuser) -> None:
        self.database = database
        self._principal = principal
        self._superuser = superuser
        self._god = superuser(database)
        self._people: dict[tuple[str, int], Principal] = {}
        self._sessions: dict[tuple[str, int], Session | None] = {}
        self._turn = 0
        self._open: list[psycopg.Connection[dict[str, Any]]] = []
        self._pool = ThreadPoolExecutor(max_workers=8)
        self.admin = self.session("admin")
        self.define_class()

    def person(self, duty: str, number: int = 0) -> Principal:
        """Return the *number*-th principal of a duty, enrolled."""
        known = self._people.get((duty, number))
        if known is None:
            known = self._principal(f"{duty}_{number}", f"fencepost_{duty}")
            self._people[duty, number] = known
            if duty in {"sensor", "worker", "verifier"}:
                admin = self.session("admin")
                admin._connection.execute(
                    "select kernel.register_principal(p_principal => %s)", (known.name,)
                )
                admin.done("enrol", p_principal=known.name, p_duty=duty)
        return known

    def enrol_also(self, duty: str, also: str) -> None:
        """Let the first principal of one duty have another duty, too."""
        name = self.person(duty).name
        self._god.execute(
            sql.SQL("grant {} to {}").format(
                sql.Identifier(f"fencepost_{also}"), sql.Identifier(name)
            )
        )
        self.admin.done("enrol", p_principal=name, p_duty=also)

    def session(self, duty: str, number: int = 0) -> Session:
        """Open another session of a principal."""
        connection = psycopg.connect(
            self.person(duty, number).conninfo(self.database), row_factory=dict_row
        )
        self._open.append(connection)
        return Session(connection, self.klass)

    def once(self, duty: str, number: int = 0) -> Session:
        """Return a session of a principal that is opened once and serves again."""
        known = self._sessions.get((duty, number))
        if known is None:
            known = self._sessions[duty, number] = self.session(duty, number)
        return known

    def session_again(self, duty: str) -> Session:
        """Return one of four sessions of a duty's first principal, another each time."""
        self._turn += 1
        kept = self._sessions.setdefault((duty, -1 - self._turn % 4), None)
        if kept is None:
            kept = self._sessions[duty, -1 - self._turn % 4] = self.session(duty)
        return kept

    def stop_clock(self) -> None:
        """Let the ledger's time stand still, from now on."""
        self._god.execute(STOPPED_CLOCK)

    def tick(self, by: str) -> None:
        """Move the stopped clock on."""
        self._god.execute("update testing.clock set now = now + %s::interval", (by,))

    def gate_clock(self) -> None:
        """Let who has locked a campaign, and then looks at the clock, wait until the gate opens."""
        self._god.execute(GATED_CLOCK)
        self._god.execute("select pg_advisory_lock(1)")

    def open_gate(self) -> None:
        """Let them go on."""
        self._god.execute("select pg_advisory_unlock(1)")

    def define_class(self, **policy: object) -> None:
        """Define the class anew."""
        self.admin.done("define_class", p_policy=Jsonb(POLICY | policy))
        self.admin.done("authorise", p_duty="verifier", p_kind="promote", p_target="*")

    def define_target(self, name: str = "target", **policy: object) -> str:
        """Define a target; return its name."""
        self.admin.done(
            "define_target",
            p_target=name,
            p_location=Jsonb({}),
            p_desired_state=Jsonb({}),
            p_acceptance=Jsonb({"command": ["true"]}),
            p_policy=Jsonb(policy),
        )
        return name

    def campaigns(self, count: int = 1) -> list[int]:
        """Open a campaign on each of *count* new targets; return their ids."""
        ids = []
        for _ in range(count):
            name = self.define_target(f"target {uuid4()}")
            opened = self.admin.done("open_campaign", p_target=name, p_token=uuid4())
            ids.append(int(opened["campaign_id"]))
        return ids

    def clear(self) -> None:
        """Cancel every campaign that is open."""
        for campaign, generation in self.look(
            "select campaign_id, generation from audit.campaigns where class = %s "
            "and closed_at is null",
            self.klass,
        ):
            self.admin.done("cancel", p_campaign_id=campaign, p_generation=generation)

    # What is to be seen

    def look(self, query: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        """Return what the superuser finds, committed."""
        return self._god.execute(query, values).fetchall()

    def look_named(self, query: LiteralString, values: Mapping[str, object]) -> tuple[Any, ...]:
        """Return the one row that the superuser finds, committed."""
        row = self._god.execute(query, values).fetchone()
        assert row is not None
        return row

    def dump(self) -> dict[str, set[str]]:
        """Return every row of every table of the ledger, as text."""
        tables = self.look(
            "select c.relname from pg_class as c "
            "where c.relnamespace = 'ledger'::regnamespace and c.relkind = 'r'"
        )
        return {
            name: {
                row[0]
                for row in self._god.execute(
                    sql.SQL("select to_jsonb(t)::text from ledger.{} as t").format(
                        sql.Identifier(name)
                    )
                )
            }
            for (name,) in tables
        }

    def moves(self, campaign_id: int) -> list[str]:
        """Return the names of a campaign's moves, committed ones only."""
        rows = self._god.execute(
            "select transition from audit.events where class = %s and campaign_id = %s "
            "order by event_no",
            (self.klass, campaign_id),
        )
        return [row[0] for row in rows]

    def state(self, campaign_id: int) -> str:
        """Return a campaign's state, committed."""
        row = self._god.execute(
            "select state from audit.campaigns where class = %s and campaign_id = %s",
            (self.klass, campaign_id),
        ).fetchone()
        assert row is not None
        return str(row[0])

    def refusals(self) -> list[tuple[str, str]]:
        """Return function and outcome of every refusal, oldest first."""
        rows = self._god.execute("select function, outcome from audit.refusals order by refusal_no")
        return [(row[0], row[1]) for row in rows]

    def losses(self, campaign: int) -> int:
        """Return how many lost leases count against a campaign's budget."""
        row = self._god.execute(
            "select c.loss_count from ledger.campaign as c where c.campaign_id = %s", (campaign,)
        ).fetchone()
        assert row is not None
        return int(row[0])

    def is_free(self) -> bool:
        """Return whether nobody has a lock on anything that a call may have to lock."""
        try:
            with self._god.transaction():
                self._god.execute("select from ledger.class for update nowait")
                self._god.execute("select from ledger.target for update nowait")
                self._god.execute("select from ledger.seat for update nowait")
                self._god.execute("select from ledger.campaign for update nowait")
                self._god.execute("select from ledger.attempt for update nowait")
                self._god.execute("select from ledger.operation for update nowait")
        except psycopg.errors.LockNotAvailable:
            return False
        return True

    # Two at once

    def background(self, function: Callable[[], Any]) -> Future[Any]:
        """Let another thread do something that may have to wait."""
        return self._pool.submit(function)

    def wait_until_blocked(self, waiting: Session, holder: Session) -> None:
        """Wait until *waiting* waits for a lock that *holder*'s transaction has."""
        deadline = time.monotonic() + 4  # the kernel's own lock_timeout is 5 s
        while True:
            row = self._god.execute(
                """
                select a.wait_event_type, pg_blocking_pids(a.pid)
                from pg_stat_activity as a
                where a.pid = %s
                """,
                (waiting.pid,),
            ).fetchone()
            if row is not None and row[0] == "Lock" and holder.pid in row[1]:
                return
            assert time.monotonic() < deadline, f"it does not wait: {row}"
            time.sleep(0.01)

    def barring(self, table: str) -> Session:
        """Return a superuser's session that lets nobody read a table until it ends."""
        connection = psycopg.connect(dbname=self.database, row_factory=dict_row)
        self._open.append(connection)
        connection.execute(
            sql.SQL("lock table {} in access exclusive mode").format(
                sql.Identifier("ledger", table)
            )
        )
        return Session(connection, self.klass)

    def wait_for(self, condition: Callable[[], object], what: str, within: float = 15) -> None:
        """Wait until *condition* holds."""
        deadline = time.monotonic() + within
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain until {what}"
            time.sleep(0.05)

    def look_again(self) -> None:
        """Connect the superuser anew, after the server went away."""
        self._god = self._superuser(self.database)

    def close(self) -> None:
        """End all sessions."""
        for connection in self._open:
            if connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
                connection.cancel()
        self._pool.shutdown()
        for connection in self._open:
            connection.close()


@pytest.fixture
def ledger(database: str, principal: MakePrincipal, superuser: Superuser) -> Iterator[Ledger]:
    """Yield a ledger of the test's own."""
    made = Ledger(database, principal, superuser)
    yield made
    made.close()


@pytest.fixture
def submission() -> dict[str, Any]:
    """Return the arguments of a submit, beside those that name the lease."""
    return {"p_fingerprint": "f", "p_approach": "a", "p_result": Jsonb(RESULT)}
