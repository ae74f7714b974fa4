"""The doorbell wakes who waits. Nothing depends on it, and a fleet that is idle costs little."""

from __future__ import annotations

import os
import re
import statistics
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from fencepost import Forbidden, Reaper, Worker, hearing
from fencepost.attempt import Attempts
from fencepost.connection import Link
from fencepost.console import Console
from fencepost.doorbell import Doorbell
from fencepost.interrupt import Interrupt
from fencepost.polling import POLL, Step, poll
from fencepost.session import connect
from tests.pytest.client.conftest import CLASS
from tests.pytest.conftest import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.pytest.client.conftest import World
    from tests.pytest.client.pooler import Pooler
    from tests.pytest.conftest import Connection, Superuser

NEVER = timedelta(hours=1)
LISTENER = "fencepost worker doorbell"
FLEET = 16
FIX = "echo right > answer"


def listening(world: World) -> Callable[[], Connection]:
    conninfo = world.people["worker"].conninfo(world.database)
    return lambda: connect(make_conninfo(conninfo, application_name=LISTENER))


def listeners(god: Connection, world: World) -> set[int]:
    """Return the processes of the sessions that listen now."""
    rows = god.execute(
        "select pid from pg_stat_activity where datname = %s and application_name = %s"
        " and state = 'idle' and query ilike 'listen%%'",
        (world.database, LISTENER),
    )
    return {row[0] for row in rows}


class Loop:
    """A poll that finds nothing, in a thread, and counts its looks."""

    def __init__(self, bell: Doorbell | None, every: timedelta = NEVER) -> None:
        self.looks = 0
        self._every = every
        self._bell = bell
        self._interrupt = Interrupt()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Loop:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._interrupt.set("done")
        self._thread.join()
        self._interrupt.close()

    def _run(self) -> None:
        poll(
            self._look,
            once=False,
            interrupt=self._interrupt,
            idle=lambda: None,
            every=self._every,
            bell=self._bell,
        )

    def _look(self) -> Step:
        self.looks += 1
        return Step.NOTHING

    def waits_for_look(self, number: int) -> None:
        """Wait until it has looked that often."""
        wait_for(lambda: self.looks >= number, f"look {number}")


@contextmanager
def heard(
    world: World, god: Connection, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Loop]:
    """Yield a loop that waits for nothing but the bell, and has looked once, after LISTEN."""
    with Doorbell(listening(world), CLASS, tell=tell) as bell, Interrupt() as interrupt:
        wait_for(lambda: listeners(god, world), "a session listens")
        assert bell.wait(30, interrupt), "who listens only now looks once"
        with Loop(bell) as loop:
            loop.waits_for_look(1)
            yield loop


# -- hearing ---------------------------------------------------------------------------------------


def test_a_ring_is_followed_by_a_look(world: World, superuser: Superuser) -> None:
    with heard(world, superuser(world.database)) as loop:
        Reaper(world.connect("reaper")).ring(CLASS)
        loop.waits_for_look(2)
        Worker(world.connect("worker")).ring(CLASS)
        loop.waits_for_look(3)
        assert loop.looks == 3


def test_what_rings_for_another_class_is_not_heard(world: World, superuser: Superuser) -> None:
    god = superuser(world.database)
    with Doorbell(listening(world), CLASS) as bell, Interrupt() as interrupt:
        assert bell.wait(30, interrupt), "who listens only now looks once"
        bell.clear()
        for _ in range(2):
            with god.transaction():
                for number in range(100):
                    god.execute("select pg_notify('fencepost', %s)", (f"{CLASS}{number}",))
                god.execute("notify fencepost")
                god.execute("select pg_notify('elsewhere', %s)", (CLASS,))
                god.execute("select pg_notify('fencepost', %s)", (CLASS,))
            assert bell.wait(30, interrupt)
            assert os.eventfd_read(bell._bell) == 1, "the last of them, and no other"


def test_a_ring_during_a_look_is_not_missed(world: World, superuser: Superuser) -> None:
    god = superuser(world.database)
    looks = 0
    with Doorbell(listening(world), CLASS) as bell, Interrupt() as interrupt:
        assert bell.wait(30, interrupt), "who listens only now looks once"

        def look() -> Step:
            nonlocal looks
            looks += 1
            if looks == 1:
                god.execute("select pg_notify('fencepost', %s)", (CLASS,))
                assert bell.wait(30, interrupt)
            else:
                interrupt.set("seen")
            return Step.NOTHING

        poll(look, once=False, interrupt=interrupt, idle=lambda: None, every=NEVER, bell=bell)
    assert looks == 2


