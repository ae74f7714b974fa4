"""Real workers and verifiers meet each fault of the doorbell: all is found by looking.

Each life is timed from the opening, which nobody rings for, to the promotion, and what was seen is
printed. That is a figure and no promise: what is asserted is that it happened, in order, and that
nobody was refused anything. They have a server of their own, whose queue of notifications can be
filled.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.pytest.client.conftest import CLASS, everybody
from tests.pytest.client.pooler import running as pooler_before
from tests.pytest.conftest import wait_for
from tests.pytest.own_server import (
    SMALL_FROM,
    Server,
    cluster,
    fill_the_queue,
    made_roles,
    maintenance,
    own_server,
    scratch_database,
    smallest_queue,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest.client.conftest import Process, World
    from tests.pytest.conftest import Connection, MakePrincipal, Principal, Superuser

# Databases and principals are made on this file's server.
__all__ = ["cluster", "made_roles", "maintenance", "scratch_database"]

FIX = "echo right > answer"
LIFE = ["open", "claim", "submit", "claim_verification", "accept", "promote"]
LONG = 60.0
GARBAGE = ("", "no-such-class", "upkeep; drop schema ledger", "'\"\\", "x" * 7999)

# -- a server of their own -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Yield the server."""
    with own_server(smallest_queue()) as made:
        yield made


@pytest.fixture(scope="module")
def people(cluster: Path, made_roles: list[str]) -> Iterator[dict[str, Principal]]:
    """Yield everybody, as roles of this server."""
    with everybody(made_roles) as found:
        yield found


# -- the faults ------------------------------------------------------------------------------------


@dataclass
class Scene:
    """What a fault may touch, and what it wants of the processes that meet it."""

    world: World
    god: Connection
    stranger: Connection
    options: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    is_listening: bool = True
    rings: Callable[[], None] = lambda: None
    """Is called when the campaign has been opened."""
    ends: Callable[[Process, Process], None] = lambda _worker, _verifier: None
    """Is called with both processes when the campaign is promoted."""

    def listeners(self) -> set[int]:
        """Return the processes of the sessions that listen now."""
        rows = self.god.execute(
            "select pid from pg_stat_activity where datname = %s and query ilike 'listen%%'"
            " and state = 'idle'",
            (self.world.database,),
        )
        return {row[0] for row in rows}

    def looks(self) -> int:
        """Return how often anybody has asked whether something is due, or claimed."""
        self.god.execute("select pg_stat_clear_snapshot()")
        row = self.god.execute(
            "select coalesce(sum(calls), 0) from pg_stat_user_functions where schemaname = 'kernel'"
            " and funcname in ('next_due', 'claim', 'claim_verification', 'claim_promotion')"
        ).fetchone()
        assert row is not None
        return int(row[0])


@contextmanager
def nothing(scene: Scene) -> Iterator[None]:
    """Ring as whoever opened it might: the control, and what the other figures stand beside."""
    scene.rings = lambda: _notify(scene.stranger, CLASS)
    yield


def _notify(connection: Connection, payload: str) -> None:
    connection.execute("select pg_notify('fencepost', %s)", (payload,))


@contextmanager
def a_stranger_who_forges(scene: Scene) -> Iterator[None]:
    """Ring for what is not there, and for nothing, before there is anything to do."""
    for payload in (*GARBAGE, CLASS):
        _notify(scene.stranger, payload)
    yield


@contextmanager
def a_stranger_who_floods(scene: Scene) -> Iterator[None]:
    """Ring without a pause from before the opening until after the promotion."""
    is_over = threading.Event()
    rings = 0

    def flood() -> None:
        nonlocal rings
        while not is_over.is_set():
            _notify(scene.stranger, CLASS)
            rings += 1

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        wait_for(lambda: rings > 100, "it rings", LONG)
        # While there is nothing to do.
        rung, looked, begun = rings, scene.looks(), time.monotonic()
        time.sleep(5)
        rung, looked, took = rings - rung, scene.looks() - looked, time.monotonic() - begun
        print(f"{rung} rings and {looked} looks in {took:.1f} s, of a worker and a verifier")
        assert rung > 10 * looked
        yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def listeners_that_are_killed(scene: Scene) -> Iterator[None]:
    """End both sessions that listen, before the opening and after it."""
    seen: set[int] = set()

    def kill() -> None:
        now = scene.listeners()
        seen.update(now)
        scene.god.execute(
            "select pg_terminate_backend(pid) from unnest(%s::integer[]) as pid", (list(now),)
        )

    def listen_again(worker: Process, verifier: Process) -> None:
        wait_for(lambda: len(scene.listeners() - seen) == 2, "both listen again", LONG)
        for process in (worker, verifier):
            process.wait_for("the doorbell is heard again", LONG)

    kill()
    assert len(seen) == 2
    scene.rings, scene.ends = kill, listen_again
    yield


