"""What an attack has to work with: connections of named duties, and a view of what came of it.

A connection speaks the simple protocol and answers in text, as psql does. Whatever the server says
is kept, refusals and errors too: an attack is judged by its effects.
"""

from __future__ import annotations

import re
import select
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus

from tests.pytest.attacks.kernels import CAMPAIGNS, Lease

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from psycopg.pq.abc import PGconn, PGresult

    from tests.pytest.attacks.kernels import Kernel
    from tests.pytest.conftest import Principal

PATIENCE = "10s"
FIELDS = (
    DiagnosticField.MESSAGE_PRIMARY,
    DiagnosticField.MESSAGE_DETAIL,
    DiagnosticField.MESSAGE_HINT,
    DiagnosticField.CONTEXT,
)


@dataclass(frozen=True)
class Answer:
    """All that one message brought back."""

    rows: list[dict[str, str | None]]
    tag: str
    sqlstate: str
    said: str
    """The error's message, detail, hint and context."""

    @property
    def is_ok(self) -> bool:
        """Whether nothing was raised."""
        return self.sqlstate == ""

    @property
    def first(self) -> dict[str, str | None]:
        """The first row, or an empty one."""
        return self.rows[0] if self.rows else {}

    @property
    def value(self) -> str | None:
        """The first value of the first row."""
        return next(iter(self.first.values()), None)

    @property
    def values(self) -> list[str | None]:
        """The first value of every row."""
        return [next(iter(row.values()), None) for row in self.rows]

    @property
    def is_done(self) -> bool:
        """Whether a call was carried out: not raised, not refused, and not without effect."""
        row = self.first
        if "outcome" in row:
            return self.is_ok and row["outcome"] == "ok"
        return self.is_ok and self.value not in {None, "f"}

    def shows(self, what: str) -> bool:
        """Return whether *what* is anywhere in it."""
        seen = (value for row in self.rows for value in row.values() if value is not None)
        return what in self.said or any(what in value for value in seen)


class Hand:
    """A connection of one duty; every message is a transaction unless it says otherwise."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._connection = connection
        self.notices: list[str] = []
        connection.add_notice_handler(
            lambda notice: self.notices.append(
                f"{notice.message_primary} {notice.message_detail or ''}"
            )
        )
        self.do(f"set statement_timeout = '{PATIENCE}'")

    @property
    def link(self) -> PGconn:
        """The connection below."""
        return self._connection.pgconn

    @property
    def pid(self) -> int:
        """The server's process."""
        return self.link.backend_pid

    def begin(self, message: str) -> None:
        """Send a message and do not wait for its answer."""
        self.link.send_query(message.encode())

    def end(self) -> Answer:
        """Wait for the answer to what was sent."""
        rows: list[dict[str, str | None]] = []
        tag = sqlstate = said = ""
        while (result := self.link.get_result()) is not None:
            if result.status == ExecStatus.TUPLES_OK:
                rows += _rows(result)
            elif result.status == ExecStatus.FATAL_ERROR:
                sqlstate = _field(result, DiagnosticField.SQLSTATE) or "lost"
                said = "\n".join(filter(None, (_field(result, which) for which in FIELDS)))
            elif result.status in {ExecStatus.COPY_IN, ExecStatus.COPY_OUT}:
                self._connection.close()
                return Answer(rows, "COPY", "", "")
            tag = (result.command_status or b"").decode()
        return Answer(rows, tag, sqlstate, said)

    def do(self, message: str) -> Answer:
        """Send a message, which may hold several statements, and wait for all it brings."""
        if self.link.status != psycopg.pq.ConnStatus.OK:
            return Answer([], "", "lost", "the connection is gone")
        self.begin(message)
        return self.end()

    def all(self, *messages: str) -> Answer:
        """Send messages one after the other, up to the first that fails; return the last answer."""
        answer = Answer([], "", "", "")
        for message in messages:
            answer = self.do(message)
            if not answer.is_ok:
                break
        return answer

    def heard(self, within: float = 3) -> list[str]:
        """Return the payloads of the notifications that come within a time."""
        payloads: list[str] = []
        deadline = time.monotonic() + within
        while not payloads and (left := deadline - time.monotonic()) > 0:
            select.select([self.link.socket], [], [], left)
            self.link.consume_input()
            while (notified := self.link.notifies()) is not None:
                payloads.append(notified.extra.decode())
        return payloads

    def close(self) -> None:
        """Go away, whatever is under way."""
        self._connection.close()


