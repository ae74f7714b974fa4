"""A task that is cancelled in the middle of a call leaves nothing open, and can be repeated."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from fencepost import AsyncWorker
from tests.pytest.conftest import wait_for

if TYPE_CHECKING:
    from tests.pytest.client.conformance.conftest import Room
    from tests.pytest.client.proxy import Proxy

pytestmark = pytest.mark.parametrize("way", ["async", "async-pgbouncer"], indirect=True)


def sessions(room: Room, condition: str) -> int:
    """Return how many sessions of the worker's there are of which *condition* holds."""
    query = (
        "select count(*) from pg_stat_activity"
        f" where datname = %s and usename = %s and ({condition})"
    )
    names = (room.way.database, room.people["worker"].name)
    row = room.god.execute(query.encode(), names).fetchone()
    return int(row[0]) if row else 0


def nothing_is_open(room: Room) -> bool:
    return sessions(room, "state <> 'idle'") == 0


@pytest.mark.parametrize("message", [b"BEGIN", b"kernel.claim", b"COMMIT"])
def test_while_an_answer_is_on_its_way(room: Room, proxy: Proxy, message: bytes) -> None:
    room.open()
    token = uuid4()
    connection = room.way.raw(room.way.connect(room.people["worker"], proxy))
    worker = AsyncWorker(connection)

    async def cancelled() -> None:
        proxy.hold = message
        task = asyncio.create_task(worker.claim(room.klass, token=token))
        await asyncio.to_thread(proxy.held.wait)
        task.cancel()
        proxy.release.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    room.way.runner.run(cancelled())
    wait_for(lambda: nothing_is_open(room), "no session of the worker's is in a transaction", 20)
    again = worker if not connection.closed else AsyncWorker(room.way.raw(room.connections[0]))
    lease = room.way.runner.run(again.claim(room.klass, token=token))
    assert lease is not None
    assert room.moves() == ["open", "claim"]


def test_while_it_waits_for_a_lock(room: Room) -> None:
    room.open()
    lease = room.claimed()
    connection = room.way.raw(room.connections[0])
    worker = AsyncWorker(connection)

    async def cancelled() -> None:
        task = asyncio.create_task(worker.release(lease))
        await asyncio.to_thread(
            wait_for, lambda: sessions(room, "wait_event_type = 'Lock'"), "it waits for a lock"
        )
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with room.locked():
        room.way.runner.run(cancelled())
        wait_for(lambda: nothing_is_open(room), "no session of the worker's waits any more", 20)
    assert not connection.closed
    assert room.way.runner.run(worker.release(lease)).state == "ready"
    assert room.moves() == ["open", "claim", "release"]
