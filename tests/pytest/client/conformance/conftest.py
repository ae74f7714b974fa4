"""The ways to the kernel that every conformance test takes: sync or async, directly or pooled.

A test is written once, as for the sync client. On an async way each method of the objects below
runs its coroutine to the end, so both are asked the same and must answer the same.

The tests share one database, and have a class each.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from fencepost import (
    AsyncReaper,
    AsyncVerifier,
    AsyncWorker,
    Reaper,
    Verifier,
    Worker,
    async_session,
)
from fencepost import session as sync_session
from tests.pytest.client.proxy import running as proxy_before
from tests.pytest.conftest import _broken_invariants, _run, _unique, copy_database
from tests.pytest.moved import moved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fencepost import Bundle, Lease
    from tests.pytest.client.pooler import Pooler
    from tests.pytest.client.proxy import Proxy
    from tests.pytest.conftest import Connection, Principal, Superuser

T = TypeVar("T")

POLICY: dict[str, Any] = {
    "promotes": True,
    "backoff_base": "0",
    "backoff_cap": "0",
    "backoff_jitter": 0,
    "lease_default": "10 minutes",
}
BASE, COMMIT, FENCE = "1" * 40, "2" * 40, "3" * 40
SHA256 = b"\1" * 32

_numbers = itertools.count(1)


class Blocking:
    """An async client's object whose methods wait for their own end."""

    def __init__(self, inner: object, runner: asyncio.Runner) -> None:
        self._inner = inner
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not asyncio.iscoroutinefunction(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            return self._runner.run(found(*arguments, **named))

        return call


@dataclass
class Way:
    """How a test reaches the kernel.

    A connection is what the way makes of it; only :meth:`raw` looks inside.
    """

    is_async: bool
    server: str
    """The folder of the socket: the server's own, or that of a pooler before it."""
    database: str
    is_pooled: bool
    runner: asyncio.Runner
    opened: ExitStack = field(default_factory=ExitStack)

    def connect(self, who: Principal, through: Proxy | None = None) -> psycopg.Connection[Any]:
        """Open a connection as the client's own ``connect`` does."""
        conninfo = psycopg.conninfo.make_conninfo(
            who.conninfo(self.database), host=str(through.folder) if through else self.server
        )
        if not self.is_async:
            return self.opened.enter_context(closing(sync_session.connect(conninfo)))
        inner = self.runner.run(async_session.connect(conninfo))
        self.opened.callback(lambda: self.runner.run(inner.close()))
        return cast("psycopg.Connection[Any]", Blocking(inner, self.runner))

    def worker(self, connection: psycopg.Connection[Any], label: str | None = None) -> Worker:
        """Return a worker on a connection of this way."""
        if not self.is_async:
            return Worker(connection, label=label)
        return cast("Worker", Blocking(AsyncWorker(self.raw(connection), label=label), self.runner))

    def verifier(self, connection: psycopg.Connection[Any], label: str | None = None) -> Verifier:
        """Return a verifier on a connection of this way."""
        if not self.is_async:
            return Verifier(connection, label=label)
        inner = AsyncVerifier(self.raw(connection), label=label)
        return cast("Verifier", Blocking(inner, self.runner))

    def reaper(self, connection: psycopg.Connection[Any]) -> Reaper:
        """Return a reaper on a connection of this way."""
        if not self.is_async:
            return Reaper(connection)
        return cast("Reaper", Blocking(AsyncReaper(self.raw(connection)), self.runner))

    def raw(self, connection: psycopg.Connection[Any]) -> psycopg.AsyncConnection[Any]:
        """Return the async connection itself."""
        return cast("psycopg.AsyncConnection[Any]", cast("Any", connection)._inner)


@dataclass
class Room:
    """A class of its own, and everybody in it, each with a connection by this test's way."""

    way: Way
    klass: str
    people: dict[str, Principal]
    admin_connection: Connection
    worker: Worker
    verifier: Verifier
    reaper: Reaper
    connections: list[psycopg.Connection[Any]]
    """Those of worker, verifier and reaper."""
    god: Connection

    @property
    def worker_connection(self) -> psycopg.Connection[Any]:
        """The worker's connection."""
        return self.connections[0]

    def admin(self, function: str, **arguments: object) -> dict[str, Any]:
        """Call a kernel function as the admin, for this class, and return its one row."""
        names = {"class": self.klass} | arguments
        if function == "register_principal":
            del names["class"]
        query = sql.SQL("select * from kernel.{}({})").format(
            sql.Identifier(function),
            sql.SQL(", ").join(
                sql.SQL("{} => {}").format(sql.Identifier(f"p_{name}"), sql.Placeholder(name))
                for name in names
            ),
        )
        with self.admin_connection.cursor(row_factory=dict_row) as cursor:
            row = cursor.execute(query, names).fetchone()
        assert row is not None
        assert row["outcome"] == "ok", row
        return row

    def define_class(self, **policy: object) -> None:
        """Give the class another policy."""
        self.admin("define_class", policy=Jsonb(POLICY | policy))
        self.admin("authorise", duty="verifier", kind="promote", target="*")

    def open(self, count: int = 1) -> list[int]:
        """Open campaigns, each on a target of its own."""
        opened = []
        for _ in range(count):
            target = f"target {next(_numbers)}"
            self.admin(
                "define_target",
                target=target,
                location=Jsonb({"repository": "/srv/x.git", "ref": "refs/heads/main"}),
                desired_state=Jsonb({"answer": "right"}),
                acceptance=Jsonb({"command": ["true"]}),
            )
            opened.append(self.admin("open_campaign", target=target, token=uuid4())["campaign_id"])
        return opened

    def audit(self, query: str) -> list[dict[str, Any]]:
        """Return rows of this class as the auditor sees them."""
        with (
            closing(self.people["auditor"].connect(self.way.database)) as connection,
            connection.cursor(row_factory=dict_row) as cursor,
        ):
            return cursor.execute(query.encode(), {"class": self.klass}).fetchall()

    def moves(self) -> list[str]:
        """Return all moves in this class."""
        rows = self.audit(
            "select transition from audit.events where class = %(class)s"
            " order by campaign_id, event_no"
        )
        return [row["transition"] for row in rows]

    def refusals(self) -> list[str]:
        """Return the outcomes of all calls that were refused in this class."""
        rows = self.audit(
            "select outcome from audit.refusals where class = %(class)s order by refusal_no"
        )
        return [row["outcome"] for row in rows]

    # -- somebody in the way --

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the rows of this class's campaigns."""
        with (
            closing(psycopg.connect(dbname=self.way.database)) as blocker,
            blocker.transaction(force_rollback=True),
        ):
            blocker.execute(
                "select from ledger.campaign where class = %s for update", (self.klass,)
            )
            yield

    def when_it_waits(self, act: str) -> threading.Thread:
        """Call *act* on the session of the worker's that comes to wait for a lock, in a thread."""

        def watch() -> None:
            query = (
                f"select {act}(pid) from pg_stat_activity"
                " where datname = %s and usename = %s and wait_event_type = 'Lock'"
            )
            names = (self.way.database, self.people["worker"].name)
            with closing(psycopg.connect(dbname="postgres", autocommit=True)) as connection:
                deadline = time.monotonic() + 4
                while time.monotonic() < deadline:
                    if connection.execute(query.encode(), names).fetchone():
                        return
                    time.sleep(0.01)

        thread = threading.Thread(target=watch)
        thread.start()
        return thread

    # -- answers that are lost --

    def answered_twice(
        self, proxy: Proxy, duty: str, call: Callable[[psycopg.Connection[Any]], T]
    ) -> T:
        """Make a call whose answer is lost, and the same call on another connection."""
        proxy.swallow, before = True, proxy.swallowed
        connection = self.way.connect(self.people[duty], proxy)
        with pytest.raises(psycopg.OperationalError):
            call(connection)
        assert proxy.swallowed == before + 1
        return call(self.way.connect(self.people[duty], proxy))

    # -- the usual way --

    def claimed(self, **options: Any) -> Lease:
        """Claim what is ready."""
        lease = self.worker.claim(self.klass, **options)
        assert lease is not None
        return lease

    def submitted(self, fingerprint: str = "f") -> Lease:
        """Open, claim and submit."""
        self.open()
        lease = self.claimed()
        self.submit(lease, fingerprint)
        return lease

    def submit(self, lease: Lease, fingerprint: str = "f") -> Any:
        """Submit under a lease."""
        return self.worker.submit(
            lease,
            fingerprint=fingerprint,
            approach="an idea",
            result={"base": BASE, "commit": COMMIT},
        )

    def verifying(self, fingerprint: str = "f") -> tuple[Lease, Bundle]:
        """Have something submitted, and claim it for a verdict."""
        self.submitted(fingerprint)
        lease = self.verifier.claim_verification(self.klass)
        assert lease is not None
        return lease, self.verifier.bundle(lease)

    def accept(self, lease: Lease, bundle: Bundle, **other: Any) -> Any:
        """Accept what was submitted, or what *other* says."""
        arguments: dict[str, Any] = {
            "verdict": "accepted",
            "bundle_sha256": bundle.bundle_sha256,
            "fingerprint": bundle.fingerprint,
            "command": "true",
            "exit_code": 0,
            "evidence_uri": "file:///x",
            "evidence_sha256": SHA256,
        }
        return self.verifier.judge(lease, **(arguments | other))

    def moved(self, lease: Lease) -> None:
        """Let the verifier move the result to its target, as far as the ledger knows."""
        with closing(self.people["verifier"].connect(self.way.database)) as connection:
            moved(connection, lease, "/srv/x.git#refs/heads/main", COMMIT)

    def promoting(self) -> Lease:
        """Have something accepted that is still to be promoted."""
        lease, bundle = self.verifying()
        assert self.accept(lease, bundle).state == "promoting"
        return lease


@pytest.fixture(scope="module")
def shared_database(maintenance: Connection, template: str) -> Iterator[str]:
    """Yield a copy of the template for all tests of a module; its invariants hold afterwards."""
    name = _unique("fencepost_shared")
    copy_database(maintenance, template, name)
    yield name
    complaints = _broken_invariants(name)
    _run(maintenance, "drop database {} with (force)", name)
    assert not complaints, "\n".join(complaints)


@pytest.fixture(params=["sync", "async", "sync-pgbouncer", "async-pgbouncer"])
def way(request: pytest.FixtureRequest, shared_database: str, pgbouncer: Pooler) -> Iterator[Way]:
    """Yield each of the four ways."""
    kind, _, pooled = request.param.partition("-")
    server = str(pgbouncer.folder) if pooled else os.environ["PGHOST"]
    with asyncio.Runner() as runner:
        made = Way(kind == "async", server, shared_database, bool(pooled), runner)
        with made.opened:
            yield made


@pytest.fixture
def proxy(way: Way) -> Iterator[Proxy]:
    """Yield something before the way's server that can lose its answers."""
    with proxy_before(way.server) as made:
        yield made


@pytest.fixture(scope="module")
def admin_connection(shared_database: str, people: dict[str, Principal]) -> Iterator[Connection]:
    """Yield the admin's connection."""
    conninfo = people["admin"].conninfo(shared_database)
    with closing(psycopg.connect(conninfo, autocommit=True)) as connection:
        yield connection


@pytest.fixture
def room(
    way: Way,
    people: dict[str, Principal],
    admin_connection: Connection,
    superuser: Superuser,
) -> Room:
    """Return a class with nothing open, and a worker, a verifier and a reaper."""
    connections = [way.connect(people[duty]) for duty in ("worker", "verifier", "reaper")]
    made = Room(
        way=way,
        klass=f"room_{next(_numbers)}",
        people=people,
        admin_connection=admin_connection,
        worker=way.worker(connections[0], "here"),
        verifier=way.verifier(connections[1], "there"),
        reaper=way.reaper(connections[2]),
        connections=connections,
        god=superuser(way.database),
    )
    made.define_class()
    for duty in ("worker", "verifier"):
        made.admin("register_principal", principal=people[duty].name)
        made.admin("enrol", principal=people[duty].name, duty=duty)
    return made