def test_a_listener_that_is_terminated_listens_again_and_looks(
    world: World, superuser: Superuser
) -> None:
    god = superuser(world.database)
    said: list[str] = []

    def terminate(loop: Loop) -> None:
        before, looks = listeners(god, world), loop.looks
        god.execute("select pg_terminate_backend(pid) from unnest(%s) as pid", (list(before),))
        wait_for(lambda: listeners(god, world) - before, "another session listens")
        loop.waits_for_look(looks + 1)

    with heard(world, god, said.append) as loop:
        terminate(loop)
        terminate(loop)
        looks = loop.looks
        god.execute("select pg_notify('fencepost', %s)", (CLASS,))
        loop.waits_for_look(looks + 1)
    assert [word for word in said if "again" in word] == ["the doorbell is heard again"] * 2
    wait_for(lambda: not listeners(god, world), "nobody listens when it is over")


def test_who_finds_no_server_does_not_look_more_often_and_comes_back(
    world: World, superuser: Superuser
) -> None:
    god = superuser(world.database)
    tries = 0
    is_there = False
    said: list[str] = []

    def reach() -> Connection:
        nonlocal tries
        tries += 1
        return listening(world)() if is_there else psycopg.connect("host=/nonexistent")

    with Doorbell(reach, CLASS, tell=said.append) as bell, Loop(bell) as loop:
        wait_for(lambda: tries >= 2, "it tries again")
        assert loop.looks == 1
        assert len(said) == 1, "the same trouble is told once"
        is_there = True
        wait_for(lambda: listeners(god, world), "a session listens")
        loop.waits_for_look(2)


def test_the_pause_before_the_next_try_doubles_up_to_half_a_minute() -> None:
    for count, longest in [(1, 1), (2, 2), (3, 4), (6, 30), (1_000_000, 30)]:
        pauses = [hearing.pause(count) for _ in range(500)]
        assert longest / 2 <= min(pauses) < longest * 0.6
        assert longest * 0.9 < max(pauses) <= longest


def test_a_flood_of_false_rings_is_no_flood_of_looks(world: World, superuser: Superuser) -> None:
    god = superuser(world.database)
    rings = 0
    with heard(world, god) as loop:
        while loop.looks < 7:
            god.execute("select pg_notify('fencepost', %s)", (CLASS,))
            rings += 1
    assert rings > 20 * loop.looks


def test_through_a_pooler_nothing_is_heard_and_that_is_said(
    world: World, pgbouncer: Pooler
) -> None:
    said: list[str] = []
    conninfo = pgbouncer.conninfo(world.people["worker"], world.database)
    with Doorbell(lambda: connect(conninfo), CLASS, tell=said.append):
        wait_for(lambda: said, "it says why")
    assert said == [
        "no doorbell: there is a pooler before the server, and LISTEN is lost in it",
    ]


# -- ringing ---------------------------------------------------------------------------------------


@pytest.fixture
def listener(world: World, superuser: Superuser) -> Connection:
    """Return a session that listens."""
    connection = superuser(world.database)
    connection.execute("listen fencepost")
    return connection


def test_what_leaves_work_for_others_rings_after_its_commit(
    world: World, listener: Connection
) -> None:
    def rung_in(state: str) -> None:
        (notify,) = listener.notifies(timeout=30, stop_after=1)
        assert notify.payload == CLASS
        row = listener.execute("select state from ledger.campaign").fetchone()
        assert row == (state,), "whoever looks now sees it"

    world.open_campaign()
    world.work("exit 1")
    rung_in("ready")
    world.work("echo wrong > answer")
    rung_in("attempted")
    world.verify()
    rung_in("ready")
    world.start("worker", "--once", "--", "./no-such-program").ends(75)
    rung_in("ready")
    lease = Worker(world.connect("worker")).claim(CLASS, lease_for=timedelta(seconds=1))
    assert lease is not None
    reaper = world.start("reaper", "--interval", "0.2")
    reaper.wait_for("move=lose")
    rung_in("ready")
    world.work(FIX)
    rung_in("attempted")
    world.push()
    world.verify()
    rung_in("ready")
    assert world.transitions()[-1] == "outdate"


def test_nothing_rings_with_no_doorbell_and_all_is_done_by_looking(
    world: World, listener: Connection
) -> None:
    worker = world.start("worker", "--no-doorbell", "--", "sh", "-c", FIX)
    verifier = world.start("verifier", "--no-doorbell")
    worker.wait_for("idle")
    verifier.wait_for("idle")
    world.open_campaign()
    worker.wait_for("submitted")
    verifier.wait_for("promoted")
    listener.execute("notify fencepost, 'the end'")
    (notify,) = listener.notifies(timeout=30, stop_after=1)
    assert notify.payload == "the end"
    row = listener.execute(
        "select count(*) from pg_stat_activity where datname = %s and query ilike 'listen%%'"
        " and pid <> pg_backend_pid()",
        (world.database,),
    ).fetchone()
    assert row == (0,)


