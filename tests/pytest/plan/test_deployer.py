"""Who may deploy, and what stops a deployment before it has begun."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from psycopg import sql

from tests.pytest.plan.sqitch import PROJECT, deploy, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection, MakePrincipal, Principal, Superuser


@pytest.fixture
def second(principal: MakePrincipal, maintenance: Connection, template: str) -> Principal:
    """Return a deployer other than the one that deployed the template, and made the roles."""
    made = principal("second")
    maintenance.execute(sql.SQL("alter role {} createrole").format(sql.Identifier(made.name)))
    return made


@pytest.fixture
def database_of_second(second: Principal, maintenance: Connection) -> Iterator[str]:
    name = f"of_{second.name}"
    database, owner = sql.Identifier(name), sql.Identifier(second.name)
    maintenance.execute(sql.SQL("create database {} owner {}").format(database, owner))
    yield name
    maintenance.execute(sql.SQL("drop database {} with (force)").format(database))


def test_the_deployer_is_no_superuser(template: str, superuser: Superuser) -> None:
    attributes = superuser().execute(
        """
        select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls
        from pg_roles where rolname = 'deployer'
        """
    )
    assert attributes.fetchone() == (False, True, False, False, False)


def test_a_second_deployer_needs_the_first(
    second: Principal, database_of_second: str, deployer: Principal, template: str, major: int
) -> None:
    if major >= 16:
        refused = deploy(second, database_of_second)

        assert refused.returncode == 2
        hint = (
            "HINT:  From PostgreSQL 16 on a second deployer needs ADMIN OPTION from the first, who "
            f"runs: grant fencepost_owner to {second.name} with admin option"
        )
        assert hint in refused.stdout.splitlines()
        # The first one does what the hint says.
        with deployer.connect(template) as connection:
            connection.execute(hint.partition("runs: ")[2].encode())

    deployed = deploy(second, database_of_second)

    assert deployed.returncode == 0, deployed.stdout


@pytest.mark.parametrize("footing", ["dedicated", "shared"])
def test_createrole_and_createdb_are_enough(
    second: Principal, deployer: Principal, maintenance: Connection, major: int, footing: str
) -> None:
    """As on a managed service: the deployer makes its database itself."""
    name = sql.Identifier(second.name)
    maintenance.execute(sql.SQL("alter role {} createdb").format(name))
    if major >= 16:  # the groups are there, and another deployer made them
        with deployer.connect("postgres", autocommit=True) as first:
            first.execute(sql.SQL("grant fencepost_owner to {} with admin option").format(name))
    database = f"made_by_{second.name}"
    connection = second.connect("postgres", autocommit=True)
    connection.execute(sql.SQL("create database {}").format(sql.Identifier(database)))
    try:
        # What comes after the footing is made as fencepost_owner, whoever deploys.
        deployed = deploy(
            second, database, "--to", "foundation/footing", "--set", f"footing={footing}"
        )
        verified = run(second, database, "verify")
        reverted = run(second, database, "revert", "-y")
    finally:
        connection.execute(sql.SQL("drop database {}").format(sql.Identifier(database)))
    attributes = maintenance.execute(
        """
        select array(
            select a.name
            from jsonb_each_text(to_jsonb(r)) as a (name, value)
            where a.value = 'true' order by 1
        )
        from (
            select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls
            from pg_roles where rolname = %s
        ) as r
        """,
        (second.name,),
    ).fetchone()

    assert attributes == (["rolcreatedb", "rolcreaterole"],)
    assert deployed.returncode == 0, deployed.stdout
    assert verified.returncode == 0, verified.stdout
    assert reverted.returncode == 0, reverted.stdout


@pytest.mark.parametrize(
    "altered",
    [
        "fencepost_owner login",
        "fencepost_owner createrole",
        "fencepost_worker superuser",
        "fencepost_auditor bypassrls",
    ],
)
def test_a_role_of_that_name_that_can_do_more_stops_the_deployment(
    altered: str,
    template: str,
    empty_database: str,
    deployer: Principal,
    superuser: Superuser,
) -> None:
    role, attribute = altered.split()
    connection = superuser()
    alter = sql.SQL("alter role {} {}{}")
    name, more = sql.Identifier(role), sql.SQL(attribute)
    connection.execute(alter.format(name, sql.SQL(""), more))
    try:
        refused = deploy(deployer, empty_database)
    finally:
        connection.execute(alter.format(name, sql.SQL("no"), more))

    assert refused.returncode == 2
    assert f'ERROR:  role "{role}" exists and can do more than a group may' in refused.stdout
    schemas = superuser(empty_database).execute(
        "select count(*) from pg_namespace where nspname in ('kernel', 'ledger', 'audit')"
    )
    assert schemas.fetchone() == (0,)


def test_a_deployer_that_does_not_own_the_database_is_stopped(
    empty_database: str, deployer: Principal, superuser: Superuser
) -> None:
    connection = superuser(empty_database)
    database = sql.Identifier(empty_database)
    connection.execute(sql.SQL("alter database {} owner to postgres").format(database))
    connection.execute(sql.SQL("grant create on database {} to deployer").format(database))

    refused = deploy(deployer, empty_database)

    assert refused.returncode == 2
    assert "HINT:  Deploy as the owner of the database." in refused.stdout.splitlines()
    left = connection.execute("select count(*) from pg_namespace where nspname = 'kernel'")
    assert left.fetchone() == (0,)


def test_assertions_that_are_off_fail_the_verification(database: str, deployer: Principal) -> None:
    verified = subprocess.run(
        ["sqitch", "verify", "--target", f"db:pg:{database}"],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=PROJECT,
        env=deployer.environment(database) | {"PGOPTIONS": "-c plpgsql.check_asserts=off"},
    )
    scripts = list((PROJECT / "verify").rglob("*.sql"))

    assert verified.returncode == 2
    assert verified.stdout.count("every verify script would pass") == len(scripts)


def test_a_database_in_another_encoding_is_refused(
    empty_database: str, deployer: Principal, superuser: Superuser
) -> None:
    connection = superuser()
    database = sql.Identifier(empty_database)
    connection.execute(sql.SQL("drop database {}").format(database))
    connection.execute(
        sql.SQL(
            "create database {} owner deployer encoding 'LATIN1' locale 'C' template template0"
        ).format(database)
    )

    refused = deploy(deployer, empty_database)

    assert refused.returncode == 2
    assert f'ERROR:  database "{empty_database}" is encoded in LATIN1' in refused.stdout
    assert "HINT:  Create the database with: encoding 'UTF8' template template0" in refused.stdout
