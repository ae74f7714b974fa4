"""The runner for asyncio keeps what the other one promises, and hears a task's cancellation."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from fencepost import errors
from fencepost.operations import (
    ABSENT,
    AsyncEffectRunner,
    AsyncStore,
    Completed,
    Context,
    Failed,
    FenceChanged,
    InvalidArgument,
    OutcomeNotRecorded,
    StillUnknown,
    Unknown,
)
from tests.pytest.operations.conftest import KIND, TARGET

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fencepost.operations import Claim, Operation
    from tests.pytest.operations.conftest import Office

SECOND = timedelta(seconds=1)


@asynccontextmanager
async def opened(office: Office, kind: type[AsyncStore] = AsyncStore) -> AsyncIterator[AsyncStore]:
    connection = await psycopg.AsyncConnection.connect(office.conninfo())
    try:
        yield kind(connection, office.campaign_class, kind=KIND, target=TARGET)
    finally:
        await connection.close()


def play(office: Office, act: Any, kind: type[AsyncStore] = AsyncStore) -> None:
    async def main() -> None:
        async with opened(office, kind) as store:
            await act(AsyncEffectRunner(store), store)

    asyncio.run(main())


async def pay(_: Context) -> Completed:
    await asyncio.sleep(0)
    return Completed(result={"paid": 7}, reason="at once")


async def lose(_: Context) -> Completed:
    raise TimeoutError("no answer")


def test_an_effect_happens_once_and_is_replayed(office: Office) -> None:
    async def act(runner: AsyncEffectRunner, _: AsyncStore) -> None:
        first = await runner.run("k", "f", pay)
        assert (first.state, first.result, first.is_executed) == ("completed", {"paid": 7}, True)
        second = await runner.run("k", "f", lose)
        assert (second.state, second.result, second.reason) == ("replayed", {"paid": 7}, "at once")
        conflict = await runner.run("k", "g", lose)
        assert (conflict.state, conflict.result) == ("conflict", ABSENT)

    play(office, act)


def test_whatever_it_ends_as_is_recorded(office: Office) -> None:
    async def act(runner: AsyncEffectRunner, _: AsyncStore) -> None:
        async def nothing(_: Context) -> Any:
            return None

        async def declined(_: Context) -> Failed:
            return Failed(reason="declined")

        async def odd(_: Context) -> Completed:
            return Completed(result="\x00", reason="paid")

        assert (await runner.run("a", "f", lose)).reason == "no answer"
        assert (await runner.run("b", "f", nothing)).state == "unknown"
        assert (await runner.run("c", "f", declined)).state == "failed"
        told = await runner.run("d", "f", lose, on_error=lambda _, __: Failed(reason="not sent"))
        assert told.state == "failed"
        confused = await runner.run("e", "f", lose, on_error=lambda _, __: 1 / 0)  # type: ignore[arg-type,return-value]
        assert confused.reason is not None
        assert "classification failed" in confused.reason
        kept = await runner.run("f", "f", odd)
        assert (kept.state, kept.result) == ("completed", ABSENT)
        assert kept.result_error

    play(office, act)


def test_what_is_cancelled_before_is_not_begun(office: Office) -> None:
    class After(asyncio.Event):
        def __init__(self, times: int) -> None:
            super().__init__()
            self.times = times

        def is_set(self) -> bool:
            self.times -= 1
            return self.times < 0

    async def act(runner: AsyncEffectRunner, store: AsyncStore) -> None:
        assert (await runner.run("k", "f", lose, cancel=After(0))).state == "cancelled"
        assert await store.history("k") == []
        assert (await runner.run("k", "f", lose, cancel=After(1))).state == "cancelled"
        assert await runner.get("k") is None
        assert (await runner.run("k", "f", lose, cancel=After(2))).state == "failed"
        assert (await runner.run("k", "f", lose, cancel=After(1))).state == "replayed"

    play(office, act)


def test_what_is_cancelled_in_flight_is_unknown_at_once(office: Office) -> None:
    async def act(runner: AsyncEffectRunner, _: AsyncStore) -> None:
        cancel, go_on, late = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def slow(_: Context) -> Completed:
            cancel.set()
            await go_on.wait()
            late.set()
            raise ValueError("swallowed")

        ended = await runner.run("k", "f", slow, cancel=cancel, cancel_diagnostic={"page": 3})
        assert (ended.state, ended.diagnostic) == ("unknown", {"page": 3})
        go_on.set()
        await late.wait()
        found = await runner.get("k")
        assert found is not None
        assert found.operation_state == "unknown"
        assert (await runner.run("c", "f", pay, cancel=asyncio.Event())).state == "completed"

    play(office, act)


@pytest.mark.parametrize("with_event", [False, True])
def test_a_task_that_is_cancelled_says_that_it_does_not_know(
    office: Office,
    with_event: bool,  # noqa: FBT001
) -> None:
    async def act(runner: AsyncEffectRunner, _: AsyncStore) -> None:
        begun = asyncio.Event()

        async def endless(_: Context) -> Completed:
            begun.set()
            await asyncio.Event().wait()
            return Completed()

        task = asyncio.create_task(
            runner.run("k", "f", endless, cancel=asyncio.Event() if with_event else None)
        )
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = await runner.get("k")
        assert found is not None
        assert (found.operation_state, found.reason) == (
            "unknown",
            "side-effect caller cancelled while execution was in flight",
        )

    play(office, act)


def test_a_record_is_written_to_its_end_though_the_task_is_cancelled(office: Office) -> None:
    class Slow(AsyncStore):
        writing: asyncio.Event

        async def complete(self, claim: Claim, *given: Any, **named: Any) -> Operation:
            self.writing.set()
            for _ in range(20):
                await asyncio.sleep(0)
            return await super().complete(claim, *given, **named)

    async def act(runner: AsyncEffectRunner, store: Slow) -> None:
        store.writing = asyncio.Event()
        task = asyncio.create_task(runner.run("k", "f", pay))
        await store.writing.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = await runner.get("k")
        assert found is not None
        assert found.operation_state == "completed"

    play(office, act, Slow)


def test_an_effect_longer_than_its_lease_keeps_it(office: Office) -> None:
    async def act(runner: AsyncEffectRunner, store: AsyncStore) -> None:
        seen = set()

        async def long(context: Context) -> Completed:
            first = context.operation.lease_expires_at
            assert first is not None
            while True:
                found = await store.claim("k", "f")
                seen.add(found.status.value)
                assert found.operation.lease_expires_at is not None
                if found.operation.lease_expires_at > first + SECOND:
                    return Completed(result="sent")

        ended = await runner.run("k", "f", long, lease_for=SECOND)
        assert (ended.state, seen) == ("completed", {"pending"})

    play(office, act)


def test_a_renewal_is_not_cut_off_when_the_effect_ends(office: Office) -> None:
    class Slow(AsyncStore):
        renewing: asyncio.Event
        renewed = 0

        async def renew(self, claim: Claim, **named: Any) -> Claim:
            self.renewing.set()
            for _ in range(20):  # the effect ends meanwhile
                await asyncio.sleep(0)
            renewed = await super().renew(claim, **named)
            self.renewed += 1
            return renewed

    async def act(runner: AsyncEffectRunner, store: Slow) -> None:
        store.renewing = asyncio.Event()

        async def until_it_renews(_: Context) -> Completed:
            await store.renewing.wait()
            return Completed(result=1)

        ended = await runner.run("k", "f", until_it_renews, lease_for=SECOND)
        assert (ended.state, store.renewed) == ("completed", 1)

    play(office, act, Slow)


def test_a_lost_answer_to_the_start_does_not_begin_an_effect_whose_lease_is_over(
    office: Office,
) -> None:
    class Deaf(AsyncStore):
        asked = 0

        async def start(self, claim: Claim) -> Operation:
            answer = await super().start(claim)
            self.asked += 1
            if self.asked == 1:
                while (await self.claim("k", "f")).status.value != "unknown":
                    pass
                raise psycopg.OperationalError("the answer was lost")
            return answer

    async def act(runner: AsyncEffectRunner, _: AsyncStore) -> None:
        ended = await runner.run("k", "f", pay, lease_for=SECOND)
        assert (ended.state, ended.is_executed) == ("unknown", False)

    play(office, act, Deaf)


def test_what_is_not_recorded_is_in_the_callers_hands(office: Office) -> None:
    async def act(runner: AsyncEffectRunner, store: AsyncStore) -> None:
        async def wrong(_: Context) -> Completed:
            return Completed(read_back={"etag": "other"})

        with pytest.raises(OutcomeNotRecorded) as refused:
            await runner.run("r", "f", wrong, expected={"after": {"etag": "mine"}})
        assert refused.value.is_unknown

        async def cut(_: Context) -> Completed:
            await store._connection.close()
            return Completed(result=1)

        with pytest.raises(OutcomeNotRecorded) as lost:
            await runner.run("k", "f", cut)
        assert (lost.value.outcome, lost.value.is_unknown) == (Completed(result=1), False)

    play(office, act)


def test_what_the_kernel_does_not_let_start_is_given_back(office: Office) -> None:
    class Paused(AsyncStore):
        async def start(self, claim: Claim) -> Operation:
            office.admin("pause", {"class": office.campaign_class, "reason": "audit"})
            return await super().start(claim)

    async def act(runner: AsyncEffectRunner, _: AsyncStore) -> None:
        with pytest.raises(errors.Paused):
            await runner.run("k", "f", lose)
        assert await runner.get("k") is None

    play(office, act, Paused)


def test_recovery(office: Office) -> None:
    async def act(runner: AsyncEffectRunner, store: AsyncStore) -> None:
        async def seen(_: Operation) -> Completed:
            return Completed(result=1)

        async def gone(_: Operation) -> StillUnknown:
            return StillUnknown(reason="no answer")

        async def confused(_: Operation) -> Any:
            return Unknown(reason="what")

        assert (await runner.recover("k", seen)).state == "missing"
        await runner.run("k", "f", lose)
        before = await runner.get("k")
        assert before is not None
        with pytest.raises(InvalidArgument):
            await runner.recover("k", confused)
        assert await runner.get("k") == before
        assert (await runner.recover("k", gone)).state == "unknown"
        with pytest.raises(FenceChanged):
            await runner.recover("k", seen, fence=before.fence)
        assert (await runner.recover("k", seen)).state == "resolved"
        assert (await runner.recover("k", confused)).state == "completed"
        assert len(await store.history("k")) == 5

    play(office, act)


def test_a_store_without_fencing_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        AsyncEffectRunner(object())  # type: ignore[arg-type]
