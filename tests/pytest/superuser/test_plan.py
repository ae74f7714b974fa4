"""superuser/ deploys, verifies and reverts by itself, each part alone, and drift is found."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pytest.plan.sqitch import deploy, dump, run, sqitch
from tests.pytest.plan.test_drift import Alteration, complaints, plan
from tests.pytest.superuser.conftest import PLAN

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection, Principal, Superuser

# Everything that a database says about who may do what, the catalogue's own objects included.
PRIVILEGES = """
    select o.what, a.grantor::regrole::text, a.grantee::regrole::text, a.privilege_type,
           a.is_grantable
    from (
        select 'function ' || p.oid::regprocedure,
               coalesce(p.proacl, acldefault('f', p.proowner)) from pg_proc as p
        union all
        select 'relation ' || c.oid::regclass,
               coalesce(c.relacl, acldefault('r', c.relowner))
        from pg_class as c where c.relkind in ('r', 'v')
        union all
        select 'language ' || l.lanname, coalesce(l.lanacl, acldefault('l', l.lanowner))
        from pg_language as l
        union all
        select 'schema ' || n.nspname, coalesce(n.nspacl, acldefault('n', n.nspowner))
        from pg_namespace as n
        union all
        select 'type ' || t.oid::regtype, coalesce(t.typacl, acldefault('T', t.typowner))
        from pg_type as t
    ) as o (what, acl)
    cross join aclexplode(o.acl) as a
    where o.what !~ 'sqitch' and o.what !~ 'pg_(toast|temp)'