def test_a_ring_that_fails_does_no_harm(world: World, superuser: Superuser) -> None:
    superuser(world.database).execute(
        "revoke execute on function kernel.ring from fencepost_worker"
    )
    world.open_campaign()
    said = world.work(FIX)
    assert "could not be rung" in said
    assert world.campaign()["state"] == "attempted"


def test_worker_and_verifier_wake_each_other(world: World, superuser: Superuser) -> None:
    """Real processes: the whole way, and the same after their listeners were ended."""
    god = superuser(world.database)
    worker = world.start("worker", "--", "sh", "-c", FIX)
    verifier = world.start("verifier")
    worker.wait_for("idle")
    verifier.wait_for("idle")

    def listening_now() -> set[int]:
        rows = god.execute(
            "select pid from pg_stat_activity where datname = %s and query ilike 'listen%%'"
            " and state = 'idle'",
            (world.database,),
        )
        return {row[0] for row in rows}

    wait_for(lambda: len(listening_now()) == 2, "both listen")
    before = listening_now()
    god.execute("select pg_terminate_backend(pid) from unnest(%s) as pid", (list(before),))
    world.open_campaign()
    verifier.wait_for("promoted")
    wait_for(lambda: len(listening_now() - before) == 2, "both listen again")


# -- looking ---------------------------------------------------------------------------------------


