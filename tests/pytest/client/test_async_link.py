"""With asyncio: a call survives its connection, and a lease lives as long as the work under it."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest

from fencepost import AsyncVerifier, AsyncWorker, ServerUnreachable, Stale
from fencepost.async_connection import AsyncLink
from fencepost.async_lease_keeper import AsyncLeaseKeeper
from fencepost.async_session import connect
from tests.pytest.client.conftest import CLASS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from fencepost import Lease
    from tests.pytest.client.conftest import World
    from tests.pytest.client.proxy import Proxy
    from tests.pytest.conftest import Connection, Superuser

LONG = 30.0
WORK: dict[str, Any] = {
    "fingerprint": "f",
    "approach": None,
    "result": {"base": "1" * 40, "commit": "2" * 40},
}


def play(conninfo: str, use: Callable[[AsyncLink], Coroutine[Any, Any, None]]) -> list[str]:
    """Await what *use* does with a link; return what the link told."""
    said: list[str] = []

    async def main() -> None:
        link = AsyncLink(lambda: connect(conninfo), tell=said.append)
        try:
            async with asyncio.timeout(60):
                await use(link)
        finally:
            await link.drop()

    asyncio.run(main())
    return said


def direct(world: World, duty: str = "worker") -> str:
    return world.people[duty].conninfo(world.database)


async def claimed(link: AsyncLink) -> Lease:
    lease = await link.call(lambda c: AsyncWorker(c).claim(CLASS))
    assert lease is not None
    return lease


async def renew(connection: psycopg.AsyncConnection[Any], lease: Lease) -> Lease:
    return await AsyncWorker(connection).renew(lease)


def terminate(god: Connection, world: World) -> None:
    """End every session of the worker's."""
    god.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = %s and usename = %s",
        (world.database, world.people["worker"].name),
    )


# -- the link --------------------------------------------------------------------------------------


def test_claim_submit_and_judge_are_repeated_and_happen_once(world: World, proxy: Proxy) -> None:
    world.open_campaign()
    token = uuid4()

    async def works(link: AsyncLink) -> None:
        proxy.swallow = True
        lease = await link.call(lambda c: AsyncWorker(c).claim(CLASS, token=token))
        assert lease is not None
        assert (lease.duplicate, lease.attempt_no) == (True, 1)
        proxy.swallow = True
        assert (await link.call(lambda c: AsyncWorker(c).submit(lease, **WORK))).duplicate
        assert link.losses == 2

    async def judges(link: AsyncLink) -> None:
        proxy.swallow = True
        lease = await link.call(lambda c: AsyncVerifier(c).claim_verification(CLASS, token=token))
        assert lease is not None
        assert lease.duplicate
        proxy.swallow = True
        receipt = await link.call(
            lambda c: AsyncVerifier(c).judge(lease, verdict="unverifiable", reason="r")
        )
        assert (receipt.duplicate, receipt.state) == (True, "attempted")

    for duty, act in (("worker", works), ("verifier", judges)):
        said = play(proxy.conninfo(world.people[duty], world.database), act)
        assert [line.partition(",")[0] for line in said] == [
            "connection lost",
            "connection is back",
        ] * 2
    assert proxy.swallowed == 4
    assert world.transitions() == ["open", "claim", "submit", "claim_verification", "abstain"]
    assert world.audit("select * from audit.refusals") == []


def test_a_back_end_that_is_killed_costs_nothing(world: World, superuser: Superuser) -> None:
    god = superuser(world.database)
    world.open_campaign()

    async def use(link: AsyncLink) -> None:
        lease = await claimed(link)
        terminate(god, world)
        assert (await link.call(lambda c: AsyncWorker(c).release(lease))).state == "ready"
        assert link.losses == 1

    play(direct(world), use)
    assert world.transitions() == ["open", "claim", "release"]


def test_patience_has_an_end(world: World, proxy: Proxy) -> None:
    async def use(link: AsyncLink) -> None:
        await link.call(lambda c: AsyncWorker(c).claim(CLASS))
        proxy.close()
        with pytest.raises(ServerUnreachable):
            await link.call(lambda c: AsyncWorker(c).claim(CLASS), patience=timedelta(seconds=0.5))

    play(proxy.conninfo(world.people["worker"], world.database), use)