"""
CHANGES = plan(PLAN)
ITEMS = [change for change in CHANGES if change != "foundation/schema"]


def privileges(connection: Connection) -> set[tuple[object, ...]]:
    return set(connection.execute(PRIVILEGES).fetchall())


def script(kind: str, change: str, database: str) -> str:
    """Run one script of a change as the superuser, by itself; return what it complained of."""
    done = subprocess.run(
        ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", f"{kind}/{change}.sql", database],
        cwd=PLAN,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("kind", ["deploy", "revert", "verify"])
def test_every_change_has_its_script_and_every_script_its_change(kind: str) -> None:
    preposition = {"deploy": "to", "revert": "from", "verify": "on"}[kind]
    first = {
        str(path.relative_to(PLAN / kind).with_suffix("")): path.read_text().split("\n", 1)[0]
        for path in (PLAN / kind).rglob("*.sql")
    }
    assert first == {
        change: f"-- {kind.capitalize()} fencepost_superuser:{change} {preposition} pg"
        for change in CHANGES
    }


def test_deploy_revert_and_deploy_again(
    plain_database: str, root: Principal, superuser: Superuser
) -> None:
    connection = superuser(plain_database)
    empty, granted = dump(plain_database), privileges(connection)

    sqitch(root, plain_database, "deploy", "--verify", plan=PLAN)
    deployed, then_granted = dump(plain_database), privileges(connection)
    sqitch(root, plain_database, "revert", "-y", plan=PLAN)
    reverted, now_granted = dump(plain_database), privileges(connection)
    sqitch(root, plain_database, "deploy", "--verify", plan=PLAN)

    assert len(granted - then_granted) > 60
    assert deployed != empty
    assert now_granted == granted
    assert reverted == empty
    assert dump(plain_database) == deployed
    assert privileges(connection) == then_granted


def test_what_was_closed_before_is_not_opened_by_a_revert(
    plain_database: str, root: Principal, superuser: Superuser
) -> None:
    connection = superuser(plain_database)
    connection.execute("revoke execute on function pg_advisory_lock(bigint) from public")
    connection.execute("grant execute on function pg_advisory_lock(bigint) to pg_database_owner")
    connection.execute("revoke usage on language sql from public")
    connection.execute("revoke select on pg_locks from public")
    granted = privileges(connection)

    sqitch(root, plain_database, "deploy", "--verify", plan=PLAN)
    sqitch(root, plain_database, "revert", "-y", plan=PLAN)

    assert privileges(connection) == granted


@pytest.mark.parametrize("item", ITEMS)
def test_each_item_works_alone(plain_database: str, superuser: Superuser, item: str) -> None:
    connection = superuser(plain_database)
    assert script("deploy", "foundation/schema", plain_database) == ""
    # The numbers of the restorations go on.
    empty, granted = dump(plain_database, "--schema-only"), privileges(connection)

    assert script("deploy", item, plain_database) == ""
    assert script("verify", item, plain_database) == ""
    assert script("verify", "foundation/schema", plain_database) == ""
    assert dump(plain_database, "--schema-only") != empty
    assert script("revert", item, plain_database) == ""

    assert dump(plain_database, "--schema-only") == empty
    assert privileges(connection) == granted


def test_an_unaltered_database_is_verified(database: str) -> None:
    nothing = [Alteration("select", change) for change in CHANGES]

    assert complaints(database, nothing, folder=PLAN, verifier="postgres") == [[] for _ in CHANGES]


@pytest.mark.timeout(900)
def test_every_alteration_is_found(
    database: str, superuser: Superuser, capsys: pytest.CaptureFixture[str]
) -> None:
    suggested = superuser(database).execute(
        Path(__file__).with_name("alterations.sql").read_bytes()
    )
    altered = [Alteration(statement, change) for change, statement in suggested]

    found = dict(
        zip(altered, complaints(database, altered, folder=PLAN, verifier="postgres"), strict=True)
    )

    missed = [each for each in altered if not found[each]]
    with capsys.disabled():
        print(f"\ndrift: {len(altered) - len(missed)} of {len(altered)} alterations found")
    assert missed == []
    assert {each.change for each in altered} == set(CHANGES)


def test_the_deployer_cannot_deploy_it(plain_database: str, deployer: Principal) -> None:
    refused = run(deployer, plain_database, "deploy", "--verify", plan=PLAN)

    assert refused.returncode == 2
    assert "ERROR:  deployer is no superuser" in refused.stdout
    hint = "HINT:  Deploy this plan as a superuser, and the kernel's as its deployer."
    assert hint in refused.stdout.splitlines()


def test_it_needs_a_kernel(empty_database: str, root: Principal) -> None:
    refused = run(root, empty_database, "deploy", "--verify", plan=PLAN)

    assert refused.returncode == 2
    assert f'ERROR:  database "{empty_database}" has no kernel' in refused.stdout
    assert "HINT:  Deploy the kernel's plan first." in refused.stdout.splitlines()


def test_it_takes_nothing_from_those_who_share_a_database(
    empty_database: str, template: str, deployer: Principal, root: Principal
) -> None:
    shared = ("--to", "foundation/footing", "--set", "footing=shared")
    assert deploy(deployer, empty_database, *shared).returncode == 0

    refused = run(root, empty_database, "deploy", "--verify", plan=PLAN)

    assert refused.returncode == 2
    assert f'ERROR:  database "{empty_database}" is shared' in refused.stdout
    assert "HINT:  Give the ledger a database of its own." in refused.stdout.splitlines()


@pytest.mark.parametrize("altered", ["login", "createrole", "noinherit"])
def test_a_watchdog_that_can_do_more_stops_the_deployment(
    plain_database: str, superuser: Superuser, altered: str
) -> None:
    connection = superuser(plain_database)
    assert script("deploy", "foundation/schema", plain_database) == ""
    had = connection.execute(
        "select count(*) from pg_roles where rolname = 'fencepost_watchdog'"
    ).fetchone()
    connection.execute("create role fencepost_watchdog" if had == (0,) else "select")
    connection.execute(f"alter role fencepost_watchdog {altered}".encode())
    try:
        complaint = script("deploy", "watchdog/evict", plain_database)
    finally:
        connection.execute("alter role fencepost_watchdog nologin nocreaterole inherit")

    assert 'role "fencepost_watchdog" exists and is not as the watchdog has to be' in complaint
