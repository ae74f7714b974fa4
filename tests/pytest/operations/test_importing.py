"""The original's table, with everything that could stand in it, and what becomes of it here."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

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


FINGERPRINT = "fnv1a64:ad78fa81c1508171:9"
LONG = "é" * 3000
"""A reason that is over its limit in bytes."""

ROW = importing.Row(
    key="completed",
    fingerprint=FINGERPRINT,
    owner="worker-1",
    state="completed",
    result='{"n": 1}',
    reason="done",
    incarnation="i",
    revision=2,
    created_at=AT,
    updated_at=AT + 1,
    reconciled_by=None,
)
OLD = [
    ROW,
    replace(ROW, key="completed without a result", result=None),
    replace(ROW, key="failed", state="failed", reason="declined"),
    replace(ROW, key="unknown", state="unknown", reason="timeout"),
    replace(ROW, key="pending", state="pending", result=None, reason=None),
    replace(ROW, key="too long", result=f'"{"x" * 65536}"'),
]
BECOMES = ["completed", "completed", "failed", "unknown", "unknown", "unknown"]
RECORDS = ("complete", "fail", "mark_unknown")


class BrokenOff(Exception):
    """The importer's process ended."""


def import_until(
    store: Store, row: importing.Row, methods: Sequence[str], *, is_sent: bool
) -> None:
    """Import one row, and break off as one of the methods is called, or as it has been."""

    def breaking(method: Any) -> Any:
        def call(*given: Any, **named: Any) -> None:
            if is_sent:
                method(*given, **named)
            raise BrokenOff

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in methods:
            patch.setattr(store, name, breaking(getattr(store, name)))
        with pytest.raises(BrokenOff):
            importing.import_rows(store, iter([row]))


@pytest.mark.parametrize("meanwhile", ["nothing", "the lease ends", "a reaper comes by"])
@pytest.mark.parametrize(
    ("methods", "is_sent"),
    [
        pytest.param(["claim"], False, id="before the claim"),
        pytest.param(["claim"], True, id="after the claim"),
        pytest.param(["start"], True, id="after the start"),
        pytest.param(RECORDS, False, id="before the record"),
        pytest.param(RECORDS, True, id="after the record"),
    ],
)
def test_wherever_it_broke_off_the_next_run_brings_every_row_to_its_state(
    office: Office,
    store: Store,
    methods: Sequence[str],
    is_sent: bool,  # noqa: FBT001
    meanwhile: str,
) -> None:
    policy = {"lease_default": "1s", "lease_min": "1s", "operation_retention": "0"}
    office.admin("define_class", {"class": office.campaign_class, "policy": Jsonb(policy)})
    for row in OLD:
        # What is refused for its length is broken off at the record that takes its place.
        is_long = methods is RECORDS and is_sent and row.key == "too long"
        import_until(store, row, ["mark_unknown"] if is_long else methods, is_sent=is_sent)
    if meanwhile != "nothing":
        office.outlive(store.claim("last", "f"))
    if meanwhile == "a reaper comes by":
        office.store("reaper").expire()
    if "claim" not in methods:
        rival = office.store("rival")
        found = {rival.claim(row.key, FINGERPRINT).status for row in OLD}
        assert ClaimStatus.OWNER not in found

    second = importing.import_rows(store, iter(OLD))
    assert second.refused == {}
    assert list(second.left) == ["too long"]
    assert sum(second.counts.values()) + second.repeated == len(OLD)
    operations = [store.get(row.key) for row in OLD]
    assert [each and each.operation_state for each in operations] == BECOMES
    reasons = [each and each.reason for each in operations]
    assert reasons[:4] == ["done", "done", "declined", "timeout"]
    assert "whether it was carried out is not known" in str(reasons[4])
    assert "not to be kept as it is" in str(reasons[5])
    assert operations[0] is not None
    assert operations[0].result == {"n": 1}

    third = importing.import_rows(store, iter(OLD))
    assert (third.counts, third.repeated, third.refused) == ({}, len(OLD), {})
    assert list(third.left) == ["too long"]


@pytest.mark.parametrize("state", ["completed", "failed", "unknown"])
@pytest.mark.parametrize(
    ("result", "reason"),
    [(f'"{"x" * 65536}"', "a reason"), ('"short"', LONG), (f'"{"x" * 65536}"', LONG)],
)
def test_a_row_there_is_no_room_for_is_unknown_and_says_why(
    store: Store, state: str, result: str, reason: str
) -> None:
    row = replace(ROW, state=state, result=result, reason=reason, owner="o" * 9000)
    done = importing.import_rows(store, iter([row]))
    assert (done.counts, done.refused) == ({"unknown": 1}, {})
    assert list(done.left) == ([] if state == "unknown" else [row.key])
    claim = store.claim(row.key, row.fingerprint)
    assert claim.status is ClaimStatus.UNKNOWN
    assert f"{state} in the table, and not to be kept as it is: " in str(claim.operation.reason)
    told = claim.operation.diagnostic["imported"]
    assert (told["state"], told["incarnation"], told["revision"]) == (state, "i", 2)
    assert "is too long" in told["not_kept"]
    if len(result) > 65536:
        assert told["result_bytes"] == len(result)
        assert told["result_sha256"] == sha256(result.encode()).hexdigest()
        assert reason.startswith(told["reason"])
    else:
        assert claim.operation.diagnostic["result"] == "short"
        assert told["reason"] == reason


def test_what_another_has_claimed_is_left_to_them(office: Office, store: Store) -> None:
    rival = office.store("rival")
    for row in OLD:
        rival.claim(row.key, FINGERPRINT)
    done = importing.import_rows(store, iter(OLD))
    assert set(done.refused) == {row.key for row in OLD}
    assert (done.counts, done.repeated) == ({}, 0)


def test_what_another_left_unknown_is_left_to_a_person(office: Office, store: Store) -> None:
    rival = office.store("rival")
    for row in OLD:
        rival.mark_unknown(rival.claim(row.key, FINGERPRINT), "r")
    done = importing.import_rows(store, iter(OLD))
    assert (done.counts, done.repeated, done.refused) == ({}, len(OLD), {})
    assert list(done.left) == ["completed", "completed without a result", "failed", "too long"]


def test_a_time_no_calendar_has_is_no_hindrance(store: Store) -> None:
    row = replace(ROW, updated_at=2**62, reason=None)
    assert importing.import_rows(store, iter([row])).counts == {"completed": 1}
    operation = store.get(row.key)
    assert operation is not None
    assert f"{2**62} ms" in str(operation.reason)


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
    application.execute(
        f"update {importing.TABLE} set operation_key = 'long', state = 'completed', "
        f"result_present = true, result = to_jsonb(repeat('x', 65536)) "
        f"where operation_key = 'unknown'".encode()
    )
    command: list[str] = [
        *(str(FENCEPOST), "operations", "import", "--class", office.campaign_class),
        *("--kind", "http.post", "--target", "bank", "--dsn", office.conninfo()),
        *("--source-dsn", f"dbname={application.info.dbname}"),
    ]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "left unknown: long: completed in the table" in done.stderr
    assert done.stdout == "5 completed\n2 failed\n3 unknown\n0 imported before\n"
    assert "not imported: fencepost:0" in done.stderr