def _rows(result: PGresult) -> list[dict[str, str | None]]:
    names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
    return [
        {name: _value(result, row, column) for column, name in enumerate(names)}
        for row in range(result.ntuples)
    ]


def _value(result: PGresult, row: int, column: int) -> str | None:
    value = result.get_value(row, column)
    return None if value is None else value.decode()


def _field(result: PGresult, which: DiagnosticField) -> str:
    return (result.error_field(which) or b"").decode(errors="replace")


@dataclass
class Scene:
    """A copy of one kernel's database, for one attack."""

    kernel: Kernel
    database: str
    people: dict[str, Principal]
    log: Path
    """The server's log."""
    _open: list[Hand] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.god = self._opened(psycopg.connect(dbname=self.database, autocommit=True))
        self._log_from = self.log.stat().st_size

    # Hands

    def name(self, duty: str, number: int = 0) -> str:
        """Return the name of a duty's role."""
        return self.kernel.cast[duty, number]

    def hand(self, duty: str, number: int = 0, database: str | None = None) -> Hand:
        """Connect as a duty's role."""
        person = self.people[self.name(duty, number)]
        conninfo = person.conninfo(database or self.database)
        return self._opened(psycopg.connect(conninfo, autocommit=True))

    def _opened(self, connection: psycopg.Connection[tuple[object, ...]]) -> Hand:
        hand = Hand(connection)
        self._open.append(hand)
        return hand

    def leave(self) -> None:
        """End every connection but the superuser's."""
        for hand in self._open[1:]:
            hand.close()

    def close(self) -> None:
        """End every connection."""
        for hand in self._open:
            hand.close()

    # Usual steps

    def claim(self, hand: Hand, for_: str = "15 minutes", worker: str = "w") -> Lease:
        """Claim; there is something to be had."""
        lease = self.try_to_claim(hand, for_, worker)
        assert lease is not None
        return lease

    def try_to_claim(self, hand: Hand, for_: str = "15 minutes", worker: str = "w") -> Lease | None:
        """Claim; return what it gave, if anything."""
        wanted = self.kernel.mint()
        return self.kernel.leased(hand.do(self.kernel.claim(wanted, for_, worker)), wanted)

    def short(self) -> str:
        """Return the length of the shortest lease there is."""
        return f"{self.kernel.shortest} seconds"

    def expire(self) -> None:
        """Wait until the shortest lease has run out."""
        time.sleep(self.kernel.shortest + 0.05)

    def can_work(self, number: int = 0) -> bool:
        """Return whether a worker who does as he should can do his work."""
        worker = self.hand("worker", number)
        lease = self.try_to_claim(worker)
        return lease is not None and worker.do(self.kernel.complete(lease)).is_done

    # What is to be seen

    def look(self, query: str) -> list[dict[str, str | None]]:
        """Return what a superuser finds, committed."""
        answer = self.god.do(query)
        assert answer.is_ok, answer.said
        return answer.rows

    def count(self, what: str) -> int:
        """Return the number of rows of a table, or of what matches."""
        return int(self.look(f"select count(*) from {what}")[0]["count"] or 0)

    def state(self, campaign: int | Lease) -> dict[str, str | None]:
        """Return a campaign's state, holder, generation, whether its lease is live, and result."""
        number = campaign.campaign if isinstance(campaign, Lease) else campaign
        return self.look(self.kernel.look(number))[0]

    def states(self) -> list[dict[str, str | None]]:
        """Return the same of every campaign."""
        return [self.state(number) for number in range(1, CAMPAIGNS + 1)]

    def held(self) -> int:
        """Return how many campaigns are leased."""
        return self.count(f"{self.kernel.open_table()} where state = 'leased'")

    def logged(self) -> int:
        """Return how many events there are."""
        return self.count(self.kernel.log)

    def refused(self) -> int:
        """Return how many refusals are recorded."""
        return self.count(self.kernel.refusals)

    def server_log(self) -> str:
        """Return what the server has logged since the scene began."""
        with self.log.open("rb") as file:
            file.seek(self._log_from)
            return file.read().decode(errors="replace")

    def wait_until_blocked(self, hand: Hand) -> bool:
        """Return whether *hand*'s session comes to wait for a lock."""
        return self.wait_for(
            lambda: (
                self.look(f"select wait_event_type from pg_stat_activity where pid = {hand.pid}")
                == [{"wait_event_type": "Lock"}]
            )
        )

    def evict(self, hand: Hand) -> None:
        """Let the reaper end whoever holds a transaction open, where there is what can do that."""
        exists = "select to_regprocedure('watchdog.evict(interval)') is not null as exists"
        if self.look(exists) == [{"exists": "t"}]:
            time.sleep(1.05)  # it ends none that is younger than a second
            self.hand("reaper").do("select watchdog.evict(interval '1 second')")
            self.wait_for(lambda: not self.is_there(hand.pid))

    def ended(self, hand: Hand) -> bool:
        """Let a client go away; return whether its session has come to an end."""
        pid = hand.pid
        hand.close()
        return self.wait_for(lambda: not self.is_there(pid), within=5)

    def is_there(self, pid: int) -> bool:
        """Return whether there is a session of that number."""
        # Where it cannot be told, for want of locks, it is there.
        return self.god.do(f"select count(*) from pg_stat_activity where pid = {pid}").value != "0"

    def wait_for(self, condition: Callable[[], bool], within: float = 2) -> bool:
        """Return whether something comes true within a time."""
        deadline = time.monotonic() + within
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def functions(self, hand: Hand, where: str = "true") -> list[dict[str, str | None]]:
        """Return the functions, not PostgreSQL's own, that a hand may execute."""
        return hand.do(
            "select n.nspname as schema, p.proname as name, p.oid::regprocedure::text as signature,"
            " pg_get_function_identity_arguments(p.oid) as arguments, p.oid, p.prosrc,"
            " pg_get_userbyid(p.proowner) as owner"
            " from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace"
            " where n.nspname not in ('pg_catalog', 'information_schema')"
            " and n.nspname !~ '^pg_' and p.prosecdef and has_schema_privilege(n.oid, 'usage')"
            f" and has_function_privilege(p.oid, 'execute') and {where} order by p.oid"
        ).rows

    # Planting

    def loot(self, hand: Hand) -> bool:
        """Make what code of the attacker's own can report to: who it ran as, and what it saw."""
        return hand.all(
            "create temporary table loot (who name, saw text)",
            "grant all on loot to public",
            "create function pg_temp.spy(anyelement) returns boolean language plpgsql as"
            f" $$ begin if current_user = {_quoted(self.kernel.owner)} then"
            f" insert into pg_temp.loot values (current_user,"
            " (select pg_catalog.string_agg(c::pg_catalog.text, null)"
            f" from {self.kernel.open_table()} as c));"
            " end if; return true; end $$",
            "grant execute on function pg_temp.spy(anyelement) to public",
        ).is_ok

    def was_looted(self, hand: Hand) -> bool:
        """Return whether the attacker's code ran as the kernel's owner, and saw its tables."""
        answer = hand.do("select who, saw from pg_temp.loot")
        return any(
            row["who"] == self.kernel.owner and "SECRET" in (row["saw"] or "")
            for row in answer.rows
        )


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def without_numbers(said: str) -> str:
    """Return a text with every number and uuid the same."""
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+", "N", said)