class Recorder(Interrupt):
    """Does not sleep, but remembers for how long it should have, and ends it after so many."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._count = count

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        if len(self.waits) == self._count:
            self.set("enough")
        return bool(self)


def waits(
    count: int, step: Callable[[], Step], due_in: Callable[[], float | None] = lambda: None
) -> list[float]:
    recorder = Recorder(count)
    with recorder:
        poll(step, once=False, interrupt=recorder, idle=lambda: None, due_in=due_in)
    return recorder.waits


def test_polls_are_spread_evenly_from_half_the_interval_to_half_as_much_again() -> None:
    seconds = POLL.total_seconds()
    found = waits(4000, lambda: Step.NOTHING)
    assert 0.5 * seconds <= min(found)
    assert max(found) <= 1.5 * seconds
    tenths = Counter(int((wait / seconds - 0.5) * 10) for wait in found)
    assert all(300 < tenths[tenth] < 500 for tenth in range(10)), tenths
    # Two that begin together are soon apart.
    assert statistics.fmean(abs(a - b) for a, b in pairwise(found)) > seconds / 4


def test_it_sleeps_until_something_is_due_and_never_longer_than_the_interval() -> None:
    soon = waits(500, lambda: Step.NOTHING, lambda: 0.2)
    assert min(soon) >= 0.2
    assert max(soon) < 0.4
    assert len({round(wait, 4) for wait in soon}) > 100, "not all at the same moment"
    assert max(waits(500, lambda: Step.NOTHING, lambda: 3600.0)) <= 1.5 * POLL.total_seconds()


def test_what_was_missed_is_looked_for_again_soon_and_then_less_often() -> None:
    found = [waits(8, lambda: Step.MISSED) for _ in range(200)]
    longest = [max(column) for column in zip(*found, strict=True)]
    assert longest[0] < POLL.total_seconds() / 4
    assert longest[0] < longest[1] < longest[2] < longest[3]
    assert longest[-1] <= 1.5 * POLL.total_seconds()


@contextmanager
def attempts(world: World) -> Iterator[tuple[Attempts, Link]]:
    link = Link(lambda: connect(world.people["worker"].conninfo(world.database)))
    try:
        with Interrupt() as interrupt:
            made = Attempts(
                link,
                campaign_class=CLASS,
                command=["sh", "-c", FIX],
                console=Console("worker"),
                interrupt=interrupt,
            )
            yield made, link
    finally:
        link.drop()


def test_a_campaign_that_somebody_has_just_locked_is_missed_and_not_nothing(
    world: World, superuser: Superuser
) -> None:
    blocker = superuser(world.database)
    with attempts(world) as (worker, _):
        assert worker.step() is Step.NOTHING
        world.open_campaign()
        with blocker.transaction():
            blocker.execute("select from ledger.campaign for update")
            assert worker.step() is Step.MISSED
        assert worker.step() is Step.DONE


def test_what_is_not_due_yet_is_known_and_not_claimed(world: World) -> None:
    world.define_class(backoff_base="10 minutes", backoff_cap="10 minutes")
    world.open_campaign()
    with attempts(world) as (worker, link):
        lease = link.call(lambda connection: Worker(connection).claim(CLASS))
        assert lease is not None
        link.call(lambda connection: Worker(connection).fail(lease, reason="r"))
        assert worker.step() is Step.NOTHING
        due = worker.due_in()
        assert due is not None
        assert 500 < due <= 600


def test_a_worker_that_is_dismissed_is_told_though_nothing_is_due(world: World) -> None:
    with attempts(world) as (worker, _):
        assert worker.step() is Step.NOTHING
        world.admin(
            """
            select * from kernel.dismiss(
                p_class => %(class)s, p_principal => %(name)s, p_duty => 'worker'
            )
            """,
            {"class": CLASS, "name": world.people["worker"].name},
        )

        def look_on() -> None:
            for _ in range(100):
                assert worker.step() is Step.NOTHING

        with pytest.raises(Forbidden):
            look_on()


def test_a_claim_whose_answer_was_lost_is_asked_for_though_nothing_is_due(
    world: World, superuser: Superuser
) -> None:
    """The lease is committed only when its worker has been told that there is nothing."""
    god = superuser(world.database)
    with attempts(world) as (worker, link), ExitStack() as opened:
        assert worker.step() is Step.NOTHING
        token = worker._token
        world.open_campaign()
        slow = opened.enter_context(
            psycopg.connect(world.people["worker"].conninfo(world.database))
        )
        slow.execute("select from kernel.claim(p_class => %s, p_token => %s)", (CLASS, token))
        god.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = %s and usename = %s and pid <> %s",
            (world.database, world.people["worker"].name, slow.info.backend_pid),
        )
        assert worker.step() is Step.MISSED
        assert link.losses == 1
        slow.commit()
        assert worker.step() is Step.DONE
        assert world.transitions() == ["open", "claim", "submit"]


# -- an idle fleet ---------------------------------------------------------------------------------


def versions(god: Connection) -> dict[str, str]:
    """Return, of every table of the ledger, a digest of which versions of which rows it holds."""
    tables = god.execute("select tablename from pg_tables where schemaname = 'ledger'").fetchall()
    assert len(tables) > 10
    found = {}
    for (table,) in tables:
        query = sql.SQL(
            "select md5(string_agg(format('%s %s %s', ctid, xmin, xmax), ',' order by ctid))"
            " from ledger.{}"
        )
        row = god.execute(query.format(sql.Identifier(table))).fetchone()
        found[table] = str(row)
    return found


def test_an_idle_fleet_of_sixteen_makes_ten_statements_a_second_at_most_and_writes_nothing(
    world: World, superuser: Superuser, cluster: Path
) -> None:
    god = superuser(world.database)
    name, log = world.people["worker"].name, cluster / "server.log"
    god.execute(
        sql.SQL("alter role {} in database {} set log_statement = 'all'").format(
            sql.Identifier(name), sql.Identifier(world.database)
        )
    )
    start = log.stat().st_size
    line = re.compile(rf" {name}@{world.database} LOG:  (?:statement|execute [^:]*):\s*(.*)")

    def statements() -> list[str]:
        with log.open() as file:
            file.seek(start)
            return line.findall(file.read())

    with ExitStack() as opened:
        interrupt = opened.enter_context(Interrupt())
        threads = []
        for _ in range(FLEET):
            worker, _link = opened.enter_context(attempts(world))
            bell = opened.enter_context(Doorbell(listening(world), CLASS))
            threads.append(
                threading.Thread(
                    target=poll,
                    args=[worker.step],
                    kwargs={
                        "once": False,
                        "interrupt": interrupt,
                        "idle": lambda: None,
                        "bell": bell,
                        "due_in": worker.due_in,
                    },
                )
            )
        try:
            for thread in threads:
                thread.start()
            wait_for(lambda: len(listeners(god, world)) == FLEET, "all listen")
            wait_for(
                lambda: sum("next_due" in text for text in statements()) > 3 * FLEET,
                "all have looked after their first claim",
            )
            before, counted, begun = versions(god), len(statements()), time.monotonic()
            wait_for(lambda: len(statements()) >= counted + 60, "sixty statements")
            rate = (len(statements()) - counted) / (time.monotonic() - begun)
            assert rate <= 10, statements()[counted:]
            assert versions(god) == before, "no row was written, nor even locked"
        finally:
            interrupt.set("done")
            for thread in threads:
                thread.join()
