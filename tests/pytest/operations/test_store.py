"""The store over psycopg: what an application that has no campaign is promised."""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from contextlib import closing
from dataclasses import fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any, LiteralString
from uuid import uuid4

import psycopg
import pytest

from fencepost import errors
from fencepost.connection import Link
from fencepost.operations import (
    ABSENT,
    AsyncStore,
    ClaimStatus,
    Completed,
    EffectRunner,
    Failed,
    InvalidArgument,
    StillUnknown,
    Store,
    Unknown,
)
from fencepost.operations.records import Operation, PruneResult, RawJson, Step
from fencepost.records import Receipt
from fencepost.session import connect
from tests.pytest.operations.conftest import KIND, TARGET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fencepost.operations import Claim
    from tests.pytest.operations.conftest import Office

SECOND = timedelta(seconds=1)


def test_a_claim_is_the_owners_once_and_everybody_elses_pending(office: Office) -> None:
    mine, theirs = office.store(), office.store("rival")
    claim = mine.claim("k", "f")
    assert claim.status is ClaimStatus.OWNER
    assert claim.operation.operation_state == "pending"
    assert claim.operation.label is None
    again = theirs.claim("k", "f")
    assert again.status is ClaimStatus.PENDING
    assert again.operation.retry_after is not None
    assert timedelta(0) < again.operation.retry_after <= timedelta(minutes=15)


def test_a_claim_with_the_same_token_is_the_same_claim(store: Store) -> None:
    token = uuid4()
    first, second = store.claim("k", "f", token=token), store.claim("k", "f", token=token)
    assert first.is_owner
    assert second.is_owner
    assert (first.fence, second.operation.duplicate) == (second.fence, True)