@contextmanager
def a_queue_that_is_full(scene: Scene) -> Iterator[None]:
    """Let a session listen and idle in a transaction: what is sent stays in the queue for it.

    Where the queue cannot be made small, it is in the way, and the queue is not full.
    """
    is_small = int(os.environ["FENCEPOST_MAJOR"]) >= SMALL_FROM
    with closing(psycopg.connect(dbname=scene.world.database, autocommit=True)) as idle:
        idle.execute("listen fencepost")
        idle.execute("begin")
        if is_small:
            fill_the_queue(scene.god)
            with pytest.raises(psycopg.errors.ProgramLimitExceeded):
                _notify(scene.stranger, CLASS)

        def cannot_ring(worker: Process, _: Process) -> None:
            if is_small:
                worker.wait_for("the bell could not be rung", LONG)
            idle.execute("rollback")
            wait_for(
                lambda: (
                    scene.god.execute("select pg_notification_queue_usage() < 0.1").fetchone()
                    == (True,)
                ),
                "the queue was read",
                LONG,
            )

        scene.ends = cannot_ring
        yield


@contextmanager
def no_doorbell(scene: Scene) -> Iterator[None]:
    """Start both without it."""
    scene.options, scene.is_listening = ["--no-doorbell"], False
    scene.rings = lambda: _notify(scene.stranger, CLASS)
    yield


@contextmanager
def a_pooler(scene: Scene) -> Iterator[None]:
    """Let both reach the server through PgBouncer only, as if nobody had told them."""
    with pooler_before() as pooler:
        scene.environment, scene.is_listening = {"PGHOST": str(pooler.folder)}, False
        scene.rings = lambda: _notify(scene.stranger, CLASS)

        def said_so(*both: Process) -> None:
            for process in both:
                assert "no doorbell: there is a pooler before the server" in process.output()

        scene.ends = said_so
        yield


BEFORE = (no_doorbell, a_pooler)
"""What is there before the processes are; the others come when they are idle."""
WHILE = (
    nothing,
    a_stranger_who_forges,
    a_stranger_who_floods,
    listeners_that_are_killed,
    a_queue_that_is_full,
)


@pytest.fixture
def scene(world: World, superuser: Superuser, principal: MakePrincipal) -> Scene:
    """Return a class with nothing to do, and somebody who is in no group, but was let in."""
    god = superuser(world.database)
    god.execute(f"alter database {world.database} set track_functions = 'all'".encode())
    stranger = principal("stranger")
    god.execute(f"grant connect on database {world.database} to {stranger.name}".encode())
    return Scene(world, god, stranger.connect(world.database, autocommit=True))


@pytest.mark.parametrize("fault", [*WHILE, *BEFORE], ids=lambda fault: fault.__name__)
def test_a_worker_and_a_verifier_bring_a_campaign_to_its_promotion(
    scene: Scene, fault: Callable[[Scene], AbstractContextManager[None]]
) -> None:
    world = scene.world
    with ExitStack() as met:
        if fault in BEFORE:
            met.enter_context(fault(scene))
        worker = world.start(
            "worker", *scene.options, "--", "sh", "-c", FIX, environment=scene.environment
        )
        verifier = world.start("verifier", *scene.options, environment=scene.environment)
        for process in (worker, verifier):
            process.wait_for("idle", LONG)
        if scene.is_listening:
            wait_for(lambda: len(scene.listeners()) == 2, "both listen", LONG)
        if fault not in BEFORE:
            met.enter_context(fault(scene))

        begun = time.monotonic()
        world.open_campaign()
        scene.rings()
        worker.wait_for("submitted", LONG)
        submitted = time.monotonic() - begun
        verifier.wait_for("promoted", LONG)
        promoted = time.monotonic() - begun
        print(f"{fault.__name__}: submitted after {submitted:.1f} s, promoted after {promoted:.1f}")
        scene.ends(worker, verifier)

    assert world.transitions() == LIFE
    assert world.audit("select * from audit.refusals") == []
    if not scene.is_listening:
        assert scene.listeners() == set()
