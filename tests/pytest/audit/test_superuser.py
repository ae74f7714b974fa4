"""What a superuser deploys: the audit knows it, closes with it, and finds whatever is altered."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql

from tests.pytest.audit.conftest import document, psql, run, serious
from tests.pytest.audit.test_alterations import altered, findings, mend
from tests.pytest.conftest import PROJECT
from tests.pytest.plan.sqitch import sqitch
from tests.pytest.superuser.conftest import hardened_template, plain_database, root, watchdog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection, MakePrincipal, Principal

__all__ = ["hardened_template", "plain_database", "root", "watchdog"]

EVICT = "watchdog.evict(p_older_than interval)"
GUARD = "fencepost_superuser.tg__refuse_client_ddl()"
EVENT_TRIGGER = "event trigger fencepost_client_ddl"
ROLE = "role fencepost_watchdog"

# Rule, object, and what was altered.
ALTERATIONS = [
    (
        "superuser/altered",
        f"function {GUARD}",
        (
            f"create or replace function {GUARD} returns event_trigger language plpgsql"
            " set search_path = pg_catalog, pg_temp as 'begin end'"
        ),
    ),
    ("superuser/altered", f"function {GUARD}", f"alter function {GUARD} reset search_path"),
    ("superuser/altered", f"function {GUARD}", f"alter function {GUARD} owner to deployer"),
    ("superuser/altered", f"function {EVICT}", f"alter function {EVICT} owner to postgres"),
    ("superuser/altered", f"function {EVICT}", f"alter function {EVICT} security invoker"),
    ("superuser/altered", ROLE, "alter role fencepost_watchdog login superuser"),
    ("superuser/altered", ROLE, "alter role fencepost_watchdog createrole"),
    ("superuser/altered", ROLE, "grant fencepost_watchdog to fencepost_worker"),
    ("superuser/altered", ROLE, "grant pg_read_all_data to fencepost_watchdog"),
    ("superuser/altered", ROLE, "revoke pg_signal_backend from fencepost_watchdog"),
    ("superuser/altered", ROLE, "alter role fencepost_watchdog set search_path = public"),
    ("superuser/altered", EVENT_TRIGGER, f"alter {EVENT_TRIGGER} enable"),
    ("superuser/altered", EVENT_TRIGGER, f"alter {EVENT_TRIGGER} disable"),
    (
        "superuser/altered",
        EVENT_TRIGGER,
        (
            "create function planted.nothing() returns event_trigger language plpgsql"
            " as 'begin end';"
            f"drop {EVENT_TRIGGER};"
            "create event trigger fencepost_client_ddl on ddl_command_start"
            " execute function planted.nothing();"
            f"alter {EVENT_TRIGGER} enable always"
        ),
    ),
    (
        "superuser/altered",
        EVENT_TRIGGER,
        (
            f"drop {EVENT_TRIGGER};"
            "create event trigger fencepost_client_ddl on ddl_command_start"
            f" when tag in ('CREATE TABLE') execute function {GUARD};"
            f"alter {EVENT_TRIGGER} enable always"
        ),
    ),
    ("superuser/altered", "schema watchdog", "alter schema watchdog owner to deployer"),
    (
        "superuser/privileges",
        f"function {EVICT}",
        f"grant execute on function {EVICT} to fencepost_worker",
    ),
    ("superuser/privileges", f"function {EVICT}", f"grant execute on function {EVICT} to public"),
    (
        "superuser/privileges",
        f"function {EVICT}",
        f"grant execute on function {EVICT} to fencepost_reaper with grant option",
    ),
    (
        "superuser/privileges",
        f"function {EVICT}",
        f"revoke execute on function {EVICT} from fencepost_reaper",
    ),
    (
        "superuser/privileges",
        "schema watchdog",
        "grant create on schema watchdog to fencepost_worker",
    ),
    (
        "superuser/privileges",
        "table fencepost_superuser.restoration",
        "grant insert on fencepost_superuser.restoration to deployer",
    ),
    ("superuser/missing", EVENT_TRIGGER, f"drop {EVENT_TRIGGER}"),
    ("superuser/missing", f"function {EVICT}", f"drop function {EVICT}"),
    (
        "superuser/unexpected",
        "function watchdog.end_all()",
        "create function watchdog.end_all() returns void language sql as ''",
    ),
    (
        "superuser/registry",
        "schema sqitch_superuser",
        "alter schema sqitch_superuser owner to deployer",
    ),
    (
        "superuser/registry",
        "schema sqitch_superuser",
        "grant trigger on sqitch_superuser.changes to deployer",
    ),
    (
        "superuser/registry",
        "schema sqitch_superuser",
        (
            "create function planted.tg() returns trigger language plpgsql"
            " as 'begin return new; end';"
            " create trigger sprung before insert on sqitch_superuser.events"
            " for each row execute function planted.tg()"
        ),
    ),
    (
        "superuser/registry",
        "schema sqitch",
        (
            "create function planted.tg() returns trigger language plpgsql"
            " as 'begin return new; end';"
            " create trigger sprung before insert on sqitch.events"
            " for each row execute function planted.tg()"
        ),
    ),
    (
        "superuser/registry",
        "schema sqitch",
        "alter table sqitch.tags owner to planted_stranger",
    ),
    (
        "superuser/registry",
        "schema sqitch",
        "grant update on sqitch.changes to fencepost_worker",
    ),
    (
        "functions/foreign_definer",
        "watchdog.evict(interval)",
        f"alter function {EVICT} set search_path = public",
    ),
]

BY_DIRECT_STATEMENT = [
    ("catalogue/languages", "language sql", "grant usage on language sql to public"),
    (
        "catalogue/functions",
        "advisory locks",
        "grant execute on function pg_advisory_unlock_all() to public",
    ),
    (
        "catalogue/views",
        "pg_catalog.pg_stat_activity",
        "grant select on pg_stat_activity to public",
    ),
    (
        "catalogue/views",
        "function pg_lock_status()",
        "grant execute on function pg_lock_status() to public",
    ),
]
"""What may be lost of the diet, as after a restore."""


@pytest.mark.parametrize("who", ["postgres", "deployer"])
def test_a_hardened_database_is_well(who: str, hardened_template: str, deployer: Principal) -> None:
    principal = deployer if who == "deployer" else None
    found = document(run(principal, hardened_template, "--format", "json"))

    assert found["failed"] == []
    if who == "postgres":
        assert found["not_seen"] == []
    own = {"server/minor_release", "settings/durability"}  # the test server's
    assert [
        (each["rule"], each["object"])
        for each in found["findings"]
        if (
            each["severity"] in {"critical", "high", "medium"}
            or each["rule"].startswith(("catalogue/", "superuser/"))
        )
        and each["rule"] not in own
    ] == []


def test_what_is_expected_is_what_is_deployed(hardened_template: str) -> None:
    described = run(None, hardened_template, "--describe")

    assert described.returncode == 0, described.stderr
    expected = (PROJECT / "audit" / "expected.json").read_text()
    assert described.stdout == expected, "`make docs` renews audit/expected.json"


@pytest.mark.parametrize(
    ("rule", "named", "statement"),
    ALTERATIONS + BY_DIRECT_STATEMENT,
    ids=lambda value: value[:60],
)
def test_an_alteration_is_found_and_its_remedy_mends_it(
    rule: str, named: str, statement: str, audit: Any, hardened_template: str
) -> None:
    with altered(hardened_template) as connection:
        rules = audit.chosen([rule])
        assert findings(audit, connection, rules) == {}
        privileges = connection.execute(KEPT).fetchall()

        connection.execute(statement.encode())
        found = findings(audit, connection, rules)
        assert [each[:2] for each in found] == [(rule, named)]
        if rule == "functions/foreign_definer":
            return  # its remedy takes the function from clients; superuser/altered's mends it

        for _, _, _, remedy in found:
            mend(connection, remedy)
        assert findings(audit, connection, audit.chosen([rule, *OURS])) == {}
        assert connection.execute(KEPT).fetchall() == privileges


OURS = [f"superuser/{name}" for name in ("altered", "privileges", "missing", "unexpected")]

KEPT = """
    select o.name, a.grantee::regrole::text, a.privilege_type
    from (
        select p.oid::regprocedure::text, p.proacl from pg_proc as p
        where p.pronamespace = 'pg_catalog'::regnamespace and p.proacl is not null
        union all
        select c.oid::regclass::text, c.relacl from pg_class as c
        where c.oid in ('pg_stat_activity'::regclass, 'pg_locks'::regclass)
        union all
        select l.lanname, l.lanacl from pg_language as l
    ) as o (name, acl)
    cross join aclexplode(o.acl) as a
    order by 1, 2, 3
