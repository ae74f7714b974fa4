"""The adapter over other people's clients: one life of an operation with each."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import asyncpg
import pg8000.dbapi
import psycopg
import psycopg_pool
import pytest
from psycopg.conninfo import conninfo_to_dict

from fencepost import errors
from fencepost.operations import (
    FENCING_CAPABILITY,
    Adapter,
    AsyncAdapter,
    ClaimStatus,
    Completed,
    Failed,
    InvalidArgument,
    NoKernelAnswer,
    formatted,
    has_fencing_capability,
)
from tests.pytest.operations.conftest import KIND, TARGET

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from tests.pytest.operations.conftest import Office


class OfPsycopg:
    """What an application with one connection of psycopg writes."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.sent: list[str] = []

    def query(self, text: str, values: Sequence[Any], /) -> Any:
        self.sent.append(text)
        return self.connection.execute(text.encode(), values).fetchall()


class OfPool:
    """What one with a pool writes: every query on a connection of its own."""

    def __init__(self, pool: psycopg_pool.ConnectionPool) -> None:
        self.pool = pool

    def query(self, text: str, values: Sequence[Any], /) -> Any:
        with self.pool.connection() as connection:
            found = connection.execute(text.encode(), values).fetchall()
        return {"rows": [{"answer": row[0]} for row in found], "rowCount": len(found)}


class OfPg8000:
    """What one with pg8000 writes."""

    def __init__(self, connection: pg8000.dbapi.Connection) -> None:
        self.connection = connection

    def query(self, text: str, values: Sequence[Any], /) -> Any:
        cursor = self.connection.cursor()
        try:
            cursor.execute(text, values)
            return list(cursor.fetchall())
        finally:
            cursor.close()


class OfAsyncpg:
    """What one with asyncpg writes, over a connection or a pool."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    async def query(self, text: str, values: Sequence[Any], /) -> Any:
        return await self.connection.fetch(text, *values)


@contextmanager
def over_psycopg(office: Office) -> Iterator[Adapter]:
    client = OfPsycopg(office.connect(autocommit=True))
    yield adapter(office, client, placeholders=formatted)


@contextmanager
def over_raw_psycopg(office: Office) -> Iterator[Adapter]:
    connection = office.connect(autocommit=True)
    connection.cursor_factory = psycopg.RawCursor
    yield adapter(office, OfPsycopg(connection))


@contextmanager
def over_pool(office: Office) -> Iterator[Adapter]:
    with psycopg_pool.ConnectionPool(office.conninfo(), min_size=2, max_size=4, open=True) as pool:
        yield adapter(office, OfPool(pool), placeholders=formatted, is_shared=True)


@contextmanager
def over_pg8000(office: Office) -> Iterator[Adapter]:
    connection = pg8000.dbapi.connect(**arguments(office, "unix_sock"))
    connection.autocommit = True
    try:
        yield adapter(office, OfPg8000(connection), placeholders=formatted)
    finally:
        connection.close()


SYNCHRONOUS = [over_psycopg, over_raw_psycopg, over_pool, over_pg8000]


def adapter(office: Office, client: Any, **options: Any) -> Adapter:
    return Adapter(client, office.campaign_class, kind=KIND, target=TARGET, **options)


def arguments(office: Office, host: str) -> dict[str, Any]:
    """Return what a driver that is not libpq's needs to connect."""
    found = conninfo_to_dict(office.conninfo())
    password = office.people["worker"].passfile.read_text(encoding="utf-8").split(":")[4].strip()
    place = str(found["host"])
    port = str(found["port"])
    return {
        host: f"{place}/.s.PGSQL.{port}" if host == "unix_sock" else place,
        "user": str(found["user"]),
        "database": str(found["dbname"]),
        "password": password,
    } | ({} if host == "unix_sock" else {"port": int(port)})


@pytest.mark.parametrize("opened", SYNCHRONOUS)
def test_an_operation_lives_over_every_client(
    office: Office, opened: Callable[[Office], AbstractContextManager[Adapter]]
) -> None:
    with opened(office) as store:
        claim = store.claim("k", "f")
        assert claim.status is ClaimStatus.OWNER
        store.start(claim)
        claim = store.renew(claim)
        store.complete(claim, {"id": 1, "text": "ß%s$1"}, reason="r", result_text='{"id":1}')
        replay = store.claim("k", "f")
        assert replay.status is ClaimStatus.REPLAY
        assert replay.operation.result == {"id": 1, "text": "ß%s$1"}
        assert store.claim("k", "g").status is ClaimStatus.CONFLICT

        unknown = store.claim("u", "f")
        store.mark_unknown(unknown, "timeout", {"sent": None})
        seen = store.claim("u", "f")
        assert seen.status is ClaimStatus.UNKNOWN
        assert seen.operation.diagnostic == {"sent": None}
        done = store.resolve_unknown("u", seen.fence, Completed(result=None, reason="seen"))
        assert (done.operation_state, done.result, done.has_result) == ("completed", None, True)
        with pytest.raises(errors.Illegal):
            store.resolve_unknown("u", done.fence, Failed(reason="no"))

        store.release(store.claim("r", "f"))
        assert store.get("r") is None
        store.fail(store.claim("x", "f"), "declined")
        assert [each.key for each in store.iter_operations(page_size=1)] == ["k", "u", "x"]
        assert [each.key for each in store.iter_operations("failed", page_size=1)] == ["x"]
        assert [step.to_state for step in store.history("u")] == [
            "pending",
            "unknown",
            "completed",
        ]
        assert has_fencing_capability(store)


