"""The original's table, with everything that could stand in it, and what becomes of it here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from fencepost.operations import ABSENT, ClaimStatus, InvalidArgument, importing
from fencepost.operations.adapter import formatted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fencepost.operations import Store
    from tests.pytest.operations.conftest import Office

PROJECT = Path(__file__).resolve().parents[3]
FENCEPOST = PROJECT / ".venv" / "bin" / "fencepost"

TABLE = """
create table {} (
    operation_key    text primary key,
    fingerprint      text not null,
    owner_id         text not null,
    {}
    revision         integer not null,
    state            text not null
                     check (state in ('pending', 'completed', 'failed', 'unknown')),
    result           jsonb,
    result_present   boolean not null default false,
    reason           text,
    created_at       bigint not null,
    updated_at       bigint not null,
    lease_expires_at bigint,
    reconciled_by    text,
    reconciled_at    bigint
)
"""
AT = 1_764_500_000_000

ROWS: list[dict[str, Any]] = [
    {"operation_key": "object", "state": "completed", "result": '{"result": {"n": 1.10}}'},
    {"operation_key": "null", "state": "completed", "result": "null"},
    {"operation_key": "absent", "state": "completed", "reason": "done"},
    {"operation_key": "function", "state": "completed", "result_present": True},
    {"operation_key": "Failed", "state": "failed", "reason": "declined", "result": "{}"},
    {"operation_key": "failed without a reason", "state": "failed"},
    {"operation_key": "unknown", "state": "unknown", "reason": "timeout", "result": "[1]"},
    {"operation_key": "pending", "state": "pending", "lease_expires_at": AT},
    {
        "operation_key": "resolved",
        "state": "completed",
        "result": "1",
        "reconciled_by": "ops",
        "reconciled_at": AT,
    },
    {"operation_key": "poison", "state": "unknown", "reason": ""},
    {"operation_key": "k" * 600, "state": "completed", "result": "1"},
    {"operation_key": "fencepost:0", "state": "completed", "result": "1"},
]


class Client:
    """The application's connection to its own database."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def query(self, text: str, values: Sequence[Any], /) -> Any:
        return self.connection.execute(text.encode(), values).fetchall()


@pytest.fixture
def application(empty_database: str) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection to the application's database."""
    with psycopg.connect(dbname=empty_database, autocommit=True) as connection:
        yield connection


def fill(connection: psycopg.Connection[Any], table: str, *, is_legacy: bool = False) -> None:
    """Make the original's table; a legacy one has no incarnation."""
    column = "" if is_legacy else "incarnation text not null,"
    connection.execute(TABLE.format(table, column).encode())
    for row in ROWS:
        given = {
            "fingerprint": "fnv1a64:ad78fa81c1508171:9",
            "owner_id": "worker-1",
            "revision": 2,
            "result_present": "result" in row,
            "created_at": AT,
            "updated_at": AT + 1,
        } | ({} if is_legacy else {"incarnation": "i"})
        given |= row
        names = ", ".join(given)
        places = ", ".join(f"%({name})s" for name in given)
        connection.execute(f"insert into {table} ({names}) values ({places})".encode(), given)


def imported(store: Store, connection: psycopg.Connection[Any], table: str) -> importing.Imported:
    found = importing.rows(Client(connection), table, placeholders=formatted, page_size=5)
    return importing.import_rows(store, found)


