"""With asyncio: a ring wakes who waits, a false one costs a look, a lost listener comes back."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from fencepost import AsyncReaper, AsyncWorker
from fencepost.async_connection import AsyncLink
from fencepost.async_doorbell import AsyncDoorbell, ring
from fencepost.async_session import connect
from tests.pytest.client.conftest import CLASS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.pytest.client.conftest import World
    from tests.pytest.client.pooler import Pooler
    from tests.pytest.conftest import Connection, Superuser

LISTENER = "a doorbell with asyncio"
LONG = 30.0
SHORT = 0.5


async def until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        await asyncio.sleep(0.02)


def listening(world: World) -> Callable[[], Awaitable[psycopg.AsyncConnection[Any]]]:
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


@asynccontextmanager
async def heard(
    world: World, god: Connection, tell: Callable[[str], None] = lambda _: None
) -> AsyncIterator[AsyncDoorbell]:
    """Yield a bell that is listened for, after the look that a new listener asks for."""
    async with AsyncDoorbell(listening(world), CLASS, tell=tell) as bell:
        await until(lambda: listeners(god, world), "a session listens")
        assert await bell.wait(LONG), "who listens only now looks once"
        bell.clear()
        yield bell


def test_a_ring_wakes_who_waits_and_one_during_a_look_is_not_missed(
    world: World, superuser: Superuser
) -> None:
    async def main() -> None:
        async with (
            heard(world, superuser(world.database)) as bell,
            await connect(world.people["reaper"].conninfo(world.database)) as other,
        ):
            waiting = asyncio.create_task(bell.wait(LONG))
            await asyncio.sleep(0)
            assert not waiting.done()
            await AsyncReaper(other).ring(CLASS)
            assert await waiting

            bell.clear()
            # The look is here; the ring comes meanwhile.
            await AsyncReaper(other).ring(CLASS)
            assert await bell.wait(LONG)
            bell.clear()
            assert not await bell.wait(SHORT), "each was one ring"

    asyncio.run(main())


def test_what_rings_for_another_class_is_not_heard(world: World, superuser: Superuser) -> None:
    god = superuser(world.database)

    async def main() -> None:
        async with heard(world, god) as bell:
            for number in range(100):
                god.execute("select pg_notify('fencepost', %s)", (f"{CLASS}{number}",))
            god.execute("select pg_notify('elsewhere', %s)", (CLASS,))
            assert not await bell.wait(SHORT)
            god.execute("select pg_notify('fencepost', %s)", (CLASS,))
            assert await bell.wait(LONG), "the last of them, and no other"

    asyncio.run(main())


def test_a_false_ring_costs_an_empty_look(world: World, superuser: Superuser) -> None:
    god = superuser(world.database)

    async def main() -> None:
        async with (
            heard(world, god) as bell,
            await connect(world.people["worker"].conninfo(world.database)) as connection,
        ):
            worker = AsyncWorker(connection)
            god.execute("select pg_notify('fencepost', %s)", (CLASS,))
            assert await bell.wait(LONG)
            bell.clear()
            assert await worker.claim(CLASS) is None
            world.open_campaign()
            god.execute("select pg_notify('fencepost', %s)", (CLASS,))
            assert await bell.wait(LONG)
            assert await worker.claim(CLASS) is not None

    asyncio.run(main())
    assert world.transitions() == ["open", "claim"]
    assert world.audit("select * from audit.refusals") == []


def test_a_listener_that_is_terminated_listens_again_and_wakes(
    world: World, superuser: Superuser
) -> None:
    god = superuser(world.database)
    said: list[str] = []

    async def terminate() -> None:
        before = listeners(god, world)
        god.execute("select pg_terminate_backend(pid) from unnest(%s) as pid", (list(before),))
        await until(lambda: listeners(god, world) - before, "another session listens")

    async def main() -> None:
        async with heard(world, god, said.append) as bell:
            for _ in range(2):
                await terminate()
                assert await bell.wait(LONG), "what rang meanwhile is gone: look"
                bell.clear()
            god.execute("select pg_notify('fencepost', %s)", (CLASS,))
            assert await bell.wait(LONG)
        await until(lambda: not listeners(god, world), "nobody listens when it is over")

    asyncio.run(main())
    assert [word for word in said if "again" in word] == ["the doorbell is heard again"] * 2
    assert len([word for word in said if "not heard" in word]) == 2


def test_who_finds_no_server_says_so_once_and_comes_back(
    world: World, superuser: Superuser
) -> None:
    god = superuser(world.database)
    said: list[str] = []
    tries = 0
    is_there = False

    async def reach() -> psycopg.AsyncConnection[Any]:
        nonlocal tries
        tries += 1
        if is_there:
            return await listening(world)()
        return await psycopg.AsyncConnection.connect("host=/nonexistent")

    async def main() -> None:
        nonlocal is_there
        async with AsyncDoorbell(reach, CLASS, tell=said.append) as bell:
            await until(lambda: tries >= 2, "it tries again")
            assert not await bell.wait(0)
            assert len(said) == 1, "the same trouble is told once"
            is_there = True
            assert await bell.wait(LONG)
            assert listeners(god, world)

    asyncio.run(main())
    assert said[-1] == "the doorbell is heard again"


def test_through_a_pooler_nothing_is_heard_and_that_is_said(
    world: World, pgbouncer: Pooler
) -> None:
    said: list[str] = []
    conninfo = pgbouncer.conninfo(world.people["worker"], world.database)

    async def main() -> None:
        async with AsyncDoorbell(lambda: connect(conninfo), CLASS, tell=said.append) as bell:
            await until(lambda: said, "it says why")
            assert not await bell.wait(0)

    asyncio.run(main())
    assert said == ["no doorbell: there is a pooler before the server, and LISTEN is lost in it"]


def test_a_task_that_is_cancelled_while_it_waits_leaves_no_listener(
    world: World, superuser: Superuser
) -> None:
    god = superuser(world.database)

    async def main() -> None:
        async def waits() -> None:
            async with heard(world, god) as bell:
                waiting.set()
                await bell.wait(600)

        waiting = asyncio.Event()
        task = asyncio.create_task(waits())
        async with asyncio.timeout(LONG):
            await waiting.wait()
        assert len(listeners(god, world)) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: not listeners(god, world), "the session is gone")
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_an_error_of_ones_own_is_raised_at_the_end(world: World) -> None:
    async def wrong() -> psycopg.AsyncConnection[Any]:
        raise LookupError("no such service")

    async def main() -> None:
        async with AsyncDoorbell(wrong, CLASS) as bell:
            assert not await bell.wait(SHORT)

    with pytest.raises(LookupError, match="no such service"):
        asyncio.run(main())


def test_what_leaves_work_for_others_rings_and_a_ring_that_fails_does_no_harm(
    world: World, superuser: Superuser
) -> None:
    god = superuser(world.database)
    said: list[str] = []

    async def main() -> None:
        link = AsyncLink(lambda: connect(world.people["worker"].conninfo(world.database)))
        async with heard(world, god) as bell:
            world.open_campaign()
            lease = await link.call(lambda c: AsyncWorker(c).claim(CLASS))
            assert lease is not None
            await ring(link, lease)
            assert not await bell.wait(SHORT), "what is leased is nobody else's"
            receipt = await link.call(lambda c: AsyncWorker(c).release(lease))
            await ring(link, receipt)
            assert await bell.wait(LONG)
            god.execute("revoke execute on function kernel.ring from fencepost_worker")
            await ring(link, receipt, tell=said.append)
        await link.drop()

    asyncio.run(main())
    assert len(said) == 1
    assert "could not be rung" in said[0]