@asynccontextmanager
async def asyncpg_connection(office: Office) -> AsyncIterator[AsyncAdapter]:
    connection = await asyncpg.connect(**arguments(office, "host"))
    try:
        yield AsyncAdapter(OfAsyncpg(connection), office.campaign_class, kind=KIND, target=TARGET)
    finally:
        await connection.close()


@asynccontextmanager
async def asyncpg_pool(office: Office) -> AsyncIterator[AsyncAdapter]:
    async with asyncpg.create_pool(**arguments(office, "host"), min_size=2, max_size=2) as pool:
        yield AsyncAdapter(OfAsyncpg(pool), office.campaign_class, kind=KIND, target=TARGET)


@pytest.mark.parametrize("opened", [asyncpg_connection, asyncpg_pool])
def test_an_operation_lives_over_asyncpg(office: Office, opened: Any) -> None:
    async def main() -> None:
        async with opened(office) as store:
            claim = await store.claim("k", "f")
            assert claim.is_owner
            await store.start(claim)
            claim = await store.renew(claim)
            await store.complete(claim, {"id": 1}, reason="r")
            replay = await store.claim("k", "f")
            assert (replay.status, replay.operation.result) == (ClaimStatus.REPLAY, {"id": 1})
            with pytest.raises(errors.Stale):
                await store.fail(claim, "no")
            await store.mark_unknown(await store.claim("u", "f"), "timeout", {"sent": None})
            seen = await store.get("u")
            assert seen is not None
            done = await store.resolve_unknown("u", seen.fence, Completed(result=[]))
            assert done.operation_state == "completed"
            await store.release(await store.claim("r", "f"))
            await store.fail(await store.claim("x", "f"), "declined")
            found = [each.key async for each in store.iter_operations("failed", page_size=1)]
            assert found == ["x"]
            assert len(await store.history("u")) == 3

    asyncio.run(main())


WITHOUT_PSYCOPG = """
import asyncio
import json
import sys

sys.modules |= dict.fromkeys(("psycopg", "psycopg_pool"))  # None: cannot be imported

from fencepost import errors
from fencepost.operations import Adapter, AsyncAdapter, AsyncEffectRunner, Completed, EffectRunner
from fencepost.operations import formatted

campaign_class, named, connecting = json.loads(sys.stdin.read())


class OfPg8000:
    def __init__(self, connection):
        self.cursor = connection.cursor()

    def query(self, text, values, /):
        self.cursor.execute(text, values)
        return list(self.cursor.fetchall())


class OfAsyncpg:
    def __init__(self, connection):
        self.connection = connection

    async def query(self, text, values, /):
        return await self.connection.fetch(text, *values)


def pg8000():
    import pg8000.dbapi

    connection = pg8000.dbapi.connect(**connecting)
    connection.autocommit = True
    store = Adapter(OfPg8000(connection), campaign_class, placeholders=formatted, **named)
    found = EffectRunner(store).run("k", "f", lambda _: Completed(result=1))
    try:
        store.claim("k" * 600, "f")
    except errors.ArgumentTooLong:
        return found.state, EffectRunner(store).run("k", "f", None).result


async def effect(_):
    return Completed(result=1)


async def asyncpg():
    import asyncpg

    connection = await asyncpg.connect(**connecting)
    store = AsyncAdapter(OfAsyncpg(connection), campaign_class, **named)
    found = await AsyncEffectRunner(store).run("k", "f", effect)
    try:
        await store.claim("k" * 600, "f")
    except errors.ArgumentTooLong:
        return found.state, (await AsyncEffectRunner(store).run("k", "f", effect)).result


print(json.dumps(pg8000() if sys.argv[1] == "pg8000" else asyncio.run(asyncpg())))
"""