def test_an_error_that_is_not_the_connections_is_raised_at_once(world: World) -> None:
    async def use(link: AsyncLink) -> None:
        with pytest.raises(psycopg.errors.UndefinedColumn):
            await link.call(lambda c: c.execute("select no_such_column"))
        assert link.losses == 0

    assert play(direct(world), use) == []


def test_a_lock_that_is_held_is_waited_for(world: World, superuser: Superuser) -> None:
    world.open_campaign()
    blocker = superuser(world.database)
    blocker.autocommit = False

    async def use(link: AsyncLink) -> None:
        lease = await claimed(link)
        blocker.execute("select from ledger.campaign for update")
        # Past the kernel's lock_timeout of 5 s.
        asyncio.get_running_loop().call_later(6, blocker.rollback)
        assert (await link.call(lambda c: AsyncWorker(c).release(lease))).state == "ready"

    play(direct(world), use)


def test_tasks_take_turns(world: World) -> None:
    async def use(link: AsyncLink) -> None:
        inside = 0

        async def alone(connection: psycopg.AsyncConnection[Any]) -> None:
            nonlocal inside
            inside += 1
            assert inside == 1
            await connection.execute("select pg_sleep(0.01)")
            inside -= 1

        await asyncio.gather(*(link.call(alone) for _ in range(10)))

    play(direct(world), use)


@pytest.mark.parametrize("act", ["a call", "a statement of one's own"])
def test_a_task_that_is_cancelled_in_a_call_leaves_nothing_open(
    world: World, superuser: Superuser, act: str
) -> None:
    """It waits for a lock in a transaction, which is over when it is, and the link goes on."""
    god, blocker = superuser(world.database), superuser(world.database)
    world.open_campaign()

    def sessions(state: str) -> int:
        row = god.execute(
            "select count(*) from pg_stat_activity"
            f" where datname = %s and usename = %s and {state}".encode(),
            (world.database, world.people["worker"].name),
        ).fetchone()
        assert row is not None
        return int(row[0])

    async def until(holds: Callable[[], bool]) -> None:
        while not holds():  # noqa: ASYNC110 - it is the server that says so
            await asyncio.sleep(0.02)

    async def use(link: AsyncLink) -> None:
        lease = await claimed(link)

        async def own(connection: psycopg.AsyncConnection[Any]) -> Any:
            await connection.execute("begin")
            return await AsyncWorker(connection)._connection.execute("select pg_sleep(60)")

        with blocker.transaction():
            blocker.execute("select from ledger.campaign for update")
            task: asyncio.Task[Any]
            if act == "a call":
                task = asyncio.create_task(link.call(lambda c: AsyncWorker(c).release(lease)))
                await until(lambda: sessions("wait_event_type = 'Lock'") == 1)
            else:
                task = asyncio.create_task(link.call(own))
                await until(lambda: sessions("wait_event = 'PgSleep'") == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: sessions("state <> 'idle'") == 0)
        assert (await link.call(lambda c: AsyncWorker(c).release(lease))).state == "ready"

    play(direct(world), use)
    assert world.transitions() == ["open", "claim", "release"]


# -- the keeper ------------------------------------------------------------------------------------


@asynccontextmanager
async def kept(link: AsyncLink) -> AsyncIterator[AsyncLeaseKeeper]:
    """Yield the keeper of a new lease."""
    async with AsyncLeaseKeeper(link, renew, await claimed(link)) as keeper:
        yield keeper


def test_a_lease_outlives_its_length_and_a_back_end_that_is_killed(
    world: World, superuser: Superuser
) -> None:
    god = superuser(world.database)
    world.define_class(lease_default="2 seconds")
    world.open_campaign()

    async def use(link: AsyncLink) -> None:
        async with kept(link) as keeper:
            first, begun = keeper.lease, time.monotonic()
            while time.monotonic() - begun < 4.5:
                terminate(god, world)
                await asyncio.sleep(0.5)
            assert not keeper.is_lost
            assert keeper.lease.generation == first.generation
            assert first.lease_expires_at is not None
            assert keeper.lease.lease_expires_at is not None
            assert keeper.lease.lease_expires_at > first.lease_expires_at
            await keeper.stop()
            lease = keeper.lease
            await link.call(lambda c: AsyncWorker(c).submit(lease, **WORK))
        assert link.losses > 0

    play(direct(world), use)
    assert world.transitions() == ["open", "claim", "submit"]