def test_a_token_is_in_no_log_and_no_repr_through_a_whole_life(
    office: Office, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    token = uuid4()
    shown: list[str] = []

    def do(function: Callable[[], Any]) -> Any:
        try:
            told = function()
        except Exception as error:  # noqa: BLE001 - whatever it is, it shows no token
            shown.extend(traceback.format_exception(error))
            shown.append(repr(vars(error)))
            told = error
        shown.append(repr(told))
        return told

    store, rival = office.store(), office.store("rival")
    claim = do(lambda: store.claim("k", "f", token=token))
    assert claim.token == token
    do(lambda: store.claim("k", "f", token=token))
    do(lambda: store.claim("k", "another", token=token))
    do(lambda: store.start(claim))
    claim = do(lambda: store.renew(claim))
    seen = do(lambda: rival.claim("k", "f"))
    assert isinstance(do(lambda: rival.complete(seen, 1)), errors.NotHolder)
    do(lambda: rival.claim("k", "f", token=token))
    assert isinstance(do(lambda: store.release(claim)), errors.Illegal)
    unknown = do(lambda: store.mark_unknown(claim, "timeout", {"sent": True}))
    do(lambda: rival.resolve_unknown("k", unknown.fence, Failed(reason="no")))
    assert isinstance(do(lambda: store.complete(claim, 1)), errors.Stale)
    assert isinstance(do(lambda: store.fail(claim, "r" * 100_000)), errors.Misuse)
    do(lambda: store.history("k"))
    do(lambda: store.get("k"))
    do(store.list_operations)

    monkeypatch.setattr("fencepost.operations.runner.uuid4", lambda: token)
    runner = EffectRunner(store)
    do(lambda: runner.run("m", "f", lambda context: Completed(result=repr(context))))
    do(lambda: runner.run("n", "f", lambda _: Unknown(reason="r")))
    do(lambda: runner.recover("n", lambda operation: Completed(result=repr(operation))))
    shown.extend(map(repr, (store, rival, runner)))
    shown.extend(f"{record.getMessage()} {vars(record)}" for record in caplog.records)
    for secret in (str(token), token.hex):
        assert not [text for text in shown if secret in text]


@pytest.mark.parametrize(
    "result",
    [ABSENT, None, {"a": [1, 2.5, None, "ß"]}, [], "", 0, False, 12345678901234567890123],
    ids=repr,
)
def test_a_result_comes_back_as_it_was_absent_or_null(store: Store, result: Any) -> None:
    store.complete(store.claim("k", "f"), result, reason="done", result_text=' {"b":1, "a":2}')
    replay = store.claim("k", "f")
    assert replay.status is ClaimStatus.REPLAY
    assert replay.operation.result == result
    assert replay.operation.has_result == (result is not ABSENT)
    assert replay.operation.reason == "done"
    assert replay.operation.result_text == ' {"b":1, "a":2}'


def test_raw_json_keeps_every_digit(store: Store, office: Office) -> None:
    store.complete(store.claim("k", "f"), RawJson('{"n": 0.1234567890123456789012}'))
    row = (
        office.connect()
        .execute(
            "select result::text from kernel.get_operation(%s, 'k')",
            (office.campaign_class,),
        )
        .fetchone()
    )
    assert row == ('{"n": 0.1234567890123456789012}',)


@pytest.mark.parametrize(
    "result",
    [
        "a\x00b",
        {"k": ["\x00"]},
        {"\x00": 1},
        "\ud800",
        float("nan"),
        float("inf"),
        object(),
        {1, 2},
    ],
    ids=repr,
)
def test_what_the_ledger_cannot_hold_is_refused_before_it_is_sent(
    store: Store, result: object
) -> None:
    claim = store.claim("k", "f")
    with pytest.raises(InvalidArgument):
        store.complete(claim, result)
    found = store.get("k")
    assert found is not None
    assert found.operation_state == "pending"
    assert store.complete(claim, "another").operation_state == "completed"


def test_what_only_looks_like_a_nul_is_stored(store: Store) -> None:
    store.complete(store.claim("k", "f"), {"text": "\\u0000"})
    assert store.claim("k", "f").operation.result == {"text": "\\u0000"}


def test_an_ending_repeats_safely_and_another_one_is_stale(store: Store) -> None:
    claim = store.claim("k", "f")
    store.complete(claim, {"n": 1})
    assert store.complete(claim, {"n": 1}).duplicate
    with pytest.raises(errors.Stale):
        store.complete(claim, {"n": 2})
    with pytest.raises(errors.Stale):
        store.fail(claim, "no")


def test_a_failure_is_replayed_with_its_reason(store: Store) -> None:
    store.fail(store.claim("k", "f"), "declined", {"code": 5})
    replay = store.claim("k", "f")
    assert replay.status is ClaimStatus.REPLAY
    assert (replay.operation.operation_state, replay.operation.reason) == ("failed", "declined")
    assert replay.operation.result == {"code": 5}


def test_a_conflict_tells_nothing(office: Office) -> None:
    store = office.store(label="accounts")
    store.complete(store.claim("k", "f"), {"secret": 1}, reason="r")
    conflict = office.store("rival").claim("k", "another")
    assert conflict.status is ClaimStatus.CONFLICT
    told = conflict.operation
    assert told.key == "k"
    assert (told.principal, told.label, told.reason, told.updated_at) == (None,) * 4
    assert told.result is ABSENT
    with pytest.raises(ValueError, match="no fence"):
        _ = conflict.fence


def test_a_stranger_who_knows_the_fence_cannot_end_it(office: Office) -> None:
    claim = office.store().claim("k", "f")
    other = office.store("rival")
    seen = other.claim("k", "f")
    assert seen.fence == claim.fence
    with pytest.raises(errors.NotHolder):
        other.complete(seen, "forged")
    assert office.store().complete(claim, "true").result == "true"


def test_unknown_stays_unknown_until_somebody_looked(office: Office) -> None:
    store, other = office.store(), office.store("rival")
    store.mark_unknown(store.claim("k", "f"), "timeout", {"sent": True})
    seen = other.claim("k", "f")
    assert seen.status is ClaimStatus.UNKNOWN
    assert (seen.operation.reason, seen.operation.diagnostic) == ("timeout", {"sent": True})
    still = other.resolve_unknown("k", seen.fence, StillUnknown(reason="no answer"))
    with pytest.raises(errors.Stale):
        other.resolve_unknown("k", seen.fence, Failed(reason="late"))
    done = other.resolve_unknown("k", still.fence, Completed(result={"id": 7}))
    assert (done.operation_state, done.reconciled_by) == (
        "completed",
        office.people["rival"].name,
    )
    assert done.diagnostic == {"sent": True}
    with pytest.raises(errors.Illegal):
        other.resolve_unknown("k", done.fence, Failed(reason="no"))


def test_what_was_released_is_none_and_begins_a_new_life(store: Store) -> None:
    first = store.claim("k", "f")
    store.release(first, "changed my mind")
    assert store.get("k") is None
    assert list(store.iter_operations()) == []
    second = store.claim("k", "another")
    assert second.is_owner
    assert second.fence.incarnation != first.fence.incarnation
    with pytest.raises(errors.Stale):
        store.complete(first)


def test_what_was_started_cannot_be_released(store: Store) -> None:
    claim = store.claim("k", "f")
    assert store.start(claim).is_started
    with pytest.raises(errors.Illegal):
        store.release(claim)


def test_a_lease_is_renewed_and_its_end_is_known_by_this_clock(store: Store) -> None:
    claim = store.claim("k", "f", lease_for=timedelta(minutes=1))
    renewed = store.renew(claim, lease_for=timedelta(minutes=2))
    assert renewed.operation.lease_expires_at is not None
    assert claim.operation.lease_expires_at is not None
    assert renewed.operation.lease_expires_at > claim.operation.lease_expires_at
    assert claim.runs_out_at is not None
    assert renewed.runs_out_at is not None
    assert 30 < renewed.runs_out_at - claim.runs_out_at < 90
    assert store.complete(renewed).operation_state == "completed"


def test_pages_hold_every_key_in_the_order_of_its_bytes(store: Store) -> None:
    keys = ["b", "B", "a", "Z", "ä", "10", "9", "_", "ab"]
    for key in keys:
        store.complete(store.claim(key, "f"))
    store.release(store.claim("aa", "f"))
    for size in (1, 2, 4, 100):
        found = [each.key for each in store.iter_operations(page_size=size)]
        assert found == sorted(keys, key=str.encode)
    store.mark_unknown(store.claim("later", "f"), "r")
    store.mark_unknown(store.claim("earlier", "f"), "r")
    oldest = [each.key for each in store.iter_operations("unknown", page_size=1)]
    assert oldest == ["later", "earlier"]


def test_the_history_tells_every_step(store: Store) -> None:
    claim = store.claim("k", "f")
    store.start(claim)
    store.mark_unknown(claim, "timeout", None)
    steps = store.history("k")
    assert [step.to_state for step in steps] == ["pending", "pending", "unknown"]
    assert [step.event_no for step in steps] == [1, 2, 3]
    assert steps[-1].reason == "timeout"
    assert steps[-1].diagnostic is None
    assert steps[0].diagnostic is ABSENT
    assert store.history("nothing") == []


def test_a_reaper_expires_and_prunes(office: Office) -> None:
    store, reaper = office.store(), office.store("reaper")
    store.start(store.claim("started", "f", lease_for=SECOND))
    store.claim("waiting", "f", lease_for=SECOND)
    found: dict[str, str | None] = {}
    while len(found) < 2:
        found |= {each.key: each.operation_state for each in reaper.expire()}
    assert found == {"started": "unknown", "waiting": "released"}
    for number in range(5):
        store.complete(store.claim(f"done {number}", "f"))
    few = reaper.prune(batch=2, max_batches=1)
    assert (few.removed, few.is_more) == (2, True)
    rest = reaper.prune(batch=2)
    assert (rest.removed, rest.is_more) == (4, False)
    assert [each.key for each in store.iter_operations()] == ["started"]


def test_only_a_reaper_prunes(store: Store) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        store.prune()


def test_a_class_or_kind_without_authority_is_forbidden(office: Office) -> None:
    with pytest.raises(errors.Forbidden):
        office.store(target="elsewhere").claim("k", "f")
    with pytest.raises(InvalidArgument):
        office.store(target=None).claim("k", "f")


def test_what_is_not_there_cannot_be_ended(store: Store) -> None:
    claim = store.claim("k", "f")
    with pytest.raises(errors.UnknownOperation):
        store.complete(type(claim)(**{**vars_of(claim), "key": "another"}))


def vars_of(claim: Any) -> dict[str, Any]:
    return {name: getattr(claim, name) for name in claim.__dataclass_fields__}


# -- the caller's own transaction ------------------------------------------------------------------


@pytest.fixture
def account(office: Office) -> Iterator[psycopg.Connection[Any]]:
    """Yield the superuser's connection to a database with a table of the application's."""
    with closing(psycopg.connect(dbname=office.database, autocommit=True)) as connection:
        connection.execute("create schema shop")
        connection.execute("grant usage on schema shop to public")
        connection.execute("create table shop.account (balance integer)")
        connection.execute("insert into shop.account values (10)")
        connection.execute("grant select, update on shop.account to public")
        yield connection
        connection.execute("drop schema shop cascade")


def balance(account: psycopg.Connection[Any]) -> int:
    row = account.execute("select balance from shop.account").fetchone()
    assert row is not None
    return int(row[0])


def test_an_effect_in_the_database_and_its_record_are_one_commit(
    store: Store, account: psycopg.Connection[Any]
) -> None:
    claim = store.claim("k", "f")
    with store.transaction(claim) as mine:
        mine.connection.execute("update shop.account set balance = balance + 1")
        mine.complete({"balance": 11})
        assert balance(account) == 10
    assert balance(account) == 11
    assert store.claim("k", "f").operation.result == {"balance": 11}


def test_an_effect_that_raises_leaves_neither(
    store: Store, account: psycopg.Connection[Any]
) -> None:
    claim = store.claim("k", "f")

    def effect() -> None:
        with store.transaction(claim) as mine:
            mine.connection.execute("update shop.account set balance = balance + 1")
            mine.connection.execute("select 1 / 0")

    with pytest.raises(psycopg.errors.DivisionByZero):
        effect()
    assert balance(account) == 10
    found = store.get("k")
    assert found is not None
    assert found.operation_state == "pending"


def test_an_effect_whose_operation_was_taken_over_is_rolled_back(
    office: Office, account: psycopg.Connection[Any]
) -> None:
    store, rival = office.store(), office.store("rival")
    claim = store.claim("k", "f", lease_for=SECOND)
    while not rival.claim("k", "f").is_owner:
        pass
    with pytest.raises(errors.Stale), store.transaction(claim) as mine:
        mine.connection.execute("update shop.account set balance = balance + 1")
    assert balance(account) == 10


def test_a_completion_joins_a_transaction_that_is_there(
    office: Office, account: psycopg.Connection[Any]
) -> None:
    connection = office.connect()
    store = Store(connection, office.campaign_class, kind=KIND, target=TARGET)
    claim = store.claim("k", "f")
    connection.execute("update shop.account set balance = balance + 1")
    with pytest.raises(errors.ConnectionBusy):
        store.complete(claim)
    assert store.complete_here(claim, 1).operation_state == "completed"
    connection.rollback()
    assert balance(account) == 10
    found = store.get("k")
    assert found is not None
    assert found.operation_state == "pending"


@pytest.mark.parametrize("is_here", [False, True])
def test_a_completion_of_the_callers_keeps_all_that_is_said(
    office: Office, *, is_here: bool
) -> None:
    connection = office.connect()
    store = Store(connection, office.campaign_class, kind=KIND, target=TARGET)
    claim = store.claim("k", "f", expected={"before": 1, "after": {"n": 2}})
    said: dict[str, Any] = {"reason": "paid", "read_back": {"n": 2}, "result_text": ' {"id":1}'}
    if is_here:
        with connection.transaction():
            store.complete_here(claim, {"id": 1}, **said)
    else:
        with store.transaction(claim) as mine:
            mine.complete({"id": 1}, **said)
    assert kept(store.get("k")) == ({"id": 1}, "paid", {"n": 2}, ' {"id":1}')


def kept(operation: Operation | None) -> tuple[Any, ...]:
    assert operation is not None
    return (operation.result, operation.reason, operation.read_back, operation.result_text)


def awaited(office: Office, use: Callable[[AsyncStore, psycopg.AsyncConnection[Any]], Any]) -> None:
    """Await what *use* does with an asynchronous store and its connection."""

    async def main() -> None:
        async with await psycopg.AsyncConnection.connect(office.conninfo()) as connection:
            store = AsyncStore(connection, office.campaign_class, kind=KIND, target=TARGET)
            await asyncio.wait_for(use(store, connection), 60)

    asyncio.run(main())


UPDATE = "update shop.account set balance = balance + 1"


def test_with_asyncio_an_effect_and_its_record_are_one_commit(
    office: Office, account: psycopg.Connection[Any]
) -> None:
    async def use(store: AsyncStore, _: psycopg.AsyncConnection[Any]) -> None:
        claim = await store.claim("k", "f", expected={"before": 1, "after": {"n": 2}})
        async with store.transaction(claim) as mine:
            await mine.connection.execute(UPDATE)
            mine.complete({"id": 1}, reason="paid", read_back={"n": 2}, result_text=' {"id":1}')
            with pytest.raises(errors.ConnectionBusy):
                await store.get("k")
            assert balance(account) == 10
        assert balance(account) == 11
        assert kept(await store.get("k")) == ({"id": 1}, "paid", {"n": 2}, ' {"id":1}')

    awaited(office, use)


def test_with_asyncio_an_effect_that_raises_leaves_neither(
    office: Office, account: psycopg.Connection[Any]
) -> None:
    async def use(store: AsyncStore, _: psycopg.AsyncConnection[Any]) -> None:
        claim = await store.claim("k", "f")

        async def effect(claim: Claim, then: LiteralString) -> None:
            async with store.transaction(claim) as mine:
                await mine.connection.execute(UPDATE)
                await mine.connection.execute(then)

        with pytest.raises(psycopg.errors.DivisionByZero):
            await effect(claim, "select 1 / 0")
        found = await store.get("k")
        assert found is not None
        assert found.operation_state == "pending"
        ended = await store.claim("ended", "f")
        await store.complete(ended, "something else")
        with pytest.raises(errors.Stale):
            await effect(ended, "select")

    awaited(office, use)
    assert balance(account) == 10


def test_with_asyncio_a_completion_joins_a_transaction_that_is_there(
    office: Office, account: psycopg.Connection[Any]
) -> None:
    async def use(store: AsyncStore, connection: psycopg.AsyncConnection[Any]) -> None:
        for is_kept in (False, True):
            claim = await store.claim(f"k {is_kept}", "f")
            await connection.execute(UPDATE)
            with pytest.raises(errors.ConnectionBusy):
                await store.complete(claim)
            with pytest.raises(errors.ConnectionBusy):
                async with store.transaction(claim):
                    pass
            done = await store.complete_here(claim, 1, reason="paid", result_text="1.0")
            assert kept(done)[:2] == (1, "paid")
            await (connection.commit() if is_kept else connection.rollback())
            found = await store.get(f"k {is_kept}")
            assert found is not None
            assert found.operation_state == ("completed" if is_kept else "pending")
            assert kept(found) == ((1, "paid", None, "1.0") if is_kept else (ABSENT, *[None] * 3))

    awaited(office, use)
    assert balance(account) == 11


def test_with_asyncio_other_tasks_wait_for_the_callers_transaction(office: Office) -> None:
    async def use(store: AsyncStore, connection: psycopg.AsyncConnection[Any]) -> None:
        claim = await store.claim("k", "f")
        is_in = asyncio.Event()

        async def look() -> Operation | None:
            await is_in.wait()
            return await store.get("k")

        other = asyncio.create_task(look())
        async with store.transaction(claim) as mine:
            is_in.set()
            await mine.connection.execute("select")
            assert not other.done()
        found = await other
        assert found is not None
        assert found.operation_state == "completed"

    awaited(office, use)


def test_with_asyncio_a_task_started_in_the_block_is_told_that_it_would_wait_for_itself(
    office: Office,
) -> None:
    async def use(store: AsyncStore, _: psycopg.AsyncConnection[Any]) -> None:
        claim = await store.claim("k", "f")

        async def asks() -> Operation | None:
            async with asyncio.TaskGroup() as group:
                asked = group.create_task(store.get("k"))
            return asked.result()

        async def waits_for(is_over: asyncio.Event) -> Operation | None:
            await is_over.wait()
            return await store.get("k")

        is_over = asyncio.Event()
        async with store.transaction(claim) as mine:
            with pytest.raises(ExceptionGroup) as caught:
                await asyncio.create_task(asks())
            (busy,) = caught.value.exceptions
            assert isinstance(busy, errors.ConnectionBusy)
            assert "a store on a connection of its own" in str(busy)
            with pytest.raises(errors.ConnectionBusy, match="before or after the block"):
                async with store.transaction(claim):
                    pass
            later = asyncio.create_task(waits_for(is_over))
            mine.complete("paid")
        is_over.set()
        found = await later
        assert kept(found)[0] == "paid", "when the block has ended, it is as any other"

    awaited(office, use)


def test_with_asyncio_a_task_started_in_the_block_may_complete_what_is_part_of_it(
    office: Office, account: psycopg.Connection[Any]
) -> None:
    async def use(store: AsyncStore, _: psycopg.AsyncConnection[Any]) -> None:
        one, two = await store.claim("one", "f"), await store.claim("two", "f")
        async with store.transaction(one) as mine:
            await mine.connection.execute(UPDATE)
            await asyncio.create_task(store.complete_here(two, "also"))
            assert balance(account) == 10
        assert kept(await store.get("two"))[0] == "also"

    awaited(office, use)
    assert balance(account) == 11


# -- connections -----------------------------------------------------------------------------------


def test_threads_share_one_connection(store: Store) -> None:
    owners: list[bool] = []
    threads = [
        threading.Thread(target=lambda: owners.append(store.claim("k", "f").is_owner))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(owners) == [False] * 7 + [True]


def test_over_a_link_a_lost_connection_costs_nothing(office: Office) -> None:
    link = Link(lambda: connect(office.conninfo()))
    store = Store(link, office.campaign_class, kind=KIND, target=TARGET)
    claim = store.claim("k", "f")
    with psycopg.connect(dbname=office.database, autocommit=True) as superuser:
        superuser.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where usename = %s",
            (office.people["worker"].name,),
        )
    assert store.complete(claim, 1).operation_state == "completed"
    assert not store.is_lost
    with pytest.raises(errors.ConnectionBusy), store.transaction(claim):
        pass
    link.drop()


def test_isolation_other_than_read_committed_is_misuse(office: Office) -> None:
    connection = office.connect()
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with pytest.raises(errors.WrongIsolation):
        Store(connection, office.campaign_class, kind=KIND, target=TARGET).claim("k", "f")


async def _live(office: Office) -> list[str]:
    async with await psycopg.AsyncConnection.connect(office.conninfo()) as connection:
        store = AsyncStore(connection, office.campaign_class, kind=KIND, target=TARGET)
        claim = await store.claim("k", "f")
        await store.start(claim)
        claim = await store.renew(claim)
        await store.complete(claim, {"n": None})
        replay = await store.claim("k", "f")
        other = await store.claim("other", "f")
        await store.release(other)
        third = await store.claim("third", "f")
        await store.mark_unknown(third, "r")
        seen = await store.get("third")
        assert seen is not None
        await store.resolve_unknown("third", seen.fence, Failed(reason="no"))
        fourth = await store.claim("fourth", "f")
        await store.fail(fourth, "no")
        steps = [step.to_state for step in await store.history("third")]
        assert steps == ["pending", "unknown", "failed"]
        assert replay.operation.result == {"n": None}
        return [each.key async for each in store.iter_operations(page_size=1)]


def test_the_same_with_asyncio(office: Office) -> None:
    assert asyncio.run(_live(office)) == ["fourth", "k", "third"]


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "type_name", "without"),
    [
        (Operation, "operation", set[str]()),
        (Step, "operation_step", set[str]()),
        (PruneResult, "pruning", {field.name for field in fields(Receipt)}),
    ],
)
def test_a_record_has_the_fields_of_its_type(
    office: Office, record: Any, type_name: str, without: set[str]
) -> None:
    with closing(psycopg.connect(dbname=office.database)) as connection:
        found = connection.execute(
            """
            select a.attname from pg_catalog.pg_attribute as a
            where a.attrelid = ('kernel.' || %s)::regclass and a.attnum > 0
            """,
            (type_name,),
        ).fetchall()
    columns = {"campaign_class" if row[0] == "class" else row[0] for row in found}
    assert {field.name for field in fields(record)} == columns - without
