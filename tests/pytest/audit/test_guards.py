"""What an audit holds, what it may not do itself, and as whom it tries."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import errors

from tests.pytest.audit.conftest import document, run
from tests.pytest.conftest import PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection, MakePrincipal, Superuser


@contextmanager
def looking(audit: Any, database: str) -> Iterator[Connection]:
    """Yield an audit's connection, between its look and its probes."""
    with (
        psycopg.connect(dbname=database) as connection,
        audit.rolled_back(connection, "read only"),
    ):
        audit.examine(connection, [])
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "create index on ledger.seat (class)",
        "create statistics ledger.planted on class, seat_no from ledger.seat",
        "create table ledger.planted () inherits (ledger.config_event)",
        "create or replace view audit.config as select * from ledger.config_event",
        "create function kernel.planted() returns integer language sql as 'select 1'",
        "alter function kernel.api_version() immutable",
        "alter table ledger.seat alter seat_no set default 1",
        "create rule planted as on delete to ledger.seat do instead nothing",
    ],
)
def test_nothing_is_replaced_between_the_look_and_the_probe(
    statement: str, scratch_database: str, audit: Any
) -> None:
    with psycopg.connect(dbname=scratch_database) as other:
        other.execute("set lock_timeout = '300ms'")
        other.execute("set role fencepost_owner")
        other.commit()
        with looking(audit, scratch_database), pytest.raises(errors.LockNotAvailable):
            other.execute(statement.encode())
        other.rollback()

        # The audit was what it waited for.
        other.execute(statement.encode())
        other.rollback()


def test_who_writes_rows_does_not_wait_for_an_audit(scratch_database: str, audit: Any) -> None:
    with (
        psycopg.connect(dbname=scratch_database) as other,
        looking(audit, scratch_database),
    ):
        other.execute("set lock_timeout = '300ms'")
        other.execute("lock table ledger.campaign, ledger.seat in row exclusive mode")
        other.execute("create temporary table mine (one integer)")
        other.rollback()


def test_a_lock_on_what_was_not_deployed_stops_no_audit(
    scratch_database: str, superuser: Superuser
) -> None:
    superuser(scratch_database).execute("create table ledger.planted (one integer)")
    with psycopg.connect(dbname=scratch_database) as other:
        other.execute("lock table ledger.planted in access exclusive mode")
        found = document(run(None, scratch_database, "--format", "json"))
        other.rollback()

    assert ("tables/unexpected", "ledger.planted") in {
        (each["rule"], each["object"]) for each in found["findings"]
    }


def test_what_a_superuser_could_not_hold_is_left_out(scratch_database: str, audit: Any) -> None:
    with looking(audit, scratch_database) as connection:
        audit.put(connection, "held", "false")
        (untried,) = audit.one(connection, (PROJECT / "audit" / "untried.sql").read_text())

    expected = json.loads((PROJECT / "audit" / "expected.json").read_text())
    kinds = ("relations", "functions", "types")
    assert untried.keys() == {name for kind in kinds for name in expected[kind]}
    assert set(untried.values()) == {"it could not be held still"}


def test_an_audit_may_not_write(scratch_database: str, audit: Any) -> None:
    with (
        looking(audit, scratch_database) as connection,
        pytest.raises(errors.ReadOnlySqlTransaction),
        connection.transaction(),
    ):
        connection.execute("create table public.planted (one integer)")


def test_the_planner_calls_nothing_that_is_probed() -> None:
    """An immutable function without arguments it would."""
    expected = json.loads((PROJECT / "audit" / "expected.json").read_text())

    assert [
        name
        for name, facts in expected["functions"].items()
        if facts["volatility"] == "i" and name.endswith("()")
    ] == []


def test_what_a_probe_calls_is_planned_and_not_called(
    scratch_database: str, superuser: Superuser
) -> None:
    # Called with nulls, most of these refuse.
    superuser(scratch_database).execute(
        "grant usage on schema ledger to fencepost_worker;"
        "grant execute on all functions in schema ledger to fencepost_worker"
    )

    found = document(run(None, scratch_database, "--format", "json", "probes/call"))

    expected = json.loads((PROJECT / "audit" / "expected.json").read_text())
    assert found["not_seen"] == []
    assert {each["object"] for each in found["findings"]} == {
        name
        for name, facts in expected["functions"].items()
        if name.startswith("ledger.") and facts["result"] != "trigger"
    }


# -- as whom ---------------------------------------------------------------------------------------


def tried_as(found: Any) -> list[str]:
    """Return as whom the probes were not denied."""
    return sorted(each["found"].partition(",")[0] for each in found["findings"])


def test_a_group_and_what_its_clients_have_beside_it_are_told_apart(
    scratch_database: str, principal: MakePrincipal, superuser: Superuser
) -> None:
    first, second = (principal(name, "fencepost_worker") for name in ("first", "second"))
    hand = superuser(scratch_database)
    hand.execute("grant usage on schema ledger to fencepost_worker")
    probe = ("--format", "json", "probes/read")

    hand.execute("grant select on ledger.seat to fencepost_worker")
    assert tried_as(document(run(None, scratch_database, *probe))) == ["as fencepost_worker"]

    hand.execute(f"grant select on ledger.campaign to {second.name}")
    found = document(run(None, scratch_database, *probe))
    assert tried_as(found) == ["as fencepost_worker", f"as {second.name}"]
    assert first.name not in json.dumps(found["findings"])


def test_more_clients_than_are_tried_are_named(
    scratch_database: str, principal: MakePrincipal, superuser: Superuser
) -> None:
    names = sorted(principal(f"many{n}", "fencepost_worker").name for n in range(22))
    superuser(scratch_database).execute(
        f"grant connect on database {scratch_database} to {', '.join(names)}"
    )

    found = document(run(None, scratch_database, "--format", "json", "probes/read"))

    (unseen,) = found["not_seen"]
    left = unseen["reason"].removeprefix("too many different clients, not tried as ").split(", ")
    assert set(names) & set(left) == set(names[20:])