@pytest.mark.parametrize(("driver", "host"), [("pg8000", "unix_sock"), ("asyncpg", "host")])
def test_an_effect_is_run_where_there_is_no_psycopg(office: Office, driver: str, host: str) -> None:
    named = {"kind": KIND, "target": TARGET}
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_PSYCOPG, driver],
        input=json.dumps([office.campaign_class, named, arguments(office, host)]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == ["completed", 1]


def test_an_asynchronous_adapter_takes_a_client_that_is_not(office: Office) -> None:
    client = OfPsycopg(office.connect(autocommit=True))
    store = AsyncAdapter(
        client, office.campaign_class, kind=KIND, target=TARGET, placeholders=formatted
    )

    async def main() -> bool:
        return (await store.claim("k", "f")).is_owner

    assert asyncio.run(main())


@pytest.mark.parametrize("opened", SYNCHRONOUS)
def test_what_the_kernel_raises_is_known_by_its_sqlstate_whatever_the_driver(
    office: Office, opened: Callable[[Office], AbstractContextManager[Adapter]]
) -> None:
    with opened(office) as store, pytest.raises(errors.ArgumentTooLong) as raised:
        store.claim("k" * 600, "f")
    assert raised.value.hint
    assert "p_key" in str(raised.value)


def test_asyncpg_too(office: Office) -> None:
    async def main() -> None:
        async with asyncpg_connection(office) as store:
            await store.claim("k" * 600, "f")

    with pytest.raises(errors.ArgumentTooLong) as raised:
        asyncio.run(main())
    assert raised.value.hint


def test_what_the_driver_raises_is_the_drivers(office: Office) -> None:
    with over_psycopg(office) as store, pytest.raises(psycopg.errors.InsufficientPrivilege):
        store.prune()


def test_rivals_on_a_pool_have_one_owner(office: Office) -> None:
    with over_pool(office) as store:
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


def test_a_method_is_one_statement_that_calls_one_function(office: Office) -> None:
    client = OfPsycopg(office.connect(autocommit=True))
    store = adapter(office, client, placeholders=formatted)
    claim = store.claim("k", "f")
    store.start(claim)
    store.complete(claim)
    assert len(client.sent) == 3
    for text, function in zip(
        client.sent, ("begin_operation", "start_operation", "complete_operation"), strict=True
    ):
        assert text.lower().count("select") == 1
        assert f'"kernel".{function}(' in text


def test_every_place_of_a_value_stands_once_and_in_order(office: Office) -> None:
    import re

    class Heard:
        def __init__(self) -> None:
            self.texts: list[str] = []

        def query(self, text: str, values: Sequence[Any], /) -> Any:
            found = [int(number) for number in re.findall(r"\$(\d+)", text)]
            assert found == list(range(1, len(values) + 1))
            assert "%" not in text
            self.texts.append(text)
            return client.query(formatted(text), values)

    client = OfPsycopg(office.connect(autocommit=True))
    heard = Heard()
    store = adapter(office, heard)
    claim = store.claim("k", "f")
    claim = store.renew(claim)
    store.start(claim)
    store.mark_unknown(claim, "r")
    store.resolve_unknown("k", store.claim("k", "f").fence, Failed(reason="r"))
    store.release(store.claim("r", "f"))
    store.fail(store.claim("x", "f"), "r")
    store.complete(store.claim("c", "f"))
    store.get("k")
    store.list_operations()
    store.history("k")
    for function in (store.prune, store.expire):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            function()
    assert len(set(heard.texts)) == 13


def test_a_claim_that_is_not_committed_cannot_be_started(office: Office) -> None:
    connection = office.connect()  # not autocommit: a transaction across the steps
    store = adapter(office, OfPsycopg(connection), placeholders=formatted)
    claim = store.claim("k", "f")
    with pytest.raises(errors.NotYetCommitted):
        store.start(claim)
    connection.rollback()
    assert store.get("k") is None


def test_a_client_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        Adapter(object(), "payments")  # type: ignore[arg-type]


def test_an_awaited_client_is_refused_where_nobody_awaits(office: Office) -> None:
    with pytest.raises(NoKernelAnswer, match="AsyncAdapter"):
        adapter(office, OfAsyncpg(None)).get("k")


@pytest.mark.parametrize("answer", [None, 3, "text", {"count": 1}])
def test_an_answer_without_rows_is_refused(office: Office, answer: object) -> None:
    class Strange:
        def query(self, _: str, __: Sequence[Any], /) -> Any:
            return answer

    with pytest.raises(NoKernelAnswer):
        adapter(office, Strange()).get("k")


def test_the_capability_is_compared_exactly() -> None:
    assert FENCING_CAPABILITY == (
        "context-action/durable-operation-fencing/incarnation-revision-v1"
    )

    class Other:
        fencing_capability = "context-action/durable-operation-fencing/incarnation-revision-v2"

    assert not has_fencing_capability(Other())
    assert not has_fencing_capability(object())