def park(world: World, campaign: int, lease: Lease) -> None:
    """Take the campaign from whoever holds it."""
    world.admin(
        "select * from kernel.park(p_class => %(class)s, p_campaign_id => %(id)s,"
        " p_generation => %(generation)s, p_reason => 'r')",
        {"class": CLASS, "id": campaign, "generation": lease.generation},
    )


def test_a_lease_that_is_taken_away_ends_the_block_with_what_the_kernel_says(world: World) -> None:
    """The task goes on after the block, and may be cancelled as any other."""
    world.define_class(lease_default="2 seconds")
    campaign = world.open_campaign()

    async def use(link: AsyncLink) -> None:
        async def works() -> None:
            async with kept(link) as keeper:
                park(world, campaign, keeper.lease)
                try:
                    await asyncio.sleep(LONG)
                    pytest.fail("it went on")
                finally:
                    assert keeper.is_lost
                    assert "generation" in (keeper.why_lost or "")

        with pytest.raises(Stale):
            await works()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(LONG), 0.05)

    play(direct(world), use)


def test_a_block_that_hears_of_it_and_ends_by_itself_is_told_the_same(world: World) -> None:
    world.define_class(lease_default="2 seconds")
    campaign = world.open_campaign()

    async def use(link: AsyncLink) -> None:
        async def works() -> None:
            async with kept(link) as keeper:
                park(world, campaign, keeper.lease)
                with pytest.raises(asyncio.CancelledError):
                    await asyncio.sleep(LONG)

        with pytest.raises(Stale):
            await works()

    play(direct(world), use)


def test_who_is_cancelled_by_somebody_else_as_well_is_cancelled(world: World) -> None:
    world.define_class(lease_default="2 seconds")
    campaign = world.open_campaign()

    async def use(link: AsyncLink) -> None:
        async def works() -> None:
            async with kept(link) as keeper:
                park(world, campaign, keeper.lease)
                try:
                    await asyncio.sleep(LONG)
                finally:
                    assert keeper.is_lost
                    task.cancel()

        task = asyncio.create_task(works())
        with pytest.raises(asyncio.CancelledError):
            await task

    play(direct(world), use)


def test_a_lease_that_cannot_be_renewed_until_its_end_is_taken_as_lost(
    world: World, proxy: Proxy
) -> None:
    world.define_class(lease_default="3 seconds")
    world.open_campaign()

    async def use(link: AsyncLink) -> None:
        async def works() -> None:
            async with kept(link) as keeper:
                await asyncio.sleep(1.5)
                assert not keeper.is_lost
                proxy.close()
                begun = time.monotonic()
                try:
                    await asyncio.sleep(LONG)
                finally:
                    assert "ran out" in (keeper.why_lost or "")
                    assert time.monotonic() - begun < 6

        with pytest.raises(ServerUnreachable):
            await works()

    play(proxy.conninfo(world.people["worker"], world.database), use)


def test_a_server_that_is_silent_does_not_keep_the_block_beyond_the_lease(
    world: World, proxy: Proxy
) -> None:
    """It took the renewal and never answers: the lease is not waited for longer than it lasts."""
    world.define_class(lease_default="3 seconds")
    world.open_campaign()

    async def use(link: AsyncLink) -> None:
        async def works() -> None:
            async with kept(link) as keeper:
                proxy.hold = b"kernel.renew"
                begun = time.monotonic()
                try:
                    await asyncio.sleep(LONG)
                finally:
                    assert keeper.is_lost
                    assert time.monotonic() - begun < 6
                    proxy.release.set()

        with pytest.raises(ServerUnreachable, match="no answer"):
            await works()
        assert proxy.held.is_set()

    play(proxy.conninfo(world.people["worker"], world.database), use)


def test_a_task_that_is_cancelled_is_cancelled_and_nothing_renews_any_more(world: World) -> None:
    world.define_class(lease_default="2 seconds")
    world.open_campaign()

    async def use(link: AsyncLink) -> None:
        inside = asyncio.Event()

        async def works() -> None:
            async with kept(link):
                inside.set()
                await asyncio.sleep(LONG)

        task = asyncio.create_task(works())
        await inside.wait()
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        before = world.campaign()["lease_expires_at"]
        await asyncio.sleep(1.5)
        assert world.campaign()["lease_expires_at"] == before
        assert asyncio.all_tasks() == {asyncio.current_task()}

    play(direct(world), use)


def test_what_the_block_raises_is_raised(world: World) -> None:
    world.open_campaign()

    async def use(link: AsyncLink) -> None:
        async with kept(link):
            raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        play(direct(world), use)