"""
"""What of PostgreSQL's own who may use: a remedy gives it neither to more nor to less."""


@pytest.fixture
def restored(hardened_template: str, maintenance: Connection) -> Iterator[str]:
    """Yield a database into which a dump of a hardened ledger was restored."""
    name = sql.Identifier(f"{hardened_template}_restored")
    maintenance.execute(
        sql.SQL("create database {} owner deployer template template0").format(name)
    )
    dump = subprocess.run(["pg_dump", hardened_template], capture_output=True, check=True).stdout
    subprocess.run(
        ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", f"{hardened_template}_restored"],
        input=dump,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    yield f"{hardened_template}_restored"
    maintenance.execute(sql.SQL("drop database {} with (force)").format(name))


def test_after_a_restore_it_finds_what_was_lost(restored: str, hardened_template: str) -> None:
    whole = document(run(None, hardened_template, "--format", "json"))
    found = document(run(None, restored, "--format", "json"))

    assert serious(whole) == set()
    assert not any(each["rule"] == "catalogue/languages" for each in whole["findings"])
    name = f"database {restored}"
    assert serious(found) == {
        ("database/connect", name),
        ("database/temporary", name),
        ("probes/create", name),  # of a temporary table
    }
    lost = [each for each in found["findings"] if each["rule"] == "catalogue/languages"]
    assert [each["object"] for each in lost] == ["language sql"]

    for each in found["findings"]:
        if each["rule"] in {"database/connect", "database/temporary", "catalogue/languages"}:
            psql(restored, each["remedy"])
    again = document(run(None, restored, "--format", "json"))
    assert serious(again) == set()
    assert not any(each["rule"] == "catalogue/languages" for each in again["findings"])


def test_what_a_superuser_can_close_is_closed_by_deploying(
    plain_database: str, deployer: Principal, principal: MakePrincipal
) -> None:
    before = document(run(None, plain_database, "--format", "json"))
    remedies = {
        each["rule"]: each["remedy"]
        for each in before["findings"]
        if each["rule"].startswith("catalogue/")
    }
    assert set(remedies) == {
        f"catalogue/{name}" for name in ("functions", "guard", "languages", "views", "watchdog")
    }
    (remedy,) = set(remedies.values())
    subprocess.run(
        ["psql", "-X", "-q", "-d", plain_database],
        input=f"{remedy}\n",
        text=True,
        check=True,
        capture_output=True,
        cwd=PROJECT,
        env=os.environ | {"SQITCH_FULLNAME": "postgres", "SQITCH_EMAIL": "postgres@localhost"},
    )

    after = document(run(None, plain_database, "--format", "json"))
    assert [each for each in after["findings"] if each["rule"] in remedies] == []
    auditor = principal("auditor", "fencepost_auditor")
    assert auditor.connect(plain_database).execute("select * from kernel.health()").fetchall()
    assert "Verify successful" in sqitch(deployer, plain_database, "verify")
    assert "Nothing to deploy" in sqitch(deployer, plain_database, "status")