@pytest.mark.parametrize("is_legacy", [False, True])
def test_every_row_keeps_what_it_promises(
    store: Store,
    application: psycopg.Connection[Any],
    is_legacy: bool,  # noqa: FBT001
) -> None:
    table = importing.TABLE if is_legacy else "public.Other"
    fill(application, table.replace("Other", '"Other"'), is_legacy=is_legacy)
    done = imported(store, application, table)
    assert done.counts == {"completed": 5, "failed": 2, "unknown": 3}
    assert set(done.refused) == {"k" * 600, "fencepost:0"}

    def claim(key: str) -> Any:
        return store.claim(key, "fnv1a64:ad78fa81c1508171:9")

    assert claim("object").operation.result == {"result": {"n": 1.1}}
    assert claim("null").operation.result is None
    assert claim("absent").operation.result is ABSENT
    assert claim("absent").operation.reason == "done"
    assert claim("function").operation.result is None
    failed = claim("Failed").operation
    assert (failed.operation_state, failed.reason, failed.result) == ("failed", "declined", {})
    assert claim("failed without a reason").operation.reason.startswith("imported; written by")
    unknown = claim("unknown")
    assert unknown.status is ClaimStatus.UNKNOWN
    assert unknown.operation.reason == "timeout"
    assert unknown.operation.diagnostic["result"] == [1]
    assert unknown.operation.diagnostic["imported"]["owner"] == "worker-1"
    assert unknown.operation.diagnostic["imported"]["incarnation"] == (None if is_legacy else "i")
    pending = claim("pending")
    assert pending.status is ClaimStatus.UNKNOWN
    assert "whether it was carried out is not known" in pending.operation.reason
    assert "reconciled by ops" in claim("resolved").operation.reason
    assert claim("poison").status is ClaimStatus.UNKNOWN
    assert store.claim("object", "another").status is ClaimStatus.CONFLICT


def test_it_may_be_run_again_and_goes_on_where_it_broke_off(
    store: Store, application: psycopg.Connection[Any]
) -> None:
    fill(application, importing.TABLE)
    rows = list(importing.rows(Client(application), placeholders=formatted))
    assert [row.key for row in rows] == sorted((row.key for row in rows), key=str.encode)

    class Broken(Exception):
        pass

    def some() -> Iterator[importing.Row]:
        yield from rows[:4]
        raise Broken

    with pytest.raises(Broken):
        importing.import_rows(store, some())
    second = importing.import_rows(store, iter(rows))
    third = importing.import_rows(store, iter(rows))
    assert (sum(second.counts.values()), second.repeated) == (7, 3)
    assert (third.counts, third.repeated) == ({}, 10)
    assert set(third.refused) == set(second.refused)


def test_a_claim_that_was_imported_and_not_ended_is_ended_by_the_next_run(
    store: Store, application: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(application, importing.TABLE)
    rows = [
        row
        for row in importing.rows(Client(application), placeholders=formatted)
        if row.key == "object"
    ]

    def dies(*_: object, **__: object) -> None:
        raise psycopg.OperationalError

    with monkeypatch.context() as patch:
        patch.setattr(store, "complete", dies)
        with pytest.raises(psycopg.OperationalError):
            importing.import_rows(store, iter(rows))
    assert importing.import_rows(store, iter(rows)).counts == {"completed": 1}


def test_a_key_that_is_in_use_for_something_else_is_not_imported(
    store: Store, application: psycopg.Connection[Any]
) -> None:
    fill(application, importing.TABLE)
    store.complete(store.claim("object", "another"), 1)
    store.fail(store.claim("null", "fnv1a64:ad78fa81c1508171:9"), "r")
    done = imported(store, application, importing.TABLE)
    assert done.refused["object"] == "the key is in use for something else"
    assert done.refused["null"] == "it is failed in the ledger, and completed in the table"


@pytest.mark.parametrize("table", ['a"b', "a.b.c", "", "a b", "1a", "x; drop table y"])
def test_a_name_that_the_original_would_not_take_is_refused(table: str) -> None:
    with pytest.raises(InvalidArgument):
        list(importing.rows(Client(None), table))  # type: ignore[arg-type]


def test_the_command_imports_and_says_what_it_left(
    office: Office, application: psycopg.Connection[Any]
) -> None:
    fill(application, importing.TABLE)
    command: list[str] = [
        *(str(FENCEPOST), "operations", "import", "--class", office.campaign_class),
        *("--kind", "http.post", "--target", "bank", "--dsn", office.conninfo()),
        *("--source-dsn", f"dbname={application.info.dbname}"),
    ]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == "5 completed\n2 failed\n3 unknown\n0 imported before\n"
    assert "not imported: fencepost:0" in done.stderr
